//! Runs that are timed.

use std::ops::ControlFlow;

use anyhow::ensure;
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::{Entries, Epoch, Params, Start, Training};

use super::memory::Memory;
use super::report::Report;
use super::units::count;

/// The epochs of a run.
pub(super) struct Measured {
    /// The seconds of each.
    pub(super) seconds: Vec<f64>,
    /// The seconds that each one's evaluation took.
    pub(super) evaluation_seconds: Vec<f64>,
    /// The training RMSE after each.
    pub(super) rmse: Vec<f64>,
    /// How many test or held-out entries there were.
    pub(super) test_entries: usize,
    /// The RMSE over test or held-out entries at the end, if there are any.
    pub(super) test_rmse: Option<f64>,
}

impl Measured {
    /// The seconds of the fastest epoch: other work on the machine only ever slows one down.
    pub(super) fn best(&self) -> f64 {
        fastest(&self.seconds)
    }

    /// The training RMSE after the last epoch.
    pub(super) fn last_rmse(&self) -> f64 {
        self.rmse.last().copied().unwrap_or(f64::NAN)
    }
}

/// The least of some seconds.
pub(super) fn fastest(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Our gradient descent with the numbers that the paper has and a random start: what is compared here is how steps are
/// computed, and a rate that is fitted would differ between shapes.
pub(super) fn plain() -> Params {
    Params { rate: Some(0.001), lambda_reg: 0.1, start: Start::Random, ..Params::sgd() }
}

/// Runs, and tells `each` when an epoch has ended.
pub(super) fn measure(training: Training<'_>, mut each: impl FnMut() + Send) -> anyhow::Result<Measured> {
    let observe = |_: &Epoch| {
        each();
        ControlFlow::Continue(())
    };
    let record = training.observe(observe).run()?.record;
    ensure!(record.halvings == 0, "the steps of a measurement were too long");
    let mut last = 0.0;
    let mut since_last = |seconds: f64| seconds - std::mem::replace(&mut last, seconds);
    Ok(Measured {
        seconds: record.history.iter().map(|epoch| since_last(epoch.seconds)).collect(),
        evaluation_seconds: record.history.iter().map(|epoch| epoch.evaluation_seconds).collect(),
        rmse: record.history.iter().map(|epoch| epoch.train_rmse).collect(),
        test_entries: record.data.test_entries,
        test_rmse: record.summary.test_rmse,
    })
}

/// A run with all that comes before it.
pub(super) struct Whole {
    /// How many tensor entries there were.
    pub(super) entries: usize,
    /// How many entries its coupled matrices had.
    pub(super) matrix_entries: usize,
    /// The epochs.
    pub(super) measured: Measured,
    /// The most memory held at once, the data counted, where the operating system tells.
    pub(super) peak_bytes: Option<u64>,
    /// The training RMSE of predicting the mean for all.
    pub(super) mean_rmse: f64,
}

/// Makes up data and factorizes them, as a user would: nothing is kept beside what the run keeps itself. What is
/// learnt must beat the mean.
pub(super) fn measure_whole(
    name: &str,
    shape: &Shape,
    params: Params,
    report: &Report<'_>,
) -> anyhow::Result<Whole> {
    let memory = Memory::watch();
    report.progress(format_args!("{name}: making {} entries", count(shape.entries as f64)));
    let problem = easy(shape).problem()?;
    let (entries, mean_rmse) = (problem.entries().len(), mean_rmse(problem.entries()));
    let matrix_entries = problem.coupled().iter().map(|matrix| matrix.entries().len()).sum();
    report.progress(format_args!("{name}: factorizing {} entries", count(entries as f64)));
    let measured = measure(Training::new(problem, params), || {})?;
    ensure!(
        measured.last_rmse() < mean_rmse,
        "{name}: training reaches an RMSE of {} where the mean for all has {mean_rmse}",
        measured.last_rmse()
    );
    Ok(Whole { entries, matrix_entries, measured, peak_bytes: memory.peak(), mean_rmse })
}

/// A shape with something that a few epochs can learn: concepts take dozens, so that after a few no model has beaten
/// the mean, be it right or wrong.
pub(super) fn easy(shape: &Shape) -> Shape {
    Shape { effect: 1.0, ..shape.clone() }
}

/// The RMSE of predicting the mean of the values for all of them.
pub(super) fn mean_rmse(entries: &Entries) -> f64 {
    let mean = entries.mean();
    let squares = entries.values().iter().map(|&value| (f64::from(value) - mean).powi(2));
    (squares.sum::<f64>() / entries.len() as f64).sqrt()
}
