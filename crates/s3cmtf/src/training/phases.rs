//! One fit, or with early stopping two: on a part of the entries, and then on all of them for as many epochs as were best.

use std::sync::atomic::Ordering;

use super::als::AlsEngine;
use super::bayes;
use super::checkpoint::EarlyStop;
use super::engine::Engine;
use super::ials::{IalsEngine, choice};
use super::job::{FitJob, FitResult, RunContext, Sets};
use super::offsets;
use super::opponents::OpponentEngine;
use super::run::{DataRecord, Stop};
use super::sgd::SgdEngine;
use super::train::train;
use crate::Error;
use crate::model::{Choice, ChoiceWeights, Offsets, SimpleErrors};
use crate::nodes::Nodes;
use crate::params::{Algorithm, CheckedParams, CommonParams, Component, CoreKind, Params};
use crate::problem::{EntrySource, HoldOut, Mode, Problem};

/// So many products, about, are made to see whether entries are exact, but at least so many epochs are run: enough for a
/// start. On noisy data that is wasted: about as long as a run of bayes takes there, and longer than one of sgd.
const EXACT_WORK: f64 = 2e8;
const EXACT_EPOCHS: usize = 30;

impl<'a> RunContext<'a, '_> {
    /// Fits all entries of a problem, which has none itself.
    pub(super) fn all(
        &mut self,
        problem: &Problem,
        entries: EntrySource,
        test: Option<EntrySource>,
    ) -> Result<FitResult, Error> {
        let params = self.params;
        self.one(FitJob { problem, entries, params, sets: Sets { reported: test, watched: None } })
    }

    /// Fits what is left when some entries are held out, and with patience all of them then; tells `data` what was fitted.
    pub(super) fn held_out(
        &mut self,
        problem: &Problem,
        entries: EntrySource,
        how: HoldOut,
        test: Option<EntrySource>,
        data: &mut DataRecord,
    ) -> Result<FitResult, Error> {
        let params = self.params;
        let CommonParams { patience, seed, .. } = *params.common();
        let whole = patience.map(|_| entries.clone());
        let (rest, held) = entries.split_among(how, seed, self.nodes)?;
        if test.is_none() {
            data.test_entries = self.nodes.add(held.len() as u64)? as usize;
        }
        let sets = match test.clone() {
            None => Sets { reported: Some(held), watched: None },
            test => Sets { reported: test, watched: Some(held) },
        };
        let Some(whole) = whole else {
            data.entries = self.nodes.add(rest.len() as u64)? as usize;
            data.mean = rest.mean(self.nodes)?;
            data.fingerprint = problem.fingerprint_with(&rest, self.nodes)?.0;
            data.holdout = sets.watched.is_none().then_some(how);
            return self.one(FitJob { problem, entries: rest, params, sets });
        };
        let first = match self.checkpointer.resumed_first() {
            Some(first) => first,
            None => {
                let mut first = self.one(FitJob { problem, entries: rest, params, sets })?;
                first.validation = first.watched();
                if self.interrupt.load(Ordering::Relaxed) || first.best_epoch == 0 {
                    return Ok(first);
                }
                EarlyStop::new(&first)
            }
        };
        self.checkpointer.about.first = Some(first.clone());
        let params = &params.for_epochs(first.best_epoch);
        let sets = Sets { reported: test, watched: None };
        let mut last = self.one(FitJob { problem, entries: whole, params, sets })?;
        last.after(&first);
        Ok(last)
    }

    /// Fits all entries exactly, if that can be and says something.
    pub(super) fn exact(
        &mut self,
        problem: &Problem,
        entries: &EntrySource,
        test: Option<EntrySource>,
    ) -> Result<Option<FitResult>, Error> {
        let params = self.params;
        let CheckedParams::Als(own) = params else { return Ok(None) };
        let job =
            |entries, reported| FitJob { problem, entries, params, sets: Sets { reported, watched: None } };
        let mut engine = AlsEngine::exact(job(entries.clone(), test.clone()), own, self)?;
        let result = train(&mut engine, params.common(), self)?;
        if !engine.is_exact() {
            return Ok(None);
        }
        Baselines::new(&job(entries.clone(), test), self.nodes)?.add_to(result).map(Some)
    }

    /// The settings of [`RunContext::exact`] before a run of others on so many entries of so many modes.
    pub(super) fn exact_params(params: &Params, order: usize, entries: usize) -> Params {
        let Params { epochs, lambda_reg, .. } = Params::als();
        let ranks = params.ranks_for(order);
        let core: f64 = match params.core {
            CoreKind::Full => ranks.iter().map(|&rank| rank as f64).product(),
            CoreKind::Diagonal => ranks.iter().map(|&rank| rank as f64).sum(),
        };
        let squares: f64 = ranks.iter().map(|&rank| (rank * rank) as f64).sum();
        let affordable = EXACT_WORK / (entries.max(1) as f64 * (core + squares));
        let epochs = (affordable as usize).clamp(EXACT_EPOCHS, epochs);
        Params { algorithm: Algorithm::Als, epochs, lambda_reg, ..params.clone() }
    }

    fn one(&mut self, job: FitJob<'_>) -> Result<FitResult, Error> {
        let params = job.params;
        // Before training, which takes the entries. They are for entries alone, and say nothing of zeros.
        let baselines = (!params.has_zeros()).then(|| Baselines::new(&job, self.nodes)).transpose()?;
        let choice = self.choice(&job)?;
        let mut engine = self.engine(job)?;
        let mut result = train(engine.as_mut(), params.common(), self)?;
        if let Some((choice, weights)) = choice {
            result.model = result.model.with_choice(choice)?;
            result.model.choice_weights = Some(weights);
        }
        match baselines {
            Some(baselines) => baselines.add_to(result),
            None => Ok(result),
        }
    }

    /// What people choose, where the algorithm learns that, too, and entries are in memory.
    fn choice(&self, job: &FitJob<'_>) -> Result<Option<(Choice, ChoiceWeights)>, Error> {
        let (CheckedParams::Bayes(params), EntrySource::Memory(entries)) = (job.params, &job.entries) else {
            return Ok(None);
        };
        if params.absent_weight.is_some() || params.without.contains(&Component::Choice) {
            return Ok(None);
        }
        let CommonParams { seed, level, .. } = params.common;
        choice(job.problem, entries, (seed, level), self.nodes, self.interrupt)
    }

    /// The engine of each algorithm.
    fn engine(&self, job: FitJob<'_>) -> Result<Box<dyn Engine + 'a>, Error> {
        Ok(match job.params {
            CheckedParams::Bayes(params) => bayes::engine(job, params, self)?,
            CheckedParams::Sgd(params) => Box::new(SgdEngine::new(job, params, self)?),
            CheckedParams::Als(params) => Box::new(AlsEngine::new(job, params, self)?),
            CheckedParams::Ials(params) => Box::new(IalsEngine::new(job, params, self)?),
            CheckedParams::Opponent(params) => Box::new(OpponentEngine::new(job, params, self)?),
        })
    }
}

