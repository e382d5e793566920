//! Sparse matrices by rows.

use std::ops::Range;

use crate::parallel;

/// For each row its columns and values.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Sparse {
    /// From cells (row, column, value), in that order within each row.
    pub(crate) fn new(rows: usize, cells: impl Iterator<Item = (u32, u32, f32)> + Clone) -> Self {
        let mut starts = vec![0usize; rows + 1];
        cells.clone().for_each(|(row, _, _)| starts[row as usize + 1] += 1);
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; starts[rows]];
        let mut values = vec![0.0; starts[rows]];
        for (row, column, value) in cells {
            let place = next[row as usize];
            columns[place] = column;
            values[place] = value;
            next[row as usize] += 1;
        }
        Sparse { starts, columns, values }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where each row begins and the last one ends, the columns, and the values.
    #[cfg(feature = "cuda")]
    pub(crate) fn parts(&self) -> (&[usize], &[u32], &[f32]) {
        (&self.starts, &self.columns, &self.values)
    }

    /// The columns and values of a row.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> {
        let range = self.starts[row]..self.starts[row + 1];
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// All rows, in consecutive pieces of at least so many cells; the last may have fewer.
    pub(crate) fn pieces(&self, least: usize) -> Vec<Range<usize>> {
        let (mut pieces, mut first) = (Vec::new(), 0);
        for row in 0..self.rows() {
            if row + 1 == self.rows() || self.starts[row + 1] - self.starts[first] >= least {
                pieces.push(first..row + 1);
                first = row + 1;
            }
        }
        pieces
    }

    /// The sum over all cells of the value times the product of its row of `left` and its column's of `right`.
    pub(crate) fn dot(&self, left: &[f32], right: &[f32], rank: usize) -> f64 {
        self.sum(left, rank, |row, left, pulled| {
            self.pull(row, right, rank, pulled);
            left.iter().zip(pulled).map(|(&left, right)| f64::from(left) * *right).sum()
        })
    }

    /// The sum over all cells of the value times the squared distance of the two rows of `factor` that it names.
    pub(crate) fn squared_distances(&self, factor: &[f32], rank: usize) -> f64 {
        self.sum(factor, rank, |row, left, _| {
            let apart = |column: u32| -> f64 {
                let right = &factor[column as usize * rank..][..rank];
                left.iter().zip(right).map(|(&left, &right)| f64::from(left - right).powi(2)).sum()
            };
            self.row(row).map(|(column, value)| f64::from(value) * apart(column)).sum()
        })
    }

    /// The sum over rows of what `visit` makes of a row's number, its row of `left` and `rank` numbers to work with; in
    /// pieces of a fixed size, so that it does not depend on the threads.
    fn sum(&self, left: &[f32], rank: usize, visit: impl Fn(usize, &[f32], &mut [f64]) -> f64 + Sync) -> f64 {
        const PIECE: usize = 4096;
        let pieces = left.chunks(PIECE * rank).enumerate();
        let pieces: Vec<f64> = parallel::map_of(pieces, |(piece, left)| {
            let mut work = vec![0.0; rank];
            let rows = left.chunks_exact(rank).enumerate();
            rows.map(|(offset, left)| visit(piece * PIECE + offset, left, &mut work)).sum()
        });
        pieces.into_iter().sum()
    }

    /// Sums the rows of `factor` that a row's columns name, each times its value; returns the sum of the values.
    pub(crate) fn pull(&self, row: usize, factor: &[f32], rank: usize, sum: &mut [f64]) -> f64 {
        sum.fill(0.0);
        let mut total = 0.0;
        for (column, value) in self.row(row) {
            let value = f64::from(value);
            total += value;
            for (sum, &other) in sum.iter_mut().zip(&factor[column as usize * rank..][..rank]) {
                *sum += value * f64::from(other);
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_all_rows_and_enough_cells() {
        let counts = [0, 9, 1, 1, 0, 2, 0, 4, 1, 0];
        let rows =
            (0u32..).zip(counts).flat_map(|(row, count)| (0..count).map(move |column| (row, column, 1.0)));
        let cells = Sparse::new(counts.len(), rows);
        assert_eq!(cells.pieces(4), [0..2, 2..6, 6..8, 8..10]);
        assert_eq!(cells.pieces(100).first(), Some(&(0..10)));
        assert_eq!(Sparse::new(0, std::iter::empty()).pieces(4), []);
    }
}
