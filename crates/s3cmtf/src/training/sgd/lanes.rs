//! Copies of what all tasks share, one per task that runs at once, and how they become one again.

use std::ops::Range;

use s3cmtf_kernels::Aligned;

use super::placement::{Grid, Placement};
use crate::layout::{Chunks, Contraction, Position};

/// What one of the tasks that run at once has for itself.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) core: Aligned,
    /// For each mode that is not blocked, a copy of its rows.
    pub(super) copies: Vec<Vec<f32>>,
}

/// How many entries each lane has in a round, in all and for each row of the copied modes.
pub(super) struct Counts {
    entries: Vec<u32>,
    /// For each mode and lane, the entries of each row; empty for modes that are not copied.
    rows: Vec<Vec<Vec<u32>>>,
    /// The boost of the core's steps.
    pub(super) core_boost: f32,
    /// The boost of the steps of each row of the copied modes; empty for other modes.
    pub(super) boosts: Vec<Vec<f32>>,
}

impl Counts {
    pub(super) fn new(
        train: &Chunks,
        contraction: &Contraction,
        grid: &Grid,
        round: usize,
        private: &[usize],
        modes: &[Placement],
    ) -> Self {
        let mut counts = Counts {
            entries: vec![0; grid.lanes],
            rows: vec![Vec::new(); modes.len()],
            core_boost: 1.0,
            boosts: Vec::new(),
        };
        for &mode in private {
            counts.rows[mode] = vec![vec![0; modes[mode].rows()]; grid.lanes];
        }
        for task in 0..grid.blocks {
            let (lane, number) = (task % grid.lanes, round * grid.blocks + task);
            for chunk in train.task(number) {
                let entries = train.entries(chunk);
                counts.entries[lane] += entries.len() as u32;
                for &mode in private {
                    let Position::Outer(which) = contraction.part(mode) else { continue };
                    let slots = &train.outer[which][train.slots(chunk)];
                    for &row in slots {
                        counts.rows[mode][lane][row as usize] += (entries.len() / slots.len()) as u32;
                    }
                }
            }
        }
        counts.core_boost = Counts::boost(counts.entries.iter().copied());
        let boosts = counts.rows.iter().map(|lanes| {
            let rows = lanes.first().map_or(0, Vec::len);
            (0..rows).map(|row| Counts::boost(lanes.iter().map(|lane| lane[row]))).collect()
        });
        counts.boosts = boosts.collect();
        counts
    }

    fn boost(counts: impl Iterator<Item = u32>) -> f32 {
        let (mut total, mut most) = (0, 0);
        counts.for_each(|count| (total, most) = (total + count, count.max(most)));
        if most == 0 { 1.0 } else { boost(total as f32 / most as f32) }
    }
}

/// How much longer the steps on copies are that `lanes` lanes share.
///
/// An average over lanes moves only as far as its lanes do, though each has seen other entries. Steps `lanes` times as
/// long would go as far as one lane with all entries, but each lane would go far before it is averaged, and 16 of them
/// diverge where one does not; steps of root `lanes` times would leave the average as noisy as one lane, but slow. This
/// is between the two.
pub(super) fn boost(lanes: f32) -> f32 {
    lanes.powf(0.75)
}

/// Position of the mean of the lanes' cores, each weighted by its entries.
pub(super) fn average_core(lanes: &[&Lane], counts: &Counts, range: Range<usize>, core: &mut [f32]) {
    if let [lane] = lanes {
        return core.copy_from_slice(&lane.core.as_slice()[range]);
    }
    let total: u32 = counts.entries.iter().sum();
    if total == 0 {
        return;
    }
    core.fill(0.0);
    for (lane, &entries) in lanes.iter().zip(&counts.entries) {
        let share = entries as f32 / total as f32;
        let lane = &lane.core.as_slice()[range.clone()];
        core.iter_mut().zip(lane).for_each(|(core, lane)| *core += share * lane);
    }
}

/// For each of some rows of a copied mode, from `first` on, the mean of the lanes' copies, each weighted by the entries
/// that touched it.
pub(super) fn average_rows(
    lanes: &[&Lane],
    counts: &Counts,
    mode: usize,
    first: usize,
    rows: &mut [f32],
    rank: usize,
) {
    if let [lane] = lanes {
        return rows.copy_from_slice(&lane.copies[mode][first * rank..][..rows.len()]);
    }
    let counts = &counts.rows[mode];
    for (row, values) in (first..).zip(rows.chunks_exact_mut(rank)) {
        let total: u32 = counts.iter().map(|lane| lane[row]).sum();
        if total == 0 {
            continue;
        }
        values.fill(0.0);
        for (lane, counts) in lanes.iter().zip(counts) {
            let share = counts[row] as f32 / total as f32;
            let copy = &lane.copies[mode][row * rank..][..rank];
            values.iter_mut().zip(copy).for_each(|(value, copy)| *value += share * copy);
        }
    }
}
