//! Entries as seen from the rows of one mode.

use std::collections::HashSet;
use std::ops::Range;

use rayon::prelude::*;
use s3cmtf_kernels::{Level, Normal};

use super::random::mix;
use crate::model::sort_by_row;

/// The most entries of a run, and of the pieces that threads take.
const RUN: usize = 1 << 12;
const PIECE: usize = 1 << 13;
/// How many entries are looked at to choose a partner.
const SAMPLE: usize = 1 << 16;

/// Entries ordered by their row in one mode. Of the other modes, one is the *partner*, in which each entry names a row of
/// its own; consecutive entries that agree in all but the partner are a *run*, and share what the core becomes along those.
pub(super) struct View {
    pub(super) mode: usize,
    pub(super) partner: usize,
    /// All other modes.
    pub(super) rest: Vec<usize>,
    pub(super) normal: Normal,
    /// The row of each run.
    pub(super) rows: Vec<u32>,
    /// For each mode of the rest, the row of each run.
    pub(super) rest_rows: Vec<Vec<u32>>,
    /// Where each run's entries start, and the end of the last.
    pub(super) starts: Vec<u32>,
    /// The partner's row of each entry.
    pub(super) partners: Vec<u32>,
    pub(super) values: Vec<f32>,
    pub(super) pieces: Vec<Piece>,
}

/// A part of the work.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// All runs of some rows.
    Rows { rows: Range<usize>, runs: Range<usize> },
    /// Some runs of a row that has too many entries for one piece.
    Part { row: usize, runs: Range<usize> },
}

impl View {
    /// Orders entries, given by a list of rows per mode, for a mode of `count` rows.
    pub(super) fn new(
        indices: &[&[u32]],
        values: &[f32],
        mode: usize,
        partner: usize,
        count: usize,
        ranks: &[usize],
        level: Level,
    ) -> Self {
        let rest: Vec<usize> =
            (0..indices.len()).filter(|&other| other != mode && other != partner).collect();
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        // The last mode first: every sort keeps what the sorts before it did.
        sort_by_row(&mut order, indices[partner], 0);
        rest.iter().rev().for_each(|&other| sort_by_row(&mut order, indices[other], 0));
        sort_by_row(&mut order, indices[mode], 0);

        let mut view = View {
            mode,
            partner,
            normal: Normal::new(level, ranks[mode], ranks[partner]),
            rows: Vec::new(),
            rest_rows: vec![Vec::new(); rest.len()],
            starts: Vec::new(),
            partners: order.par_iter().map(|&entry| indices[partner][entry as usize]).collect(),
            values: order.par_iter().map(|&entry| values[entry as usize]).collect(),
            pieces: Vec::new(),
            rest,
        };
        let at = |mode: usize, entry: u32| indices[mode][entry as usize];
        let same = |a: u32, b: u32| {
            at(mode, a) == at(mode, b) && view.rest.iter().all(|&other| at(other, a) == at(other, b))
        };
        for (place, &entry) in order.iter().enumerate() {
            let begins = view
                .starts
                .last()
                .is_none_or(|&start| place - start as usize >= RUN || !same(order[place - 1], entry));
            if begins {
                view.starts.push(place as u32);
                view.rows.push(at(mode, entry));
                for (rows, &other) in view.rest_rows.iter_mut().zip(&view.rest) {
                    rows.push(at(other, entry));
                }
            }
        }
        view.starts.push(values.len() as u32);
        view.pieces = cut(&view.rows, &view.starts, count);
        view
    }

    /// The entries of a run.
    pub(super) fn run(&self, run: usize) -> Range<usize> {
        self.starts[run] as usize..self.starts[run + 1] as usize
    }

    pub(super) fn runs(&self) -> usize {
        self.rows.len()
    }

    /// The product of the values of the rest's rows of a run, for each combination of their concepts.
    pub(super) fn weigh(&self, factors: &[&[f32]], ranks: &[usize], run: usize, weights: &mut Vec<f32>) {
        weights.clear();
        weights.push(1.0);
        for (rows, &other) in self.rest_rows.iter().zip(&self.rest) {
            let rank = ranks[other];
            let row = &factors[other][rows[run] as usize * rank..][..rank];
            let before = weights.len();
            weights.resize(before * rank, 0.0);
            // From the back, so that no weight is overwritten before it is used.
            for place in (0..before).rev() {
                let weight = weights[place];
                let products = weights[place * rank..(place + 1) * rank].iter_mut();
                products.zip(row).for_each(|(product, value)| *product = weight * value);
            }
        }
    }
}

