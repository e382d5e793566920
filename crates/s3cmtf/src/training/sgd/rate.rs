//! A first step size that fits the data.

use crate::model::{Core, Model};

/// The share of the longest stable step on an average row that is taken at first.
const SHARE: f64 = 0.03;

/// The first rate for a start: a share of one over the curvature along the row of an average entry.
pub(crate) fn fitted(model: &Model) -> f64 {
    let averages: Vec<Vec<f32>> = model.factors().iter().map(|factor| factor.average()).collect();
    let order = averages.len();
    let curvature = (0..order)
        .map(|mode| {
            let slope: Vec<f64> = match model.core() {
                Core::Diagonal(core) => (0..core.len())
                    .map(|j| {
                        let others = averages.iter().enumerate().filter(|(other, _)| *other != mode);
                        others.fold(f64::from(core[j]), |product, (_, row)| product * f64::from(row[j]))
                    })
                    .collect(),
                full @ Core::Full { .. } => {
                    let mut core = full.clone();
                    for (other, row) in averages.iter().enumerate().filter(|(other, _)| *other != mode) {
                        let row: Vec<f64> = row.iter().map(|&value| f64::from(value)).collect();
                        core.multiply(other, 1, &row);
                    }
                    core.values().iter().map(|&value| f64::from(value)).collect()
                }
            };
            slope.iter().map(|slope| slope * slope).sum::<f64>()
        })
        .fold(0.0, f64::max);
    if curvature > 0.0 && curvature.is_finite() { SHARE / curvature } else { SHARE }
}
