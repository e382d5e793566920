//! The paper's scheme: every thread takes the next task, and all change all rows.
//!
//! The core is read by every entry, and rows of small modes by many at once. Writing them where all others read would
//! cost more than everything else, so by default each thread has its own and brings them together with the shared ones
//! after each task. With one thread that updates the core, the others read it before every chunk.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use s3cmtf_kernels::SharedRows;

use super::copies::{Copied, ThreadCore};
use super::epoch::Turn;
use super::lanes::{Lane, boost};
use super::method::{ModeRows, TensorStep};
use super::workspace::{State, Workspace};
use crate::parallel;
use crate::params::CoreUpdate;

/// The numbers of a state, which all threads read and write.
pub(super) struct SharedState<'a> {
    pub(super) core: SharedRows<'a>,
    pub(super) factors: Vec<SharedRows<'a>>,
    pub(super) columns: Vec<SharedRows<'a>>,
}

impl<'a> SharedState<'a> {
    pub(super) fn new(state: &'a mut State) -> Self {
        let shared =
            |lists: &'a mut Vec<Vec<f32>>| lists.iter_mut().map(|list| SharedRows::new(list)).collect();
        SharedState {
            core: SharedRows::new(&mut state.core),
            factors: shared(&mut state.factors),
            columns: shared(&mut state.columns),
        }
    }

    /// A thread's copies of the small modes, in the order of modes; none of the others.
    pub(super) fn copies(&self, private: &[usize], copies: &'a mut [Vec<f32>]) -> Vec<Option<Copied<'a>>> {
        let copied = |(mode, copy): (usize, &'a mut Vec<f32>)| {
            private.contains(&mode).then(|| Copied::new(self.factors[mode], copy))
        };
        copies.iter_mut().enumerate().map(copied).collect()
    }

    /// The rows that a thread steps: its copies, else those that all share.
    pub(super) fn rows<'b>(&self, small: &'b mut [Option<Copied<'a>>]) -> Vec<ModeRows<'b>>
    where
        'a: 'b,
    {
        let pairs = small.iter_mut().zip(&self.factors);
        pairs
            .map(|(small, &shared)| match small {
                Some(copied) => ModeRows::Owned { rows: copied.mine, base: 0 },
                None => ModeRows::Shared(shared),
            })
            .collect()
    }
}

impl Workspace {
    /// How much longer the steps on copies are that so many threads have of each row of the small modes.
    pub(super) fn copy_boosts(&self, threads: usize) -> Vec<Vec<f32>> {
        let mut boosts = vec![Vec::new(); self.modes.len()];
        let boost = boost(threads as f32);
        self.private.iter().for_each(|&mode| boosts[mode] = vec![boost; self.modes[mode].rows()]);
        boosts
    }

    /// The turns of an epoch, task after task, by whoever comes first; `false` if it was interrupted on the way.
    pub(super) fn lock_free(&mut self, turns: &[Turn], rate: f32, interrupt: &AtomicBool) -> bool {
        let mut state = std::mem::take(&mut self.state);
        let this = &*self;
        let (blocks, threads) = (this.grid.blocks, this.lanes.len());
        let tasks: Vec<(Turn, usize)> =
            turns.iter().flat_map(|&turn| (0..blocks).map(move |task| (turn, task))).collect();
        let (share, boosts) = (1.0 / threads as f32, this.copy_boosts(threads));
        let next = AtomicUsize::new(0);
        let shared = SharedState::new(&mut state);
        let one_thread = this.params.core_update == CoreUpdate::OneThread;
        parallel::each(this.lanes.iter().zip(&this.workers).enumerate(), |(number, (lane, worker))| {
            let Lane { core: mine, copies } = &mut *lane.write().unwrap_or_else(PoisonError::into_inner);
            let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            let mut scratch: Vec<_> = this.cells.iter().map(|cells| cells.scratch()).collect();
            let mut core = ThreadCore::new(this.params.core_update, number, shared.core, mine.as_mut_slice());
            let step = this.tensor_step(rate, core.boost(threads), &boosts, interrupt);
            let mut small = shared.copies(&this.private, copies);
            // The rate times P makes up for the entries of others if every thread has as many, so that tasks are dealt out then.
            let dealt = (number..tasks.len()).step_by(threads);
            let first_come = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
            let mut numbers: Box<dyn Iterator<Item = usize>> =
                if one_thread { Box::new(dealt) } else { Box::new(first_come) };
            while !interrupt.load(Ordering::Relaxed) {
                let Some(&(turn, task)) = numbers.next().and_then(|number| tasks.get(number)) else { break };
                match turn {
                    Turn::Tensor { round } => {
                        let mut rows = shared.rows(&mut small);
                        let chunks = this.train.task(round * blocks + task);
                        let piece = if one_thread { 1 } else { chunks.len().max(1) };
                        for from in chunks.clone().step_by(piece) {
                            let chunks = from..(from + piece).min(chunks.end);
                            core.step(|core| worker.run(core, &mut rows, &this.train, chunks, &step));
                        }
                        this.settle(&mut core, &mut small, share, &step);
                    }
                    Turn::Cells { which, shift } => {
                        let cells = &this.cells[which];
                        let rows = (shared.factors[cells.mode], 0);
                        let columns = (shared.columns[cells.matrix], 0);
                        let task = shift * blocks + task;
                        cells.run(task, rows, columns, step.step, &mut scratch[which]);
                    }
                }
            }
        });
        self.state = state;
        !interrupt.load(Ordering::Relaxed)
    }

    /// Brings a thread's copies together with what all share.
    pub(super) fn settle(
        &self,
        core: &mut ThreadCore<'_>,
        small: &mut [Option<Copied<'_>>],
        share: f32,
        step: &TensorStep<'_>,
    ) {
        core.settle(share, step.step.nonnegative);
        small.iter_mut().flatten().for_each(|copied| copied.settle(share, step.step.nonnegative));
    }
}
