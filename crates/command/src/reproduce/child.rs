//! One cell, in a process of its own.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use s3cmtf::internal::PartialParams;
use s3cmtf::{Epoch, Params, Problem, Training};
use serde_json::{Map, Value};

use super::cell::{Cell, Chosen, Data, Experiment, Job, Outcome, Point, Set, State};
use super::data::{self, Loaded, SEED};
use super::methods::{self, Grid, Kind, Method};
use super::plan::SINGLE_EPOCHS;
use super::{discovery, memory};
use crate::bench::memory::Memory;
use crate::bench::units::seconds;
use crate::{failure, print};

/// The part of the training entries that a grid is judged on.
const JUDGED: f64 = 0.1;
/// Entries that are enough to measure the time of one.
const MEASURED: f64 = 200_000.0;
/// The paper's first step sizes.
const USUAL_RATE: f64 = 0.001;
const YELP_RATE: f64 = 0.0005;

/// Runs a cell and prints what came of it; that it could not be run is an outcome, too.
pub(super) fn run(text: &str) -> anyhow::Result<()> {
    let job: Job = serde_json::from_str(text).context("--child")?;
    let process = Memory::of_process();
    let start = Outcome::new(job.cell.clone());
    let mut outcome = match outcome(&job, start.clone()) {
        Ok(outcome) => outcome,
        Err(error) => start.ended(State::Failed, failure::told(error)),
    };
    outcome.peak_bytes = process.peak();
    print::json(&outcome)
}

fn outcome(job: &Job, mut outcome: Outcome) -> anyhow::Result<Outcome> {
    let cell = &job.cell;
    let method = methods::find(&cell.method).with_context(|| format!("no method {:?}", cell.method))?;
    // What cannot be run needs no data.
    params(cell, method, None)?;
    let extent = data::extent(job, method.graph)?;
    let needed = memory::needed(method.kind, &extent, cell.rank, cell.threads);
    outcome.computed_bytes = Some(needed);
    if let Some(most) = job.limits.memory.filter(|&most| needed > most) {
        let (needed, most) = (print::bytes(needed), print::bytes(most));
        return Ok(outcome
            .ended(State::OutOfMemory, format!("about {needed} would be needed, and there are {most}")));
    }
    let Loaded { train, mut test, facts } = data::load(job, method.graph)?;
    outcome.part = part(cell, method, facts.entries);
    outcome.facts = Some(facts);
    if outcome.part.is_some() {
        test = None;
    }
    let part = outcome.part;
    let budget = if method.whole { f64::INFINITY } else { job.limits.budget };
    // Where time alone is measured, any value of the grid will do.
    let grid = method.grid.filter(|_| test.is_some());
    let watch = Watch::new(job, outcome, budget);
    let chosen = grid.map(|grid| choose(job, method, grid, &train, &watch)).transpose()?;
    let setting = chosen.as_ref().map(|chosen| (chosen.setting.as_str(), chosen.value));
    let params = params(cell, method, setting)?;
    let data = (cell.experiment == Experiment::Discovery).then(|| train.clone());
    let mut training = Training::new(train, params).observe(watch.observer());
    if let Some(test) = test {
        training = training.test(test);
    }
    if let Some(part) = part {
        training = training.holdout(1.0 - part);
    }
    let run = training.run()?;
    let mut outcome = watch.finish();
    let summary = &run.record.summary;
    if part.is_none() {
        outcome.test_rmse = summary.test_rmse.filter(|rmse| rmse.is_finite());
        outcome.offsets_rmse = summary.offsets_rmse;
    }
    outcome.chosen = chosen;
    if let Some(data) = data {
        outcome.found = Some(discovery::look(&run.model, &data, cell)?);
    }
    Ok(outcome)
}

/// The share of the entries that is measured: all of them, except where only the time of a slow method on one thread is of
/// interest, which does not depend on how many there are. Yelp's time is mostly that of cells of its matrices.
fn part(cell: &Cell, method: &Method, entries: usize) -> Option<f64> {
    let timed = cell.experiment == Experiment::Ratings && cell.threads == 1 && cell.epochs <= SINGLE_EPOCHS;
    let slow = matches!(method.kind, Kind::Naive | Kind::Opt);
    let dense = matches!(cell.data, Data::Ratings { set: Set::Yelp, .. });
    let part = MEASURED / entries.max(1) as f64;
    (timed && slow && !dense && part < 0.5).then_some(part)
}

