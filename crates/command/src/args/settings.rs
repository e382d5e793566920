//! The flags of model and training: the settings of the library by the same names.

use clap::Args;
use s3cmtf::internal::PartialParams;
use s3cmtf::{
    Absent, Algorithm, Component, CoreKind, CoreUpdate, Device, Instructions, Likelihood, Method,
    OptimizerKind, Params, Run, Scheme, Shuffle, SmallModes, Start, ZerosUpdate,
};
use serde_json::{Value, json};

use super::choices::{
    AbsentChoice, AlgorithmChoice, ComponentChoice, CoreChoice, InstructionsChoice, LikelihoodChoice,
    MethodChoice, OptimizerChoice, Preset, SchemeChoice, StartChoice,
};
use super::update_choices::{CoreUpdateChoice, ShuffleChoice, SmallModesChoice, ZerosUpdateChoice};
use super::{decimal, whole};
use crate::failure::usage;
use crate::print;

/// What every verb that trains takes as settings. One that was not typed is `None`, so that the preset's stands.
#[derive(Debug, Args)]
pub(crate) struct SettingArgs {
    /// One rank for all modes, from 1 to 1024 (bayes: from 2, with a diagonal core from the number of modes plus 2), or auto: bayes
    /// infers one for each mode [default: auto; other algorithms: 10; paper-movielens: 12; paper-netflix: 11]
    #[arg(long, value_name = "J", conflicts_with = "ranks", value_parser = rank, allow_negative_numbers = true, help_heading = "Model")]
    rank: Option<Rank>,
    /// The rank of each mode, from 1 to 1024
    #[arg(long, value_name = "J1,J2,..", value_delimiter = ',', value_parser = whole::<usize>, help_heading = "Model")]
    ranks: Option<Vec<usize>>,
    /// The core tensor: full (Tucker) or diagonal (CP) [default: full; cmtf-opt, cmtf-als, sals: diagonal]
    #[arg(long, value_name = "KIND", help_heading = "Model")]
    core: Option<CoreChoice>,
    /// The regularization weight of all algorithms but bayes and tucker-als, 0 or more [default: 5; paper: 0.1; als: 1]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Model")]
    lambda_reg: Option<f32>,
    /// All algorithms but bayes: the weight of coupled matrices that have none of their own, 0 or more [default: 10]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Model")]
    lambda_couple: Option<f32>,
    /// sgd: L1 instead of L2 regularization
    #[arg(long, help_heading = "Model")]
    l1: bool,
    /// sgd: non-negative factors and core
    #[arg(long, help_heading = "Model")]
    nonnegative: bool,
    /// Orthogonalize the factors after training; not with --nonnegative [default: false; paper: true]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        help_heading = "Model"
    )]
    orthogonal: Option<bool>,

    /// The set of defaults, which other flags override
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = "Training")]
    preset: Preset,
    /// The training algorithm; a flag marked sgd selects sgd [default: bayes]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    algorithm: Option<AlgorithmChoice>,
    /// bayes: ablate components of the model, to see what each contributes
    #[arg(long, value_name = "COMPONENT,..", value_delimiter = ',', help_heading = "Training")]
    without: Vec<ComponentChoice>,
    /// bayes: how values lie around what is predicted [default: gaussian]
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    likelihood: Option<LikelihoodChoice>,
    /// The maximum number of epochs (bayes: Gibbs sweeps), 1 or more [default: 120; als: 500;
    /// cmtf-opt: 100; other algorithms: 50]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    epochs: Option<usize>,
    /// sgd: the initial learning rate, above 0 [default: fitted to the data; paper: 0.001; paper-yelp: 0.0005]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    rate: Option<f32>,
    /// sgd: the decay mu of the learning rate, rate / (1 + mu t) with t from 0, 0 or more [default: 0.1]
    #[arg(long, value_parser = decimal::<f32>, value_name = "MU", allow_negative_numbers = true, help_heading = "Training")]
    decay: Option<f32>,
    /// bayes, sgd and the paper's opponents: stop when the relative change of the RMSE falls below this; 0 never stops [default: 0.001 for bayes with a Gaussian likelihood and without zeros, else 0]
    #[arg(long, value_parser = decimal::<f64>, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    tolerance: Option<f64>,
    /// Early stopping: stop after N epochs, 1 or more, without a better RMSE on held-out entries, then retrain on all
    /// entries for the best number of epochs [default: never]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    patience: Option<usize>,
    /// sgd: how gradients are computed; all methods give the same ones [default: fast; paper: opt]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    method: Option<MethodChoice>,
    /// sgd: how threads share the factors; bayes and als need no scheme [default: blocks; paper: lock-free]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    scheme: Option<SchemeChoice>,
    /// sgd and the paper's opponents: where the factors start [default: mean; paper: random]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    start: Option<StartChoice>,
    /// What absent cells of the tensor are; zeros, for implicit feedback, choose algorithm ials, unless bayes or one of the paper's
    /// opponents (not sals) is asked for [default: missing]
    #[arg(long, value_name = "KIND", help_heading = "Training")]
    absent: Option<AbsentChoice>,
    /// ials and bayes: the weight of an absent cell against an observed one, above 0 and below 1, in bayes also 1 [default: found on
    /// held-out entries; bayes: 1]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    absent_weight: Option<f32>,
    /// ials: a cell of value v counts 1 + X v, as in Hu, Koren and Volinsky (2008); 0 or more [default: 0]
    #[arg(long, value_parser = decimal::<f32>, value_name = "X", allow_negative_numbers = true, help_heading = "Training")]
    confidence: Option<f32>,
    /// cmtf-opt: the optimizer [default: lbfgs]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    optimizer: Option<OptimizerChoice>,
    /// sals: columns that are solved for at a time, 1 or more; 1 is CDTF, the rank is ALS [default: 10]
    #[arg(long, value_name = "C", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    block: Option<usize>,
    /// sals: a row's regularization weight grows with its number of entries
    #[arg(long, help_heading = "Training")]
    weighted: bool,
    /// sgd: when the order of entries and cells is drawn [default: once; paper: every-epoch]
    #[arg(long, value_name = "WHEN", help_heading = "Training")]
    shuffle: Option<ShuffleChoice>,
    /// sgd: who updates the core [default: averaged; paper: one-thread]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    core_update: Option<CoreUpdateChoice>,
    /// sgd: how threads share the rows of small modes [default: private; paper: shared]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    small_modes: Option<SmallModesChoice>,
    /// sgd: how coupled matrices whose absent cells are zeros are updated [default: implicit; paper: per-cell]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    zeros_update: Option<ZerosUpdateChoice>,
    /// Threads, from 1 to 1024; 0 is all cores [default: 0]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    threads: Option<usize>,
    /// The SIMD instruction set of training [default: the best that this machine has]
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    instructions: Option<InstructionsChoice>,
    /// bayes: what draws are computed on: auto, cpu, or an NVIDIA GPU: cuda, or cuda:N for the one of number N; auto takes a
    /// GPU where there is one and the problem is large enough [default: auto]
    #[arg(long, value_name = "NAME", value_parser = device, help_heading = "Training")]
    device: Option<Device>,
    /// The random seed [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_negative_numbers = true, help_heading = "Training")]
    seed: Option<u64>,
    /// The same seed gives the same model, bit for bit, for any number of threads; bayes and als always do that
    #[arg(long, help_heading = "Training")]
    deterministic: bool,
}

