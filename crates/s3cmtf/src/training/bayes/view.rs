//! Entries as seen from the rows of one mode.

use std::ops::Range;

use s3cmtf_kernels::NormalEquations;

use super::build::Builder;
use super::distinct::Distinct;
use super::packed::arrange;
use super::sorted::{each_sorted, order};
use crate::Error;
use crate::problem::EntrySource;
use crate::training::budget::{MemoryBudget, Scratch};

/// The most entries of a run.
pub(super) const RUN: usize = 1 << 12;

/// Entries ordered by their row in one mode. Of the other modes, one is the *partner*, in which each entry names a row of
/// its own; consecutive entries that agree in all but the partner are a *run*, and share what the core becomes along those.
pub(super) struct View {
    pub(super) mode: usize,
    pub(super) partner: usize,
    /// All other modes.
    pub(super) rest: Vec<usize>,
    pub(super) normal: NormalEquations,
    pub(super) entries: usize,
    pub(super) runs: usize,
    /// Parts of the work: each a block of runs.
    pub(super) pieces: Vec<Piece>,
    /// Longer parts of about equal numbers of entries, by the runs where they begin, and the end of the last.
    pub(super) strips: Vec<usize>,
    pub(super) store: Store,
}

/// A part of the work.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// All runs of some rows.
    Rows { rows: Range<usize>, runs: Range<usize> },
    /// Some runs of a row that has too many entries for one piece.
    Part { row: usize, runs: Range<usize> },
}

impl Piece {
    pub(super) fn runs(&self) -> Range<usize> {
        let (Piece::Rows { runs, .. } | Piece::Part { runs, .. }) = self;
        runs.clone()
    }
}

/// Where runs and their entries are.
pub(super) enum Store {
    Memory(Arrays),
    /// Each piece's arrays one behind the other, and where they start.
    Scratch(Box<dyn Scratch>, Vec<u64>),
}

/// Runs and their entries.
pub(super) struct Arrays {
    /// The row of each run.
    pub(super) rows: Vec<u32>,
    /// The rows of each run in the modes of the rest.
    pub(super) rest: Vec<u32>,
    /// Where each run's entries start, and the end of the last.
    pub(super) starts: Vec<u32>,
    /// The partner's row of each entry.
    pub(super) partners: Vec<u32>,
    pub(super) values: Values,
}

/// The values of entries.
pub(super) enum Values {
    Plain(Vec<f32>),
    /// The place of each among the distinct ones.
    Coded(Vec<u8>, Vec<f32>),
}

/// Consecutive runs of a view, counted from 0 here.
pub(super) struct Block<'a> {
    pub(super) rows: &'a [u32],
    rest: &'a [u32],
    starts: &'a [u32],
    partners: &'a [u32],
    values: &'a [f32],
}

/// A run and its entries.
#[derive(Clone, Copy)]
pub(super) struct EntryRun<'a> {
    pub(super) row: u32,
    pub(super) rest: &'a [u32],
    /// Which entry of the view its first is.
    pub(super) first: usize,
    pub(super) partners: &'a [u32],
    pub(super) values: &'a [f32],
}

/// What a view is made for.
pub(super) struct Plan<'a> {
    pub(super) mode: usize,
    pub(super) partner: usize,
    pub(super) ranks: &'a [usize],
    pub(super) level: s3cmtf_kernels::Level,
    /// How many entries each row of the mode has.
    pub(super) counts: &'a [u32],
    /// The largest row of each mode, or a larger number.
    pub(super) largest: &'a [u32],
    /// What values are centred by, and divided by.
    pub(super) mean: f64,
    pub(super) spread: f64,
    /// The distinct values, if they are known and few.
    pub(super) distinct: Option<&'a Distinct>,
    /// Some entries, for the order of the others to be guessed from; needed where there is a room.
    pub(super) sample: &'a [Vec<u32>],
}

impl Plan<'_> {
    /// The modes by which entries are ordered, the first first.
    pub(super) fn order(&self) -> Vec<usize> {
        [self.mode].into_iter().chain(self.rest()).chain([self.partner]).collect()
    }

    /// The modes that are neither the view's nor the partner.
    pub(super) fn rest(&self) -> Vec<usize> {
        (0..self.ranks.len()).filter(|&other| other != self.mode && other != self.partner).collect()
    }

    /// A value as the view has it.
    pub(super) fn centred(&self, value: f32) -> f32 {
        ((f64::from(value) - self.mean) / self.spread) as f32
    }
}

impl View {
    /// Orders entries: in memory if they are there, or else in the room that there is for them.
    pub(super) fn new(
        entries: &EntrySource,
        plan: &Plan<'_>,
        budget: Option<&MemoryBudget>,
    ) -> Result<Self, Error> {
        match entries {
            EntrySource::Memory(entries) => {
                let lists: Vec<&[u32]> = (0..entries.order()).map(|mode| entries.indices(mode)).collect();
                match arrange(&lists, entries.values(), plan) {
                    Some(view) => Ok(view),
                    None => View::one_by_one(&lists, entries.values(), plan),
                }
            }
            EntrySource::Stored(_) => {
                let budget = budget.ok_or_else(|| Error::Problem("no room for entries".into()))?;
                let mut builder = Builder::new(plan, entries.len(), Some(budget.scratch()?));
                each_sorted(entries, plan, budget, &mut |lists, values, order| {
                    builder.add(lists, values, order)
                })?;
                builder.finish()
            }
        }
    }

