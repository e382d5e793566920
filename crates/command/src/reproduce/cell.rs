//! A cell: one run of one method on one set of data, and what came of it. Both are lines of JSON, and stay readable.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::found::Found;
pub(super) use crate::args::Set;

/// What cells are run for; several figures may show the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Experiment {
    /// The three sets of ratings, coupled: errors over time, and the time of an epoch.
    Ratings,
    /// Modes of many sizes.
    Sizes,
    /// Numbers of entries.
    Entries,
    /// Numbers of threads.
    Cores,
    /// Ranks.
    Ranks,
    /// MovieLens alone, not coupled.
    Single,
    /// What a model says of businesses and users.
    Discovery,
}

impl Set {
    pub(super) const ALL: [Set; 3] = [Set::MovieLens, Set::Netflix, Set::Yelp];

    pub(super) fn name(self) -> &'static str {
        match self {
            Set::MovieLens => "MovieLens",
            Set::Netflix => "Netflix",
            Set::Yelp => "Yelp",
        }
    }

    /// Its name among made-up shapes and in names of files.
    pub(super) fn shape(self) -> &'static str {
        match self {
            Set::MovieLens => "movielens-10m",
            Set::Netflix => "netflix",
            Set::Yelp => "yelp",
        }
    }
}

/// Data that every process makes or reads in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Data {
    /// A set of ratings: its download, or a share of data of its shape.
    Ratings { set: Set, original: bool, scale: f64, coupled: bool },
    /// Three modes of one size, with a coupled matrix that has a tenth of the entries.
    Made { size: u32, entries: usize },
    /// Yelp, or a made-up world of users and businesses with so many ratings.
    World { original: bool, ratings: usize, coupled: bool },
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) experiment: Experiment,
    pub(super) data: Data,
    /// The key of a method in `methods.rs`.
    pub(super) method: String,
    /// The rank of every mode; none is for the method to find.
    pub(super) rank: Option<usize>,
    pub(super) threads: usize,
    pub(super) epochs: usize,
}

/// What a process is given.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) cell: Cell,
    pub(super) limits: Limits,
    /// The converted download, where the data are one.
    pub(super) file: Option<PathBuf>,
}

/// What a cell may take. It is no part of the cell: what was run within other limits was run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Limits {
    /// Bytes.
    pub(super) memory: Option<u64>,
    /// Seconds of an epoch.
    pub(super) time: f64,
    /// Seconds of training, where an error over time is measured.
    pub(super) budget: f64,
}

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    Done,
    /// The paper's O.O.M.
    OutOfMemory,
    /// The paper's O.O.T.
    OutOfTime,
    Failed,
}

/// What came of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) cell: Cell,
    pub(super) state: State,
    /// What was in the way, if it is not done.
    pub(super) why: Option<String>,
    pub(super) facts: Option<Facts>,
    /// Bytes: as the formula has them, and the most that the process held.
    pub(super) computed_bytes: Option<u64>,
    pub(super) peak_bytes: Option<u64>,
    pub(super) epochs: Vec<Point>,
    /// Of the model that was kept.
    pub(super) test_rmse: Option<f64>,
    pub(super) offsets_rmse: Option<f64>,
    /// The setting that was chosen on a part of the training entries, if one was.
    pub(super) chosen: Option<Chosen>,
    pub(super) found: Option<Found>,
    /// Whether the budget ended the run before its epochs did.
    #[serde(default)]
    pub(super) cut_short: bool,
    /// The share of the training entries that was measured, if not all were: times are scaled up.
    #[serde(default)]
    pub(super) part: Option<f64>,
    /// The load of the machine just before, where it tells: times under other work say little.
    #[serde(default)]
    pub(super) load: Option<f64>,
    /// Seconds of the whole process.
    pub(super) seconds: f64,
}

impl Outcome {
    /// Nothing has come of it yet.
    pub(super) fn new(cell: Cell) -> Self {
        Outcome {
            cell,
            state: State::Failed,
            why: None,
            facts: None,
            computed_bytes: None,
            peak_bytes: None,
            epochs: Vec::new(),
            test_rmse: None,
            offsets_rmse: None,
            chosen: None,
            found: None,
            cut_short: false,
            part: None,
            load: None,
            seconds: 0.0,
        }
    }

    pub(super) fn ended(self, state: State, why: impl Into<String>) -> Self {
        Outcome { state, why: Some(why.into()), ..self }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The seconds of the fastest epoch over all entries: other work on the machine only ever slows one down.
    pub(super) fn epoch_seconds(&self) -> Option<f64> {
        let mut last = 0.0;
        let each =
            self.epochs.iter().map(|point| point.seconds - std::mem::replace(&mut last, point.seconds));
        let fastest = each.filter(|seconds| *seconds > 0.0).min_by(f64::total_cmp);
        fastest.map(|seconds| seconds / self.part.unwrap_or(1.0))
    }

    /// The lowest test RMSE of all epochs, which is what the paper reports.
    pub(super) fn best_rmse(&self) -> Option<f64> {
        let all = self.epochs.iter().filter_map(|point| point.test_rmse).chain(self.test_rmse);
        all.min_by(f64::total_cmp)
    }

    /// How it ended, in words, if not well.
    pub(super) fn trouble(&self) -> Option<String> {
        let why = self.why.as_deref().unwrap_or_default();
        match self.state {
            State::Done => None,
            State::OutOfMemory => Some(format!("O.O.M.: {why}")),
            State::OutOfTime => Some(format!("O.O.T.: {why}")),
            State::Failed => Some(format!("failed: {why}")),
        }
    }
}

/// The data in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) sizes: Vec<u32>,
    pub(super) entries: usize,
    pub(super) test_entries: usize,
    pub(super) matrix_entries: usize,
    /// The mean of the training values and the standard deviation of the test values.
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// The test RMSE of predicting 0, and of the mean.
    pub(super) zero_rmse: f64,
    pub(super) mean_rmse: f64,
}

/// An epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Point {
    /// Of training so far.
    pub(super) seconds: f64,
    pub(super) train_rmse: Option<f64>,
    pub(super) test_rmse: Option<f64>,
}

/// What a grid has come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Chosen {
    pub(super) setting: String,
    pub(super) value: f64,
    /// Each value with its RMSE on a tenth of the training entries.
    pub(super) tried: Vec<(f64, Option<f64>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_says_its_best_error_and_its_fastest_epoch() {
        let data = Data::Made { size: 10, entries: 5 };
        let cell = Cell {
            experiment: Experiment::Sizes,
            data,
            method: "opt".into(),
            rank: Some(3),
            threads: 1,
            epochs: 3,
        };
        let point = |seconds, test| Point { seconds, train_rmse: None, test_rmse: Some(test) };
        let mut outcome = Outcome::new(cell);
        assert_eq!((outcome.epoch_seconds(), outcome.best_rmse()), (None, None));
        outcome.epochs = vec![point(2.0, 0.9), point(3.0, 0.7), point(4.5, 0.8)];
        assert_eq!((outcome.epoch_seconds(), outcome.best_rmse()), (Some(1.0), Some(0.7)));
        outcome.part = Some(0.25);
        assert_eq!(outcome.epoch_seconds(), Some(4.0));
        let ended = outcome.ended(State::OutOfMemory, "about 3 GB are needed");
        assert_eq!(ended.trouble().unwrap(), "O.O.M.: about 3 GB are needed");
        let line = serde_json::to_string(&ended).unwrap();
        let again: Outcome = serde_json::from_str(&line).unwrap();
        assert_eq!((again.cell, again.epochs), (ended.cell, ended.epochs));
    }
}
