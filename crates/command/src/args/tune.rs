//! What `tune` was given.

use std::path::PathBuf;

use super::units::seconds;
use super::{DataArgs, ProgressArgs, SettingArgs, decimal};

/// What `tune` was given. The settings are where the search starts.
#[derive(Debug, clap::Args)]
pub(crate) struct TuneArgs {
    /// The tensor's entries: a table (CSV and the like), or a file of an index per mode, counted from 1, and a value; several
    /// files, or a pattern in quotes, are one table
    #[arg(required = true, value_name = "TENSOR")]
    pub(crate) tensor: Vec<PathBuf>,
    /// The time budget of the search, above 0: 60 or 60s, 5m, 2h; the initial settings are tried whatever they take
    #[arg(
        long,
        value_parser = seconds,
        value_name = "TIME",
        default_value_t = 60.0,
        allow_negative_numbers = true,
        help_heading = "Search"
    )]
    pub(crate) budget: f64,
    /// The fraction of entries, between 0 and 1, that is held out to compare settings on
    #[arg(
        long,
        value_parser = decimal::<f64>,
        value_name = "SHARE",
        default_value_t = 0.1,
        allow_negative_numbers = true,
        help_heading = "Search"
    )]
    pub(crate) holdout: f64,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Print one JSON object for each of the settings and one at the end, and nothing else, on stdout
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
