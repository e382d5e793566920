//! A problem, and what a sweep over all of its least squares does to a state.

use std::sync::atomic::{AtomicBool, Ordering};

use super::pass::Pass;
use super::state::{State, generator, normals};
use crate::model::{Core, Factor, Model};
use crate::parallel;
use crate::params::{AlsParams, CoreKind};
use crate::problem::{Entries, Problem};
use crate::training::chain::Chain;
use crate::training::cholesky;
use crate::training::coupled::{Scaled, Side};
use crate::training::dense::{add_product, add_scaled, add_square, multiply};
use crate::training::frame::{frame, known_rows, narrow};
use crate::training::view::View;

/// The least ridge, as a share of what an average row's entries add up to: rows with fewer entries than concepts are still
/// short, and others do not feel it.
const LEAST_RIDGE: f64 = 1e-9;

/// The ridge of a sweep, see docs/method.md eq. L5.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ridge {
    /// As strong against the entries of a row as errors are against values: while a start looks for its way.
    Search(f64),
    /// Rows are normal with a variance of 1, and entries scatter by the errors: what is most likely in the end.
    Polish(f64),
}

/// A problem in units of the root mean square of its values.
pub(super) struct LeastSquares {
    pub(super) ranks: Vec<usize>,
    pub(super) diagonal: bool,
    pub(super) spread: f64,
    rows: Vec<usize>,
    views: Vec<View>,
    /// The mode whose view sums over all entries go through.
    lead: usize,
    matrices: Vec<Scaled>,
    seed: u64,
    frame: Model,
}

impl LeastSquares {
    pub(super) fn new(problem: &Problem, entries: &Entries, params: &AlsParams) -> Self {
        let order = problem.order();
        let ranks = params.common.ranks.clone();
        let rows: Vec<usize> = problem.modes().iter().map(|mode| mode.rows()).collect();
        let squares: f64 = entries.values().iter().map(|&value| f64::from(value).powi(2)).sum();
        let spread = (squares / entries.len().max(1) as f64).sqrt();
        let spread = if spread > 0.0 { spread } else { 1.0 };
        let weight = |own: Option<f32>| own.unwrap_or(params.lambda_couple);
        let matrices = problem
            .coupled()
            .iter()
            .map(|matrix| Scaled::new(matrix, rows[matrix.mode()], weight(matrix.weight()), spread));
        LeastSquares {
            // The most rows are the most pieces for threads.
            lead: (0..order).max_by_key(|&mode| rows[mode]).unwrap_or(0),
            views: (0..order).map(|mode| View::new(entries, mode, &rows)).collect(),
            diagonal: params.common.core == CoreKind::Diagonal,
            matrices: matrices.collect(),
            seed: params.common.seed,
            ranks,
            rows,
            spread,
            frame: frame(problem, entries, params.lambda_couple),
        }
    }

    /// Everything random, predictions as large as values.
    pub(super) fn start(&self, start: usize) -> State {
        let order = self.ranks.len();
        let list = |purpose: usize, count: usize| normals(generator(self.seed, start, purpose), count);
        let size = if self.diagonal { self.ranks[0] } else { self.ranks.iter().product() };
        let mut state = State {
            factors: (0..order).map(|mode| list(mode, self.rows[mode] * self.ranks[mode])).collect(),
            core: list(order, size),
            columns: Vec::new(),
        };
        state.normalize(&self.ranks, self.diagonal);
        let squares = self.pass(&state).squared_predictions(&state.core);
        let scale = (squares / self.views[self.lead].len() as f64).sqrt().max(f64::MIN_POSITIVE);
        state.core.iter_mut().for_each(|value| *value /= scale);
        self.solve_columns(&mut state, Ridge::Search(1.0));
        state
    }

    /// What a model knows; rows of ids that it does not have are its average.
    pub(super) fn take_over(&self, warm: &Model) -> State {
        let mut state = State {
            factors: (0..self.ranks.len()).map(|mode| known_rows(&self.frame, warm, mode)).collect(),
            core: warm.core.values().iter().map(|&value| f64::from(value) / self.spread).collect(),
            columns: Vec::new(),
        };
        state.normalize(&self.ranks, self.diagonal);
        self.solve_columns(&mut state, Ridge::Polish(1.0));
        state
    }

    /// Solves for the rows of each mode, for coupled columns and for the core; `false` if it was interrupted on the way.
    pub(super) fn sweep(&self, state: &mut State, ridge: Ridge, interrupt: &AtomicBool) -> bool {
        for mode in 0..self.ranks.len() {
            if interrupt.load(Ordering::Relaxed) {
                return false;
            }
            state.factors[mode] = self.solve_rows(state, mode, self.ridge(ridge, mode));
        }
        state.normalize(&self.ranks, self.diagonal);
        self.solve_columns(state, ridge);
        let least = (0..self.ranks.len()).map(|mode| self.ridge(ridge, mode)).fold(f64::INFINITY, f64::min);
        state.core = self.pass(state).improved(&state.core, least);
        true
    }

