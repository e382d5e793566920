//! The loop: epochs of draws.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::Sampler;
use crate::Error;
use crate::model::Model;
use crate::params::Params;
use crate::problem::Problem;
use crate::training::run::{Epoch, Stop};
use crate::training::{Fitted, Sets};

/// Fits a model to a problem.
pub(in crate::training) fn fit(
    problem: Problem,
    params: &Params,
    warm: Option<&Model>,
    sets: Sets,
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(&Epoch),
) -> Result<Fitted, Error> {
    let mut sampler = Sampler::new(problem, params, warm)?;
    let reported = sets.reported.map(|entries| sampler.arrange(entries, params));
    let watched = sets.watched.map(|entries| sampler.arrange(entries, params));
    let mut history: Vec<Epoch> = Vec::new();
    let mut best: Option<(usize, f64)> = None;
    let mut seconds = 0.0;
    let stop = loop {
        let epoch = history.len() + 1;
        let clock = Instant::now();
        if !sampler.epoch(interrupt) {
            // A part of an epoch is no epoch.
            break Stop::Interrupted;
        }
        let spent = clock.elapsed().as_secs_f64();
        seconds += spent;
        let clock = Instant::now();
        let (train_rmse, rmses) = sampler.rmse(&[reported.as_ref(), watched.as_ref()]);
        let evaluation_seconds = clock.elapsed().as_secs_f64();
        history.push(Epoch {
            epoch,
            seconds,
            entries_per_second: sampler.entries() as f64 / spent.max(1e-9),
            train_rmse,
            test_rmse: rmses[0],
            evaluation_seconds,
            rate: None,
        });
        observe(&history[epoch - 1]);
        if interrupt.load(Ordering::Relaxed) {
            break Stop::Interrupted;
        }
        // Early draws are not typical, and what they come to is no reason to stop.
        if let (Some(patience), Some(rmse), true) =
            (params.patience, rmses[1].or(rmses[0]), sampler.is_typical())
        {
            if best.is_none_or(|(_, least)| rmse < least) {
                best = Some((epoch, rmse));
            } else if best.is_some_and(|(at, _)| epoch - at >= patience) {
                break Stop::Patience;
            }
        }
        if epoch >= params.epochs {
            break Stop::Epochs;
        }
    };
    let (train_rmse, rmses) = sampler.rmse(&[reported.as_ref()]);
    Ok(Fitted {
        stop,
        best_epoch: best.map_or(history.len(), |(epoch, _)| epoch),
        train_rmse,
        test_rmse: rmses[0],
        model: sampler.model(),
        history,
        seconds,
        halvings: 0,
    })
}
