//! What a run needs to go on as if it had never been stopped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::run::{Epoch, Stop};
use crate::Error;
use crate::model::SimpleErrors;
use crate::nodes::Nodes;
use crate::params::{Device, Params};
use crate::problem::HoldOut;

/// The state of a run between two epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// What is known in words and single numbers.
    pub about: CheckpointMeta,
    /// What training changes.
    pub numbers: StateArrays,
}

/// What is known of a run in words and single numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CheckpointMeta {
    /// What was typed to start the run, if it was by a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The settings.
    pub params: Params,
    /// The entries that are held out.
    pub holdout: Option<HoldOut>,
    /// That of the whole problem.
    pub fingerprint: String,
    /// That of the order of its entries: which of them are held out depends on it, and the sums of all algorithms.
    pub order: String,
    /// The epochs so far.
    pub history: Vec<Epoch>,
    /// Seconds of training so far.
    pub seconds: f64,
    /// With patience, and once that has decided: what the first part of the run came to.
    pub(super) first: Option<EarlyStop>,
}

/// What a run on a part of the entries came to, which says for how many epochs all of them are trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EarlyStop {
    pub(super) best_epoch: usize,
    pub(super) stop: Stop,
    pub(super) test_rmse: Option<f64>,
    #[serde(default)]
    pub(super) simple: Option<SimpleErrors>,
    pub(super) seconds: f64,
    #[serde(default)]
    pub(super) validation: Vec<f64>,
}

/// Lists of numbers by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateArrays {
    /// Those of 32 bits.
    pub singles: BTreeMap<String, Vec<f32>>,
    /// Those of 64 bits.
    pub doubles: BTreeMap<String, Vec<f64>>,
}

impl CheckpointMeta {
    /// What is known of a run before its first epoch.
    pub(super) fn new(
        command: Option<String>,
        params: Params,
        holdout: Option<HoldOut>,
        (fingerprint, order): (String, String),
    ) -> Self {
        CheckpointMeta {
            command,
            params,
            holdout,
            fingerprint,
            order,
            history: Vec::new(),
            seconds: 0.0,
            first: None,
        }
    }
}

impl StateArrays {
    pub(super) fn put(&mut self, name: impl Into<String>, values: &[f32]) {
        self.singles.insert(name.into(), values.to_vec());
    }

    pub(super) fn put_doubles(&mut self, name: impl Into<String>, values: &[f64]) {
        self.doubles.insert(name.into(), values.to_vec());
    }

    /// Fills a list of the same length; what is not there or does not fit is an error.
    pub(super) fn get(&mut self, name: &str, values: &mut [f32]) -> Result<(), Error> {
        fill(name, self.singles.remove(name), values, |value| value.is_finite())
    }

    pub(super) fn get_doubles(&mut self, name: &str, values: &mut [f64]) -> Result<(), Error> {
        fill(name, self.doubles.remove(name), values, |value| value.is_finite())
    }
}

fn fill<T: Copy>(
    name: &str,
    found: Option<Vec<T>>,
    values: &mut [T],
    is_finite: impl Fn(&T) -> bool,
) -> Result<(), Error> {
    // A run that goes on has not diverged.
    let found = found.filter(|found| found.len() == values.len() && found.iter().all(is_finite));
    let found =
        found.ok_or_else(|| Error::Problem(format!("the checkpoint has no \"{name}\" that fits the run")))?;
    values.copy_from_slice(&found);
    Ok(())
}

impl Checkpoint {
    /// So often is one kept, unless told otherwise.
    pub const EVERY: Duration = Duration::from_secs(600);

    /// The settings to go on with: those of the run, which others that were `said` must not contradict. Only the device may be
    /// another.
    ///
    /// # Errors
    /// If they do.
    pub fn params(&self, said: &Params) -> Result<Params, Error> {
        let params = &self.about.params;
        let device = Some(said.device).filter(|&device| device != Device::Auto).unwrap_or(params.device);
        let same = |other: &Params| *said == Params { device: said.device, ..other.clone() };
        if !same(params) && !same(&Params::default()) {
            let what = "resume goes on with the settings of the run: no others can be given but the device";
            return Err(Error::Request(what.into()));
        }
        Ok(Params { device, ..params.without_ignored() })
    }

