//! What `reproduce` was given.

use std::path::PathBuf;

use clap::ValueEnum;
use s3cmtf::internal::files::parse_size;
use serde::{Deserialize, Serialize};

use super::bench::share;
use super::{ProgressArgs, units, whole};

/// The time that the paper lets an iteration take, in seconds.
const PAPERS_TIME: &str = "10000s";

/// What `reproduce` was given.
#[derive(Debug, clap::Args)]
pub(crate) struct ReproduceArgs {
    /// The folder for index.html, reproduce.md, the plots and cells.jsonl; it is made
    #[arg(long, short, value_name = "DIR", required_unless_present = "child")]
    pub(crate) out: Option<PathBuf>,
    /// Only these figures and tables of the paper [default: all]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) only: Vec<Figure>,
    /// Only these sets of ratings, in figures 1 and 4 [default: all]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', help_heading = "Data")]
    pub(crate) sets: Vec<Set>,
    /// The download of MovieLens-10M, a folder or an archive; without it, data of its shape are made up
    #[arg(long, value_name = "PATH", help_heading = "Data")]
    pub(crate) movielens: Option<PathBuf>,
    /// The download of the Netflix prize, likewise
    #[arg(long, value_name = "PATH", help_heading = "Data")]
    pub(crate) netflix: Option<PathBuf>,
    /// The download of Yelp, likewise
    #[arg(long, value_name = "PATH", help_heading = "Data")]
    pub(crate) yelp: Option<PathBuf>,
    /// Take this share of made-up data, above 0 and up to 1; downloads are taken whole
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share, help_heading = "Data")]
    pub(crate) scale: f64,
    /// The most threads of a run; 0 is all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>, help_heading = "Limits")]
    pub(crate) threads: usize,
    /// Mark a run that would need more memory than this, such as 16GB, as out of memory, and leave it out [default: what the
    /// machine has free]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub(crate) memory: Option<u64>,
    /// Stop a run whose epoch takes longer, such as 30s, 5m or 2h, and mark it as out of time
    #[arg(long, value_name = "TIME", default_value = PAPERS_TIME, value_parser = units::seconds, help_heading = "Limits")]
    pub(crate) time: f64,
    /// The time that a run may train where its error over time is measured; the epoch in which it is over is the last [default:
    /// 400 s times the scale, but 2 s at least]
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Limits")]
    pub(crate) budget: Option<f64>,
    /// Go on where the run in this folder has stopped: what is in its cells.jsonl is not run again
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    /// Runs this one cell and prints what came of it: a process of its own for each, so that its memory is its own
    #[arg(long, value_name = "JSON", hide = true)]
    pub(crate) child: Option<String>,
}

/// The paper's data sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[value(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub(crate) enum Set {
    MovieLens,
    Netflix,
    Yelp,
}

/// A figure or table of the paper's evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Figure {
    /// Test RMSE over time on MovieLens, Netflix and Yelp
    Fig1,
    /// Time per iteration on the same
    Fig4,
    /// Time against the size of the modes
    Fig5a,
    /// Time against the number of entries
    Fig5b,
    /// Time against the number of cores
    Fig5c,
    /// Comparison with SALS, not coupled
    Fig6,
    /// Gap statistic, coupled and not coupled
    Fig7,
    /// Time and memory per iteration, by formula
    Table3,
    /// Clusters with their categories and cities
    Table5,
    /// One user's dominant and weak concepts
    Fig8,
}
