//! SALS: CP factors, some columns at a time; with one it is CDTF, with all of them ALS row by row (docs/opponents.md eq. P4).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use s3cmtf_kernels::{Level, NormalEquations};

use super::cp::Cp;
use super::data::Data;
use super::method::{Method, Sweep};
use super::rows::Rows;
use super::start::start;
use crate::model::Model;
use crate::parallel;
use crate::params::{OpponentParams, Start};
use crate::training::cholesky;
use crate::training::dense::{add_scaled, add_square, dot, gram};
use crate::training::designs::Designs;
use crate::training::frame::narrow;
use crate::training::matrix::Matrix;
use crate::training::sparse::Sparse;

/// The method's settings.
pub(super) struct Sals {
    cp: Cp,
    start: Start,
    /// How many columns are solved for at a time.
    block: usize,
    /// The ridge of a row, once and for each of its entries.
    ridge: [f64; 2],
    level: Level,
}

/// Some columns of all factors, one after the other.
struct Block {
    columns: Range<usize>,
    factors: Vec<Vec<f64>>,
}

impl Sals {
    pub(super) fn new(data: &Data, params: &OpponentParams) -> Self {
        let rank = params.common.ranks[0];
        let lambda = f64::from(params.lambda_reg);
        Sals {
            cp: Cp::new(data, rank),
            start: params.start,
            block: params.block.min(rank),
            ridge: if params.weighted { [0.0, lambda] } else { [lambda, 0.0] },
            level: params.common.level,
        }
    }

    fn ridge(&self, entries: usize) -> f64 {
        // Without any, a row without entries would have no solution.
        (self.ridge[0] + self.ridge[1] * entries as f64).max(1e-12)
    }

    fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let (rank, block) = (self.cp.rank, self.block);
        (0..rank).step_by(block).map(move |first| first..(first + block).min(rank))
    }

    fn block(&self, state: &[f64], columns: Range<usize>, factors: usize) -> Block {
        let own = |factor: usize| {
            let rows = state[self.cp.range(factor)].chunks_exact(self.cp.rank);
            rows.flat_map(|row| row[columns.clone()].iter().copied()).collect()
        };
        Block { factors: (0..factors).map(own).collect(), columns }
    }

    /// What is left of the entries, in the order of each view, without the first block.
    fn residuals(&self, data: &Data, state: &[f64]) -> Vec<Vec<f32>> {
        let (cp, rank) = (&self.cp, self.cp.rank);
        let factors = cp.factors(state);
        // The rest of the columns: those of the first block are not taken off.
        let rest = self.block.min(rank)..rank;
        let of_view = |mode: usize| {
            let view = &data.views[mode];
            let (last, heads) = (factors[view.last_mode()], &view.modes[..view.modes.len() - 1]);
            let chain = cp.chain(heads, &factors);
            let mut residuals = vec![0.0; view.len()];
            each_piece(&mut residuals, |first, residuals| {
                let mut steps = chain.steps();
                for run in view.runs(first..first + residuals.len()) {
                    let left = &chain.left(run.head, &mut steps)[rest.clone()];
                    let residuals = &mut residuals[run.start - first..];
                    for (residual, (&row, &value)) in
                        residuals.iter_mut().zip(run.last.iter().zip(run.values))
                    {
                        let row = &cp.row(last, row)[rest.clone()];
                        *residual = (f64::from(value) - dot(left, row)) as f32;
                    }
                }
            });
            residuals
        };
        (0..data.order()).map(of_view).collect()
    }

    /// Solves for the block's columns of a mode's rows; `rest` is what is left of the entries without the block.
    fn solve_rows(&self, data: &Data, state: &[f64], block: &mut Block, mode: usize, rest: &[f32]) {
        let (view, width) = (&data.views[mode], block.columns.len());
        let mut own = std::mem::take(&mut block.factors[mode]);
        let sides: Vec<Side<'_>> = data
            .matrices
            .iter()
            .enumerate()
            .filter(|(_, matrix)| matrix.mode == mode)
            .map(|(number, matrix)| {
                let (cells, others) = (&matrix.by_row, self.cp.columns(number));
                Side::new(
                    matrix,
                    cells,
                    (&state[others], &block.factors[data.order() + number]),
                    &block.columns,
                )
            })
            .collect();
        let all = &state[self.cp.range(mode)];
        let rank = self.cp.rank;
        // Designs and their products are in 32 bits, as the residuals are; sums over more than a chunk in 64.
        let others: Vec<Vec<f32>> = (0..data.order())
            .map(|other| block.factors[other].iter().map(|&value| narrow(value)).collect())
            .collect();
        let last = &others[view.last_mode()];
        let kernels = NormalEquations::new(self.level, width, width);
        let rows = Rows {
            view,
            width: width * width + width,
            scratch: || Designs::new(kernels, width),
            sum: |designs: &mut Designs, row, places: Range<usize>, sums: &mut [f64]| {
                for run in view.runs_in_row(row, places) {
                    designs.head(&others, &view.modes[1..], &run.head[1..]);
                    for (&other, &rest) in run.last.iter().zip(&rest[run.start..]) {
                        designs.add(&last[other as usize * width..][..width], 1.0, rest, sums);
                    }
                }
                designs.flush(sums);
            },
            finish: |_: &mut Designs, row, sums: &mut [f64], target: &mut [f64]| {
                let (system, solution) = sums.split_at_mut(width * width);
                for side in &sides {
                    side.add(row, &all[row * rank..][..rank], system, solution);
                }
                solve(system, solution, self.ridge(view.places(row).len()));
                target.copy_from_slice(solution);
                0.0
            },
        };
        rows.make(width, &mut own);
        block.factors[mode] = own;
    }

    /// Solves for the block's columns of a matrix's columns.
    fn solve_columns(&self, data: &Data, state: &[f64], block: &mut Block, number: usize) {
        let (matrix, width, rank) = (&data.matrices[number], block.columns.len(), self.cp.rank);
        let mut own = std::mem::take(&mut block.factors[data.order() + number]);
        let others = (&state[self.cp.range(matrix.mode)], &block.factors[matrix.mode][..]);
        let side = Side::new(matrix, &matrix.by_column, others, &block.columns);
        let all = &state[self.cp.columns(number)];
        parallel::chunks_mut_with(
            &mut own,
            width,
            || vec![0.0; width * width + width],
            |sums, column, target| {
                sums.fill(0.0);
                let (system, solution) = sums.split_at_mut(width * width);
                side.add(column, &all[column * rank..][..rank], system, solution);
                solve(system, solution, self.ridge(matrix.by_column.row(column).count()));
                target.copy_from_slice(solution);
            },
        );
        block.factors[data.order() + number] = own;
    }
}

/// Goes through a list in pieces, with all threads.
fn each_piece(list: &mut [f32], visit: impl Fn(usize, &mut [f32]) + Sync) {
    const PIECE: usize = 1 << 14;
    parallel::chunks_mut(list, PIECE, |piece, list| visit(piece * PIECE, list));
}

/// The product of some modes' rows.
fn product(product: &mut [f64], factors: &[Vec<f64>], modes: &[usize], rows: &[u32]) {
    let width = product.len();
    product.fill(1.0);
    for (&row, &mode) in rows.iter().zip(modes) {
        let row = &factors[mode][row as usize * width..][..width];
        product.iter_mut().zip(row).for_each(|(product, row)| *product *= row);
    }
}

fn solve(system: &mut [f64], solution: &mut [f64], ridge: f64) {
    let width = solution.len();
    (0..width).for_each(|k| system[k * width + k] += ridge);
    cholesky::factorize(system, width);
    cholesky::solve_lower(system, width, solution);
    cholesky::solve_upper(system, width, solution);
}

/// What a matrix says about the block's columns of its rows, or in turn of its columns.
struct Side<'a> {
    matrix: &'a Matrix,
    cells: &'a Sparse,
    /// The other side as it was before the block, and the block's columns of it as they are.
    others: (&'a [f64], &'a [f64]),
    columns: Range<usize>,
    /// The products of the other side's columns.
    gram: Vec<f64>,
}

