//! Where the time of an epoch goes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Sampler;
use crate::Error;
use crate::nodes::ALONE;
use crate::params::{BayesParams, CheckedParams, Params};
use crate::problem::{EntrySource, Problem};

/// Epochs before the core is drawn do less, and are not counted.
const FIRST: usize = 5;

/// The time that threads spend on sums over entries, and on all that follows of them for a row.
#[derive(Default)]
pub(super) struct RowClock {
    sums: AtomicU64,
    draws: AtomicU64,
}

/// The seconds of an epoch that each part takes, by the clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EpochParts {
    /// For each mode the sums over the entries of its rows.
    pub sums: Vec<f64>,
    /// For each mode its rows' draws, given these sums, and their part in the mean.
    pub draws: Vec<f64>,
    /// The passes over all entries that the core is drawn by.
    pub core: f64,
    /// Coupled matrices.
    pub matrices: f64,
    /// Scales, noise, held-out entries and the rest of the mean.
    pub rest: f64,
}

impl EpochParts {
    /// All of it.
    pub fn seconds(&self) -> f64 {
        self.sums.iter().chain(&self.draws).sum::<f64>() + self.core + self.matrices + self.rest
    }
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

/// Runs some epochs of a problem, at least five, and says where the time of the fastest went.
///
/// # Errors
/// If the settings are not those of the sampler, or do not fit the problem.
pub fn epoch_parts(mut problem: Problem, params: &Params, epochs: usize) -> Result<EpochParts, Error> {
    let CheckedParams::Bayes(params) = params.checked(&problem)? else {
        return Err(Error::param("algorithm", "bayes", params.algorithm.name()));
    };
    let threads = params.common.threads;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Error::threads)?;
    let entries = EntrySource::Memory(problem.take_entries());
    pool.install(|| measure(&problem, entries, &params, epochs))
}

fn measure(
    problem: &Problem,
    entries: EntrySource,
    params: &BayesParams,
    epochs: usize,
) -> Result<EpochParts, Error> {
    let mut sampler = Sampler::new(problem, entries, params, None, None, &ALONE)?;
    let mut best: Option<EpochParts> = None;
    for epoch in 0..epochs.max(FIRST) {
        sampler.parts = Some(EpochParts::default());
        let began = Instant::now();
        sampler.epoch(&AtomicBool::new(false))?;
        let all = began.elapsed().as_secs_f64();
        let mut parts = sampler.parts.take().unwrap_or_default();
        parts.rest = (all - parts.seconds()).max(0.0);
        if epoch + 1 >= FIRST && best.as_ref().is_none_or(|best| parts.seconds() < best.seconds()) {
            best = Some(parts);
        }
    }
    Ok(best.unwrap_or_default())
}
