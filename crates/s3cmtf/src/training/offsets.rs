//! The fit of [`Offsets`]: ridge regressions of one mode at a time, which take turns until they agree (method.md, eq. O1).
//!
//! Sums are made of whole multiples of a small unit, which come to the same in any order: for any number of threads, wherever the
//! entries are, and however many nodes share them.

use super::pieces::Pieces;
use crate::Error;
use crate::model::Offsets;
use crate::nodes::{ALONE, Nodes};
use crate::parallel;
use crate::problem::{Entries, EntrySource, ExactSum, HoldOut};

/// About so many entries at most choose the regularisers; more would take longer than an epoch and say the same.
const SAMPLE: usize = 1 << 19;
/// The share of them that is held out to compare by.
const HELD: f64 = 0.1;
/// The regulariser to start from, the step to the next, and how far it may go.
const FIRST: f64 = 10.0;
const STEP: f64 = 3.162_277_660_168_379_5;
const LEAST: f64 = 0.09;
const MOST: f64 = 1100.0;
/// So often each mode's regulariser is looked for.
const ROUNDS: usize = 3;
/// Sweeps over the modes: at most, and where a fit starts from one that is nearly the same.
const SWEEPS: usize = 10;
const FEW_SWEEPS: usize = 2;
/// A fit has settled when a sweep changes predictions by no more than this part of what offsets make of them.
const SETTLED: f64 = 1e-3;
/// Entries that are dealt with together.
const TOGETHER: usize = 1024;

/// Sums are whole numbers below two to this power, and their units are no smaller than one to the other.
const UNIT_BITS: i32 = 62;
const MOST_BITS: i32 = 1000;

/// Offsets in 64 bits, mode by mode.
type Rows = Vec<Vec<f64>>;

/// Fits offsets to the entries of all nodes, of modes with so many rows; also the smallest and the largest value.
pub(super) fn fit(
    entries: &EntrySource,
    rows: &[usize],
    seed: u64,
    nodes: &Nodes,
) -> Result<(Offsets, [f32; 2]), Error> {
    let stats = EntryStats::new(entries, rows, nodes)?;
    let share = SAMPLE as f64 / stats.len.max(1) as f64;
    let sample = entries.sample(rows.len(), share, seed ^ 0x6f66_6673, nodes)?;
    let (mean, range) = (stats.mean, stats.range);
    let (lambdas, near) = choose(sample, rows, seed)?;
    let settled = Fit { entries, stats, is_free: None, nodes }.settle(&lambdas, near, SWEEPS)?;
    let offsets = Offsets {
        mean: mean as f32,
        lambdas: lambdas.iter().map(|&lambda| lambda as f32).collect(),
        rows: settled.into_iter().map(singles).collect(),
    };
    Ok((offsets, range))
}

/// Offsets of modes that have grown: rows that are new get those that their entries ask for, given all others. `rows` are the
/// offsets of all rows, those that are new being 0, and `is_new` says which these are.
pub(super) fn grow(
    offsets: &Offsets,
    rows: Vec<Vec<f32>>,
    is_new: Vec<Vec<bool>>,
    entries: Entries,
) -> Result<Offsets, Error> {
    let entries = &EntrySource::Memory(entries);
    let stats = EntryStats::new(entries, &rows.iter().map(Vec::len).collect::<Vec<_>>(), &ALONE)?;
    let stats = EntryStats { mean: offsets.mean.into(), ..stats };
    let fit = Fit { entries, stats, is_free: Some(is_new), nodes: &ALONE };
    let lambdas: Vec<f64> = offsets.lambdas.iter().map(|&lambda| f64::from(lambda)).collect();
    let start = rows.iter().map(|rows| rows.iter().map(|&b| f64::from(b)).collect()).collect();
    let settled = fit.settle(&lambdas, start, SWEEPS)?;
    Ok(Offsets { rows: settled.into_iter().map(singles).collect(), ..offsets.clone() })
}

/// Numbers in 32 bits: values may be as large as these go, and what is left of one twice that.
fn singles(rows: Vec<f64>) -> Vec<f32> {
    rows.into_iter().map(|b| b.clamp(f32::MIN.into(), f32::MAX.into()) as f32).collect()
}

/// What one look at all entries tells.
struct EntryStats {
    /// How many there are.
    len: u64,
    mean: f64,
    range: [f32; 2],
    /// For each mode, how many entries each row has.
    counts: Vec<Vec<u32>>,
}

/// What a piece of the entries tells.
struct PartialStats {
    sum: ExactSum,
    range: [f32; 2],
    counts: Vec<Vec<u32>>,
}

