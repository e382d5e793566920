//! From a problem and settings to a model: the one loop.

mod run;

pub use run::{DataRecord, Epoch, Record, Run, Stop, Summary};

use std::sync::atomic::AtomicBool;

use crate::Error;
use crate::model::Model;
use crate::params::Params;
use crate::problem::{Entries, Problem};

/// A run to be: a problem, settings, and what else it may be given.
pub struct Training<'a> {
    problem: Problem,
    params: Params,
    test: Option<Entries>,
    holdout: Option<f64>,
    warm_start: Option<Model>,
    interrupt: Option<&'a AtomicBool>,
}

impl<'a> Training<'a> {
    /// A run of the given settings on the given problem.
    pub fn new(problem: Problem, params: Params) -> Self {
        Training { problem, params, test: None, holdout: None, warm_start: None, interrupt: None }
    }

    /// Entries, by ids, on which each epoch's model is evaluated. Unless there is also a holdout, patience
    /// watches them.
    #[must_use]
    pub fn test(mut self, entries: Entries) -> Self {
        self.test = Some(entries);
        self
    }

    /// Holds out a random fraction of the tensor's entries. Patience watches them; they are also what
    /// `test_rmse` reports, unless there is a test set.
    #[must_use]
    pub fn holdout(mut self, fraction: f64) -> Self {
        self.holdout = Some(fraction);
        self
    }

    /// Starts from a model in place of random numbers; ids that it does not know start as usual.
    #[must_use]
    pub fn warm_start(mut self, model: Model) -> Self {
        self.warm_start = Some(model);
        self
    }

    /// Stops soon after `flag` becomes true, and keeps the model so far.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Runs; `observe` is told of each epoch.
    ///
    /// # Errors
    /// If a setting is out of range, or the test set or the model to start from does not fit the problem.
    pub fn run(self, mut observe: impl FnMut(&Epoch)) -> Result<Run, Error> {
        self.params.check(&self.problem)?;
        let _ = (&mut observe, &self.test, self.holdout, &self.warm_start, self.interrupt);
        Err(Error::Problem("the engine is not built yet".into()))
    }
}
