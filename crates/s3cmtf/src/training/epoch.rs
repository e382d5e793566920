//! One pass over the data.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use s3cmtf_kernels::SharedRows;

use super::engine::Engine;
use super::lanes::{Lane, average_core, average_rows};
use super::method::{ModeRows, TensorStep};
use super::zeros::{Half, half_step};
use crate::params::Scheme;

/// Tasks that share no rows.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// The tensor tasks of a round.
    Tensor { round: usize },
    /// The tasks of a matrix of observed cells in which row and column block differ by `shift`.
    Cells { which: usize, shift: usize },
}

impl Engine {
    /// One pass over all entries; `false` if it was interrupted on the way.
    pub(crate) fn epoch(&mut self, epoch: usize, rate: f32, interrupt: &AtomicBool) -> bool {
        let turns = self.turns(epoch);
        let finished = match self.params.scheme {
            Scheme::Blocks => turns.into_iter().all(|turn| {
                match turn {
                    Turn::Tensor { round } => self.tensor_round(round, rate, interrupt),
                    Turn::Cells { which, shift } => self.cells_round(which, shift, rate),
                }
                !interrupt.load(Ordering::Relaxed)
            }),
            Scheme::LockFree => self.lock_free(&turns, rate, interrupt),
        };
        if finished {
            self.whole_matrices(rate);
            self.idle_rows(rate);
        }
        finished
    }

