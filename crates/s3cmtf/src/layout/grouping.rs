//! Puts entries in an order in which those that share their outer rows stand together.
//!
//! First by tasks, mode by mode, so that at no time there is a second copy of all entries; then within each task.

use std::ops::Range;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use s3cmtf_kernels::CHUNK;

use super::chunks::Chunks;
use super::contraction::Contraction;
use crate::parallel;

/// Fewer entries than this that share their outer rows go into mixed chunks.
const FEW: usize = 3;
/// The rows of a task that take more than this many numbers do not stay in the near caches, so that mixed entries are
/// visited row by row, near rows together.
const NEAR: usize = 1 << 16;

/// How entries are cut and ordered.
pub(crate) struct Order {
    /// The most entries in a chunk.
    pub(crate) chunk: usize,
    /// The task of each entry, and the number of tasks; `None` for a single task.
    pub(crate) tasks: Option<(Vec<u16>, usize)>,
    /// Shuffles the entries of a group and the chunks of a task; `None` keeps them sorted.
    pub(crate) seed: Option<u64>,
    /// Whether it must be known which entry came from where.
    pub(crate) places: bool,
}

/// One task's part of the arrays, and what becomes of it.
struct TaskArrays<'a> {
    modes: Vec<&'a mut [u32]>,
    values: &'a mut [f32],
    places: &'a mut [u32],
}

/// The chunks of one task.
#[derive(Default)]
struct Cut {
    /// Each chunk's number of entries, and whether it is mixed.
    chunks: Vec<(u32, bool)>,
    /// For each outer mode its rows, one per chunk or per entry of a mixed one.
    outer: Vec<Vec<u32>>,
}

impl Chunks {
    /// Groups entries given by arrays of rows, which are used up on the way.
    pub(crate) fn new(
        contraction: &Contraction,
        mut indices: Vec<Vec<u32>>,
        mut values: Vec<f32>,
        order: Order,
    ) -> Self {
        assert!(order.chunk >= 1 && order.chunk <= CHUNK);
        let Order { chunk, tasks, seed, places } = order;
        let mut places: Vec<u32> = if places { (0..values.len() as u32).collect() } else { Vec::new() };
        let mut bounds = vec![0, values.len()];
        if let Some((tasks, count)) = tasks {
            bounds = task_bounds(&tasks, count);
            indices.iter_mut().for_each(|array| *array = by_task(array, &tasks, &bounds));
            values = by_task(&values, &tasks, &bounds);
            if !places.is_empty() {
                places = by_task(&places, &tasks, &bounds);
            }
        }
        let pieces = cut_pieces(&mut indices, &mut values, &mut places, &bounds);
        let cuts = parallel::map_of(pieces.into_iter().enumerate(), |(task, piece)| {
            let generator =
                seed.map(|seed| Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(task as u64)));
            cut_task(contraction, piece, chunk, generator)
        });

        let mut indices = indices.into_iter().map(Some).collect::<Vec<_>>();
        let inner = contraction.inner.map(|mode| indices[mode].take().unwrap_or_default());
        drop(indices);
        let mut set = Chunks { inner, values, places, ..Chunks::default() };
        set.starts.push(0);
        set.slots.push(0);
        set.tasks.push(0);
        let (mut entries, mut slots) = (0, 0);
        for cut in &cuts {
            for &(len, mixed) in &cut.chunks {
                entries += len;
                slots += if mixed { len } else { 1 };
                set.starts.push(entries);
                set.slots.push(slots);
            }
            set.tasks.push(set.starts.len() as u32 - 1);
        }
        for which in 0..contraction.outer.len() {
            let mut rows = Vec::with_capacity(slots as usize);
            cuts.iter().for_each(|cut| rows.extend_from_slice(&cut.outer[which]));
            set.outer.push(rows);
        }
        set
    }
}

/// Tasks for entries that may be visited in any order, by their row in one mode: enough to order them in parallel, few
/// enough to leave groups whole.
pub(crate) fn deal(rows: &[u32]) -> (Vec<u16>, usize) {
    const TASK: usize = 1 << 16;
    let count = (rows.len() / TASK).clamp(1, 256);
    let size = rows.iter().max().map_or(1, |&most| u64::from(most) + 1);
    let task = |&row: &u32| (u64::from(row) * count as u64 / size) as u16;
    (parallel::numbers_of(rows, task), count)
}

/// Where each task's entries start once they stand by task, and the end of the last.
fn task_bounds(tasks: &[u16], count: usize) -> Vec<usize> {
    let pieces = parallel::map_of(tasks.chunks(1 << 20), |tasks| {
        let mut counts = vec![0usize; count];
        tasks.iter().for_each(|&task| counts[task as usize] += 1);
        counts
    });
    let mut bounds = vec![0];
    for task in 0..count {
        let own: usize = pieces.iter().map(|counts| counts[task]).sum();
        bounds.push(bounds[task] + own);
    }
    bounds
}

