//! Builds a view from entries that come in its order, one by one: those of a part that was read, or whose rows are too many
//! to be packed.

use super::budget::Scratch;
use super::cut::Cut;
use super::view::{Arrays, Plan, RUN, Store, Values, View};
use crate::Error;

/// A view that is being built: entries make runs, and runs make pieces.
pub(crate) struct Builder<'a> {
    plan: &'a Plan<'a>,
    rest: Vec<usize>,
    /// The runs and entries that are not on the scratch.
    rows: Vec<u32>,
    rests: Vec<u32>,
    starts: Vec<u32>,
    partners: Vec<u32>,
    values: Vec<f32>,
    entries: usize,
    cut: Cut<'a>,
    scratch: Option<Box<dyn Scratch>>,
    /// Where each piece that is on the scratch starts, and the end of the last.
    places: Vec<u64>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(plan: &'a Plan<'a>, total: usize, scratch: Option<Box<dyn Scratch>>) -> Self {
        let own = if scratch.is_none() { total } else { 0 };
        Builder {
            plan,
            rest: plan.rest(),
            rows: Vec::new(),
            rests: Vec::new(),
            starts: Vec::new(),
            partners: Vec::with_capacity(own),
            values: Vec::with_capacity(own),
            entries: 0,
            cut: Cut::new(plan.counts, &plan.share),
            scratch,
            places: vec![0],
        }
    }

    /// Adds entries that come behind those that are there.
    pub(crate) fn add(&mut self, lists: &[&[u32]], values: &[f32], order: &[u32]) -> Result<(), Error> {
        let Plan { mode, partner, .. } = *self.plan;
        for &entry in order {
            let entry = entry as usize;
            if self.begins(lists, entry) {
                self.end_run()?;
                // Whatever goes through rows relies on it, and finds less of where it came from.
                assert!((lists[mode][entry] as usize) < self.plan.counts.len());
                self.rows.push(lists[mode][entry]);
                self.rests.extend(self.rest.iter().map(|&mode| lists[mode][entry]));
                self.starts.push(self.entries as u32);
            }
            self.partners.push(lists[partner][entry]);
            self.values.push(self.plan.centred(values[entry]));
            self.entries += 1;
        }
        Ok(())
    }

    /// Whether an entry is the first of a run.
    fn begins(&self, lists: &[&[u32]], entry: usize) -> bool {
        let (Some(&row), Some(&start)) = (self.rows.last(), self.starts.last()) else { return true };
        let same = |(&row, &mode): (&u32, &usize)| row == lists[mode][entry];
        let rest = &self.rests[self.rests.len() - self.rest.len()..];
        self.entries - start as usize >= RUN
            || row != lists[self.plan.mode][entry]
            || !rest.iter().zip(&self.rest).all(same)
    }

    /// Cuts the last run, now that all of its entries are there.
    fn end_run(&mut self) -> Result<(), Error> {
        if let (Some(&row), Some(&start)) = (self.rows.last(), self.starts.last()) {
            let written = self.cut.pieces().len();
            self.cut.add(row, self.entries - start as usize);
            let sizes: Vec<usize> =
                self.cut.pieces()[written..].iter().map(|piece| piece.runs().len()).collect();
            sizes.into_iter().try_for_each(|runs| self.write(runs))?;
        }
        Ok(())
    }

    /// Puts the first so many runs, which are a piece, on the scratch, if there is one.
    fn write(&mut self, runs: usize) -> Result<(), Error> {
        let Some(scratch) = &mut self.scratch else { return Ok(()) };
        let at = |run: usize| self.starts.get(run).copied().unwrap_or(self.entries as u32);
        let (begin, end) = (at(0), at(runs));
        let entries = (end - begin) as usize;
        let mut words: Vec<u32> = Vec::new();
        words.extend(self.rows.drain(..runs));
        words.extend(self.rests.drain(..runs * self.rest.len()));
        words.extend(self.starts.drain(..runs));
        words.push(end);
        words.extend(self.partners.drain(..entries));
        words.extend(self.values.drain(..entries).map(f32::to_bits));
        let start = scratch.append(bytemuck::cast_slice(&words))?;
        assert_eq!(Some(&start), self.places.last());
        self.places.push(start + 4 * words.len() as u64);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<View, Error> {
        self.end_run()?;
        let (written, runs) = (self.cut.pieces().len(), self.cut.runs());
        let cut = std::mem::replace(&mut self.cut, Cut::new(&[], &self.plan.share));
        let (pieces, strips) = cut.finish();
        pieces[written..].iter().try_for_each(|piece| self.write(piece.runs().len()))?;
        self.starts.push(self.entries as u32);
        let store = match self.scratch {
            Some(scratch) => Store::Scratch(scratch, self.places),
            None => Store::Memory(Arrays {
                rows: self.rows,
                rest: self.rests,
                starts: self.starts,
                partners: self.partners,
                values: Values::Plain(self.values),
            }),
        };
        Ok(View::from_parts(self.plan, runs, pieces, strips, store))
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrange::tests::{counts, view};
    use super::super::share::PIECE;
    use super::super::sorted::best_partner;
    use super::super::view::Piece;
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
            let block = view.block(number, true, &mut buffer).unwrap();
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