    /// A view in memory, whatever rows entries have.
    pub(super) fn one_by_one(lists: &[&[u32]], values: &[f32], plan: &Plan<'_>) -> Result<Self, Error> {
        let mut builder = Builder::new(plan, values.len(), None);
        builder.add(lists, values, &order(lists, values.len(), &plan.order()))?;
        builder.finish()
    }

    /// The view of a plan.
    pub(super) fn from_parts(
        plan: &Plan<'_>,
        entries: usize,
        runs: usize,
        pieces: Vec<Piece>,
        strips: Vec<usize>,
        store: Store,
    ) -> Self {
        let Plan { mode, partner, ranks, level, .. } = *plan;
        let normal = NormalEquations::new(level, ranks[mode], ranks[partner]);
        View { mode, partner, rest: plan.rest(), normal, entries, runs, pieces, strips, store }
    }

    /// The runs of a piece; `buffer` holds what is not in memory as it is needed.
    pub(super) fn block<'a>(&'a self, piece: usize, buffer: &'a mut Vec<u32>) -> Result<Block<'a>, Error> {
        let runs = self.pieces[piece].runs();
        let width = self.rest.len();
        match &self.store {
            Store::Memory(arrays) => {
                let starts = &arrays.starts[runs.start..=runs.end];
                let entries = starts[0] as usize..starts[starts.len() - 1] as usize;
                let values = match &arrays.values {
                    Values::Plain(values) => &values[entries.clone()],
                    Values::Coded(codes, values) => {
                        buffer.clear();
                        let value = |&code: &u8| values[code as usize].to_bits();
                        buffer.extend(codes[entries.clone()].iter().map(value));
                        bytemuck::cast_slice(buffer)
                    }
                };
                Ok(Block {
                    rows: &arrays.rows[runs.clone()],
                    rest: &arrays.rest[runs.start * width..runs.end * width],
                    starts,
                    partners: &arrays.partners[entries],
                    values,
                })
            }
            Store::Scratch(scratch, places) => {
                let bytes = places[piece + 1] - places[piece];
                buffer.resize(bytes as usize / 4, 0);
                scratch.read(bytemuck::cast_slice_mut(buffer), places[piece])?;
                let (rows, words) = buffer.split_at(runs.len());
                let (rest, words) = words.split_at(runs.len() * width);
                let (starts, words) = words.split_at(runs.len() + 1);
                let (partners, values) = words.split_at(words.len() / 2);
                Ok(Block { rows, rest, starts, partners, values: bytemuck::cast_slice(values) })
            }
        }
    }

    /// The product of the values of the rest's rows of a run, for each combination of their concepts.
    pub(super) fn weigh(&self, factors: &[&[f32]], ranks: &[usize], rows: &[u32], weights: &mut Vec<f32>) {
        weights.clear();
        weights.push(1.0);
        for (&row, &other) in rows.iter().zip(&self.rest) {
            let rank = ranks[other];
            let row = &factors[other][row as usize * rank..][..rank];
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

impl<'a> Block<'a> {
    pub(super) fn run(&self, run: usize) -> EntryRun<'a> {
        let (first, width) = (self.starts[run], self.rest.len() / self.rows.len());
        let entries = (first - self.starts[0]) as usize..(self.starts[run + 1] - self.starts[0]) as usize;
        EntryRun {
            row: self.rows[run],
            rest: &self.rest[run * width..(run + 1) * width],
            first: first as usize,
            partners: &self.partners[entries.clone()],
            values: &self.values[entries],
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use s3cmtf_kernels::Level;

    use super::*;
    use crate::problem::Entries;

    /// A view in memory of entries whose values stay as they are.
    pub(crate) fn view(
        indices: &[Vec<u32>],
        values: &[f32],
        (mode, partner): (usize, usize),
        counts: &[u32],
        ranks: &[usize],
    ) -> View {
        let distinct = Distinct::collect(values);
        let largest: Vec<u32> = indices.iter().map(|rows| rows.iter().max().copied().unwrap_or(0)).collect();
        let plan = Plan {
            mode,
            partner,
            ranks,
            level: Level::best(),
            counts,
            largest: &largest,
            mean: 0.0,
            spread: 1.0,
            distinct: distinct.as_ref(),
            sample: &[],
        };
        let entries = Entries::from_rows(String::new(), indices.to_vec(), values.to_vec());
        View::new(&EntrySource::Memory(entries), &plan, None).unwrap()
    }

    /// How many entries each row has.
    pub(crate) fn counts(rows: &[u32], size: usize) -> Vec<u32> {
        let mut counts = vec![0; size];
        rows.iter().for_each(|&row| counts[row as usize] += 1);
        counts
    }

    #[test]
    fn weights_are_products_of_the_rest() {
        let indices = [vec![0], vec![1], vec![0], vec![1]];
        let ranks = [1, 2, 1, 3];
        let view = view(&indices, &[1.0], (0, 2), &[1], &ranks);
        let factors: [&[f32]; 4] = [&[1.0], &[0.0, 0.0, 2.0, 3.0], &[1.0], &[1.0, 1.0, 1.0, 5.0, 7.0, 11.0]];
        let mut weights = Vec::new();
        view.weigh(&factors, &ranks, &[1, 1], &mut weights);
        assert_eq!(weights, [10.0, 14.0, 22.0, 15.0, 21.0, 33.0]);
    }
}
