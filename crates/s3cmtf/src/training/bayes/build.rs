//! Builds a view from entries that come in its order.

use s3cmtf_kernels::Normal;

use super::view::{Arrays, Piece, Plan, Store, View};
use crate::Error;
use crate::training::room::Scratch;

/// The most entries of a run, and of the pieces that threads take.
const RUN: usize = 1 << 12;
const PIECE: usize = 1 << 13;
/// There are at most so many strips, of at least so many entries each.
const STRIPS: usize = 64;
const STRIP: usize = 1 << 13;

/// A view that is being built: entries make runs, and runs make pieces.
pub(super) struct Builder<'a> {
    plan: &'a Plan<'a>,
    rest: Vec<usize>,
    /// Those that are not on the scratch.
    arrays: Arrays,
    scratch: Option<Box<dyn Scratch>>,
    places: Vec<u64>,
    pieces: Vec<Piece>,
    strips: Vec<usize>,
    /// How many entries there will be, how many there are, and how many runs.
    total: usize,
    entries: usize,
    runs: usize,
    /// The first row and run that are in no piece yet, and how many entries those runs have, without the last run.
    row: usize,
    first_run: usize,
    pending: usize,
    /// The row of the run before the last, and whether it has too many entries for one piece.
    last_row: Option<usize>,
    is_long: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(plan: &'a Plan<'a>, total: usize, scratch: Option<Box<dyn Scratch>>) -> Self {
        let mut arrays = Arrays::default();
        if scratch.is_none() {
            arrays.partners.reserve_exact(total);
            arrays.values.reserve_exact(total);
        }
        let order = plan.order();
        Builder {
            plan,
            rest: order[1..order.len() - 1].to_vec(),
            arrays,
            scratch,
            places: vec![0],
            pieces: Vec::new(),
            strips: Vec::new(),
            total,
            entries: 0,
            runs: 0,
            row: 0,
            first_run: 0,
            pending: 0,
            last_row: None,
            is_long: false,
        }
    }

    /// Adds entries that come behind those that are there.
    pub(super) fn add(&mut self, lists: &[&[u32]], values: &[f32], order: &[u32]) -> Result<(), Error> {
        let Plan { mode, partner, mean, spread, .. } = *self.plan;
        for &entry in order {
            let entry = entry as usize;
            if self.begins(lists, entry) {
                self.end_run()?;
                self.begin_run(lists, entry);
            }
            self.arrays.partners.push(lists[partner][entry]);
            self.arrays.values.push(((f64::from(values[entry]) - mean) / spread) as f32);
            self.entries += 1;
        }
        debug_assert!(
            order.iter().all(|&entry| (lists[mode][entry as usize] as usize) < self.plan.counts.len())
        );
        Ok(())
    }

    /// Whether an entry is the first of a run.
    fn begins(&self, lists: &[&[u32]], entry: usize) -> bool {
        let Arrays { rows, rest, starts, .. } = &self.arrays;
        let (Some(&row), Some(&start)) = (rows.last(), starts.last()) else { return true };
        let same = |(&row, &mode): (&u32, &usize)| row == lists[mode][entry];
        self.entries - start as usize >= RUN
            || row != lists[self.plan.mode][entry]
            || !rest[rest.len() - self.rest.len()..].iter().zip(&self.rest).all(same)
    }

    fn begin_run(&mut self, lists: &[&[u32]], entry: usize) {
        let strips = (self.total / STRIP).clamp(1, STRIPS);
        while self.strips.len() < strips && self.entries >= self.total * self.strips.len() / strips {
            self.strips.push(self.runs);
        }
        self.arrays.rows.push(lists[self.plan.mode][entry]);
        self.arrays.rest.extend(self.rest.iter().map(|&mode| lists[mode][entry]));
        self.arrays.starts.push(self.entries as u32);
        self.runs += 1;
    }

    /// Puts the last run, now that all of its entries are there, into a piece.
    fn end_run(&mut self) -> Result<(), Error> {
        let (Some(&row), Some(&start)) = (self.arrays.rows.last(), self.arrays.starts.last()) else {
            return Ok(());
        };
        let (row, run, entries) = (row as usize, self.runs - 1, self.entries - start as usize);
        if self.last_row != Some(row) {
            self.end_long_row(run)?;
            let size = self.plan.counts[row] as usize;
            self.is_long = size > PIECE;
            if self.is_long || self.first_run < run && self.pending + size > PIECE {
                if self.row < row {
                    self.end_piece(Piece::Rows { rows: self.row..row, runs: self.first_run..run })?;
                }
                self.row = row;
            }
            self.last_row = Some(row);
        }
        if self.is_long && self.first_run < run && self.pending + entries > PIECE {
            self.end_piece(Piece::Part { row, runs: self.first_run..run })?;
        }
        self.pending += entries;
        Ok(())
    }

    /// Ends the last piece of a row that has several, with the run before `run`.
    fn end_long_row(&mut self, run: usize) -> Result<(), Error> {
        if let (true, Some(row)) = (self.is_long, self.last_row) {
            self.end_piece(Piece::Part { row, runs: self.first_run..run })?;
            self.row = row + 1;
        }
        Ok(())
    }

    /// Adds a piece, which begins where the one before ended; on the scratch, if there is one.
    fn end_piece(&mut self, piece: Piece) -> Result<(), Error> {
        let runs = piece.runs();
        (self.first_run, self.pending) = (runs.end, 0);
        self.pieces.push(piece);
        let Some(scratch) = &mut self.scratch else { return Ok(()) };
        let Arrays { rows, rest, starts, partners, values } = &mut self.arrays;
        let first = self.runs - rows.len();
        debug_assert_eq!(first, runs.start);
        let count = runs.len();
        let begin = starts.first().copied().unwrap_or(self.entries as u32);
        let end = starts.get(count).copied().unwrap_or(self.entries as u32);
        let entries = (end - begin) as usize;
        let mut words: Vec<u32> = Vec::new();
        words.extend(rows.drain(..count));
        words.extend(rest.drain(..count * self.rest.len()));
        words.extend(starts.drain(..count));
        words.push(end);
        words.extend(partners.drain(..entries));
        words.extend(values.drain(..entries).map(f32::to_bits));
        let start = scratch.append(bytemuck::cast_slice(&words))?;
        debug_assert_eq!(Some(&start), self.places.last());
        self.places.push(start + 4 * words.len() as u64);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<View, Error> {
        self.end_run()?;
        self.end_long_row(self.runs)?;
        let count = self.plan.counts.len();
        if self.row < count {
            self.end_piece(Piece::Rows { rows: self.row..count, runs: self.first_run..self.runs })?;
        }
        let strips = (self.total / STRIP).clamp(1, STRIPS);
        self.strips.resize(strips + 1, self.runs);
        self.arrays.starts.push(self.entries as u32);
        let Plan { mode, partner, ranks, level, .. } = *self.plan;
        Ok(View {
            mode,
            partner,
            rest: self.rest,
            normal: Normal::new(level, ranks[mode], ranks[partner]),
            entries: self.entries,
            runs: self.runs,
            pieces: self.pieces,
            strips: self.strips,
            store: match self.scratch {
                Some(scratch) => Store::Scratch(scratch, self.places),
                None => Store::Memory(self.arrays),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sorted::best_partner;
    use super::super::view::tests::{counts, view};
    use super::*;

    #[test]
    fn a_view_has_every_entry_once_and_its_pieces_every_row() {
        let len = 40_000u32;
        // One row of the mode has most of the entries, some have none.
        let rows: Vec<u32> = (0..len).map(|i| if i % 3 == 0 { i * 7 % 500 } else { 3 }).collect();
        let indices =
            [rows, (0..len).map(|i| i * 13 % 907).collect(), (0..len).map(|i| i / 7 % 11).collect()];
        let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
        assert_eq!(best_partner(&indices, 0), 1);
        let counts = counts(&indices[0], 502);
        let view = view(&indices, &values, (0, 1), &counts, &[2, 2, 2]);
        let mut seen = vec![false; len as usize];
        let (mut row, mut next_run, mut parts, mut entries) = (0, 0, 0, 0);
        let mut buffer = Vec::new();
        for (number, piece) in view.pieces.iter().enumerate() {
            let runs = piece.runs();
            assert_eq!(runs.start, next_run);
            next_run = runs.end;
            let block = view.block(number, &mut buffer).unwrap();
            let mut size = 0;
            for run in (0..runs.len()).map(|run| block.run(run)) {
                assert!(run.values.len() <= RUN && run.first == entries);
                entries += run.values.len();
                size += run.values.len();
                for (&partner, &value) in run.partners.iter().zip(run.values) {
                    let place = value as usize;
                    assert!(!std::mem::replace(&mut seen[place], true));
                    assert_eq!([run.row, partner, run.rest[0]], [0, 1, 2].map(|mode| indices[mode][place]));
                }
                match piece {
                    Piece::Rows { rows, .. } => assert!(rows.contains(&(run.row as usize))),
                    Piece::Part { .. } => assert_eq!(run.row, 3),
                }
            }
            assert!(size <= PIECE);
            match piece {
                Piece::Rows { rows, .. } => {
                    assert!(rows.start == row || rows.start == row + 1);
                    row = rows.end;
                }
                Piece::Part { row, .. } => {
                    assert_eq!(*row, 3);
                    parts += 1;
                }
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
        assert_eq!((row, next_run), (502, view.runs));
        assert!(parts > 2);
        assert_eq!((view.strips.len(), view.strips[0], view.strips[4]), (5, 0, view.runs));
    }
}
