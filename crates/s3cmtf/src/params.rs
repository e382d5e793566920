//! The settings of a run: one list, by the same names in Rust, on the command line and in `run.json`.

mod checked;
mod device;
mod number;
mod partial;
mod ranks;
mod updates;

use s3cmtf_kernels::Level;
use serde::{Deserialize, Serialize};

use crate::likelihood::Likelihood;
use crate::problem::Absent;

pub(crate) use checked::{
    AlsParams, BayesParams, CheckedParams, CommonParams, IalsParams, Opponent, OpponentParams, SgdParams,
};
pub use device::Device;
pub use partial::{PartialParams, Preset};
pub use updates::{CoreUpdate, Shuffle, SmallModes, ZerosUpdate};

/// The rank of algorithms that do not find one themselves.
const RANK: usize = 10;
/// The rank of [`Algorithm::Ials`]: its regulariser makes concepts that are of no use small.
const IALS_RANK: usize = 64;
/// The largest rank of a mode.
pub const MAX_RANK: usize = 1024;
/// The most numbers a core may have: 2^26, a quarter of a gigabyte.
pub const MAX_CORE: usize = 1 << 26;

/// Which entries of the core may differ from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CoreKind {
    /// All of them: Tucker.
    Full,
    /// Those on the diagonal: CP, with one rank for all modes.
    Diagonal,
}

impl CoreKind {
    /// The kind's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            CoreKind::Full => "full",
            CoreKind::Diagonal => "diagonal",
        }
    }
}

/// How a model is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Algorithm {
    /// Bayesian: Gibbs sampling, and the posterior mean of the samples. Nothing needs tuning.
    Bayes,
    /// The paper's: stochastic gradient descent.
    Sgd,
    /// Alternating least squares to one model of least error: data that are exactly of the given ranks are found exactly.
    Als,
    /// Alternating least squares for implicit feedback: absent cells are zeros of less weight, for ranking.
    Ials,
    /// CMTF-OPT (Acar, Kolda and Dunlavy, 2011): all CP factors at once, by first-order optimization.
    CmtfOpt,
    /// CMTF-ALS (as in HaTen2 and SCouT): alternating least squares on CP factors, one system for all rows of a mode.
    CmtfAls,
    /// SALS and CDTF (Shin, Sael and Kang, 2017): alternating least squares on some columns of CP factors at a time.
    Sals,
    /// CMTF-Tucker-ALS, as the paper describes it: higher-order orthogonal iteration with coupled matrices.
    TuckerAls,
}

impl Algorithm {
    /// The algorithm's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Bayes => "bayes",
            Algorithm::Sgd => "sgd",
            Algorithm::Als => "als",
            Algorithm::Ials => "ials",
            Algorithm::CmtfOpt => "cmtf-opt",
            Algorithm::CmtfAls => "cmtf-als",
            Algorithm::Sals => "sals",
            Algorithm::TuckerAls => "tucker-als",
        }
    }

    /// All of them; of those that have a setting, the first is the one that it chooses.
    pub const ALL: [Algorithm; 8] = [
        Algorithm::Bayes,
        Algorithm::Sgd,
        Algorithm::Als,
        Algorithm::Ials,
        Algorithm::CmtfOpt,
        Algorithm::CmtfAls,
        Algorithm::Sals,
        Algorithm::TuckerAls,
    ];

    /// The settings that the algorithm has and not every other: one line for each algorithm.
    fn own(self) -> &'static [&'static str] {
        match self {
            Algorithm::Bayes => {
                &["without", "likelihood", "tolerance", "patience", "absent", "absent_weight"]
            }
            Algorithm::Sgd => &[
                "method",
                "scheme",
                "start",
                "shuffle",
                "core_update",
                "small_modes",
                "zeros_update",
                "rate",
                "decay",
                "lambda_reg",
                "lambda_couple",
                "l1",
                "nonnegative",
                "tolerance",
                "patience",
            ],
            Algorithm::Als => &["lambda_reg", "lambda_couple"],
            Algorithm::Ials => &["absent", "absent_weight", "confidence", "lambda_reg"],
            Algorithm::CmtfOpt => {
                &["absent", "start", "optimizer", "lambda_reg", "lambda_couple", "tolerance", "patience"]
            }
            Algorithm::CmtfAls => {
                &["absent", "start", "lambda_reg", "lambda_couple", "tolerance", "patience"]
            }
            Algorithm::Sals => {
                &["start", "block", "weighted", "lambda_reg", "lambda_couple", "tolerance", "patience"]
            }
            Algorithm::TuckerAls => &["absent", "start", "lambda_couple", "tolerance", "patience"],
        }
    }

    /// Whether the algorithm has the setting of this name; one that no list has, they all have.
    pub fn has(self, setting: &str) -> bool {
        self.own().contains(&setting) || !Algorithm::ALL.iter().any(|other| other.own().contains(&setting))
    }

    /// The algorithms that have the setting of this name.
    pub(crate) fn with(setting: &str) -> impl Iterator<Item = Algorithm> {
        Algorithm::ALL.into_iter().filter(move |algorithm| algorithm.has(setting))
    }
}

