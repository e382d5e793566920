//! How predictions err: on entries that the model was not trained on, where there are any.

use serde::Serialize;

use super::sampled::places;
use super::summary::Bar;
use super::{Known, MOST_TIMES, cut, span, time_bin};
use crate::discovery::{Segment, Segments, rows, segments};
use crate::problem::UNKNOWN;
use crate::{DataRecord, Entries, Error, Model, Problem, Record, Scores};

/// No more entries than this are predicted.
const MOST: usize = 200_000;
/// The bars of the histogram, and the points of the calibration.
const BARS: usize = 41;
const LEVELS: usize = 20;

/// Which entries errors are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// Those that were given for a test.
    Test,
    /// Those of the data that were held out of training.
    Held,
    /// Those of training, as there are no others.
    Training,
}

/// How predictions err.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Residuals {
    /// On which entries.
    pub on: Of,
    /// How many entries were looked at.
    pub entries: usize,
    /// Out of how many.
    pub of: usize,
    /// Root mean squared error over them.
    pub rmse: f64,
    /// Mean absolute error over them.
    pub mae: f64,
    /// The mean of observed less predicted.
    pub bias: f64,
    /// The measures of probabilities and of counts, where the likelihood is not Gaussian.
    pub scores: Option<Scores>,
    /// Observed less predicted; the first and last bar have all that lies beyond.
    pub histogram: Vec<Bar>,
    /// What was observed where predictions are alike, from low to high.
    pub levels: Vec<Level>,
    /// The errors of parts of the entries.
    pub segments: Vec<Segments>,
}

/// Entries whose predictions are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The mean prediction.
    pub predicted: f64,
    /// The mean of what was observed.
    pub observed: f64,
    /// A tenth of what was observed lies below this.
    pub low: f64,
    /// A tenth of what was observed lies above this.
    pub high: f64,
    /// How many entries.
    pub entries: usize,
}

impl Residuals {
    /// None without any entries.
    pub(super) fn new(model: &Model, record: &Record, known: Known<'_>) -> Result<Option<Self>, Error> {
        let held = match (known.test, known.data) {
            (None, Some(data)) => held_out(record, data)?,
            _ => None,
        };
        let (on, data, entries) = match (known.test, &held, known.data) {
            (Some(test), _, data) => (Of::Test, data, test.clone()),
            (None, Some((rest, held)), _) => (Of::Held, Some(rest), by_ids(model, rest, held)),
            (None, None, Some(data)) => (Of::Training, Some(data), by_ids(model, data, data.entries())),
            (None, None, None) => return Ok(None),
        };
        Self::on(model, on, data, &entries).map(Some)
    }

    /// Of entries by ids.
    fn on(model: &Model, on: Of, data: Option<&Problem>, all: &Entries) -> Result<Self, Error> {
        let shown: Vec<u32> = places(all.len(), MOST).into_iter().map(|place| place as u32).collect();
        let entries = all.select(&shown);
        let predicted = model.predict(&entries, model.clips())?;
        let scores = model.scores(&predicted, entries.values());
        let predicted: Vec<f64> = predicted.into_iter().map(f64::from).collect();
        let observed: Vec<f64> = entries.values().iter().map(|&value| f64::from(value)).collect();
        let errors: Vec<f64> = observed.iter().zip(&predicted).map(|(o, p)| o - p).collect();
        let mean = |of: &dyn Fn(f64) -> f64| {
            errors.iter().map(|&error| of(error)).sum::<f64>() / errors.len().max(1) as f64
        };
        let rmse = mean(&|error| error * error).sqrt();
        Ok(Residuals {
            on,
            entries: entries.len(),
            of: all.len(),
            rmse,
            mae: mean(&f64::abs),
            bias: mean(&|error| error),
            scores,
            histogram: spread(&errors, rmse),
            levels: levels(&predicted, &observed),
            segments: parts(model, data, &entries)?,
        })
    }
}