    /// Says what is wrong with going on from here as a run that is `about` something.
    fn check(&self, about: &CheckpointMeta) -> Result<(), Error> {
        // These change nothing that matters, or are allowed to.
        let free = |params: &Params| Params {
            threads: 0,
            instructions: None,
            device: Device::Auto,
            ..params.without_ignored()
        };
        if free(&self.about.params) != free(&about.params) || self.about.holdout != about.holdout {
            return Err(Error::Problem("the run to resume had other settings".into()));
        }
        if self.about.fingerprint != about.fingerprint {
            return Err(Error::Problem("the run to resume had other data".into()));
        }
        // Nodes have their entries in no order, and what they come to does not depend on any.
        let is_ordered = !self.about.order.is_empty() && !about.order.is_empty();
        if is_ordered && self.about.order != about.order {
            let what = "the run to resume had its entries in another order, and would end with another model: give them as they were";
            return Err(Error::Problem(what.into()));
        }
        // No such run is kept, but what is in a file may be anything.
        let (epochs, done) = (self.about.params.epochs, self.about.history.len());
        let best = self.about.first.as_ref().map_or(1, |first| first.best_epoch);
        if done > epochs || !(1..=epochs).contains(&best) {
            return Err(Error::Problem(format!(
                "the run to resume has {done} epochs behind it and the best is {best}, but it had 1 to {epochs}"
            )));
        }
        Ok(())
    }
}

/// What takes checkpoints.
pub(super) type Save<'a> = Box<dyn FnMut(Checkpoint) + Send + 'a>;

/// Keeps checkpoints on the way, and has the one that a run goes on from.
pub(super) struct Checkpointer<'a> {
    every: Option<Duration>,
    last: Instant,
    save: Save<'a>,
    resumed: Option<Checkpoint>,
    nodes: Nodes,
    /// What stays the same from checkpoint to checkpoint.
    pub(super) about: CheckpointMeta,
}

impl<'a> Checkpointer<'a> {
    /// A keeper for a run; the checkpoint that it is to go on from must be one of such a run.
    pub(super) fn new(
        checkpoints: Option<(Duration, Save<'a>)>,
        resume: Option<Checkpoint>,
        about: CheckpointMeta,
        nodes: &Nodes,
    ) -> Result<Self, Error> {
        if let Some(checkpoint) = &resume {
            checkpoint.check(&about)?;
        }
        let (every, save) = match checkpoints {
            Some((every, save)) => (Some(every), save),
            None => (None, Box::new(|_| {}) as Save<'a>),
        };
        Ok(Checkpointer { every, last: Instant::now(), save, resumed: resume, nodes: nodes.clone(), about })
    }

    /// What the first part of the run came to, if it goes on from the second.
    pub(super) fn resumed_first(&self) -> Option<EarlyStop> {
        self.resumed.as_ref().and_then(|checkpoint| checkpoint.about.first.clone())
    }

    /// What the run goes on from, if it does.
    pub(super) fn resume(&mut self) -> Option<Checkpoint> {
        self.resumed.take()
    }

    /// Keeps a checkpoint, if it is time.
    ///
    /// # Errors
    /// If other nodes cannot be reached: all have a part of it, and the first keeps it.
    pub(super) fn keep(
        &mut self,
        history: &[Epoch],
        seconds: f64,
        numbers: impl FnOnce() -> Result<StateArrays, Error>,
    ) -> Result<(), Error> {
        let is_time = self.every.is_some_and(|every| self.last.elapsed() >= every);
        if !self.nodes.as_first(is_time)? {
            return Ok(());
        }
        let numbers = numbers()?;
        if self.nodes.own() > 0 {
            return Ok(());
        }
        let about = CheckpointMeta { history: history.to_vec(), seconds, ..self.about.clone() };
        (self.save)(Checkpoint { about, numbers });
        // From now on, so that saving never takes all the time.
        self.last = Instant::now();
        Ok(())
    }
}
