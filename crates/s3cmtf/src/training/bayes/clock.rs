//! The time that threads spend on rows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time that threads spend on sums over entries, and on all that follows of them for a row.
#[derive(Default)]
pub(super) struct RowClock {
    sums: AtomicU64,
    draws: AtomicU64,
}

impl RowClock {
    /// Runs something and counts its time as that of sums, or of draws.
    pub(super) fn time<T>(clock: Option<&RowClock>, is_sum: bool, run: impl FnOnce() -> T) -> T {
        let Some(clock) = clock else { return run() };
        let began = Instant::now();
        let result = run();
        let part = if is_sum { &clock.sums } else { &clock.draws };
        part.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    /// A time by the clock, in the proportion of the two.
    pub(super) fn split(&self, all: Duration) -> [f64; 2] {
        let [sums, draws] = [&self.sums, &self.draws].map(|part| part.load(Ordering::Relaxed) as f64);
        [sums, draws].map(|part| all.as_secs_f64() * part / (sums + draws).max(1.0))
    }
}