/// What was held out of the data by the run, and the rest; none if nothing was, or more entries have come since.
fn held_out(record: &Record, data: &Problem) -> Result<Option<(Problem, Entries)>, Error> {
    let DataRecord { entries, test_entries, later_entries, holdout, .. } = record.data;
    match holdout {
        Some(how) if later_entries == 0 && data.entries().len() == entries + test_entries => {
            data.clone().hold_out_by(how, record.params.seed).map(Some)
        }
        _ => Ok(None),
    }
}

/// Entries of the data, by the ids that the model has for them.
fn by_ids(model: &Model, data: &Problem, entries: &Entries) -> Entries {
    let indices = model.modes().iter().enumerate().map(|(number, mode)| {
        let rows = rows(model, data, number);
        let id = |&row: &u32| match rows[row as usize] {
            UNKNOWN => UNKNOWN,
            row => mode.id(row as usize),
        };
        entries.indices(number).iter().map(id).collect()
    });
    Entries::from_rows(entries.name().to_owned(), indices.collect(), entries.values().to_vec())
}

fn spread(errors: &[f64], rmse: f64) -> Vec<Bar> {
    let reach = (4.0 * rmse).max(f64::MIN_POSITIVE);
    let width = 2.0 * reach / BARS as f64;
    let mut counts = vec![0usize; BARS];
    for error in errors {
        counts[(((error + reach) / width).max(0.0) as usize).min(BARS - 1)] += 1;
    }
    let bar = |(place, count): (usize, usize)| {
        let low = place as f64 * width - reach;
        Bar { low, high: low + width, count }
    };
    counts.into_iter().enumerate().map(bar).collect()
}

fn levels(predicted: &[f64], observed: &[f64]) -> Vec<Level> {
    let mut order: Vec<usize> = (0..predicted.len()).collect();
    order.sort_by(|&a, &b| predicted[a].total_cmp(&predicted[b]));
    let size = order.len().div_ceil(LEVELS).max(1);
    let level = |places: &[usize]| {
        let mut own: Vec<f64> = places.iter().map(|&place| observed[place]).collect();
        own.sort_by(f64::total_cmp);
        let at = |share: f64| own[((own.len() - 1) as f64 * share).round() as usize];
        let count = places.len() as f64;
        Level {
            predicted: places.iter().map(|&place| predicted[place]).sum::<f64>() / count,
            observed: own.iter().sum::<f64>() / count,
            low: at(0.1),
            high: at(0.9),
            entries: places.len(),
        }
    };
    order.chunks(size).map(level).collect()
}

/// The errors of parts of the entries, given by ids; of many times some together.
fn parts(model: &Model, data: Option<&Problem>, entries: &Entries) -> Result<Vec<Segments>, Error> {
    let plain: Vec<usize> =
        (0..model.modes().len()).filter(|&mode| time_bin(&model.modes()[mode]).is_none()).collect();
    let mut found = segments(model, data, entries, &plain, model.clips())?;
    // One part says nothing that the RMSE of all does not say.
    found.retain(|by| by.segments.len() > 1);
    for by in &mut found {
        by.mode = cut(&by.mode);
        let together = by.segments.len().div_ceil(MOST_TIMES).max(1);
        let names: Vec<String> = by.segments.iter().map(|segment| cut(&segment.name)).collect();
        let some = by.segments.chunks(together).enumerate();
        by.segments =
            some.map(|(place, some)| joined(span(&names, place * together, together), some)).collect();
    }
    Ok(found)
}

fn joined(name: String, some: &[Segment]) -> Segment {
    let entries: usize = some.iter().map(|one| one.entries).sum();
    let sum = |of: fn(&Segment) -> f64| some.iter().map(|one| of(one) * one.entries as f64).sum::<f64>();
    let mean = |sum: f64| sum / entries.max(1) as f64;
    Segment {
        name,
        entries,
        rmse: mean(sum(|one| one.rmse * one.rmse)).sqrt(),
        mae: mean(sum(|one| one.mae)),
    }
}
