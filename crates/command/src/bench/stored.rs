//! What it costs to leave entries on disk.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use s3cmtf::internal::files;
use s3cmtf::{Device, Params};
use serde::{Deserialize, Serialize};

use super::data::{data, measure};
use super::folder::Folder;
use super::memory::Memory;
use super::plot::{Bar, Plot};
use super::ratings;
use super::report::Report;
use super::table::Table;
use super::units::{bytes, count, seconds, times};
use crate::memory::Data;
use crate::{print, problem};

const HOLDOUT: f64 = 0.05;

/// What a fit took, from the file to the model.
#[derive(Serialize, Deserialize)]
struct Fit {
    seconds: f64,
    peak_bytes: Option<u64>,
    train_rmse: f64,
    test_rmse: Option<f64>,
}

#[derive(Serialize)]
struct Row {
    what: &'static str,
    rows: usize,
    epochs: usize,
    file_bytes: u64,
    memory: Option<u64>,
    seconds: f64,
    /// The seconds over those in memory.
    ratio: f64,
    peak_bytes: Option<u64>,
    test_rmse: Option<f64>,
}

/// Fits one converted file, and prints what that took.
pub(super) fn fit_one(file: &Path, epochs: usize, memory: Option<u64>) -> anyhow::Result<()> {
    // Entries that are not in memory are drawn from by the CPU.
    let params = Params { epochs, device: Device::Cpu, ..Params::default() };
    let process = Memory::of_process();
    let start = Instant::now();
    let data = match memory {
        Some(most) => Data::kept(file, most, &params, file.parent().unwrap_or(Path::new(".")).to_owned())?,
        None => Data::Whole(files::load_problem(file)?),
    };
    let run = data.training(params).holdout(HOLDOUT).run()?;
    let (seconds, peak_bytes) = (start.elapsed().as_secs_f64(), process.peak());
    let summary = run.record.summary;
    let (train_rmse, test_rmse) = (summary.train_rmse, summary.test_rmse);
    print::json(&Fit { seconds, peak_bytes, train_rmse, test_rmse })
}

/// Measures both, in turns.
pub(super) fn run(rows: usize, epochs: usize, repeats: usize, report: &mut Report<'_>) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let at = |name: &str| folder.path().join(name);
    report.progress(format_args!("stored: making {} rows", count(rows as f64)));
    let (csv, file) = (at("ratings.csv"), at("ratings.s3cmtf"));
    ratings::write(&csv, rows).with_context(|| csv.display().to_string())?;
    files::save_problem(&problem::read(std::slice::from_ref(&csv), &data()?, None)?, &file)?;
    let file_bytes = std::fs::metadata(&file).with_context(|| file.display().to_string())?.len();
    let tenth = file_bytes / 10;

    let program = std::env::current_exe().context("this program")?;
    let jobs = [("in memory", None), ("from disk", Some(tenth))];
    let mut best: [Option<Fit>; 2] = [None, None];
    for turn in 1..=repeats {
        for ((what, memory), best) in jobs.iter().zip(&mut best) {
            report.progress(format_args!("stored: {what}, {turn} of {repeats}"));
            let mut command = Command::new(&program);
            command.args(["bench", "stored", "--epochs", &epochs.to_string(), "--child"]).arg(&file);
            if let Some(memory) = memory {
                command.args(["--memory", &memory.to_string()]);
            }
            let fit: Fit = measure(what, &mut command)?;
            if best.as_ref().is_none_or(|best| fit.seconds < best.seconds) {
                *best = Some(fit);
            }
        }
    }
    let [Some(here), Some(there)] = best else { return Ok(()) };
    ensure!(
        (here.train_rmse, here.test_rmse) == (there.train_rmse, there.test_rmse),
        "from disk: another model came out"
    );
    let mut table =
        Table::new(&["entries are", "memory asked", "peak memory", "time", "ratio of that", "test RMSE"]);
    let mut bars = Vec::new();
    for ((what, memory), fit) in jobs.into_iter().zip([&here, &there]) {
        let &Fit { seconds: time, peak_bytes, test_rmse, .. } = fit;
        let ratio = time / here.seconds;
        report.row(&Row {
            what,
            rows,
            epochs,
            file_bytes,
            memory,
            seconds: time,
            ratio,
            peak_bytes,
            test_rmse,
        })?;
        let peak = bytes(peak_bytes.map(|peak| peak as f64));
        table.row([
            what.to_owned(),
            memory.map_or("-".into(), |memory| bytes(Some(memory as f64))),
            peak.clone(),
            seconds(time),
            times(ratio),
            test_rmse.map_or("-".into(), |rmse| format!("{rmse:.6}")),
        ]);
        bars.push(Bar { name: what.to_owned(), value: time, text: format!("{}, {peak}", seconds(time)) });
    }
    let title = format!(
        "Fitting a file of {} ratings ({}), {epochs} epochs",
        count(rows as f64),
        bytes(Some(file_bytes as f64))
    );
    report.finish(
        "stored",
        &title,
        &table,
        &Plot::Bars { axis: "time", axis_text: seconds, log: false, bars },
    )
}
