//! How the run went, and how it can be done again.

use serde::Serialize;

use super::sampled::places;
use super::{Options, cut};
use crate::{Record, Stop};

/// No more points of a curve than this.
const MOST: usize = 500;

/// The errors over the epochs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    /// Epoch by epoch; some are left out where there are many.
    pub steps: Vec<Step>,
    /// The epoch whose model was kept; 0 is the start.
    pub kept: usize,
    /// How many epochs were run.
    pub epochs: usize,
    /// Why it stopped.
    pub stop: String,
    /// Whether it did not stop by itself.
    pub cut_short: bool,
    /// The RMSE of the kept model over the training entries.
    pub train_rmse: f64,
    /// The same over the test (or held-out) entries.
    pub test_rmse: Option<f64>,
    /// That of the mean of the training values over the same entries.
    pub mean_rmse: Option<f64>,
    /// That of the mean and an offset per row over the same entries.
    pub offsets_rmse: Option<f64>,
    /// Seconds of training.
    pub seconds: f64,
}

/// An epoch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Counted from 1.
    pub epoch: usize,
    /// Seconds of training so far.
    pub seconds: f64,
    /// The RMSE over the training entries.
    pub train: f64,
    /// The RMSE over the test (or held-out) entries.
    pub test: Option<f64>,
}

impl Course {
    pub(super) fn new(record: &Record) -> Self {
        let (history, summary) = (&record.history, &record.summary);
        let mut shown = places(history.len(), MOST);
        shown.extend(history.iter().position(|epoch| epoch.epoch == summary.best_epoch));
        shown.sort_unstable();
        shown.dedup();
        let step = |place: usize| {
            let epoch = &history[place];
            Step {
                epoch: epoch.epoch,
                seconds: epoch.seconds,
                train: epoch.train_rmse,
                test: epoch.test_rmse,
            }
        };
        Course {
            steps: shown.into_iter().map(step).collect(),
            kept: summary.best_epoch,
            epochs: summary.epochs,
            stop: summary.stop.reason().to_owned(),
            cut_short: matches!(summary.stop, Stop::Interrupted | Stop::Diverged),
            train_rmse: summary.train_rmse,
            test_rmse: summary.test_rmse,
            mean_rmse: summary.mean_rmse,
            offsets_rmse: summary.offsets_rmse,
            seconds: summary.seconds,
        }
    }
}

/// What a run needs to be done again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// The settings by name.
    pub params: Vec<(String, String)>,
    /// Versions, machine and time, by name.
    pub facts: Vec<(String, String)>,
    /// The command line.
    pub command: String,
}

impl Settings {
    pub(super) fn new(record: &Record, options: &Options) -> Self {
        let evaluation: f64 = record.history.iter().map(|epoch| epoch.evaluation_seconds).sum();
        let rates: Vec<f64> = record.history.iter().map(|epoch| epoch.entries_per_second).collect();
        let mut facts = vec![
            ("s3cmtf".into(), record.version.clone()),
            ("report by".into(), env!("CARGO_PKG_VERSION").to_owned()),
            ("instructions".into(), record.instructions.clone()),
            ("threads".into(), record.threads.to_string()),
            ("device".into(), record.device.clone()),
            ("training".into(), format!("{:.2} s", record.summary.seconds)),
            ("evaluation".into(), format!("{evaluation:.2} s")),
        ];
        if !rates.is_empty() {
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            facts.push(("entries per second".into(), format!("{mean:.0}")));
        }
        if record.halvings > 0 {
            facts.push(("rate halved".into(), record.halvings.to_string()));
        }
        facts.push(("data fingerprint".into(), cut(&record.data.fingerprint)));
        Settings { params: params(record), facts, command: options.command.clone() }
    }
}

/// The settings by the names that they have in `run.json`.
fn params(record: &Record) -> Vec<(String, String)> {
    // Settings are plain numbers and words: they become JSON whatever they are.
    let Ok(serde_json::Value::Object(mut fields)) = serde_json::to_value(&record.params) else {
        return Vec::new();
    };
    fields.retain(|name, _| record.params.algorithm.has(name));
    let text = |value: serde_json::Value| match value {
        serde_json::Value::Null => "not given".to_owned(),
        serde_json::Value::String(text) => text,
        serde_json::Value::Bool(yes) => if yes { "yes" } else { "no" }.to_owned(),
        serde_json::Value::Array(list) if list.is_empty() => "none".to_owned(),
        serde_json::Value::Array(list) => {
            let words = list.iter().map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
            words.collect::<Vec<_>>().join(", ")
        }
        // Settings of 32 bits would have a tail of digits in 64.
        serde_json::Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or(String::new(), |number| (number as f32).to_string())
        }
        other => other.to_string(),
    };
    fields.into_iter().map(|(name, value)| (name, text(value))).collect()
}