    /// The turns of an epoch, in an order of its own: tensor rounds, and the matrices' turns evenly between them.
    fn turns(&self, epoch: usize) -> Vec<Turn> {
        let seed = self.params.seed.wrapping_add((epoch as u64) << 20);
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

    /// The tasks of a round at once, each lane with a core and small modes of its own, averaged afterwards.
    fn tensor_round(&mut self, round: usize, rate: f32, interrupt: &AtomicBool) {
        let (grid, ranks) = (&self.grid, &self.contraction.ranks);
        let private: Vec<usize> = (0..ranks.len()).filter(|mode| !grid.blocked.contains(mode)).collect();
        let train = &self.train;
        let counts = &self.counts[round];
        let step = TensorStep {
            step: self.step(rate),
            reg: &self.reg,
            codes: &self.codes,
            by_code: &self.by_code,
            core_reg: self.core_reg,
            core_boost: counts.core_boost,
            boost: &counts.boosts,
            damped: true,
            interrupt,
        };
        let state = &mut self.state;
        let core = &state.core;
        let mut copies: Vec<&mut Vec<f32>> = Vec::new();
        let mut blocks: Vec<Vec<Option<&mut [f32]>>> = Vec::new();
        for (mode, values) in state.factors.iter_mut().enumerate() {
            if private.contains(&mode) {
                copies.push(values);
            } else {
                blocks.push(self.modes[mode].split(values, ranks[mode]));
            }
        }
        // Each lane's tasks, each with the blocks it owns meanwhile.
        let mut work: Vec<Vec<(usize, Vec<ModeRows<'_>>)>> = self.lanes.iter().map(|_| Vec::new()).collect();
        for task in 0..grid.blocks {
            let owned = grid.blocked.iter().enumerate().map(|(which, &mode)| {
                let block = grid.block(round, task, which);
                let rows = blocks[which][block].take().unwrap_or_default();
                ModeRows::Owned { rows, base: self.modes[mode].bounds[block] }
            });
            work[task % grid.lanes].push((round * grid.blocks + task, owned.collect()));
        }
        self.lanes.par_iter_mut().zip(work).for_each(|(lane, tasks)| {
            lane.core.copy_from(core);
            for (values, &mode) in copies.iter().zip(&private) {
                lane.copies[mode].clear();
                lane.copies[mode].extend_from_slice(values);
            }
            let Lane { core, copies, worker } = lane;
            for (task, owned) in tasks {
                let chunks = train.task(task);
                let mut owned = owned.into_iter();
                let mut rows: Vec<ModeRows<'_>> = copies
                    .iter_mut()
                    .enumerate()
                    .map(|(mode, copy)| match private.contains(&mode) {
                        true => ModeRows::Owned { rows: copy, base: 0 },
                        false => owned.next().unwrap_or(ModeRows::Owned { rows: &mut [], base: 0 }),
                    })
                    .collect();
                worker.run(core.as_mut_slice(), &mut rows, train, chunks, &step);
            }
        });
        average_core(&self.lanes, counts, &mut state.core);
        for (values, &mode) in copies.iter_mut().zip(&private) {
            average_rows(&self.lanes, counts, mode, values, ranks[mode]);
        }
    }

    /// The tasks of one turn of a matrix of observed cells, at once.
    fn cells_round(&mut self, which: usize, shift: usize, rate: f32) {
        let step = self.step(rate);
        let cells = &self.cells[which];
        let (rows, columns) = (&self.modes[cells.mode], &self.columns[cells.matrix]);
        let rank = self.contraction.ranks[cells.mode];
        let blocks = self.grid.blocks;
        let mut row_blocks = rows.split(&mut self.state.factors[cells.mode], rank);
        let mut column_blocks = columns.split(&mut self.state.columns[cells.matrix], rank);
        let mut work = Vec::new();
        for (block, mine) in row_blocks.iter_mut().enumerate() {
            let other = (block + shift) % blocks;
            let mine = mine.take().unwrap_or_default();
            let its = column_blocks[other].take().unwrap_or_default();
            work.push((shift * blocks + block, (mine, rows.bounds[block]), (its, columns.bounds[other])));
        }
        work.into_par_iter().for_each_init(
            || cells.scratch(),
            |scratch, (task, rows, columns)| cells.run(task, rows, columns, step, scratch),
        );
    }

    /// The paper's scheme: every thread takes the next task, and all change all rows. The core is read by every
    /// entry, so each thread has its own, which it brings together with the shared one after each task.
    fn lock_free(&mut self, turns: &[Turn], rate: f32, interrupt: &AtomicBool) -> bool {
        let blocks = self.grid.blocks;
        let tasks: Vec<(Turn, usize)> =
            turns.iter().flat_map(|&turn| (0..blocks).map(move |task| (turn, task))).collect();
        let step = TensorStep {
            step: self.step(rate),
            reg: &self.reg,
            codes: &self.codes,
            by_code: &self.by_code,
            core_reg: self.core_reg,
            core_boost: self.lanes.len() as f32,
            boost: &vec![Vec::new(); self.modes.len()],
            damped: true,
            interrupt,
        };
        let share = 1.0 / self.lanes.len() as f32;
        let next = AtomicUsize::new(0);
        let shared_core = SharedRows::new(&mut self.state.core);
        let factors: Vec<SharedRows<'_>> =
            self.state.factors.iter_mut().map(|values| SharedRows::new(values)).collect();
        let columns: Vec<SharedRows<'_>> =
            self.state.columns.iter_mut().map(|values| SharedRows::new(values)).collect();
        let (train, cells) = (&self.train, &self.cells);
        self.lanes.par_iter_mut().for_each(|lane| {
            let mut scratch: Vec<_> = cells.iter().map(|cells| cells.scratch()).collect();
            let mut seen: Vec<f32> = (0..shared_core.len()).map(|place| shared_core.get(place)).collect();
            lane.core.copy_from(&seen);
            while !interrupt.load(Ordering::Relaxed) {
                let Some(&(turn, task)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                match turn {
                    Turn::Tensor { round } => {
                        let task = round * blocks + task;
                        let chunks = train.task(task);
                        let mut rows: Vec<ModeRows<'_>> =
                            factors.iter().map(|&rows| ModeRows::Shared(rows)).collect();
                        lane.worker.run(lane.core.as_mut_slice(), &mut rows, train, chunks, &step);
                        for (place, (mine, seen)) in
                            lane.core.as_mut_slice().iter_mut().zip(&mut seen).enumerate()
                        {
                            // What all threads did meanwhile, and this thread's share of what it did itself.
                            *mine = shared_core.get(place) + share * (*mine - *seen);
                            if step.step.nonnegative && *mine < 0.0 {
                                *mine = 0.0;
                            }
                            shared_core.set(place, *mine);
                            *seen = *mine;
                        }
                    }
                    Turn::Cells { which, shift } => {
                        let cells = &cells[which];
                        let (rows, columns) = (factors[cells.mode], columns[cells.matrix]);
                        cells.run(
                            shift * blocks + task,
                            (rows, 0),
                            (columns, 0),
                            step.step,
                            &mut scratch[which],
                        );
                    }
                }
            }
        });
        !interrupt.load(Ordering::Relaxed)
    }

    /// One step on each matrix that is fully observed, and on each graph.
    fn whole_matrices(&mut self, rate: f32) {
        let Engine { params, contraction, zeros, graphs, state, .. } = self;
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