/// The partner with which the entries of a mode fall into fewest runs, and how many those are per entry, as far as some of
/// its rows can tell.
pub(super) fn best_partner(indices: &[&[u32]], mode: usize) -> (usize, f64) {
    let entries = indices[mode].len();
    let share = (entries / SAMPLE).max(1) as u64;
    let sample: Vec<usize> =
        (0..entries).filter(|&entry| mix(u64::from(indices[mode][entry])).is_multiple_of(share)).collect();
    let others = (0..indices.len()).filter(|&other| other != mode);
    let runs = others.map(|partner| {
        let distinct: HashSet<u64> = sample
            .iter()
            .map(|&entry| {
                let agree = (0..indices.len()).filter(|&other| other != partner);
                agree.fold(0, |hash, other| mix(hash ^ u64::from(indices[other][entry])))
            })
            .collect();
        (partner, distinct.len() as f64 / sample.len().max(1) as f64)
    });
    runs.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((usize::from(mode == 0), 1.0))
}

/// Cuts runs into pieces of about [`PIECE`] entries that cover all `count` rows.
fn cut(rows: &[u32], starts: &[u32], count: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    // The rows and runs that are in no piece yet.
    let (mut row, mut run) = (0, 0);
    let mut next = 0;
    let entries = |from: usize, to: usize| (starts[to] - starts[from]) as usize;
    while next < rows.len() {
        let this = rows[next] as usize;
        let end = next + rows[next..].partition_point(|&other| other as usize == this);
        let size = entries(next, end);
        if run < next && entries(run, end) > PIECE || size > PIECE {
            if row < this {
                pieces.push(Piece::Rows { rows: row..this, runs: run..next });
            }
            (row, run) = (this, next);
        }
        if size > PIECE {
            let mut from = next;
            while from < end {
                let mut to = from + 1;
                while to < end && entries(from, to + 1) <= PIECE {
                    to += 1;
                }
                pieces.push(Piece::Part { row: this, runs: from..to });
                from = to;
            }
            (row, run) = (this + 1, end);
        }
        next = end;
    }
    if row < count {
        pieces.push(Piece::Rows { rows: row..count, runs: run..rows.len() });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_every_entry_once_and_its_pieces_every_row() {
        let len = 40_000u32;
        // The first row of the mode has most of the entries, some have none.
        let rows: Vec<u32> = (0..len).map(|i| if i % 3 == 0 { i * 7 % 500 } else { 3 }).collect();
        let indices =
            [rows, (0..len).map(|i| i * 13 % 907).collect(), (0..len).map(|i| i / 7 % 11).collect()];
        let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let lists: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
        assert_eq!(best_partner(&lists, 0).0, 1);
        let view = View::new(&lists, &values, 0, 1, 502, &[2, 2, 2], Level::best());
        let mut seen = vec![false; len as usize];
        for run in 0..view.runs() {
            assert!(view.run(run).len() <= RUN);
            for entry in view.run(run) {
                let place = view.values[entry] as usize;
                assert!(!std::mem::replace(&mut seen[place], true));
                assert_eq!(view.rows[run], indices[0][place]);
                assert_eq!(view.partners[entry], indices[1][place]);
                assert_eq!(view.rest_rows[0][run], indices[2][place]);
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
        let (mut row, mut run) = (0, 0);
        for piece in &view.pieces {
            let (Piece::Rows { runs, .. } | Piece::Part { runs, .. }) = piece;
            assert_eq!(runs.start, run);
            run = runs.end;
            match piece {
                Piece::Rows { rows, runs } => {
                    assert!(rows.start == row || rows.start == row + 1);
                    assert!(view.rows[runs.clone()].iter().all(|&row| rows.contains(&(row as usize))));
                    row = rows.end;
                }
                Piece::Part { row: part, runs } => {
                    assert_eq!(*part, 3);
                    assert!(view.rows[runs.clone()].iter().all(|&row| row == 3));
                }
            }
        }
        assert_eq!((row, run), (502, view.runs()));
        assert!(view.pieces.iter().filter(|piece| matches!(piece, Piece::Part { .. })).count() > 2);
    }

    #[test]
    fn weights_are_products_of_the_rest() {
        let indices: [&[u32]; 4] = [&[0], &[1], &[0], &[1]];
        let ranks = [1, 2, 1, 3];
        let view = View::new(&indices, &[1.0], 0, 2, 1, &ranks, Level::best());
        let factors: [&[f32]; 4] = [&[1.0], &[0.0, 0.0, 2.0, 3.0], &[1.0], &[1.0, 1.0, 1.0, 5.0, 7.0, 11.0]];
        let mut weights = Vec::new();
        view.weigh(&factors, &ranks, 0, &mut weights);
        assert_eq!(weights, [10.0, 14.0, 22.0, 15.0, 21.0, 33.0]);
    }
}
