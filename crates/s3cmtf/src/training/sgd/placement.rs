//! Which rows stand where, and which are changed together.
//!
//! The rows of each mode are dealt into blocks of about equally many entries. A *task* is what stands in one block
//! of every blocked mode; tasks that share no block can run at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::layout::Contraction;
use crate::parallel;
use crate::params::SgdParams;
use crate::problem::Problem;

/// The most blocks per mode of a deterministic run, and so the most threads it can use.
const MOST_LANES: usize = 16;
/// A task should have at least this many entries, or its overhead shows.
const LEAST_TASK: usize = 512;
/// The number of a task has 16 bits.
const MOST_TASKS: usize = 1 << 16;
/// A mode whose factor has at most this many numbers may be copied for every thread.
const SMALL_MODE: usize = 1 << 16;
/// Entries of a task and an outer row should come in at least this number, or sharing gains little.
const GOOD_GROUP: usize = 32;

/// How the work of an epoch is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// How many pieces each mode is cut into.
    pub(crate) blocks: usize,
    /// How many tasks run at once; each has a core of its own meanwhile.
    pub(crate) lanes: usize,
    /// The modes whose blocks must differ between tasks that run at once. The other modes are small, and each lane
    /// has a copy of them.
    pub(crate) blocked: Vec<usize>,
}

impl Grid {
    /// A grid for a problem. With `deterministic` it does not depend on the number of threads.
    pub(crate) fn new(problem: &Problem, params: &SgdParams, contraction: &Contraction) -> Self {
        let entries = problem.entries().len();
        let rows = |mode: usize| problem.modes()[mode].rows();
        let large = |mode: &usize| {
            // Copies are merged by averaging, which is sound only where every row has many entries.
            rows(*mode) * contraction.ranks[*mode] > SMALL_MODE || entries < 64 * rows(*mode)
        };
        let mut blocked: Vec<usize> = contraction.inner.to_vec();
        blocked.extend(contraction.outer.iter().copied().filter(large));
        blocked.sort_unstable();

        let lanes = if params.deterministic { MOST_LANES } else { params.common.threads };
        let context = |blocks: usize| {
            blocks.saturating_pow(blocked.len() as u32) <= (entries / LEAST_TASK).min(MOST_TASKS)
        };
        let enough_rows = |blocks: usize| blocked.iter().all(|&mode| rows(mode) >= blocks);
        let most = (1..=256).rev().find(|&blocks| context(blocks) && enough_rows(blocks)).unwrap_or(1);
        // Shared outer rows want large tasks; where nothing is shared there is nothing to lose.
        let groups: usize = contraction.outer.iter().map(|&mode| rows(mode)).fold(1, usize::saturating_mul);
        let per_group = entries / groups.max(1);
        let good = if per_group < 4 { most } else { ((per_group / GOOD_GROUP) as f64).sqrt() as usize };
        let blocks = most.min(good.max(if params.deterministic { 1 } else { lanes })).clamp(1, most);
        // More blocks than lanes keep a task's rows in the cache, up to a point.
        let blocks = blocks.min(lanes.max(8));
        Grid { blocks, lanes: lanes.min(blocks), blocked }
    }

    /// The number of rounds of an epoch: in each, tasks 0 to `blocks - 1` share no block.
    pub(crate) fn rounds(&self) -> usize {
        self.blocks.pow(self.blocked.len() as u32 - 1)
    }

    /// The number of tasks of an epoch.
    pub(crate) fn tasks(&self) -> usize {
        self.rounds() * self.blocks
    }

    /// The block of the `which`-th blocked mode that a task of a round works on.
    pub(crate) fn block(&self, round: usize, task: usize, which: usize) -> usize {
        let shift = if which == 0 { 0 } else { round / self.blocks.pow(which as u32 - 1) };
        (task + shift) % self.blocks
    }

