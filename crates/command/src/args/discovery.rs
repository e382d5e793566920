//! What the verbs that say what a model has found were given.

use std::path::PathBuf;
use std::str::FromStr;

use s3cmtf::discovery::{MOST_CLUSTERS, SEED, TOP, TOP_OF_CONCEPTS};

use super::choices::RankByChoice;
use super::{ProgressArgs, decimal, whole};

/// What `clusters` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct ClustersArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The mode to cluster, by name or by number from 1
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: String,
    /// The number of clusters; auto uses the gap statistic
    #[arg(long, value_name = "K", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) k: Count,
    /// The maximum number of clusters for auto
    #[arg(long, value_name = "K", default_value_t = MOST_CLUSTERS, value_parser = some, allow_negative_numbers = true)]
    pub(crate) most: usize,
    /// Include the level: how high the values of an entity are overall (its main effect)
    #[arg(long)]
    pub(crate) level: bool,
    /// The number of entities and columns to show of each
    #[arg(long, value_name = "N", default_value_t = TOP, value_parser = some, allow_negative_numbers = true)]
    pub(crate) top: usize,
    /// The random seed of k-means
    #[arg(long, value_name = "N", default_value_t = SEED, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    /// Write the cluster of every entity to this file: csv, or Parquet by its ending
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `concepts` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct ConceptsArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// Only the concepts of this mode, by name or by number from 1, and all of them that are not noise
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// The number of entities, columns and interactions to show
    #[arg(long, value_name = "N", default_value_t = TOP_OF_CONCEPTS, value_parser = some, allow_negative_numbers = true)]
    pub(crate) top: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `recommend` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct RecommendArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// To whom: an entity by its mode and name, such as user=Tyler; or a mode alone, such as user, for all of its entities
    #[arg(long = "for", value_name = "MODE[=NAME]")]
    pub(crate) to: String,
    /// What: the mode whose entities are recommended
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: String,
    /// The entity to assume for another mode, such as time=2017-03 [default: the average one]
    #[arg(long, value_name = "MODE=NAME")]
    pub(crate) at: Vec<String>,
    /// The number of recommendations
    #[arg(long, value_name = "N", default_value_t = TOP, value_parser = some, allow_negative_numbers = true)]
    pub(crate) top: usize,
    /// Only entities with this column of a coupled matrix, such as category=Sushi; if given more than once, all must hold
    #[arg(long = "where", value_name = "MATRIX=COLUMN")]
    pub(crate) having: Vec<String>,
    /// Include entities that have a training entry
    #[arg(long)]
    pub(crate) include_seen: bool,
    /// Risk aversion: rank by the prediction minus this many standard deviations, so that entities with few entries do not
    /// come first [default: 0]
    #[arg(long, value_name = "X", value_parser = decimal::<f32>, allow_negative_numbers = true)]
    pub(crate) caution: Option<f32>,
    /// What to rank by [default: both, where the model knows what is chosen and there is no caution; else rating]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<RankByChoice>,
    /// Print one JSON object; for one entity only
    #[arg(long, help_heading = "Output", conflicts_with = "out")]
    pub(crate) json: bool,
    /// Write a table to this file, atomically: csv or parquet, by its ending
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// What `similar` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct SimilarArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The entity by its mode and name, such as movie="Toy Story (1995)"
    #[arg(value_name = "MODE=NAME")]
    pub(crate) entity: String,
    /// Include the level: how high the values of an entity are overall (its main effect)
    #[arg(long)]
    pub(crate) level: bool,
    /// The number of entities to list
    #[arg(long, value_name = "N", default_value_t = TOP, value_parser = some, allow_negative_numbers = true)]
    pub(crate) top: usize,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

fn some(text: &str) -> Result<usize, String> {
    // Nobody has more names than that, and sums of such numbers are numbers.
    let number = text.trim().parse::<u32>().ok().filter(|&number| number > 0);
    number.map(|number| number as usize).ok_or_else(|| format!("should be from 1 to {}", u32::MAX))
}

/// How many clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    Auto,
    Fixed(usize),
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Count::Auto),
            text => some(text).map(Count::Fixed).map_err(|_| "should be auto, or 1 or more".into()),
        }
    }
}
