//! Stochastic gradient descent as an engine: an epoch is a step for each entry, and is taken back if it diverges.

use std::sync::atomic::AtomicBool;

use super::divergence::Divergence;
use super::workspace::{State, Workspace};
use super::{rate, start};
use crate::Error;
use crate::layout::Chunks;
use crate::model::Model;
use crate::params::SgdParams;
use crate::problem::EntrySource;
use crate::training::checkpoint::StateArrays;
use crate::training::engine::{Best, Engine, Rmses, Verdict};
use crate::training::job::{FitJob, RunContext};
use crate::training::run::Stop;

/// A workspace, how it has fared so far, and the entries that its models are evaluated on.
pub(in crate::training) struct SgdEngine {
    workspace: Workspace,
    divergence: Divergence,
    reported: Option<Chunks>,
    watched: Option<Chunks>,
    first_rate: f64,
    decay: f64,
    tolerance: f64,
    rate: f64,
    /// The training RMSE and the number of the last epoch that counted.
    train_rmse: f64,
    last: usize,
    best: Option<State>,
}

impl SgdEngine {
    pub(in crate::training) fn new(
        job: FitJob<'_>,
        params: &SgdParams,
        context: &RunContext<'_, '_>,
    ) -> Result<Self, Error> {
        let FitJob { problem, entries, sets, .. } = job;
        let problem = problem.clone().with_entries(entries.into_entries()?);
        let start = start::start(&problem, params, context.warm);
        let first_rate = params.rate.map_or_else(|| rate::fitted(&start), f64::from);
        let workspace = Workspace::new(problem, params, start);
        let arrange = |set: Option<EntrySource>| -> Result<_, Error> {
            Ok(set.map(EntrySource::into_entries).transpose()?.map(|entries| workspace.arrange(entries)))
        };
        let (reported, watched) = (arrange(sets.reported)?, arrange(sets.watched)?);
        let train_rmse = workspace.train_rmse();
        Ok(SgdEngine {
            divergence: Divergence::new(&workspace, train_rmse),
            workspace,
            reported,
            watched,
            first_rate,
            decay: f64::from(params.decay),
            tolerance: params.tolerance,
            rate: 0.0,
            train_rmse,
            last: 0,
            best: None,
        })
    }
}

impl Engine for SgdEngine {
    fn epoch(&mut self, epoch: usize, interrupt: &AtomicBool) -> Result<bool, Error> {
        let scale = self.divergence.rate_scale();
        self.rate = scale * self.first_rate / (1.0 + self.decay * (epoch - 1) as f64);
        let finished = self.workspace.epoch(epoch, self.rate as f32, interrupt);
        self.workspace.update_averages();
        // One that was interrupted and has diverged is taken back as any other.
        Ok(finished || !self.workspace.state().is_finite())
    }

    fn evaluate(&mut self) -> Result<Rmses, Error> {
        let rmse = |set: &Option<Chunks>| set.as_ref().map(|set| self.workspace.rmse(set));
        Ok(Rmses {
            train: self.workspace.train_rmse(),
            test: rmse(&self.reported),
            watched: rmse(&self.watched),
        })
    }

    fn judge(&mut self, epoch: usize, rmses: &Rmses) -> Verdict {
        if !self.divergence.accepts(&mut self.workspace, rmses.train) {
            return if self.divergence.is_hopeless() { Verdict::GiveUp } else { Verdict::Retry };
        }
        let change = (self.train_rmse - rmses.train).abs();
        let still = change < self.tolerance * self.train_rmse;
        (self.train_rmse, self.last) = (rmses.train, epoch);
        if still { Verdict::Stop(Stop::Tolerance) } else { Verdict::Keep }
    }

    fn mark_best(&mut self) {
        self.best = Some(self.workspace.state().clone());
    }

    fn finish(&mut self, _epochs: usize, best: Option<Best>) -> usize {
        match (best, self.best.take()) {
            (Some(best), Some(state)) => {
                self.workspace.set_state(state);
                best.epoch
            }
            _ => self.last,
        }
    }

    fn model(&mut self) -> Result<Model, Error> {
        Ok(self.workspace.model())
    }

    fn cells(&self) -> f64 {
        self.workspace.entries() as f64
    }

    fn rate(&self) -> Option<f64> {
        Some(self.rate)
    }

    fn halvings(&self) -> u32 {
        self.divergence.halvings
    }

    fn save(&mut self, best: Option<Best>) -> Result<StateArrays, Error> {
        let mut arrays = StateArrays::default();
        self.workspace.put("", self.workspace.state(), &mut arrays);
        if let Some(best) = &self.best {
            self.workspace.put("best.", best, &mut arrays);
        }
        let Divergence { start_rmse, start_objective, halvings, .. } = self.divergence;
        let [best_epoch, best_rmse] = Best::numbers(best);
        let watch = [
            start_rmse,
            start_objective,
            self.train_rmse,
            f64::from(halvings),
            self.last as f64,
            best_epoch,
            best_rmse,
        ];
        arrays.put_doubles("watch", &watch);
        Ok(arrays)
    }

    fn restore(&mut self, mut arrays: StateArrays, epochs: usize) -> Result<Option<Best>, Error> {
        let mut watch = [0.0; 7];
        arrays.get_doubles("watch", &mut watch)?;
        let state = self.workspace.get("", &mut arrays)?;
        self.workspace.set_state(state);
        let [start_rmse, start_objective, train_rmse, halvings, last, best @ ..] = watch;
        self.divergence.restore(&self.workspace, [start_rmse, start_objective], halvings);
        self.train_rmse = train_rmse;
        self.last = (last as usize).min(epochs);
        let best = Best::from_numbers(best, epochs);
        self.best = best.map(|_| self.workspace.get("best.", &mut arrays)).transpose()?;
        Ok(best)
    }
}
