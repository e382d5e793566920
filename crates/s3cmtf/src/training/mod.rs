//! From a problem and settings to a model: the one loop.

mod blocks;
mod cells;
mod engine;
mod epoch;
mod graph;
mod lanes;
mod lock_free;
mod merit;
mod method;
mod objective;
mod placement;
mod rate;
mod run;
mod sparse;
mod start;
mod team;
mod watch;
mod zeros;

pub use objective::{Gradient, gradient, objective};
pub use run::{DataRecord, Epoch, Record, Run, Stop, Summary};

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::Error;
use crate::model::{Model, locate};
use crate::params::Params;
use crate::problem::{Entries, Problem};
use engine::Engine;
use watch::{Verdict, Watch};

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
        if self.params.patience.is_some() && self.test.is_none() && self.holdout.is_none() {
            return Err(Error::param(
                "patience",
                "given with a test set or a holdout to watch",
                "given alone",
            ));
        }
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
        let (problem, held_out) = match holdout {
            None => (problem, None),
            Some(fraction) => {
                problem.hold_out(fraction, params.seed).map(|(rest, held)| (rest, Some(held)))?
            }
        };
        let data = DataRecord {
            entries: problem.entries().len(),
            test_entries: test.as_ref().or(held_out.as_ref()).map_or(0, Entries::len),
            mean: problem.entries().mean(),
            fingerprint: problem.fingerprint(),
        };
        let start = start::start(&problem, &params, warm_start.as_ref());
        let first_rate = params.rate.map_or_else(|| rate::fitted(&start), f64::from);
        let mut engine = Engine::new(problem, &params, start);
        let (reported, watched) = match (test, held_out) {
            (None, held_out) => (held_out, None),
            both => both,
        };
        let reported = reported.map(|entries| engine.arrange(entries));
        let watched = watched.map(|entries| engine.arrange(entries));

        let mut watch = Watch::new(&params, &mut engine);
        let mut history: Vec<Epoch> = Vec::new();
        let mut seconds = 0.0;
        let stop = loop {
            let epoch = history.len() + 1;
            let rate = watch.rate_scale() * first_rate / (1.0 + f64::from(params.decay) * (epoch - 1) as f64);
            let clock = Instant::now();
            let finished = engine.epoch(epoch, rate as f32, interrupt);
            let spent = clock.elapsed().as_secs_f64();
            seconds += spent;
            engine.update_averages();
            if !finished && engine.state().is_finite() {
                // A part of an epoch is no epoch, but what it learnt is kept.
                break Stop::Interrupted;
            }
            let train_rmse = engine.train_rmse();
            let clock = Instant::now();
            let test_rmse = reported.as_ref().map(|set| engine.rmse(set));
            let evaluation_seconds = test_rmse.map_or(0.0, |_| clock.elapsed().as_secs_f64());
            let watched_rmse = watched.as_ref().map(|set| engine.rmse(set)).or(test_rmse);
            match watch.judge(&mut engine, epoch, train_rmse, watched_rmse) {
                Verdict::Diverged => continue,
                Verdict::GiveUp => break Stop::Diverged,
                Verdict::Good(stop) => {
                    let entries_per_second = engine.entries() as f64 / spent.max(1e-9);
                    history.push(Epoch {
                        epoch,
                        seconds,
                        entries_per_second,
                        train_rmse,
                        test_rmse,
                        evaluation_seconds,
                        rate,
                    });
                    observe(&history[epoch - 1]);
                    if interrupt.load(Ordering::Relaxed) {
                        break Stop::Interrupted;
                    }
                    if let Some(stop) = stop {
                        break stop;
                    }
                }
            }
        };
        let halvings = watch.halvings();
        let best_epoch = watch.keep_best(&mut engine);
        let train_rmse = engine.train_rmse();
        let test_rmse = reported.as_ref().map(|set| engine.rmse(set));
        let mut model = engine.model();
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