/// A component of [`Algorithm::Bayes`] that can be ablated, to see what it contributes. Files of older versions have the names
/// in the aliases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Component {
    /// Each row has its own noise precision.
    #[serde(alias = "shares")]
    RowNoise,
    /// Each concept has its own precision (automatic relevance determination).
    Relevance,
    /// Offsets, pairs and higher interactions of modes have their own precisions.
    #[serde(alias = "sets")]
    InteractionScales,
    /// The conditional distributions of rows are averaged, not their samples (Rao-Blackwellization).
    #[serde(alias = "distributions")]
    RaoBlackwell,
    /// Samples are averaged, and not the last one kept.
    #[serde(alias = "average")]
    Averaging,
    /// Which cells have a value is learnt too, for recommendations: see [`Choice`](crate::Choice). Values are predicted as without.
    Choice,
}

impl Component {
    /// All of them.
    pub const ALL: [Component; 6] = [
        Component::RowNoise,
        Component::Relevance,
        Component::InteractionScales,
        Component::RaoBlackwell,
        Component::Averaging,
        Component::Choice,
    ];

    /// Its name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Component::RowNoise => "row-noise",
            Component::Relevance => "relevance",
            Component::InteractionScales => "interaction-scales",
            Component::RaoBlackwell => "rao-blackwell",
            Component::Averaging => "averaging",
            Component::Choice => "choice",
        }
    }
}

/// How gradients of tensor entries are computed; all methods compute the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Method {
    /// Entries that share indices share their contractions; vector instructions.
    Fast,
    /// The paper's Algorithm 3: intermediate data S and Collapse.
    Opt,
    /// The paper's Algorithm 2: every gradient from scratch.
    Naive,
}

impl Method {
    /// The method's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Fast => "fast",
            Method::Opt => "opt",
            Method::Naive => "naive",
        }
    }
}

/// How threads share the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scheme {
    /// At any time a thread owns the rows it changes.
    Blocks,
    /// The paper's HOGWILD!: all threads change all rows, without waiting for each other.
    LockFree,
}

impl Scheme {
    /// The scheme's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Blocks => "blocks",
            Scheme::LockFree => "lock-free",
        }
    }
}

/// Where the factors and the core start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Start {
    /// A first concept that predicts the mean, and small signed noise around a diagonal core for the others. In the paper's
    /// opponents that concept stays as it is.
    Mean,
    /// The paper's: everything random and positive, scaled so that predictions start at the mean. Its opponents as published:
    /// normal numbers, columns of length 1.
    Random,
    /// The mean and an offset for each row, which stay, and noise for the concepts: for the paper's opponents.
    Offsets,
}

impl Start {
    /// The start's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Start::Mean => "mean",
            Start::Random => "random",
            Start::Offsets => "offsets",
        }
    }
}

