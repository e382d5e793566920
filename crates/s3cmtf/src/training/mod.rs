//! From a problem and settings to a model: the one loop.

mod als;
mod bayes;
mod chain;
mod checkpoint;
mod cholesky;
mod complete;
mod coupled;
mod dense;
mod designs;
mod engine;
mod fold_in;
mod frame;
mod gram;
mod ials;
mod job;
mod matrix;
mod memory;
mod notes;
mod offsets;
mod opponents;
mod phases;
mod pieces;
mod run;
mod sgd;
mod sparse;
mod test_set;
mod train;
mod view;

pub use crate::layout::{MemoryBudget, Scratch};
pub use bayes::{EpochParts, Work, epoch_parts};
pub use checkpoint::{Checkpoint, CheckpointMeta, StateArrays};
pub use fold_in::{FoldIn, Folded};
pub use memory::Memory;
pub use run::{DataRecord, Epoch, Record, Run, Stop, Summary};
pub use sgd::{Gradient, gradient, objective};

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::checkpoint::{Checkpointer, Save};
use self::job::{FitResult, RunContext};
use crate::Error;
use crate::likelihood::Likelihood;
use crate::model::{Model, locate};
use crate::nodes::{ALONE, Exchange, Nodes};
use crate::params::{Algorithm, CheckedParams, Params};
use crate::problem::{Absent, Blocks, Entries, EntrySource, HoldOut, Problem, StoredProblem};

/// The ranks of a full core that a run starts with which finds them itself, see [`Params::ranks`]: it ends with as many or fewer.
pub fn auto_ranks(problem: &Problem) -> Vec<usize> {
    let counts = problem.modes().iter().enumerate().map(|(mode, rows)| {
        let mut counts = vec![0u32; rows.rows()];
        problem.entries().indices(mode).iter().for_each(|&row| counts[row as usize] += 1);
        counts
    });
    bayes::widest(&counts.collect::<Vec<_>>(), false, 1.0)
}

/// The likelihood that values look like they come from, where a Gaussian one was taken that is none.
fn looks_like(params: &Params, entries: &EntrySource) -> Option<Likelihood> {
    let is_usual = params.algorithm == Algorithm::Bayes
        && params.likelihood == Likelihood::Gaussian
        && params.absent == Absent::Missing;
    match entries {
        EntrySource::Memory(entries) if is_usual => Some(Likelihood::suggested(entries.values())),
        EntrySource::Memory(_) | EntrySource::Stored(_) => None,
    }
    .filter(|&likelihood| likelihood != Likelihood::Gaussian)
}

/// The share of entries that patience watches, unless another is given.
const HOLDOUT: f64 = 0.1;

/// What is told of each epoch.
type Observer<'a> = Box<dyn FnMut(&Epoch) -> ControlFlow<()> + Send + 'a>;

/// A run to be: a problem, settings, and what else it may be given.
pub struct Training<'a> {
    /// Without its entries, if those are stored.
    problem: Problem,
    stored: Option<(Arc<dyn Blocks>, MemoryBudget)>,
    params: Params,
    test: Option<Entries>,
    holdout: Option<HoldOut>,
    warm_start: Option<Model>,
    interrupt: Option<&'a AtomicBool>,
    observer: Option<Observer<'a>>,
    checkpoints: Option<(Duration, Save<'a>)>,
    resume: Option<Checkpoint>,
    command: Option<String>,
    exact_first: bool,
    nodes: Nodes,
}

impl<'a> Training<'a> {
    /// A run of the given settings on the given problem.
    pub fn new(problem: Problem, params: Params) -> Self {
        Training {
            problem,
            stored: None,
            params,
            test: None,
            holdout: None,
            warm_start: None,
            interrupt: None,
            observer: None,
            checkpoints: None,
            resume: None,
            command: None,
            exact_first: false,
            nodes: ALONE.clone(),
        }
    }

