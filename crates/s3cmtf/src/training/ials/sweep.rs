//! Sweeps over an objective: the rows of each mode that fit best, given all others (docs/method.md eq. I2).

use std::sync::atomic::{AtomicBool, Ordering};

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use s3cmtf_kernels::{Level, NormalEquations};

use super::choices::Choices;
use super::setting::Setting;
use crate::Error;
use crate::parallel;
use crate::training::cholesky;
use crate::training::coupled::{Scaled, Side};
use crate::training::dense::add_square;
use crate::training::designs::Designs;
use crate::training::frame::narrow;
use crate::training::gram::gram;
use crate::training::view::{Run, View};

/// Users whose contexts are summed up together, so that the sum does not depend on the threads.
const PIECE: usize = 512;

/// All rows of a model, and the columns of its matrices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) factors: Vec<Vec<f32>>,
    pub(super) columns: Vec<Vec<f64>>,
}

/// How large random numbers are at the start.
const SMALL: f32 = 0.1;

impl State {
    /// Small random rows of users and items; rows of contexts are 1, and columns are to be found.
    pub(super) fn start(choices: &Choices, rank: usize, seed: u64) -> Self {
        let size = SMALL / (rank as f32).sqrt();
        let rows = |mode: usize| {
            let count = choices.rows[mode] * rank;
            if mode != choices.users && mode != choices.items {
                return vec![1.0; count];
            }
            let own = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (0x6961 + mode as u64);
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(own);
            (0..count)
                .map(|_| {
                    let normal: f32 = StandardNormal.sample(&mut generator);
                    size * normal
                })
                .collect()
        };
        State { factors: (0..choices.rows.len()).map(rows).collect(), columns: Vec::new() }
    }
}

/// An objective.
#[derive(Clone, Copy)]
pub(super) struct Objective<'a> {
    pub(super) choices: &'a Choices,
    pub(super) matrices: &'a [Scaled],
    pub(super) setting: Setting,
    pub(super) rank: usize,
    pub(super) level: Level,
}

