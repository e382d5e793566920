//! The words that some flags choose from, and what they mean to the library.

use std::fmt;

use clap::ValueEnum;
use s3cmtf::discovery::RankBy;
use s3cmtf::internal::files::OutFormat;
use s3cmtf::internal::table::did_you_mean;
use s3cmtf::{
    Absent, Algorithm, Component, CoreKind, Duplicates, Instructions, Likelihood, Method, OptimizerKind,
    Scheme, Start,
};

/// What `--duplicates` says.
pub(super) fn duplicates(word: &str) -> Result<Duplicates, String> {
    Duplicates::ALL.into_iter().find(|duplicates| duplicates.name() == word).ok_or_else(|| {
        let hint = did_you_mean(Duplicates::ALL.map(Duplicates::name), word);
        format!("should be mean, last, sum or error{hint}")
    })
}

/// The words of `--core`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CoreChoice {
    /// Tucker: every latent factor of a mode may interact with every one of the others
    Full,
    /// CP: latent factors interact one to one, with one rank for all modes
    Diagonal,
}

impl From<CoreChoice> for CoreKind {
    fn from(choice: CoreChoice) -> Self {
        match choice {
            CoreChoice::Full => CoreKind::Full,
            CoreChoice::Diagonal => CoreKind::Diagonal,
        }
    }
}

/// The words of `--algorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlgorithmChoice {
    /// Bayesian: Gibbs sampling, and the posterior mean of the samples; nothing needs tuning
    Bayes,
    /// Stochastic gradient descent, as in the S3CMTF paper
    Sgd,
    /// Alternating least squares: recovers a tensor that has exactly the given ranks
    Als,
    /// Alternating least squares for implicit feedback: absent cells are zeros of less weight; for recommendations
    Ials,
    /// CMTF-OPT: all CP factors at once, by first-order optimization (the paper's opponent, as are the next three)
    CmtfOpt,
    /// CMTF-ALS: alternating least squares on CP factors, as in HaTen2 and SCouT
    CmtfAls,
    /// SALS: alternating least squares on some columns of CP factors at a time; with --block 1 it is CDTF
    Sals,
    /// CMTF-Tucker-ALS: higher-order orthogonal iteration with coupled matrices
    TuckerAls,
}

impl From<AlgorithmChoice> for Algorithm {
    fn from(choice: AlgorithmChoice) -> Self {
        match choice {
            AlgorithmChoice::Bayes => Algorithm::Bayes,
            AlgorithmChoice::Sgd => Algorithm::Sgd,
            AlgorithmChoice::Als => Algorithm::Als,
            AlgorithmChoice::Ials => Algorithm::Ials,
            AlgorithmChoice::CmtfOpt => Algorithm::CmtfOpt,
            AlgorithmChoice::CmtfAls => Algorithm::CmtfAls,
            AlgorithmChoice::Sals => Algorithm::Sals,
            AlgorithmChoice::TuckerAls => Algorithm::TuckerAls,
        }
    }
}

/// The words of `--start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StartChoice {
    /// A first concept that predicts the mean, and noise; the paper's opponents keep that concept as it is
    Mean,
    /// Everything random: as published
    Random,
    /// The paper's opponents: the mean and an offset per row, which stay, and noise
    Offsets,
}

impl From<StartChoice> for Start {
    fn from(choice: StartChoice) -> Self {
        match choice {
            StartChoice::Mean => Start::Mean,
            StartChoice::Random => Start::Random,
            StartChoice::Offsets => Start::Offsets,
        }
    }
}

/// The words of `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankByChoice {
    /// The predicted value
    Rating,
    /// How likely it is chosen: learnt from which cells have a value
    Choice,
    /// Both: how likely it is chosen, times how far the predicted value is above the lowest
    Both,
}

impl From<RankByChoice> for RankBy {
    fn from(choice: RankByChoice) -> Self {
        match choice {
            RankByChoice::Rating => RankBy::Rating,
            RankByChoice::Choice => RankBy::Choice,
            RankByChoice::Both => RankBy::Both,
        }
    }
}

/// The words of `--absent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AbsentChoice {
    /// They are unknown
    Missing,
    /// They are zeros: not chosen in ials, and values as all others in bayes and the paper's opponents
    Zeros,
}

impl From<AbsentChoice> for Absent {
    fn from(choice: AbsentChoice) -> Self {
        match choice {
            AbsentChoice::Missing => Absent::Missing,
            AbsentChoice::Zeros => Absent::Zeros,
        }
    }
}

/// The words of `--optimizer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptimizerChoice {
    /// Limited-memory BFGS
    Lbfgs,
    /// Nonlinear conjugate gradients
    Cg,
}

impl From<OptimizerChoice> for OptimizerKind {
    fn from(choice: OptimizerChoice) -> Self {
        match choice {
            OptimizerChoice::Lbfgs => OptimizerKind::Lbfgs,
            OptimizerChoice::Cg => OptimizerKind::Cg,
        }
    }
}

