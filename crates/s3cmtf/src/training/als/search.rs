//! Which start to go on with, how strong the ridge is, and when it is enough.

use super::least_squares::{LeastSquares, Ridge};
use super::state::State;
use crate::Error;
use crate::training::checkpoint::StateArrays;

/// Errors below this share of the values are rounding: values have 24 bits, and their errors are some 3e-8.
pub(super) const EXACT: f64 = 1e-6;
/// The most starts. Of tensors that a start in five finds, all but one in a hundred are found.
const STARTS: usize = 20;
/// After so many starts that end with the same error, the least so far, others would too.
const AGREE: usize = 4;
/// Errors are the same within this share.
const SAME: f64 = 0.01;
/// A start has ended when so many sweeps, after twice as many, leave this share of the error. Starts that find their way
/// halve it in every few sweeps.
const SWEEPS: usize = 10;
const LEFT: f64 = 0.97;
/// While a start looks for its way, the ridge is this share of what entries add up to, times the share of values that is
/// error. Weaker ridges end in more wrong places, stronger ones take longer (docs/method.md).
const SEARCH: f64 = 0.5;
/// A polish has ended when a sweep leaves this share of the error.
const POLISHED: f64 = 0.999;
/// An exact fit has been reached when a sweep leaves this share of an error that is rounding.
const REACHED: f64 = 0.99;
/// Epochs that are kept for the polish: a share of all, and at most so many.
const RESERVE: (usize, usize) = (5, 40);

/// What is to be done after a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another sweep.
    Sweep,
    /// A sweep from another start.
    Start(usize),
    /// A sweep from the best that was found, with the last ridge.
    Polish,
    /// Nothing: it no longer gets better.
    End,
}

/// The course of a run.
pub(super) struct Search {
    start: usize,
    /// The errors of this start's sweeps.
    errors: Vec<f64>,
    /// The errors that starts have ended with.
    ends: Vec<f64>,
    polishing: bool,
    /// The best so far, its error and its epoch.
    best: Option<(f64, usize, State)>,
    epochs: usize,
    /// The last ridge, in units of the errors' variance.
    polish: Option<f64>,
}

impl Search {
    /// A run of at most so many epochs; the ridge at the end is `polish` times the variance of the errors. Without that,
    /// nothing is polished but what is exact.
    pub(super) fn new(epochs: usize, polish: Option<f64>) -> Self {
        let best = None;
        Search { start: 0, errors: Vec::new(), ends: Vec::new(), polishing: false, best, epochs, polish }
    }

    /// The ridge of the next sweep.
    pub(super) fn ridge(&self) -> Ridge {
        let error = self.errors.last().copied().unwrap_or(1.0);
        match self.polish {
            Some(polish) if self.polishing => Ridge::Polish(polish * error * error),
            _ => Ridge::Search(SEARCH * error * error),
        }
    }

    /// Takes note of a sweep's error, and says what comes next.
    pub(super) fn judge(&mut self, epoch: usize, error: f64, state: &State) -> Next {
        let last = self.errors.last().copied();
        self.errors.push(error);
        // What is not a number is no way to go on, and compares as such.
        let left =
            |share: f64, before: Option<f64>| before.is_some_and(|before| !is_less(error, share * before));
        if error < EXACT {
            if !left(REACHED, last) {
                return Next::Sweep;
            }
            self.keep(epoch, error, state);
            return Next::End;
        }
        let sweeps = self.errors.len();
        if self.polishing {
            if !left(POLISHED, last) {
                return Next::Sweep;
            }
            self.keep(epoch, error, state);
            return Next::End;
        }
        let reserve = self.polish.map_or(0, |_| (self.epochs / RESERVE.0).min(RESERVE.1));
        let before = (sweeps > 2 * SWEEPS).then(|| self.errors[sweeps - 1 - SWEEPS]);
        let late = epoch + reserve >= self.epochs;
        if !left(LEFT, before) && !late {
            return Next::Sweep;
        }
        self.keep(epoch, error, state);
        self.ends.push(error);
        let least = self.ends.iter().copied().fold(f64::INFINITY, f64::min);
        let agree = self.ends.iter().filter(|&&end| end <= (1.0 + SAME) * least).count();
        self.start += 1;
        let enough = late || agree >= AGREE || self.start >= STARTS;
        if enough && self.polish.is_none() {
            return Next::End;
        }
        if enough {
            self.polishing = true;
            let error = self.best.as_ref().map(|best| best.0);
            self.errors = error.into_iter().collect();
            return Next::Polish;
        }
        self.errors.clear();
        Next::Start(self.start)
    }

