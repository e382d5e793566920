//! The search for settings: which of them predict entries that training has not seen best, within a budget of time.

mod ablation;
mod clock;
mod paired;
mod search;
mod trial;

pub use ablation::{Ablated, Ablation, AblationEvent, Verdict, Worth};
pub use trial::{End, Skip, Trial, Tuned, Why};

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Error;
use crate::model::SimpleErrors;
use crate::params::{Algorithm, Params};
use crate::problem::{Entries, Problem};
use crate::training::{Epoch, Stop, Training};
use paired::squares;
use search::Search;

/// The share of the budget that is not worth a search for something that fits into it.
const LAST: f64 = 0.05;

/// A search to be: a problem, the settings to start from, and what it may spend.
pub struct Tuning<'a> {
    problem: Problem,
    base: Params,
    budget: Duration,
    holdout: f64,
    algorithms: Vec<Algorithm>,
    interrupt: Option<&'a AtomicBool>,
}

/// What a search tells of while it goes on.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A trial of these settings starts.
    Start(&'a Params),
    /// It has done an epoch.
    Epoch(&'a Epoch),
    /// It came to its end.
    Trial(&'a Trial),
    /// Settings were left out, or their trial was given up.
    Skip(&'a Skip),
}

impl<'a> Tuning<'a> {
    /// A search that starts from the given settings, which all others are compared with: a minute of it, on a tenth of
    /// the entries, over both algorithms.
    pub fn new(problem: Problem, base: Params) -> Self {
        Tuning {
            problem,
            base,
            budget: Duration::from_secs(60),
            holdout: 0.1,
            algorithms: vec![Algorithm::Bayes, Algorithm::Sgd],
            interrupt: None,
        }
    }

    /// How long the search may take. The trial of the settings to start from is made whatever it takes.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// The share of the entries that is held out, and that trials are compared on. It is the same for all, and that of
    /// [`Training::holdout`] with the same seed. The RMSE of the best trial is a little too good, since it was chosen by it;
    /// entries that the search has not seen tell what it is worth.
    #[must_use]
    pub fn holdout(mut self, fraction: f64) -> Self {
        self.holdout = fraction;
        self
    }

    /// The algorithms to search among; that of the settings to start from is always tried.
    #[must_use]
    pub fn algorithms(mut self, algorithms: Vec<Algorithm>) -> Self {
        self.algorithms = algorithms;
        self
    }

    /// Ends the search soon after `flag` becomes true, and keeps the trials so far.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Searches; `observe` is told of what happens.
    ///
    /// # Errors
    /// If a setting to start from or the share is out of range, or there is only one entry.
    pub fn run(self, mut observe: impl FnMut(Event<'_>) + Send) -> Result<Tuned, Error> {
        let Tuning { problem, base, budget, holdout, algorithms, interrupt } = self;
        base.check(&problem)?;
        let never = AtomicBool::new(false);
        let interrupt = interrupt.unwrap_or(&never);
        let clock = Instant::now();
        let (rest, held) = problem.hold_out(holdout, base.seed)?;
        let held = rest.with_ids(held);
        let search = Search::new(&rest, &base, &algorithms);
        let mut tuned = Tuned::new(held.len());
        let mut first_squares = Vec::new();
        tuned.end = loop {
            if interrupt.load(Ordering::Relaxed) {
                break End::Interrupted;
            }
            let left = budget.saturating_sub(clock.elapsed());
            // What the trials since say may be less than what was feared.
            let trials = &tuned.trials;
            tuned.skips.retain(|skip| {
                !matches!(skip.why, Why::Predicted { .. })
                    || clock::predicted(trials, &skip.params, rest.order()) > left.as_secs_f64()
            });
            let Some(params) = search.next(&tuned.trials, &tuned.skips) else { break tuned.searched() };
            let is_first = tuned.trials.is_empty();
            if !is_first {
                let cheapest = tuned.trials.iter().map(|trial| trial.seconds).fold(f64::INFINITY, f64::min);
                if left <= budget.mul_f64(LAST) || left.as_secs_f64() < cheapest {
                    break End::Budget;
                }
                let seconds = clock::predicted(&tuned.trials, &params, rest.order());
                if seconds > left.as_secs_f64() {
                    let why = Why::Predicted { seconds, left: left.as_secs_f64() };
                    tuned.skips.push(Skip { params, why });
                    tuned.skips.last().into_iter().for_each(|skip| observe(Event::Skip(skip)));
                    continue;
                }
            }
            observe(Event::Start(&params));
            let started = Instant::now();
            let limit = (!is_first).then_some(left);
            let tell = |epoch: &Epoch| observe(Event::Epoch(epoch));
            let squares =
                clock::stopped_by(interrupt, limit, |stop| trial(&rest, &held, &params, stop, tell))?;
            let seconds = started.elapsed().as_secs_f64();
            match squares {
                Ok(Some((squares, simple))) => {
                    if is_first {
                        tuned.simple = simple;
                        first_squares.clone_from(&squares);
                    }
                    tuned.trials.push(Trial::new(params, seconds, &squares, &first_squares));
                    tuned.trials.last().into_iter().for_each(|trial| observe(Event::Trial(trial)));
                }
                Ok(None) if interrupt.load(Ordering::Relaxed) => break End::Interrupted,
                Err(error) if is_first => return Err(error),
                given_up => {
                    let why = match given_up {
                        Err(error) => Why::Failed(error.to_string()),
                        Ok(_) => Why::Stopped { seconds },
                    };
                    tuned.skips.push(Skip { params, why });
                    tuned.skips.last().into_iter().for_each(|skip| observe(Event::Skip(skip)));
                }
            }
        };
        tuned.seconds = clock.elapsed().as_secs_f64();
        Ok(tuned)
    }
}

/// The squared error of each held-out entry, and what simple predictions come to on them.
type Squares = (Vec<f64>, Option<SimpleErrors>);

/// Trains with the given settings; nothing if it was stopped.
fn trial(
    rest: &Problem,
    held: &Entries,
    params: &Params,
    stop: &AtomicBool,
    tell: impl FnMut(&Epoch) + Send,
) -> Result<Option<Squares>, Error> {
    let run = Training::new(rest.clone(), params.clone()).interrupt(stop).run(tell)?;
    if run.record.summary.stop == Stop::Interrupted {
        return Ok(None);
    }
    Ok(Some((squares(&run.model, held)?, run.model.simple_errors(held)?)))
}