    /// The ridge for rows of a mode.
    fn ridge(&self, ridge: Ridge, mode: usize) -> f64 {
        let usual = self.entries() as f64 / (self.rows[mode] * self.ranks[mode]).max(1) as f64;
        let asked = match ridge {
            Ridge::Search(share) => share * usual,
            Ridge::Polish(variance) => variance,
        };
        asked.max(LEAST_RIDGE * usual)
    }

    /// The rows that fit best, given all else (method.md eq. L2).
    fn solve_rows(&self, state: &State, mode: usize, ridge: f64) -> Vec<f64> {
        let (view, rank) = (&self.views[mode], self.ranks[mode]);
        let factors: Vec<&[f64]> = state.factors.iter().map(Vec::as_slice).collect();
        // All modes but the last of a run and this one: what is left has a row for each concept of the last.
        let order = view.modes.len();
        let axes: Vec<usize> = view.modes[1..].iter().copied().chain([mode]).collect();
        let chain = Chain::new((&axes, order - 2), &self.ranks, &factors, &state.core, self.diagonal);
        let (last, width) = (factors[view.last_mode()], self.ranks[view.last_mode()]);
        let columns = self.matrices.iter().zip(&state.columns);
        let sides: Vec<Side<'_>> = columns
            .filter(|(scaled, _)| scaled.matrix.mode == mode)
            .map(|(scaled, (_, columns))| scaled.side(columns, rank))
            .collect();
        let mut rows = vec![0.0; self.rows[mode] * rank];
        parallel::chunks_mut_with(
            &mut rows,
            rank,
            || (chain.steps(), vec![0.0; rank], vec![0.0; rank * rank]),
            |(steps, design, system), row, target| {
                system.fill(0.0);
                for run in view.row_runs(row..row + 1) {
                    let left = chain.left(&run.head[1..], steps);
                    for (&other, &value) in run.last.iter().zip(run.values) {
                        let other = &last[other as usize * width..][..width];
                        if self.diagonal {
                            multiply(design, left, other);
                        } else {
                            design.fill(0.0);
                            add_product(design, other, left, 1.0);
                        }
                        add_square(system, design, 1.0);
                        add_scaled(target, f64::from(value) / self.spread, design);
                    }
                }
                sides.iter().for_each(|side| side.add(row, system, target));
                (0..rank).for_each(|k| system[k * rank + k] += ridge);
                cholesky::factorize(system, rank);
                cholesky::solve_lower(system, rank, target);
                cholesky::solve_upper(system, rank, target);
            },
        );
        rows
    }

    fn solve_columns(&self, state: &mut State, ridge: Ridge) {
        let solve = |scaled: &Scaled| {
            let matrix = &scaled.matrix;
            let (mode, rank) = (matrix.mode, self.ranks[matrix.mode]);
            let usual = matrix.cells() / (matrix.columns * rank).max(1) as f64;
            let ridge = match ridge {
                Ridge::Search(share) => share * usual,
                Ridge::Polish(variance) => variance,
            };
            (mode, scaled.solve(&state.factors[mode], rank, ridge.max(LEAST_RIDGE * usual)))
        };
        state.columns = self.matrices.iter().map(solve).collect();
    }

    /// All entries with the rows of a state.
    fn pass<'a>(&'a self, state: &'a State) -> Pass<'a> {
        Pass {
            view: &self.views[self.lead],
            ranks: &self.ranks,
            factors: state.factors.iter().map(Vec::as_slice).collect(),
            diagonal: self.diagonal,
            spread: self.spread,
        }
    }

    /// The root mean square of errors, in units of values: over the tensor's entries, and over coupled cells too, as much
    /// as those count.
    pub(super) fn errors(&self, state: &State) -> (f64, f64) {
        let squares = self.pass(state).squared_errors(&state.core);
        let (mut all, mut count) = (squares, self.entries() as f64);
        for (Scaled { matrix, .. }, (mode, columns)) in self.matrices.iter().zip(&state.columns) {
            all += matrix.weight * matrix.squared_errors(&state.factors[*mode], columns, self.ranks[*mode]);
            count += matrix.weight * matrix.cells();
        }
        ((squares / self.entries().max(1) as f64).sqrt(), (all / count.max(1.0)).sqrt())
    }

    /// How many tensor entries there are.
    pub(super) fn entries(&self) -> usize {
        self.views[self.lead].len()
    }