    /// A run on a problem whose entries are not in memory; they are put in order in the room that there is, and then read
    /// in every epoch. What comes out is bitwise what a run on the whole problem would come to on the CPU.
    pub fn stored(problem: StoredProblem, params: Params, budget: MemoryBudget) -> Self {
        let StoredProblem { frame, blocks } = problem;
        Training { stored: Some((blocks, budget)), ..Training::new(frame, params) }
    }

    /// Entries, by ids, on which each epoch's model is evaluated; nothing is chosen by them.
    #[must_use]
    pub fn test(mut self, entries: Entries) -> Self {
        self.test = Some(entries);
        self
    }

    /// Holds out a random fraction of the tensor's entries. They are what `test_rmse` reports, unless there is a test set.
    /// With patience, which watches them and holds out a tenth unless told otherwise, the final model is trained on all
    /// entries.
    #[must_use]
    pub fn holdout(self, fraction: f64) -> Self {
        self.holdout_by(HoldOut::Random(fraction))
    }

    /// Holds out entries as [`Training::holdout`] does, but those that `how` says.
    #[must_use]
    pub fn holdout_by(mut self, how: HoldOut) -> Self {
        self.holdout = Some(how);
        self
    }

    /// Starts from a model in place of random numbers; ids that it does not know start as its average row.
    #[must_use]
    pub fn warm_start(mut self, model: Model) -> Self {
        self.warm_start = Some(model);
        self
    }

    /// Stops soon after `flag` becomes true, and keeps the model so far.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Tells `observe` of each epoch. If it breaks, the run stops as by [`Training::interrupt`], whose flag then becomes true:
    /// the model so far is kept, and [`Stop::Interrupted`] is in its summary.
    #[must_use]
    pub fn observe(mut self, observe: impl FnMut(&Epoch) -> ControlFlow<()> + Send + 'a) -> Self {
        self.observer = Some(Box::new(observe));
        self
    }

    /// Gives `save` what is needed to go on, each time that so much time has gone by since the last.
    #[must_use]
    pub fn checkpoints(mut self, every: Duration, save: impl FnMut(Checkpoint) + Send + 'a) -> Self {
        self.checkpoints = Some((every, Box::new(save)));
        self
    }

    /// Tries first whether the data are exactly of the ranks that are asked for, by alternating least squares. If they are,
    /// that model is what comes out, and [`Algorithm::Als`] is in its record. The settings must ask for nothing that `als`
    /// does not have, and there must be more entries than it takes to fit anything; else nothing is tried.
    #[must_use]
    pub fn exact_first(mut self) -> Self {
        self.exact_first = true;
        self
    }

    /// Keeps what was typed to get this run with its record; where it goes on from a checkpoint, what is kept with that
    /// stands.
    #[must_use]
    pub fn command(mut self, line: impl Into<String>) -> Self {
        self.command = Some(line.into());
        self
    }