impl<'a> Side<'a> {
    fn new(
        matrix: &'a Matrix,
        cells: &'a Sparse,
        others: (&'a [f64], &'a [f64]),
        columns: &Range<usize>,
    ) -> Self {
        let mut gram_all = Vec::new();
        if matrix.zeros {
            let width = columns.len();
            let rank = others.0.len() * width / others.1.len().max(1);
            let mut new = others.0.to_vec();
            for (row, own) in new.chunks_exact_mut(rank).zip(others.1.chunks_exact(width)) {
                row[columns.clone()].copy_from_slice(own);
            }
            gram_all = gram(&new, rank);
        }
        Side { matrix, cells, others, columns: columns.clone(), gram: gram_all }
    }

    /// Adds to the system of a row, whose numbers before the block are given.
    fn add(&self, row: usize, own: &[f64], system: &mut [f64], target: &mut [f64]) {
        let (rank, width, weight) = (own.len(), self.columns.len(), self.matrix.weight);
        for (other, value) in self.cells.row(row) {
            let new = &self.others.1[other as usize * width..][..width];
            let value = f64::from(value);
            if self.matrix.zeros {
                add_scaled(target, weight * value, new);
                continue;
            }
            let all = &self.others.0[other as usize * rank..][..rank];
            let rest = dot(own, all) - dot(&own[self.columns.clone()], &all[self.columns.clone()]);
            add_square(system, new, weight);
            add_scaled(target, weight * (value - rest), new);
        }
        if self.matrix.zeros {
            for (i, k) in self.columns.clone().enumerate() {
                let products = &self.gram[k * rank..][..rank];
                for (j, l) in self.columns.clone().enumerate().take(i + 1) {
                    system[i * width + j] += weight * products[l];
                }
                let rest =
                    dot(own, products) - dot(&own[self.columns.clone()], &products[self.columns.clone()]);
                target[i] -= weight * rest;
            }
        }
    }
}

impl Method for Sals {
    fn start(&self, data: &Data, warm: Option<&Model>) -> Vec<f64> {
        warm.map_or_else(|| start(data, &self.cp, self.start), |model| self.cp.take_over(data, model))
    }

    fn sweep(&mut self, data: &Data, state: &mut Vec<f64>, interrupt: &AtomicBool) -> Sweep {
        let (order, rank) = (data.order(), self.cp.rank);
        let factors = order + data.matrices.len();
        // Anew in every sweep, so that rounding does not add up.
        let mut rest = self.residuals(data, state);
        let mut last: Option<Block> = None;
        for columns in self.blocks() {
            let mut block = self.block(state, columns.clone(), factors);
            if let Some(last) = &last {
                for (mode, rest) in rest.iter_mut().enumerate() {
                    exchange(data, mode, last, &block, rest);
                }
            }
            for (mode, rest) in rest.iter().enumerate() {
                if interrupt.load(Ordering::Relaxed) {
                    return Sweep::Interrupted;
                }
                self.solve_rows(data, state, &mut block, mode, rest);
            }
            for matrix in 0..data.matrices.len() {
                self.solve_columns(data, state, &mut block, matrix);
            }
            let width = columns.len();
            for (factor, own) in block.factors.iter().enumerate() {
                let rows = state[self.cp.range(factor)].chunks_exact_mut(rank);
                for (row, own) in rows.zip(own.chunks_exact(width)) {
                    row[columns.clone()].copy_from_slice(own);
                }
            }
            last = Some(block);
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

/// Takes what a block has come to off the entries of a view, and adds what the next one says so far.
fn exchange(data: &Data, mode: usize, last: &Block, next: &Block, rest: &mut [f32]) {
    let view = &data.views[mode];
    let (old, new) = (last.columns.len(), next.columns.len());
    let end = view.modes.len() - 1;
    let (last_off, last_on) = (&last.factors[view.last_mode()], &next.factors[view.last_mode()]);
    each_piece(rest, |first, rest| {
        let (mut off, mut on) = (vec![0.0; old], vec![0.0; new]);
        for run in view.runs(first..first + rest.len()) {
            product(&mut off, &last.factors, &view.modes[..end], run.head);
            product(&mut on, &next.factors, &view.modes[..end], run.head);
            for (&row, rest) in run.last.iter().zip(&mut rest[run.start - first..]) {
                let row = row as usize;
                let now = dot(&on, &last_on[row * new..][..new]);
                *rest += (now - dot(&off, &last_off[row * old..][..old])) as f32;
            }
        }
    });
}