    /// How many tensor entries and coupled cells a sweep goes through.
    pub(super) fn cells(&self) -> f64 {
        self.entries() as f64 + self.matrices.iter().map(|scaled| scaled.matrix.cells()).sum::<f64>()
    }

    /// How many numbers of a model are free: turning a mode's concepts changes nothing.
    pub(super) fn free(&self) -> f64 {
        let of = |(&rows, &rank): (&usize, &usize)| {
            let turned = if self.diagonal { 1.0 } else { rank as f64 };
            rank as f64 * (rows as f64 - turned).max(0.0)
        };
        let core: f64 = if self.diagonal {
            self.ranks[0] as f64
        } else {
            self.ranks.iter().map(|&rank| rank as f64).product()
        };
        core + self.rows.iter().zip(&self.ranks).map(of).sum::<f64>()
    }

    /// The model of a state. Rows that nothing is known of are the average of the others.
    pub(super) fn model(&self, state: &State) -> Model {
        let list = |values: &[f64], scale: f64| values.iter().map(|&value| narrow(value * scale)).collect();
        let mut model = self.frame.clone();
        let core = list(&state.core, self.spread);
        model.core = if self.diagonal { Core::Diagonal(core) } else { Core::full(self.ranks.clone(), core) };
        let factor = |mode: usize| {
            let mut values: Vec<f32> = list(&state.factors[mode], 1.0);
            self.fill_unknown(mode, &mut values, state);
            Factor::new(self.ranks[mode], values)
        };
        model.factors = (0..self.ranks.len()).map(factor).collect();
        for ((coupled, matrix), (mode, columns)) in
            model.coupled.iter_mut().zip(&self.matrices).zip(&state.columns)
        {
            coupled.factor = Factor::new(self.ranks[*mode], list(columns, matrix.scale));
        }
        model
    }

    fn fill_unknown(&self, mode: usize, values: &mut [f32], state: &State) {
        let (rank, view) = (self.ranks[mode], &self.views[mode]);
        let columns = self.matrices.iter().zip(&state.columns);
        let columns = columns.filter(|(scaled, _)| scaled.matrix.mode == mode);
        let sides: Vec<Side<'_>> = columns.map(|(scaled, (_, columns))| scaled.side(columns, rank)).collect();
        let known = |row: usize| !view.places(row).is_empty() || sides.iter().any(|side| side.knows(row));
        let unknown: Vec<usize> = (0..self.rows[mode]).filter(|&row| !known(row)).collect();
        let count = self.rows[mode] - unknown.len();
        if unknown.is_empty() || count == 0 {
            return;
        }
        // Unknown rows are zero, and add nothing.
        let share = self.rows[mode] as f32 / count as f32;
        let average: Vec<f32> =
            crate::model::average_row(values, rank).iter().map(|value| value * share).collect();
        for row in unknown {
            values[row * rank..][..rank].copy_from_slice(&average);
        }
    }

    /// A state with numbers of its own for everything, to be filled.
    pub(super) fn blank(&self) -> State {
        let columns = |Scaled { matrix, .. }: &Scaled| {
            (matrix.mode, vec![0.0; matrix.columns * self.ranks[matrix.mode]])
        };
        let size = if self.diagonal { self.ranks[0] } else { self.ranks.iter().product() };
        State {
            factors: self.rows.iter().zip(&self.ranks).map(|(rows, rank)| vec![0.0; rows * rank]).collect(),
            core: vec![0.0; size],
            columns: self.matrices.iter().map(columns).collect(),
        }
    }

    /// Arranges entries, given by the problem's rows, for [`LeastSquares::rmse`].
    pub(super) fn arrange(&self, entries: Entries) -> View {
        let with_average: Vec<usize> = self.rows.iter().map(|rows| rows + 1).collect();
        View::new(&entries.known_or(&self.rows), self.lead, &with_average)
    }

    /// The RMSE of a model over entries; unknown ids are the average of their mode.
    pub(super) fn rmse(&self, model: &Model, entries: &View) -> f64 {
        let doubles = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
        let with_average = |factor: &Factor| {
            let mut values = doubles(factor.values());
            values.extend(factor.average().into_iter().map(f64::from));
            values
        };
        let factors: Vec<Vec<f64>> = model.factors.iter().map(with_average).collect();
        let pass = Pass {
            view: entries,
            ranks: &self.ranks,
            factors: factors.iter().map(Vec::as_slice).collect(),
            diagonal: self.diagonal,
            spread: 1.0,
        };
        (pass.squared_errors(&doubles(model.core.values())) / entries.len().max(1) as f64).sqrt()
    }
}
