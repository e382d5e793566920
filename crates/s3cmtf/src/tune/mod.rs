//! The search for settings: which of them predict entries that training has not seen best, within a budget of time.

mod ablation;
mod change;
mod clock;
mod going;
mod paired;
mod search;
mod trial;

pub use ablation::{Ablated, Ablation, AblationEffect, AblationEvent, Verdict};
pub use change::{Becomes, Change};
pub use trial::{End, Skip, Trial, Tuned, Why};

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Error;
use crate::params::{Algorithm, Params};
use crate::problem::Problem;
use crate::training::Epoch;
use change::Allowed;
use going::Going;
use search::Search;

/// The share of the budget that settings may take where changes to the data are tried after them.
const SETTINGS: f64 = 0.6;

/// A search to be: a problem, the settings to start from, and what it may spend.
pub struct Tuning<'a> {
    problem: Problem,
    base: Params,
    budget: Duration,
    holdout: f64,
    algorithms: Vec<Algorithm>,
    allowed: Allowed,
    interrupt: Option<&'a AtomicBool>,
    observer: Option<Observer<'a>>,
}

/// What is told of a search.
type Observer<'a> = Box<dyn FnMut(Event<'_>) -> ControlFlow<()> + Send + 'a>;

/// What a search tells of while it goes on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A trial of these settings, and with these changes to the data, starts.
    Start(&'a Params, &'a [Change]),
    /// It has done an epoch.
    Epoch(&'a Epoch),
    /// It came to its end.
    Trial(&'a Trial),
    /// Settings were left out, or their trial was given up.
    Skip(&'a Skip),
}

impl<'a> Tuning<'a> {
    /// How long a search takes unless told otherwise.
    pub const BUDGET: Duration = Duration::from_secs(60);
    /// The share of the entries that trials are compared on unless told otherwise.
    pub const HOLDOUT: f64 = 0.1;

    /// A search that starts from the given settings, which all others are compared with: a minute of it, on a tenth of
    /// the entries, over both algorithms.
    pub fn new(problem: Problem, base: Params) -> Self {
        Tuning {
            problem,
            base,
            budget: Self::BUDGET,
            holdout: Self::HOLDOUT,
            algorithms: vec![Algorithm::Bayes, Algorithm::Sgd],
            allowed: Allowed { matrices: false, bins: false },
            interrupt: None,
            observer: None,
        }
    }

    /// How long the search may take. The trial of the settings to start from is made whatever it takes.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// The share of the entries that is held out, and that trials are compared on. It is the same for all, and that of
    /// [`Training::holdout`](crate::Training::holdout) with the same seed. The RMSE of the best trial is a little too good, since it was chosen by it;
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

    /// Whether it is also tried to leave coupled matrices out, and to have them count otherwise: one at a time, once the
    /// settings are found, for as long as that is better by more than noise. Unless it is asked for, it is not.
    #[must_use]
    pub fn matrices(mut self, matrices: bool) -> Self {
        self.allowed.matrices = matrices;
        self
    }

    /// Whether it is also tried to put times together by more, such as months to years, as [`Tuning::matrices`] are tried.
    #[must_use]
    pub fn bins(mut self, bins: bool) -> Self {
        self.allowed.bins = bins;
        self
    }

    /// Ends the search soon after `flag` becomes true, and keeps the trials so far.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Tells `observe` of what happens. If it breaks, the search ends as by [`Tuning::interrupt`], whose flag then becomes true.
    #[must_use]
    pub fn observe(mut self, observe: impl FnMut(Event<'_>) -> ControlFlow<()> + Send + 'a) -> Self {
        self.observer = Some(Box::new(observe));
        self
    }

    /// Searches.
    ///
    /// # Errors
    /// If a setting to start from or the share is out of range, or there is only one entry.
    pub fn run(self) -> Result<Tuned, Error> {
        let Tuning { problem, base, budget, holdout, algorithms, allowed, interrupt, mut observer } = self;
        base.check(&problem)?;
        let never = AtomicBool::new(false);
        let interrupt = interrupt.unwrap_or(&never);
        let observe = |event: Event<'_>| {
            if observer.as_mut().is_some_and(|observe| observe(event).is_break()) {
                interrupt.store(true, Ordering::Relaxed);
            }
        };
        let clock = Instant::now();
        let (rest, held) = problem.hold_out(holdout, base.seed)?;
        let held = rest.with_ids(held);
        let mut tuned = Tuned::new(held.len());
        tuned.modes = rest.modes().to_vec();
        let (first, best) = (Vec::new(), Vec::new());
        let mut going =
            Going { rest: &rest, held: &held, budget, clock, interrupt, observe, tuned, first, best };
        let more = !change::candidates(&rest, &base, allowed, &[]).is_empty();
        // Something is left for the data, which are tried last.
        let share = if more { SETTINGS } else { 1.0 };
        going.tuned.end = going.settings(&Search::new(&rest, &base, &algorithms), share)?;
        if more && going.tuned.end != End::Interrupted {
            let end = going.data(allowed)?;
            going.tuned.end = if end == End::Searched { going.tuned.end } else { end };
        }
        let mut tuned = going.tuned;
        tuned.seconds = clock.elapsed().as_secs_f64();
        Ok(tuned)
    }
}
