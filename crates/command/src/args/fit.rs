//! The flags of `fit`: what goes in and out, and the settings.

use std::path::PathBuf;

use clap::Args;

use super::{DataArgs, SettingArgs};

/// What `fit` was given.
#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// The file of the tensor's entries: an index per mode, counted from 1, then the value
    pub(crate) tensor: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Evaluate each epoch on the entries of this file; nothing is chosen by them
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) test: Option<PathBuf>,
    /// Hold out this share of the entries, between 0 and 1; without --test they are what test RMSE means. With
    /// --patience, which watches them, the final model is trained on all entries [default: 0.1 with --patience]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) holdout: Option<f64>,
    /// Start from this model; unless given, its names of modes, ranks and kind of core are taken too
    #[arg(long, value_name = "MODEL", help_heading = "Data")]
    pub(crate) init: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Save the model in this folder: a new or empty one, or one that holds a model, which is replaced
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object per epoch and one at the end, and nothing else, on stdout
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress; notes, errors and the summary are still printed
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
