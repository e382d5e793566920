//! The settings of a run: one list, by the same names in Rust, on the command line and in `run.json`.

mod number;
mod partial;
mod ranks;

use s3cmtf_kernels::Level;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::problem::{Absent, Problem};

pub use partial::{PartialParams, Preset};

/// The rank of algorithms that do not find one themselves.
const RANK: usize = 10;
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
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Algorithm {
    /// Models are drawn from all those that explain the data, and averaged. Nothing needs tuning.
    Bayes,
    /// The paper's: stochastic gradient descent to one model of least error.
    Sgd,
    /// Alternating least squares to one model of least error: data that are exactly of the given ranks are found exactly.
    Als,
}

impl Algorithm {
    /// The algorithm's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Bayes => "bayes",
            Algorithm::Sgd => "sgd",
            Algorithm::Als => "als",
        }
    }

    /// Whether the algorithm has the setting of this name; others are of no account to it.
    pub fn has(self, setting: &str) -> bool {
        match setting {
            "without" => self == Algorithm::Bayes,
            "method" | "scheme" | "deterministic" | "start" | "rate" | "decay" | "l1" | "nonnegative"
            | "tolerance" => self == Algorithm::Sgd,
            "lambda_reg" | "lambda_couple" => self != Algorithm::Bayes,
            _ => true,
        }
    }
}

/// A part of [`Algorithm::Bayes`] that can be left out, to see what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Part {
    /// Rows differ in how predictable they are.
    Shares,
    /// Concepts differ in how much they matter.
    Relevance,
    /// Offsets, pairs and higher interactions of modes differ in how much they matter.
    Sets,
    /// What is averaged of a row is the distribution that it was drawn from, not the row.
    Distributions,
    /// There is an average at all, and not the last draw alone.
    Average,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 5] =
        [Part::Shares, Part::Relevance, Part::Sets, Part::Distributions, Part::Average];

    /// The part's name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Part::Shares => "shares",
            Part::Relevance => "relevance",
            Part::Sets => "sets",
            Part::Distributions => "distributions",
            Part::Average => "average",
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

