//! From a problem and settings to a model: the one loop.

mod bayes;
mod gram;
mod run;
mod sgd;
mod sparse;

pub use run::{DataRecord, Epoch, Record, Run, Stop, Summary};
pub use sgd::{Gradient, gradient, objective};

use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::model::{Model, locate};
use crate::params::{Algorithm, Params};
use crate::problem::{Entries, Problem};

/// The share of entries that patience watches, unless another is given.
const HOLDOUT: f64 = 0.1;

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

    /// Entries, by ids, on which each epoch's model is evaluated; nothing is chosen by them.
    #[must_use]
    pub fn test(mut self, entries: Entries) -> Self {
        self.test = Some(entries);
        self
    }

    /// Holds out a random fraction of the tensor's entries. They are what `test_rmse` reports, unless there is a test set.
    /// With patience, which watches them and holds out a tenth unless told otherwise, the final model is trained on all
    /// entries.
    #[must_use]
    pub fn holdout(mut self, fraction: f64) -> Self {
        self.holdout = Some(fraction);
        self
    }

    /// Starts from a model in place of random numbers; ids that it does not know start as its average row.
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
    pub fn run(self, observe: impl FnMut(&Epoch) + Send) -> Result<Run, Error> {
        self.check()?;
        let threads = self.params.n_threads();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Error::Problem(format!("{threads} threads cannot be started: {error}")))?;
        pool.install(|| self.run_here(threads, observe))
    }

    fn check(&self) -> Result<(), Error> {
        self.params.check(&self.problem)?;
        if let Some(model) = &self.warm_start {
            let order = self.problem.order();
            if model.modes().len() != order {
                return Err(Error::Problem(format!(
                    "the model to start from has {} modes, but the tensor has {order}",
                    model.modes().len()
                )));
            }
            let ranks: Vec<usize> = model.factors().iter().map(|factor| factor.rank()).collect();
            let list = |ranks: &[usize]| ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let asked = self.params.ranks_for(order);
            if asked != ranks {
                let expected = format!("{}, as in the model to start from", list(&ranks));
                return Err(Error::param("ranks", expected, list(&asked)));
            }
            if self.params.core != model.core_kind() {
                let expected = format!("{}, as in the model to start from", model.core_kind().name());
                return Err(Error::param("core", expected, self.params.core.name()));
            }
        }
        if let Some(fraction) = self.holdout
            && !(fraction > 0.0 && fraction < 1.0)
        {
            return Err(Error::param("holdout", "between 0 and 1, both excluded", fraction));
        }
        Ok(())
    }

    fn run_here(self, threads: usize, mut observe: impl FnMut(&Epoch)) -> Result<Run, Error> {
        let Training { problem, params, test, holdout, warm_start, interrupt } = self;
        let never = AtomicBool::new(false);
        let interrupt = interrupt.unwrap_or(&never);
        let test = test.map(|entries| locate(problem.modes(), &entries)).transpose()?;
        if test.as_ref().is_some_and(Entries::is_empty) {
            return Err(Error::Problem("the test set has no entry".into()));
        }
        let holdout = holdout.or(params.patience.map(|_| HOLDOUT));
        let mut fit = |problem: Problem, params: &Params, sets: Sets| -> Result<Fitted, Error> {
            let warm = warm_start.as_ref();
            match params.algorithm {
                Algorithm::Bayes => bayes::fit(problem, params, warm, sets, interrupt, &mut observe),
                Algorithm::Sgd => Ok(sgd::fit(problem, params, warm, sets, interrupt, &mut observe)),
            }
        };
        let mut data = DataRecord {
            entries: problem.entries().len(),
            test_entries: test.as_ref().map_or(0, Entries::len),
            mean: problem.entries().mean(),
            fingerprint: problem.fingerprint(),
        };
        let fitted = match holdout {
            None => fit(problem, &params, Sets { reported: test, watched: None })?,
            Some(fraction) => {
                let whole = params.patience.map(|_| problem.clone());
                let (rest, held) = problem.hold_out(fraction, params.seed)?;
                if test.is_none() {
                    data.test_entries = held.len();
                }
                let sets = match test.clone() {
                    None => Sets { reported: Some(held), watched: None },
                    test => Sets { reported: test, watched: Some(held) },
                };
                match whole {
                    None => {
                        data.entries = rest.entries().len();
                        data.mean = rest.entries().mean();
                        data.fingerprint = rest.fingerprint();
                        fit(rest, &params, sets)?
                    }
                    Some(whole) => {
                        let first = fit(rest, &params, sets)?;
                        if interrupt.load(Ordering::Relaxed) || first.best_epoch == 0 {
                            first
                        } else {
                            let final_params =
                                Params { epochs: first.best_epoch, patience: None, ..params.clone() };
                            let sets = Sets { reported: test, watched: None };
                            let mut last = fit(whole, &final_params, sets)?;
                            last.after(&first);
                            last
                        }
                    }
                }
            }
        };
        let Fitted { mut model, stop, history, best_epoch, train_rmse, test_rmse, seconds, halvings } =
            fitted;
        if params.nonnegative {
            model.normalize_columns();
        }
        if params.orthogonal {
            model.orthogonalize();
        }
        let summary = Summary { stop, epochs: history.len(), best_epoch, train_rmse, test_rmse, seconds };
        let record = Record {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: params.level().name().to_owned(),
            params,
            data,
            threads,
            halvings,
            summary,
            history,
        };
        Ok(Run { model, record })
    }
}

/// Entries, by the problem's rows, to evaluate models on.
#[derive(Default)]
struct Sets {
    /// Those that are told of.
    reported: Option<Entries>,
    /// Those that patience watches, if others.
    watched: Option<Entries>,
}

/// What an algorithm comes to.
struct Fitted {
    model: Model,
    stop: Stop,
    history: Vec<Epoch>,
    best_epoch: usize,
    train_rmse: f64,
    test_rmse: Option<f64>,
    seconds: f64,
    halvings: u32,
}

impl Fitted {
    /// Takes over what a run on a part of the entries found out for this one on all of them. Entries that were held out
    /// then are not held out now, so that their RMSE is that of then.
    fn after(&mut self, first: &Fitted) {
        self.seconds += first.seconds;
        if self.stop == Stop::Epochs {
            self.stop = first.stop;
        }
        self.test_rmse = self.test_rmse.or(first.test_rmse);
    }
}
