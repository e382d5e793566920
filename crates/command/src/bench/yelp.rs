//! The shape of the paper's Yelp data: a graph and two matrices of zeros beside the ratings.

use s3cmtf::Params;
use s3cmtf::internal::synthetic::Shape;
use serde::Serialize;

use super::Scale;
use super::measure::measure_whole;
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{bytes, count, seconds};

#[derive(Serialize)]
struct Row {
    sizes: Vec<u32>,
    entries: usize,
    matrix_entries: usize,
    threads: usize,
    /// Of the fastest epoch.
    seconds_per_epoch: f64,
    /// Of each epoch.
    seconds: Vec<f64>,
    peak_bytes: Option<u64>,
    rmse: f64,
    mean_rmse: f64,
}

/// Measures the shape.
pub(super) fn run(threads: usize, scale: Scale, report: &mut Report<'_>) -> anyhow::Result<()> {
    let params = Params { ranks: vec![10], epochs: 5, threads, ..Params::sgd() };
    let shape = scale.shape(&Shape::named("yelp").unwrap_or_default());
    let whole = measure_whole("yelp", &shape, params.clone(), report)?;
    let row = Row {
        sizes: shape.sizes,
        entries: whole.entries,
        matrix_entries: whole.matrix_entries,
        threads: params.n_threads(),
        seconds_per_epoch: whole.measured.best(),
        peak_bytes: whole.peak_bytes,
        rmse: whole.measured.last_rmse(),
        mean_rmse: whole.mean_rmse,
        seconds: whole.measured.seconds,
    };
    report.row(&row)?;
    let mut table =
        Table::new(&["entries", "of matrices", "an epoch", "peak memory", "RMSE", "RMSE of the mean"]);
    table.row([
        count(row.entries as f64),
        count(row.matrix_entries as f64),
        seconds(row.seconds_per_epoch),
        bytes(row.peak_bytes.map(|peak| peak as f64)),
        format!("{:.5}", row.rmse),
        format!("{:.5}", row.mean_rmse),
    ]);
    let bar = |(epoch, &value): (usize, &f64)| Bar {
        name: format!("epoch {}", epoch + 1),
        value,
        text: seconds(value),
    };
    let bars = row.seconds.iter().enumerate().map(bar).collect();
    let title = "The shape of Yelp: ratings, friends, categories and cities, rank 10";
    report.finish(
        "yelp",
        title,
        &table,
        &Plot::Bars { axis: "time of an epoch", axis_text: seconds, log: false, bars },
    )
}
