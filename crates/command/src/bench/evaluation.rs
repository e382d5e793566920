//! What it costs to evaluate a test set after every epoch.

use anyhow::ensure;
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::{Params, Training};
use serde::Serialize;

use super::Scale;
use super::measure::{easy, fastest, mean_rmse, measure};
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, digits, seconds};

/// The part of the entries that is evaluated.
const HELD_OUT: f64 = 0.2;

#[derive(Serialize)]
struct Row {
    entries: usize,
    test_entries: usize,
    threads: usize,
    seconds_per_epoch: f64,
    evaluation_seconds: f64,
    /// The seconds of the evaluation over those of the epoch.
    ratio: f64,
    test_rmse: f64,
    mean_rmse: f64,
}

/// Measures an epoch and the evaluation after it.
pub(super) fn run(threads: usize, scale: Scale, report: &mut Report<'_>) -> anyhow::Result<()> {
    let params = Params { ranks: vec![12], epochs: 5, threads, ..Params::sgd() };
    let shape = Shape::named("movielens-10m").unwrap_or_default();
    let shape = scale.shape(&Shape { matrices: Vec::new(), ..shape });
    report.progress(format_args!("evaluation: making {} entries", count(shape.entries as f64)));
    let problem = easy(&shape).problem()?;
    let mean_rmse = mean_rmse(problem.entries());
    let all = problem.entries().len();
    report.progress(format_args!("evaluation: factorizing {} entries", count(all as f64)));
    let n_threads = params.n_threads();
    let measured = measure(Training::new(problem, params).holdout(HELD_OUT), || {})?;
    let (epoch, evaluation) = (measured.best(), fastest(&measured.evaluation_seconds));
    let test_rmse = measured.test_rmse.unwrap_or(f64::NAN);
    ensure!(test_rmse < mean_rmse, "the test RMSE is {test_rmse} where the mean for all has {mean_rmse}");
    ensure!(evaluation > 0.0 && epoch > 0.0, "the evaluation was not timed");
    let row = Row {
        entries: all - measured.test_entries,
        test_entries: measured.test_entries,
        threads: n_threads,
        seconds_per_epoch: epoch,
        evaluation_seconds: evaluation,
        ratio: evaluation / epoch,
        test_rmse,
        mean_rmse,
    };
    report.row(&row)?;
    let mut table = Table::new(&["what", "entries", "time", "an entry", "of an epoch", "test RMSE"]);
    let mut bars = Vec::new();
    for (name, entries, time) in
        [("training", row.entries, epoch), ("evaluation", row.test_entries, evaluation)]
    {
        table.row([
            name.into(),
            count(entries as f64),
            seconds(time),
            seconds(time / entries as f64),
            format!("{} %", digits(100.0 * time / epoch)),
            format!("{test_rmse:.5}"),
        ]);
        let name = format!("{name}, {} entries", count(entries as f64));
        bars.push(Bar { name, value: time, text: seconds(time) });
    }
    let title = "Evaluation after an epoch: the shape of MovieLens-10M, rank 12";
    report.finish(
        "evaluation",
        title,
        &table,
        &Plot::Bars { axis: "time", axis_text: seconds, log: false, bars },
    )
}
