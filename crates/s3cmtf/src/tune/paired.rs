//! Two trainings held against each other, entry by entry: what differs between them is known better than either error.

use crate::Error;
use crate::model::Model;
use crate::problem::Entries;

/// The RMSE of a training, and how it differs from that of another on the same entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Paired {
    pub(super) rmse: f64,
    /// How much larger the RMSE is than the other; below zero is better.
    pub(super) difference: f64,
    /// The standard error of `difference`; 0 where there is none.
    pub(super) noise: f64,
}

impl Paired {
    /// Compares by the squared error of each entry, here and there.
    pub(super) fn new(here: &[f64], there: &[f64]) -> Self {
        let count = here.len() as f64;
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
        let (rmse, other) = (mean(&mut here.iter().copied()).sqrt(), mean(&mut there.iter().copied()).sqrt());
        let changes = || here.iter().zip(there).map(|(here, there)| here - there);
        let change = mean(&mut changes());
        let variance = changes().map(|one| (one - change).powi(2)).sum::<f64>() / (count - 1.0);
        // Roots differ by what squares do, over their sum.
        let scale = (rmse + other).max(f64::MIN_POSITIVE);
        let noise = if here == there { 0.0 } else { (variance / count).sqrt() / scale };
        Paired { rmse, difference: change / scale, noise }
    }
}

/// The squared error of each entry.
pub(super) fn squares(model: &Model, entries: &Entries) -> Result<Vec<f64>, Error> {
    let predictions = model.predict(entries, model.clips())?;
    let pairs = entries.values().iter().zip(predictions);
    Ok(pairs.map(|(&value, prediction)| (f64::from(value) - f64::from(prediction)).powi(2)).collect())
}
