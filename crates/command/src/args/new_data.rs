//! The flags of `fold-in` and `update`.

use std::path::PathBuf;

use clap::Args;

use super::FileArgs;
use crate::couple::CoupleArg;

/// What `fold-in` and `update` were given.
#[derive(Debug, Args)]
pub(crate) struct LaterArgs {
    /// The folder of a model that `fit --out` saved
    pub(crate) model: PathBuf,
    /// The new entries: a table with the columns that the modes came from, or an index per mode, counted from 1, and a
    /// value. For fold-in it may be left out where --couple has rows of new ids
    pub(crate) tensor: Option<PathBuf>,
    /// Rows of new ids in a matrix that the model was fitted with, as in fit; its kind and weight are the model's. Rows of ids
    /// that the model already has are ignored
    #[arg(long, value_name = "MODE=FILE[:ROW,COLUMN[,VALUE]][,split=TEXT]", help_heading = "Data")]
    pub(crate) couple: Vec<CoupleArg>,
    /// The column of values [default: the one used in training]
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(crate) value: Option<String>,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Save the new model in this folder: a new or empty one, or one that holds a model, which is replaced
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Print one JSON object: how many rows of each mode are new and how many were updated, and how many entries counted
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