impl Objective<'_> {
    /// Solves for all rows and columns; `false` if it was interrupted on the way.
    ///
    /// # Errors
    /// If other nodes cannot be reached.
    pub(super) fn sweep(&self, state: &mut State, interrupt: &AtomicBool) -> Result<bool, Error> {
        let Choices { users, items, .. } = *self.choices;
        let fixed = self.setting.context.is_infinite();
        let contexts = self.choices.contexts().filter(|_| !fixed);
        for mode in [users, items].into_iter().chain(contexts) {
            if interrupt.load(Ordering::Relaxed) {
                return Ok(false);
            }
            state.factors[mode] = self.choices.nodes.gather(self.solve_rows(state, mode))?;
        }
        self.solve_columns(state);
        Ok(true)
    }

    /// The columns of matrices that fit best.
    pub(super) fn solve_columns(&self, state: &mut State) {
        let solve = |scaled: &Scaled| {
            let rows = state.factors[scaled.matrix.mode].iter().map(|&value| f64::from(value));
            scaled.solve(&rows.collect::<Vec<f64>>(), self.rank, self.setting.lambda)
        };
        state.columns = self.matrices.iter().map(solve).collect();
    }

    /// The rows of a mode that fit best, given all else; those that are solved for here.
    pub(super) fn solve_rows(&self, state: &State, mode: usize) -> Vec<f32> {
        let (rank, choices) = (self.rank, self.choices);
        let everywhere = if mode == choices.items {
            self.contexts_of_all(state)
        } else {
            gram(&state.factors[choices.items], rank)
        };
        let sides: Vec<Side<'_>> = self
            .matrices
            .iter()
            .zip(&state.columns)
            .filter(|(scaled, _)| scaled.matrix.mode == mode && self.setting.couple > 0.0)
            .map(|(scaled, columns)| scaled.side(columns, rank).times(self.setting.couple))
            .collect();
        let own = choices.own[mode].clone();
        let mut rows = vec![0.0f32; own.len() * rank];
        parallel::chunks_mut_with(
            &mut rows,
            rank,
            || Scratch::new(rank, self.level),
            |scratch, place, target| {
                let row = own.start + place;
                scratch.sums.fill(0.0);
                if mode == choices.items {
                    self.add_item(state, row, scratch);
                } else {
                    self.add_row(state, mode, row, scratch);
                }
                let (system, pull) = scratch.sums.split_at_mut(rank * rank);
                let absent = system.iter_mut().zip(everywhere.iter().zip(&scratch.contexts));
                absent.for_each(|(sum, (all, context))| *sum += all * context);
                sides.iter().for_each(|side| side.add(row, system, pull));
                self.add_prior(mode, row, system, pull);
                cholesky::factorize_in_lanes(system, rank);
                cholesky::solve_lower(system, rank, pull);
                cholesky::solve_upper(system, rank, pull);
                target.iter_mut().zip(pull).for_each(|(target, value)| *target = narrow(*value));
            },
        );
        rows
    }

    /// Rows of users and items are near 0, those of contexts near 1.
    fn add_prior(&self, mode: usize, row: usize, system: &mut [f64], pull: &mut [f64]) {
        let is_context = mode != self.choices.users && mode != self.choices.items;
        let strength = if is_context { self.setting.context } else { 1.0 };
        let ridge = self.setting.lambda * strength * self.choices.ridge(mode, row);
        (0..self.rank).for_each(|k| system[k * self.rank + k] += ridge);
        if is_context {
            pull.iter_mut().for_each(|pull| *pull += ridge);
        }
    }

    /// Sums up the choices of a row that is not an item's, and the contexts in which absent items are zeros.
    fn add_row(&self, state: &State, mode: usize, row: usize, scratch: &mut Scratch) {
        let (choices, rank) = (self.choices, self.rank);
        let view = &choices.views[mode];
        let between = &view.modes[1..view.modes.len() - 1];
        let items = &state.factors[choices.items];
        scratch.contexts.fill(0.0);
        for run in view.row_runs(row..row + 1) {
            let user = choices.user(view, &run);
            let (weight, share) = (choices.weight(user), choices.share(user, &run));
            let zero = self.setting.absent as f32 * share;
            scratch.designs.head(&state.factors, between, &run.head[1..]);
            for (&item, &counts) in run.last.iter().zip(run.values) {
                let item = &items[item as usize * rank..][..rank];
                let root = (weight * (counts - zero)).sqrt();
                scratch.designs.add(item, root, weight * counts / root, &mut scratch.sums);
            }
            let zero = f64::from(weight * zero);
            if between.is_empty() {
                scratch.contexts.iter_mut().for_each(|sum| *sum += zero);
            } else {
                let head = &mut scratch.head;
                head.iter_mut().zip(scratch.designs.shared()).for_each(|(to, &from)| *to = from.into());
                add_square(&mut scratch.contexts, head, zero);
            }
        }
        scratch.designs.flush(&mut scratch.sums);
    }

    /// Sums up the choices of an item.
    fn add_item(&self, state: &State, item: usize, scratch: &mut Scratch) {
        let (choices, rank) = (self.choices, self.rank);
        let view = &choices.views[choices.items];
        let between = &view.modes[1..view.modes.len() - 1];
        let users = &state.factors[choices.users];
        for run in view.row_runs(item..item + 1) {
            scratch.designs.head(&state.factors, between, &run.head[1..]);
            for (place, (&user, &counts)) in (run.start..).zip(run.last.iter().zip(run.values)) {
                let zero = self.setting.absent as f32 * choices.share_at(place);
                let weight = choices.weight(user);
                let root = (weight * (counts - zero)).sqrt();
                let user = &users[user as usize * rank..][..rank];
                scratch.designs.add(user, root, weight * counts / root, &mut scratch.sums);
            }
        }
        scratch.designs.flush(&mut scratch.sums);
        // What all contexts come to is the same for every item.
        scratch.contexts.fill(1.0);
    }

    /// What all contexts add to the system of every item.
    fn contexts_of_all(&self, state: &State) -> Vec<f64> {
        let (choices, rank) = (self.choices, self.rank);
        let view = &choices.views[choices.users];
        let between = &view.modes[1..view.modes.len() - 1];
        let users = &state.factors[choices.users];
        let piece = |rows: std::ops::Range<usize>| {
            let mut scratch = Scratch::new(rank, self.level);
            let mut add = |user: usize, share: f32, head: &[u32]| {
                let zero = self.setting.absent as f32 * share;
                let root = (choices.weight(user as u32) * zero).sqrt();
                scratch.designs.head(&state.factors, between, head);
                scratch.designs.add(&users[user * rank..][..rank], root, 0.0, &mut scratch.sums);
            };
            if between.is_empty() {
                // Each user who has chosen anything is one, whoever has their choices.
                let counts = &choices.counts[choices.users];
                rows.filter(|&user| counts[user] > 0).for_each(|user| add(user, 1.0, &[]));
            } else {
                for run in view.row_runs(rows) {
                    let user = choices.user(view, &run);
                    add(user as usize, choices.share(user, &run), &run.head[1..]);
                }
            }
            scratch.designs.flush(&mut scratch.sums);
            scratch.sums.truncate(rank * rank);
            scratch.sums
        };
        let all = choices.rows[choices.users];
        let pieces = parallel::map(all.div_ceil(PIECE), |number| {
            piece(number * PIECE..((number + 1) * PIECE).min(all))
        });
        let mut sum = vec![0.0; rank * rank];
        for piece in pieces {
            sum.iter_mut().zip(piece).for_each(|(sum, piece)| *sum += piece);
        }
        sum
    }

    /// The sum over choices of the squared distance of their score from 1.
    pub(super) fn squared_errors(&self, state: &State) -> f64 {
        let view = &self.choices.views[self.choices.users];
        let sums: Vec<f64> = parallel::map(view.rows().div_ceil(PIECE), |number| {
            let rows = number * PIECE..((number + 1) * PIECE).min(view.rows());
            let mut scores = Scores::new(view, self.rank);
            let runs = view.row_runs(rows);
            runs.map(|run| scores.of(state, &run).map(|score| (1.0 - f64::from(score)).powi(2)).sum::<f64>())
                .sum()
        });
        sums.into_iter().sum()
    }
}

