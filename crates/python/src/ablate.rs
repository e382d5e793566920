//! What each part of the data is worth to a model.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use s3cmtf::Ablation;
use serde_json::{Value, json};

use crate::convert;
use crate::run::Run;
use crate::watch::watched;

/// Trains with everything and without each part, and compares them on a share of the entries. What comes back is JSON.
#[pyfunction]
pub(crate) fn ablate(py: Python<'_>, run: &Run, holdout: Option<f64>) -> PyResult<String> {
    let missing =
        "the training data are not with the model: fit it with keep_data=True, or save it with its data";
    let data = run.data.as_ref().ok_or_else(|| PyValueError::new_err(missing))?;
    let params = run.run.record.params.clone();
    let ablated = watched(py, None, |stop, _| {
        let ablation = Ablation::new(data.clone(), params).interrupt(stop);
        holdout.into_iter().fold(ablation, Ablation::holdout).run()
    })?;
    let notes = ablated.parts.iter().filter_map(|worth| {
        let how = "leave it out of couple or of modes";
        worth.note().map(|note| format!("{note}: {how}"))
    });
    let notes: Vec<String> = ablated.note().into_iter().chain(notes).collect();
    let parts: Vec<Value> = ablated
        .parts
        .iter()
        .map(|worth| {
            json!({
                "left_out": worth.left_out.name(),
                "rmse": worth.rmse,
                "difference": worth.difference,
                "noise": worth.noise,
                "verdict": worth.verdict.words(),
            })
        })
        .collect();
    convert::json(&json!({
        "rmse": ablated.rmse,
        "mean_rmse": ablated.simple.map(|simple| simple.mean_rmse),
        "offsets_rmse": ablated.simple.map(|simple| simple.offsets_rmse),
        "held_out": ablated.held_out,
        "parts": parts,
        "notes": notes,
    }))
}