/// How [`Algorithm::CmtfOpt`] finds its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OptimizerKind {
    /// Limited-memory BFGS, which remembers ten steps.
    #[default]
    Lbfgs,
    /// Nonlinear conjugate gradients (Hestenes-Stiefel).
    Cg,
}

impl OptimizerKind {
    /// The optimizer's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            OptimizerKind::Lbfgs => "lbfgs",
            OptimizerKind::Cg => "cg",
        }
    }
}

/// The vector instructions that training uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Instructions {
    /// Plain Rust, on any machine.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512.
    Avx512,
    /// NEON.
    Neon,
}

impl Instructions {
    /// Those that this machine has, the best last.
    pub fn available() -> Vec<Instructions> {
        let all = [Instructions::Portable, Instructions::Avx2, Instructions::Avx512, Instructions::Neon];
        let here = Level::available();
        all.into_iter().filter(|instructions| here.contains(&instructions.level())).collect()
    }

    /// Their name in the command and in files.
    pub fn name(self) -> &'static str {
        self.level().name()
    }

    fn level(self) -> Level {
        match self {
            Instructions::Portable => Level::Portable,
            Instructions::Avx2 => Level::Avx2,
            Instructions::Avx512 => Level::Avx512,
            Instructions::Neon => Level::Neon,
        }
    }
}

