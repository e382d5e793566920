//! Notices that an epoch has diverged, takes it back and halves the rate.

use super::workspace::{State, Workspace};

/// How often the rate is halved before the run is given up.
const MOST_HALVINGS: u32 = 40;
/// An RMSE may be larger than the start's by this factor.
const ROOM: f64 = 1.4;

/// The last good state, and what the start was like.
pub(super) struct Divergence {
    good: State,
    pub(super) start_rmse: f64,
    pub(super) start_objective: f64,
    pub(super) halvings: u32,
}

impl Divergence {
    /// At the start, which has this training RMSE.
    pub(super) fn new(workspace: &Workspace, train_rmse: f64) -> Self {
        Divergence {
            good: workspace.state().clone(),
            start_rmse: train_rmse,
            start_objective: workspace.relative_objective(train_rmse),
            halvings: 0,
        }
    }

    /// Goes on from the state that is there now.
    pub(super) fn restore(
        &mut self,
        workspace: &Workspace,
        [start_rmse, start_objective]: [f64; 2],
        halvings: f64,
    ) {
        self.good = workspace.state().clone();
        (self.start_rmse, self.start_objective) = (start_rmse, start_objective);
        self.halvings = (halvings as u32).min(MOST_HALVINGS);
    }

    /// What the rate is to be multiplied with.
    pub(super) fn rate_scale(&self) -> f64 {
        0.5f64.powi(self.halvings as i32)
    }

    /// Whether the rate was halved more often than there is use in.
    pub(super) fn is_hopeless(&self) -> bool {
        self.halvings > MOST_HALVINGS
    }

    /// Whether an epoch may count; one that has diverged is taken back.
    pub(super) fn accepts(&mut self, workspace: &mut Workspace, train_rmse: f64) -> bool {
        let diverged =
            !workspace.state().is_finite() || !train_rmse.is_finite() || self.is_worse(workspace, train_rmse);
        if diverged {
            workspace.set_state(self.good.clone());
            self.halvings += 1;
        } else {
            self.good.clone_from(workspace.state());
        }
        !diverged
    }

    /// Whether a state is clearly worse than the start.
    ///
    /// Only a larger RMSE is suspicious, and it may be larger rightly, where a strong regulariser or a heavy matrix
    /// asks for it; so then the objective decides. Steps are noisy, so both have some room.
    fn is_worse(&self, workspace: &Workspace, train_rmse: f64) -> bool {
        if train_rmse <= ROOM * self.start_rmse {
            return false;
        }
        let growth = workspace.relative_objective(train_rmse) - self.start_objective;
        growth.is_nan() || growth > (ROOM * ROOM - 1.0) * workspace.squares(self.start_rmse)
    }
}