/// What every model is compared with.
struct Baselines {
    offsets: Offsets,
    simple: Option<SimpleErrors>,
}

impl Baselines {
    fn new(job: &FitJob<'_>, nodes: &Nodes) -> Result<Self, Error> {
        let rows: Vec<usize> = job.problem.modes().iter().map(Mode::rows).collect();
        let (offsets, range) = offsets::fit(&job.entries, &rows, job.params.common().seed, nodes)?;
        let reported = job.sets.reported.as_ref();
        let simple = reported.map(|entries| offsets.errors(entries, range, nodes)).transpose()?.flatten();
        Ok(Baselines { offsets, simple })
    }

    fn add_to(self, mut result: FitResult) -> Result<FitResult, Error> {
        result.model = result.model.with_offsets(self.offsets)?;
        result.simple = self.simple;
        Ok(result)
    }
}

impl FitResult {
    /// Takes over what a run on a part of the entries found out for this one on all of them. Entries that were held out
    /// then are not held out now, so that their RMSE is that of then.
    fn after(&mut self, first: &EarlyStop) {
        self.seconds += first.seconds;
        if self.stop == Stop::Epochs {
            self.stop = first.stop;
        }
        self.test_rmse = self.test_rmse.or(first.test_rmse);
        self.simple = self.simple.or(first.simple);
        for (epoch, &rmse) in self.history.iter_mut().zip(&first.validation) {
            epoch.validation_rmse = Some(rmse);
        }
        self.validation.clone_from(&first.validation);
    }

    /// What patience has seen.
    fn watched(&self) -> Vec<f64> {
        self.history.iter().filter_map(|epoch| epoch.validation_rmse).collect()
    }
}

impl EarlyStop {
    fn new(fitted: &FitResult) -> Self {
        let FitResult { best_epoch, stop, test_rmse, simple, seconds, .. } = *fitted;
        EarlyStop { best_epoch, stop, test_rmse, simple, seconds, validation: fitted.validation.clone() }
    }
}
