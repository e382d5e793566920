//! The objective and its gradient: half the squared errors of the tensor, of each matrix times its weight, and of the ridge.

use std::ops::Range;

use crate::parallel;
use crate::training::dense::{add_product, dot, gram, long_dot};
use crate::training::opponents::cp::{Cp, PullScratch, TensorPull};
use crate::training::opponents::data::Data;
use crate::training::opponents::matrix::Pull;
use crate::training::opponents::rows::Rows;

pub(in crate::training::opponents) struct Objective<'a> {
    pub(in crate::training::opponents) data: &'a Data,
    pub(in crate::training::opponents) cp: &'a Cp,
    pub(in crate::training::opponents) ridge: f64,
}

impl Objective<'_> {
    /// The objective of a state; its gradient is written to a list as long.
    pub(in crate::training::opponents) fn evaluate(&self, state: &[f64], gradient: &mut [f64]) -> f64 {
        let Objective { data, cp, ridge } = *self;
        let mut value = 0.5 * ridge * long_dot(state, state);
        for mode in 0..data.order() {
            let squares = self.rows(state, mode, &mut gradient[cp.range(mode)]);
            if mode == data.lead {
                value += 0.5 * squares;
            }
        }
        for (number, matrix) in data.matrices.iter().enumerate() {
            let (rows, columns) = (&state[cp.range(matrix.mode)], &state[cp.columns(number)]);
            value += 0.5 * matrix.weight * matrix.squared_errors(rows, columns, cp.rank);
            self.columns(state, number, &mut gradient[cp.columns(number)]);
        }
        value
    }

    /// The gradient of a mode's rows; returns the squared errors over the cells of the tensor that count.
    fn rows(&self, state: &[f64], mode: usize, gradient: &mut [f64]) -> f64 {
        let Objective { data, cp, ridge } = *self;
        let rank = cp.rank;
        let (view, factors) = (&data.views[mode], cp.factors(state));
        let tensor = TensorPull::new(data, cp, &factors, mode);
        let own = factors[mode];
        let gamma = data.zeros.then(|| cp.gamma(state, mode));
        let matrices = data.matrices.iter().enumerate().filter(|(_, matrix)| matrix.mode == mode);
        let sides: Vec<_> = matrices
            .map(|(number, matrix)| {
                let columns = &state[cp.columns(number)];
                (matrix, columns, gram(columns, rank))
            })
            .collect();
        let rows = Rows {
            view,
            width: rank + 1,
            scratch: || tensor.scratch(),
            sum: |scratch: &mut PullScratch, row, places: Range<usize>, sums: &mut [f64]| {
                let own = cp.row(own, row as u32);
                let (sums, squares) = sums.split_at_mut(rank);
                for run in view.runs_in_row(row, places) {
                    squares[0] += tensor.add(run, own, scratch, sums);
                }
            },
            finish: |_: &mut PullScratch, row, sums: &mut [f64], target: &mut [f64]| {
                let own = cp.row(own, row as u32);
                let (pull, squares) = sums.split_at_mut(rank);
                if let Some(gamma) = &gamma {
                    add_product(pull, own, gamma, -1.0);
                }
                for (matrix, columns, gram) in &sides {
                    Pull::of_rows(matrix, columns, gram).add(row, own, pull);
                }
                let both = pull.iter().zip(own);
                target.iter_mut().zip(both).for_each(|(target, (pull, own))| *target = ridge * own - pull);
                squares[0]
            },
        };
        let squares = rows.make(rank, gradient);
        match gamma {
            Some(gamma) => squares + data.squares + dot(&gamma, &gram(own, rank)),
            None => squares,
        }
    }

    /// The gradient of a matrix's columns.
    fn columns(&self, state: &[f64], number: usize, gradient: &mut [f64]) {
        let Objective { data, cp, ridge } = *self;
        let (matrix, rank) = (&data.matrices[number], cp.rank);
        let (rows, own) = (&state[cp.range(matrix.mode)], &state[cp.columns(number)]);
        let gram = gram(rows, rank);
        let pull = Pull::of_columns(matrix, rows, &gram);
        parallel::chunks_mut(gradient, rank, |column, target| {
            let own = &own[column * rank..][..rank];
            target.fill(0.0);
            pull.add(column, own, target);
            target.iter_mut().zip(own).for_each(|(target, own)| *target = ridge * own - *target);
        });
    }
}
