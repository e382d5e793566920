//! CMTF-Tucker-ALS: orthonormal factors, each the leading eigenvectors of what the others leave, and the core that follows from
//! them (docs/opponents.md eq. P5).
//!
//! As published absent cells of the tensor are zeros. Where they are missing they are filled by the model before each solve, and
//! so are missing cells of matrices.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::data::Data;
use super::method::{Method, Sweep};
use super::rows::Rows;
use super::start::normals;
use crate::model::{Core, Model};
use crate::parallel;
use crate::params::OpponentParams;
use crate::training::chain::{Chain, permuted, restored};
use crate::training::cholesky;
use crate::training::dense::{add_product, add_scaled, cross, dot};
use crate::training::frame::narrow;
use crate::training::sparse::Sparse;

/// Steps of subspace iteration in a solve: at most, and the share of a step by which it has settled.
const STEPS: usize = 30;
const SETTLED: f64 = 1e-12;

/// Where everything is in the list of numbers: factors, columns of matrices, core.
pub(super) struct TuckerAls {
    ranks: Vec<usize>,
    starts: Vec<usize>,
    order: usize,
    core: Range<usize>,
}

impl TuckerAls {
    pub(super) fn new(data: &Data, params: &OpponentParams) -> Self {
        // There are no more orthonormal columns than rows.
        let ranks: Vec<usize> =
            params.common.ranks.iter().zip(&data.rows).map(|(&rank, &rows)| rank.min(rows)).collect();
        let factors = data.rows.iter().zip(&ranks).map(|(rows, rank)| rows * rank);
        let columns = data.matrices.iter().map(|matrix| matrix.columns * ranks[matrix.mode]);
        let ends = factors.chain(columns).scan(0, |end, len| {
            *end += len;
            Some(*end)
        });
        let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let first = starts[starts.len() - 1];
        TuckerAls { core: first..first + ranks.iter().product::<usize>(), order: data.order(), ranks, starts }
    }

    fn range(&self, mode: usize) -> Range<usize> {
        self.starts[mode]..self.starts[mode + 1]
    }

    fn columns(&self, matrix: usize) -> Range<usize> {
        self.range(self.order + matrix)
    }

