//! The loop: epochs of draws.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Evaluation, Sampler};
use crate::Error;
use crate::training::checkpoint::Checkpoint;
use crate::training::fits::{FitJob, FitResult, RunContext};
use crate::training::run::{Epoch, Stop};

/// Fits a model to a problem.
pub(in crate::training) fn fit(
    task: FitJob<'_>,
    context: &mut RunContext<'_, '_>,
) -> Result<FitResult, Error> {
    let FitJob { problem, entries, params, sets } = task;
    let RunContext { warm, budget, interrupt, observe, checkpointer, .. } = context;
    let (budget, interrupt) = (*budget, *interrupt);
    let mut sampler = Sampler::new(problem, entries, params, *warm, budget)?;
    let mut reported = sets.reported.map(|entries| sampler.arrange(entries, params, budget)).transpose()?;
    let mut watched = sets.watched.map(|entries| sampler.arrange(entries, params, budget)).transpose()?;
    let mut history: Vec<Epoch> = Vec::new();
    let mut best: Option<(usize, f64)> = None;
    let mut seconds = 0.0;
    if let Some(Checkpoint { about, mut numbers }) = checkpointer.resume() {
        let mut known = [0.0; 2];
        numbers.get_doubles("best", &mut known)?;
        // None is better than one that is still to come.
        let past = about.history.len();
        best = (known[0] > 0.0).then_some(((known[0] as usize).min(past), known[1]));
        sampler.restore(numbers, past as u64, budget)?;
        follow(&sampler, [&mut reported, &mut watched]);
        (history, seconds) = (about.history, about.seconds);
    }
    let (stop, reached) = loop {
        let epoch = history.len() + 1;
        let clock = Instant::now();
        if !sampler.epoch(interrupt)? {
            // A part of an epoch is no epoch, but has changed the model.
            break (Stop::Interrupted, None);
        }
        sampler.join(budget)?;
        if sampler.shed() {
            follow(&sampler, [&mut reported, &mut watched]);
        }
        let spent = clock.elapsed().as_secs_f64();
        seconds += spent;
        let clock = Instant::now();
        let (train_rmse, rmses) = sampler.rmse(&[reported.as_ref(), watched.as_ref()])?;
        let evaluation_seconds = clock.elapsed().as_secs_f64();
        history.push(Epoch {
            epoch,
            seconds,
            entries_per_second: sampler.entries() as f64 / spent.max(1e-9),
            train_rmse,
            test_rmse: rmses[0],
            evaluation_seconds,
            rate: None,
            validation_rmse: params.patience.and(rmses[1].or(rmses[0])),
        });
        let reached = Some((train_rmse, rmses[0]));
        observe(&history[epoch - 1]);
        if interrupt.load(Ordering::Relaxed) {
            break (Stop::Interrupted, reached);
        }
        // Early draws are not typical, and what they come to is no reason to stop.
        if let (Some(patience), Some(rmse), true) =
            (params.patience, history[epoch - 1].validation_rmse, sampler.is_typical())
        {
            if best.is_none_or(|(_, least)| rmse < least) {
                best = Some((epoch, rmse));
            } else if best.is_some_and(|(at, _)| epoch - at >= patience) {
                break (Stop::Patience, reached);
            }
        }
        if epoch >= params.epochs {
            break (Stop::Epochs, reached);
        }
        checkpointer.keep(&history, seconds, || {
            let mut numbers = sampler.numbers();
            let (at, least) = best.unwrap_or_default();
            numbers.put_doubles("best", &[at as f64, least]);
            numbers
        });
    };
    let (train_rmse, test_rmse) = match reached {
        Some(reached) => reached,
        None => {
            let (train_rmse, rmses) = sampler.rmse(&[reported.as_ref()])?;
            (train_rmse, rmses[0])
        }
    };
    Ok(FitResult {
        stop,
        best_epoch: best.map_or(history.len(), |(epoch, _)| epoch),
        train_rmse,
        test_rmse,
        simple: None,
        model: sampler.model(),
        history,
        validation: Vec::new(),
        seconds,
        halvings: 0,
    })
}

fn follow(sampler: &Sampler, sets: [&mut Option<Evaluation>; 2]) {
    sets.into_iter().flatten().for_each(|set| sampler.follow(set));
}
