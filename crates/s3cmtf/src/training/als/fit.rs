//! The loop: sweeps from one start after the other, and the polish of the best.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::engine::Engine;
use super::search::{EXACT, Next, Search, get_state, put_state};
use super::view::View;
use crate::Error;
use crate::problem::EntrySource;
use crate::training::checkpoint::Checkpoint;
use crate::training::fits::{FitJob, FitResult, RunContext};
use crate::training::run::{Epoch, Stop};

/// Entries must be more than so many times the free numbers of a model, or an exact fit says nothing.
const MANY: f64 = 1.5;

/// Fits a model to a problem.
pub(in crate::training) fn fit(
    task: FitJob<'_>,
    context: &mut RunContext<'_, '_>,
) -> Result<FitResult, Error> {
    let polish = Some(f64::from(task.params.lambda_reg));
    run(task, context, polish).map(|(fitted, _)| fitted)
}

/// Fits a model to a problem, if that is exactly of the ranks that are asked for, and says so by more entries than it takes
/// to fit anything.
pub(in crate::training) fn exact(
    task: FitJob<'_>,
    context: &mut RunContext<'_, '_>,
) -> Result<Option<FitResult>, Error> {
    run(task, context, None).map(|(fitted, is_exact)| is_exact.then_some(fitted))
}

fn run(
    task: FitJob<'_>,
    context: &mut RunContext<'_, '_>,
    polish: Option<f64>,
) -> Result<(FitResult, bool), Error> {
    let FitJob { problem, entries, params, sets } = task;
    let RunContext { warm, interrupt, observe, checkpointer, .. } = context;
    let interrupt = *interrupt;
    let engine = Engine::new(problem, &entries.into_entries()?, params);
    let reported = sets.reported.map(EntrySource::into_entries).transpose()?.map(|set| engine.arrange(set));
    let mut search = Search::new(params.epochs, polish);
    let mut state = warm.map_or_else(|| engine.start(0), |model| engine.take_over(model));
    let mut history: Vec<Epoch> = Vec::new();
    let mut seconds = 0.0;
    if let Some(Checkpoint { about, mut numbers }) = checkpointer.resume() {
        state = engine.blank();
        get_state("now", &mut state, &mut numbers)?;
        search.get(&engine, about.history.len(), &mut numbers)?;
        (history, seconds) = (about.history, about.seconds);
    }
    let stop = loop {
        let epoch = history.len() + 1;
        let clock = Instant::now();
        if !engine.sweep(&mut state, search.ridge(), interrupt) {
            break Stop::Interrupted;
        }
        let spent = clock.elapsed().as_secs_f64();
        seconds += spent;
        let (train, error) = engine.errors(&state);
        let clock = Instant::now();
        let test_rmse = reported.as_ref().map(|set| engine.rmse(&engine.model(&state), set));
        history.push(Epoch {
            epoch,
            seconds,
            entries_per_second: engine.cells() / spent.max(1e-9),
            train_rmse: engine.spread * train,
            test_rmse,
            evaluation_seconds: test_rmse.map_or(0.0, |_| clock.elapsed().as_secs_f64()),
            rate: None,
            validation_rmse: None,
        });
        observe(&history[epoch - 1]);
        let next = search.judge(epoch, error, &state);
        if interrupt.load(Ordering::Relaxed) {
            break Stop::Interrupted;
        }
        match next {
            Next::End => break Stop::Tolerance,
            _ if epoch >= params.epochs => break Stop::Epochs,
            Next::Sweep => {}
            Next::Start(start) => state = engine.start(start),
            Next::Polish => {
                if let Some((_, best)) = search.best() {
                    state = best.clone();
                }
            }
        }
        checkpointer.keep(&history, seconds, || {
            let mut numbers = Default::default();
            put_state("now", &state, &mut numbers);
            search.put(&mut numbers);
            numbers
        });
    };
    // A sweep that was interrupted has changed the state, and a start that had just begun is not what was found.
    let (_, error) = engine.errors(&state);
    let (best_epoch, state) = search.better(history.len(), error, state);
    let (_, error) = engine.errors(&state);
    let is_exact = error < EXACT && engine.entries() as f64 > MANY * engine.free();
    let model = engine.model(&state);
    let rmse = |set: &View| engine.rmse(&model, set);
    let fitted = FitResult {
        stop,
        best_epoch,
        train_rmse: engine.train_rmse(&model),
        test_rmse: reported.as_ref().map(rmse),
        history,
        validation: Vec::new(),
        seconds,
        halvings: 0,
        simple: None,
        model,
    };
    Ok((fitted, is_exact))
}
