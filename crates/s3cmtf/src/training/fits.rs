//! One fit, or with patience two: on a part of the entries, and then on all of them for as many epochs as were best.

use std::sync::atomic::{AtomicBool, Ordering};

use super::checkpoint::{First, Keeper};
use super::run::{DataRecord, Epoch, Stop};
use super::{bayes, sgd};
use crate::Error;
use crate::model::Model;
use crate::params::{Algorithm, Params};
use crate::problem::{Entries, HoldOut, Problem};

/// Entries, by the problem's rows, to evaluate models on.
#[derive(Default)]
pub(super) struct Sets {
    /// Those that are told of.
    pub(super) reported: Option<Entries>,
    /// Those that patience watches, if others.
    pub(super) watched: Option<Entries>,
}

/// What an algorithm comes to.
pub(super) struct Fitted {
    pub(super) model: Model,
    pub(super) stop: Stop,
    pub(super) history: Vec<Epoch>,
    pub(super) best_epoch: usize,
    pub(super) train_rmse: f64,
    pub(super) test_rmse: Option<f64>,
    pub(super) seconds: f64,
    pub(super) halvings: u32,
}

impl Fitted {
    /// Takes over what a run on a part of the entries found out for this one on all of them. Entries that were held out
    /// then are not held out now, so that their RMSE is that of then.
    fn after(&mut self, first: &First) {
        self.seconds += first.seconds;
        if self.stop == Stop::Epochs {
            self.stop = first.stop;
        }
        self.test_rmse = self.test_rmse.or(first.test_rmse);
    }
}

/// What all fits of a run share.
pub(super) struct Fits<'a, 'k> {
    pub(super) params: &'a Params,
    pub(super) warm: Option<&'a Model>,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) observe: &'a mut dyn FnMut(&Epoch),
    pub(super) keeper: Keeper<'k>,
}

impl Fits<'_, '_> {
    /// Fits all entries.
    pub(super) fn all(&mut self, problem: Problem, test: Option<Entries>) -> Result<Fitted, Error> {
        let params = self.params.clone();
        self.one(problem, &params, Sets { reported: test, watched: None })
    }

    /// Fits what is left when some entries are held out, and with patience all of them then; tells `data` what was fitted.
    pub(super) fn held_out(
        &mut self,
        problem: Problem,
        how: HoldOut,
        test: Option<Entries>,
        data: &mut DataRecord,
    ) -> Result<Fitted, Error> {
        let whole = self.params.patience.map(|_| problem.clone());
        let (rest, held) = problem.hold_out_by(how, self.params.seed)?;
        if test.is_none() {
            data.test_entries = held.len();
        }
        let sets = match test.clone() {
            None => Sets { reported: Some(held), watched: None },
            test => Sets { reported: test, watched: Some(held) },
        };
        let params = self.params.clone();
        let Some(whole) = whole else {
            data.entries = rest.entries().len();
            data.mean = rest.entries().mean();
            data.fingerprint = rest.fingerprint();
            return self.one(rest, &params, sets);
        };
        let first = match self.keeper.resumed_first() {
            Some(first) => first,
            None => {
                let first = self.one(rest, &params, sets)?;
                if self.interrupt.load(Ordering::Relaxed) || first.best_epoch == 0 {
                    return Ok(first);
                }
                First::of(&first)
            }
        };
        self.keeper.about.first = Some(first.clone());
        let params = Params { epochs: first.best_epoch, patience: None, ..params };
        let mut last = self.one(whole, &params, Sets { reported: test, watched: None })?;
        last.after(&first);
        Ok(last)
    }

    fn one(&mut self, problem: Problem, params: &Params, sets: Sets) -> Result<Fitted, Error> {
        let Fits { warm, interrupt, observe, keeper, .. } = self;
        match params.algorithm {
            Algorithm::Bayes => bayes::fit(problem, params, *warm, sets, interrupt, observe, keeper),
            Algorithm::Sgd => sgd::fit(problem, params, *warm, sets, interrupt, observe, keeper),
        }
    }
}
