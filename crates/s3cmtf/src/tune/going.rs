//! A search that goes on: settings first, then the data, each within the time that is left.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::change::{Allowed, Change, candidates, changed};
use super::paired::{Paired, squares};
use super::search::Search;
use super::trial::{End, Skip, Trial, TrialRequest, Tuned, Why, is_better};
use super::{Event, clock};
use crate::Error;
use crate::model::SimpleErrors;
use crate::params::Params;
use crate::problem::{Entries, Problem};
use crate::training::{Epoch, Stop, Training};

/// The share of the budget that is not worth a search for something that fits into it.
const LAST: f64 = 0.05;

pub(super) struct Going<'a, F> {
    pub(super) rest: &'a Problem,
    pub(super) held: &'a Entries,
    pub(super) budget: Duration,
    pub(super) clock: Instant,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) observe: F,
    pub(super) tuned: Tuned,
    /// The squared error of each held-out entry in the first trial, and in the one that is recommended so far.
    pub(super) first: Vec<f64>,
    pub(super) best: Vec<f64>,
}

/// What became of something that was to be tried.
enum Tried {
    /// It came to its end, with these squared errors.
    Done(Vec<f64>),
    /// It was left out, or given up.
    Skipped,
    /// The search ends here.
    Ended(End),
}

impl<F: FnMut(Event<'_>) + Send> Going<'_, F> {
    /// Searches for settings, within a share of the budget.
    pub(super) fn settings(&mut self, search: &Search<'_>, share: f64) -> Result<End, Error> {
        let budget = self.budget.mul_f64(share);
        loop {
            let left = budget.saturating_sub(self.clock.elapsed());
            // What the trials since say may be less than what was feared.
            let (trials, order) = (&self.tuned.trials, self.rest.order());
            self.tuned.skips.retain(|skip| {
                !matches!(skip.why, Why::Predicted { .. })
                    || clock::predicted(trials, &skip.params, order) > left.as_secs_f64()
            });
            if self.interrupt.load(Ordering::Relaxed) {
                return Ok(End::Interrupted);
            }
            let Some(params) = search.next(&self.tuned.trials, &self.tuned.skips) else {
                return Ok(self.tuned.searched());
            };
            let asked = TrialRequest { params, changes: Vec::new() };
            let known = self.tuned.recommended().map(|trial| trial.rmse);
            match self.attempt(self.rest, self.held, asked, left)? {
                Tried::Done(squares) => {
                    // Only what is recommended is compared with later.
                    if self.tuned.recommended().map(|trial| trial.rmse) != known || self.best.is_empty() {
                        self.best = squares;
                    }
                }
                Tried::Skipped => {}
                Tried::Ended(end) => return Ok(end),
            }
        }
    }

    /// Changes the data one by one, as long as that is better by more than noise.
    pub(super) fn data(&mut self, allowed: Allowed) -> Result<End, Error> {
        let mut made: Vec<Change> = Vec::new();
        loop {
            let Some(params) = self.tuned.recommended().map(|trial| trial.params.clone()) else {
                return Ok(self.tuned.end);
            };
            let mut better: Option<(f64, usize, Vec<f64>, Vec<Change>)> = None;
            for change in candidates(self.rest, &params, allowed, &made) {
                let changes: Vec<Change> = made.iter().cloned().chain([change]).collect();
                let Some((problem, held)) = changed(self.rest, self.held, &changes)? else { continue };
                if params.check(&problem).is_err() {
                    continue;
                }
                let asked = TrialRequest { params: params.clone(), changes: changes.clone() };
                let left = self.budget.saturating_sub(self.clock.elapsed());
                match self.attempt(&problem, &held, asked, left)? {
                    Tried::Done(squares) => {
                        let found = Paired::new(&squares, &self.best);
                        let least = better.as_ref().map_or(f64::INFINITY, |(rmse, ..)| *rmse);
                        if is_better(found) && found.rmse < least {
                            better = Some((found.rmse, self.tuned.trials.len() - 1, squares, changes));
                        }
                    }
                    Tried::Skipped => {}
                    Tried::Ended(end) => {
                        // What was found before is not lost.
                        self.tuned.settled = better.map(|(_, place, ..)| place).or(self.tuned.settled);
                        return Ok(end);
                    }
                }
            }
            let Some((_, place, squares, changes)) = better else { return Ok(self.tuned.searched()) };
            self.tuned.settled = Some(place);
            (self.best, made) = (squares, changes);
        }
    }

    /// Tries something, if there is time for it.
    fn attempt(
        &mut self,
        problem: &Problem,
        held: &Entries,
        asked: TrialRequest,
        left: Duration,
    ) -> Result<Tried, Error> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Ok(Tried::Ended(End::Interrupted));
        }
        let is_first = self.tuned.trials.is_empty();
        if !is_first {
            let cheapest = self.tuned.trials.iter().map(|trial| trial.seconds).fold(f64::INFINITY, f64::min);
            if left <= self.budget.mul_f64(LAST) || left.as_secs_f64() < cheapest {
                return Ok(Tried::Ended(End::Budget));
            }
            let seconds = clock::predicted(&self.tuned.trials, &asked.params, problem.order());
            if seconds > left.as_secs_f64() {
                self.skip(asked, Why::Predicted { seconds, left: left.as_secs_f64() });
                return Ok(Tried::Skipped);
            }
        }
        (self.observe)(Event::Start(&asked.params, &asked.changes));
        let started = Instant::now();
        let limit = (!is_first).then_some(left);
        let observe = &mut self.observe;
        let tell = |epoch: &Epoch| {
            observe(Event::Epoch(epoch));
            ControlFlow::Continue(())
        };
        let squares =
            clock::stopped_by(self.interrupt, limit, |stop| train(problem, held, &asked.params, stop, tell))?;
        let seconds = started.elapsed().as_secs_f64();
        match squares {
            Ok(Some((squares, simple))) => {
                if is_first {
                    self.tuned.simple = simple;
                    self.first.clone_from(&squares);
                }
                self.tuned.trials.push(Trial::new(asked, seconds, &squares, &self.first));
                let last = self.tuned.trials.last();
                last.into_iter().for_each(|trial| (self.observe)(Event::Trial(trial)));
                Ok(Tried::Done(squares))
            }
            Ok(None) if self.interrupt.load(Ordering::Relaxed) => Ok(Tried::Ended(End::Interrupted)),
            Err(error) if is_first => Err(error),
            Err(error) => {
                self.skip(asked, Why::Failed(format!("{error:#}")));
                Ok(Tried::Skipped)
            }
            Ok(None) => {
                self.skip(asked, Why::Stopped { seconds });
                Ok(Tried::Skipped)
            }
        }
    }

    fn skip(&mut self, asked: TrialRequest, why: Why) {
        let TrialRequest { params, changes } = asked;
        self.tuned.skips.push(Skip { params, changes, why });
        self.tuned.skips.last().into_iter().for_each(|skip| (self.observe)(Event::Skip(skip)));
    }
}

/// The squared error of each held-out entry, and what simple predictions come to on them.
type Squares = (Vec<f64>, Option<SimpleErrors>);

/// Trains with the given settings; nothing if it was stopped.
fn train(
    rest: &Problem,
    held: &Entries,
    params: &Params,
    stop: &AtomicBool,
    tell: impl FnMut(&Epoch) -> ControlFlow<()> + Send,
) -> Result<Option<Squares>, Error> {
    let run = Training::new(rest.clone(), params.clone()).interrupt(stop).observe(tell).run()?;
    if run.record.summary.stop == Stop::Interrupted {
        return Ok(None);
    }
    Ok(Some((squares(&run.model, held)?, run.model.simple_errors(held)?)))
}
