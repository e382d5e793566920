//! What the methods have in common for the training loop.

use std::sync::atomic::AtomicBool;

use super::cmtf_als::CmtfAls;
use super::cmtf_opt::CmtfOpt;
use super::data::Data;
use super::method::{Method, Sweep};
use super::sals::Sals;
use super::tucker_als::TuckerAls;
use crate::Error;
use crate::model::Model;
use crate::params::{Opponent, OpponentParams};
use crate::problem::EntrySource;
use crate::training::checkpoint::StateArrays;
use crate::training::engine::{Best, Engine, Rmses, Verdict};
use crate::training::job::{FitJob, RunContext};
use crate::training::run::Stop;
use crate::training::test_set::TestSet;

/// A method at work.
pub(in crate::training) struct OpponentEngine {
    data: Data,
    method: Box<dyn Method>,
    state: Vec<f64>,
    best: Option<Vec<f64>>,
    reported: Option<TestSet>,
    watched: Option<TestSet>,
    tolerance: f64,
    train_rmse: f64,
    last: Sweep,
}

impl OpponentEngine {
    pub(in crate::training) fn new(
        job: FitJob<'_>,
        params: &OpponentParams,
        context: &RunContext<'_, '_>,
    ) -> Result<Self, Error> {
        let FitJob { problem, entries, sets, .. } = job;
        let data = Data::new(problem, entries.into_entries()?, params, context.warm.is_some())?;
        let method: Box<dyn Method> = match params.opponent {
            Opponent::CmtfOpt => Box::new(CmtfOpt::new(&data, params)),
            Opponent::CmtfAls => Box::new(CmtfAls::new(&data, params)),
            Opponent::Sals => Box::new(Sals::new(&data, params)),
            Opponent::TuckerAls => Box::new(TuckerAls::new(&data, params)),
        };
        let state = method.start(&data, context.warm);
        let model = method.model(&data, &state);
        let arrange = |set: Option<EntrySource>| -> Result<_, Error> {
            let set = set.map(EntrySource::into_entries).transpose()?;
            Ok(set.map(|entries| TestSet::new(&model, entries, params.common.level)))
        };
        Ok(OpponentEngine {
            reported: arrange(sets.reported)?,
            watched: arrange(sets.watched)?,
            best: None,
            tolerance: params.tolerance,
            train_rmse: f64::INFINITY,
            last: Sweep::Done,
            data,
            method,
            state,
        })
    }
}

impl Engine for OpponentEngine {
    fn epoch(&mut self, _epoch: usize, interrupt: &AtomicBool) -> Result<bool, Error> {
        self.last = self.method.sweep(&self.data, &mut self.state, interrupt);
        Ok(self.last != Sweep::Interrupted)
    }

    fn evaluate(&mut self) -> Result<Rmses, Error> {
        let squares = self.method.squared_errors(&self.data, &self.state);
        let train = (squares / self.data.entries().max(1) as f64).sqrt();
        let is_evaluated = self.reported.is_some() || self.watched.is_some();
        let model = is_evaluated.then(|| self.model()).transpose()?;
        let [test, watched] = [&self.reported, &self.watched]
            .map(|set| set.as_ref().zip(model.as_ref()).map(|(set, model)| set.rmse(model)));
        Ok(Rmses { train, test, watched })
    }

    fn judge(&mut self, _epoch: usize, rmses: &Rmses) -> Verdict {
        let change = (self.train_rmse - rmses.train).abs();
        let still = change < self.tolerance * self.train_rmse || self.last == Sweep::Last;
        self.train_rmse = rmses.train;
        if still { Verdict::Stop(Stop::Tolerance) } else { Verdict::Keep }
    }

    fn mark_best(&mut self) {
        self.best = Some(self.state.clone());
    }

    fn finish(&mut self, epochs: usize, best: Option<Best>) -> usize {
        match (best, self.best.take()) {
            (Some(best), Some(state)) => {
                self.state = state;
                best.epoch
            }
            _ => epochs,
        }
    }

    fn model(&mut self) -> Result<Model, Error> {
        Ok(self.method.model(&self.data, &self.state))
    }

    fn cells(&self) -> f64 {
        self.data.cells()
    }

    fn save(&mut self, best: Option<Best>) -> Result<StateArrays, Error> {
        let mut arrays = StateArrays::default();
        arrays.put_doubles("state", &self.state);
        let [epoch, rmse] = Best::numbers(best);
        arrays.put_doubles("known", &[epoch, rmse, self.train_rmse]);
        if let Some(best) = &self.best {
            arrays.put_doubles("best", best);
        }
        self.method.save(&mut arrays);
        Ok(arrays)
    }

    fn restore(&mut self, mut arrays: StateArrays, epochs: usize) -> Result<Option<Best>, Error> {
        arrays.get_doubles("state", &mut self.state)?;
        let mut known = [0.0; 3];
        arrays.get_doubles("known", &mut known)?;
        let [epoch, rmse, train_rmse] = known;
        self.train_rmse = train_rmse;
        let best = Best::from_numbers([epoch, rmse], epochs);
        if best.is_some() {
            let mut state = self.state.clone();
            arrays.get_doubles("best", &mut state)?;
            self.best = Some(state);
        }
        self.method.restore(&mut arrays)?;
        Ok(best)
    }
}
