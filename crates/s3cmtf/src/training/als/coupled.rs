//! Coupled matrices: further least squares, which the rows of their mode and their own columns see.

use rayon::prelude::*;

use super::state::{add_square, gram};
use crate::problem::{Absent, Coupled};
use crate::training::cholesky;
use crate::training::sparse::Sparse;

/// A coupled matrix by rows and by columns, in units of its root mean square.
pub(super) struct Matrix {
    pub(super) mode: usize,
    /// What a squared error counts, against 1 in the tensor.
    pub(super) weight: f64,
    /// What its values were divided by.
    pub(super) scale: f64,
    pub(super) columns: usize,
    /// How many of its cells are known.
    pub(super) cells: f64,
    all: bool,
    by_row: Sparse,
    by_column: Sparse,
    /// The sum of its squared values.
    squares: f64,
}

/// What a matrix adds to the systems of its mode's rows.
pub(super) struct Side<'a> {
    matrix: &'a Matrix,
    columns: &'a [f64],
    /// Where all cells count, what they add to every row.
    gram: Option<Vec<f64>>,
}

impl Matrix {
    /// Takes up a matrix that is no graph; `spread` is what the tensor's values are divided by.
    pub(super) fn new(matrix: &Coupled, rows: usize, weight: f32, spread: f64) -> Self {
        let entries = matrix.entries();
        let (columns, all) = (matrix.columns().rows(), matrix.kind() == Absent::Zeros);
        let cells = if all { rows as f64 * columns as f64 } else { entries.len() as f64 };
        let squares: f64 = entries.values().iter().map(|&value| f64::from(value).powi(2)).sum();
        let scale = (squares / cells.max(1.0)).sqrt();
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let cell = |turn: bool| {
            move |place: usize| {
                let (row, column) = (entries.indices(0)[place], entries.indices(1)[place]);
                let value = (f64::from(entries.values()[place]) / scale) as f32;
                if turn { (column, row, value) } else { (row, column, value) }
            }
        };
        let places = 0..entries.len();
        Matrix {
            mode: matrix.mode(),
            weight: f64::from(weight) * (scale / spread).powi(2),
            by_row: Sparse::new(rows, places.clone().map(cell(false))),
            by_column: Sparse::new(columns, places.map(cell(true))),
            squares: squares / (scale * scale),
            scale,
            columns,
            cells,
            all,
        }
    }

    /// What the matrix adds to rows of its mode, given its columns.
    pub(super) fn side<'a>(&'a self, columns: &'a [f64], rank: usize) -> Side<'a> {
        Side { matrix: self, columns, gram: self.all.then(|| gram(columns, rank)) }
    }

    /// The columns that fit best, given the rows (method.md eq. L3).
    pub(super) fn solve(&self, rows: &[f64], rank: usize, ridge: f64) -> Vec<f64> {
        let gram = self.all.then(|| gram(rows, rank));
        let mut columns = vec![0.0; self.columns * rank];
        columns.par_chunks_exact_mut(rank).enumerate().for_each(|(column, target)| {
            let mut system = gram.clone().unwrap_or_else(|| vec![0.0; rank * rank]);
            add_cells(&self.by_column, column, rows, (1.0, !self.all), &mut system, target);
            (0..rank).for_each(|k| system[k * rank + k] += ridge);
            cholesky::factorize(&mut system, rank);
            cholesky::solve_lower(&system, rank, target);
            cholesky::solve_upper(&system, rank, target);
        });
        columns
    }

    /// The sum of squared errors.
    pub(super) fn squares(&self, rows: &[f64], columns: &[f64], rank: usize) -> f64 {
        let sums: Vec<f64> = rows
            .par_chunks(4096 * rank)
            .enumerate()
            .map(|(piece, some)| {
                let own = |(offset, row): (usize, &[f64])| -> f64 {
                    let cells = self.by_row.row(piece * 4096 + offset);
                    cells
                        .map(|(column, value)| {
                            let other = &columns[column as usize * rank..][..rank];
                            let dot: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                            let value = f64::from(value);
                            if self.all { -2.0 * value * dot } else { (value - dot).powi(2) }
                        })
                        .sum()
                };
                some.chunks_exact(rank).enumerate().map(own).sum()
            })
            .collect();
        let mut sum: f64 = sums.into_iter().sum();
        if self.all {
            let products = gram(rows, rank).into_iter().zip(gram(columns, rank));
            sum += self.squares + products.map(|(a, b)| a * b).sum::<f64>();
        }
        sum.max(0.0)
    }
}

impl Side<'_> {
    /// Adds what the matrix says about a row to the row's system.
    pub(super) fn add(&self, row: usize, system: &mut [f64], target: &mut [f64]) {
        let Matrix { weight, by_row, all, .. } = self.matrix;
        if let Some(gram) = &self.gram {
            system.iter_mut().zip(gram).for_each(|(sum, value)| *sum += weight * value);
        }
        add_cells(by_row, row, self.columns, (*weight, !all), system, target);
    }

    /// Whether the matrix knows a row.
    pub(super) fn knows(&self, row: usize) -> bool {
        self.matrix.all || self.matrix.by_row.row(row).next().is_some()
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
        let value = weight * f64::from(value);
        target.iter_mut().zip(other).for_each(|(target, other)| *target += value * other);
    }
}
