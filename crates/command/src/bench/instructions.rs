//! The vector instructions of this machine against each other.

use anyhow::ensure;
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::{Instructions, Params, Problem, Training};
use serde::Serialize;

use super::Scale;
use super::measure::{measure, plain};
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, times};

#[derive(Serialize)]
struct Row {
    instructions: &'static str,
    rank: usize,
    entries: usize,
    threads: usize,
    entries_per_second: f64,
    /// The speed over that of the fastest.
    ratio: f64,
    rmse: f64,
}

/// Measures all that there are, in turns, `repeats` times.
pub(super) fn run(repeats: usize, scale: Scale, report: &mut Report<'_>) -> anyhow::Result<()> {
    let shape = Shape::named("movielens-10m").unwrap_or_default();
    let shape = scale.shape(&Shape { matrices: Vec::new(), ..shape });
    report.progress(format_args!("instructions: making {} entries", count(shape.entries as f64)));
    let problem = shape.problem()?;
    let mut table = Table::new(&["rank", "instructions", "speed", "of the fastest", "RMSE"]);
    let mut bars = Vec::new();
    for rank in [12, 8] {
        for row in compare(rank, &problem, repeats, report)? {
            report.row(&row)?;
            let speed = format!("{} entries/s", count(row.entries_per_second));
            table.row([
                rank.to_string(),
                row.instructions.into(),
                speed.clone(),
                times(row.ratio),
                format!("{:.5}", row.rmse),
            ]);
            let name = format!("rank {rank}, {}", row.instructions);
            bars.push(Bar { name, value: row.entries_per_second, text: speed });
        }
    }
    let title = "Vector instructions: the shape of MovieLens-10M, one thread";
    let plot = Plot::Bars { axis: "entries per second", axis_text: count, log: false, bars };
    report.finish("instructions", title, &table, &plot)
}

fn compare(rank: usize, problem: &Problem, repeats: usize, report: &Report<'_>) -> anyhow::Result<Vec<Row>> {
    let all = Instructions::available();
    let mut rows: Vec<Row> = Vec::new();
    for repeat in 0..repeats {
        for (place, &instructions) in all.iter().enumerate() {
            let (name, turn) = (instructions.name(), repeat + 1);
            report.progress(format_args!("instructions: {name}, rank {rank}, {turn} of {repeats}"));
            let base = Params { ranks: vec![rank], epochs: 3, threads: 1, ..plain() };
            let params = Params { instructions: Some(instructions), ..base };
            let measured = measure(Training::new(problem.clone(), params), || {})?;
            let entries = problem.entries().len();
            let speed = entries as f64 / measured.best();
            match rows.get_mut(place) {
                Some(row) => row.entries_per_second = row.entries_per_second.max(speed),
                None => rows.push(Row {
                    instructions: name,
                    rank,
                    entries,
                    threads: 1,
                    entries_per_second: speed,
                    ratio: 1.0,
                    rmse: measured.last_rmse(),
                }),
            }
        }
    }
    let fastest = rows.iter().map(|row| row.entries_per_second).fold(0.0, f64::max);
    let rmse = rows.first().map_or(f64::NAN, |row| row.rmse);
    for row in &mut rows {
        row.ratio = row.entries_per_second / fastest;
        ensure!(
            (row.rmse - rmse).abs() <= 0.001 * rmse,
            "{}: an RMSE of {} and not {rmse} at rank {rank}",
            row.instructions,
            row.rmse
        );
    }
    Ok(rows)
}
