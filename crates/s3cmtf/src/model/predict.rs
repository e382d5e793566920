//! Predictions and their errors.

use super::Model;
use crate::Error;
use crate::problem::Entries;

/// How far predictions lie from observed values.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Errors {
    /// How many entries were compared.
    pub entries: usize,
    /// Of those, how many name an id that the model has no row for; the average entity stood in.
    pub unknown: usize,
    /// Root mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
}

impl Model {
    /// The predicted value of each cell, given by ids; `clip` keeps them within the observed range.
    ///
    /// # Errors
    /// If the entries have another number of modes, or an id lies far beyond its mode.
    pub fn predict(&self, cells: &Entries, clip: bool) -> Result<Vec<f32>, Error> {
        let _ = (cells, clip);
        Err(Error::Problem("not built yet".into()))
    }

    /// How far predictions lie from the given entries; `clip` keeps predictions within the observed range.
    ///
    /// # Errors
    /// If there is no entry, if the entries have another number of modes, or an id lies far beyond its mode.
    pub fn evaluate(&self, entries: &Entries, clip: bool) -> Result<Errors, Error> {
        let _ = (entries, clip);
        Err(Error::Problem("not built yet".into()))
    }
}