/// The settings of a run.
///
/// Each field says its meaning, its default and its range; [`Params::check`] holds a problem against the ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The rank of each mode, or one rank for all; if empty, bayes finds them itself, and in JSON the word is `auto`. Default
    /// auto; sgd, als, paper and its opponents: 10; ials: 64; paper-movielens: 12, paper-netflix: 11. From 1 to [`MAX_RANK`]; bayes: from 2, and
    /// with a diagonal core from the number of modes
    /// plus 2, since the first columns are the mean and an offset per mode.
    #[serde(with = "ranks")]
    pub ranks: Vec<usize>,
    /// Full or diagonal core. Default full.
    pub core: CoreKind,
    /// How the model is found. Default bayes; paper: sgd.
    #[serde(default = "sgd")]
    pub algorithm: Algorithm,
    /// bayes: components that are ablated. Default none.
    #[serde(default)]
    pub without: Vec<Component>,
    /// bayes: how values lie around what is predicted. Default gaussian; logistic needs values 0 and 1, counts whole numbers.
    #[serde(default)]
    pub likelihood: Likelihood,
    /// sgd: how gradients are computed. Default fast; paper: opt.
    pub method: Method,
    /// sgd: how threads share the factors. Default blocks; paper: lock-free.
    pub scheme: Scheme,
    /// sgd: when the order of entries and cells is drawn. Default once; paper: every-epoch, which needs scheme lock-free and
    /// method opt or naive.
    #[serde(default)]
    pub shuffle: Shuffle,
    /// sgd: who updates the core. Default averaged; paper: one-thread, which needs scheme lock-free.
    #[serde(default)]
    pub core_update: CoreUpdate,
    /// sgd: how threads share the rows of small modes. Default private; paper: shared, which needs scheme lock-free.
    #[serde(default)]
    pub small_modes: SmallModes,
    /// sgd: how coupled matrices whose absent cells are zeros are updated. Default implicit; paper: per-cell.
    #[serde(default)]
    pub zeros_update: ZerosUpdate,
    /// Whether the same seed must give bitwise the same model for any number of threads. Default no; for bayes and als it
    /// always does.
    pub deterministic: bool,
    /// sgd and the paper's opponents: where the factors start. Default mean; paper: random.
    pub start: Start,
    /// bayes, ials, cmtf-opt, cmtf-als, tucker-als: what absent cells of the tensor are, missing or zeros. Default missing; ials: zeros.
    #[serde(default = "missing")]
    pub absent: Absent,
    /// ials and bayes: what an absent cell counts against one that is there, where those are zeros. Default `None`, which finds it on
    /// entries held out, and is 1 for bayes. Above 0 and below 1; for bayes also 1.
    #[serde(default, deserialize_with = "number::some")]
    pub absent_weight: Option<f32>,
    /// ials: a cell of value v counts 1 + `confidence` v. Default 0. 0 or more.
    #[serde(default, deserialize_with = "number::single")]
    pub confidence: f32,
    /// cmtf-opt: the optimizer. Default lbfgs.
    #[serde(default)]
    pub optimizer: OptimizerKind,
    /// sals: how many columns are solved for at a time; 1 is CDTF, and the rank or more is ALS. Default 10. 1 or more.
    #[serde(default = "block")]
    pub block: usize,
    /// sals: whether a row's regulariser grows with its entries. Default no.
    #[serde(default)]
    pub weighted: bool,
    /// The most passes over the data. Default 120; sgd, paper and its opponents: 50, cmtf-opt: 100; als: 500, over all starts; ials: 50.
    /// 1 or more.
    pub epochs: usize,
    /// sgd: the first step size, eta_0; `None` fits it to the data. Default `None`; paper: 0.001, paper-yelp: 0.0005. Above 0.
    #[serde(deserialize_with = "number::some")]
    pub rate: Option<f32>,
    /// sgd: the decay mu in eta_t = eta_0 / (1 + mu t). Default and paper: 0.1. 0 or more.
    #[serde(deserialize_with = "number::single")]
    pub decay: f32,
    /// sgd: the weight of the regulariser. Default 5; paper: 0.1. als: the same in units of the errors' variance, so that
    /// there is none where there are no errors; default 1. ials: 0 finds it on entries held out; default 0. 0 or more.
    #[serde(deserialize_with = "number::single")]
    pub lambda_reg: f32,
    /// sgd, als: the weight of each coupled matrix that has none of its own. Default and paper: 10. 0 or more.
    #[serde(deserialize_with = "number::single")]
    pub lambda_couple: f32,
    /// sgd: L1 (absolute values) in place of L2 (squares) in the regulariser. Default no.
    pub l1: bool,
    /// sgd: whether factors and core stay at or above zero. Default no.
    pub nonnegative: bool,
    /// Whether the factors are made orthogonal at the end. Default no; paper: yes.
    pub orthogonal: bool,
    /// Stop when the training RMSE changes by less than this share of itself; bayes: when more epochs would change the RMSE by less
    /// than that. 0 never does. Default `None`, which is 0.001 for bayes where its likelihood is Gaussian and absent cells are
    /// missing, and else 0. 0 or more.
    #[serde(default, deserialize_with = "number::some_double")]
    pub tolerance: Option<f64>,
    /// Stop after this many epochs without a better RMSE on held-out entries, then train on all entries for as many epochs
    /// as were best. Default none. 1 or more.
    pub patience: Option<usize>,
    /// Threads; 0 is all cores. Default 0.
    pub threads: usize,
    /// The vector instructions of training; `None` is the best that this machine has. Default `None`.
    #[serde(default)]
    pub instructions: Option<Instructions>,
    /// bayes: what draws are computed on. Default auto. The same seed gives other draws on a GPU than on a CPU.
    #[serde(default)]
    pub device: Device,
    /// The seed of everything random. Default 1.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            ranks: Vec::new(),
            core: CoreKind::Full,
            algorithm: Algorithm::Bayes,
            without: Vec::new(),
            likelihood: Likelihood::Gaussian,
            method: Method::Fast,
            scheme: Scheme::Blocks,
            shuffle: Shuffle::Once,
            core_update: CoreUpdate::Averaged,
            small_modes: SmallModes::Private,
            zeros_update: ZerosUpdate::Implicit,
            deterministic: false,
            start: Start::Mean,
            absent: missing(),
            absent_weight: None,
            confidence: 0.0,
            optimizer: OptimizerKind::default(),
            block: block(),
            weighted: false,
            epochs: 120,
            rate: None,
            decay: 0.1,
            lambda_reg: 5.0,
            lambda_couple: 10.0,
            l1: false,
            nonnegative: false,
            orthogonal: false,
            tolerance: None,
            patience: None,
            threads: 0,
            instructions: None,
            device: Device::Auto,
            seed: 1,
        }
    }
}

