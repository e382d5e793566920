//! What an algorithm is to the training loop.

use std::sync::atomic::AtomicBool;

use super::checkpoint::StateArrays;
use crate::Error;
use crate::model::Model;
use crate::params::Device;
use crate::training::run::Stop;

/// An algorithm at work on a problem: the loop in [`super::train`] asks for one epoch after the other.
pub(super) trait Engine {
    /// Trains for an epoch, counted from 1; `false` if it was interrupted on the way.
    fn epoch(&mut self, epoch: usize, interrupt: &AtomicBool) -> Result<bool, Error>;

    /// The RMSE of the model so far over the training entries and over those it is evaluated on.
    fn evaluate(&mut self) -> Result<Rmses, Error>;

    /// Says what is to become of an epoch, and prepares the next.
    fn judge(&mut self, _epoch: usize, _rmses: &Rmses) -> Verdict {
        Verdict::Keep
    }

    /// Whether the model so far is one that early stopping may choose.
    fn may_be_best(&self) -> bool {
        true
    }

    /// Takes note that no model so far had a smaller RMSE on the entries that early stopping watches.
    fn mark_best(&mut self) {}

    /// Ends training, so that [`Engine::evaluate`] and [`Engine::model`] are about the model that it comes to; returns the
    /// epoch of that model. `best` is what early stopping has found.
    fn finish(&mut self, epochs: usize, best: Option<Best>) -> usize {
        best.map_or(epochs, |best| best.epoch)
    }

    /// The model so far.
    ///
    /// # Errors
    /// If other nodes cannot be reached.
    fn model(&mut self) -> Result<Model, Error>;

    /// What epochs are computed on.
    fn device(&self) -> String {
        Device::Cpu.to_string()
    }

    /// Why that is not what one would expect, if it is not.
    fn device_note(&self) -> Option<String> {
        None
    }

    /// How many cells an epoch visits.
    fn cells(&self) -> f64;

    /// The step size of the last epoch, if it had one.
    fn rate(&self) -> Option<f64> {
        None
    }

    /// How often an epoch was taken back.
    fn halvings(&self) -> u32 {
        0
    }

    /// All that the next epoch depends on.
    ///
    /// # Errors
    /// If other nodes cannot be reached.
    fn save(&mut self, best: Option<Best>) -> Result<StateArrays, Error>;

    /// Goes on from what was saved after so many epochs.
    ///
    /// # Errors
    /// If the arrays are those of another run.
    fn restore(&mut self, arrays: StateArrays, epochs: usize) -> Result<Option<Best>, Error>;
}

/// The RMSE over sets of entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rmses {
    pub(super) train: f64,
    /// Over those that are reported.
    pub(super) test: Option<f64>,
    /// Over those that early stopping watches, if others.
    pub(super) watched: Option<f64>,
}

/// The epoch with the smallest RMSE on the entries that early stopping watches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Best {
    pub(super) epoch: usize,
    pub(super) rmse: f64,
}

/// What becomes of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It counts.
    Keep,
    /// It counts, and nothing would come of another.
    Stop(Stop),
    /// It has diverged and was taken back; it is tried again.
    Retry,
    /// It has diverged and was taken back; there is no use in trying again.
    GiveUp,
}

impl Best {
    /// As numbers of a checkpoint; zeros if there is none.
    pub(super) fn numbers(best: Option<Best>) -> [f64; 2] {
        best.map_or([0.0; 2], |best| [best.epoch as f64, best.rmse])
    }

    /// From such numbers, after so many epochs: none is better than one that is still to come.
    pub(super) fn from_numbers([epoch, rmse]: [f64; 2], epochs: usize) -> Option<Best> {
        (epoch > 0.0).then(|| Best { epoch: (epoch as usize).min(epochs), rmse })
    }
}
