//! The data in numbers.

use serde::Serialize;

use super::{cut, time_bin, times};
use crate::{Model, Problem, Record};

/// The bars of a histogram of values.
const BARS: usize = 24;
/// Numbers beyond so many different ones do not come in steps.
const DISTINCT: usize = 200;
/// Fewer bars than this say too little; then there are about so many even ones.
const FEW: usize = 5;
const STEPS: u32 = 10;

/// The data in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataSummary {
    /// Training entries of the tensor.
    pub entries: usize,
    /// Test or held-out entries.
    pub test_entries: usize,
    /// Entries that were taken in after training.
    pub later_entries: usize,
    /// The share of cells that are observed.
    pub density: f64,
    /// The mean of the training values.
    pub mean: f64,
    /// The smallest and largest training value.
    pub range: [f32; 2],
    /// The modes.
    pub modes: Vec<ModeSummary>,
    /// The coupled matrices.
    pub matrices: Vec<MatrixSummary>,
    /// How values are spread; not without the data.
    pub values: Option<Vec<Bar>>,
}

/// A mode in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModeSummary {
    /// Its name.
    pub name: String,
    /// What its ids are put together by, if they are times.
    pub by: Option<String>,
    /// How many ids there are.
    pub size: u32,
    /// How many of them have a row.
    pub rows: usize,
    /// How many concepts it has.
    pub rank: usize,
    /// How entries are spread over its ids; not without the data.
    pub spread: Option<Spread>,
    /// How many entries there are at each time; not without the data, and only for a mode of times.
    pub over: Option<Vec<(String, usize)>>,
}

/// How many entries ids have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The fewest.
    pub least: u32,
    /// As many as half of them have at most.
    pub median: u32,
    /// The most.
    pub most: u32,
    /// How many ids have so many entries.
    pub bars: Vec<Bar>,
}

/// A bar of a histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Where it starts.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// How many lie there.
    pub count: usize,
}

/// A coupled matrix in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixSummary {
    /// Its name.
    pub name: String,
    /// The mode that its rows are.
    pub mode: String,
    /// What absent cells are.
    pub kind: String,
    /// Its weight.
    pub weight: f32,
    /// The share of what varies between rows that it explains, where it has effects on rows in place of a weight.
    pub explained: Option<f32>,
    /// How many columns it has; none for a graph.
    pub columns: Option<u32>,
    /// How many entries it has; not without the data.
    pub entries: Option<usize>,
}

impl DataSummary {
    pub(super) fn new(model: &Model, record: &Record, data: Option<&Problem>) -> Self {
        let cells: f64 = model.modes().iter().map(|mode| f64::from(mode.size())).product();
        let modes = model.modes().iter().zip(model.factors()).enumerate();
        let matrices = model.coupled().iter().map(|matrix| MatrixSummary {
            name: cut(&matrix.name),
            mode: cut(model.modes()[matrix.mode].name()),
            kind: matrix.kind.name().to_owned(),
            weight: matrix.weight,
            explained: matrix.effects.as_ref().map(|effects| effects.explained),
            columns: (matrix.columns.size() > 0).then(|| matrix.columns.size()),
            entries: data.and_then(|data| {
                let same = data.coupled().iter().find(|other| other.name() == matrix.name);
                same.map(|matrix| matrix.entries().len())
            }),
        });
        DataSummary {
            entries: record.data.entries,
            test_entries: record.data.test_entries,
            later_entries: record.data.later_entries,
            density: record.data.entries as f64 / cells.max(1.0),
            mean: record.data.mean,
            range: model.range(),
            modes: modes
                .map(|(number, (mode, factor))| ModeSummary {
                    name: cut(mode.name()),
                    by: time_bin(mode).map(|bin| bin.name().to_owned()),
                    size: mode.size(),
                    rows: mode.rows(),
                    rank: factor.rank(),
                    spread: data.and_then(|data| spread(&data.counts(number))),
                    over: data.and_then(|data| over(data, number)),
                })
                .collect(),
            matrices: matrices.collect(),
            values: data.map(|data| histogram(data.entries().values(), BARS)),
        }
    }
}

fn spread(counts: &[u32]) -> Option<Spread> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let below = |bound: u32| sorted.partition_point(|&count| count < bound);
    let bars = ranges(&sorted).into_iter().map(|[low, high]| Bar {
        low: f64::from(low),
        high: f64::from(high),
        count: sorted.partition_point(|&count| count <= high) - below(low),
    });
    Some(Spread { least, median: sorted[(sorted.len() - 1) / 2], most, bars: bars.collect() })
}

/// How many entries there are at each time, if the mode is one of times.
fn over(data: &Problem, mode: usize) -> Option<Vec<(String, usize)>> {
    time_bin(&data.modes()[mode])?;
    let (together, names) = times(&data.modes()[mode]);
    let counts = data.counts(mode);
    let sums = counts.chunks(together).map(|counts| counts.iter().map(|&count| count as usize).sum());
    Some(names.into_iter().zip(sums).collect())
}

