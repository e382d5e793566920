//! Coupled matrices: further least squares, which the rows of their mode and their own columns see.

use super::cholesky;
use super::dense::{add_scaled, add_square, gram};
use super::matrix::{self, Matrix};
use super::sparse::Sparse;
use crate::parallel;
use crate::problem::{Absent, Coupled};

/// A coupled matrix in units of its root mean square.
pub(super) struct Scaled {
    pub(super) matrix: Matrix,
    /// What its values were divided by.
    pub(super) scale: f64,
}

/// What a matrix adds to the systems of its mode's rows.
pub(super) struct Side<'a> {
    matrix: &'a Matrix,
    columns: &'a [f64],
    /// Where all cells count, what they add to every row.
    gram: Option<Vec<f64>>,
    /// What its weight is multiplied by.
    by: f64,
}

impl Scaled {
    /// Takes up a matrix that is no graph; `spread` is what the tensor's values are divided by.
    pub(super) fn new(coupled: &Coupled, rows: usize, weight: f32, spread: f64) -> Self {
        let cells = match coupled.kind() {
            Absent::Zeros => rows as f64 * coupled.columns().rows() as f64,
            _ => coupled.entries().len() as f64,
        };
        let scale = (matrix::squares(coupled) / cells.max(1.0)).sqrt();
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let weight = f64::from(weight) * (scale / spread).powi(2);
        Scaled { matrix: Matrix::in_units(coupled, rows, weight, scale), scale }
    }

    /// What the matrix adds to rows of its mode, given its columns.
    pub(super) fn side<'a>(&'a self, columns: &'a [f64], rank: usize) -> Side<'a> {
        Side { matrix: &self.matrix, columns, gram: self.matrix.zeros.then(|| gram(columns, rank)), by: 1.0 }
    }

    /// The columns that fit best, given the rows (method.md eq. L3).
    pub(super) fn solve(&self, rows: &[f64], rank: usize, ridge: f64) -> Vec<f64> {
        let matrix = &self.matrix;
        let gram = matrix.zeros.then(|| gram(rows, rank));
        let mut columns = vec![0.0; matrix.columns * rank];
        parallel::chunks_mut(&mut columns, rank, |column, target| {
            let mut system = gram.clone().unwrap_or_else(|| vec![0.0; rank * rank]);
            add_cells(&matrix.by_column, column, rows, (1.0, !matrix.zeros), &mut system, target);
            (0..rank).for_each(|k| system[k * rank + k] += ridge);
            cholesky::factorize(&mut system, rank);
            cholesky::solve_lower(&system, rank, target);
            cholesky::solve_upper(&system, rank, target);
        });
        columns
    }
}

impl Side<'_> {
    /// The same with another weight: so many times its own.
    pub(super) fn times(self, by: f64) -> Self {
        Side { by: self.by * by, ..self }
    }

    /// Adds what the matrix says about a row to the row's system.
    pub(super) fn add(&self, row: usize, system: &mut [f64], target: &mut [f64]) {
        let Matrix { by_row, zeros, .. } = self.matrix;
        let weight = self.by * self.matrix.weight;
        if let Some(gram) = &self.gram {
            add_scaled(system, weight, gram);
        }
        add_cells(by_row, row, self.columns, (weight, !zeros), system, target);
    }

    /// Whether the matrix knows a row.
    pub(super) fn knows(&self, row: usize) -> bool {
        self.matrix.zeros || self.matrix.by_row.row(row).next().is_some()
    }
}

/// Adds the cells of a row, or of a column, to its system; their squares only where others do not count.
fn add_cells(
    cells: &Sparse,
    row: usize,
    others: &[f64],
    (weight, squares): (f64, bool),
    system: &mut [f64],
    target: &mut [f64],
) {
    let rank = target.len();
    for (other, value) in cells.row(row) {
        let other = &others[other as usize * rank..][..rank];
        if squares {
            add_square(system, other, weight);
        }
        add_scaled(target, weight * f64::from(value), other);
    }
}
