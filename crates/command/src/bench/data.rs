//! What reading data costs, from a file to a problem that could be factorized.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use s3cmtf::internal::files::{self, OutFormat, Source};
use s3cmtf::internal::table::{ColumnType, Selector, Want};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::memory::Memory;
use super::plot::{Bar, Plot};
use super::ratings;
use super::report::Report;
use super::table::Table;
use super::units::{bytes, count, seconds, times};
use crate::args::{DataArgs, FileArgs};
use crate::{print, problem};

const MODES: [&str; 3] = ["userId", "movieId", "timestamp:month"];
const VALUE: &str = "rating";

/// What polars does of it: the table, and for each id its place among the distinct ones.
const POLARS: &str = "\
import json, resource, sys, time
import polars as pl
start = time.perf_counter()
table = pl.read_csv(sys.argv[1]).with_columns(pl.col('userId', 'movieId').rank('dense').cast(pl.UInt32))
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({'seconds': seconds, 'peak_bytes': peak, 'entries': table.height}))
";

/// What reading a file took.
#[derive(Serialize, Deserialize)]
struct Reading {
    seconds: f64,
    peak_bytes: Option<u64>,
    entries: usize,
    /// What was read, so that nothing is fast by being wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

#[derive(Serialize)]
struct Row {
    what: &'static str,
    rows: usize,
    file_bytes: u64,
    seconds: f64,
    /// The seconds over those of the CSV.
    ratio: f64,
    peak_bytes: Option<u64>,
}

/// The flags of made-up ratings.
pub(super) fn data() -> anyhow::Result<DataArgs> {
    let mode = |text: &&str| text.parse().map_err(|what: String| anyhow::anyhow!(what));
    Ok(DataArgs {
        modes: Some(MODES.iter().map(mode).collect::<anyhow::Result<_>>()?),
        value: Some(VALUE.into()),
        couple: Vec::new(),
        duplicates: None,
        sizes: None,
        file: FileArgs::default(),
    })
}

/// Reads one file as `fit` would, and prints what that took.
pub(super) fn read_one(file: &Path) -> anyhow::Result<()> {
    let paths = [file.to_path_buf()];
    let is_kept = problem::kept(&paths)?.is_some();
    let data = if is_kept { DataArgs { modes: None, value: None, ..data()? } } else { data()? };
    let memory = Memory::of_process();
    let start = Instant::now();
    let problem = problem::read(&paths, &data, None)?;
    let (seconds, peak_bytes) = (start.elapsed().as_secs_f64(), memory.peak());
    let (entries, fingerprint) = (problem.entries().len(), Some(problem.fingerprint()));
    print::json(&Reading { seconds, peak_bytes, entries, fingerprint })
}

/// Measures each kind of file, in turns.
pub(super) fn run(
    rows: usize,
    repeats: usize,
    python: Option<&Path>,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let at = |name: &str| folder.path().join(name);
    report.progress(format_args!("data: making {} rows", count(rows as f64)));
    let csv = at("ratings.csv");
    ratings::write(&csv, rows).with_context(|| csv.display().to_string())?;
    let mut files = vec![("csv", csv.clone())];
    if cfg!(feature = "arrow") {
        files.push(("parquet", at("ratings.parquet")));
        write_parquet(&csv, &at("ratings.parquet"))?;
    }
    let kept = at("ratings.s3cmtf");
    files::save_problem(&problem::read(std::slice::from_ref(&csv), &data()?, None)?, &kept)?;
    files.push(("converted", kept));

    let program = std::env::current_exe().context("this program")?;
    let mut jobs: Vec<(&'static str, &Path, Command)> = Vec::new();
    for (what, file) in &files {
        let mut command = Command::new(&program);
        command.args(["bench", "data", "--child"]).arg(file);
        jobs.push((what, file, command));
    }
    if let Some(python) = python {
        let mut command = Command::new(python);
        command.args(["-c", POLARS]).arg(&csv);
        jobs.push(("polars, csv", &csv, command));
    }
    let mut best: Vec<Option<Reading>> = jobs.iter().map(|_| None).collect();
    for turn in 1..=repeats {
        for ((what, _, command), best) in jobs.iter_mut().zip(&mut best) {
            report.progress(format_args!("data: {what}, {turn} of {repeats}"));
            let reading: Reading = measure(what, command)?;
            if best.as_ref().is_none_or(|best| reading.seconds < best.seconds) {
                *best = Some(reading);
            }
        }
    }
    let best: Vec<Reading> = best.into_iter().flatten().collect();
    let Some(first) = best.first() else { return Ok(()) };
    let mut table = Table::new(&["file", "size", "time", "ratio of that", "peak memory"]);
    let mut bars = Vec::new();
    for ((what, file, _), reading) in jobs.iter().zip(&best) {
        ensure!(
            reading.fingerprint.is_none() || reading.fingerprint == first.fingerprint,
            "{what}: what was read is not what the CSV has"
        );
        let file_bytes = std::fs::metadata(file).map_or(0, |found| found.len());
        let &Reading { seconds: time, peak_bytes, .. } = reading;
        let row = Row { what, rows, file_bytes, seconds: time, ratio: time / first.seconds, peak_bytes };
        report.row(&row)?;
        table.row([
            (*what).to_owned(),
            bytes(Some(file_bytes as f64)),
            seconds(time),
            times(row.ratio),
            bytes(peak_bytes.map(|peak| peak as f64)),
        ]);
        let text = format!("{}, {}", seconds(time), bytes(peak_bytes.map(|peak| peak as f64)));
        bars.push(Bar { name: (*what).to_owned(), value: time, text });
    }
    let title = format!("Reading {} ratings, until they could be factorized", count(rows as f64));
    report.finish("data", &title, &table, &Plot::Bars { axis: "time", axis_text: seconds, log: false, bars })
}

/// The same table in Parquet.
fn write_parquet(csv: &Path, path: &Path) -> anyhow::Result<()> {
    let want = |(name, kind): (&str, ColumnType)| Want { column: Selector::Name(name.into()), kind };
    let wants = [
        ("userId", ColumnType::Id),
        ("movieId", ColumnType::Id),
        (VALUE, ColumnType::Number),
        ("timestamp", ColumnType::Id),
    ];
    let table = files::read_table(&Source::new(csv)?, &wants.map(want))?;
    Ok(files::write_table(path, OutFormat::Parquet, &table)?)
}

/// Runs a process of its own and takes what it prints.
pub(super) fn measure<T: DeserializeOwned>(what: &str, command: &mut Command) -> anyhow::Result<T> {
    let output = command.output().with_context(|| format!("{what}: {}", command.get_program().display()))?;
    ensure!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).with_context(|| format!("{what}: what it printed"))
}
