//! Alternating least squares as an engine: an epoch is a sweep, from one start after the other, and then the polish of the best.

use std::sync::atomic::AtomicBool;

use super::least_squares::LeastSquares;
use super::search::{EXACT, Next, Search, get_state, put_state};
use super::state::State;
use crate::Error;
use crate::model::Model;
use crate::params::AlsParams;
use crate::problem::EntrySource;
use crate::training::checkpoint::StateArrays;
use crate::training::engine::{Best, Engine, Rmses, Verdict};
use crate::training::job::{FitJob, RunContext};
use crate::training::run::Stop;
use crate::training::view::View;

/// Entries must be more than so many times the free numbers of a model, or an exact fit says nothing.
const MANY: f64 = 1.5;

/// A problem, the state that is being improved, and the course of the search.
pub(in crate::training) struct AlsEngine {
    least_squares: LeastSquares,
    search: Search,
    state: State,
    reported: Option<View>,
    epochs: usize,
    /// The error of the last sweep.
    error: f64,
}

impl AlsEngine {
    pub(in crate::training) fn new(
        job: FitJob<'_>,
        params: &AlsParams,
        context: &RunContext<'_, '_>,
    ) -> Result<Self, Error> {
        AlsEngine::with_polish(job, params, context, Some(f64::from(params.lambda_reg)))
    }

    /// An engine that looks for nothing but an exact fit.
    pub(in crate::training) fn exact(
        job: FitJob<'_>,
        params: &AlsParams,
        context: &RunContext<'_, '_>,
    ) -> Result<Self, Error> {
        AlsEngine::with_polish(job, params, context, None)
    }

    fn with_polish(
        job: FitJob<'_>,
        params: &AlsParams,
        context: &RunContext<'_, '_>,
        polish: Option<f64>,
    ) -> Result<Self, Error> {
        let FitJob { problem, entries, sets, .. } = job;
        let least_squares = LeastSquares::new(problem, &entries.into_entries()?, params);
        let reported = sets.reported.map(EntrySource::into_entries).transpose()?;
        let warm = |model: &Model| least_squares.take_over(model);
        Ok(AlsEngine {
            state: context.warm.map_or_else(|| least_squares.start(0), warm),
            reported: reported.map(|set| least_squares.arrange(set)),
            search: Search::new(params.common.epochs, polish),
            epochs: params.common.epochs,
            error: f64::INFINITY,
            least_squares,
        })
    }

    /// Whether all entries are fitted exactly, and are more than it takes to fit anything.
    pub(in crate::training) fn is_exact(&self) -> bool {
        let (_, error) = self.least_squares.errors(&self.state);
        error < EXACT && self.least_squares.entries() as f64 > MANY * self.least_squares.free()
    }
}

impl Engine for AlsEngine {
    fn epoch(&mut self, _epoch: usize, interrupt: &AtomicBool) -> Result<bool, Error> {
        Ok(self.least_squares.sweep(&mut self.state, self.search.ridge(), interrupt))
    }

    fn evaluate(&mut self) -> Result<Rmses, Error> {
        let (train, error) = self.least_squares.errors(&self.state);
        self.error = error;
        let test = self.reported.as_ref();
        let test = test.map(|set| self.least_squares.rmse(&self.least_squares.model(&self.state), set));
        Ok(Rmses { train: self.least_squares.spread * train, test, watched: None })
    }

    fn judge(&mut self, epoch: usize, _rmses: &Rmses) -> Verdict {
        match self.search.judge(epoch, self.error, &self.state) {
            Next::End => return Verdict::Stop(Stop::Tolerance),
            // There is no other sweep.
            _ if epoch >= self.epochs => {}
            Next::Sweep => {}
            Next::Start(start) => self.state = self.least_squares.start(start),
            Next::Polish => {
                if let Some(best) = self.search.best() {
                    self.state = best.clone();
                }
            }
        }
        Verdict::Keep
    }

    fn finish(&mut self, epochs: usize, _best: Option<Best>) -> usize {
        // A sweep that was interrupted has changed the state, and a start that had just begun is not what was found.
        let (_, error) = self.least_squares.errors(&self.state);
        self.search.better(epochs, error, &mut self.state)
    }

    fn model(&mut self) -> Result<Model, Error> {
        Ok(self.least_squares.model(&self.state))
    }

    fn cells(&self) -> f64 {
        self.least_squares.cells()
    }

    fn save(&mut self, _best: Option<Best>) -> Result<StateArrays, Error> {
        let mut arrays = StateArrays::default();
        put_state("now", &self.state, &mut arrays);
        self.search.put(&mut arrays);
        Ok(arrays)
    }

    fn restore(&mut self, mut arrays: StateArrays, epochs: usize) -> Result<Option<Best>, Error> {
        self.state = self.least_squares.blank();
        get_state("now", &mut self.state, &mut arrays)?;
        self.search.get(&self.least_squares, epochs, &mut arrays)?;
        Ok(None)
    }
}
