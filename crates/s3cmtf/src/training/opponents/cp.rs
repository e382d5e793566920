//! The state of a CP method: the factors of all modes, and of all matrices' columns, one after the other in one list.

use std::ops::Range;

use super::data::Data;
use crate::model::{Core, Model};
use crate::training::chain::{Chain, Steps};
use crate::training::dense::{add_scaled, dot, gram, multiply};
use crate::training::frame::narrow;
use crate::training::view::Run;

/// Where each factor is in the list.
pub(super) struct Cp {
    pub(super) rank: usize,
    starts: Vec<usize>,
    order: usize,
    ranks: Vec<usize>,
    ones: Vec<f64>,
}

impl Cp {
    pub(super) fn new(data: &Data, rank: usize) -> Self {
        let rows = data.rows.iter().copied().chain(data.matrices.iter().map(|matrix| matrix.columns));
        let ends = rows.scan(0, |end, rows| {
            *end += rows * rank;
            Some(*end)
        });
        Cp {
            starts: std::iter::once(0).chain(ends).collect(),
            order: data.order(),
            ranks: vec![rank; data.order()],
            ones: vec![1.0; rank],
            rank,
        }
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// Where the rows of a mode are, or behind those of all modes, the columns of a matrix.
    pub(super) fn range(&self, factor: usize) -> Range<usize> {
        self.starts[factor]..self.starts[factor + 1]
    }

    /// Where the columns of a matrix are.
    pub(super) fn columns(&self, matrix: usize) -> Range<usize> {
        self.range(self.order + matrix)
    }

    /// The factors of all modes.
    pub(super) fn factors<'a>(&self, state: &'a [f64]) -> Vec<&'a [f64]> {
        (0..self.order).map(|mode| &state[self.range(mode)]).collect()
    }

    /// Products of the rows of the given modes.
    pub(super) fn chain<'a>(&self, modes: &[usize], factors: &[&'a [f64]]) -> Chain<'a> {
        Chain::new((modes, modes.len()), &self.ranks, factors, &self.ones, true)
    }

    /// The Hadamard product of the Gram matrices of all modes but one, which stands for all cells of the tensor.
    pub(super) fn gamma(&self, state: &[f64], mode: usize) -> Vec<f64> {
        let mut product = vec![1.0; self.rank * self.rank];
        for other in (0..self.order).filter(|&other| other != mode) {
            let gram = gram(&state[self.range(other)], self.rank);
            product.iter_mut().zip(gram).for_each(|(product, gram)| *product *= gram);
        }
        product
    }

    /// The sum of squared errors over the entries of the tensor.
    pub(super) fn squared_errors(&self, data: &Data, state: &[f64]) -> f64 {
        let (view, factors) = (&data.views[data.lead], self.factors(state));
        let chain = self.chain(&view.modes[..self.order - 1], &factors);
        chain.squared_errors(view, factors[view.last_mode()])
    }

    /// A row of a factor.
    pub(super) fn row<'a>(&self, factor: &'a [f64], row: u32) -> &'a [f64] {
        &factor[row as usize * self.rank..][..self.rank]
    }

    /// The ordinary model of a state: the base's columns first.
    pub(super) fn model(&self, data: &Data, state: &[f64]) -> Model {
        let (order, extra) = (self.order, data.base.columns(self.order));
        let rank = extra + self.rank;
        let core = data.base.core(order).into_iter().chain(self.ones.iter().copied()).map(narrow).collect();
        let rows = (0..order).map(|mode| {
            let own = state[self.range(mode)].chunks_exact(self.rank).enumerate();
            let row = |(row, own): (usize, &[f64])| [&data.base.row(mode, row, order), own].concat();
            (rank, own.flat_map(row).collect())
        });
        let columns = (0..data.matrices.len()).map(|matrix| {
            let own = state[self.columns(matrix)].chunks_exact(self.rank);
            (rank, own.flat_map(|own| [&vec![0.0; extra], own].concat()).collect())
        });
        data.model(Core::Diagonal(core), rows.collect(), columns.collect())
    }

    /// The state of a model to go on from: its core goes into the rows of the first mode.
    pub(super) fn take_over(&self, data: &Data, warm: &Model) -> Vec<f64> {
        let mut state = vec![0.0; self.len()];
        for mode in 0..self.order {
            state[self.range(mode)].copy_from_slice(&data.known_rows(warm, mode));
        }
        for row in state[self.range(0)].chunks_exact_mut(self.rank) {
            row.iter_mut().zip(warm.core.values()).for_each(|(value, &core)| *value *= f64::from(core));
        }
        for (number, matrix) in data.matrices.iter().enumerate() {
            let Some(known) = data.known_columns(warm, number) else { continue };
            let columns = &mut state[self.columns(number)];
            columns.iter_mut().zip(known).for_each(|(value, &known)| *value = f64::from(known));
            if matrix.mode == 0 {
                // The rows of the first mode have the core in them now, and their products with columns are the same.
                for column in columns.chunks_exact_mut(self.rank) {
                    let of = |(value, &core): (&mut f64, &f32)| {
                        *value /= if core == 0.0 { 1.0 } else { f64::from(core) }
                    };
                    column.iter_mut().zip(warm.core.values()).for_each(of);
                }
            }
        }
        state
    }
}

