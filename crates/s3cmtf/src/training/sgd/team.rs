//! Threads that work on one epoch together, and wait for each other without going to sleep.
//!
//! A round may take a millisecond, and waking a sleeping thread a tenth of that.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How often a waiting thread looks before it lets others have its core.
const LOOKS: usize = 2000;

/// Where the threads of a team wait for each other.
pub(super) struct Team {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    /// A thread has panicked: nobody must wait for it.
    lost: AtomicBool,
}

impl Team {
    /// Runs `work` on at most `threads` threads of the current pool; it gets the team and the thread's number in it.
    pub(super) fn run(threads: usize, work: impl Fn(&Team, usize) + Sync) {
        let threads = threads.clamp(1, rayon::current_num_threads());
        let team = Team {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
        };
        if threads == 1 {
            return work(&team, 0);
        }
        rayon::broadcast(|context| {
            if context.index() < threads {
                let guard = Guard(&team);
                work(&team, context.index());
                std::mem::forget(guard);
            }
        });
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Waits until all threads are here; the last to come does `last` before any goes on.
    ///
    /// # Panics
    /// If another thread of the team has panicked.
    pub(super) fn wait_then(&self, last: impl FnOnce()) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            last();
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            assert!(!self.lost.load(Ordering::Relaxed), "another thread of the team has panicked");
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Waits until all threads are here.
    pub(super) fn wait(&self) {
        self.wait_then(|| ());
    }
}

/// Tells the others of a panic.
struct Guard<'a>(&'a Team);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.lost.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn nobody_goes_on_before_all_are_there() {
        for threads in [1, 2, 5] {
            let (count, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool(threads).install(|| {
                Team::run(threads, |team, number| {
                    assert!(number < team.threads());
                    for round in 1..=200 {
                        count.fetch_add(1, Ordering::Relaxed);
                        team.wait_then(|| {
                            last.fetch_add(1, Ordering::Relaxed);
                        });
                        assert_eq!(count.load(Ordering::Relaxed), round * threads);
                        assert_eq!(last.load(Ordering::Relaxed), round);
                        team.wait();
                    }
                });
            });
        }
    }

    #[test]
    fn a_panic_of_one_is_a_panic_of_all() {
        let result = std::panic::catch_unwind(|| {
            pool(3).install(|| {
                Team::run(3, |team, number| {
                    assert!(number != 1, "on purpose");
                    team.wait();
                });
            });
        });
        assert!(result.is_err());
    }
}