/// The counts that are shown together, in order: 1, 2 to 3, 4 to 7 and so on, or even steps where those would be few.
fn ranges(counts: &[u32]) -> Vec<[u32; 2]> {
    let (Some(&least), Some(&most)) = (counts.iter().min(), counts.iter().max()) else { return Vec::new() };
    let mut doubling = vec![bounds(least)];
    while let Some([_, last]) = doubling.last()
        && *last < most
    {
        doubling.push(bounds(last + 1));
    }
    if doubling.len() >= FEW {
        return doubling;
    }
    let step = (most - least) / STEPS + 1;
    (least..=most).step_by(step as usize).map(|low| [low, low.saturating_add(step - 1).min(most)]).collect()
}

fn bounds(count: u32) -> [u32; 2] {
    if count == 0 {
        return [0, 0];
    }
    let low = 1u32 << count.ilog2();
    [low, low - 1 + low]
}

/// How numbers are spread between the smallest and the largest. Where they come in steps, such as whole or half stars, bars
/// are whole steps wide: others would be high and low by turns.
pub(super) fn histogram(values: &[f32], bars: usize) -> Vec<Bar> {
    let finite = || values.iter().map(|&value| f64::from(value)).filter(|value| value.is_finite());
    let (low, high) = finite()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return Vec::new();
    }
    let (low, width, bars) = match step(values) {
        Some(step) => {
            let steps = ((high - low) / step).round() as usize + 1;
            let together = steps.div_ceil(bars).max(1);
            (low - 0.5 * step, together as f64 * step, steps.div_ceil(together))
        }
        None => (low, ((high - low) / bars as f64).max(f64::MIN_POSITIVE), bars),
    };
    let mut counts = vec![0usize; bars];
    finite().for_each(|value| counts[(((value - low) / width) as usize).min(bars - 1)] += 1);
    let bar = |(place, count): (usize, usize)| Bar {
        low: low + place as f64 * width,
        high: low + (place + 1) as f64 * width,
        count,
    };
    counts.into_iter().enumerate().map(bar).collect()
}

/// The smallest step between numbers, if they are few.
fn step(values: &[f32]) -> Option<f64> {
    let mut distinct: Vec<f32> = Vec::new();
    for value in values.iter().copied().filter(|value| value.is_finite()) {
        if let Err(place) = distinct.binary_search_by(|other| other.total_cmp(&value)) {
            distinct.insert(place, value);
            if distinct.len() > DISTINCT {
                return None;
            }
        }
    }
    let gaps = distinct.windows(2).map(|pair| f64::from(pair[1]) - f64::from(pair[0]));
    let step = gaps.fold(f64::INFINITY, f64::min);
    let wide = f64::from(*distinct.last()?) - f64::from(*distinct.first()?);
    // Few numbers far apart are no steps.
    match distinct.len() {
        1 => Some(1.0),
        _ => Some(step).filter(|&step| step > 0.0 && wide / step < 10.0 * DISTINCT as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_one_bar() {
        for values in [vec![1.0f32, 2.0, 2.0, 5.0], vec![0.5, 0.7, 3.0], vec![4.0; 3], vec![2.5]] {
            let bars = histogram(&values, 10);
            assert_eq!(bars.iter().map(|bar| bar.count).sum::<usize>(), values.len(), "{bars:?}");
        }
        assert_eq!(histogram(&[1.0, 2.0, 2.0, 5.0], 10)[1], Bar { low: 1.5, high: 2.5, count: 2 });
        assert!(histogram(&[], 10).is_empty());
        // Tenths from 0.5 to 5.5, each once: no bar but the last has fewer.
        let tenths: Vec<f32> = (5..=55).map(|tenth| tenth as f32 / 10.0).collect();
        let bars = histogram(&tenths, 24);
        assert!(bars.iter().rev().skip(1).all(|bar| bar.count == 3), "{bars:?}");
        let far = histogram(&[0.0, 1e-30, 1e30], 10);
        assert_eq!(far.iter().map(|bar| bar.count).sum::<usize>(), 3);
    }

    #[test]
    fn counts_go_together_by_powers_of_two() {
        assert_eq!([0, 1, 3, 4, 7, 8].map(bounds), [[0, 0], [1, 1], [2, 3], [4, 7], [4, 7], [8, 15]]);
        assert_eq!(bounds(u32::MAX), [1 << 31, u32::MAX]);
        let spread = spread(&[3, 1, 2, 9]).unwrap();
        assert_eq!((spread.least, spread.median, spread.most, spread.bars.len()), (1, 2, 9, 9));
        assert_eq!(ranges(&[1, 100])[..3], [[1, 1], [2, 3], [4, 7]]);
        assert_eq!(ranges(&[100, 130]).first(), Some(&[100, 103]));
        assert_eq!(ranges(&[u32::MAX, u32::MAX - 5]).last(), Some(&[u32::MAX, u32::MAX]));
        for counts in [vec![0, 1, 900], vec![5, 5], vec![7, 80]] {
            let spread = super::spread(&counts).unwrap();
            assert_eq!(spread.bars.iter().map(|bar| bar.count).sum::<usize>(), counts.len(), "{spread:?}");
        }
    }
}
