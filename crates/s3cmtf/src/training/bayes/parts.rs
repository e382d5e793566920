//! Where the time of an epoch goes.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde::Serialize;

use super::{Sampler, Work};
use crate::Error;
use crate::nodes::ALONE;
use crate::params::{BayesParams, CheckedParams, Params};
use crate::problem::{EntrySource, Problem};

/// Epochs before the core is drawn do less, and are not counted.
const FIRST: usize = 5;

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
    /// What entries ask for in the whole epoch.
    pub work: Work,
    /// What the machine does in a second at most.
    pub limits: Work,
}

impl EpochParts {
    /// All of it.
    pub fn seconds(&self) -> f64 {
        self.sums.iter().chain(&self.draws).sum::<f64>() + self.core + self.matrices + self.rest
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
    let limits = Work::at_most(sampler.level);
    Ok(EpochParts { work: sampler.work(), limits, ..best.unwrap_or_default() })
}