/// The words of `--without`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComponentChoice {
    /// Each row has its own noise precision
    #[value(alias = "shares")]
    RowNoise,
    /// Each latent factor has its own precision (automatic relevance determination)
    Relevance,
    /// Offsets, pairwise and higher interactions of modes have their own precisions
    #[value(alias = "sets")]
    InteractionScales,
    /// Conditional distributions of rows are averaged, rather than their samples
    #[value(alias = "distributions")]
    RaoBlackwell,
    /// Samples are averaged, rather than the last one kept
    #[value(alias = "average")]
    Averaging,
    /// Which cells have a value is learnt too, for recommendations
    Choice,
}

impl From<ComponentChoice> for Component {
    fn from(choice: ComponentChoice) -> Self {
        match choice {
            ComponentChoice::RowNoise => Component::RowNoise,
            ComponentChoice::Relevance => Component::Relevance,
            ComponentChoice::InteractionScales => Component::InteractionScales,
            ComponentChoice::RaoBlackwell => Component::RaoBlackwell,
            ComponentChoice::Averaging => Component::Averaging,
            ComponentChoice::Choice => Component::Choice,
        }
    }
}

/// The words of `--likelihood`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LikelihoodChoice {
    /// Ratings and measurements: normal noise
    Gaussian,
    /// Yes or no (values 0 and 1): predictions are probabilities
    Logistic,
    /// Counts (whole numbers): negative binomial; predictions are expected counts
    Counts,
}

impl From<LikelihoodChoice> for Likelihood {
    fn from(choice: LikelihoodChoice) -> Self {
        match choice {
            LikelihoodChoice::Gaussian => Likelihood::Gaussian,
            LikelihoodChoice::Logistic => Likelihood::Logistic,
            LikelihoodChoice::Counts => Likelihood::Counts,
        }
    }
}

/// The words of `--method`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MethodChoice {
    /// Entries that share indices share contractions of the core
    Fast,
    /// The paper's Algorithm 3
    Opt,
    /// The paper's Algorithm 2
    Naive,
}

impl From<MethodChoice> for Method {
    fn from(choice: MethodChoice) -> Self {
        match choice {
            MethodChoice::Fast => Method::Fast,
            MethodChoice::Opt => Method::Opt,
            MethodChoice::Naive => Method::Naive,
        }
    }
}

/// The words of `--scheme`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemeChoice {
    /// Each thread owns the rows that it updates (block partitioning)
    Blocks,
    /// As in the paper: threads update shared rows without locks (Hogwild)
    LockFree,
}

impl From<SchemeChoice> for Scheme {
    fn from(choice: SchemeChoice) -> Self {
        match choice {
            SchemeChoice::Blocks => Scheme::Blocks,
            SchemeChoice::LockFree => Scheme::LockFree,
        }
    }
}

/// The words of `--instructions`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum InstructionsChoice {
    /// Those that every machine of this architecture has
    Portable,
    /// AVX2 and FMA, 8 numbers at a time
    Avx2,
    /// AVX-512, 16 numbers at a time
    Avx512,
    /// NEON, 4 numbers at a time
    Neon,
}

impl From<InstructionsChoice> for Instructions {
    fn from(choice: InstructionsChoice) -> Self {
        match choice {
            InstructionsChoice::Portable => Instructions::Portable,
            InstructionsChoice::Avx2 => Instructions::Avx2,
            InstructionsChoice::Avx512 => Instructions::Avx512,
            InstructionsChoice::Neon => Instructions::Neon,
        }
    }
}

/// The words of `--preset`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Preset {
    /// The defaults that the help of each flag names
    Default,
    /// The paper's algorithm and settings
    Paper,
    /// The same with its rank and rate for MovieLens
    PaperMovielens,
    /// The same with its rank and rate for Netflix
    PaperNetflix,
    /// The same with its rank and rate for Yelp
    PaperYelp,
    /// FlexiFaCT, an opponent of the paper: sgd over blocks on CP factors, from a random start
    Flexifact,
}

impl From<Preset> for s3cmtf::internal::Preset {
    fn from(preset: Preset) -> Self {
        match preset {
            Preset::Default => s3cmtf::internal::Preset::Default,
            Preset::Paper => s3cmtf::internal::Preset::Paper,
            Preset::PaperMovielens => s3cmtf::internal::Preset::PaperMovielens,
            Preset::PaperNetflix => s3cmtf::internal::Preset::PaperNetflix,
            Preset::PaperYelp => s3cmtf::internal::Preset::PaperYelp,
            Preset::Flexifact => s3cmtf::internal::Preset::Flexifact,
        }
    }
}

/// The words of `--to` for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableChoice {
    /// Apache Parquet, which is small and fast to read
    Parquet,
    /// Text with commas
    Csv,
}

impl TableChoice {
    /// What large tables are written as: Parquet where it was built in.
    pub(crate) const BINARY: TableChoice =
        if cfg!(feature = "arrow") { TableChoice::Parquet } else { TableChoice::Csv };
}

impl fmt::Display for TableChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableChoice::Parquet => "parquet",
            TableChoice::Csv => "csv",
        })
    }
}

impl From<TableChoice> for OutFormat {
    fn from(choice: TableChoice) -> Self {
        match choice {
            TableChoice::Parquet => OutFormat::Parquet,
            TableChoice::Csv => OutFormat::Csv,
        }
    }
}