/// The numbers of the first task first, and so on, each task's in the order they had.
fn by_task<T: Copy + Default + Send + Sync>(numbers: &[T], tasks: &[u16], bounds: &[usize]) -> Vec<T> {
    let mut result = vec![T::default(); numbers.len()];
    // Each thread looks at all numbers and writes those of its own tasks: no thread writes where another does.
    let threads = rayon::current_num_threads();
    let mut shares: Vec<(Range<usize>, &mut [T])> = Vec::new();
    let (mut rest, mut first) = (result.as_mut_slice(), 0);
    for thread in 1..=threads {
        let target = numbers.len() * thread / threads;
        let end = if thread == threads {
            bounds.len() - 1
        } else {
            bounds.partition_point(|&bound| bound <= target).saturating_sub(1).max(first)
        };
        let (share, after) = rest.split_at_mut(bounds[end] - bounds[first]);
        shares.push((first..end, share));
        (rest, first) = (after, end);
    }
    parallel::each(shares, |(mine, share)| {
        let mut next: Vec<usize> =
            bounds[mine.clone()].iter().map(|bound| bound - bounds[mine.start]).collect();
        for (&number, &task) in numbers.iter().zip(tasks) {
            if mine.contains(&(task as usize)) {
                let next = &mut next[task as usize - mine.start];
                share[*next] = number;
                *next += 1;
            }
        }
    });
    result
}

/// Cuts arrays at the bounds of tasks.
fn cut_pieces<'a>(
    indices: &'a mut [Vec<u32>],
    values: &'a mut [f32],
    places: &'a mut [u32],
    bounds: &[usize],
) -> Vec<TaskArrays<'a>> {
    let mut modes: Vec<&mut [u32]> = indices.iter_mut().map(Vec::as_mut_slice).collect();
    let (mut values, mut places) = (values, places);
    let mut pieces = Vec::with_capacity(bounds.len() - 1);
    for pair in bounds.windows(2) {
        let len = pair[1] - pair[0];
        pieces.push(TaskArrays {
            modes: modes.iter_mut().map(|rest| take_first(rest, len)).collect(),
            values: take_first(&mut values, len),
            places: if places.is_empty() { &mut [] } else { take_first(&mut places, len) },
        });
    }
    pieces
}

/// Takes the first part of what is left.
pub(crate) fn take_first<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (first, after) = std::mem::take(rest).split_at_mut(len);
    *rest = after;
    first
}

/// Orders the entries of one task by groups and cuts them into chunks.
fn cut_task(
    contraction: &Contraction,
    piece: TaskArrays<'_>,
    chunk: usize,
    mut generator: Option<Xoshiro256PlusPlus>,
) -> Cut {
    let TaskArrays { mut modes, values, places } = piece;
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    if let Some(generator) = &mut generator {
        order.shuffle(generator);
    }
    // The last mode first: every sort keeps what the sorts before it did.
    for &mode in contraction.outer.iter().rev() {
        sort_by_row(&mut order, modes[mode], 0);
    }
    let same = |a: &u32, b: &u32| {
        contraction.outer.iter().all(|&mode| modes[mode][*a as usize] == modes[mode][*b as usize])
    };
    let few = if contraction.has_mixed() { FEW } else { 0 };
    let (mut shared, mut mixed): (Vec<&[u32]>, Vec<u32>) = (Vec::new(), Vec::new());
    for group in order.chunk_by(same) {
        if group.len() < few {
            mixed.extend_from_slice(group);
            continue;
        }
        // Even pieces: 65 entries are 33 and 32, not 64 and 1.
        let pieces = group.len().div_ceil(chunk);
        let mut rest = group;
        for left in (1..=pieces).rev() {
            let (piece, after) = rest.split_at(rest.len().div_ceil(left));
            shared.push(piece);
            rest = after;
        }
    }
    if let Some(generator) = &mut generator {
        shared.shuffle(generator);
        mixed.shuffle(generator);
    }
    sort_mixed(contraction, &modes, &mut mixed);

    let mut cut = Cut { chunks: Vec::new(), outer: vec![Vec::new(); contraction.outer.len()] };
    let chunks = shared.iter().map(|chunk| (*chunk, false));
    for (chunk, mixed) in
        chunks.chain(mixed.chunks(contraction.most_mixed().min(chunk)).map(|chunk| (chunk, true)))
    {
        cut.chunks.push((chunk.len() as u32, mixed));
        let slots = if mixed { chunk } else { &chunk[..1] };
        for (rows, &mode) in cut.outer.iter_mut().zip(&contraction.outer) {
            rows.extend(slots.iter().map(|&entry| modes[mode][entry as usize]));
        }
    }
    let mut order: Vec<u32> = shared.concat();
    order.extend_from_slice(&mixed);
    contraction.inner.iter().for_each(|&mode| rearrange(modes[mode], &order));
    rearrange(values, &order);
    if !places.is_empty() {
        rearrange(places, &order);
    }
    cut
}

