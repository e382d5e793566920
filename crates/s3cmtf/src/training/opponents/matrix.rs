//! Coupled matrices: `lambda |Y - U V'|^2` over the cells that count, with `U` the factor of their mode.

use rayon::prelude::*;

use super::small::{add_product, dot, gram};
use crate::problem::{Absent, Coupled};
use crate::training::sparse::Sparse;

/// A coupled matrix by rows and by columns.
pub(super) struct Matrix {
    pub(super) mode: usize,
    /// What a squared error counts, against 1 in the tensor.
    pub(super) lambda: f64,
    pub(super) columns: usize,
    /// Whether all cells count, those that are absent being zeros.
    pub(super) zeros: bool,
    pub(super) by_row: Sparse,
    pub(super) by_column: Sparse,
    /// How many cells are not absent, and the sum of their squares.
    pub(super) cells: usize,
    pub(super) squares: f64,
}

impl Matrix {
    /// Takes up a matrix that is no graph.
    pub(super) fn new(matrix: &Coupled, rows: usize, lambda: f64) -> Self {
        let entries = matrix.entries();
        let cell = |turn: bool| {
            move |place: usize| {
                let (row, column) = (entries.indices(0)[place], entries.indices(1)[place]);
                let value = entries.values()[place];
                if turn { (column, row, value) } else { (row, column, value) }
            }
        };
        let (places, columns) = (0..entries.len(), matrix.columns().rows());
        Matrix {
            mode: matrix.mode(),
            lambda,
            columns,
            zeros: matrix.kind() == Absent::Zeros,
            by_row: Sparse::new(rows, places.clone().map(cell(false))),
            by_column: Sparse::new(columns, places.map(cell(true))),
            cells: entries.len(),
            squares: entries.values().iter().map(|&value| f64::from(value).powi(2)).sum(),
        }
    }

    /// The sum of squared errors over the cells that count.
    pub(super) fn squared_errors(&self, rows: &[f64], columns: &[f64], rank: usize) -> f64 {
        const PIECE: usize = 1024;
        let sums: Vec<f64> = rows
            .par_chunks(PIECE * rank)
            .enumerate()
            .map(|(piece, some)| {
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
            })
            .collect();
        let sum: f64 = sums.into_iter().sum();
        if self.zeros {
            (sum + self.squares + dot(&gram(rows, rank), &gram(columns, rank))).max(0.0)
        } else {
            sum
        }
    }

    /// Adds to `target` what pulls a row towards its cells, `weight (Y - U V') V` over the cells that count, so that its
    /// gradient is the negative of that; `others` are the columns, whose Gram matrix is `gram`.
    pub(super) fn add_pull(&self, pull: &Pull<'_>, place: usize, row: &[f64], target: &mut [f64]) {
        let (rank, weight) = (row.len(), pull.weight);
        for (other, value) in pull.cells.row(place) {
            let other = &pull.others[other as usize * rank..][..rank];
            let value = f64::from(value);
            let error = if self.zeros { value } else { value - dot(row, other) };
            target.iter_mut().zip(other).for_each(|(target, other)| *target += weight * error * other);
        }
        if self.zeros {
            add_product(target, row, pull.gram, -weight);
        }
    }
}

/// What cells pull at: the rows of their mode, or in turn the columns.
pub(super) struct Pull<'a> {
    pub(super) cells: &'a Sparse,
    pub(super) others: &'a [f64],
    /// The Gram matrix of the others.
    pub(super) gram: &'a [f64],
    pub(super) weight: f64,
}
