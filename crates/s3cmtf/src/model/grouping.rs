//! Entries in an order in which those that share their outer rows stand together.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use s3cmtf_kernels::CHUNK;

use super::contraction::Contraction;

/// Fewer entries than this are better off each by itself than as a chunk, where there is a kernel for that.
const LONE: usize = 4;

/// Entries cut into chunks: the entries of a chunk agree in all outer modes and are at most [`CHUNK`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    pub(crate) indices: Vec<Vec<u32>>,
    pub(crate) values: Vec<f32>,
    /// Where each chunk starts, and the end of the last.
    pub(crate) starts: Vec<u32>,
    /// Where each task's chunks start, and the end of the last.
    pub(crate) tasks: Vec<u32>,
    /// The place that each entry had before.
    pub(crate) places: Vec<u32>,
}

/// How entries are cut and ordered.
pub(crate) struct Order<'a> {
    /// The most entries in a chunk.
    pub(crate) chunk: usize,
    /// The task of each entry, and the number of tasks; `None` for a single task.
    pub(crate) tasks: Option<(&'a [u32], usize)>,
    /// Shuffles the entries of a group and the chunks of a task; `None` keeps them sorted.
    pub(crate) seed: Option<u64>,
}

impl Chunks {
    /// Groups entries given by arrays of rows.
    pub(crate) fn new(
        contraction: &Contraction,
        indices: &[&[u32]],
        values: &[f32],
        order: &Order<'_>,
    ) -> Self {
        assert!(order.chunk >= 1 && order.chunk <= CHUNK);
        let count = order.tasks.map_or(1, |(_, count)| count);
        let mut by_task = places_by_task(values.len(), order.tasks);
        let mut bounds = Vec::with_capacity(count + 1);
        bounds.push(0usize);
        match order.tasks {
            None => bounds.push(values.len()),
            Some((tasks, count)) => {
                let mut counts = vec![0usize; count];
                tasks.iter().for_each(|&task| counts[task as usize] += 1);
                for count in counts {
                    bounds.push(bounds[bounds.len() - 1] + count);
                }
            }
        }
        let mut rest = by_task.as_mut_slice();
        let mut pieces = Vec::with_capacity(count);
        for pair in bounds.windows(2) {
            let (piece, after) = rest.split_at_mut(pair[1] - pair[0]);
            pieces.push(piece);
            rest = after;
        }
        let outer: Vec<&[u32]> = contraction.outer.iter().map(|&mode| indices[mode]).collect();
        let lone = if contraction.has_lone() { LONE } else { 0 };
        let lengths: Vec<Vec<u32>> = pieces
            .into_par_iter()
            .enumerate()
            .map(|(task, places)| order_task(places, &outer, order, lone, task as u64))
            .collect();

        let mut starts = vec![0u32];
        let mut tasks = vec![0u32];
        for lengths in &lengths {
            for &length in lengths {
                starts.push(starts[starts.len() - 1] + length);
            }
            tasks.push(starts.len() as u32 - 1);
        }
        let places = by_task;
        let pick = |array: &[u32]| places.par_iter().map(|&place| array[place as usize]).collect();
        Chunks {
            indices: indices.iter().map(|array| pick(array)).collect(),
            values: places.par_iter().map(|&place| values[place as usize]).collect(),
            starts,
            tasks,
            places,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn chunks(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The entries of a chunk.
    pub(crate) fn entries(&self, chunk: usize) -> std::ops::Range<usize> {
        self.starts[chunk] as usize..self.starts[chunk + 1] as usize
    }

    /// Predicts every entry; `factors` are whole factors, `visit` gets the place of the first entry of each chunk
    /// and the predictions of the chunk, on any thread, and its results are added up in the order of the entries.
    pub(crate) fn sum<S: Send + Default + std::ops::Add<Output = S>>(
        &self,
        contraction: &Contraction,
        core: &[f32],
        factors: &[&[f32]],
        visit: impl Fn(std::ops::Range<usize>, &[f32]) -> S + Sync,
    ) -> S {
        const PIECE: usize = 256;
        let pieces = self.chunks().div_ceil(PIECE);
        let sums: Vec<S> = (0..pieces)
            .into_par_iter()
            .map_init(
                || contraction.scratch(),
                |scratch, piece| {
                    let mut predictions = [0.0f32; CHUNK];
                    let mut sum = S::default();
                    for chunk in piece * PIECE..((piece + 1) * PIECE).min(self.chunks()) {
                        let entries = self.entries(chunk);
                        for (row, &mode) in scratch.outer.iter_mut().zip(&contraction.outer) {
                            let (rank, index) =
                                (contraction.ranks[mode], self.indices[mode][entries.start] as usize);
                            row.copy_from_slice(&factors[mode][index * rank..][..rank]);
                        }
                        let inner = contraction.inner;
                        let indices = inner.map(|mode| &self.indices[mode][entries.clone()]);
                        let predictions = &mut predictions[..entries.len()];
                        contraction.predict(
                            scratch,
                            core,
                            inner.map(|mode| factors[mode]),
                            indices,
                            predictions,
                        );
                        sum = sum + visit(entries, predictions);
                    }
                    sum
                },
            )
            .collect();
        sums.into_iter().fold(S::default(), |sum, next| sum + next)
    }
}

/// All places, those of the first task first.
fn places_by_task(len: usize, tasks: Option<(&[u32], usize)>) -> Vec<u32> {
    let Some((tasks, count)) = tasks else { return (0..len as u32).collect() };
    let mut next = vec![0u32; count + 1];
    tasks.iter().for_each(|&task| next[task as usize + 1] += 1);
    for task in 0..count {
        next[task + 1] += next[task];
    }
    let mut places = vec![0u32; len];
    for (place, &task) in tasks.iter().enumerate() {
        places[next[task as usize] as usize] = place as u32;
        next[task as usize] += 1;
    }
    places
}

/// Orders the places of one task by groups, cut into chunks; returns the chunks' lengths.
fn order_task(places: &mut [u32], outer: &[&[u32]], order: &Order<'_>, lone: usize, task: u64) -> Vec<u32> {
    let mut generator = order.seed.map(|seed| Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(task)));
    if let Some(generator) = &mut generator {
        places.shuffle(generator);
    }
    let same = |a: &u32, b: &u32| outer.iter().all(|array| array[*a as usize] == array[*b as usize]);
    match outer {
        [] => {}
        [array] => places.sort_by_key(|&place| array[place as usize]),
        _ => places.sort_by_cached_key(|&place| {
            outer.iter().map(|array| array[place as usize]).collect::<Vec<u32>>()
        }),
    }
    let mut chunks: Vec<&[u32]> = Vec::new();
    for group in places.chunk_by(same) {
        // Even pieces: 65 entries are 33 and 32, not 64 and 1.
        let pieces = if group.len() < lone { group.len() } else { group.len().div_ceil(order.chunk) };
        let mut rest = group;
        for left in (1..=pieces).rev() {
            let (chunk, after) = rest.split_at(rest.len().div_ceil(left));
            chunks.push(chunk);
            rest = after;
        }
    }
    if let Some(generator) = &mut generator {
        chunks.shuffle(generator);
    }
    let lengths = chunks.iter().map(|chunk| chunk.len() as u32).collect();
    let ordered: Vec<u32> = chunks.concat();
    places.copy_from_slice(&ordered);
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::CoreKind;
    use s3cmtf_kernels::Level;

    #[test]
    fn chunks_hold_every_entry_once_and_agree_in_the_outer_modes() {
        let len = 1000u32;
        let first: Vec<u32> = (0..len).map(|i| i * 7 % 90).collect();
        let second: Vec<u32> = (0..len).map(|i| i * 13 % 80).collect();
        let third: Vec<u32> = (0..len).map(|i| i % 5).collect();
        let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let tasks: Vec<u32> = (0..len).map(|i| i % 3).collect();
        let contraction = Contraction::new(&[2, 2, 2], &[90, 80, 5], CoreKind::Full, Level::Portable);
        for seed in [None, Some(3)] {
            let order = Order { chunk: 50, tasks: Some((&tasks, 3)), seed };
            let chunks = Chunks::new(&contraction, &[&first, &second, &third], &values, &order);
            let mut seen = chunks.places.clone();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..len));
            for task in 0..3 {
                for chunk in chunks.tasks[task]..chunks.tasks[task + 1] {
                    let entries = chunks.entries(chunk as usize);
                    assert!(!entries.is_empty() && entries.len() <= 50);
                    for entry in entries.clone() {
                        let place = chunks.places[entry] as usize;
                        assert_eq!(tasks[place] as usize, task);
                        assert_eq!(chunks.values[entry], values[place]);
                        assert_eq!(chunks.indices[0][entry], first[place]);
                        assert_eq!(chunks.indices[2][entry], chunks.indices[2][entries.start]);
                    }
                }
            }
        }
    }
}
