//! The paper's Algorithm 1, line 3: every epoch visits all tensor entries and all cells of matrices in a new random order,
//! mixed.
//!
//! Threads have a part of that order each, of equal length: the one that updates the core has a P-th of all entries then,
//! which is what its P-fold rate makes up for.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cells::CellRows;
use super::copies::ThreadCore;
use super::lanes::Lane;
use super::lock_free::SharedState;
use super::team::Team;
use super::visits::Visit;
use super::workspace::Workspace;

/// Copies are brought together after so many visits, where threads have copies.
const SETTLE: usize = 1024;

impl Workspace {
    /// All entries and cells in an order of this epoch's own; `false` if it was interrupted on the way.
    pub(super) fn random_order(&mut self, epoch: usize, rate: f32, interrupt: &AtomicBool) -> bool {
        let seed = self.params.common.seed;
        let Some(order) = &mut self.random_order else { unreachable!("there is an order to draw") };
        order.shuffle(seed, epoch);
        let mut state = std::mem::take(&mut self.state);
        let shared = SharedState::new(&mut state);
        let this = &*self;
        Team::run(this.lanes.len(), |team, number| {
            this.visit_part(&shared, number, team.threads(), rate, interrupt);
        });
        self.state = state;
        !interrupt.load(Ordering::Relaxed)
    }

    /// One thread's part of an epoch.
    fn visit_part(
        &self,
        shared: &SharedState<'_>,
        number: usize,
        threads: usize,
        rate: f32,
        interrupt: &AtomicBool,
    ) {
        let Some(order) = &self.random_order else { return };
        let Lane { core: mine, copies } =
            &mut *self.lanes[number].write().unwrap_or_else(PoisonError::into_inner);
        let mut worker = order.workers[number].lock().unwrap_or_else(PoisonError::into_inner);
        let mut cell_rows = CellRows::default();
        let boosts = self.copy_boosts(threads);
        let mut core = ThreadCore::new(self.params.core_update, number, shared.core, mine.as_mut_slice());
        let step = self.tensor_step(rate, core.boost(threads), &boosts, interrupt);
        let mut small = shared.copies(&self.private, copies);
        let part = |number: usize| order.order.len() * number / threads;
        for visits in order.order[part(number)..part(number + 1)].chunks(SETTLE) {
            let mut rows = shared.rows(&mut small);
            for &visit in visits {
                if interrupt.load(Ordering::Relaxed) {
                    return;
                }
                match order.visit(visit) {
                    Visit::Entry { chunk, entry } => {
                        core.step(|core| worker.step(core, &mut rows, &self.train, chunk, entry, &step));
                    }
                    Visit::Cell { which, cell } => {
                        let cells = &self.cells[which];
                        let (rows, columns) = (shared.factors[cells.mode], shared.columns[cells.matrix]);
                        cells.step(cell, rows, columns, step.step, &mut cell_rows);
                    }
                }
            }
            self.settle(&mut core, &mut small, 1.0 / threads as f32, &step);
        }
    }
}

#[cfg(test)]
mod tests;