/// Where the factors and the core start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Start {
    /// A first concept that predicts the mean, and small signed noise around a diagonal core for the others.
    Mean,
    /// The paper's: everything random and positive, scaled so that predictions start at the mean.
    Random,
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
    /// auto; sgd, als and paper: 10. From 1 to [`MAX_RANK`]; bayes: from 2, and with a diagonal core from the number of modes
    /// plus 2, since the first columns are the mean and an offset per mode.
    #[serde(with = "ranks")]
    pub ranks: Vec<usize>,
    /// Full or diagonal core. Default full.
    pub core: CoreKind,
    /// How the model is found. Default bayes; paper: sgd.
    #[serde(default = "sgd")]
    pub algorithm: Algorithm,
    /// bayes: parts that are left out. Default none.
    #[serde(default)]
    pub without: Vec<Part>,
    /// sgd: how gradients are computed. Default fast.
    pub method: Method,
    /// sgd: how threads share the factors. Default blocks.
    pub scheme: Scheme,
    /// sgd: whether the same seed must give bitwise the same model for any number of threads. Default no; bayes and als
    /// always do.
    pub deterministic: bool,
    /// sgd: where the factors start. Default mean; paper: random.
    pub start: Start,
    /// The most passes over the data. Default 120; sgd and paper: 50; als: 500, over all starts. 1 or more.
    pub epochs: usize,
    /// sgd: the first step size, eta_0; `None` fits it to the data. Default `None`; paper: 0.001. Above 0.
    #[serde(deserialize_with = "number::some")]
    pub rate: Option<f32>,
    /// sgd: the decay mu in eta_t = eta_0 / (1 + mu t). Default and paper: 0.1. 0 or more.
    #[serde(deserialize_with = "number::single")]
    pub decay: f32,
    /// sgd: the weight of the regulariser. Default 5; paper: 0.1. als: the same in units of the errors' variance, so that
    /// there is none where there are no errors; default 1. 0 or more.
    #[serde(deserialize_with = "number::single")]
    pub lambda_reg: f32,
    /// sgd, als: the weight of each coupled matrix that has none of its own. Default and paper: 10. 0 or more.
    #[serde(deserialize_with = "number::single")]
    pub lambda_couple: f32,
    /// sgd: L1 (absolute values) in place of L2 (squares) in the regulariser. Default no.
    pub l1: bool,
    /// sgd: whether factors and core stay at or above zero. Default no.
    pub nonnegative: bool,
    /// Whether the factors are made orthogonal at the end. Default no.
    pub orthogonal: bool,
    /// sgd: stop when the training RMSE changes by less than this share of itself; 0 never does. Default 0. 0 or more.
    #[serde(deserialize_with = "number::double")]
    pub tolerance: f64,
    /// Stop after this many epochs without a better RMSE on held-out entries, then train on all entries for as many epochs
    /// as were best. Default none. 1 or more.
    pub patience: Option<usize>,
    /// Threads; 0 is all cores. Default 0.
    pub threads: usize,
    /// The vector instructions of training; `None` is the best that this machine has. Default `None`.
    #[serde(default)]
    pub instructions: Option<Instructions>,
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
            method: Method::Fast,
            scheme: Scheme::Blocks,
            deterministic: false,
            start: Start::Mean,
            epochs: 120,
            rate: None,
            decay: 0.1,
            lambda_reg: 5.0,
            lambda_couple: 10.0,
            l1: false,
            nonnegative: false,
            orthogonal: false,
            tolerance: 0.0,
            patience: None,
            threads: 0,
            instructions: None,
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

    /// The paper's settings: stochastic gradient descent with lambda_reg 0.1, lambda_m 10, mu 0.1, eta_0 0.001, a random
    /// start.
    pub fn paper() -> Self {
        Params {
            rate: Some(0.001),
            decay: 0.1,
            lambda_reg: 0.1,
            lambda_couple: 10.0,
            start: Start::Random,
            ..Params::sgd()
        }
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

    /// Checks that every setting is in its range, and that the ranks fit the problem.
    ///
    /// # Errors
    /// Names the first setting that is not, its value and its range.
    pub fn check(&self, problem: &Problem) -> Result<(), Error> {
        let order = problem.order();
        let list = || self.ranks_word();
        if self.is_auto() && self.algorithm != Algorithm::Bayes {
            let expected = format!("a number when the algorithm is {}", self.algorithm.name());
            return Err(Error::param("rank", expected, "auto"));
        }
        if self.ranks.len() > 1 && self.ranks.len() != order {
            return Err(Error::param("ranks", format!("one number, or {order}, one per mode"), list()));
        }
        if let Some(rank) = self.ranks.iter().find(|&&rank| rank == 0 || rank > MAX_RANK) {
            return Err(Error::param("rank", format!("from 1 to {MAX_RANK}"), rank));
        }
        let ranks = self.ranks_for(order);
        if self.core == CoreKind::Diagonal && ranks.iter().any(|&rank| rank != ranks[0]) {
            return Err(Error::param("ranks", "the same for all modes when the core is diagonal", list()));
        }
        let full = self.core == CoreKind::Full || self.orthogonal;
        if full
            && !self.is_auto()
            && ranks
                .iter()
                .try_fold(1usize, |size, &rank| size.checked_mul(rank))
                .is_none_or(|size| size > MAX_CORE)
        {
            let expected = format!("small enough for a core of at most {MAX_CORE} numbers (their product)");
            return Err(Error::param("ranks", expected, list()));
        }
        if self.epochs == 0 {
            return Err(Error::param("epochs", "1 or more", self.epochs));
        }
        if let Some(rate) = self.rate
            && !(rate.is_finite() && rate > 0.0)
        {
            return Err(Error::param("rate", "above 0 and finite", rate));
        }
        for (name, value) in [
            ("decay", f64::from(self.decay)),
            ("lambda-reg", f64::from(self.lambda_reg)),
            ("lambda-couple", f64::from(self.lambda_couple)),
            ("tolerance", self.tolerance),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::param(name, "0 or more and finite", value));
            }
        }
        if self.patience == Some(0) {
            return Err(Error::param("patience", "1 or more", 0));
        }
        match self.algorithm {
            Algorithm::Bayes => self.check_bayes(order)?,
            Algorithm::Als => self.check_als(problem)?,
            Algorithm::Sgd => {}
        }
        if self.nonnegative && self.orthogonal {
            return Err(Error::param(
                "orthogonal",
                "off when the factors are non-negative (QR makes signs)",
                "on",
            ));
        }
        if self.deterministic && self.scheme == Scheme::LockFree && self.n_threads() > 1 {
            return Err(Error::param("scheme", "blocks when the run is deterministic", "lock-free"));
        }
        if self.threads > 1024 {
            return Err(Error::param("threads", "from 0 (all cores) to 1024", self.threads));
        }
        if let Some(instructions) = self.instructions
            && !Instructions::available().contains(&instructions)
        {
            let names: Vec<&str> = Instructions::available().iter().map(|one| one.name()).collect();
            let expected = format!("what this machine has ({})", names.join(", "));
            return Err(Error::param("instructions", expected, instructions.name()));
        }
        Ok(())
    }

    /// What only stochastic gradient descent can do is not asked of the other algorithm.
    fn check_bayes(&self, order: usize) -> Result<(), Error> {
        let ranks = self.ranks_for(order);
        let only_sgd = [
            (self.nonnegative, "the factors are non-negative"),
            (self.l1, "the regulariser is of absolute values"),
            (self.rate.is_some(), "there is a rate"),
            (self.tolerance > 0.0, "there is a tolerance"),
            (self.method != Method::Fast, "there is a method of computing gradients"),
            // One concept is the constant that all models of bayes have; nothing would be left.
            (ranks.contains(&1), "a rank is 1"),
        ];
        if let Some((_, when)) = only_sgd.iter().find(|(asked, _)| *asked) {
            return Err(Error::param("algorithm", format!("sgd when {when}"), "bayes"));
        }
        if self.core == CoreKind::Diagonal { self.check_columns(order) } else { Ok(()) }
    }

    /// Whether draws can have as many columns as are asked for, and their core is not too large.
    fn check_columns(&self, order: usize) -> Result<(), Error> {
        let Some(most) = most_columns(order) else {
            let expected = format!("als or sgd for a diagonal core of {order} modes");
            return Err(Error::param("algorithm", expected, "bayes"));
        };
        // Up to so many modes the ranks that are found make a full core that is not too large either.
        const ORTHOGONAL: usize = 7;
        if self.orthogonal && self.is_auto() && order > ORTHOGONAL {
            let expected = format!("off for a diagonal core of {order} modes, unless there is a rank");
            return Err(Error::param("orthogonal", expected, "on"));
        }
        let (rank, least) = (self.ranks_for(order)[0], order + 2);
        if self.is_auto() || (least..=most).contains(&rank) {
            return Ok(());
        }
        let expected = format!(
            "auto, or from {least} to {most}, for a diagonal core of {order} modes with algorithm bayes, which has {} columns for \
             the mean and offsets (als and sgd take any rank)",
            order + 1
        );
        Err(Error::param("rank", expected, rank))
    }

    /// What only the other algorithms can do is not asked of alternating least squares.
    fn check_als(&self, problem: &Problem) -> Result<(), Error> {
        let graph = problem.coupled().iter().any(|matrix| matrix.kind() == Absent::Graph);
        let others = [
            (self.nonnegative, "sgd when the factors are non-negative"),
            (self.l1, "sgd when the regulariser is of absolute values"),
            (self.rate.is_some(), "sgd when there is a rate"),
            (self.tolerance > 0.0, "sgd when there is a tolerance"),
            (self.method != Method::Fast, "sgd when there is a method of computing gradients"),
            (!self.without.is_empty(), "bayes when parts are left out"),
            // Errors go up with each new start, so that they say nothing about when to stop.
            (self.patience.is_some(), "bayes or sgd when there is patience"),
            (graph, "bayes or sgd when a coupled matrix is a graph"),
        ];
        match others.iter().find(|(asked, _)| *asked) {
            Some((_, expected)) => Err(Error::param("algorithm", *expected, "als")),
            None => Ok(()),
        }
    }
}

/// The most columns that a diagonal core of bayes may have: its draws have a full core, with as many concepts in each mode as columns
/// are left when those of the other modes' offsets are taken off. Nothing if not even one that interacts is possible.
fn most_columns(order: usize) -> Option<usize> {
    let fits = |concepts: &usize| concepts.checked_pow(order as u32).is_some_and(|size| size <= MAX_CORE);
    let most = (3..MAX_RANK).take_while(fits).last()?;
    Some((most + order - 1).min(MAX_RANK))
}

/// What runs of older versions were.
fn sgd() -> Algorithm {
    Algorithm::Sgd
}
