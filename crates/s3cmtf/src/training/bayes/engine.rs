//! The sampler as an engine: an epoch is a sweep of draws.

use std::sync::atomic::AtomicBool;

use super::{Evaluation, Sampler};
use crate::Error;
use crate::layout::MemoryBudget;
use crate::model::Model;
use crate::params::BayesParams;
use crate::training::checkpoint::StateArrays;
use crate::training::engine::{Best, Engine, Rmses, Verdict};
use crate::training::job::{FitJob, RunContext};
use crate::training::run::Stop;

/// A sampler and the entries that its models are evaluated on.
pub(in crate::training) struct BayesEngine<'a> {
    sampler: Sampler,
    reported: Option<Evaluation>,
    watched: Option<Evaluation>,
    budget: Option<&'a MemoryBudget>,
    note: Option<String>,
    /// Whether no more epochs are needed.
    settled: bool,
}

impl<'a> BayesEngine<'a> {
    pub(in crate::training) fn new(
        job: FitJob<'_>,
        params: &BayesParams,
        context: &RunContext<'a, '_>,
    ) -> Result<Self, Error> {
        let FitJob { problem, entries, sets, .. } = job;
        let (warm, budget) = (context.warm, context.budget);
        let sampler = Sampler::new(problem, entries, params, warm, budget, context.nodes)?;
        let reported = sets.reported.map(|entries| sampler.arrange(entries, budget)).transpose()?;
        let watched = sets.watched.map(|entries| sampler.arrange(entries, budget)).transpose()?;
        Ok(BayesEngine { sampler, reported, watched, budget, note: None, settled: false })
    }

    /// The same, with something to say about the device.
    #[cfg(feature = "cuda")]
    pub(super) fn noting(self, note: Option<String>) -> Self {
        BayesEngine { note, ..self }
    }

    /// Lets the sets have the ranks that the sampler has.
    fn follow(&mut self) {
        let sets = [&mut self.reported, &mut self.watched];
        sets.into_iter().flatten().for_each(|set| self.sampler.follow(set));
    }
}

impl Engine for BayesEngine<'_> {
    fn epoch(&mut self, _epoch: usize, interrupt: &AtomicBool) -> Result<bool, Error> {
        if !self.sampler.epoch(interrupt)? {
            return Ok(false);
        }
        self.sampler.join(self.budget)?;
        if self.sampler.shed() {
            self.follow();
        }
        self.settled = self.sampler.settled()?;
        Ok(true)
    }

    fn evaluate(&mut self) -> Result<Rmses, Error> {
        let (train, sets) = self.sampler.rmse(&[self.reported.as_ref(), self.watched.as_ref()])?;
        Ok(Rmses { train, test: sets[0], watched: sets[1] })
    }

    fn judge(&mut self, _epoch: usize, _rmses: &Rmses) -> Verdict {
        if self.settled { Verdict::Stop(Stop::Tolerance) } else { Verdict::Keep }
    }

    fn may_be_best(&self) -> bool {
        // Early draws are not typical, and what they come to is no reason to stop.
        self.sampler.is_typical()
    }

    fn model(&mut self) -> Result<Model, Error> {
        self.sampler.model()
    }

    fn device_note(&self) -> Option<String> {
        self.note.clone()
    }

    fn cells(&self) -> f64 {
        self.sampler.entries() as f64
    }

    fn save(&mut self, best: Option<Best>) -> Result<StateArrays, Error> {
        let mut arrays = self.sampler.numbers()?;
        arrays.put_doubles("best", &Best::numbers(best));
        Ok(arrays)
    }

    fn restore(&mut self, mut arrays: StateArrays, epochs: usize) -> Result<Option<Best>, Error> {
        let mut best = [0.0; 2];
        arrays.get_doubles("best", &mut best)?;
        self.sampler.epoch = epochs as u64;
        self.sampler.schedule.get(&mut arrays)?;
        self.sampler.join(self.budget)?;
        self.sampler.restore(arrays)?;
        self.follow();
        Ok(Best::from_numbers(best, epochs))
    }
}
