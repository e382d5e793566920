//! Watches a run: notices divergence, remembers the best model, says when to stop.

use super::engine::{Engine, State};
use crate::Error;
use crate::params::Params;
use crate::training::checkpoint::StateArrays;
use crate::training::run::Stop;

/// How often the rate is halved before the run is given up.
const MOST_HALVINGS: u32 = 40;
/// An RMSE may be larger than the start's by this factor.
const ROOM: f64 = 1.4;

/// What an epoch came to.
pub(crate) enum Verdict {
    /// It went well; the run stops if there is a reason.
    Good(Option<Stop>),
    /// It diverged: the last good state is back, and the rate is halved.
    Diverged,
    /// It diverged once too often: the last good state is back.
    GiveUp,
}

/// What is remembered from epoch to epoch.
pub(crate) struct Watch {
    epochs: usize,
    tolerance: f64,
    patience: Option<usize>,
    good: State,
    start_rmse: f64,
    start_merit: f64,
    train_rmse: f64,
    halvings: u32,
    last_epoch: usize,
    best: Option<Best>,
}

struct Best {
    epoch: usize,
    rmse: f64,
    state: State,
}

impl Watch {
    /// Starts to watch.
    pub(crate) fn new(params: &Params, engine: &mut Engine) -> Self {
        let train_rmse = engine.train_rmse();
        Watch {
            epochs: params.epochs,
            tolerance: params.tolerance,
            patience: params.patience,
            good: engine.state().clone(),
            start_rmse: train_rmse,
            start_merit: engine.merit(train_rmse),
            train_rmse,
            halvings: 0,
            last_epoch: 0,
            best: None,
        }
    }

    /// What the next epoch depends on.
    pub(crate) fn numbers(&self, engine: &Engine) -> StateArrays {
        let mut numbers = StateArrays::default();
        engine.put("", engine.state(), &mut numbers);
        let best = self.best.as_ref().map_or([0.0; 2], |best| [best.epoch as f64, best.rmse]);
        if let Some(best) = &self.best {
            engine.put("best.", &best.state, &mut numbers);
        }
        let watch = [
            self.start_rmse,
            self.start_merit,
            self.train_rmse,
            f64::from(self.halvings),
            self.last_epoch as f64,
            best[0],
            best[1],
        ];
        numbers.put_doubles("watch", &watch);
        numbers
    }

    /// Goes on from there, so many epochs behind it.
    ///
    /// # Errors
    /// If the numbers are those of another run.
    pub(crate) fn restore(
        &mut self,
        engine: &mut Engine,
        mut numbers: StateArrays,
        epochs: usize,
    ) -> Result<(), Error> {
        let mut watch = [0.0; 7];
        numbers.get_doubles("watch", &mut watch)?;
        let state = engine.get("", &mut numbers)?;
        engine.set_state(state);
        [self.start_rmse, self.start_merit, self.train_rmse] = [watch[0], watch[1], watch[2]];
        self.halvings = (watch[3] as u32).min(MOST_HALVINGS);
        self.last_epoch = (watch[4] as usize).min(epochs);
        self.good = engine.state().clone();
        self.best = None;
        if watch[5] > 0.0 {
            let state = engine.get("best.", &mut numbers)?;
            self.best = Some(Best { epoch: (watch[5] as usize).min(epochs), rmse: watch[6], state });
        }
        Ok(())
    }

    /// What the rate is to be multiplied with.
    pub(crate) fn rate_scale(&self) -> f64 {
        0.5f64.powi(self.halvings as i32)
    }

    /// Judges an epoch by its RMSE on the training and, if there is one, on the watched set.
    pub(crate) fn judge(
        &mut self,
        engine: &mut Engine,
        epoch: usize,
        train_rmse: f64,
        watched_rmse: Option<f64>,
    ) -> Verdict {
        if !engine.state().is_finite() || !train_rmse.is_finite() || self.is_worse(engine, train_rmse) {
            engine.set_state(self.good.clone());
            self.halvings += 1;
            return if self.halvings > MOST_HALVINGS { Verdict::GiveUp } else { Verdict::Diverged };
        }
        let change = (self.train_rmse - train_rmse).abs();
        let still = change < self.tolerance * self.train_rmse;
        self.train_rmse = train_rmse;
        self.last_epoch = epoch;
        self.good.clone_from(engine.state());
        if let (Some(patience), Some(rmse)) = (self.patience, watched_rmse) {
            if self.best.as_ref().is_none_or(|best| rmse < best.rmse) {
                self.best = Some(Best { epoch, rmse, state: self.good.clone() });
            } else if self.best.as_ref().is_some_and(|best| epoch - best.epoch >= patience) {
                return Verdict::Good(Some(Stop::Patience));
            }
        }
        let stop = if epoch >= self.epochs {
            Some(Stop::Epochs)
        } else if still {
            Some(Stop::Tolerance)
        } else {
            None
        };
        Verdict::Good(stop)
    }

    /// Whether a state is clearly worse than the start.
    ///
    /// Only a larger RMSE is suspicious, and it may be larger rightly, where a strong regulariser or a heavy matrix
    /// asks for it; so then the objective decides. Steps are noisy, so both have some room.
    fn is_worse(&self, engine: &Engine, train_rmse: f64) -> bool {
        if train_rmse <= ROOM * self.start_rmse {
            return false;
        }
        let growth = engine.merit(train_rmse) - self.start_merit;
        growth.is_nan() || growth > (ROOM * ROOM - 1.0) * engine.squares(self.start_rmse)
    }

    /// How often the rate was halved.
    pub(crate) fn halvings(&self) -> u32 {
        self.halvings
    }

    /// Puts the best state in place, if one was chosen; returns its epoch, or the last one.
    pub(crate) fn keep_best(self, engine: &mut Engine) -> usize {
        match self.best {
            Some(best) => {
                engine.set_state(best.state);
                best.epoch
            }
            None => self.last_epoch,
        }
    }
}
