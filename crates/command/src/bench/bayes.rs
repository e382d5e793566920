//! The speed of the default algorithm, beside that of another version of this program, and of a GPU.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use s3cmtf::internal::files::{load_problem, save_problem};
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::internal::{EpochParts, Work, epoch_parts};
use s3cmtf::{Component, Device, Params, files};
use serde::Serialize;

use super::Scale;
use super::folder::Folder;
use super::independent;
use super::machine::cores;
use super::measure::mean_rmse;
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, seconds, times};
use crate::args::ModeRanks;

/// Epochs before the core is drawn do less, and are not counted.
const FIRST: usize = 5;

/// What is measured.
pub(super) struct Bayes<'a> {
    pub(super) shapes: &'a [String],
    pub(super) ranks: &'a [ModeRanks],
    /// One thread and all cores, if none are given.
    pub(super) threads: Option<&'a [usize]>,
    pub(super) epochs: usize,
    pub(super) repeats: usize,
    /// Another version of this program.
    pub(super) before: Option<&'a Path>,
    /// The number of a GPU.
    pub(super) gpu: Option<u16>,
    /// Whether runs that share nothing are measured beside several threads.
    pub(super) independent: bool,
    /// Whether this program is measured on the CPU.
    pub(super) cpu: bool,
}

/// What is measured in turns with others.
struct Contender {
    name: String,
    program: PathBuf,
    /// None for a version that knew of no devices.
    device: Option<Device>,
}

#[derive(Serialize)]
struct Row {
    shape: String,
    /// One for all modes, or one for each.
    ranks: Vec<usize>,
    threads: usize,
    program: String,
    entries: usize,
    /// Of the fastest epoch.
    seconds_per_epoch: f64,
    entries_per_second: f64,
    entries_per_second_per_thread: f64,
    /// Of the whole run, from the file of entries to the model in files; the shortest.
    wall_seconds: f64,
    /// How many times as fast an epoch is as that of the first.
    ratio: Option<f64>,
    /// The part of what as many runs of one thread do that share nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_independent: Option<f64>,
    train_rmse: f64,
    mean_rmse: f64,
    /// Where the time of an epoch goes, measured in this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<EpochParts>,
}