/// The settings of a cell.
fn params(cell: &Cell, method: &Method, chosen: Option<(&str, f64)>) -> anyhow::Result<Params> {
    let mut said: Map<String, Value> =
        serde_json::from_str(method.settings).context("settings of a method")?;
    if let Some(rank) = cell.rank {
        said.insert("ranks".into(), vec![rank].into());
    }
    said.insert("threads".into(), cell.threads.into());
    said.insert("epochs".into(), cell.epochs.into());
    said.insert("seed".into(), SEED.into());
    if method.preset == s3cmtf::internal::Preset::Paper {
        let is_yelp = matches!(cell.data, Data::Ratings { set: Set::Yelp, .. });
        said.insert("rate".into(), (if is_yelp { YELP_RATE } else { USUAL_RATE }).into());
    }
    if let Some((setting, value)) = chosen {
        said.insert(setting.into(), value.into());
    }
    Ok(PartialParams::new(said).params(method.preset, None)?)
}

/// The value of the grid whose model has the least error on a tenth of the training entries. All runs together have the budget
/// of one.
fn choose(job: &Job, method: &Method, grid: Grid, train: &Problem, watch: &Watch) -> anyhow::Result<Chosen> {
    let mut tried = Vec::new();
    for value in grid.values {
        let params = params(&job.cell, method, Some((grid.setting, value)))?;
        let stop = watch.clock(watch.budget / grid.values.len() as f64);
        let run = Training::new(train.clone(), params).holdout(JUDGED).observe(stop).run()?;
        tried.push((value, run.record.summary.test_rmse.filter(|rmse| rmse.is_finite())));
    }
    let error = |tried: &(f64, Option<f64>)| tried.1.unwrap_or(f64::INFINITY);
    let best = tried.iter().min_by(|a, b| error(a).total_cmp(&error(b))).map_or(0.0, |best| best.0);
    Ok(Chosen { setting: grid.setting.to_owned(), value: best, tried })
}

/// Watches the epochs of a run. One that takes too long is not waited for: what there is is printed, and the process ends.
struct Watch {
    shared: Arc<Mutex<Watched>>,
    limit: f64,
    budget: f64,
}

struct Watched {
    outcome: Outcome,
    since: Instant,
    over: bool,
}

impl Watch {
    fn new(job: &Job, outcome: Outcome, budget: f64) -> Self {
        let limit = job.limits.time;
        let shared = Arc::new(Mutex::new(Watched { outcome, since: Instant::now(), over: false }));
        let watched = Arc::clone(&shared);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(20));
                let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
                if watched.over {
                    return;
                }
                if watched.since.elapsed().as_secs_f64() > limit {
                    watched.over = true;
                    let mut outcome = late(watched.outcome.clone(), limit);
                    outcome.peak_bytes = Memory::of_process().peak();
                    let code = if print::json(&outcome).is_ok() { 0 } else { 1 };
                    std::process::exit(code);
                }
            }
        });
        Watch { shared, limit, budget }
    }

    /// Stops after so many seconds of training, and has epochs watched.
    fn clock(&self, budget: f64) -> impl FnMut(&Epoch) -> ControlFlow<()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move |epoch| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).since = Instant::now();
            if epoch.seconds >= budget { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    /// The same with the whole budget, and keeps the epochs.
    fn observer(&self) -> impl FnMut(&Epoch) -> ControlFlow<()> + Send + use<> {
        let (shared, mut clock) = (Arc::clone(&self.shared), self.clock(self.budget));
        // What a part of the entries has come to says nothing of all.
        let partial = shared.lock().unwrap_or_else(PoisonError::into_inner).outcome.part.is_some();
        move |epoch| {
            let point = Point {
                seconds: epoch.seconds,
                train_rmse: Some(epoch.train_rmse).filter(|rmse| rmse.is_finite()),
                test_rmse: epoch.test_rmse.filter(|rmse| rmse.is_finite() && !partial),
            };
            shared.lock().unwrap_or_else(PoisonError::into_inner).outcome.epochs.push(point);
            let goes_on = clock(epoch);
            let mut watched = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let Outcome { cell, epochs, cut_short, .. } = &mut watched.outcome;
            *cut_short = goes_on.is_break() && epochs.len() < cell.epochs;
            goes_on
        }
    }

    /// The outcome with its epochs.
    fn finish(self) -> Outcome {
        let mut watched = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        watched.over = true;
        let outcome = watched.outcome.clone();
        match outcome.epoch_seconds() {
            Some(seconds) if seconds > self.limit => late(outcome, self.limit),
            _ => Outcome { state: State::Done, ..outcome },
        }
    }
}

fn late(outcome: Outcome, limit: f64) -> Outcome {
    outcome.ended(State::OutOfTime, format!("an epoch takes more than {}", seconds(limit)))
}
