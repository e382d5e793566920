//! What `split` was given.

use std::path::PathBuf;

use clap::Args;

use super::choices::TableChoice;
use super::{FileArgs, decimal, whole};

/// What `split` was given.
#[derive(Debug, Args)]
pub(crate) struct SplitArgs {
    /// The tensor's entries: a table, or a file of an index per mode, counted from 1, and a value; several files, or a
    /// pattern in quotes, are one table
    #[arg(required = true, value_name = "TENSOR")]
    pub(crate) tensor: Vec<PathBuf>,
    /// The fraction of entries in the test set, between 0 and 1 [default: 0.1]
    #[arg(long, value_parser = decimal::<f64>, value_name = "SHARE", allow_negative_numbers = true, conflicts_with_all = ["leave", "after"])]
    pub(crate) test: Option<f64>,
    /// Put K random entries of each id of the column --mode into the test set; at least one stays in the training set
    #[arg(long, value_name = "K", value_parser = whole::<usize>, requires = "mode", conflicts_with = "time")]
    pub(crate) leave: Option<usize>,
    /// The column of --leave, by heading or by number from 1
    #[arg(long, value_name = "COLUMN", requires = "leave")]
    pub(crate) mode: Option<String>,
    /// Put the latest entries by this column of times, by heading or by number from 1, into the test set; those of one time stay
    /// together
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,
    /// Put entries of this time or later into the test set, such as 2005-06-01
    #[arg(long, value_name = "TIME", requires = "time")]
    pub(crate) after: Option<String>,
    /// The random seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    /// The folder to write train and test into; it is made
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The format of the two files [default: that of the tensor if it is text, otherwise parquet, or csv in a build without Parquet]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<TableChoice>,
    #[command(flatten)]
    pub(crate) file: FileArgs,
}