impl Bayes<'_> {
    /// Measures every shape with every rank and number of threads, programs in turns.
    pub(super) fn run(&self, scale: Scale, report: &mut Report<'_>) -> anyhow::Result<()> {
        let folder = Folder::new()?;
        let file = folder.path().join("entries.s3cmtf");
        let own = std::env::current_exe().context("this program")?;
        let contenders = self.contenders(own.clone());
        let default = if cores() == 1 { vec![1] } else { vec![1, cores()] };
        let mut rows = Vec::new();
        for name in self.shapes {
            let shape = scale.shape(&named(name)?);
            report.progress(format_args!("bayes: making {} entries of {name}", count(shape.entries as f64)));
            let problem = shape.problem()?;
            let (entries, mean_rmse) = (problem.entries().len(), mean_rmse(problem.entries()));
            save_problem(&problem, &file)?;
            drop(problem);
            for rank in self.ranks {
                for &threads in self.threads.unwrap_or(&default) {
                    let mut best = vec![Best::default(); contenders.len()];
                    let mut independent = None;
                    for turn in 1..=self.repeats {
                        for (contender, best) in contenders.iter().zip(&mut best) {
                            report.progress(format_args!(
                                "bayes: {name}, rank {rank}, {threads} threads, {}, {turn} of {}",
                                contender.name, self.repeats
                            ));
                            best.take(self.fit(contender, &file, rank, threads)?);
                        }
                        if self.independent && threads > 1 {
                            report.progress(format_args!(
                                "bayes: {name}, rank {rank}, {threads} runs of one thread, {turn} of {}",
                                self.repeats
                            ));
                            let best: &mut Best = independent.get_or_insert_default();
                            best.take(self.apart(&file, rank, threads)?);
                        }
                    }
                    let first = best[0];
                    for (place, (contender, best)) in contenders.iter().zip(best).enumerate() {
                        let (program, train_rmse) = (contender.name.clone(), best.train_rmse);
                        ensure!(
                            // A few epochs are too few to be good, and enough to be as good as the other, or better where it
                            // takes more of them.
                            train_rmse < 1.1 * mean_rmse && train_rmse < 1.05 * first.train_rmse,
                            "{name}: {program} has an RMSE of {train_rmse}, the mean {mean_rmse}, the first {}",
                            first.train_rmse
                        );
                        let is_own = contender.program == own && contender.device == Some(Device::Cpu);
                        let parts = is_own.then(|| self.parts(&file, rank, threads)).transpose()?;
                        let row = Row {
                            shape: name.clone(),
                            ranks: rank.0.clone(),
                            threads,
                            program,
                            entries,
                            seconds_per_epoch: entries as f64 / best.speed,
                            entries_per_second: best.speed,
                            entries_per_second_per_thread: best.speed / threads as f64,
                            wall_seconds: best.wall_seconds,
                            ratio: (place > 0).then(|| best.speed / first.speed),
                            of_independent: independent.map(|apart| best.speed / apart.speed),
                            train_rmse,
                            mean_rmse,
                            parts,
                        };
                        report.row(&row)?;
                        rows.push(row);
                    }
                }
            }
        }
        tell(&rows, report)
    }

    /// As many runs of one thread, each of all entries.
    fn apart(&self, file: &Path, rank: &ModeRanks, runs: usize) -> anyhow::Result<Best> {
        let problem = load_problem(file)?;
        let params = Params {
            ranks: rank.0.clone(),
            epochs: self.epochs.max(FIRST),
            device: Device::Cpu,
            without: vec![Component::Choice],
            ..Params::default()
        };
        let clock = Instant::now();
        let (speed, train_rmse) = independent::measure(&vec![&problem; runs], &params, FIRST - 1)?;
        Ok(Best { speed, wall_seconds: clock.elapsed().as_secs_f64(), train_rmse })
    }

    /// Where the time of an epoch of this program goes.
    fn parts(&self, file: &Path, rank: &ModeRanks, threads: usize) -> anyhow::Result<EpochParts> {
        let problem = load_problem(file)?;
        let params =
            Params { ranks: rank.0.clone(), threads, epochs: self.epochs.max(FIRST), ..Params::default() };
        Ok(epoch_parts(problem, &params, params.epochs)?)
    }

    fn contenders(&self, own: PathBuf) -> Vec<Contender> {
        let before = self.before.map(|path| Contender {
            name: "before".to_owned(),
            program: path.to_owned(),
            device: None,
        });
        let on =
            |device: Device, name: String| Contender { name, program: own.clone(), device: Some(device) };
        let gpu = self.gpu.map(Device::Cuda).map(|gpu| on(gpu, gpu.to_string()));
        let cpu = self.cpu.then(|| on(Device::Cpu, "this".to_owned()));
        before.into_iter().chain(cpu).chain(gpu).collect()
    }

    /// Fits the file.
    fn fit(
        &self,
        contender: &Contender,
        file: &Path,
        rank: &ModeRanks,
        threads: usize,
    ) -> anyhow::Result<Best> {
        let Contender { program, device, .. } = contender;
        let run = file.with_file_name("run");
        let _ = std::fs::remove_dir_all(&run);
        let mut command = Command::new(program);
        command
            .arg("fit")
            .arg(file)
            .args(["--ranks", &rank.to_string().replace('x', ",")])
            .args(["--epochs", &self.epochs.max(FIRST).to_string()])
            .args(["--threads", &threads.to_string(), "--seed", "1", "--without", "choice", "--out"])
            .arg(&run);
        match device {
            Some(device) => command.args(["--device", &device.to_string()]),
            // An older program may not know the flag, and take a GPU where there is one.
            None => command.env("CUDA_VISIBLE_DEVICES", ""),
        };
        let clock = Instant::now();
        let output = command.output().with_context(|| program.display().to_string())?;
        let wall_seconds = clock.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", program.display(), said.trim());
        let history = files::load(&run)?.record.history;
        let speeds = history.iter().skip(FIRST - 1).map(|epoch| epoch.entries_per_second);
        let train_rmse = history.last().map_or(f64::NAN, |epoch| epoch.train_rmse);
        Ok(Best { speed: speeds.fold(0.0, f64::max), wall_seconds, train_rmse })
    }
}

