//! CMTF-OPT: all CP factors at once, by first-order optimization (docs/opponents.md eq. P2).

mod direction;
mod line_search;
mod objective;
mod optimizer;

use std::sync::atomic::{AtomicBool, Ordering};

pub(super) use self::objective::Objective;
use self::optimizer::Optimizer;
use super::cp::Cp;
use super::data::Data;
use super::method::{Method, Sweep};
use super::start::start;
use crate::Error;
use crate::model::Model;
use crate::params::{OpponentParams, Start};
use crate::training::checkpoint::StateArrays;

/// The method's settings, and what its optimizer remembers.
pub(super) struct CmtfOpt {
    cp: Cp,
    start: Start,
    ridge: f64,
    optimizer: Optimizer,
}

impl CmtfOpt {
    pub(super) fn new(data: &Data, params: &OpponentParams) -> Self {
        CmtfOpt {
            cp: Cp::new(data, params.common.ranks[0]),
            start: params.start,
            ridge: f64::from(params.lambda_reg),
            optimizer: Optimizer::new(params.optimizer),
        }
    }
}

impl Method for CmtfOpt {
    fn start(&self, data: &Data, warm: Option<&Model>) -> Vec<f64> {
        warm.map_or_else(|| start(data, &self.cp, self.start), |model| self.cp.take_over(data, model))
    }

    fn sweep(&mut self, data: &Data, state: &mut Vec<f64>, interrupt: &AtomicBool) -> Sweep {
        if interrupt.load(Ordering::Relaxed) {
            return Sweep::Interrupted;
        }
        let objective = Objective { data, cp: &self.cp, ridge: self.ridge };
        let mut evaluate = |state: &[f64], gradient: &mut [f64]| objective.evaluate(state, gradient);
        if self.optimizer.step(&mut evaluate, state) { Sweep::Done } else { Sweep::Last }
    }

    fn squared_errors(&self, data: &Data, state: &[f64]) -> f64 {
        self.cp.squared_errors(data, state)
    }

    fn model(&self, data: &Data, state: &[f64]) -> Model {
        self.cp.model(data, state)
    }

    fn save(&self, arrays: &mut StateArrays) {
        self.optimizer.save(arrays);
    }

    fn restore(&mut self, arrays: &mut StateArrays) -> Result<(), Error> {
        self.optimizer.restore(self.cp.len(), arrays)
    }
}
