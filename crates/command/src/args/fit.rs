//! The flags of `fit`: the settings of the library by the same names, and what goes in and out.

use std::path::PathBuf;

use clap::Args;
use s3cmtf::{Model, Params};

use super::choices::{CoreChoice, InstructionsChoice, MethodChoice, Preset, SchemeChoice};
use super::whole;
use crate::couple::CoupleArg;

/// What `fit` was given. A setting that was not typed is `None`, so that the preset's stands.
#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// The file of the tensor's entries: an index per mode, counted from 1, then the value
    pub(crate) tensor: PathBuf,

    /// Couple a matrix (row, column, value) whose rows are those of a mode, given by name or by number from 1.
    /// Absent cells are unknown (missing, the default), zeros, or the matrix is a graph within the mode.
    /// weight=W, 0 or more, takes the place of --lambda-couple
    #[arg(long, value_name = "MODE=FILE[,zeros|,graph|,missing][,weight=W]", help_heading = "Data")]
    pub(crate) couple: Vec<CoupleArg>,
    /// The names of the modes, such as user,business,month [default: mode1,mode2,..]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', help_heading = "Data")]
    pub(crate) modes: Option<Vec<String>>,
    /// The number of ids of each mode; an index beyond it is an error [default: the largest index]
    #[arg(long, value_name = "I1,I2,..", value_delimiter = ',', value_parser = whole::<u32>, help_heading = "Data")]
    pub(crate) sizes: Option<Vec<u32>>,
    /// Evaluate each epoch on the entries of this file
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) test: Option<PathBuf>,
    /// Hold out this share of the entries, between 0 and 1. --patience watches them, and without --test they
    /// are what test RMSE means
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) holdout: Option<f64>,
    /// Start from this model; unless given, its names of modes, ranks and kind of core are taken too
    #[arg(long, value_name = "MODEL", help_heading = "Data")]
    pub(crate) init: Option<PathBuf>,

    /// One rank for all modes, from 1 to 1024 [default: 10]
    #[arg(long, value_name = "J", conflicts_with = "ranks", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Model")]
    rank: Option<usize>,
    /// The rank of each mode, from 1 to 1024
    #[arg(long, value_name = "J1,J2,..", value_delimiter = ',', value_parser = whole::<usize>, help_heading = "Model")]
    ranks: Option<Vec<usize>>,
    /// Which entries of the core may differ from zero [default: full]
    #[arg(long, value_name = "KIND", help_heading = "Model")]
    core: Option<CoreChoice>,
    /// The weight of the regulariser, 0 or more [default: 5; paper: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Model")]
    lambda_reg: Option<f32>,
    /// The weight of each coupled matrix without one of its own, 0 or more [default: 10]
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Model")]
    lambda_couple: Option<f32>,
    /// Regularise absolute values rather than squares
    #[arg(long, help_heading = "Model")]
    l1: bool,
    /// Keep factors and core at or above zero
    #[arg(long, help_heading = "Model")]
    nonnegative: bool,
    /// Make the factors orthogonal at the end; not with --nonnegative
    #[arg(long, help_heading = "Model")]
    orthogonal: bool,

    /// The settings that explicit flags override
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = "Training")]
    preset: Preset,
    /// The most passes over the data, 1 or more [default: 50]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    epochs: Option<usize>,
    /// The first step size, above 0 [default: fitted to the data; paper: 0.001]
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    rate: Option<f32>,
    /// The decay mu of the step size, rate / (1 + mu t) with t from 0, 0 or more [default: 0.1]
    #[arg(long, value_name = "MU", allow_negative_numbers = true, help_heading = "Training")]
    decay: Option<f32>,
    /// Stop when the training RMSE changes by less than this share of itself; 0 never does [default: 0]
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    tolerance: Option<f64>,
    /// Stop after N epochs, 1 or more, without a better held-out RMSE, and keep the best model; needs --test or
    /// --holdout [default: never]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) patience: Option<usize>,
    /// How gradients are computed; every method computes the same ones [default: fast]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    method: Option<MethodChoice>,
    /// How threads share the factors [default: blocks]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    scheme: Option<SchemeChoice>,
    /// Threads, from 1 to 1024; 0 is all cores [default: 0]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    threads: Option<usize>,
    /// The vector instructions of training [default: the best that this machine has]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    instructions: Option<InstructionsChoice>,
    /// The seed of everything random [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_negative_numbers = true, help_heading = "Training")]
    seed: Option<u64>,
    /// The same seed gives the same model, bit for bit, for any number of threads
    #[arg(long, help_heading = "Training")]
    deterministic: bool,

    /// Save the model in this folder: a new or empty one, or one that holds a model, which is replaced
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object per epoch and one at the end, and nothing else, on stdout
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress; notes, errors and the summary are still printed
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl FitArgs {
    /// The settings: the preset's, then those of the model to start from, then what was typed.
    pub(crate) fn params(&self, init: Option<&Model>) -> Params {
        let mut params = self.preset.params();
        if let Some(model) = init {
            params.ranks = model.core().ranks(model.modes().len());
            params.core = model.core_kind();
        }
        set(&mut params.ranks, self.rank.map(|rank| vec![rank]).or_else(|| self.ranks.clone()));
        set(&mut params.core, self.core.map(Into::into));
        set(&mut params.method, self.method.map(Into::into));
        set(&mut params.scheme, self.scheme.map(Into::into));
        set(&mut params.epochs, self.epochs);
        set(&mut params.rate, self.rate.map(Some));
        set(&mut params.decay, self.decay);
        set(&mut params.lambda_reg, self.lambda_reg);
        set(&mut params.lambda_couple, self.lambda_couple);
        set(&mut params.tolerance, self.tolerance);
        set(&mut params.patience, self.patience.map(Some));
        set(&mut params.threads, self.threads);
        set(&mut params.instructions, self.instructions.map(|choice| Some(choice.into())));
        set(&mut params.seed, self.seed);
        params.l1 |= self.l1;
        params.nonnegative |= self.nonnegative;
        params.orthogonal |= self.orthogonal;
        params.deterministic |= self.deterministic;
        params
    }
}

fn set<T>(setting: &mut T, typed: Option<T>) {
    if let Some(typed) = typed {
        *setting = typed;
    }
}