    /// The number of a task among all rounds, from its blocks.
    pub(crate) fn task(&self, blocks: impl Iterator<Item = usize>) -> usize {
        let (mut round, mut first, mut unit) = (0, 0, 1);
        for (which, block) in blocks.enumerate() {
            if which == 0 {
                first = block;
            } else {
                round += (block + self.blocks - first) % self.blocks * unit;
                unit *= self.blocks;
            }
        }
        round * self.blocks + first
    }
}

/// Where the rows of one mode stand during training.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// For each row its place.
    pub(crate) place: Vec<u32>,
    /// For each row its block.
    pub(crate) block: Vec<u16>,
    /// The first place of each block, and the end of the last.
    pub(crate) bounds: Vec<u32>,
}

impl Placement {
    /// Deals rows into blocks of about equal `counts`.
    pub(crate) fn new(counts: &[u32], blocks: usize, seed: u64) -> Self {
        let mut rows: Vec<u32> = (0..counts.len() as u32).collect();
        // A random order among rows of equal counts; then the busiest first.
        rows.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        rows.par_sort_by_key(|&row| Reverse(counts[row as usize]));
        let mut members: Vec<Vec<u32>> = vec![Vec::with_capacity(rows.len() / blocks + 1); blocks];
        // The busy rows go each to the block with least so far; the many others, all alike, in turns.
        let (busy, others) = rows.split_at(rows.len().min(256 * blocks));
        let mut load: BinaryHeap<_> = (0..blocks).map(|block| Reverse((0u64, block))).collect();
        for &row in busy {
            let Some(Reverse((sum, block))) = load.pop() else { break };
            members[block].push(row);
            // A row without entries still takes room.
            load.push(Reverse((sum + u64::from(counts[row as usize].max(1)), block)));
        }
        for turn in others.chunks(2 * blocks) {
            // There and back again, so that no block is always served first.
            turn.iter()
                .zip((0..blocks).chain((0..blocks).rev()))
                .for_each(|(&row, block)| members[block].push(row));
        }
        let mut place = vec![0; counts.len()];
        let mut block = vec![0; counts.len()];
        let mut bounds = vec![0u32];
        for (number, members) in members.iter().enumerate() {
            let start = bounds[number];
            for (offset, &row) in members.iter().enumerate() {
                place[row as usize] = start + offset as u32;
                block[row as usize] = number as u16;
            }
            bounds.push(start + members.len() as u32);
        }
        Placement { place, block, bounds }
    }

    /// Moves rows with few entries, within their blocks, to where entries first ask for them, so that these stand in
    /// order for all modes at once. `counts` are those of `new`, `uses` the places that entries ask for, one by one.
    /// Returns the new place of each place.
    pub(crate) fn by_first_use(&mut self, counts: &[u32], uses: impl Iterator<Item = u32>) -> Vec<u32> {
        const FEW: u32 = 4;
        const NOWHERE: u32 = u32::MAX;
        let mut moved = vec![NOWHERE; self.rows()];
        let mut next = self.bounds[..self.bounds.len() - 1].to_vec();
        // A block's busy rows stay together, which keeps them near.
        for (row, &place) in self.place.iter().enumerate() {
            if counts[row] > FEW {
                moved[place as usize] = place;
                let next = &mut next[self.block[row] as usize];
                *next = (*next).max(place + 1);
            }
        }
        let mut move_to_next = |place: u32| {
            if moved[place as usize] == NOWHERE {
                let block = self.bounds.partition_point(|&bound| bound <= place) - 1;
                moved[place as usize] = next[block];
                next[block] += 1;
            }
        };
        uses.for_each(&mut move_to_next);
        (0..self.rows() as u32).for_each(move_to_next);
        parallel::change(&mut self.place, |_, place| *place = moved[*place as usize]);
        moved
    }

    pub(crate) fn rows(&self) -> usize {
        self.place.len()
    }

    /// Rows of values in the order of places, and room for `more` numbers after them.
    pub(crate) fn arrange(&self, values: &[f32], rank: usize, more: usize) -> Vec<f32> {
        let mut placed = s3cmtf_kernels::zeros(values.len() + more);
        for (row, &place) in values.chunks_exact(rank).zip(&self.place) {
            placed[place as usize * rank..][..rank].copy_from_slice(row);
        }
        placed
    }