    /// Goes on from a checkpoint of a run with the same problem and settings; the same entries are held out. What comes out is bitwise what that run would
    /// have come to, if the same is true of two runs of these settings.
    #[must_use]
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Some(checkpoint);
        self
    }

    /// Shares the run with other nodes. Each has the same settings, modes and coupled matrices, and some of the entries, any;
    /// of a test set likewise. All come to the same model, bitwise the one that a node alone would come to with all entries on its CPU.
    /// Checkpoints are kept by the first node.
    #[must_use]
    pub fn share(mut self, exchange: Arc<dyn Exchange>) -> Self {
        self.nodes = Nodes::new(exchange);
        self
    }

    /// Runs.
    ///
    /// # Errors
    /// If a setting is out of range, the test set or the model to start from does not fit the problem, or numbers become
    /// too large.
    pub fn run(self) -> Result<Run, Error> {
        let checked = self.check()?;
        let threads = checked.common().threads;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Error::threads)?;
        pool.install(|| self.run_here(&checked))
    }

    fn check(&self) -> Result<CheckedParams, Error> {
        if self.nodes.is_shared() {
            self.check_shared()?;
        }
        let checked = self.params.checked(&self.problem)?;
        if self.stored.is_some() && self.params.algorithm != Algorithm::Bayes {
            let expected = "bayes, where entries are not in memory";
            return Err(Error::param("algorithm", expected, self.params.algorithm.name()));
        }
        if self.stored.is_some() && self.params.likelihood != Likelihood::Gaussian {
            let expected = "gaussian, where entries are not in memory";
            return Err(Error::param("likelihood", expected, self.params.likelihood.name()));
        }
        if let Some(model) = &self.warm_start {
            let order = self.problem.order();
            if model.modes().len() != order {
                return Err(Error::Problem(format!(
                    "the model to start from has {} modes, but the tensor has {order}",
                    model.modes().len()
                )));
            }
            let ranks: Vec<usize> = model.factors().iter().map(|factor| factor.rank()).collect();
            let list = |ranks: &[usize]| ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let asked = &checked.common().ranks;
            if *asked != ranks && !self.params.is_auto() {
                let expected = format!("{}, as in the model to start from", list(&ranks));
                return Err(Error::param("ranks", expected, list(asked)));
            }
            if self.params.likelihood != model.likelihood() {
                let expected = format!("{}, as in the model to start from", model.likelihood().name());
                return Err(Error::param("likelihood", expected, self.params.likelihood.name()));
            }
            if self.params.core != model.core_kind() {
                let expected = format!("{}, as in the model to start from", model.core_kind().name());
                return Err(Error::param("core", expected, self.params.core.name()));
            }
        }
        if let Some(how) = self.holdout {
            how.check(self.problem.order())?;
        }
        Ok(checked)
    }

    /// What nodes cannot do yet.
    fn check_shared(&self) -> Result<(), Error> {
        let Params { algorithm, likelihood, absent, .. } = self.params;
        if algorithm != Algorithm::Bayes {
            return Err(Error::param("algorithm", "bayes, where nodes share the entries", algorithm.name()));
        }
        if likelihood != Likelihood::Gaussian {
            let expected = "gaussian, where nodes share the entries";
            return Err(Error::param("likelihood", expected, likelihood.name()));
        }
        if absent != Absent::Missing {
            return Err(Error::param("absent", "missing, where nodes share the entries", absent.name()));
        }
        let refused = [
            (
                self.stored.is_some(),
                "nodes that share entries have them in memory: leave out the memory limit",
            ),
            (
                self.warm_start.is_some(),
                "nodes that share entries start from random numbers, not from a model",
            ),
        ];
        match refused.into_iter().find(|(is_asked, _)| *is_asked) {
            Some((_, what)) => Err(Error::Request(what.into())),
            None => Ok(()),
        }
    }

    fn run_here(self, checked: &CheckedParams) -> Result<Run, Error> {
        let Training {
            mut problem,
            stored,
            mut params,
            test,
            holdout,
            warm_start,
            interrupt,
            mut observer,
            checkpoints,
            resume,
            command,
            exact_first,
            nodes,
        } = self;
        let nodes = &nodes;
        nodes.agree("version", env!("CARGO_PKG_VERSION"))?;
        nodes.agree("instructions", checked.common().level.name())?;
        let (entries, budget) = match stored {
            Some((blocks, budget)) => (EntrySource::stored(blocks), Some(budget)),
            None => (EntrySource::Memory(problem.take_entries()), None),
        };
        let never = AtomicBool::new(false);
        let (told, agreed) = (interrupt.unwrap_or(&never), AtomicBool::new(false));
        let interrupt = if nodes.is_shared() { &agreed } else { told };
        let mut observe = |epoch: &Epoch| {
            if observer.as_mut().is_some_and(|observe| observe(epoch).is_break()) {
                told.store(true, Ordering::Relaxed);
            }
        };
        let test = test.map(|entries| locate(problem.modes(), &entries)).transpose()?;
        let test_entries = nodes.add(test.as_ref().map_or(0, Entries::len) as u64)? as usize;
        if test.is_some() && test_entries == 0 {
            return Err(Error::Problem("the test set has no entry".into()));
        }
        let resumed = resume.as_ref().and_then(|begun| begun.about.holdout);
        let holdout = holdout.or(resumed).or(params.patience.map(|_| HoldOut::Random(HOLDOUT)));
        let (fingerprint, order) = problem.fingerprint_with(&entries, nodes)?;
        // A run that goes on comes to what the one that was begun would have come to: that one is to be done again.
        let command = resume.as_ref().and_then(|begun| begun.about.command.clone()).or(command);
        let tries = exact_first
            && !nodes.is_shared()
            && budget.is_none()
            && resume.is_none()
            && holdout.is_none()
            && warm_start.is_none();
        let about =
            CheckpointMeta::new(command.clone(), params.clone(), holdout, (fingerprint.clone(), order));
        let untouched = Checkpointer::new(None, None, about.clone(), &ALONE)?;
        let checkpointer = Checkpointer::new(checkpoints, resume, about, nodes)?;
        let mut data = DataRecord {
            entries: nodes.add(entries.len() as u64)? as usize,
            test_entries,
            mean: entries.mean(nodes)?,
            fingerprint,
            holdout: None,
            later_entries: 0,
            kept: None,
            looks_like: looks_like(&params, &entries).filter(|_| !nodes.is_shared()),
        };
        let warm = warm_start.as_ref();
        let test = test.map(EntrySource::Memory);
        let budget = budget.as_ref();
        let attempt = RunContext::exact_params(&params, problem.order(), entries.len());
        let mut found = None;
        if tries && let Ok(checked) = attempt.checked(&problem) {
            let observe = &mut |_: &Epoch| {};
            let mut context = RunContext {
                params: &checked,
                warm,
                budget,
                interrupt,
                told,
                nodes,
                observe,
                checkpointer: untouched,
            };
            found = context.exact(&problem, &entries, test.clone())?;
        }
        let fitted = match found {
            Some(fitted) => {
                params = attempt;
                fitted.history.iter().for_each(&mut observe);
                fitted
            }
            None => {
                let mut context = RunContext {
                    params: checked,
                    warm,
                    budget,
                    interrupt,
                    told,
                    nodes,
                    observe: &mut observe,
                    checkpointer,
                };
                match holdout {
                    None => context.all(&problem, entries, test)?,
                    Some(how) => context.held_out(&problem, entries, how, test, &mut data)?,
                }
            }
        };
        let FitResult {
            mut model,
            stop,
            history,
            validation,
            best_epoch,
            train_rmse,
            test_rmse,
            simple,
            seconds,
            halvings,
            device: (device, device_note),
        } = fitted;
        if params.nonnegative {
            model.normalize_columns();
        }
        if params.orthogonal {
            model.orthogonalize();
        }
        // Such a model could be saved, but not loaded.
        if !model.is_finite() {
            let what = "training has come to numbers that are too large for 32 bits: make the values smaller, or \
                        start anew where this run was resumed";
            return Err(Error::Problem(what.into()));
        }
        let summary = Summary {
            stop,
            ranks: model.core().ranks(model.modes().len()),
            epochs: history.len(),
            best_epoch,
            train_rmse,
            test_rmse,
            mean_rmse: simple.map(|simple| simple.mean_rmse),
            offsets_rmse: simple.map(|simple| simple.offsets_rmse),
            seconds,
        };
        let record = Record {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            instructions: checked.common().level.name().to_owned(),
            params,
            data,
            threads: checked.common().threads,
            device,
            device_note,
            halvings,
            summary,
            history,
            validation,
        };
        Ok(Run { model, record })
    }
}