    fn factors<'a>(&self, state: &'a [f64]) -> Vec<&'a [f64]> {
        (0..self.order).map(|mode| &state[self.range(mode)]).collect()
    }

    /// The tensor times all factors but one: for each row of that mode the products with the others' columns, those of the
    /// view's next mode first (`W` in docs/opponents.md).
    fn contracted(&self, data: &Data, state: &[f64], mode: usize) -> Vec<f64> {
        let view = &data.views[mode];
        let others = &view.modes[1..];
        let factors = self.factors(state);
        let core = &state[self.core.clone()];
        let (end, last_mode) = (others.len() - 1, view.last_mode());
        // The way through the core, for predictions, and the way back through the others alone, for sums.
        let forth = Chain::new((&view.modes, end + 1), &self.ranks, &factors, core, false);
        let places: Vec<usize> = (0..others.len()).collect();
        let ranks: Vec<usize> = others.iter().map(|&mode| self.ranks[mode]).collect();
        let rows: Vec<&[f64]> = others.iter().map(|&mode| factors[mode]).collect();
        let width = ranks.iter().product();
        let back = Chain::new((&places, end), &ranks, &rows, &vec![0.0; width], false);
        let (last, last_rank) = (factors[last_mode], self.ranks[last_mode]);
        let (rank, own) = (self.ranks[mode], factors[mode]);
        // For missing cells: what the core says of them, by this mode's columns.
        let fill = (!data.zeros).then(|| permuted(core, &self.ranks, &view.modes));
        let mut contracted = vec![0.0; data.rows[mode] * width];
        Rows {
            view,
            width,
            scratch: || (forth.steps(), back.steps()),
            sum: |(forth_steps, steps): &mut (_, _), row, places: Range<usize>, sums: &mut [f64]| {
                for run in view.runs_in_row(row, places) {
                    let left = (!data.zeros).then(|| forth.left(run.head, forth_steps));
                    let given = back.back(&run.head[1..], steps, sums);
                    for (&other, &value) in run.last.iter().zip(run.values) {
                        let other = &last[other as usize * last_rank..][..last_rank];
                        add_scaled(
                            given,
                            f64::from(value) - left.map_or(0.0, |left| dot(left, other)),
                            other,
                        );
                    }
                }
                back.arrive(steps, sums);
            },
            finish: |_: &mut (_, _), row, sums: &mut [f64], target: &mut [f64]| {
                if let Some(fill) = &fill {
                    add_product(sums, &own[row * rank..][..rank], fill, 1.0);
                }
                target.copy_from_slice(sums);
                0.0
            },
        }
        .make(width, &mut contracted);
        contracted
    }

    /// Solves for the factor of a mode, and for the core.
    fn solve(&self, data: &Data, state: &mut [f64], mode: usize) {
        let (rank, rows) = (self.ranks[mode], data.rows[mode]);
        let contracted = self.contracted(data, state, mode);
        let width = contracted.len() / rows.max(1);
        let matrices = data.matrices.iter().enumerate().filter(|(_, matrix)| matrix.mode == mode);
        let sides: Vec<Filled<'_>> = matrices
            .map(|(number, matrix)| {
                let own = (!matrix.zeros).then(|| (&state[self.range(mode)], &state[self.columns(number)]));
                Filled { weight: matrix.weight, forth: &matrix.by_row, back: &matrix.by_column, own }
            })
            .collect();
        let mut factor = state[self.range(mode)].to_vec();
        for _ in 0..STEPS {
            // (W W' + sum lambda Y Y') U, without a matrix of rows by rows.
            let mut next = vec![0.0; factor.len()];
            let small = cross(&contracted, width, &factor, rank);
            parallel::chunks_mut(&mut next, rank, |row, next| {
                add_product(next, &contracted[row * width..][..width], &small, 1.0);
            });
            for side in &sides {
                let turned = side.turned(&factor, rank);
                let small = side.own.map(|(_, columns)| cross(columns, rank, &turned, rank));
                parallel::chunks_mut(&mut next, rank, |row, next| {
                    side.add(row, &turned, small.as_deref(), next);
                });
            }
            if !orthonormalize(&mut next, rank, data.seed) {
                break;
            }
            // What of the new columns does not lie in the old ones.
            let shared = cross(&factor, rank, &next, rank);
            let left = rank as f64 - dot(&shared, &shared);
            factor = next;
            if left < SETTLED * rank as f64 {
                break;
            }
        }
        let core = cross(&factor, rank, &contracted, width);
        let view = &data.views[mode];
        let core = restored(&core, &self.ranks, &view.modes);
        let columns: Vec<(usize, Vec<f64>)> = data
            .matrices
            .iter()
            .enumerate()
            .filter(|(_, matrix)| matrix.mode == mode)
            .zip(&sides)
            .map(|((number, _), side)| (number, side.turned(&factor, rank)))
            .collect();
        for (number, values) in columns {
            state[self.columns(number)].copy_from_slice(&values);
        }
        state[self.range(mode)].copy_from_slice(&factor);
        state[self.core.clone()].copy_from_slice(&core);
    }
}

/// A matrix whose missing cells are what the model says.
struct Filled<'a> {
    weight: f64,
    forth: &'a Sparse,
    back: &'a Sparse,
    /// The rows and the columns that say it, if cells are missing.
    own: Option<(&'a [f64], &'a [f64])>,
}

impl Filled<'_> {
    /// `Y'U`: with orthonormal `U` the columns that fit best.
    fn turned(&self, factor: &[f64], rank: usize) -> Vec<f64> {
        let columns = self.back.rows();
        // With missing cells Y is S + U0 V0', S being the errors of what U0 V0' says.
        let small = self.own.map(|(rows, _)| cross(rows, rank, factor, rank));
        let mut turned = vec![0.0; columns * rank];
        parallel::chunks_mut(&mut turned, rank, |column, target| {
            for (row, value) in self.back.row(column) {
                let error = f64::from(value) - self.said(row as usize, column, rank);
                let row = &factor[row as usize * rank..][..rank];
                add_scaled(target, error, row);
            }
            if let (Some((_, columns)), Some(small)) = (self.own, &small) {
                add_product(target, &columns[column * rank..][..rank], small, 1.0);
            }
        });
        turned
    }

    /// Adds a row of `lambda Y T` for the columns `T = Y'U`; `small` is `V0'T`, if cells are missing.
    fn add(&self, row: usize, turned: &[f64], small: Option<&[f64]>, target: &mut [f64]) {
        let rank = target.len();
        for (column, value) in self.forth.row(row) {
            let column = column as usize;
            let error = f64::from(value) - self.said(row, column, rank);
            let other = &turned[column * rank..][..rank];
            add_scaled(target, self.weight * error, other);
        }
        if let (Some((rows, _)), Some(small)) = (self.own, small) {
            add_product(target, &rows[row * rank..][..rank], small, self.weight);
        }
    }

    fn said(&self, row: usize, column: usize, rank: usize) -> f64 {
        let of = |(rows, columns): (&[f64], &[f64])| {
            dot(&rows[row * rank..][..rank], &columns[column * rank..][..rank])
        };
        self.own.map_or(0.0, of)
    }
}

