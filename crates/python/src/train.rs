//! From a problem to a run.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use s3cmtf::internal::files;
use s3cmtf::internal::input::known_entries;
use s3cmtf::internal::prepare::find_mode;
use s3cmtf::{Checkpoint, Entries, Epoch, HoldOut, Training};

use crate::convert::said;
use crate::error::{detached, exception};
use crate::problem::Problem;
use crate::run::Run;
use crate::table::Table;
use crate::watch::watched;

/// Trains, and says what was noticed. `observe` is called with each epoch as JSON, and stops the run if it answers true.
/// `holdout` is a share, or ("last", mode, share), or ("leave", mode, count); `checkpoint` a folder, and every how many seconds.
/// With `exact_first`, exact data are looked for before anything else; with `exchange`, the problem is shared with other nodes.
#[pyfunction]
#[pyo3(signature = (problem, settings, preset, test, holdout, init, checkpoint, resume, keep, observe, exact_first = false, exchange = None))]
#[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
pub(crate) fn train(
    py: Python<'_>,
    problem: &Problem,
    settings: &Bound<'_, PyDict>,
    preset: Option<&str>,
    test: Option<(PyRef<'_, Table>, Option<String>)>,
    holdout: Option<&Bound<'_, PyAny>>,
    init: Option<&Run>,
    checkpoint: Option<(PathBuf, Option<f64>)>,
    resume: Option<PathBuf>,
    keep: bool,
    observe: Option<&Bound<'_, PyAny>>,
    exact_first: bool,
    exchange: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Run, Vec<String>)> {
    let any_rank = exact_first.then(|| problem.0.order());
    let mut params = said(settings, preset, init.map(|run| &run.run.record.params), any_rank)?;
    let resume = resume.map(|folder| detached(py, || files::load_checkpoint(&folder))).transpose()?;
    // Workers are told all settings again, and those must be the same, but for their threads.
    if let Some(checkpoint) = resume.as_ref().filter(|_| exchange.is_none()) {
        params = checkpoint.params(&params).map_err(exception)?;
    }
    let checkpoint =
        checkpoint.map(|(folder, seconds)| Ok::<_, PyErr>((folder, every(seconds)?))).transpose()?;
    let holdout = holdout.map(|how| hold_out(how, &problem.0)).transpose()?;
    let test = test.map(|(table, value)| test_set(py, &problem.0, &table, value)).transpose()?;
    let kept = test.clone().filter(|_| keep);
    let exchange = exchange.map(crate::exchange::exchange).transpose()?;
    let mut notes = Vec::new();
    let run = watched(py, observe, |stop, tell| {
        let mut training = Training::new(problem.0.clone(), params).interrupt(stop);
        if let Some(exchange) = exchange {
            training = training.share(exchange);
        }
        if exact_first {
            training = training.exact_first();
        }
        if let Some(test) = test {
            training = training.test(test);
        }
        if let Some(how) = holdout {
            training = training.holdout_by(how);
        }
        if let Some(init) = init {
            training = training.warm_start(init.run.model.clone());
        }
        if let Some(begun) = resume {
            training = training.resume(begun);
        }
        if let Some((folder, every)) = &checkpoint {
            files::check_out(folder)?;
            training = training.checkpoints(*every, |checkpoint| {
                // A full disk is no reason to end a long run.
                if let Err(error) = files::save_checkpoint(&checkpoint, folder) {
                    notes.push(format!("no checkpoint: {error:#}"));
                }
            });
        }
        let observe = |epoch: &Epoch| {
            tell(serde_json::to_string(epoch).unwrap_or_default());
            ControlFlow::Continue(())
        };
        training.observe(observe).run()
    })?;
    notes.extend(run.notes());
    Ok((Run { run, data: keep.then(|| problem.0.clone()), test: kept }, notes))
}

/// Every how many seconds a checkpoint is kept.
fn every(seconds: Option<f64>) -> PyResult<Duration> {
    let Some(seconds) = seconds else { return Ok(Checkpoint::EVERY) };
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("checkpoint_every should be seconds, 0 or more, but is {seconds}"))
    })
}

fn test_set(
    py: Python<'_>,
    problem: &s3cmtf::Problem,
    table: &Table,
    value: Option<String>,
) -> PyResult<Entries> {
    let given = table.0.clone();
    detached(py, || known_entries(&given, problem.modes(), value.as_deref().or(problem.value()), &mut |_| ()))
}

/// Which entries are held out.
fn hold_out(how: &Bound<'_, PyAny>, problem: &s3cmtf::Problem) -> PyResult<HoldOut> {
    if let Ok(share) = how.extract::<f64>() {
        return Ok(HoldOut::Random(share));
    }
    let names: Vec<&str> = problem.modes().iter().map(|mode| mode.name()).collect();
    let mode = |name: &str| find_mode(name, &names, "holdout").map_err(exception);
    match how.extract::<(String, String, Bound<'_, PyAny>)>()? {
        (kind, name, share) if kind == "last" => {
            Ok(HoldOut::Last { mode: mode(&name)?, share: share.extract()? })
        }
        (kind, name, count) if kind == "leave" => {
            Ok(HoldOut::Leave { mode: mode(&name)?, count: count.extract()? })
        }
        (kind, ..) => Err(PyValueError::new_err(format!(
            "holdout should be a share, (\"last\", mode, share) or (\"leave\", mode, count), but is {kind:?}"
        ))),
    }
}
