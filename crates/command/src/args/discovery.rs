//! What the verbs that say what a model has found were given.

use std::path::PathBuf;

use super::whole;

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
    /// What stands for another mode, such as time=2017-03 [default: the latest of a mode of times, the average of others]
    #[arg(long, value_name = "MODE=NAME")]
    pub(crate) at: Vec<String>,
    /// How many are recommended
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>)]
    pub(crate) top: usize,
    /// Only those that have this column of a coupled matrix, such as category=Sushi; all of them if given more than once
    #[arg(long = "where", value_name = "MATRIX=COLUMN")]
    pub(crate) having: Vec<String>,
    /// Recommend also what training has seen
    #[arg(long)]
    pub(crate) include_seen: bool,
    /// Print one JSON object; for one entity only
    #[arg(long, help_heading = "Output", conflicts_with = "out")]
    pub(crate) json: bool,
    /// Write a table to this file, whole or not at all: csv or parquet, by its ending
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// No progress; notes and errors are still printed
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// What `similar` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct SimilarArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The entity by its mode and name, such as movie="Toy Story (1995)"
    #[arg(value_name = "MODE=NAME")]
    pub(crate) entity: String,
    /// How many are listed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>)]
    pub(crate) top: usize,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
