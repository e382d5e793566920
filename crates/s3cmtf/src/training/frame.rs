//! The model that methods of least squares fill: everything but numbers.

use crate::likelihood::Likelihood;
use crate::model::{Core, CoupledFactor, Factor, Model};
use crate::problem::{Entries, Problem};

/// A model of a problem without core, rows and columns; `weight` is that of matrices which have none of their own.
pub(super) fn frame(problem: &Problem, entries: &Entries, weight: f32) -> Model {
    let coupled = problem.coupled().iter().map(|matrix| CoupledFactor {
        name: matrix.name().to_owned(),
        mode: matrix.mode(),
        kind: matrix.kind(),
        weight: matrix.weight().unwrap_or(weight),
        columns: matrix.columns().clone(),
        factor: Factor::new(1, Vec::new()),
        effects: None,
    });
    Model {
        modes: problem.modes().to_vec(),
        core: Core::Diagonal(Vec::new()),
        factors: Vec::new(),
        coupled: coupled.collect(),
        range: entries.range(),
        uncertainty: None,
        offsets: None,
        value: problem.value().map(str::to_owned),
        choice: None,
        choice_weights: None,
        absent_weight: None,
        likelihood: Likelihood::Gaussian,
    }
}

/// The rows that a model to go on from has for a mode of the frame; those of ids that it does not have are its average.
pub(super) fn known_rows(frame: &Model, warm: &Model, mode: usize) -> Vec<f64> {
    let (to, from, known) = (&frame.modes[mode], &warm.modes[mode], &warm.factors[mode]);
    let average = known.average();
    let row = |row: usize| match to.row_in(from, row) {
        Some(found) => known.row(found as usize).to_vec(),
        None => average.clone(),
    };
    (0..to.rows()).flat_map(row).map(f64::from).collect()
}

/// A number in 32 bits: what is beyond them has no use, but must not become infinite. What is not a number stays so, and is
/// seen in the end.
pub(super) fn narrow(value: f64) -> f32 {
    value.clamp(f32::MIN.into(), f32::MAX.into()) as f32
}
