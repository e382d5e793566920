//! What more entries cost.

use anyhow::ensure;
use s3cmtf::Params;
use s3cmtf::internal::synthetic::Shape;
use serde::Serialize;

use super::Scale;
use super::measure::measure_whole;
use super::plot::{Line, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{bytes, count, seconds, times};

/// The size of each mode.
const SIZE: u32 = 10_000;

#[derive(Serialize)]
struct Row {
    entries: usize,
    threads: usize,
    seconds_per_epoch: f64,
    nanoseconds_per_entry: f64,
    /// The nanoseconds per entry over those of the first row.
    ratio: f64,
    peak_bytes: Option<u64>,
    peak_bytes_per_entry: Option<f64>,
    rmse: f64,
    mean_rmse: f64,
}

/// Measures each number of entries in the same three modes.
pub(super) fn run(
    entries: &[usize],
    threads: usize,
    scale: Scale,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let params = Params { ranks: vec![12], epochs: 3, threads, ..Params::sgd() };
    let mut table = Table::new(&[
        "entries",
        "an epoch",
        "an entry",
        "ratio of that",
        "peak memory",
        "memory per entry",
        "RMSE",
    ]);
    let mut rows: Vec<Row> = Vec::new();
    for &entries in entries {
        let shape = scale.shape(&Shape { sizes: vec![SIZE; 3], entries, ..Shape::default() });
        let whole = measure_whole("entries", &shape, params.clone(), report)?;
        let (entries, time) = (whole.entries, whole.measured.best());
        let each = 1e9 * time / entries as f64;
        let row = Row {
            entries,
            threads: params.n_threads(),
            seconds_per_epoch: time,
            nanoseconds_per_entry: each,
            ratio: each / rows.first().map_or(each, |first| first.nanoseconds_per_entry),
            peak_bytes: whole.peak_bytes,
            peak_bytes_per_entry: whole.peak_bytes.map(|peak| peak as f64 / entries as f64),
            rmse: whole.measured.last_rmse(),
            mean_rmse: whole.mean_rmse,
        };
        report.row(&row)?;
        if let Some(fewer) = rows.last() {
            // Few entries are learnt by heart a little, which more of them are not.
            ensure!(
                row.rmse <= 1.05 * fewer.rmse || row.entries < fewer.entries,
                "{} entries reach an RMSE of {} where {} reach {}",
                row.entries,
                row.rmse,
                fewer.entries,
                fewer.rmse
            );
        }
        table.row([
            count(entries as f64),
            seconds(time),
            seconds(time / entries as f64),
            times(row.ratio),
            bytes(row.peak_bytes.map(|peak| peak as f64)),
            bytes(row.peak_bytes_per_entry),
            format!("{:.5}", row.rmse),
        ]);
        rows.push(row);
    }
    let points = rows.iter().map(|row| (row.entries as f64, row.seconds_per_epoch)).collect();
    let line = Line { name: "an epoch".into(), points };
    let plot = Plot::Lines {
        x: "entries",
        x_text: count,
        y: "time of an epoch",
        y_text: seconds,
        y_log: true,
        lines: vec![line],
    };
    let size = count(scale.scaled(SIZE as usize) as f64);
    report.finish("entries", &format!("More entries: three modes of size {size}, rank 12"), &table, &plot)
}
