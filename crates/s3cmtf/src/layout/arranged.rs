//! Entries on their way into views: what is known of them before they are ordered, and their order for each mode.

use rayon::prelude::*;

use super::budget::MemoryBudget;
use super::distinct::Distinct;
use super::sorted::{Sample, best_partner};
use super::view::{Plan, View};
use crate::Error;
use crate::likelihood;
use crate::problem::EntrySource;

/// What is known of entries before they are ordered.
pub(crate) struct EntryStats {
    /// For each mode and row, how many entries it has.
    pub(crate) counts: Vec<Vec<u32>>,
    pub(crate) range: [f32; 2],
    pub(crate) mean: f64,
    pub(crate) spread: f64,
    /// The distinct values, if entries are in memory and those are few.
    pub(crate) distinct: Option<Distinct>,
    /// For each mode, all entries of some of its rows.
    pub(crate) by_row: Vec<Sample>,
    /// Any entries; none if they are in memory, where nothing has to be guessed.
    pub(crate) sample: Sample,
}

impl EntryStats {
    /// Of entries on modes of so many rows.
    pub(crate) fn new(entries: &EntrySource, rows: &[usize]) -> Result<Self, Error> {
        let (order, len) = (rows.len(), entries.len());
        let mut counts: Vec<Vec<u32>> = rows.iter().map(|&rows| vec![0; rows]).collect();
        let mut by_row: Vec<Sample> = rows.iter().map(|_| Sample::new(order, len)).collect();
        let taken: Vec<Vec<bool>> =
            rows.iter().zip(&by_row).map(|(&rows, sample)| sample.taken(rows)).collect();
        let mut sample = Sample::new(order, len);
        let is_there = matches!(entries, EntrySource::Stored(_));
        let (mut low, mut high, mut sum, mut first) = (f32::MAX, f32::MIN, 0.0, 0);
        entries.each(&mut |lists, values| {
            let rows = || {
                let modes = counts.par_iter_mut().zip(by_row.par_iter_mut()).zip(&taken).zip(lists);
                modes.for_each(|(((counts, sample), taken), list)| {
                    for (place, &row) in list.iter().enumerate() {
                        counts[row as usize] += 1;
                        if taken[row as usize] {
                            sample.take(lists, place);
                        }
                    }
                });
            };
            let of_values = || {
                for (place, &value) in values.iter().enumerate() {
                    (low, high) = (low.min(value), high.max(value));
                    sum += f64::from(value);
                    if is_there && sample.takes((first + place) as u64) {
                        sample.take(lists, place);
                    }
                }
            };
            rayon::join(rows, of_values);
            first += values.len();
            Ok(())
        })?;
        let mean = sum / len.max(1) as f64;
        let mut squares = 0.0;
        entries.each(&mut |_, values| {
            values.iter().for_each(|&value| squares += (f64::from(value) - mean).powi(2));
            Ok(())
        })?;
        let spread = likelihood::unit(mean, squares / len.max(1) as f64);
        let distinct = match entries {
            EntrySource::Memory(entries) => Distinct::collect(entries.values()),
            EntrySource::Stored(_) => None,
        };
        Ok(EntryStats { counts, range: [low, high], mean, spread, distinct, by_row, sample })
    }
}

/// The last row of modes of so many rows.
pub(crate) fn last_rows(rows: &[usize]) -> Vec<u32> {
    rows.iter().map(|&rows| rows.saturating_sub(1) as u32).collect()
}

/// Entries as seen from each mode.
pub(crate) struct Arranged {
    pub(crate) views: Vec<View>,
    /// The view with the longest runs.
    pub(crate) lead: usize,
    /// For each mode and row, how many entries it has.
    pub(crate) counts: Vec<Vec<u32>>,
}

impl Arranged {
    /// Arranges entries of modes of so many rows; `scale` is what values are centred by and divided by.
    pub(crate) fn new(
        entries: &EntrySource,
        rows: &[usize],
        ranks: &[usize],
        level: s3cmtf_kernels::Level,
        (mean, spread): (f64, f64),
        budget: Option<&MemoryBudget>,
    ) -> Result<Self, Error> {
        let EntryStats { counts, distinct, by_row, sample, .. } = EntryStats::new(entries, rows)?;
        let largest = last_rows(rows);
        let view = |mode: usize| {
            let plan = Plan {
                mode,
                partner: best_partner(by_row[mode].lists(), mode),
                ranks,
                level,
                counts: &counts[mode],
                largest: &largest,
                mean,
                spread,
                distinct: distinct.as_ref(),
                sample: sample.lists(),
            };
            View::new(entries, &plan, budget)
        };
        // One after the other, each by all threads: the memory that it takes to sort is needed once.
        let views: Vec<View> = (0..rows.len()).map(view).collect::<Result<_, Error>>()?;
        let lead = (0..rows.len()).min_by_key(|&mode| views[mode].runs).unwrap_or(0);
        Ok(Arranged { views, lead, counts })
    }
}
