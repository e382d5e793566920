//! The search for settings.

use std::ops::ControlFlow;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use s3cmtf::Tuning;
use s3cmtf::tune::{Change, Event, Trial};
use serde_json::json;

use crate::convert::{self, said};
use crate::problem::Problem;
use crate::watch::watched;

/// Searches, starting from the given settings; also among changes to the matrices, if so many as there are were given by
/// whoever calls. `observe` is called with each trial as JSON, and ends the search if it answers
/// true. What comes back is JSON too.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
pub(crate) fn tune(
    py: Python<'_>,
    problem: &Problem,
    settings: &Bound<'_, PyDict>,
    preset: Option<&str>,
    budget: Option<f64>,
    holdout: Option<f64>,
    matrices: usize,
    observe: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let params = said(settings, preset, None, None)?;
    let algorithms = settings.get_item("algorithm")?.is_some_and(|algorithm| !algorithm.is_none());
    let algorithms = algorithms.then_some(vec![params.algorithm]);
    let budget = budget.map(Duration::try_from_secs_f64).transpose();
    let budget =
        budget.map_err(|error| PyValueError::new_err(format!("budget should be seconds: {error}")))?;
    let tuned = watched(py, observe, |stop, tell| {
        // Those of a file that has a whole problem cannot be given otherwise.
        let matrices = problem.0.coupled().len() == matrices;
        let tuning = Tuning::new(problem.0.clone(), params).matrices(matrices).interrupt(stop);
        let tuning = budget.into_iter().fold(tuning, Tuning::budget);
        let tuning = holdout.into_iter().fold(tuning, Tuning::holdout);
        let tuning = algorithms.into_iter().fold(tuning, Tuning::algorithms);
        let observe = |event: Event<'_>| {
            if let Event::Trial(trial) = event {
                tell(serde_json::to_string(trial).unwrap_or_default());
            }
            ControlFlow::Continue(())
        };
        tuning.observe(observe).run()
    })?;
    let chosen = tuned.recommended();
    let words = |trial: &Trial| trial.changes.iter().map(Change::words).collect::<Vec<_>>().join(", ");
    convert::json(&json!({
        "trials": tuned.trials,
        "skips": tuned.skips,
        "held_out": tuned.held_out,
        "mean_rmse": tuned.simple.map(|simple| simple.mean_rmse),
        "offsets_rmse": tuned.simple.map(|simple| simple.offsets_rmse),
        "seconds": tuned.seconds,
        "end": tuned.end,
        "words": tuned.trials.iter().map(words).collect::<Vec<_>>(),
        "chosen": chosen.map(|trial| &trial.params),
        "changes": chosen.map(|trial| trial.changes.as_slice()).unwrap_or_default(),
        "note": tuned.note(),
    }))
}
