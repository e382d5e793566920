//! What `evaluate` was given.

use std::path::PathBuf;

use super::{DataArgs, SettingArgs, whole};

/// What `evaluate` was given: a model, or what `fit` would be given and a number of folds.
#[derive(Debug, clap::Args)]
#[command(override_usage = "s3cmtf evaluate <MODEL> <TENSOR> [--clip] [--json]\n       \
    s3cmtf evaluate <TENSOR> --folds <K> [OPTIONS]")]
pub(crate) struct EvaluateArgs {
    /// The folder of a model that `fit --out` saved; with --folds there is none, and the file of the tensor's entries
    /// stands here
    #[arg(value_name = "MODEL")]
    pub(crate) first: PathBuf,
    /// The file of known entries
    #[arg(value_name = "TENSOR", required_unless_present = "folds", conflicts_with = "folds")]
    pub(crate) second: Option<PathBuf>,
    /// Cross validate: deal the entries into K folds, from 2 to the number of entries, and measure each with a model that
    /// is trained on all others
    #[arg(long, value_name = "K", value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub(crate) folds: Option<usize>,
    /// Keep predictions within the range of the training values
    #[arg(long)]
    pub(crate) clip: bool,
    // These need --folds; clap could say so only with a list of them all.
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Print one JSON object: entries, unknown, rmse, mae; with --folds one per fold, and one at the end
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress; notes, errors and the table are still printed
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