/// Makes columns orthonormal, by Cholesky's factor of their Gram matrix and once more against rounding; those that depend on
/// others are replaced by random ones. `false` if there is nothing to go by.
fn orthonormalize(values: &mut [f64], rank: usize, seed: u64) -> bool {
    if !values.iter().all(|value| value.is_finite()) || values.iter().all(|&value| value == 0.0) {
        return false;
    }
    // In units of the largest column, so that squares do not vanish.
    let largest = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    values.iter_mut().for_each(|value| *value /= largest);
    for round in 0..3 {
        let mut lower = cross(values, rank, values, rank);
        let lost: Vec<bool> = {
            let diagonal: Vec<f64> = (0..rank).map(|k| lower[k * rank + k]).collect();
            cholesky::factorize(&mut lower, rank);
            (0..rank)
                .map(|k| lower[k * rank + k].powi(2) <= 1e-9 * diagonal[k].max(f64::MIN_POSITIVE))
                .collect()
        };
        if round == 0 && lost.contains(&true) {
            let rows = values.len() / rank;
            for (column, _) in lost.iter().enumerate().filter(|(_, lost)| **lost) {
                let random = normals(seed, 1 << 20 | column, rows);
                values
                    .iter_mut()
                    .skip(column)
                    .step_by(rank)
                    .zip(random)
                    .for_each(|(value, random)| *value = random);
            }
            continue;
        }
        parallel::chunks_mut(values, rank, |_, row| cholesky::solve_lower(&lower, rank, row));
    }
    true
}

impl Method for TuckerAls {
    fn start(&self, data: &Data, warm: Option<&Model>) -> Vec<f64> {
        let mut state = vec![0.0; self.core.end];
        for mode in 0..self.order {
            let rank = self.ranks[mode];
            let mut values = match warm {
                Some(model) if model.factors[mode].rank() == rank => data.known_rows(model, mode),
                _ => normals(data.seed, mode, data.rows[mode] * rank),
            };
            orthonormalize(&mut values, rank, data.seed);
            state[self.range(mode)].copy_from_slice(&values);
        }
        // No core and no columns yet: what is missing is filled by the base alone at first.
        state
    }

    fn sweep(&mut self, data: &Data, state: &mut Vec<f64>, interrupt: &AtomicBool) -> Sweep {
        for mode in 0..self.order {
            if interrupt.load(Ordering::Relaxed) {
                return Sweep::Interrupted;
            }
            self.solve(data, state, mode);
        }
        Sweep::Done
    }

    fn squared_errors(&self, data: &Data, state: &[f64]) -> f64 {
        let (view, factors) = (&data.views[data.lead], self.factors(state));
        let core = &state[self.core.clone()];
        let chain = Chain::new((&view.modes, self.order - 1), &self.ranks, &factors, core, false);
        chain.squared_errors(view, factors[view.last_mode()])
    }

    fn model(&self, data: &Data, state: &[f64]) -> Model {
        let extra = data.base.full_columns();
        let ranks: Vec<usize> = self.ranks.iter().map(|rank| extra + rank).collect();
        let own = &state[self.core.clone()];
        let mut index = vec![0; self.order];
        let mut next = own.iter();
        let size = ranks.iter().product();
        let mut core = Vec::with_capacity(size);
        for _ in 0..size {
            core.push(match index.iter().filter(|&&column| column < extra).count() {
                0 => next.next().copied().unwrap_or(0.0),
                constants if constants == self.order => data.base.full_core(&index),
                _ => 0.0,
            });
            for place in (0..self.order).rev() {
                index[place] += 1;
                if index[place] < ranks[place] {
                    break;
                }
                index[place] = 0;
            }
        }
        let rows = (0..self.order).map(|mode| {
            let own = state[self.range(mode)].chunks_exact(self.ranks[mode]).enumerate();
            let row = |(row, own): (usize, &[f64])| [&data.base.full_row(mode, row), own].concat();
            (ranks[mode], own.flat_map(row).collect())
        });
        let columns = data.matrices.iter().enumerate().map(|(number, matrix)| {
            let own = state[self.columns(number)].chunks_exact(self.ranks[matrix.mode]);
            (ranks[matrix.mode], own.flat_map(|own| [&vec![0.0; extra], own].concat()).collect())
        });
        let core = Core::full(ranks.clone(), core.into_iter().map(narrow).collect());
        data.model(core, rows.collect(), columns.collect())
    }
}
