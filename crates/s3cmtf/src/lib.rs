//! Sparse coupled matrix-tensor factorization (CMTF): a sparse tensor is factorized together with the matrices that share a mode
//! with it, from its observed entries only.
//!
//! The default is a Bayesian Tucker factorization by Gibbs sampling ([`Algorithm::Bayes`]): factors, core, ranks, noise and the
//! weights of coupled matrices are sampled in turn, the model is the posterior mean of the samples, and predictions have a
//! predictive standard deviation. A diagonal core makes it a CP (PARAFAC) model. The stochastic gradient descent of the S3CMTF
//! paper ([`Algorithm::Sgd`]) and alternating least squares ([`Algorithm::Als`]) are the alternatives.
//!
//! ```
//! use s3cmtf::{Absent, Cells, Coupled, Entries, Params, Problem, Training};
//!
//! # fn main() -> Result<(), s3cmtf::Error> {
//! // One array of indices per mode, counted from 0, and the values: user, film, stars.
//! let ratings = Entries::new(vec![vec![0, 0, 1, 2, 2], vec![0, 1, 1, 0, 2]], vec![5.0, 3.0, 2.0, 4.0, 1.0])?;
//! // The genres of films: a matrix whose rows are the films, coupled to the second mode.
//! let genres = Entries::new(vec![vec![0, 1, 2], vec![0, 0, 1]], vec![1.0, 1.0, 1.0])?;
//! let problem = Problem::builder(ratings).couple(Coupled::new(1, Absent::Zeros, genres)?).build()?;
//!
//! let params = Params { epochs: 20, ..Params::default() };
//! let run = Training::new(problem, params).run()?;
//!
//! // What user 1 would give film 2, within the range of the ratings, and how far off that may well be.
//! let cells = Cells::new(vec![vec![1], vec![2]])?;
//! let (stars, std) = (run.model.predict(&cells, true)?, run.model.std(&cells)?);
//! assert!((1.0..=5.0).contains(&stars[0]) && std[0] > 0.0);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Problem`] is a sparse tensor and the matrices coupled to its modes. [`Training`] turns it into a [`Run`]: a [`Model`] (a
//! core and a factor per mode and per matrix) and the [`Record`] of how it came about. [`FoldIn`] takes up what comes later,
//! [`discovery`] says what a model has found, [`files`] saves and loads, [`Tuning`] searches for settings, and [`Ablation`] says
//! what each matrix and mode is worth.
#![cfg_attr(
    feature = "tables",
    doc = "Problems of tables in files or in memory, with names and times, are made by [`input`]."
)]
#![cfg_attr(feature = "report", doc = "A [`report`] is a run as one page.")]
//! The programs in `examples/` are there to be copied.
//!
//! # Features
//!
//! - `tables` (default): tables in and out of files, as CSV, NumPy, Matrix Market and plain indices, packed or not.
//! - `arrow`: Parquet and Arrow IPC files, too.
//! - `report` (default): reports.
//!
//! Without any, arrays are factorized, and models, problems and checkpoints are saved and loaded.

pub mod discovery;
mod error;
pub mod files;
#[cfg(feature = "tables")]
pub mod input;
mod layout;
mod likelihood;
mod model;
mod nodes;
mod parallel;
mod params;
#[cfg(feature = "tables")]
mod prepare;
mod problem;
#[cfg(feature = "report")]
pub mod report;
mod synthetic;
#[cfg_attr(
    not(feature = "tables"),
    allow(dead_code, unused_imports, reason = "a part is for reading files alone")
)]
pub mod table;
mod training;
pub mod tune;
mod world;

pub use error::Error;
pub use likelihood::Likelihood;
pub use model::{
    Choice, Core, CoupledFactor, Effects, Errors, Factor, Model, Offsets, Scores, SimpleErrors, StdScale,
    Uncertainty,
};
pub use nodes::Exchange;
pub use params::{
    Algorithm, Component, CoreKind, CoreUpdate, Device, Instructions, Method, OptimizerKind, Params, Scheme,
    Shuffle, SmallModes, Start, ZerosUpdate,
};
pub use problem::{
    Absent, Blocks, Cells, Coupled, Duplicates, Entries, HoldOut, LeftOut, Mode, Naming, Problem,
    ProblemBuilder, StoredProblem, Visit,
};
pub use training::{
    Checkpoint, CheckpointMeta, DataRecord, Epoch, FoldIn, Folded, MemoryBudget, Record, Run, Scratch,
    StateArrays, Stop, Summary, Training,
};
pub use tune::{Ablation, Tuning};

/// What the command, the Python package and the tests need beside the interface; it may change in any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::params::{MAX_CORE, MAX_RANK, PartialParams, Preset};
    pub use crate::problem::{describe, holdout};
    pub use crate::training::{
        EpochParts, Gradient, Memory, Work, auto_ranks, epoch_parts, gradient, objective,
    };

    /// The vector instructions that runs on this machine use unless told otherwise, as in `run.json`.
    pub fn instructions() -> &'static str {
        s3cmtf_kernels::Level::best().name()
    }

    pub mod files {
        pub use crate::files::atomic::{check_file, make_folder, write_atomically};
        pub use crate::files::*;

        #[cfg(feature = "tables")]
        pub use crate::files::{
            apart::check_apart,
            divide::{count_text_rows, divide_text},
            export::{write_csv, write_csv_parts, write_parts, write_table, write_values},
            import::{Coupling, Dataset, Imported, import},
            limits::{RAISE_MEMORY, limit_memory, parse_size},
            read::{
                SampledColumn, Source, columns, format, is_numbered, kinds, line_of_row, read_rows,
                read_table, with_row_line,
            },
            similar::similar,
            table::{COUNT_PAIRS, line_of, read_coordinates, read_entries, with_line},
        };
    }

    #[cfg(feature = "tables")]
    pub mod input {
        pub use crate::input::couple::SideMatrix;
        pub use crate::input::tensor::{plain_names, whole_problem};
        pub use crate::input::*;
    }

    #[cfg(feature = "tables")]
    pub mod prepare {
        pub use crate::prepare::*;
    }

    pub mod synthetic {
        pub use crate::synthetic::*;
    }

    pub mod table {
        pub use crate::table::empty::SKIP_EMPTY;
        pub use crate::table::nearest::{did_you_mean, did_you_mean_any, nearest};
        pub use crate::table::shortened::shortened;
        pub use crate::table::*;
    }

    pub mod world {
        pub use crate::world::*;
    }
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
