//! How predictions err, on entries of the data that the model was trained on.

use serde::Serialize;

use super::glance::{Bar, ranges};
use super::sampled::places;
use super::{cut, time_bin, times};
use crate::problem::UNKNOWN;
use crate::{Entries, Error, Mode, Model, Problem};

/// No more entries than this are predicted.
const MOST: usize = 200_000;
/// The bars of the histogram, and the points of the calibration.
const BARS: usize = 41;
const LEVELS: usize = 20;

/// How predictions err.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Residuals {
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
    /// Observed less predicted; the first and last bar have all that lies beyond.
    pub histogram: Vec<Bar>,
    /// What was observed where predictions are alike, from low to high.
    pub levels: Vec<Level>,
    /// The errors of parts of the entries.
    pub segments: Vec<Segment>,
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

/// One way to part the entries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Segment {
    /// By what.
    pub by: String,
    /// Whether parts are times.
    pub times: bool,
    /// The parts in order.
    pub parts: Vec<SegmentPart>,
}

/// A part of the entries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentPart {
    /// What they have in common.
    pub name: String,
    /// How many they are.
    pub entries: usize,
    /// Their root mean squared error.
    pub rmse: f64,
}

impl Residuals {
    pub(super) fn of(model: &Model, data: &Problem) -> Result<Self, Error> {
        let shown: Vec<u32> =
            places(data.entries().len(), MOST).into_iter().map(|place| place as u32).collect();
        let entries = data.entries().select(&shown);
        let predicted = model.predict(&by_ids(model, data, &entries), false)?;
        let predicted: Vec<f64> = predicted.into_iter().map(f64::from).collect();
        let observed: Vec<f64> = entries.values().iter().map(|&value| f64::from(value)).collect();
        let errors: Vec<f64> = observed.iter().zip(&predicted).map(|(o, p)| o - p).collect();
        let mean = |of: &dyn Fn(f64) -> f64| {
            errors.iter().map(|&error| of(error)).sum::<f64>() / errors.len().max(1) as f64
        };
        let rmse = mean(&|error| error * error).sqrt();
        let segments = (0..data.order()).filter_map(|mode| segment(data, &entries, mode, &errors));
        Ok(Residuals {
            entries: entries.len(),
            of: data.entries().len(),
            rmse,
            mae: mean(&f64::abs),
            bias: mean(&|error| error),
            histogram: spread(&errors, rmse),
            levels: levels(&predicted, &observed),
            segments: segments.collect(),
        })
    }
}

/// Entries of the data, by the ids that the model has for them.
pub(super) fn by_ids(model: &Model, data: &Problem, entries: &Entries) -> Entries {
    let indices = data.modes().iter().zip(model.modes()).enumerate().map(|(number, (of_data, of_model))| {
        let ids = ids(of_data, of_model);
        let id = |&row: &u32| ids.get(row as usize).copied().unwrap_or(UNKNOWN);
        entries.indices(number).iter().map(id).collect()
    });
    Entries::from_rows(entries.name().to_owned(), indices.collect(), entries.values().to_vec())
}

/// For each row of the data's mode, the id that the model has for it.
pub(super) fn ids(of_data: &Mode, of_model: &Mode) -> Vec<u32> {
    let id = |row: usize| of_data.row_in(of_model, row).map_or(UNKNOWN, |row| of_model.id(row as usize));
    (0..of_data.rows()).map(id).collect()
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

/// The errors by time, or by how many entries an entity has.
fn segment(data: &Problem, entries: &Entries, mode: usize, errors: &[f64]) -> Option<Segment> {
    let known = &data.modes()[mode];
    let is_time = time_bin(known).is_some();
    let (part_of, names): (Vec<usize>, Vec<String>) = if is_time {
        let (together, names) = times(known);
        ((0..known.rows()).map(|row| row / together).collect(), names)
    } else {
        let counts = data.counts(mode);
        let ranges = ranges(&counts);
        let part = |count: &u32| ranges.partition_point(|[_, high]| high < count);
        let name = |[low, high]: &[u32; 2]| match low == high {
            true => low.to_string(),
            false => format!("{low} to {high}"),
        };
        (counts.iter().map(part).collect(), ranges.iter().map(name).collect())
    };
    let mut sums = vec![(0usize, 0.0f64); names.len()];
    for (&row, error) in entries.indices(mode).iter().zip(errors) {
        let sum = &mut sums[part_of[row as usize]];
        *sum = (sum.0 + 1, sum.1 + error * error);
    }
    let parts = names.into_iter().zip(sums).filter(|(_, (count, _))| *count > 0);
    let parts: Vec<SegmentPart> = parts
        .map(|(name, (entries, squares))| SegmentPart {
            name,
            entries,
            rmse: (squares / entries as f64).sqrt(),
        })
        .collect();
    let by = match is_time {
        true => cut(known.name()),
        false => format!("how many entries the {} has", cut(known.name())),
    };
    // One part says nothing that the RMSE of all does not say.
    (parts.len() > 1).then_some(Segment { by, times: is_time, parts })
}
