//! The loop: epochs of steps, each watched.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::engine::Engine;
use super::watch::{Verdict, Watch};
use super::{rate, start};
use crate::Error;
use crate::problem::EntrySource;
use crate::training::checkpoint::Checkpoint;
use crate::training::fits::{FitJob, FitResult, RunContext};
use crate::training::run::{Epoch, Stop};

/// Fits a model to a problem.
pub(in crate::training) fn fit(
    task: FitJob<'_>,
    context: &mut RunContext<'_, '_>,
) -> Result<FitResult, Error> {
    let FitJob { problem, entries, params, sets } = task;
    let RunContext { warm, interrupt, observe, checkpointer, .. } = context;
    let interrupt = *interrupt;
    let problem = problem.clone().with_entries(entries.into_entries()?);
    let start = start::start(&problem, params, *warm);
    let first_rate = params.rate.map_or_else(|| rate::fitted(&start), f64::from);
    let mut engine = Engine::new(problem, params, start);
    let arrange = |set: Option<EntrySource>| -> Result<_, Error> {
        Ok(set.map(EntrySource::into_entries).transpose()?.map(|entries| engine.arrange(entries)))
    };
    let (reported, watched) = (arrange(sets.reported)?, arrange(sets.watched)?);

    let mut watch = Watch::new(params, &mut engine);
    let mut history: Vec<Epoch> = Vec::new();
    let mut seconds = 0.0;
    if let Some(Checkpoint { about, numbers }) = checkpointer.resume() {
        watch.restore(&mut engine, numbers, about.history.len())?;
        (history, seconds) = (about.history, about.seconds);
    }
    let stop = loop {
        let epoch = history.len() + 1;
        let rate = watch.rate_scale() * first_rate / (1.0 + f64::from(params.decay) * (epoch - 1) as f64);
        let clock = Instant::now();
        let finished = engine.epoch(epoch, rate as f32, interrupt);
        let spent = clock.elapsed().as_secs_f64();
        seconds += spent;
        engine.update_averages();
        if !finished && engine.state().is_finite() {
            // A part of an epoch is no epoch, but what it learnt is kept.
            break Stop::Interrupted;
        }
        let train_rmse = engine.train_rmse();
        let clock = Instant::now();
        let test_rmse = reported.as_ref().map(|set| engine.rmse(set));
        let evaluation_seconds = test_rmse.map_or(0.0, |_| clock.elapsed().as_secs_f64());
        let watched_rmse = watched.as_ref().map(|set| engine.rmse(set)).or(test_rmse);
        match watch.judge(&mut engine, epoch, train_rmse, watched_rmse) {
            Verdict::Diverged => continue,
            Verdict::GiveUp => break Stop::Diverged,
            Verdict::Good(stop) => {
                let entries_per_second = engine.entries() as f64 / spent.max(1e-9);
                history.push(Epoch {
                    epoch,
                    seconds,
                    entries_per_second,
                    train_rmse,
                    test_rmse,
                    evaluation_seconds,
                    rate: Some(rate),
                    validation_rmse: params.patience.and(watched_rmse),
                });
                observe(&history[epoch - 1]);
                if interrupt.load(Ordering::Relaxed) {
                    break Stop::Interrupted;
                }
                if let Some(stop) = stop {
                    break stop;
                }
                checkpointer.keep(&history, seconds, || watch.numbers(&engine));
            }
        }
    };
    let halvings = watch.halvings();
    let best_epoch = watch.keep_best(&mut engine);
    Ok(FitResult {
        stop,
        best_epoch,
        train_rmse: engine.train_rmse(),
        test_rmse: reported.as_ref().map(|set| engine.rmse(set)),
        simple: None,
        model: engine.model(),
        history,
        validation: Vec::new(),
        seconds,
        halvings,
    })
}
