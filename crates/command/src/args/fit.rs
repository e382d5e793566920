//! The flags of `fit`: what goes in and out, and the settings.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::units::duration;
use super::{DataArgs, ProgressArgs, SettingArgs, decimal};

/// What `fit` was given.
#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// The tensor's entries: a table (CSV and the like), or a file of an index per mode, counted from 1, and a value; several
    /// files, or a pattern in quotes, are one table
    #[arg(required = true, value_name = "TENSOR")]
    pub(crate) tensor: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Report the RMSE on the entries of this test set after each epoch; it does not influence training
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) test: Option<PathBuf>,
    /// Hold out this fraction of the entries, between 0 and 1; without --test they are the test set. With --patience they are
    /// the validation set, and the final model is trained on all entries [default: 0.1 with --patience]
    #[arg(long, value_parser = decimal::<f64>, value_name = "SHARE", allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) holdout: Option<f64>,
    /// Hold out the latest entries by this mode, whose ids are in order of time, instead of random ones: about the fraction
    /// of --holdout [default: 0.1]; those of one id stay together
    #[arg(long, value_name = "MODE", help_heading = "Data")]
    pub(crate) holdout_last: Option<String>,
    /// Hold out K random entries of each id of a mode, of which at least one entry stays to train on: user=2
    #[arg(long, value_name = "MODE=K", conflicts_with_all = ["holdout", "holdout_last"], help_heading = "Data")]
    pub(crate) holdout_leave: Option<Leave>,
    /// The folder for sorting entries that do not fit --memory, with room for two to five times the converted file [default:
    /// the folder that contains --out, or the current one]
    #[arg(long, value_name = "DIR", requires = "memory", help_heading = "Data")]
    pub(crate) scratch: Option<PathBuf>,
    /// Warm start from this model, with its names of modes, ranks and kind of core unless others are given
    #[arg(long, value_name = "MODEL", help_heading = "Data")]
    pub(crate) init: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Save the model in this folder: a new or empty one, or one that holds a model, which is replaced
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Do not save the training data with the model; recommend and clusters then know less
    #[arg(long, requires = "out", help_heading = "Output")]
    pub(crate) no_data: bool,
    /// Save a checkpoint in the folder of --out at this interval: 30s, 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "out", help_heading = "Output")]
    pub(crate) checkpoint_every: Option<Duration>,
    /// Resume from the checkpoint in this folder, with its settings; the data have to be given again
    #[arg(long, value_name = "DIR", conflicts_with = "init", help_heading = "Data")]
    pub(crate) resume: Option<PathBuf>,
    /// Write an HTML report, see `s3cmtf report`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
    /// Print one JSON object per epoch and one at the end, and nothing else, on stdout
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// So many entries of each id of a mode.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leave {
    /// The mode, by name or by number from 1.
    pub(crate) mode: String,
    /// How many of each id.
    pub(crate) count: usize,
}

impl FromStr for Leave {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let leave = text.rsplit_once('=').and_then(|(mode, count)| {
            let count = count.parse().ok().filter(|&count: &usize| count > 0)?;
            (!mode.is_empty()).then(|| Leave { mode: mode.to_owned(), count })
        });
        leave.ok_or_else(|| "should be a mode and a whole number, 1 or more, such as user=2".into())
    }
}

impl fmt::Display for Leave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.mode, self.count)
    }
}