/// Puts mixed entries in an order in which rows of the larger inner mode that stand together are visited together,
/// where they are too many to stay near anyway.
fn sort_mixed(contraction: &Contraction, modes: &[&mut [u32]], mixed: &mut [u32]) {
    let span = |mode: usize| {
        let rows = || mixed.iter().map(|&entry| modes[mode][entry as usize]);
        (rows().max().unwrap_or(0) - rows().min().unwrap_or(0)) as usize * contraction.ranks[mode]
    };
    let [first, second] = contraction.inner;
    let (mode, span) =
        if span(first) >= span(second) { (first, span(first)) } else { (second, span(second)) };
    if span > NEAR {
        // As many rows together as fill a page or two.
        sort_by_row(mixed, modes[mode], (2048 / contraction.ranks[mode]).max(1).ilog2());
    }
}

/// A stable sort of entries by their row, less its last `bits` bits.
pub(crate) fn sort_by_row(entries: &mut [u32], rows: &[u32], bits: u32) {
    let key = |entry: u32| rows[entry as usize] >> bits;
    let (least, most) = entries
        .iter()
        .fold((u32::MAX, 0), |(least, most), &entry| (least.min(key(entry)), most.max(key(entry))));
    if least >= most {
        return;
    }
    let keys = (most - least) as usize + 1;
    if keys <= 2 * entries.len() + 1024 {
        let mut next = vec![0u32; keys + 1];
        entries.iter().for_each(|&entry| next[(key(entry) - least) as usize + 1] += 1);
        (0..keys).for_each(|key| next[key + 1] += next[key]);
        let mut sorted = vec![0; entries.len()];
        for &entry in entries.iter() {
            let next = &mut next[(key(entry) - least) as usize];
            sorted[*next as usize] = entry;
            *next += 1;
        }
        entries.copy_from_slice(&sorted);
    } else {
        // Key and place in one number, so that an unstable sort keeps the order of equal keys.
        let places = entries.iter().zip(0u64..);
        let mut pairs: Vec<u64> = places.map(|(&entry, place)| u64::from(key(entry)) << 32 | place).collect();
        pairs.sort_unstable();
        let sorted: Vec<u32> = pairs.iter().map(|&pair| entries[pair as u32 as usize]).collect();
        entries.copy_from_slice(&sorted);
    }
}

/// Puts numbers in the given order.
fn rearrange<T: Copy>(numbers: &mut [T], order: &[u32]) {
    let ordered: Vec<T> = order.iter().map(|&place| numbers[place as usize]).collect();
    numbers.copy_from_slice(&ordered);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Position;
    use crate::params::CoreKind;
    use s3cmtf_kernels::Level;

    #[test]
    fn chunks_hold_every_entry_once_and_agree_in_the_outer_modes_unless_mixed() {
        let len = 1000u32;
        let indices: Vec<Vec<u32>> = vec![
            (0..len).map(|i| i * 7 % 90).collect(),
            (0..len).map(|i| i * 13 % 80).collect(),
            (0..len).map(|i| if i % 10 == 0 { i } else { i % 5 }).collect(),
        ];
        let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let tasks: Vec<u16> = (0..len).map(|i| (i % 3) as u16).collect();
        let contraction = Contraction::new(&[2, 2, 2], &[9000, 8000, 1000], CoreKind::Full, Level::Portable);
        for seed in [None, Some(3)] {
            let order = Order { chunk: 50, tasks: Some((tasks.clone(), 3)), seed, places: true };
            let set = Chunks::new(&contraction, indices.clone(), values.clone(), order);
            let mut seen = set.places.clone();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..len));
            let (mut shared, mut mixed) = (0, 0);
            for task in 0..3 {
                for chunk in set.task(task) {
                    let entries = set.entries(chunk);
                    assert!(!entries.is_empty() && entries.len() <= 50);
                    *if set.is_mixed(chunk) { &mut mixed } else { &mut shared } += entries.len();
                    for entry in entries {
                        let place = set.places[entry] as usize;
                        assert_eq!(tasks[place] as usize, task);
                        assert_eq!(set.values[entry], values[place]);
                        assert_eq!(set.row(Position::Inner(0), chunk, entry), indices[0][place]);
                        assert_eq!(set.row(Position::Inner(1), chunk, entry), indices[1][place]);
                        assert_eq!(set.row(Position::Outer(0), chunk, entry), indices[2][place]);
                    }
                }
            }
            assert!(shared >= 800 && mixed >= 50, "{shared} {mixed}");
        }
    }

    #[test]
    fn sorting_is_stable_for_few_and_for_many_keys() {
        for spread in [1, 1 << 20] {
            let rows: Vec<u32> = (0..500u32).map(|entry| entry * 37 % 11 * spread).collect();
            let mut entries: Vec<u32> = (0..500).rev().collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|&entry| rows[entry as usize]);
            sort_by_row(&mut entries, &rows, 0);
            assert_eq!(entries, expected);
        }
    }
}