impl Params {
    /// Settings of stochastic gradient descent that fit most data.
    pub fn sgd() -> Self {
        Params { algorithm: Algorithm::Sgd, ranks: vec![RANK], epochs: 50, ..Params::default() }
    }

    /// Settings of alternating least squares that fit most data.
    pub fn als() -> Self {
        Params {
            algorithm: Algorithm::Als,
            ranks: vec![RANK],
            epochs: 500,
            lambda_reg: 1.0,
            ..Params::default()
        }
    }

    /// Settings of alternating least squares for implicit feedback that fit most data.
    pub fn ials() -> Self {
        Params {
            algorithm: Algorithm::Ials,
            ranks: vec![IALS_RANK],
            core: CoreKind::Diagonal,
            absent: Absent::Zeros,
            epochs: 50,
            lambda_reg: 0.0,
            ..Params::default()
        }
    }

    /// The paper's Algorithm 1 with its Algorithm 3 (S3CMTF-opt), and its settings: lambda_reg 0.1, lambda_m 10, mu 0.1. Rank 10
    /// and eta_0 0.001 are for data that are none of its own; [`Preset`] has those of its three data sets.
    pub fn paper() -> Self {
        Params {
            method: Method::Opt,
            scheme: Scheme::LockFree,
            shuffle: Shuffle::EveryEpoch,
            core_update: CoreUpdate::OneThread,
            small_modes: SmallModes::Shared,
            zeros_update: ZerosUpdate::PerCell,
            start: Start::Random,
            rate: Some(0.001),
            decay: 0.1,
            lambda_reg: 0.1,
            lambda_couple: 10.0,
            orthogonal: true,
            ..Params::sgd()
        }
    }

    /// FlexiFaCT (Beutel et al., 2014): stochastic gradient descent over blocks that share no row, on CP factors from a random
    /// start.
    pub fn flexifact() -> Self {
        Params { core: CoreKind::Diagonal, start: Start::Random, lambda_reg: 0.1, ..Params::sgd() }
    }

    /// The usual settings of an algorithm.
    pub fn usual(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Bayes => Params::default(),
            Algorithm::Sgd => Params::sgd(),
            Algorithm::Als => Params::als(),
            Algorithm::Ials => Params::ials(),
            Algorithm::CmtfOpt => Params { epochs: 100, ..Params::opponent(algorithm) },
            Algorithm::CmtfAls | Algorithm::Sals => Params::opponent(algorithm),
            Algorithm::TuckerAls => Params { core: CoreKind::Full, ..Params::opponent(algorithm) },
        }
    }

    fn opponent(algorithm: Algorithm) -> Self {
        let core = CoreKind::Diagonal;
        Params { algorithm, core, ranks: vec![RANK], epochs: 50, ..Params::default() }
    }

    /// The ranks in a word: `12`, `12,12,4` or `auto`.
    pub fn ranks_word(&self) -> String {
        let numbers: Vec<String> = self.ranks.iter().map(ToString::to_string).collect();
        if self.is_auto() { "auto".to_owned() } else { numbers.join(",") }
    }

    /// Whether ranks are for the algorithm to find.
    pub fn is_auto(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The rank of each of `order` modes; where those are still to be found, what other algorithms would take.
    pub fn ranks_for(&self, order: usize) -> Vec<usize> {
        match self.ranks[..] {
            [] => vec![RANK; order],
            [rank] => vec![rank; order],
            _ => self.ranks.clone(),
        }
    }

    /// The number of threads to use.
    pub fn n_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            threads => threads,
        }
    }

    pub(crate) fn level(&self) -> Level {
        self.instructions.map_or_else(Level::best, Instructions::level)
    }
}

/// What tensors of older versions were.
fn missing() -> Absent {
    Absent::Missing
}

/// As many columns at a time as published.
fn block() -> usize {
    10
}

/// What runs of older versions were.
fn sgd() -> Algorithm {
    Algorithm::Sgd
}
