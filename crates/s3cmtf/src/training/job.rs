//! What is to be fitted, what all fits of a run share, and what comes of one.

use std::sync::atomic::AtomicBool;

use super::checkpoint::Checkpointer;
use super::run::{Epoch, Stop};
use crate::layout::MemoryBudget;
use crate::model::{Model, SimpleErrors};
use crate::nodes::Nodes;
use crate::params::CheckedParams;
use crate::problem::{EntrySource, Problem};

/// Entries, by the problem's rows, to evaluate models on.
#[derive(Default)]
pub(super) struct Sets {
    /// Those that are told of.
    pub(super) reported: Option<EntrySource>,
    /// Those that patience watches, if others.
    pub(super) watched: Option<EntrySource>,
}

/// What an algorithm comes to.
pub(super) struct FitResult {
    pub(super) model: Model,
    pub(super) stop: Stop,
    pub(super) history: Vec<Epoch>,
    /// See [`super::run::Record::validation`].
    pub(super) validation: Vec<f64>,
    pub(super) best_epoch: usize,
    pub(super) train_rmse: f64,
    pub(super) test_rmse: Option<f64>,
    /// What simple predictions come to on the same entries.
    pub(super) simple: Option<SimpleErrors>,
    pub(super) seconds: f64,
    pub(super) halvings: u32,
    /// What it was computed on, and why, if that needs saying.
    pub(super) device: (String, Option<String>),
}

/// What is fitted, and how.
pub(super) struct FitJob<'a> {
    /// The problem without its entries.
    pub(super) problem: &'a Problem,
    pub(super) entries: EntrySource,
    pub(super) params: &'a CheckedParams,
    pub(super) sets: Sets,
}

/// What all fits of a run share.
pub(super) struct RunContext<'a, 'k> {
    pub(super) params: &'a CheckedParams,
    pub(super) warm: Option<&'a Model>,
    /// Where entries that are not in memory have room.
    pub(super) budget: Option<&'a MemoryBudget>,
    pub(super) interrupt: &'a AtomicBool,
    /// What this node alone was told, where nodes share the entries: they stop together.
    pub(super) told: &'a AtomicBool,
    pub(super) nodes: &'a Nodes,
    pub(super) observe: &'a mut dyn FnMut(&Epoch),
    pub(super) checkpointer: Checkpointer<'k>,
}
