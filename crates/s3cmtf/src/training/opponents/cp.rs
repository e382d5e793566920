//! The state of a CP method: the factors of all modes, and of all matrices' columns, one after the other in one list.

use std::ops::Range;

use super::data::{Data, narrow};
use super::small::{dot, gram};
use crate::model::{Core, Model};
use crate::training::chain::Chain;

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

    /// Products of the rows of all modes but the first of the list.
    pub(super) fn chain<'a>(&self, modes: &'a [usize], factors: &[&'a [f64]]) -> Chain<'a> {
        Chain::new(&modes[1..], &self.ranks, factors, &self.ones, true)
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
        use rayon::prelude::*;
        const PIECES: usize = 256;
        let (view, factors) = (&data.views[data.lead], self.factors(state));
        let chain = self.chain(&view.modes, &factors);
        let own = factors[data.lead];
        let piece = |number: usize| -> f64 {
            let (first, last) = (number * view.len() / PIECES, (number + 1) * view.len() / PIECES);
            let mut steps = chain.steps();
            let error = |(indices, value): (&[u32], f64)| {
                let row = &own[indices[0] as usize * self.rank..][..self.rank];
                (value - dot(row, chain.left(&indices[1..], &mut steps))).powi(2)
            };
            view.run(first..last).map(error).sum()
        };
        let sums: Vec<f64> = (0..PIECES).into_par_iter().map(piece).collect();
        sums.into_iter().sum()
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
