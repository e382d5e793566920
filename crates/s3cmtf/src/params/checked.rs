//! Settings that were checked against a problem: each algorithm has its own, and only those.

use s3cmtf_kernels::Level;

use super::{
    Algorithm, Component, CoreKind, CoreUpdate, Device, Instructions, MAX_CORE, MAX_RANK, Method,
    OptimizerKind, Params, Scheme, Shuffle, SmallModes, Start, ZerosUpdate, partial,
};
use crate::Error;
use crate::likelihood::Likelihood;
use crate::problem::{Absent, Problem};

/// What a zero counts in the sampler unless something else is said: as much as an entry.
const ABSENT_WEIGHT: f32 = 1.0;

/// A run of the sampler ends where more epochs would change the RMSE by less than this share of it, unless something else is said.
const TOLERANCE: f64 = 0.001;

/// The settings of an algorithm.
#[derive(Clone, Debug)]
pub(crate) enum CheckedParams {
    Bayes(BayesParams),
    Sgd(SgdParams),
    Als(AlsParams),
    Ials(IalsParams),
    Opponent(OpponentParams),
}

/// The settings that every algorithm has.
#[derive(Clone, Debug)]
pub(crate) struct CommonParams {
    /// One for each mode; none if they are for the algorithm to find.
    pub(crate) ranks: Vec<usize>,
    pub(crate) core: CoreKind,
    pub(crate) epochs: usize,
    pub(crate) patience: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) level: Level,
}

#[derive(Clone, Debug)]
pub(crate) struct BayesParams {
    pub(crate) common: CommonParams,
    pub(crate) without: Vec<Component>,
    pub(crate) likelihood: Likelihood,
    /// What an absent cell counts, if those are zeros.
    pub(crate) absent_weight: Option<f32>,
    pub(crate) device: Device,
    /// A run ends where more epochs would change the RMSE by less than this share of it; 0 never does.
    pub(crate) tolerance: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct SgdParams {
    pub(crate) common: CommonParams,
    pub(crate) method: Method,
    pub(crate) scheme: Scheme,
    pub(crate) shuffle: Shuffle,
    pub(crate) core_update: CoreUpdate,
    pub(crate) small_modes: SmallModes,
    pub(crate) zeros_update: ZerosUpdate,
    pub(crate) deterministic: bool,
    pub(crate) start: Start,
    /// `None` fits it to the data.
    pub(crate) rate: Option<f32>,
    pub(crate) decay: f32,
    pub(crate) lambda_reg: f32,
    pub(crate) lambda_couple: f32,
    pub(crate) l1: bool,
    pub(crate) nonnegative: bool,
    pub(crate) tolerance: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct AlsParams {
    pub(crate) common: CommonParams,
    pub(crate) lambda_reg: f32,
    pub(crate) lambda_couple: f32,
}

#[derive(Clone, Debug)]
pub(crate) struct IalsParams {
    pub(crate) common: CommonParams,
    /// What an absent cell counts; `None` finds it.
    pub(crate) absent_weight: Option<f32>,
    pub(crate) confidence: f32,
    /// 0 finds it.
    pub(crate) lambda_reg: f32,
}

/// The methods that the paper compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opponent {
    CmtfOpt,
    CmtfAls,
    Sals,
    TuckerAls,
}

#[derive(Clone, Debug)]
pub(crate) struct OpponentParams {
    pub(crate) common: CommonParams,
    pub(crate) opponent: Opponent,
    pub(crate) start: Start,
    pub(crate) absent: Absent,
    pub(crate) optimizer: OptimizerKind,
    pub(crate) block: usize,
    pub(crate) weighted: bool,
    pub(crate) lambda_reg: f32,
    pub(crate) lambda_couple: f32,
    pub(crate) tolerance: f64,
}

impl CheckedParams {
    pub(crate) fn common(&self) -> &CommonParams {
        match self {
            CheckedParams::Bayes(BayesParams { common, .. })
            | CheckedParams::Sgd(SgdParams { common, .. })
            | CheckedParams::Als(AlsParams { common, .. })
            | CheckedParams::Ials(IalsParams { common, .. })
            | CheckedParams::Opponent(OpponentParams { common, .. }) => common,
        }
    }

    /// Whether absent cells are zeros of less weight, or of the same, and not unknown: of choices, or of the sampler's values.
    pub(crate) fn has_zeros(&self) -> bool {
        match self {
            CheckedParams::Bayes(params) => params.absent_weight.is_some(),
            CheckedParams::Ials(_) => true,
            CheckedParams::Sgd(_) | CheckedParams::Als(_) | CheckedParams::Opponent(_) => false,
        }
    }

