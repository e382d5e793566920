//! One thread against many.

use anyhow::ensure;
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::{Params, Problem, Scheme, Training};
use serde::Serialize;

use super::independent;
use super::machine::cores;
use super::measure::{measure, plain};
use super::plot::{Line, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, digits, times};

/// The ways to be measured; the last is no scheme, but what the machine gives to threads that share nothing.
const SCHEMES: [&str; 4] = ["blocks", "deterministic", "lock-free", "independent"];

#[derive(Clone, Serialize)]
struct Row {
    scheme: &'static str,
    threads: usize,
    entries: usize,
    entries_per_second: f64,
    /// How many times as fast as the first number of threads.
    speed_up: f64,
    /// The share of what as many threads reach that share nothing.
    of_independent: f64,
    rmse: f64,
}

/// Measures each scheme with each number of threads, all in turns, `repeats` times.
pub(super) fn run(
    threads: Option<&[usize]>,
    entries: usize,
    repeats: usize,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let default = if cores() == 1 { vec![1] } else { vec![1, cores()] };
    let threads = threads.unwrap_or(&default);
    let shape = Shape::named("movielens-10m").unwrap_or_default();
    let shape = Shape { entries, matrices: Vec::new(), ..shape };
    report.progress(format_args!("threads: making {} entries", count(entries as f64)));
    let problem = shape.problem()?;
    let apart: Vec<Vec<Problem>> =
        threads.iter().map(|&threads| independent::problems(&shape, threads)).collect::<Result<_, _>>()?;
    let mut fastest: Vec<Row> = Vec::new();
    for repeat in 0..repeats {
        let mut rows = Vec::new();
        for scheme in SCHEMES {
            for (&threads, apart) in threads.iter().zip(&apart) {
                let turn = repeat + 1;
                report.progress(format_args!("threads: {scheme} on {threads}, {turn} of {repeats}"));
                rows.push(row(scheme, threads, &problem, apart)?);
            }
        }
        if fastest.is_empty() {
            fastest = rows;
        } else {
            for (best, row) in fastest.iter_mut().zip(rows) {
                best.entries_per_second = best.entries_per_second.max(row.entries_per_second);
            }
        }
    }
    compare(&mut fastest, threads.len())?;
    tell(&fastest, threads.len(), report)
}

fn row(scheme: &'static str, threads: usize, problem: &Problem, apart: &[Problem]) -> anyhow::Result<Row> {
    let base = Params { ranks: vec![12], epochs: 5, threads, ..plain() };
    let entries = problem.entries().len();
    let (entries_per_second, rmse) = if scheme == "independent" {
        independent::measure(&apart.iter().collect::<Vec<_>>(), &base, 1)?
    } else {
        let lock_free = scheme == "lock-free";
        let params = Params {
            scheme: if lock_free { Scheme::LockFree } else { Scheme::Blocks },
            deterministic: scheme == "deterministic",
            ..base
        };
        let measured = measure(Training::new(problem.clone(), params), || {})?;
        (entries as f64 / measured.best(), measured.last_rmse())
    };
    Ok(Row { scheme, threads, entries, entries_per_second, speed_up: 1.0, of_independent: 1.0, rmse })
}

/// Holds the rows of each scheme against its first, and all against those that share nothing, which are the last.
fn compare(rows: &mut [Row], per_scheme: usize) -> anyhow::Result<()> {
    let limits: Vec<f64> = rows[rows.len() - per_scheme..].iter().map(|row| row.entries_per_second).collect();
    for rows in rows.chunks_mut(per_scheme) {
        let first = rows[0].clone();
        for (row, limit) in rows.iter_mut().zip(&limits) {
            row.speed_up = row.entries_per_second / first.entries_per_second;
            row.of_independent = row.entries_per_second / limit;
            // Independent problems become smaller, and do not reach the same.
            ensure!(
                row.scheme == "independent" || (row.rmse - first.rmse).abs() <= 0.01 * first.rmse,
                "{}: {} threads reach an RMSE of {} and not {}",
                row.scheme,
                row.threads,
                row.rmse,
                first.rmse
            );
        }
    }
    Ok(())
}

fn tell(rows: &[Row], per_scheme: usize, report: &mut Report<'_>) -> anyhow::Result<()> {
    let mut table = Table::new(&["scheme", "threads", "speed", "speed-up", "of independent", "RMSE"]);
    for row in rows {
        report.row(row)?;
        table.row([
            row.scheme.into(),
            row.threads.to_string(),
            format!("{} entries/s", count(row.entries_per_second)),
            times(row.speed_up),
            format!("{} %", digits(100.0 * row.of_independent)),
            format!("{:.5}", row.rmse),
        ]);
    }
    let points = |rows: &[Row]| {
        rows.iter().map(|row| (row.threads as f64, row.entries_per_second)).collect::<Vec<_>>()
    };
    let lines =
        rows.chunks(per_scheme).map(|rows| Line { name: rows[0].scheme.into(), points: points(rows) });
    let plot = Plot::Lines {
        x: "threads",
        x_text: count,
        y: "entries per second",
        y_text: count,
        y_log: true,
        lines: lines.collect(),
    };
    let entries = rows.first().map_or(0, |row| row.entries);
    let title = format!("Threads: {} entries of the shape of MovieLens-10M, rank 12", count(entries as f64));
    report.finish("threads", &title, &table, &plot)
}
