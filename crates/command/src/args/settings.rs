//! The flags of model and training: the settings of the library by the same names.

use clap::Args;
use s3cmtf::{Algorithm, Model, Params, Record};

use super::choices::{
    AlgorithmChoice, CoreChoice, InstructionsChoice, MethodChoice, PartChoice, Preset, SchemeChoice,
};
use super::{decimal, whole};
use crate::failure::usage;

/// What every verb that trains takes as settings. One that was not typed is `None`, so that the preset's stands.
#[derive(Debug, Args)]
pub(crate) struct SettingArgs {
    /// One rank for all modes, from 1 to 1024 (bayes: from 2) [default: 10]
    #[arg(long, value_name = "J", conflicts_with = "ranks", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Model")]
    rank: Option<usize>,
    /// The rank of each mode, from 1 to 1024
    #[arg(long, value_name = "J1,J2,..", value_delimiter = ',', value_parser = whole::<usize>, help_heading = "Model")]
    ranks: Option<Vec<usize>>,
    /// Which entries of the core may differ from zero [default: full]
    #[arg(long, value_name = "KIND", help_heading = "Model")]
    core: Option<CoreChoice>,
    /// sgd: the weight of the regulariser, 0 or more [default: 5; paper: 0.1]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Model")]
    lambda_reg: Option<f32>,
    /// sgd: the weight of each coupled matrix without one of its own, 0 or more [default: 10]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Model")]
    lambda_couple: Option<f32>,
    /// sgd: regularise absolute values rather than squares
    #[arg(long, help_heading = "Model")]
    l1: bool,
    /// sgd: keep factors and core at or above zero
    #[arg(long, help_heading = "Model")]
    nonnegative: bool,
    /// Make the factors orthogonal at the end; not with --nonnegative
    #[arg(long, help_heading = "Model")]
    orthogonal: bool,

    /// The settings that explicit flags override
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = "Training")]
    preset: Preset,
    /// How the model is found; flags marked sgd choose that [default: bayes]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    algorithm: Option<AlgorithmChoice>,
    /// bayes: leave out parts of the algorithm, to see what they are worth
    #[arg(long, value_name = "PART,..", value_delimiter = ',', help_heading = "Training")]
    without: Vec<PartChoice>,
    /// The most passes over the data, 1 or more [default: 120; sgd: 50]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    epochs: Option<usize>,
    /// sgd: the first step size, above 0 [default: fitted to the data; paper: 0.001]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    rate: Option<f32>,
    /// sgd: the decay mu of the step size, rate / (1 + mu t) with t from 0, 0 or more [default: 0.1]
    #[arg(long, value_parser = decimal::<f32>, value_name = "MU", allow_negative_numbers = true, help_heading = "Training")]
    decay: Option<f32>,
    /// sgd: stop when the training RMSE changes by less than this share of itself; 0 never does [default: 0]
    #[arg(long, value_parser = decimal::<f64>, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    tolerance: Option<f64>,
    /// Stop after N epochs, 1 or more, without a better RMSE on entries that were held out, then train on all
    /// entries for as many epochs as were best [default: never]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    patience: Option<usize>,
    /// sgd: how gradients are computed; every method computes the same ones [default: fast]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    method: Option<MethodChoice>,
    /// sgd: how threads share the factors; in bayes they share none [default: blocks]
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
    /// The same seed gives the same model, bit for bit, for any number of threads; bayes always does that
    #[arg(long, help_heading = "Training")]
    deterministic: bool,
}

impl SettingArgs {
    /// The first flag that was typed and that only stochastic gradient descent has.
    fn only_sgd(&self) -> Option<&'static str> {
        let typed = [
            ("--rate", self.rate.is_some()),
            ("--decay", self.decay.is_some()),
            ("--lambda-reg", self.lambda_reg.is_some()),
            ("--lambda-couple", self.lambda_couple.is_some()),
            ("--tolerance", self.tolerance.is_some()),
            ("--method", self.method.is_some()),
            ("--l1", self.l1),
            ("--nonnegative", self.nonnegative),
            ("--core diagonal", matches!(self.core, Some(CoreChoice::Diagonal))),
            ("--rank 1", self.rank == Some(1) || self.ranks.as_ref().is_some_and(|ranks| ranks.contains(&1))),
        ];
        typed.into_iter().find_map(|(flag, typed)| typed.then_some(flag))
    }

    /// The algorithm: as typed, else as in the model to start from, else what the other flags ask for.
    fn algorithm(&self, init: Option<&(Model, Record)>) -> Algorithm {
        if let Some(algorithm) = self.algorithm {
            return algorithm.into();
        }
        match (init, self.preset) {
            (Some((_, record)), _) => record.params.algorithm,
            (None, Preset::Paper) => Algorithm::Sgd,
            (None, Preset::Default) if self.only_sgd().is_some() => Algorithm::Sgd,
            (None, Preset::Default) => Algorithm::Bayes,
        }
    }

    /// Whether the algorithm was typed.
    pub(crate) fn has_algorithm(&self) -> bool {
        self.algorithm.is_some()
    }

    /// The settings: the preset's, then those of the model to start from, then what was typed.
    pub(crate) fn params(&self, init: Option<&(Model, Record)>) -> anyhow::Result<Params> {
        let algorithm = self.algorithm(init);
        if let (Algorithm::Bayes, Some(flag)) = (algorithm, self.only_sgd()) {
            return Err(usage(format!("{flag} needs --algorithm sgd")));
        }
        let mut params = self.preset.params(algorithm);
        params.algorithm = algorithm;
        if let Some((model, _)) = init {
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
        params.without = self.without.iter().map(|&part| part.into()).collect();
        params.l1 |= self.l1;
        params.nonnegative |= self.nonnegative;
        params.orthogonal |= self.orthogonal;
        params.deterministic |= self.deterministic;
        Ok(params)
    }
}

fn set<T>(setting: &mut T, typed: Option<T>) {
    if let Some(typed) = typed {
        *setting = typed;
    }
}
