//! `s3cmtf reproduce`: every figure and table of the paper's evaluation once more, with its opponents as they were published and at
//! their best, beside what the paper reports.
//!
//! Each cell is a process of its own, so that its memory is its own and its failure costs no other. What they come to is added to
//! `cells.jsonl`, and the page is made of that alone: it can be made at any time, of whatever there is.

mod cell;
mod child;
mod data;
mod discovery;
mod figures;
mod found;
mod ledger;
mod memory;
mod methods;
mod original;
mod page;
mod plan;
mod published;
mod runner;
mod section;
mod slope;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use s3cmtf::Params;
use s3cmtf::internal::files;

use crate::args::{Figure, ReproduceArgs};
use crate::failure::usage;
use crate::{interrupt, print};
use cell::{Limits, Set};
use ledger::Ledger;
use plan::Options;
use runner::Runner;

/// The seconds of training of a cell at full scale, and at any.
const BUDGET: f64 = 400.0;
const LEAST_BUDGET: f64 = 2.0;

/// Runs the verb.
pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    if let Some(job) = &args.child {
        child::run(job)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(out) = args.out.as_deref() else { return Err(usage("--out is needed")) };
    if args.time.is_nan() || args.time <= 0.0 {
        return Err(usage("--time should be above 0"));
    }
    files::make_folder(out)?;
    let lines = out.join("cells.jsonl");
    if lines.exists() && !args.resume {
        return Err(usage(format!(
            "{}: there are results already: --resume goes on with them; else name another folder",
            lines.display()
        )));
    }
    let downloads =
        [(Set::MovieLens, &args.movielens), (Set::Netflix, &args.netflix), (Set::Yelp, &args.yelp)];
    let downloads: Vec<(Set, &PathBuf)> =
        downloads.into_iter().filter_map(|(set, path)| Some((set, path.as_ref()?))).collect();
    let figures = if args.only.is_empty() { Figure::value_variants().to_vec() } else { args.only.clone() };
    let options = Options {
        scale: args.scale,
        threads: Params { threads: args.threads, ..Params::default() }.n_threads(),
        sets: if args.sets.is_empty() { Set::ALL.into() } else { args.sets.clone() },
        originals: downloads.iter().map(|(set, _)| *set).collect(),
    };
    let cells = plan::cells(&figures, &options);
    for (set, path) in downloads {
        if cells.iter().any(|cell| runner::original(cell) == Some(set)) {
            files::make_folder(&out.join("data"))?;
            original::convert(out, set, path)?;
        }
    }
    let mut ledger = Ledger::open(&lines)?;
    let limits = Limits {
        memory: args.memory.or_else(free_memory),
        time: args.time,
        budget: args.budget.unwrap_or((BUDGET * args.scale).max(LEAST_BUDGET)),
    };
    let runner = Runner { out, limits, quiet: args.progress.quiet, interrupt: interrupt::flag()? };
    let interrupted = runner.run(&cells, &mut ledger)?;
    let outcomes = ledger.of(&cells);
    let sections = figures::sections(&figures, &outcomes, &options);
    page::write(out, &sections, &page::About::new(args, outcomes.len(), cells.len()))?;
    tell(out, interrupted)?;
    Ok(if interrupted { ExitCode::from(interrupt::EXIT) } else { ExitCode::SUCCESS })
}

fn tell(out: &Path, interrupted: bool) -> anyhow::Result<()> {
    if interrupted {
        print::note("interrupted: what was run is kept, and --resume goes on");
    }
    let files = ["index.html", "reproduce.md", "cells.jsonl"];
    print::lines(&files.map(|file| out.join(file).display().to_string()))
}

/// The memory that the machine has free, where it tells.
fn free_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