/// One rank for all modes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rank {
    Auto,
    Of(usize),
}

impl Rank {
    /// As settings have it.
    pub(crate) fn ranks(self) -> Vec<usize> {
        match self {
            Rank::Auto => Vec::new(),
            Rank::Of(rank) => vec![rank],
        }
    }
}

/// The word of `--device`.
fn device(text: &str) -> Result<Device, String> {
    text.trim().parse()
}

pub(crate) fn rank(text: &str) -> Result<Rank, String> {
    match text {
        "auto" => Ok(Rank::Auto),
        _ => whole::<usize>(text).map(Rank::Of).map_err(|_| "should be auto or a whole number".to_owned()),
    }
}

impl SettingArgs {
    /// What was typed, by the names that settings have.
    fn said(&self) -> PartialParams {
        let ranks = match (self.rank, &self.ranks) {
            (Some(Rank::Auto), _) => Some(json!("auto")),
            (Some(Rank::Of(rank)), _) => Some(json!([rank])),
            (None, ranks) => ranks.as_ref().map(|ranks| json!(ranks)),
        };
        let core: Option<CoreKind> = self.core.map(Into::into);
        let algorithm: Option<Algorithm> = self.algorithm.map(Into::into);
        let without: Vec<Component> = self.without.iter().map(|&part| part.into()).collect();
        let method: Option<Method> = self.method.map(Into::into);
        let scheme: Option<Scheme> = self.scheme.map(Into::into);
        let shuffle: Option<Shuffle> = self.shuffle.map(Into::into);
        let core_update: Option<CoreUpdate> = self.core_update.map(Into::into);
        let small_modes: Option<SmallModes> = self.small_modes.map(Into::into);
        let zeros_update: Option<ZerosUpdate> = self.zeros_update.map(Into::into);
        let instructions: Option<Instructions> = self.instructions.map(Into::into);
        // A switch that was not typed says nothing.
        let switch = |on: bool| on.then_some(true);
        let number = |typed: Option<f64>| typed.map(PartialParams::number);
        let said = json!({
            "ranks": ranks,
            "core": core,
            "algorithm": algorithm,
            "without": Some(without).filter(|parts| !parts.is_empty()),
            "likelihood": self.likelihood.map(Likelihood::from),
            "method": method,
            "scheme": scheme,
            "start": self.start.map(Start::from),
            "absent": self.absent.map(Absent::from),
            "absent_weight": number(self.absent_weight.map(f64::from)),
            "confidence": number(self.confidence.map(f64::from)),
            "optimizer": self.optimizer.map(OptimizerKind::from),
            "block": self.block,
            "weighted": switch(self.weighted),
            "shuffle": shuffle,
            "core_update": core_update,
            "small_modes": small_modes,
            "zeros_update": zeros_update,
            "deterministic": switch(self.deterministic),
            "epochs": self.epochs,
            "rate": number(self.rate.map(f64::from)),
            "decay": number(self.decay.map(f64::from)),
            "lambda_reg": number(self.lambda_reg.map(f64::from)),
            "lambda_couple": number(self.lambda_couple.map(f64::from)),
            "l1": switch(self.l1),
            "nonnegative": switch(self.nonnegative),
            "orthogonal": self.orthogonal,
            "tolerance": number(self.tolerance),
            "patience": self.patience,
            "threads": self.threads,
            "instructions": instructions,
            "device": self.device,
            "seed": self.seed,
        });
        let Value::Object(said) = said else { unreachable!("an object was written") };
        PartialParams::new(said)
    }