impl EntryStats {
    fn new(entries: &EntrySource, rows: &[usize], nodes: &Nodes) -> Result<Self, Error> {
        let none = || PartialStats {
            sum: ExactSum::default(),
            range: [f32::INFINITY, f32::NEG_INFINITY],
            counts: rows.iter().map(|&rows| vec![0; rows]).collect(),
        };
        let wider = |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        let visit = |piece: &mut PartialStats, lists: &[&[u32]], values: &[f32]| {
            for &value in values {
                piece.sum.add(value.into());
                piece.range = wider(piece.range, [value; 2]);
            }
            for (counts, list) in piece.counts.iter_mut().zip(lists) {
                for &row in *list {
                    counts.get_mut(row as usize).into_iter().for_each(|count| *count += 1);
                }
            }
        };
        let mut all = none();
        // Counts of all modes are there at once.
        Pieces::new(entries, rows.iter().sum()).each(
            |_| none(),
            visit,
            |piece| {
                all.sum.include(&piece.sum);
                all.range = wider(all.range, piece.range);
                for (all, counts) in all.counts.iter_mut().zip(piece.counts) {
                    all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
                }
            },
        )?;
        let len = nodes.add(entries.len() as u64)?;
        let range = nodes.gather(vec![all.range])?.into_iter().fold(all.range, wider);
        let counts = all.counts.into_iter().map(|counts| nodes.add_counts(counts));
        Ok(EntryStats {
            len,
            mean: all.sum.value(nodes)? / len.max(1) as f64,
            range: if len == 0 { [0.0; 2] } else { range },
            counts: counts.collect::<Result<_, Error>>()?,
        })
    }
}

/// The regulariser of each mode that predicts held-out entries best, and offsets to start from.
fn choose(sample: Entries, rows: &[usize], seed: u64) -> Result<(Vec<f64>, Rows), Error> {
    let zeros = || rows.iter().map(|&rows| vec![0.0; rows]).collect::<Rows>();
    let mut lambdas = vec![FIRST; rows.len()];
    if sample.len() < 2 {
        return Ok((lambdas, zeros()));
    }
    // On rows that the sample has, since a mode may have many more.
    let (mut indices, values) = sample.into_parts();
    let own = indices.iter_mut().zip(rows).map(|(list, &rows)| renumber(list, rows)).collect::<Vec<_>>();
    let few: Vec<usize> = own.iter().map(Vec::len).collect();
    let sample = EntrySource::Memory(Entries::from_rows("entries".into(), indices, values));
    let (kept, held) = sample.split(HoldOut::Random(HELD), seed ^ 0x6f66_6673_6574_7321)?;
    let stats = EntryStats::new(&kept, &few, &ALONE)?;
    let fit = Fit { entries: &kept, stats, is_free: None, nodes: &ALONE };
    let start = few.iter().map(|&rows| vec![0.0; rows]).collect();
    let settled = fit.settle(&lambdas, start, SWEEPS)?;
    let mut best = Trial { error: fit.error(&held, &settled)?, rows: settled };
    // The fit with one regulariser changed, where it is better than what is known.
    let better = |lambdas: &[f64], mode: usize, by: f64, best: &Trial| -> Result<Option<Trial>, Error> {
        let mut lambdas = lambdas.to_vec();
        lambdas[mode] *= by;
        if !(LEAST..MOST).contains(&lambdas[mode]) {
            return Ok(None);
        }
        let rows = fit.settle(&lambdas, best.rows.clone(), FEW_SWEEPS)?;
        let error = fit.error(&held, &rows)?;
        Ok((error < best.error).then_some(Trial { error, rows }))
    };
    for _ in 0..ROUNDS {
        let before = lambdas.clone();
        for mode in 0..lambdas.len() {
            let (up, down) = parallel::both(
                || better(&lambdas, mode, STEP, &best),
                || better(&lambdas, mode, 1.0 / STEP, &best),
            );
            let (by, mut found) = match (up?, down?) {
                (Some(up), Some(down)) if down.error < up.error => (1.0 / STEP, Some(down)),
                (Some(up), _) => (STEP, Some(up)),
                (None, down) => (1.0 / STEP, down),
            };
            while let Some(trial) = found {
                lambdas[mode] *= by;
                best = trial;
                found = better(&lambdas, mode, by, &best)?;
            }
        }
        if lambdas == before {
            break;
        }
    }
    let mut near = zeros();
    for ((all, own), rows) in near.iter_mut().zip(&own).zip(&best.rows) {
        own.iter().zip(rows).for_each(|(&row, &b)| all[row as usize] = b);
    }
    Ok((lambdas, near))
}

/// Offsets that were tried, and their mean squared error on held-out entries.
struct Trial {
    error: f64,
    rows: Rows,
}

/// Numbers rows anew in the order in which they occur, and says which they were.
fn renumber(list: &mut [u32], rows: usize) -> Vec<u32> {
    let (mut numbers, mut own) = (vec![u32::MAX; rows], Vec::new());
    for row in list {
        // A file may have changed since its rows were checked.
        let Some(number) = numbers.get_mut(*row as usize) else { continue };
        if *number == u32::MAX {
            *number = own.len() as u32;
            own.push(*row);
        }
        *row = *number;
    }
    own
}

