//! `s3cmtf bench`: measurements that anyone can repeat, one JSON object per line.
//!
//! A figure is a ratio of two measurements of one run, and a measurement holds the RMSE it reached against what it
//! must be, so that nothing is fast by being wrong. Nothing here fails for being slow.

mod methods;
mod threads;

use std::process::ExitCode;

use anyhow::ensure;
use s3cmtf::{Params, Problem, Training};
use serde::Serialize;

use crate::args::{BenchArgs, BenchVerb};
use crate::print;

/// Runs the verb.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    print::json(&Machine::here())?;
    match &args.what {
        BenchVerb::Methods { only, threads } => methods::run(only, *threads)?,
        BenchVerb::Threads { threads, entries } => threads::run(threads.as_deref(), *entries)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Where it was measured.
#[derive(Serialize)]
struct Machine {
    version: &'static str,
    processor: String,
    cores: usize,
    instructions: &'static str,
}

impl Machine {
    fn here() -> Self {
        let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Machine {
            version: env!("CARGO_PKG_VERSION"),
            processor: name.map_or("unknown".into(), |(_, name)| name.trim().to_owned()),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            instructions: s3cmtf::instructions(),
        }
    }
}

/// A run's speed and what it reached.
struct Measured {
    /// Of the fastest epoch: other work on the machine only ever slows one down.
    seconds: f64,
    /// After the last epoch.
    rmse: f64,
}

/// Runs `epochs` epochs of the paper's settings as changed in `params`.
fn measure(problem: &Problem, params: Params) -> anyhow::Result<Measured> {
    let (mut last, mut seconds) = (0.0, f64::INFINITY);
    let run = Training::new(problem.clone(), params).run(|epoch| {
        seconds = f64::min(seconds, epoch.seconds - last);
        last = epoch.seconds;
    })?;
    ensure!(run.record.halvings == 0, "the steps of a measurement were too long");
    Ok(Measured { seconds, rmse: run.record.summary.train_rmse })
}
