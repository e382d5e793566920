//! What a search leaves: a trial of each setting it had time for, and which of them to take.

use serde::Serialize;

use super::change::Change;
use super::paired::Paired;
use crate::model::{SimpleErrors, no_better};
use crate::params::Params;
use crate::problem::Mode;

/// How many standard errors a difference must have to be more than noise. Of two dozen trials that are all as good as the
/// first, one in thirty searches has one that looks this much better.
const CLEAR: f64 = 3.0;
/// The share of its RMSE by which a trial must be better to be worth a change of settings: another seed alone changes
/// it, however many entries are held out. On the data of the README, the standard deviation over six seeds was 0.12 % for
/// the default settings and more for sgd; two runs then rarely differ by more than this. On other data it may be more.
const WORTH: f64 = 0.005;

/// Settings and how well they predict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// The settings.
    pub params: Params,
    /// What was changed about the data.
    pub changes: Vec<Change>,
    /// The RMSE on the held-out entries.
    pub rmse: f64,
    /// Seconds from the start to the end.
    pub seconds: f64,
    /// How much larger the RMSE is than that of the first trial; below zero is better.
    pub difference: f64,
    /// The standard error of `difference`, by the errors of both trials on each held-out entry; 0 for the first.
    pub noise: f64,
}

impl Trial {
    /// A trial from the squared error of each held-out entry, here and in the first trial.
    pub(super) fn new(asked: TrialRequest, seconds: f64, squares: &[f64], first: &[f64]) -> Self {
        let Paired { rmse, difference, noise } = Paired::new(squares, first);
        let TrialRequest { params, changes } = asked;
        Trial { params, changes, rmse, seconds, difference, noise }
    }

    /// Whether it is better than the first trial by more than noise.
    pub fn is_better(&self) -> bool {
        let Trial { rmse, difference, noise, .. } = *self;
        is_better(Paired { rmse, difference, noise })
    }
}

/// Whether a training is better than what it is compared with by more than noise.
pub(super) fn is_better(Paired { rmse, difference, noise }: Paired) -> bool {
    // One held-out entry says nothing of noise, and what is not finite nothing at all.
    noise.is_finite() && difference < -(CLEAR * noise).max(WORTH * (rmse - difference))
}

/// What is to be tried.
#[derive(Clone, Debug)]
pub(super) struct TrialRequest {
    pub(super) params: Params,
    pub(super) changes: Vec<Change>,
}

/// Settings that have no trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Skip {
    /// The settings.
    pub params: Params,
    /// What would have been changed about the data.
    pub changes: Vec<Change>,
    /// The reason.
    pub why: Why,
}

/// Why settings have no trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// They were expected to take longer than there was time left.
    Predicted {
        /// How many seconds were expected.
        seconds: f64,
        /// How many were left.
        left: f64,
    },
    /// They took longer than expected, until the budget was spent.
    Stopped {
        /// How many seconds they had.
        seconds: f64,
    },
    /// They cannot be run, for the reason given.
    Failed(String),
}

/// Why a search came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum End {
    /// There was nothing left to try.
    Searched,
    /// What was left would have taken more than the budget.
    Budget,
    /// It was interrupted.
    Interrupted,
}

/// A finished search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tuned {
    /// The trials, in the order they were made; the first is of the settings that the search started from.
    pub trials: Vec<Trial>,
    /// What was left out, or given up.
    pub skips: Vec<Skip>,
    /// How many entries were held out.
    pub held_out: usize,
    /// What simple predictions come to on them; nothing before the first trial has come to its end.
    pub simple: Option<SimpleErrors>,
    /// How long it took.
    pub seconds: f64,
    /// Why it came to its end.
    pub end: End,
    /// Which trial changes to the data have led to, if any was better.
    pub(super) settled: Option<usize>,
    pub(super) modes: Vec<Mode>,
}

impl Tuned {
    pub(super) fn new(held_out: usize) -> Self {
        Tuned {
            trials: Vec::new(),
            skips: Vec::new(),
            held_out,
            simple: None,
            seconds: 0.0,
            end: End::Searched,
            settled: None,
            modes: Vec::new(),
        }
    }

    /// The end of a search that has nothing left to offer.
    pub(super) fn searched(&self) -> End {
        let for_time = |skip: &Skip| !matches!(skip.why, Why::Failed(_));
        if self.skips.iter().any(for_time) { End::Budget } else { End::Searched }
    }

    /// The trial with the least RMSE; none if not even the first came to its end.
    pub fn best(&self) -> Option<&Trial> {
        self.trials.iter().min_by(|a, b| a.rmse.total_cmp(&b.rmse))
    }

    /// The best of the trials that are better than the first by more than noise; the first if none is. One with changes to the
    /// data must also be better by more than noise than the one without them.
    pub fn recommended(&self) -> Option<&Trial> {
        if let Some(settled) = self.settled.and_then(|place| self.trials.get(place)) {
            return Some(settled);
        }
        let better = self.trials.iter().filter(|trial| trial.changes.is_empty() && trial.is_better());
        better.min_by(|a, b| a.rmse.total_cmp(&b.rmse)).or(self.trials.first())
    }

    /// Says so where what is recommended is no better than offsets.
    pub fn note(&self) -> Option<String> {
        let simple = self.simple?;
        no_better(self.recommended()?.rmse, simple.offsets_rmse, &self.modes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(squares: &[f64], first: &[f64]) -> Trial {
        let asked = TrialRequest { params: Params::default(), changes: Vec::new() };
        Trial::new(asked, 1.0, squares, first)
    }

    #[test]
    fn a_difference_that_few_entries_make_is_noise() {
        let first: Vec<f64> = (0..100).map(|place| 1.0 + f64::from(place % 7)).collect();
        assert!(!trial(&first, &first).is_better());
        // Better by the same everywhere, and by the same sum on one entry.
        let everywhere: Vec<f64> = first.iter().map(|square| 0.9 * square).collect();
        let mut once = first.clone();
        once[6] -= 6.5;
        assert!(trial(&everywhere, &first).is_better());
        assert!(!trial(&once, &first).is_better());
        assert!(trial(&once, &first).difference < 0.0);
    }

    #[test]
    fn a_difference_that_is_clear_but_tiny_is_not_worth_a_change() {
        let first = vec![1.0; 1000];
        assert!(!trial(&vec![0.998; 1000], &first).is_better());
        assert!(trial(&vec![0.98; 1000], &first).is_better());
    }

    #[test]
    fn what_is_not_a_number_is_never_better() {
        for square in [f64::NAN, f64::INFINITY] {
            assert!(!trial(&[square, 1.0], &[1.0, 1.0]).is_better());
            assert!(!trial(&[square, 1.0], &[square, 1.0]).is_better());
        }
        // One entry says nothing of noise.
        assert!(!trial(&[0.1], &[1.0]).is_better());
    }

    #[test]
    fn the_first_is_recommended_unless_another_is_clearly_better() {
        let first = vec![1.0; 50];
        let mut tuned = Tuned::new(50);
        assert!(tuned.best().is_none() && tuned.recommended().is_none());
        tuned.trials.push(trial(&first, &first));
        tuned.trials.push(trial(&vec![0.9999; 50], &first));
        assert_eq!(tuned.best(), tuned.trials.last());
        assert_eq!(tuned.recommended(), tuned.trials.first());
        tuned.trials.push(trial(&vec![0.5; 50], &first));
        assert_eq!(tuned.recommended(), tuned.trials.last());
    }
}