    /// Keeps a state, if it is the best; while polishing, whatever it is: a weaker ridge is what was asked for.
    fn keep(&mut self, epoch: usize, error: f64, state: &State) {
        if state.is_finite() && (self.polishing || self.best.as_ref().is_none_or(|best| error < best.0)) {
            self.best = Some((error, epoch, state.clone()));
        }
    }

    /// The best state that was kept.
    pub(super) fn best(&self) -> Option<&State> {
        self.best.as_ref().map(|(_, _, state)| state)
    }

    /// Replaces a state by the best that was kept, if that is better; returns the epoch of the one that is there then.
    pub(super) fn better(&mut self, epoch: usize, error: f64, state: &mut State) -> usize {
        let is_better = |least: f64| !self.polishing && !is_less(error, least) || !state.is_finite();
        match self.best.take_if(|(least, ..)| is_better(*least)) {
            Some((_, at, best)) => {
                *state = best;
                at
            }
            None => epoch,
        }
    }

    /// All that the next sweep depends on, but the state.
    pub(super) fn put(&self, numbers: &mut StateArrays) {
        numbers.put_doubles("errors", &self.errors);
        numbers.put_doubles("ends", &self.ends);
        let (error, epoch) = self.best.as_ref().map_or((0.0, 0), |best| (best.0, best.1));
        let polishing = f64::from(u8::from(self.polishing));
        let lengths = [self.errors.len() as f64, self.ends.len() as f64];
        numbers.put_doubles("search", &[polishing, error, epoch as f64, lengths[0], lengths[1]]);
        if let Some((_, _, state)) = &self.best {
            put_state("best", state, numbers);
        }
    }

    /// Goes on from what [`Search::put`] kept after so many epochs.
    ///
    /// # Errors
    /// If the numbers are those of another run.
    pub(super) fn get(
        &mut self,
        engine: &LeastSquares,
        past: usize,
        numbers: &mut StateArrays,
    ) -> Result<(), Error> {
        let mut known = [0.0; 5];
        numbers.get_doubles("search", &mut known)?;
        // No epoch gives more than one error, and what is in a file may be anything.
        let length = |number: f64| (number.max(0.0) as usize).min(past + 1);
        self.errors = vec![0.0; length(known[3])];
        numbers.get_doubles("errors", &mut self.errors)?;
        self.ends = vec![0.0; length(known[4])];
        numbers.get_doubles("ends", &mut self.ends)?;
        self.start = self.ends.len();
        self.polishing = known[0] > 0.0;
        let epoch = (known[2].max(0.0) as usize).min(past);
        if epoch > 0 {
            let mut state = engine.blank();
            get_state("best", &mut state, numbers)?;
            self.best = Some((known[1], epoch, state));
        }
        Ok(())
    }
}

/// Whether an error is less than another; one that is not a number never is.
fn is_less(error: f64, than: f64) -> bool {
    error < than
}

/// Keeps a state under a name.
pub(super) fn put_state(name: &str, state: &State, numbers: &mut StateArrays) {
    numbers.put_doubles(format!("{name}.core"), &state.core);
    for (mode, factor) in state.factors.iter().enumerate() {
        numbers.put_doubles(format!("{name}.factor.{mode}"), factor);
    }
    for (number, (_, columns)) in state.columns.iter().enumerate() {
        numbers.put_doubles(format!("{name}.columns.{number}"), columns);
    }
}

/// Fills a state with what is kept under a name.
pub(super) fn get_state(name: &str, state: &mut State, numbers: &mut StateArrays) -> Result<(), Error> {
    numbers.get_doubles(&format!("{name}.core"), &mut state.core)?;
    for (mode, factor) in state.factors.iter_mut().enumerate() {
        numbers.get_doubles(&format!("{name}.factor.{mode}"), factor)?;
    }
    for (number, (_, columns)) in state.columns.iter_mut().enumerate() {
        numbers.get_doubles(&format!("{name}.columns.{number}"), columns)?;
    }
    Ok(())
}