    /// The same for so many epochs, whatever comes of them.
    pub(crate) fn for_epochs(&self, epochs: usize) -> Self {
        let mut params = self.clone();
        let (CheckedParams::Bayes(BayesParams { common, .. })
        | CheckedParams::Sgd(SgdParams { common, .. })
        | CheckedParams::Als(AlsParams { common, .. })
        | CheckedParams::Ials(IalsParams { common, .. })
        | CheckedParams::Opponent(OpponentParams { common, .. })) = &mut params;
        (common.epochs, common.patience) = (epochs, None);
        if let CheckedParams::Bayes(params) = &mut params {
            params.tolerance = 0.0;
        }
        params
    }
}

impl CommonParams {
    /// Whether ranks are for the algorithm to find.
    pub(crate) fn is_auto(&self) -> bool {
        self.ranks.is_empty()
    }
}

impl Params {
    /// Checks that every setting is in its range, and that the ranks fit the problem.
    ///
    /// # Errors
    /// Names the first setting that is not, its value and its range.
    pub fn check(&self, problem: &Problem) -> Result<(), Error> {
        self.checked(problem).map(drop)
    }

    /// The settings of a run on a problem, checked and resolved: what training goes by.
    ///
    /// # Errors
    /// As [`Params::check`].
    pub(crate) fn checked(&self, problem: &Problem) -> Result<CheckedParams, Error> {
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
            ("confidence", f64::from(self.confidence)),
            ("tolerance", self.tolerance.unwrap_or(0.0)),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::param(name, "0 or more and finite", value));
            }
        }
        if self.patience == Some(0) {
            return Err(Error::param("patience", "1 or more", 0));
        }
        self.check_own()?;
        if self.block == 0 {
            return Err(Error::param("block", "1 or more", 0));
        }
        match self.algorithm {
            Algorithm::Bayes => self.check_bayes(problem)?,
            Algorithm::Als => check_graphs(problem, "als")?,
            Algorithm::Ials => self.check_ials(problem)?,
            Algorithm::Sgd => self.check_sgd(problem)?,
            Algorithm::CmtfOpt | Algorithm::CmtfAls | Algorithm::Sals | Algorithm::TuckerAls => {
                self.check_opponent(problem)?;
            }
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
        if let Device::Cuda(_) = self.device
            && self.algorithm != Algorithm::Bayes
        {
            let expected = format!("cpu when the algorithm is {}", self.algorithm.name());
            return Err(Error::param("device", expected, self.device));
        }
        Ok(self.resolve(order))
    }

    /// The settings of the algorithm, without the others.
    fn resolve(&self, order: usize) -> CheckedParams {
        let common = CommonParams {
            ranks: if self.is_auto() { Vec::new() } else { self.ranks_for(order) },
            core: self.core,
            epochs: self.epochs,
            patience: self.patience,
            seed: self.seed,
            threads: self.n_threads(),
            level: self.level(),
        };
        let Params { lambda_reg, lambda_couple, .. } = *self;
        match self.algorithm {
            Algorithm::Bayes => {
                let (without, likelihood, device) = (self.without.clone(), self.likelihood, self.device);
                let absent_weight =
                    (self.absent == Absent::Zeros).then(|| self.absent_weight.unwrap_or(ABSENT_WEIGHT));
                let usual = if self.can_settle() { TOLERANCE } else { 0.0 };
                let tolerance = self.tolerance.unwrap_or(usual);
                CheckedParams::Bayes(BayesParams {
                    common,
                    without,
                    likelihood,
                    absent_weight,
                    device,
                    tolerance,
                })
            }
            Algorithm::Sgd => CheckedParams::Sgd(SgdParams {
                common,
                method: self.method,
                scheme: self.scheme,
                shuffle: self.shuffle,
                core_update: self.core_update,
                small_modes: self.small_modes,
                zeros_update: self.zeros_update,
                deterministic: self.deterministic,
                start: self.start,
                rate: self.rate,
                decay: self.decay,
                lambda_reg,
                lambda_couple,
                l1: self.l1,
                nonnegative: self.nonnegative,
                tolerance: self.tolerance.unwrap_or(0.0),
            }),
            Algorithm::Als => CheckedParams::Als(AlsParams { common, lambda_reg, lambda_couple }),
            Algorithm::Ials => {
                let Params { absent_weight, confidence, .. } = *self;
                CheckedParams::Ials(IalsParams { common, absent_weight, confidence, lambda_reg })
            }
            Algorithm::CmtfOpt => self.resolve_opponent(Opponent::CmtfOpt, common),
            Algorithm::CmtfAls => self.resolve_opponent(Opponent::CmtfAls, common),
            Algorithm::Sals => self.resolve_opponent(Opponent::Sals, common),
            Algorithm::TuckerAls => self.resolve_opponent(Opponent::TuckerAls, common),
        }
    }

    fn resolve_opponent(&self, opponent: Opponent, common: CommonParams) -> CheckedParams {
        let Params {
            start, absent, optimizer, block, weighted, lambda_reg, lambda_couple, tolerance, ..
        } = *self;
        CheckedParams::Opponent(OpponentParams {
            common,
            opponent,
            start,
            absent,
            optimizer,
            block,
            weighted,
            lambda_reg,
            lambda_couple,
            tolerance: tolerance.unwrap_or(0.0),
        })
    }

    /// Whether a run of the sampler can end before its last epoch: it needs entries held out, and errors that are Gaussian.
    fn can_settle(&self) -> bool {
        self.likelihood == Likelihood::Gaussian && self.absent == Absent::Missing
    }

    /// No setting that the algorithm does not have is other than usual: it would be ignored.
    fn check_own(&self) -> Result<(), Error> {
        let (here, usual) = (partial::by_name(self), partial::by_name(&Params::default()));
        let ignored =
            here.iter().find(|(name, value)| !self.algorithm.has(name) && usual.get(*name) != Some(value));
        match ignored {
            Some((name, _)) => {
                let expected = format!("{} when there is {name}", partial::with(name));
                Err(Error::param("algorithm", expected, self.algorithm.name()))
            }
            None => Ok(()),
        }
    }

    /// Blocks have one owner for every number, and the fast method entries that share rows: neither can be had in the
    /// paper's order, or with what all threads share.
    fn check_sgd(&self, problem: &Problem) -> Result<(), Error> {
        if self.start == Start::Offsets {
            return Err(Error::param("start", "mean or random when the algorithm is sgd", "offsets"));
        }
        for (differs, what) in [
            (self.shuffle != Shuffle::Once, "entries are shuffled every epoch"),
            (self.core_update != CoreUpdate::Averaged, "one thread updates the core"),
            (self.small_modes != SmallModes::Private, "small modes are shared"),
        ] {
            if differs && self.scheme != Scheme::LockFree {
                return Err(Error::param("scheme", format!("lock-free when {what}"), self.scheme.name()));
            }
        }
        if self.shuffle == Shuffle::EveryEpoch && self.method == Method::Fast {
            return Err(Error::param("method", "opt or naive when entries are shuffled every epoch", "fast"));
        }
        // Visits are numbers of 32 bits.
        let most = (u32::MAX as usize).saturating_sub(problem.entries().len());
        if self.zeros_update == ZerosUpdate::PerCell && problem.zeros_cells().is_none_or(|cells| cells > most)
        {
            let expected = "implicit where coupled matrices have more than 4 billion cells, zeros included";
            return Err(Error::param("zeros-update", expected, "per-cell"));
        }
        Ok(())
    }

    fn check_bayes(&self, problem: &Problem) -> Result<(), Error> {
        // One concept is the constant that all models of bayes have; nothing would be left.
        if self.ranks.contains(&1) {
            return Err(Error::param("algorithm", "sgd or als when a rank is 1", "bayes"));
        }
        self.check_zeros()?;
        if let Some(tolerance) = self.tolerance
            && tolerance > 0.0
            && !self.can_settle()
        {
            let expected = "0 unless the likelihood of bayes is gaussian and absent cells are missing";
            return Err(Error::param("tolerance", expected, tolerance));
        }
        self.likelihood.check(problem.entries().name(), problem.entries().values())?;
        if self.core == CoreKind::Diagonal { self.check_columns(problem.order()) } else { Ok(()) }
    }

    /// Whether the sampler can have absent cells that are zeros, if they are.
    fn check_zeros(&self) -> Result<(), Error> {
        match (self.absent, self.absent_weight) {
            (Absent::Graph, _) => Err(Error::param("absent", "missing or zeros", "graph")),
            (Absent::Missing, Some(_)) => {
                Err(Error::param("absent", "zeros when there is absent-weight", "missing"))
            }
            (Absent::Zeros, Some(weight)) if !(weight > 0.0 && weight <= 1.0) => {
                Err(Error::param("absent-weight", "above 0 and at most 1", weight))
            }
            (Absent::Zeros, _) if self.likelihood != Likelihood::Gaussian => {
                let expected = "gaussian when absent cells are zeros";
                Err(Error::param("likelihood", expected, self.likelihood.name()))
            }
            _ => Ok(()),
        }
    }

    fn check_ials(&self, problem: &Problem) -> Result<(), Error> {
        if self.core != CoreKind::Diagonal {
            return Err(Error::param("core", "diagonal when the algorithm is ials", self.core.name()));
        }
        if self.absent != Absent::Zeros {
            return Err(Error::param("absent", "zeros when the algorithm is ials", self.absent.name()));
        }
        if let Some(weight) = self.absent_weight
            && !(weight > 0.0 && weight < 1.0)
        {
            return Err(Error::param("absent-weight", "above 0 and below 1", weight));
        }
        check_graphs(problem, "ials")
    }

    fn check_opponent(&self, problem: &Problem) -> Result<(), Error> {
        let name = self.algorithm.name();
        let core = if self.algorithm == Algorithm::TuckerAls { CoreKind::Full } else { CoreKind::Diagonal };
        if self.core != core {
            let expected = format!("{} when the algorithm is {name}", core.name());
            return Err(Error::param("core", expected, self.core.name()));
        }
        if self.absent == Absent::Graph {
            return Err(Error::param("absent", "missing or zeros", "graph"));
        }
        check_graphs(problem, name)
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
}

