//! What larger modes cost: nothing but the rows that occur.

use s3cmtf::Params;
use s3cmtf::internal::synthetic::{MatrixShape, Shape};
use serde::Serialize;

use super::Scale;
use super::measure::measure_whole;
use super::plot::{Line, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{bytes, count, seconds, times};

#[derive(Serialize)]
struct Row {
    size: u32,
    entries: usize,
    matrix_entries: usize,
    threads: usize,
    seconds_per_epoch: f64,
    /// The seconds over those of the first row.
    ratio: f64,
    peak_bytes: Option<u64>,
    rmse: f64,
    mean_rmse: f64,
}

/// Measures each size of the modes with the same number of entries.
pub(super) fn run(
    sizes: &[u32],
    threads: usize,
    scale: Scale,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let params = Params { ranks: vec![10], epochs: 8, threads, ..Params::sgd() };
    let base = Shape::named("synthetic").unwrap_or_default();
    let mut table =
        Table::new(&["size of a mode", "an epoch", "ratio", "peak memory", "RMSE", "RMSE of the mean"]);
    let mut rows: Vec<Row> = Vec::new();
    for &size in sizes {
        let matrix = |matrix: &MatrixShape| MatrixShape {
            columns: size,
            entries: scale.scaled(matrix.entries),
            ..matrix.clone()
        };
        let shape = Shape {
            sizes: vec![size; 3],
            entries: scale.scaled(base.entries),
            matrices: base.matrices.iter().map(matrix).collect(),
            ..base.clone()
        };
        let whole = measure_whole("sizes", &shape, params.clone(), report)?;
        let time = whole.measured.best();
        let row = Row {
            size,
            entries: whole.entries,
            matrix_entries: whole.matrix_entries,
            threads: params.n_threads(),
            seconds_per_epoch: time,
            ratio: time / rows.first().map_or(time, |first| first.seconds_per_epoch),
            peak_bytes: whole.peak_bytes,
            rmse: whole.measured.last_rmse(),
            mean_rmse: whole.mean_rmse,
        };
        report.row(&row)?;
        table.row([
            count(f64::from(size)),
            seconds(time),
            times(row.ratio),
            bytes(row.peak_bytes.map(|peak| peak as f64)),
            format!("{:.5}", row.rmse),
            format!("{:.5}", row.mean_rmse),
        ]);
        rows.push(row);
    }
    let points = rows.iter().map(|row| (f64::from(row.size), row.seconds_per_epoch)).collect();
    let line = Line { name: "an epoch".into(), points };
    let plot = Plot::Lines {
        x: "size of each mode",
        x_text: count,
        y: "time of an epoch",
        y_text: seconds,
        y_log: false,
        lines: vec![line],
    };
    let entries = count(scale.scaled(base.entries) as f64);
    let title = format!("Larger modes: {entries} entries and a coupled matrix, rank 10");
    report.finish("sizes", &title, &table, &plot)
}
