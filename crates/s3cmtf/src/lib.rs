//! Sparse coupled matrix-tensor factorization.
//!
//! A [`Problem`] is a sparse tensor and the matrices coupled to its modes. [`Training`] turns it into a [`Run`]:
//! a [`Model`] (a core and a factor per mode and per matrix) and the record of how it came about. Data goes one
//! way: files, problem, training, model, files. [`Tuning`] searches for the settings of a training, and [`Ablation`] says what
//! each matrix and mode is worth.

pub mod discovery;
mod error;
pub mod files;
pub mod input;
mod model;
mod params;
pub mod prepare;
mod problem;
pub mod report;
pub mod synthetic;
pub mod table;
mod training;
mod tune;
pub mod world;

pub use error::Error;
pub use model::{
    Core, CoupledFactor, Effects, Errors, Factor, Model, Offsets, SimpleErrors, StdScale, Uncertainty,
};
pub use params::{
    Algorithm, CoreKind, Instructions, MAX_CORE, MAX_RANK, Method, Params, Part, PartialParams, Preset,
    Scheme, Start,
};
pub use problem::{
    Absent, Blocks, Cells, Coupled, Duplicates, Entries, HoldOut, LeftOut, Mode, Naming, Problem, ProblemBuilder,
    StoredProblem, Visit, holdout,
};
pub use training::{
    Checkpoint, CheckpointMeta, DataRecord, Epoch, FoldIn, Folded, Gradient, Memory, MemoryBudget, Record,
    Run, Scratch, StateArrays, Stop, Summary, Training, auto_ranks, gradient, objective,
};
pub use tune::{
    Ablated, Ablation, AblationEffect, AblationEvent, Becomes, Change, End, Event, Skip, Trial, Tuned,
    Tuning, Verdict, Why,
};

/// The vector instructions that runs on this machine use unless told otherwise, as in `run.json`.
pub fn instructions() -> &'static str {
    s3cmtf_kernels::Level::best().name()
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
