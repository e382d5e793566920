//! CMTF-ALS: alternating least squares on CP factors, one small system for all rows of a mode (docs/opponents.md eq. P3).
//!
//! As published absent cells of the tensor are zeros. Where they are missing they are filled by the model before each solve
//! (expectation maximization), so that the error over the entries never rises.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cp::{Cp, PullScratch, TensorPull};
use super::data::Data;
use super::matrix::Pull;
use super::method::{Method, Sweep};
use super::rows::Rows;
use super::start::start;
use crate::model::Model;
use crate::parallel;
use crate::params::{OpponentParams, Start};
use crate::training::cholesky;
use crate::training::dense::{add_product, gram};

/// The method's settings.
pub(super) struct CmtfAls {
    cp: Cp,
    start: Start,
    ridge: f64,
}

impl CmtfAls {
    pub(super) fn new(data: &Data, params: &OpponentParams) -> Self {
        CmtfAls {
            cp: Cp::new(data, params.common.ranks[0]),
            start: params.start,
            ridge: f64::from(params.lambda_reg),
        }
    }

    /// The rows of a mode that fit best, all cells that are missing being what the model says.
    fn solve_rows(&self, data: &Data, state: &[f64], mode: usize) -> Vec<f64> {
        let (cp, rank) = (&self.cp, self.cp.rank);
        let (view, factors) = (&data.views[mode], cp.factors(state));
        let (tensor, gamma) = (TensorPull::new(data, cp, &factors, mode), cp.gamma(state, mode));
        let own = factors[mode];
        let matrices = data.matrices.iter().enumerate().filter(|(_, matrix)| matrix.mode == mode);
        let sides: Vec<_> = matrices
            .map(|(number, matrix)| {
                let columns = &state[cp.columns(number)];
                (matrix, columns, gram(columns, rank))
            })
            .collect();
        let mut system = gamma.clone();
        for (matrix, _, gram) in &sides {
            system.iter_mut().zip(gram).for_each(|(sum, gram)| *sum += matrix.weight * gram);
        }
        add_ridge(&mut system, rank, self.ridge);
        cholesky::factorize(&mut system, rank);
        let mut rows = vec![0.0; own.len()];
        Rows {
            view,
            width: rank,
            scratch: || tensor.scratch(),
            sum: |scratch: &mut PullScratch, row, places: Range<usize>, sums: &mut [f64]| {
                for run in view.runs_in_row(row, places) {
                    tensor.add(run, cp.row(own, row as u32), scratch, sums);
                }
            },
            finish: |_: &mut PullScratch, row, sums: &mut [f64], target: &mut [f64]| {
                let own = cp.row(own, row as u32);
                if data.zeros {
                    add_product(sums, own, &gamma, -1.0);
                }
                for (matrix, columns, gram) in &sides {
                    Pull::of_rows(matrix, columns, gram).add(row, own, sums);
                }
                step(&system, own, sums, self.ridge, target);
                0.0
            },
        }
        .make(rank, &mut rows);
        rows
    }

    /// The same of the columns of a matrix.
    fn solve_columns(&self, data: &Data, state: &[f64], number: usize) -> Vec<f64> {
        let rank = self.cp.rank;
        let matrix = &data.matrices[number];
        let (own, rows) = (&state[self.cp.columns(number)], &state[self.cp.range(matrix.mode)]);
        let gram = gram(rows, rank);
        let ridge = self.ridge / matrix.weight.max(f64::MIN_POSITIVE);
        let mut system = gram.clone();
        add_ridge(&mut system, rank, ridge);
        cholesky::factorize(&mut system, rank);
        let pull = Pull { weight: 1.0, ..Pull::of_columns(matrix, rows, &gram) };
        let mut columns = vec![0.0; own.len()];
        parallel::chunks_mut_with(
            &mut columns,
            rank,
            || vec![0.0; rank],
            |sums, column, target| {
                let own = &own[column * rank..][..rank];
                sums.fill(0.0);
                pull.add(column, own, sums);
                step(&system, own, sums, ridge, target);
            },
        );
        columns
    }
}

fn add_ridge(system: &mut [f64], rank: usize, ridge: f64) {
    (0..rank).for_each(|k| system[k * rank + k] += ridge);
}

/// The row that solves the system, as a step from the one before: it is pulled by its errors and by the ridge.
fn step(system: &[f64], own: &[f64], pull: &mut [f64], ridge: f64, target: &mut [f64]) {
    let rank = own.len();
    pull.iter_mut().zip(own).for_each(|(pull, own)| *pull -= ridge * own);
    cholesky::solve_lower(system, rank, pull);
    cholesky::solve_upper(system, rank, pull);
    target.iter_mut().zip(own.iter().zip(pull)).for_each(|(target, (own, step))| *target = own + *step);
}

impl Method for CmtfAls {
    fn start(&self, data: &Data, warm: Option<&Model>) -> Vec<f64> {
        warm.map_or_else(|| start(data, &self.cp, self.start), |model| self.cp.take_over(data, model))
    }

    fn sweep(&mut self, data: &Data, state: &mut Vec<f64>, interrupt: &AtomicBool) -> Sweep {
        for mode in 0..data.order() {
            if interrupt.load(Ordering::Relaxed) {
                return Sweep::Interrupted;
            }
            let rows = self.solve_rows(data, state, mode);
            state[self.cp.range(mode)].copy_from_slice(&rows);
        }
        for matrix in 0..data.matrices.len() {
            let columns = self.solve_columns(data, state, matrix);
            state[self.cp.columns(matrix)].copy_from_slice(&columns);
        }
        Sweep::Done
    }

    fn squared_errors(&self, data: &Data, state: &[f64]) -> f64 {
        self.cp.squared_errors(data, state)
    }

    fn model(&self, data: &Data, state: &[f64]) -> Model {
        self.cp.model(data, state)
    }
}
