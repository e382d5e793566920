//! One thread against many.

use anyhow::ensure;
use s3cmtf::synthetic::Shape;
use s3cmtf::{Params, Scheme};
use serde::Serialize;

use super::measure;
use crate::print;

#[derive(Serialize)]
struct Row {
    scheme: &'static str,
    threads: usize,
    entries: usize,
    entries_per_second: f64,
    /// How many times as fast as the first number of threads.
    speed_up: f64,
    rmse: f64,
}

/// Measures each scheme with each number of threads.
pub(super) fn run(threads: Option<&[usize]>, entries: usize) -> anyhow::Result<()> {
    let all = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let default = if all == 1 { vec![1] } else { vec![1, all] };
    let threads = threads.unwrap_or(&default);
    let shape = Shape::named("movielens-10m").unwrap_or_default();
    let problem = Shape { entries, matrices: Vec::new(), ..shape }.problem()?;
    let base = Params { ranks: vec![12], epochs: 5, ..Params::paper() };
    for (name, scheme, deterministic) in [
        ("blocks", Scheme::Blocks, false),
        ("deterministic", Scheme::Blocks, true),
        ("lock-free", Scheme::LockFree, false),
    ] {
        let mut first = None;
        for &threads in threads {
            let params = Params { scheme, deterministic, threads, ..base.clone() };
            let measured = measure(&problem, params)?;
            let (seconds, rmse) = *first.get_or_insert((measured.seconds, measured.rmse));
            ensure!(
                (measured.rmse - rmse).abs() <= 0.01 * rmse,
                "{name}: {threads} threads reach an RMSE of {} and not {rmse}",
                measured.rmse
            );
            print::json(&Row {
                scheme: name,
                threads,
                entries: problem.entries().len(),
                entries_per_second: problem.entries().len() as f64 / measured.seconds,
                speed_up: seconds / measured.seconds,
                rmse: measured.rmse,
            })?;
        }
    }
    Ok(())
}