    /// Rows of values back in their own order.
    pub(crate) fn restore(&self, placed: &[f32], rank: usize) -> Vec<f32> {
        let rows = self.place.iter().flat_map(|&place| &placed[place as usize * rank..][..rank]);
        rows.copied().collect()
    }

    /// The rows of each block, cut out of all rows, each behind a lock.
    pub(crate) fn split<'a>(&self, mut rows: &'a mut [f32], rank: usize) -> Vec<Mutex<&'a mut [f32]>> {
        let lengths = self.bounds.windows(2).map(|pair| (pair[1] - pair[0]) as usize * rank);
        let mut blocks = Vec::with_capacity(self.bounds.len() - 1);
        for length in lengths {
            let (block, rest) = rows.split_at_mut(length);
            blocks.push(Mutex::new(block));
            rows = rest;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_a_round_share_no_block_and_every_combination_has_one_task() {
        for (blocks, modes) in [(1, 2), (4, 2), (3, 3), (2, 4)] {
            let grid = Grid { blocks, lanes: 1, blocked: (0..modes).collect() };
            let mut seen = vec![0; blocks.pow(modes as u32)];
            for round in 0..grid.rounds() {
                for which in 0..modes {
                    let mut used: Vec<usize> =
                        (0..blocks).map(|task| grid.block(round, task, which)).collect();
                    used.sort_unstable();
                    assert!(used.into_iter().eq(0..blocks));
                }
                for task in 0..blocks {
                    let combination = (0..modes).map(|which| grid.block(round, task, which));
                    assert_eq!(grid.task(combination.clone()), round * blocks + task);
                    seen[combination.fold(0, |place, block| place * blocks + block)] += 1;
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
        }
    }

    #[test]
    fn placement_balances_counts_and_is_undone() {
        let counts: Vec<u32> = (0..100).map(|row| 1000 / (row + 1)).collect();
        let placement = Placement::new(&counts, 4, 9);
        let mut sums = [0u32; 4];
        for (row, &block) in placement.block.iter().enumerate() {
            sums[block as usize] += counts[row];
            let place = placement.place[row];
            assert!(
                placement.bounds[block as usize] <= place && place < placement.bounds[block as usize + 1]
            );
        }
        let (least, most) = (sums.iter().min().unwrap(), sums.iter().max().unwrap());
        assert!(most - least < 50, "{sums:?}");
        let values: Vec<f32> = (0..300).map(|value| value as f32).collect();
        assert_eq!(placement.restore(&placement.arrange(&values, 3, 0), 3), values);
    }

    #[test]
    fn rows_with_few_entries_stand_by_first_use_within_their_blocks() {
        let counts: Vec<u32> = (0..100).map(|row| if row % 10 == 0 { 50 } else { row % 4 }).collect();
        let mut placement = Placement::new(&counts, 3, 9);
        let before = placement.clone();
        // Used in an order of their own, some more than once, and those without entries not at all.
        let mut rows: Vec<usize> = (0..100).map(|i| i * 37 % 100).filter(|&row| counts[row] > 0).collect();
        rows.extend_from_within(..20);
        let moved = placement.by_first_use(&counts, rows.iter().map(|&row| before.place[row]));
        let mut seen = placement.place.clone();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..100));
        let mut last = [0; 3];
        for row in 0..100 {
            let (place, block) = (placement.place[row], placement.block[row] as usize);
            assert_eq!(moved[before.place[row] as usize], place);
            assert!(placement.bounds[block] <= place && place < placement.bounds[block + 1]);
            assert!(counts[row] < 50 || before.place[row] == place);
        }
        for &row in rows[..rows.len() - 20].iter().filter(|&&row| counts[row] < 50) {
            let last = &mut last[placement.block[row] as usize];
            assert!(*last <= placement.place[row]);
            *last = placement.place[row];
        }
    }
}
