//! The paper's scheme: every thread takes the next task, and all change all rows.
//!
//! The core is read by every entry, and rows of small modes by many at once. Writing them where all others read would
//! cost more than everything else, so each thread has its own and brings them together with the shared ones after each
//! task.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;
use s3cmtf_kernels::SharedRows;

use super::epoch::Turn;
use super::lanes::{Lane, boost};
use super::method::ModeRows;
use super::workspace::Workspace;

impl Workspace {
    /// The turns of an epoch, task after task, by whoever comes first; `false` if it was interrupted on the way.
    pub(super) fn lock_free(&mut self, turns: &[Turn], rate: f32, interrupt: &AtomicBool) -> bool {
        let mut state = std::mem::take(&mut self.state);
        let this = &*self;
        let blocks = this.grid.blocks;
        let tasks: Vec<(Turn, usize)> =
            turns.iter().flat_map(|&turn| (0..blocks).map(move |task| (turn, task))).collect();
        let (share, boost) = (1.0 / this.lanes.len() as f32, boost(this.lanes.len() as f32));
        let mut boosts = vec![Vec::new(); this.modes.len()];
        this.private.iter().for_each(|&mode| boosts[mode] = vec![boost; this.modes[mode].rows()]);
        let step = this.tensor_step(rate, boost, &boosts, interrupt);
        let next = AtomicUsize::new(0);
        let core = SharedRows::new(&mut state.core);
        let factors: Vec<SharedRows<'_>> =
            state.factors.iter_mut().map(|values| SharedRows::new(values)).collect();
        let columns: Vec<SharedRows<'_>> =
            state.columns.iter_mut().map(|values| SharedRows::new(values)).collect();
        this.lanes.par_iter().zip(&this.workers).for_each(|(lane, worker)| {
            let Lane { core: mine, copies } = &mut *lane.write().unwrap_or_else(PoisonError::into_inner);
            let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            let mut scratch: Vec<_> = this.cells.iter().map(|cells| cells.scratch()).collect();
            let mut core = Copied::new(core, mine.as_mut_slice());
            let mut small: Vec<Option<Copied<'_>>> = copies
                .iter_mut()
                .enumerate()
                .map(|(mode, copy)| this.private.contains(&mode).then(|| Copied::new(factors[mode], copy)))
                .collect();
            while !interrupt.load(Ordering::Relaxed) {
                let Some(&(turn, task)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                match turn {
                    Turn::Tensor { round } => {
                        let mut rows: Vec<ModeRows<'_>> = small
                            .iter_mut()
                            .zip(&factors)
                            .map(|(small, &shared)| match small {
                                Some(copied) => ModeRows::Owned { rows: copied.mine, base: 0 },
                                None => ModeRows::Shared(shared),
                            })
                            .collect();
                        let chunks = this.train.task(round * blocks + task);
                        worker.run(core.mine, &mut rows, &this.train, chunks, &step);
                        core.settle(share, step.step.nonnegative);
                        small.iter_mut().flatten().for_each(|copied| {
                            copied.settle(share, step.step.nonnegative);
                        });
                    }
                    Turn::Cells { which, shift } => {
                        let cells = &this.cells[which];
                        let (rows, columns) = ((factors[cells.mode], 0), (columns[cells.matrix], 0));
                        let task = shift * blocks + task;
                        cells.run(task, rows, columns, step.step, &mut scratch[which]);
                    }
                }
            }
        });
        self.state = state;
        !interrupt.load(Ordering::Relaxed)
    }
}

/// A thread's own copy of shared numbers.
struct Copied<'a> {
    shared: SharedRows<'a>,
    mine: &'a mut [f32],
    /// The numbers as they were when both were last brought together.
    seen: Vec<f32>,
}

impl<'a> Copied<'a> {
    /// A copy in `mine`, as far as there is room: the average row behind a mode's rows is nobody's.
    fn new(shared: SharedRows<'a>, mine: &'a mut [f32]) -> Self {
        mine.iter_mut().enumerate().for_each(|(place, number)| *number = shared.get(place));
        Copied { shared, seen: mine.to_vec(), mine }
    }

    /// What all threads did meanwhile, and `share` of what this one did itself.
    fn settle(&mut self, share: f32, nonnegative: bool) {
        for (place, (mine, seen)) in self.mine.iter_mut().zip(&mut self.seen).enumerate() {
            let mut new = self.shared.get(place);
            if *mine != *seen {
                new += share * (*mine - *seen);
                if nonnegative && new < 0.0 {
                    new = 0.0;
                }
                self.shared.set(place, new);
            }
            (*mine, *seen) = (new, new);
        }
    }
}