/// The scores of a run's entries.
pub(super) struct Scores<'a> {
    view: &'a View,
    head: Vec<f32>,
}

impl<'a> Scores<'a> {
    pub(super) fn new(view: &'a View, rank: usize) -> Self {
        Scores { view, head: vec![0.0; rank] }
    }

    /// The product of the rows that a run shares.
    pub(super) fn shared(&mut self, state: &State, run: &Run<'_>) -> &[f32] {
        let rank = self.head.len();
        self.head.fill(1.0);
        for (&mode, &row) in self.view.modes.iter().zip(run.head) {
            let row = &state.factors[mode][row as usize * rank..][..rank];
            self.head.iter_mut().zip(row).for_each(|(product, row)| *product *= row);
        }
        &self.head
    }

    fn of<'s>(&'s mut self, state: &'s State, run: &Run<'s>) -> impl Iterator<Item = f32> + 's {
        let (rank, last) = (self.head.len(), &state.factors[self.view.last_mode()]);
        let rows = run.last;
        let head = self.shared(state, run);
        rows.iter().map(move |&row| dot(head, &last[row as usize * rank..][..rank]))
    }
}

/// The scalar product, in the lanes of vectors.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// The working memory of one thread.
struct Scratch {
    designs: Designs,
    /// A system, and what it is to equal.
    sums: Vec<f64>,
    /// The sum over a row's contexts of the products of their rows.
    contexts: Vec<f64>,
    head: Vec<f64>,
}

impl Scratch {
    fn new(rank: usize, level: Level) -> Self {
        Scratch {
            designs: Designs::new(NormalEquations::new(level, rank, rank), rank),
            sums: vec![0.0; rank * rank + rank],
            contexts: vec![0.0; rank * rank],
            head: vec![0.0; rank],
        }
    }
}
