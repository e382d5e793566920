//! Time: how long a trial will take by those before it, and what stops one that takes longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::search::core_size;
use super::trial::Trial;
use crate::Error;
use crate::params::Params;

/// How often a trial is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The growth that is believed where only one trial says how long an epoch takes. From rank 10 to 24 of three modes it was
/// 0.5 for bayes and 0.6 for sgd, and from 4 to 16 it was 0.2. Too little costs less than too much: a trial that takes
/// longer is stopped, but one that is not made finds nothing.
const USUAL: f64 = 0.5;
/// The steepest growth of an epoch's time that is believed, as a power of the size of the core.
const STEEPEST: f64 = 1.5;

/// How many seconds a trial of the given settings will take, by the trials before it.
///
/// The time of an epoch is taken to grow with a power of the size of the core: that of the two trials of the algorithm
/// which are nearest in size.
pub(super) fn predicted(trials: &[Trial], params: &Params, order: usize) -> f64 {
    let size = |params: &Params| core_size(params, order).ln();
    let wanted = size(params);
    let mut known: Vec<(f64, f64)> = trials
        .iter()
        .filter(|trial| trial.params.algorithm == params.algorithm)
        .map(|trial| (size(&trial.params), trial.seconds / trial.params.epochs as f64))
        .collect();
    if known.is_empty() {
        let per_epoch = |trial: &Trial| (size(&trial.params), trial.seconds / trial.params.epochs as f64);
        known = trials.iter().map(per_epoch).collect();
    }
    known.sort_by(|a, b| (a.0 - wanted).abs().total_cmp(&(b.0 - wanted).abs()));
    let Some(&(near, seconds)) = known.first() else { return 0.0 };
    let other = known.iter().find(|(size, _)| (size - near).abs() > 1e-9);
    let power = match other {
        Some(&(far, other)) => ((seconds / other).ln() / (near - far)).clamp(0.0, STEEPEST),
        None if wanted > near => USUAL,
        None => 0.0,
    };
    let power = if power.is_nan() { USUAL } else { power };
    seconds * params.epochs as f64 * (power * (wanted - near)).exp()
}

/// Runs something with a flag that is raised when `interrupt` is, or when `limit` has passed.
pub(super) fn stopped_by<T>(
    interrupt: &AtomicBool,
    limit: Option<Duration>,
    run: impl FnOnce(&AtomicBool) -> T,
) -> Result<T, Error> {
    let stop = AtomicBool::new(false);
    let (running, ended) = channel::<()>();
    let started = Instant::now();
    let raise = &stop;
    let look = move || {
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if interrupt.load(Ordering::Relaxed) || limit.is_some_and(|limit| started.elapsed() >= limit) {
                raise.store(true, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, look).map_err(Error::threads)?;
        let result = run(&stop);
        drop(running);
        Ok(result)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Algorithm;

    fn trial(algorithm: Algorithm, rank: usize, epochs: usize, seconds: f64) -> Trial {
        let params = Params { algorithm, ranks: vec![rank], epochs, ..Params::default() };
        Trial { params, changes: Vec::new(), rmse: 1.0, seconds, difference: 0.0, noise: 0.0 }
    }

    #[track_caller]
    fn assert_predicted(trials: &[Trial], wanted: (Algorithm, usize, usize), expected: f64) {
        let params = trial(wanted.0, wanted.1, wanted.2, 0.0).params;
        let seconds = predicted(trials, &params, 3);
        assert!((seconds - expected).abs() < 1e-6 * expected, "{seconds}, not {expected}");
    }

    #[test]
    fn one_trial_predicts_by_the_size_of_the_core() {
        let first = [trial(Algorithm::Bayes, 10, 100, 2.0)];
        assert_predicted(&first, (Algorithm::Bayes, 40, 100), 16.0);
        assert_predicted(&first, (Algorithm::Bayes, 5, 100), 2.0);
        // The other algorithm is not known yet.
        assert_predicted(&first, (Algorithm::Sgd, 10, 50), 1.0);
    }

    #[test]
    fn two_trials_predict_by_how_they_differ() {
        let mut trials = vec![trial(Algorithm::Bayes, 4, 100, 1.0), trial(Algorithm::Bayes, 8, 100, 4.0)];
        assert_predicted(&trials, (Algorithm::Bayes, 16, 100), 16.0);
        assert_predicted(&trials, (Algorithm::Bayes, 16, 50), 8.0);
        // Time that does not grow is not taken to shrink.
        trials[1].seconds = 0.5;
        assert_predicted(&trials, (Algorithm::Bayes, 16, 100), 0.5);
    }

    #[test]
    fn times_of_zero_do_no_harm() {
        let trials = [trial(Algorithm::Bayes, 4, 100, 0.0), trial(Algorithm::Bayes, 8, 100, 0.0)];
        assert_eq!(predicted(&trials, &trials[0].params, 3), 0.0);
        assert_eq!(predicted(&[], &trials[0].params, 3), 0.0);
    }

    #[test]
    fn a_raised_flag_and_a_spent_limit_stop_what_runs() {
        let wait = |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        };
        stopped_by(&AtomicBool::new(true), None, wait).unwrap();
        stopped_by(&AtomicBool::new(false), Some(Duration::ZERO), wait).unwrap();
    }
}
