//! Coupled matrices as methods of least squares see them: `weight |Y - U V'|^2` over the cells that count.

use super::dense::{dot, gram};
use super::sparse::Sparse;
use crate::parallel;
use crate::problem::{Absent, Coupled};

/// A coupled matrix by rows and by columns.
pub(super) struct Matrix {
    pub(super) mode: usize,
    /// What a squared error counts, against 1 in the tensor.
    pub(super) weight: f64,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Whether all cells count, those that are absent being zeros.
    pub(super) zeros: bool,
    pub(super) by_row: Sparse,
    pub(super) by_column: Sparse,
    /// How many cells are not absent, and the sum of their squares.
    pub(super) present: usize,
    pub(super) squares: f64,
}

impl Matrix {
    /// Takes up a matrix that is no graph.
    pub(super) fn new(matrix: &Coupled, rows: usize, weight: f64) -> Self {
        Matrix::in_units(matrix, rows, weight, 1.0)
    }

    /// The same with all values divided by `scale`.
    pub(super) fn in_units(matrix: &Coupled, rows: usize, weight: f64, scale: f64) -> Self {
        let entries = matrix.entries();
        let cell = |turn: bool| {
            move |place: usize| {
                let (row, column) = (entries.indices(0)[place], entries.indices(1)[place]);
                let value = (f64::from(entries.values()[place]) / scale) as f32;
                if turn { (column, row, value) } else { (row, column, value) }
            }
        };
        let (places, columns) = (0..entries.len(), matrix.columns().rows());
        Matrix {
            mode: matrix.mode(),
            weight,
            rows,
            columns,
            zeros: matrix.kind() == Absent::Zeros,
            by_row: Sparse::new(rows, places.clone().map(cell(false))),
            by_column: Sparse::new(columns, places.map(cell(true))),
            present: entries.len(),
            squares: squares(matrix) / (scale * scale),
        }
    }

    /// How many cells count.
    pub(super) fn cells(&self) -> f64 {
        if self.zeros { self.rows as f64 * self.columns as f64 } else { self.present as f64 }
    }

    /// The sum of squared errors over the cells that count.
    pub(super) fn squared_errors(&self, rows: &[f64], columns: &[f64], rank: usize) -> f64 {
        const PIECE: usize = 1024;
        let pieces = rows.chunks(PIECE * rank).enumerate();
        let sums: Vec<f64> = parallel::map_of(pieces, |(piece, some)| {
            let own = |(offset, row): (usize, &[f64])| -> f64 {
                let cells = self.by_row.row(piece * PIECE + offset);
                cells
                    .map(|(column, value)| {
                        let prediction = dot(row, &columns[column as usize * rank..][..rank]);
                        let value = f64::from(value);
                        if self.zeros { -2.0 * value * prediction } else { (value - prediction).powi(2) }
                    })
                    .sum()
            };
            some.chunks_exact(rank).enumerate().map(own).sum()
        });
        let sum: f64 = sums.into_iter().sum();
        if self.zeros {
            // Over all cells, |Y - M|^2 is |Y|^2 - 2 <Y, M> + |M|^2, and the last of these needs no cell.
            (sum + self.squares + dot(&gram(rows, rank), &gram(columns, rank))).max(0.0)
        } else {
            sum
        }
    }
}

/// The sum of the squared values of a matrix.
pub(super) fn squares(matrix: &Coupled) -> f64 {
    matrix.entries().values().iter().map(|&value| f64::from(value).powi(2)).sum()
}
