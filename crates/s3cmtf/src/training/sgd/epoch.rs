//! One pass over the data.

use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::method::TensorStep;
use super::workspace::Workspace;
use super::zeros::{Half, half_step};
use crate::params::{Scheme, Shuffle};

/// Tasks that share no rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// The tensor tasks of a round.
    Tensor { round: usize },
    /// The tasks of a matrix of observed cells in which row and column block differ by `shift`.
    Cells { which: usize, shift: usize },
}

impl Workspace {
    /// One pass over all entries; `false` if it was interrupted on the way.
    pub(crate) fn epoch(&mut self, epoch: usize, rate: f32, interrupt: &AtomicBool) -> bool {
        let finished = match (self.params.shuffle, self.params.scheme) {
            (Shuffle::EveryEpoch, _) => self.random_order(epoch, rate, interrupt),
            (Shuffle::Once, Scheme::Blocks) => self.blocks(&self.turns(epoch), rate, interrupt),
            (Shuffle::Once, Scheme::LockFree) => self.lock_free(&self.turns(epoch), rate, interrupt),
        };
        if finished {
            self.whole_matrices(rate);
            // Algorithm 1 visits entries and cells, and nothing else.
            if self.params.shuffle == Shuffle::Once {
                self.idle_rows(rate);
            }
        }
        finished
    }

    /// The turns of an epoch, in an order of its own: tensor rounds, and the matrices' turns evenly between them.
    fn turns(&self, epoch: usize) -> Vec<Turn> {
        let seed = self.params.common.seed.wrapping_add((epoch as u64) << 20);
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut rounds: Vec<usize> = (0..self.grid.rounds()).collect();
        rounds.shuffle(&mut generator);
        let mut shifts: Vec<usize> = (0..self.grid.blocks).collect();
        shifts.shuffle(&mut generator);
        let mut turns = Vec::new();
        let mut due = 0;
        for (done, &round) in rounds.iter().enumerate() {
            turns.push(Turn::Tensor { round });
            while due * rounds.len() < (done + 1) * shifts.len() {
                turns.extend((0..self.cells.len()).map(|which| Turn::Cells { which, shift: shifts[due] }));
                due += 1;
            }
        }
        turns
    }

    /// How tensor entries step in this epoch.
    pub(super) fn tensor_step<'a>(
        &'a self,
        rate: f32,
        core_boost: f32,
        boost: &'a [Vec<f32>],
        interrupt: &'a AtomicBool,
    ) -> TensorStep<'a> {
        TensorStep {
            step: self.step(rate),
            reg: &self.reg,
            codes: &self.codes,
            by_code: &self.by_code,
            core_reg: self.core_reg,
            core_boost,
            boost,
            damped: true,
            interrupt,
        }
    }

    /// One step on each matrix that is fully observed, and on each graph.
    fn whole_matrices(&mut self, rate: f32) {
        let Workspace { params, contraction, zeros, graphs, state, .. } = self;
        for matrix in zeros.iter() {
            let rank = contraction.ranks[matrix.mode];
            let (rows, columns) = (&mut state.factors[matrix.mode], &mut state.columns[matrix.matrix]);
            let rows_end = rows.len() - rank;
            let rows = &mut rows[..rows_end];
            let half = |reg: f32| Half {
                rate: f64::from(rate) * f64::from(matrix.weight),
                reg: f64::from(reg),
                // Without a regulariser the two kinds are the same.
                l1: params.l1 && reg > 0.0,
                nonnegative: params.nonnegative,
            };
            half_step(columns, rank, &matrix.by_column, rows, &half(params.lambda_reg));
            half_step(rows, rank, &matrix.by_row, columns, &half(0.0));
        }
        for graph in graphs.iter() {
            let rank = contraction.ranks[graph.mode];
            let rows = &mut state.factors[graph.mode];
            let end = rows.len() - rank;
            graph.step(&mut rows[..end], rank, rate);
        }
    }

    /// The regulariser of rows that no tensor entry touches.
    fn idle_rows(&mut self, rate: f32) {
        let shrink = rate * self.params.lambda_reg;
        for (mode, places) in self.idle.iter().enumerate() {
            let rank = self.contraction.ranks[mode];
            for &place in places {
                for value in &mut self.state.factors[mode][place as usize * rank..][..rank] {
                    *value = if self.params.l1 {
                        value.signum() * (value.abs() - shrink).max(0.0)
                    } else {
                        *value / (1.0 + shrink)
                    };
                }
            }
        }
    }
}
