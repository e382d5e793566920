//! What the cells of a coupled matrix pull at.

use crate::training::dense::{add_product, add_scaled, dot};
use crate::training::matrix::Matrix;
use crate::training::sparse::Sparse;

/// The rows of a matrix's mode, which its cells pull at, or in turn its columns.
pub(super) struct Pull<'a> {
    pub(super) cells: &'a Sparse,
    /// The other side, and its Gram matrix.
    pub(super) others: &'a [f64],
    pub(super) gram: &'a [f64],
    pub(super) weight: f64,
    /// Whether all cells count, those that are absent being zeros.
    pub(super) zeros: bool,
}

impl<'a> Pull<'a> {
    /// What pulls at rows, given columns.
    pub(super) fn of_rows(matrix: &'a Matrix, columns: &'a [f64], gram: &'a [f64]) -> Self {
        let Matrix { weight, zeros, by_row, .. } = matrix;
        Pull { cells: by_row, others: columns, gram, weight: *weight, zeros: *zeros }
    }

    /// What pulls at columns, given rows.
    pub(super) fn of_columns(matrix: &'a Matrix, rows: &'a [f64], gram: &'a [f64]) -> Self {
        let Matrix { weight, zeros, by_column, .. } = matrix;
        Pull { cells: by_column, others: rows, gram, weight: *weight, zeros: *zeros }
    }

    /// Adds to `target` what pulls a row towards its cells, `weight (Y - U V') V` over the cells that count, so that its
    /// gradient is the negative of that.
    pub(super) fn add(&self, place: usize, row: &[f64], target: &mut [f64]) {
        let rank = row.len();
        for (other, value) in self.cells.row(place) {
            let other = &self.others[other as usize * rank..][..rank];
            let value = f64::from(value);
            let error = if self.zeros { value } else { value - dot(row, other) };
            add_scaled(target, self.weight * error, other);
        }
        if self.zeros {
            add_product(target, row, self.gram, -self.weight);
        }
    }
}
