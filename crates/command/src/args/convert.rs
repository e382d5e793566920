//! What `convert` was given.

use std::path::PathBuf;

use clap::Args;

use super::DataArgs;

/// What `convert` was given.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The tensor's entries, as in fit
    #[arg(required = true, value_name = "TENSOR")]
    pub(crate) tensor: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The file to write, atomically, such as ratings.s3cmtf; fit, tune, check and evaluate --folds take it as TENSOR
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// No summary; notes and errors are still printed
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