fn check_graphs(problem: &Problem, algorithm: &str) -> Result<(), Error> {
    if problem.coupled().iter().any(|matrix| matrix.kind() == Absent::Graph) {
        return Err(Error::param("algorithm", "bayes or sgd when a coupled matrix is a graph", algorithm));
    }
    Ok(())
}

/// The most columns that a diagonal core of bayes may have: its draws have a full core, with as many concepts in each mode as columns
/// are left when those of the other modes' offsets are taken off. Nothing if not even one that interacts is possible.
fn most_columns(order: usize) -> Option<usize> {
    let fits = |concepts: &usize| concepts.checked_pow(order as u32).is_some_and(|size| size <= MAX_CORE);
    let most = (3..MAX_RANK).take_while(fits).last()?;
    Some((most + order - 1).min(MAX_RANK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Entries;

    #[test]
    fn a_setting_that_the_algorithm_would_ignore_is_refused() {
        let entries = Entries::new(vec![vec![0, 1], vec![1, 0]], vec![1.0, 2.0]).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        let refused = |params: Params| params.check(&problem).unwrap_err().to_string();
        let bayes = Params { ranks: vec![2], ..Params::default() };
        assert!(bayes.check(&problem).is_ok());
        for (params, expected) in [
            (Params { scheme: Scheme::LockFree, ..bayes.clone() }, "sgd when there is scheme"),
            (
                Params { start: Start::Random, ..bayes.clone() },
                "sgd, cmtf-opt, cmtf-als, sals or tucker-als when there is start",
            ),
            (Params { decay: 0.2, ..bayes.clone() }, "sgd when there is decay"),
            (
                Params { lambda_reg: 0.2, ..bayes.clone() },
                "sgd, als, ials, cmtf-opt, cmtf-als or sals when there is lambda_reg",
            ),
            (Params { ranks: vec![1], ..bayes.clone() }, "sgd or als when a rank is 1"),
        ] {
            assert_eq!(refused(params), format!("algorithm should be {expected}, but is bayes"));
        }
        let paper = Params { ranks: vec![2], ..Params::paper() };
        assert!(paper.check(&problem).is_ok());
        for (params, expected) in [
            (
                Params { method: Method::Fast, ..paper.clone() },
                "method should be opt or naive when entries are shuffled every epoch",
            ),
            (
                Params { scheme: Scheme::Blocks, ..paper.clone() },
                "scheme should be lock-free when entries are shuffled every epoch",
            ),
            (
                Params { scheme: Scheme::Blocks, shuffle: Shuffle::Once, ..paper.clone() },
                "scheme should be lock-free when one thread updates the core",
            ),
            (
                Params { small_modes: SmallModes::Shared, ranks: vec![2], ..Params::sgd() },
                "scheme should be lock-free when small modes are shared",
            ),
        ] {
            assert!(refused(params).starts_with(expected));
        }
        let als = Params { ranks: vec![1], ..Params::als() };
        assert!(als.check(&problem).is_ok());
        let error = refused(Params { patience: Some(3), ..als.clone() });
        assert_eq!(
            error,
            "algorithm should be bayes, sgd, cmtf-opt, cmtf-als, sals or tucker-als when there is patience, but is als"
        );
        let error = refused(Params { without: vec![Component::RowNoise], ..als });
        assert_eq!(error, "algorithm should be bayes when there is without, but is als");
    }

    #[test]
    fn a_run_of_before_there_were_these_settings_is_as_it_was() {
        let mut old = partial::by_name(&Params::sgd());
        for name in ["shuffle", "core_update", "small_modes", "zeros_update"] {
            assert!(old.remove(name).is_some(), "{name}");
        }
        let old: Params = serde_json::from_value(old.into()).unwrap();
        assert_eq!(old, Params::sgd());
    }

    #[test]
    fn what_an_older_version_ignored_is_as_usual() {
        let old = Params { scheme: Scheme::LockFree, lambda_reg: 0.5, seed: 7, ..Params::default() };
        assert_eq!(old.without_ignored(), Params { seed: 7, ..Params::default() });
        let sgd = Params { scheme: Scheme::LockFree, lambda_reg: 0.5, ..Params::sgd() };
        assert_eq!(sgd.without_ignored(), sgd);
    }
}
