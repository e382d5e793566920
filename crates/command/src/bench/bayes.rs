//! The speed of the default algorithm, beside that of another version of this program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use s3cmtf::files;
use s3cmtf::internal::files::save_problem;
use s3cmtf::internal::synthetic::Shape;
use serde::Serialize;

use super::Scale;
use super::folder::Folder;
use super::machine::cores;
use super::measure::mean_rmse;
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, seconds, times};

/// Epochs before the core is drawn do less, and are not counted.
const FIRST: usize = 5;

/// What is measured.
pub(super) struct Bayes<'a> {
    pub(super) shapes: &'a [String],
    pub(super) ranks: &'a [usize],
    /// One thread and all cores, if none are given.
    pub(super) threads: Option<&'a [usize]>,
    pub(super) epochs: usize,
    pub(super) repeats: usize,
    /// Another version of this program.
    pub(super) before: Option<&'a Path>,
}

#[derive(Serialize)]
struct Row {
    shape: String,
    rank: usize,
    threads: usize,
    program: &'static str,
    entries: usize,
    /// Of the fastest epoch.
    seconds_per_epoch: f64,
    entries_per_second: f64,
    /// The seconds of the version before over those of this one.
    ratio: Option<f64>,
    train_rmse: f64,
    mean_rmse: f64,
}

impl Bayes<'_> {
    /// Measures every shape with every rank and number of threads, programs in turns.
    pub(super) fn run(&self, scale: Scale, report: &mut Report<'_>) -> anyhow::Result<()> {
        let folder = Folder::new()?;
        let file = folder.path().join("entries.s3cmtf");
        let own = std::env::current_exe().context("this program")?;
        let before = self.before.map(|path| ("before", path.to_owned()));
        let programs: Vec<(&str, PathBuf)> = before.into_iter().chain([("this", own)]).collect();
        let default = if cores() == 1 { vec![1] } else { vec![1, cores()] };
        let mut rows = Vec::new();
        for name in self.shapes {
            let shape =
                Shape::named(name).with_context(|| format!("{name} is no shape that generate knows"))?;
            let shape = scale.shape(&shape);
            report.progress(format_args!("bayes: making {} entries of {name}", count(shape.entries as f64)));
            let problem = shape.problem()?;
            let (entries, mean_rmse) = (problem.entries().len(), mean_rmse(problem.entries()));
            save_problem(&problem, &file)?;
            drop(problem);
            for &rank in self.ranks {
                for &threads in self.threads.unwrap_or(&default) {
                    let mut best = vec![(0.0f64, f64::NAN); programs.len()];
                    for turn in 1..=self.repeats {
                        for ((what, program), best) in programs.iter().zip(&mut best) {
                            report.progress(format_args!(
                                "bayes: {name}, rank {rank}, {threads} threads, {what}, {turn} of {}",
                                self.repeats
                            ));
                            let (speed, rmse) = self.fit(program, &file, rank, threads)?;
                            *best = (best.0.max(speed), rmse);
                        }
                    }
                    let first = best[0];
                    for (&(program, _), (speed, train_rmse)) in programs.iter().zip(best) {
                        ensure!(
                            // A few epochs are too few to be good, and enough to be as good as the other.
                            train_rmse < 1.1 * mean_rmse && (train_rmse / first.1 - 1.0).abs() < 0.05,
                            "{name}: {program} has an RMSE of {train_rmse}, the mean {mean_rmse}, the first {}",
                            first.1
                        );
                        let row = Row {
                            shape: name.clone(),
                            rank,
                            threads,
                            program,
                            entries,
                            seconds_per_epoch: entries as f64 / speed,
                            entries_per_second: speed,
                            ratio: (program == "this" && self.before.is_some()).then(|| speed / first.0),
                            train_rmse,
                            mean_rmse,
                        };
                        report.row(&row)?;
                        rows.push(row);
                    }
                }
            }
        }
        tell(&rows, report)
    }

    /// Fits the file: entries per second of the fastest epoch, and the RMSE after the last.
    fn fit(&self, program: &Path, file: &Path, rank: usize, threads: usize) -> anyhow::Result<(f64, f64)> {
        let run = file.with_file_name("run");
        let _ = std::fs::remove_dir_all(&run);
        let output = Command::new(program)
            .arg("fit")
            .arg(file)
            .args(["--rank", &rank.to_string(), "--epochs", &self.epochs.max(FIRST).to_string()])
            .args(["--threads", &threads.to_string(), "--seed", "1", "--without", "choice", "--out"])
            .arg(&run)
            .output()
            .with_context(|| program.display().to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", program.display(), said.trim());
        let history = files::load(&run)?.record.history;
        let speeds = history.iter().skip(FIRST - 1).map(|epoch| epoch.entries_per_second);
        let rmse = history.last().map_or(f64::NAN, |epoch| epoch.train_rmse);
        Ok((speeds.fold(0.0, f64::max), rmse))
    }
}

fn tell(rows: &[Row], report: &mut Report<'_>) -> anyhow::Result<()> {
    let header = ["shape", "rank", "threads", "program", "an epoch", "entries/s", "as fast", "train RMSE"];
    let mut table = Table::new(&header);
    let mut bars = Vec::new();
    for row in rows {
        table.row([
            row.shape.clone(),
            row.rank.to_string(),
            row.threads.to_string(),
            row.program.into(),
            seconds(row.seconds_per_epoch),
            count(row.entries_per_second),
            row.ratio.map_or("-".into(), times),
            format!("{:.5}", row.train_rmse),
        ]);
        let name = format!("{}, rank {}, {} threads, {}", row.shape, row.rank, row.threads, row.program);
        let value = row.entries_per_second;
        bars.push(Bar { name, value, text: format!("{}/s", count(value)) });
    }
    let plot = Plot::Bars { axis: "entries/s", axis_text: count, log: false, bars };
    report.finish("bayes", "The default algorithm: entries per second", &table, &plot)
}