/// The shape of a name: one that `generate` knows, or one of so many modes, in which nothing repeats.
fn named(name: &str) -> anyhow::Result<Shape> {
    let order = name
        .strip_prefix("order-")
        .and_then(|order| order.parse().ok())
        .filter(|order| (2..=5).contains(order));
    let modes = |order: usize| Shape { sizes: vec![10_000; order], ..Shape::default() };
    order.map(modes).or_else(|| Shape::named(name)).with_context(|| {
        format!("{name} is no shape: they are {} and order-2 to order-5", Shape::NAMES.join(", "))
    })
}

/// The best of several runs.
#[derive(Clone, Copy)]
struct Best {
    /// Entries per second of the fastest epoch.
    speed: f64,
    wall_seconds: f64,
    /// After the last epoch, the same in all of them.
    train_rmse: f64,
}

impl Default for Best {
    fn default() -> Self {
        Best { speed: 0.0, wall_seconds: f64::INFINITY, train_rmse: f64::NAN }
    }
}

impl Best {
    fn take(&mut self, other: Best) {
        self.speed = self.speed.max(other.speed);
        self.wall_seconds = self.wall_seconds.min(other.wall_seconds);
        self.train_rmse = other.train_rmse;
    }
}

fn tell(rows: &[Row], report: &mut Report<'_>) -> anyhow::Result<()> {
    let header = [
        "shape",
        "ranks",
        "threads",
        "program",
        "an epoch",
        "entries/s",
        "as fast",
        "of independent",
        "the run",
        "train RMSE",
        "sums",
        "draws",
        "core",
        "matrices",
        "rest",
        "FMA",
        "memory",
    ];
    let mut table = Table::new(&header);
    let mut bars = Vec::new();
    for row in rows {
        let part = |part: fn(&EpochParts) -> f64| {
            row.parts
                .as_ref()
                .map_or("-".into(), |parts| format!("{:.0} %", 100.0 * part(parts) / parts.seconds()))
        };
        // What entries ask for, of what the machine does at most.
        let share = |of: fn(&Work) -> f64| {
            let share = |parts: &EpochParts| of(&parts.work) / row.seconds_per_epoch / of(&parts.limits);
            row.parts.as_ref().map_or("-".into(), |parts| format!("{:.0} %", 100.0 * share(parts)))
        };
        table.row([
            row.shape.clone(),
            ModeRanks(row.ranks.clone()).to_string(),
            row.threads.to_string(),
            row.program.clone(),
            seconds(row.seconds_per_epoch),
            count(row.entries_per_second),
            row.ratio.map_or("-".into(), times),
            row.of_independent.map_or("-".into(), |part| format!("{:.0} %", 100.0 * part)),
            seconds(row.wall_seconds),
            format!("{:.5}", row.train_rmse),
            part(|parts| parts.sums.iter().sum()),
            part(|parts| parts.draws.iter().sum()),
            part(|parts| parts.core),
            part(|parts| parts.matrices),
            part(|parts| parts.rest),
            share(|work| work.multiply_adds),
            share(|work| work.bytes),
        ]);
        let ranks = ModeRanks(row.ranks.clone());
        let name = format!("{}, rank {ranks}, {} threads, {}", row.shape, row.threads, row.program);
        let value = row.entries_per_second;
        bars.push(Bar { name, value, text: format!("{}/s", count(value)) });
    }
    let plot = Plot::Bars { axis: "entries/s", axis_text: count, log: false, bars };
    report.finish("bayes", "The default algorithm: entries per second", &table, &plot)
}
