//! Sums over the entries of each row of a mode: rows in parallel, and the entries of a long row too.

use std::ops::Range;

use crate::parallel;
use crate::training::view::View;

/// Rows are dealt with together until they have so many entries, and longer ones are cut into pieces of as many: both depend
/// on the entries alone, so that sums do not depend on the threads.
const PIECE: usize = 1 << 14;

/// What is done for each row of a view.
pub(super) struct Rows<'a, Scratch, Sum, Finish> {
    pub(super) view: &'a View,
    /// How many numbers are summed up for a row.
    pub(super) width: usize,
    /// What a thread needs to work with.
    pub(super) scratch: Scratch,
    /// Adds what the entries at some places give to the sums of their row.
    pub(super) sum: Sum,
    /// Makes a row of its sums, and a number, of which the sum over all rows is returned.
    pub(super) finish: Finish,
}

impl<S, Scratch, Sum, Finish> Rows<'_, Scratch, Sum, Finish>
where
    Scratch: Fn() -> S + Sync,
    Sum: Fn(&mut S, usize, Range<usize>, &mut [f64]) + Sync,
    Finish: Fn(&mut S, usize, &mut [f64], &mut [f64]) -> f64 + Sync,
{
    /// Makes all rows, each of `rank` numbers.
    pub(super) fn make(&self, rank: usize, rows: &mut [f64]) -> f64 {
        let mut rest = rows;
        let mut tasks = Vec::new();
        for range in groups(self.view) {
            let (own, others) = rest.split_at_mut(range.len() * rank);
            rest = others;
            tasks.push((range, own));
        }
        parallel::map_of(tasks, |(range, own)| self.group(range, own, rank)).into_iter().sum()
    }

    fn group(&self, range: Range<usize>, rows: &mut [f64], rank: usize) -> f64 {
        let mut scratch = (self.scratch)();
        let mut sums = vec![0.0; self.width];
        let each = range.zip(rows.chunks_exact_mut(rank)).map(|(row, target)| {
            let places = self.view.places(row);
            sums.fill(0.0);
            if places.len() > PIECE {
                self.long(row, places, &mut sums);
            } else {
                (self.sum)(&mut scratch, row, places, &mut sums);
            }
            (self.finish)(&mut scratch, row, &mut sums, target)
        });
        each.sum()
    }

    /// The sums of a long row, piece by piece.
    fn long(&self, row: usize, places: Range<usize>, sums: &mut [f64]) {
        let count = places.len().div_ceil(PIECE);
        let piece = |number: usize| {
            let first = places.start + number * PIECE;
            let mut sums = vec![0.0; self.width];
            (self.sum)(&mut (self.scratch)(), row, first..(first + PIECE).min(places.end), &mut sums);
            sums
        };
        for piece in parallel::map(count, piece) {
            sums.iter_mut().zip(piece).for_each(|(sum, piece)| *sum += piece);
        }
    }
}

/// Rows that are dealt with together.
fn groups(view: &View) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut first, mut entries) = (0, 0);
    for row in 0..view.rows() {
        // A row without entries is work, too.
        entries += view.places(row).len() + 1;
        if entries > PIECE {
            groups.push(first..row + 1);
            (first, entries) = (row + 1, 0);
        }
    }
    groups.push(first..view.rows());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Entries;

    #[test]
    fn every_entry_counts_once_in_its_row_however_long_that_is() {
        let counts = [3usize, 0, 40_000, 1, 17_000, 0];
        let rows = counts.iter().enumerate().flat_map(|(row, &count)| vec![row as u32; count]);
        let rows: Vec<u32> = rows.collect();
        let values: Vec<f32> = (0..rows.len()).map(|place| (place % 13) as f32).collect();
        let columns = (0..rows.len()).map(|place| place as u32).collect();
        let expected: Vec<f64> = (0..counts.len())
            .map(|row| {
                let own = rows.iter().zip(&values).filter(|(own, _)| **own as usize == row);
                own.map(|(_, &value)| f64::from(value)).sum()
            })
            .collect();
        let sizes = [counts.len(), rows.len()];
        let view = View::new(&Entries::from_rows("entries".into(), vec![rows, columns], values), 0, &sizes);
        let sums = Rows {
            view: &view,
            width: 1,
            scratch: || (),
            sum: |(): &mut (), row, places: Range<usize>, sums: &mut [f64]| {
                let values = view.runs_in_row(row, places).flat_map(|run| run.values);
                sums[0] += values.map(|&value| f64::from(value)).sum::<f64>();
            },
            finish: |(): &mut (), row, sums: &mut [f64], target: &mut [f64]| {
                target.copy_from_slice(&[sums[0], row as f64]);
                sums[0]
            },
        };
        let mut made = vec![0.0; 2 * counts.len()];
        let total = sums.make(2, &mut made);
        for (row, made) in made.chunks_exact(2).enumerate() {
            assert_eq!(made, [expected[row], row as f64]);
        }
        assert_eq!(total, expected.iter().sum::<f64>());
    }
}