    /// Whether the algorithm was typed.
    pub(crate) fn has_algorithm(&self) -> bool {
        self.algorithm.is_some()
    }

    /// The settings: the preset's, then those of the model to start from, then what was typed.
    pub(crate) fn params(&self, init: Option<&Run>) -> anyhow::Result<Params> {
        let said = self.said();
        let init = init.map(|Run { model, record }| Params {
            ranks: model.core().ranks(model.modes().len()),
            core: model.core_kind(),
            ..record.params.clone()
        });
        let algorithm: Option<Algorithm> = self.algorithm.map(Into::into);
        let algorithm = algorithm.or(init.as_ref().map(|params| params.algorithm));
        let flag = |what: &str| format!("--{}", what.replace('_', "-"));
        if let Some((what, other)) = algorithm.and_then(|algorithm| said.needs(algorithm)) {
            return Err(usage(format!("{} needs --algorithm {}", flag(what), other.name())));
        }
        let params = said.params(self.preset.into(), init.as_ref())?;
        // Nobody has asked for another algorithm than the default, but for something that only another one has.
        if algorithm.is_none()
            && s3cmtf::internal::Preset::from(self.preset) == s3cmtf::internal::Preset::Default
            && let Some((what, other)) = said.needs(Algorithm::Bayes)
        {
            print::note(format_args!("{} needs --algorithm {}, which is used", flag(what), other.name()));
        }
        Ok(params)
    }
}
