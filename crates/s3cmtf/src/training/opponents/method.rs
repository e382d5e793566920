//! What a method is to the engine.

use std::sync::atomic::AtomicBool;

use super::data::Data;
use crate::Error;
use crate::model::Model;
use crate::training::checkpoint::StateArrays;

/// A way to improve a list of numbers that stands for a model.
pub(super) trait Method {
    /// Where it starts, or goes on from a model.
    fn start(&self, data: &Data, warm: Option<&Model>) -> Vec<f64>;

    /// Improves the state once.
    fn sweep(&mut self, data: &Data, state: &mut Vec<f64>, interrupt: &AtomicBool) -> Sweep;

    /// The sum of squared errors over the entries of the tensor.
    fn squared_errors(&self, data: &Data, state: &[f64]) -> f64;

    /// The ordinary model of a state.
    fn model(&self, data: &Data, state: &[f64]) -> Model;

    /// What else the next sweep depends on.
    fn save(&self, _arrays: &mut StateArrays) {}

    /// Goes on from that.
    ///
    /// # Errors
    /// If the arrays are those of another run.
    fn restore(&mut self, _arrays: &mut StateArrays) -> Result<(), Error> {
        Ok(())
    }
}

/// What came of a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sweep {
    Done,
    /// Nothing would come of another.
    Last,
    Interrupted,
}
