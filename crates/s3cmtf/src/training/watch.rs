//! Watches a run: notices divergence, remembers the best model, says when to stop.

use super::engine::{Engine, State};
use super::run::Stop;
use crate::params::Params;

/// How often the rate is halved before the run is given up.
const MOST_HALVINGS: u32 = 40;

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
    /// The root mean square of the values: the RMSE of predicting zero.
    size: f64,
    good: State,
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
    /// Starts to watch; `size` is the root mean square of the training values.
    pub(crate) fn new(params: &Params, engine: &mut Engine, size: f64) -> Self {
        Watch {
            epochs: params.epochs,
            tolerance: params.tolerance,
            patience: params.patience,
            size,
            good: engine.state().clone(),
            train_rmse: engine.train_rmse(),
            halvings: 0,
            last_epoch: 0,
            best: None,
        }
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
        // A strong regulariser may rightly take the model to zero, where the RMSE is `size`; no further.
        let limit = 2.0 * self.size.max(self.train_rmse).max(f64::MIN_POSITIVE);
        let fine = train_rmse.is_finite() && train_rmse <= limit && engine.state().is_finite();
        if !fine {
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

    /// Puts the best state in place, the last one if none was chosen; returns its epoch.
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
