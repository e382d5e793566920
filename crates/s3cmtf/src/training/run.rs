//! What a run leaves: the model, what happened in each epoch, and why it stopped.

use serde::{Deserialize, Serialize};

use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::params::{Device, Params};
use crate::problem::HoldOut;

/// What one pass over the data did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Epoch {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// Seconds of training so far; evaluation is not counted.
    pub seconds: f64,
    /// Tensor entries per second of this epoch's training; sgd counts observed matrix entries, too.
    pub entries_per_second: f64,
    /// The RMSE over the training entries after the epoch: of the model as it is, or of the mean of draws so far.
    pub train_rmse: f64,
    /// The RMSE over the test (or held-out) entries after the epoch, if there are any.
    pub test_rmse: Option<f64>,
    /// Seconds spent on `test_rmse`, which are no part of `seconds`; 0 without test or held-out entries.
    #[serde(default)]
    pub evaluation_seconds: f64,
    /// The step size eta_t of the epoch; none for draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// With patience: the RMSE over the entries that it watches, after this epoch of the run on the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_rmse: Option<f64>,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stop {
    /// All epochs were run.
    Epochs,
    /// The training RMSE changed by less than the tolerance; of bayes, predictions did.
    Tolerance,
    /// The held-out RMSE had not improved for `patience` epochs.
    Patience,
    /// The run was interrupted; the model so far was kept.
    Interrupted,
    /// No step size was small enough; the last good model was kept.
    Diverged,
}

impl Stop {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Stop::Epochs => "all epochs were run",
            Stop::Tolerance => "the RMSE would hardly change any more",
            Stop::Patience => "the held-out RMSE did not improve any more",
            Stop::Interrupted => "interrupted; the model so far was kept",
            Stop::Diverged => "no step size was small enough; the last good model was kept",
        }
    }
}

/// The end of a run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Why it stopped.
    pub stop: Stop,
    /// The rank of each mode, as asked for or as found; not in older records.
    #[serde(default)]
    pub ranks: Vec<usize>,
    /// How many epochs were run.
    pub epochs: usize,
    /// The epoch whose model was kept; 0 is the start.
    pub best_epoch: usize,
    /// The RMSE of the kept model over the training entries.
    pub train_rmse: f64,
    /// The RMSE of the kept model over the test (or held-out) entries, if there are any.
    pub test_rmse: Option<f64>,
    /// The RMSE of the mean of the training values over the same entries; not in older records.
    #[serde(default)]
    pub mean_rmse: Option<f64>,
    /// The RMSE of the mean and an offset per row over the same entries; not in older records.
    #[serde(default)]
    pub offsets_rmse: Option<f64>,
    /// Seconds of training; evaluation is not counted, nor are offsets.
    pub seconds: f64,
}

/// The data a model was trained on, in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DataRecord {
    /// Training entries of the tensor.
    pub entries: usize,
    /// Test or held-out entries.
    pub test_entries: usize,
    /// The mean of the training values.
    pub mean: f64,
    /// The same for the same problem, whatever the order of its entries was in the file.
    pub fingerprint: String,
    /// How the entries that the model was not trained on were held out of the data, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<HoldOut>,
    /// Entries that were taken in after training, by fold-in or update.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub later_entries: usize,
    /// What tells the data that were saved with the model from others, see [`files::is_own_data`](crate::files::is_own_data);
    /// none where no data were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The likelihood that values look like they come from, where that is not the one they were fitted by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks_like: Option<Likelihood>,
}

fn cpu() -> String {
    Device::Cpu.to_string()
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Everything about a run but the model's numbers: the readable half of a saved model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// The version of s3cmtf that ran.
    pub version: String,
    /// What was typed to get the model, if it was by a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The settings.
    pub params: Params,
    /// The data.
    pub data: DataRecord,
    /// The vector instructions used.
    pub instructions: String,
    /// The number of threads used.
    pub threads: usize,
    /// What the run was computed on: `cpu`, or the number of a GPU and its name; not in older records.
    #[serde(default = "cpu")]
    pub device: String,
    /// Why a GPU was not used that is there, or that entries had no room on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_note: Option<String>,
    /// How often an epoch left the model clearly worse than the start, so that it was taken back and the rate halved.
    pub halvings: u32,
    /// The end in numbers.
    pub summary: Summary,
    /// Each epoch in numbers.
    pub history: Vec<Epoch>,
    /// With patience: the RMSE over the entries that it watched, after each epoch of the run on the rest, which has more epochs than
    /// the one on all entries that followed. Empty without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<f64>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The factorization.
    pub model: Model,
    /// How it came about.
    pub record: Record,
}