/// Entries, and what does not change while offsets are fitted to them.
struct Fit<'a> {
    entries: &'a EntrySource,
    stats: EntryStats,
    /// For each mode which rows may change, if not all.
    is_free: Option<Vec<Vec<bool>>>,
    nodes: &'a Nodes,
}

impl Fit<'_> {
    /// Fits each mode in turn, given the others, until that changes little.
    fn settle(&self, lambdas: &[f64], mut rows: Rows, sweeps: usize) -> Result<Rows, Error> {
        for _ in 0..sweeps {
            let (mut change, mut size) = (0.0, 0.0);
            for (mode, lambda) in lambdas.iter().enumerate() {
                let sums = self.sums(mode, &rows)?;
                let is_free = self.is_free.as_ref().map(|modes| &modes[mode]);
                for (row, (sum, &count)) in sums.into_iter().zip(&self.stats.counts[mode]).enumerate() {
                    let b = &mut rows[mode][row];
                    let count = f64::from(count);
                    if is_free.is_none_or(|rows| rows[row]) {
                        let new = sum / (count + lambda);
                        change += count * (new - *b).powi(2);
                        *b = new;
                    }
                    size += count * b.powi(2);
                }
            }
            if change <= SETTLED * SETTLED * size {
                break;
            }
        }
        Ok(rows)
    }

    /// For each row of a mode the sum of what all nodes' entries of it are above the mean and the offsets of their other rows.
    fn sums(&self, mode: usize, rows: &Rows) -> Result<Vec<f64>, Error> {
        let count = rows[mode].len();
        let scale = self.scale(mode, rows);
        let visit = |sums: &mut Vec<i64>, lists: &[&[u32]], values: &[f32]| {
            let mut left = [0.0; TOGETHER];
            for first in (0..values.len()).step_by(TOGETHER) {
                let range = first..(first + TOGETHER).min(values.len());
                self.subtract(rows, Some(mode), lists, values, range.clone(), &mut left);
                for (&row, left) in lists[mode][range].iter().zip(left) {
                    sums.get_mut(row as usize).into_iter().for_each(|sum| *sum += (left * scale) as i64);
                }
            }
        };
        let mut sums = vec![0; count];
        Pieces::new(self.entries, 2 * count).each(
            |_| vec![0; count],
            visit,
            |piece| parallel::change(&mut sums, |row, sum| *sum += piece[row]),
        )?;
        Ok(self.nodes.add_numbers(sums)?.into_iter().map(|sum| sum as f64 / scale).collect())
    }

    /// How many units, of which sums of a mode are made, there are in 1: a power of two, and as many as the largest number
    /// that can come up allows for, as often as the row with most entries has it.
    fn scale(&self, mode: usize, rows: &Rows) -> f64 {
        let EntryStats { mean, range, counts, .. } = &self.stats;
        let most = counts[mode].iter().max().map_or(1.0, |&most| f64::from(most).max(1.0));
        let values = range.map(|value| (f64::from(value) - mean).abs());
        let others = rows.iter().enumerate().filter(|(other, _)| *other != mode);
        let offsets = others.map(|(_, rows)| rows.iter().fold(0.0, |most: f64, b| most.max(b.abs())));
        let largest = values[0].max(values[1]) + offsets.sum::<f64>();
        // The power of two above the largest sum, by its exponent.
        let power = ((most * largest).to_bits() >> (f64::MANTISSA_DIGITS - 1)) as i32 + f64::MIN_EXP - 1;
        2f64.powi((UNIT_BITS - power).min(MOST_BITS))
    }

    /// What is left of some values without the mean and the offsets of all modes, or of all but one.
    fn subtract(
        &self,
        rows: &Rows,
        but: Option<usize>,
        lists: &[&[u32]],
        values: &[f32],
        range: std::ops::Range<usize>,
        left: &mut [f64; TOGETHER],
    ) {
        for (left, &value) in left.iter_mut().zip(&values[range.clone()]) {
            *left = f64::from(value) - self.stats.mean;
        }
        for (mode, (list, rows)) in lists.iter().zip(rows).enumerate() {
            if Some(mode) != but {
                for (left, &row) in left.iter_mut().zip(&list[range.clone()]) {
                    *left -= rows.get(row as usize).copied().unwrap_or(0.0);
                }
            }
        }
    }

    /// The mean squared error on other entries.
    fn error(&self, entries: &EntrySource, rows: &Rows) -> Result<f64, Error> {
        let mut squares = 0.0;
        entries.each(&mut |lists, values| {
            let mut left = [0.0; TOGETHER];
            for first in (0..values.len()).step_by(TOGETHER) {
                let range = first..(first + TOGETHER).min(values.len());
                self.subtract(rows, None, lists, values, range.clone(), &mut left);
                squares += left[..range.len()].iter().map(|left| left * left).sum::<f64>();
            }
            Ok(())
        })?;
        Ok(squares / entries.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests;
