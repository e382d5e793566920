//! The one training loop: epochs, history, early stopping, interrupts and checkpoints of every algorithm.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::checkpoint::Checkpoint;
use super::engine::{Best, Engine, Verdict};
use super::job::{FitResult, RunContext};
use super::run::{Epoch, Stop};
use crate::Error;
use crate::params::CommonParams;

/// Trains an engine until it is time to stop.
///
/// # Errors
/// If entries cannot be read, or the checkpoint to go on from is that of another run.
pub(super) fn train(
    engine: &mut dyn Engine,
    params: &CommonParams,
    context: &mut RunContext<'_, '_>,
) -> Result<FitResult, Error> {
    let RunContext { interrupt, told, nodes, observe, checkpointer, .. } = context;
    let mut history: Vec<Epoch> = Vec::new();
    let mut best: Option<Best> = None;
    let mut seconds = 0.0;
    if let Some(Checkpoint { about, numbers }) = checkpointer.resume() {
        best = engine.restore(numbers, about.history.len())?;
        (history, seconds) = (about.history, about.seconds);
    }
    let stop = loop {
        if nodes.is_shared() && nodes.any(told.load(Ordering::Relaxed))? {
            interrupt.store(true, Ordering::Relaxed);
            break Stop::Interrupted;
        }
        let epoch = history.len() + 1;
        let clock = Instant::now();
        let finished = engine.epoch(epoch, interrupt)?;
        let spent = clock.elapsed().as_secs_f64();
        seconds += spent;
        if !finished {
            // A part of an epoch is no epoch, but has changed the model.
            break Stop::Interrupted;
        }
        let clock = Instant::now();
        let rmses = engine.evaluate()?;
        let evaluation_seconds = clock.elapsed().as_secs_f64();
        let verdict = engine.judge(epoch, &rmses);
        match verdict {
            Verdict::Retry => continue,
            Verdict::GiveUp => break Stop::Diverged,
            Verdict::Keep | Verdict::Stop(_) => {}
        }
        let watched = params.patience.and(rmses.watched.or(rmses.test));
        history.push(Epoch {
            epoch,
            seconds,
            entries_per_second: engine.cells() / spent.max(1e-9),
            train_rmse: rmses.train,
            test_rmse: rmses.test,
            evaluation_seconds,
            rate: engine.rate(),
            validation_rmse: watched,
        });
        if let Some(rmse) = watched.filter(|_| engine.may_be_best())
            && best.is_none_or(|best| rmse < best.rmse)
        {
            best = Some(Best { epoch, rmse });
            engine.mark_best();
        }
        observe(&history[epoch - 1]);
        if interrupt.load(Ordering::Relaxed) {
            break Stop::Interrupted;
        }
        if let (Some(patience), Some(best)) = (params.patience, best)
            && epoch - best.epoch >= patience
        {
            break Stop::Patience;
        }
        if let Verdict::Stop(stop) = verdict {
            break stop;
        }
        if epoch >= params.epochs {
            break Stop::Epochs;
        }
        checkpointer.keep(&history, seconds, || engine.save(best))?;
    };
    let best_epoch = engine.finish(history.len(), best);
    let rmses = engine.evaluate()?;
    Ok(FitResult {
        model: engine.model()?,
        stop,
        history,
        validation: Vec::new(),
        best_epoch,
        train_rmse: rmses.train,
        test_rmse: rmses.test,
        simple: None,
        seconds,
        halvings: engine.halvings(),
        device: (engine.device(), engine.device_note()),
    })
}
