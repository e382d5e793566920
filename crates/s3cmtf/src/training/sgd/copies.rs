//! What threads of the lock-free scheme have of numbers that all of them read: copies, and how these keep up.

use s3cmtf_kernels::SharedRows;

use super::lanes::boost;
use crate::params::CoreUpdate;

/// A thread's own copy of shared numbers.
pub(super) struct Copied<'a> {
    shared: SharedRows<'a>,
    pub(super) mine: &'a mut [f32],
    /// The numbers as they were when both were last brought together.
    seen: Vec<f32>,
}

impl<'a> Copied<'a> {
    /// A copy in `mine`, as far as there is room: the average row behind a mode's rows is nobody's.
    pub(super) fn new(shared: SharedRows<'a>, mine: &'a mut [f32]) -> Self {
        mine.iter_mut().enumerate().for_each(|(place, number)| *number = shared.get(place));
        Copied { shared, seen: mine.to_vec(), mine }
    }

    /// What all threads did meanwhile, and `share` of what this one did itself.
    pub(super) fn settle(&mut self, share: f32, nonnegative: bool) {
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

    fn read(&mut self) {
        self.mine.iter_mut().enumerate().for_each(|(place, number)| *number = self.shared.get(place));
    }

    fn write(&self) {
        self.mine.iter().enumerate().for_each(|(place, &number)| self.shared.set(place, number));
    }
}

/// The core as one thread has it. Kernels compute on a copy in any case; what differs is when it is read and written.
pub(super) struct ThreadCore<'a> {
    copied: Copied<'a>,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Steps its copy, and averages it with the others' from time to time.
    Averages,
    /// Nobody else writes the core, so that its copy is the core.
    Updates,
    Reads,
}

impl<'a> ThreadCore<'a> {
    /// The core of thread `number`; the first is the one that updates, where there is one.
    pub(super) fn new(
        update: CoreUpdate,
        number: usize,
        shared: SharedRows<'a>,
        mine: &'a mut [f32],
    ) -> Self {
        let role = match (update, number) {
            (CoreUpdate::Averaged, _) => Role::Averages,
            (CoreUpdate::OneThread, 0) => Role::Updates,
            (CoreUpdate::OneThread, _) => Role::Reads,
        };
        ThreadCore { copied: Copied::new(shared, mine), role }
    }

    /// How much longer than others the steps of this thread's core are; 0 if it only reads.
    pub(super) fn boost(&self, threads: usize) -> f32 {
        match self.role {
            Role::Averages => boost(threads as f32),
            // Line 7 of Algorithm 1: eta P.
            Role::Updates => threads as f32,
            Role::Reads => 0.0,
        }
    }

    /// Lets `step` compute on the core as it is now, and others see what it did.
    pub(super) fn step(&mut self, step: impl FnOnce(&mut [f32])) {
        if self.role == Role::Reads {
            self.copied.read();
        }
        step(self.copied.mine);
        if self.role == Role::Updates {
            self.copied.write();
        }
    }

    /// Brings copies together, where threads have copies.
    pub(super) fn settle(&mut self, share: f32, nonnegative: bool) {
        if self.role == Role::Averages {
            self.copied.settle(share, nonnegative);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_updates_the_core_p_times_as_far_and_the_others_read_it() {
        let mut numbers = [1.0, 2.0];
        let shared = SharedRows::new(&mut numbers);
        let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
        let mut updates = ThreadCore::new(CoreUpdate::OneThread, 0, shared, &mut first);
        let mut reads = ThreadCore::new(CoreUpdate::OneThread, 1, shared, &mut second);
        assert_eq!((updates.boost(16), reads.boost(16)), (16.0, 0.0));
        updates.step(|core| core[0] += 5.0);
        assert_eq!((shared.get(0), shared.get(1)), (6.0, 2.0));
        reads.step(|core| {
            assert_eq!(core, [6.0, 2.0]);
            core[1] = 9.0;
        });
        updates.settle(0.5, false);
        reads.settle(0.5, false);
        assert_eq!((shared.get(0), shared.get(1)), (6.0, 2.0));
        updates.step(|core| assert_eq!(core, [6.0, 2.0]));
    }
}