/// What the entries of a view pull at, row by row.
pub(super) struct TensorPull<'a> {
    pub(super) cp: &'a Cp,
    /// The products of the rows of all modes but the view's own and its last.
    pub(super) chain: Chain<'a>,
    /// The factor of the view's last mode.
    pub(super) last: &'a [f64],
    /// Whether absent cells are zeros, so that what the model says of entries is not taken off them.
    pub(super) zeros: bool,
}

/// What a thread needs for that.
pub(super) struct PullScratch {
    steps: Steps,
    design: Vec<f64>,
    sum: Vec<f64>,
}

impl<'a> TensorPull<'a> {
    pub(super) fn new(data: &Data, cp: &'a Cp, factors: &[&'a [f64]], mode: usize) -> Self {
        let modes = &data.views[mode].modes;
        let last = modes.len() - 1;
        TensorPull {
            cp,
            chain: cp.chain(&modes[1..last], factors),
            last: factors[modes[last]],
            zeros: data.zeros,
        }
    }

    pub(super) fn scratch(&self) -> PullScratch {
        let rank = self.cp.rank;
        PullScratch { steps: self.chain.steps(), design: vec![0.0; rank], sum: vec![0.0; rank] }
    }

    /// Adds to `target` what pulls a row towards the entries of a run, and returns the sum of their squared errors; where
    /// absent cells are zeros, only the part of it that depends on the model and these entries.
    pub(super) fn add(
        &self,
        run: Run<'_>,
        own: &[f64],
        scratch: &mut PullScratch,
        target: &mut [f64],
    ) -> f64 {
        let PullScratch { steps, design, sum } = scratch;
        let left = self.chain.left(&run.head[1..], steps);
        // A prediction is linear in the row of the last mode: what it is multiplied with is the same for the whole run.
        multiply(design, own, left);
        sum.fill(0.0);
        let mut squares = 0.0;
        for (&row, &value) in run.last.iter().zip(run.values) {
            let (row, value) = (self.cp.row(self.last, row), f64::from(value));
            let prediction = dot(design, row);
            let error = if self.zeros { value } else { value - prediction };
            // Over all cells, |X - M|^2 is |X|^2 - 2 <X, M> + |M|^2, and the last of these is that of no entry.
            squares += if self.zeros { -2.0 * value * prediction } else { error * error };
            add_scaled(sum, error, row);
        }
        target.iter_mut().zip(sum.iter().zip(left)).for_each(|(target, (sum, left))| *target += sum * left);
        squares
    }
}
