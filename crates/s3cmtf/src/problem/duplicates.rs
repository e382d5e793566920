//! Entries given more than once become one.

use std::ops::Range;

use rayon::prelude::*;
use s3cmtf_kernels::zeros;
use serde::{Deserialize, Serialize};

use super::packing::Packing;
use super::scan::largest;
use crate::Error;
use crate::parallel;
use crate::table::did_you_mean;

/// What becomes of entries that are given more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Duplicates {
    /// Their mean: it does not depend on the order of the file and is what a squared error would settle on.
    #[default]
    Mean,
    /// The last of them.
    Last,
    /// Their sum: each is an event, and what counts is how many there were.
    Sum,
    /// There should be none.
    Error,
}

impl Duplicates {
    /// All of them.
    pub const ALL: [Duplicates; 4] = [Duplicates::Mean, Duplicates::Last, Duplicates::Sum, Duplicates::Error];

    /// That of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Duplicates::ALL.into_iter().find(|duplicates| duplicates.name() == name).ok_or_else(|| {
            let hint = did_you_mean(Duplicates::ALL.map(Duplicates::name), name);
            Error::Request(format!("duplicates should be mean, last, sum or error, but is {name:?}{hint}"))
        })
    }

    /// The name it has everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Duplicates::Mean => "mean",
            Duplicates::Last => "last",
            Duplicates::Sum => "sum",
            Duplicates::Error => "error",
        }
    }
}

/// An entry that was there before, where there should be none.
#[derive(Debug)]
pub(super) struct Duplicate {
    pub(super) first: usize,
    pub(super) again: usize,
}

/// Merges entries with equal indices; returns how many were merged away.
pub(super) fn merge(
    indices: &mut [Vec<u32>],
    values: &mut Vec<f32>,
    duplicates: Duplicates,
) -> Result<usize, Duplicate> {
    let lists: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
    let runs = equal_runs(&lists, values.len());
    if runs.is_empty() {
        return Ok(0);
    }
    if duplicates == Duplicates::Error {
        let again = runs.iter().map(|run| (run[1], run[0])).min().unwrap_or_default();
        return Err(Duplicate { first: again.1 as usize, again: again.0 as usize });
    }
    let mut keep = vec![true; values.len()];
    for run in &runs {
        let sum: f64 = run.iter().map(|&place| f64::from(values[place as usize])).sum();
        values[run[0] as usize] = match duplicates {
            Duplicates::Last => values[run[run.len() - 1] as usize],
            Duplicates::Sum => sum as f32,
            Duplicates::Mean | Duplicates::Error => (sum / run.len() as f64) as f32,
        };
        for &place in &run[1..] {
            keep[place as usize] = false;
        }
    }
    parallel::both(|| parallel::each(indices, |array| retain(array, &keep)), || retain(values, &keep));
    Ok(runs.iter().map(|run| run.len() - 1).sum())
}

fn retain<T: Copy>(array: &mut Vec<T>, keep: &[bool]) {
    let mut kept = 0;
    for (place, &keep) in keep.iter().enumerate() {
        array[kept] = array[place];
        kept += usize::from(keep);
    }
    array.truncate(kept);
}

/// The places, ascending, of each set of two or more entries that have the same indices.
fn equal_runs(lists: &[&[u32]], len: usize) -> Vec<Vec<u32>> {
    let order: Vec<usize> = (0..lists.len()).collect();
    let most: Vec<u32> = lists.iter().map(|list| largest(list).unwrap_or(0)).collect();
    let numbers: Box<Numbers<'_>> = match Packing::new(&most, &order) {
        Some(packing) => Box::new(move |places, numbers| packing.pack(lists, places, numbers)),
        // Different entries may have the same number here.
        None => Box::new(|places, numbers| {
            let mix = |place: usize| {
                lists.iter().fold(0u64, |sum, list| sum.wrapping_mul(31).wrapping_add(u64::from(list[place])))
            };
            numbers.clear();
            numbers.extend(places.map(mix));
        }),
    };
    let pairs = repeated(len, TOGETHER, &*numbers);
    let indices = |place: u32| lists.iter().map(move |list| list[place as usize]);
    let mut runs = Vec::new();
    for same in pairs.chunk_by(|a, b| a.0 == b.0) {
        let mut places: Vec<u32> = same.iter().map(|pair| pair.1).collect();
        // This sort keeps equal ones in their order.
        places.sort_by(|&a, &b| indices(a).cmp(indices(b)));
        let equal = places.chunk_by(|&a, &b| indices(a).eq(indices(b)));
        runs.extend(equal.filter(|run| run.len() > 1).map(<[u32]>::to_vec));
    }
    runs
}

/// Makes a number of each entry at some places, the same for the same entry.
type Numbers<'a> = dyn Fn(Range<usize>, &mut Vec<u64>) + Sync + 'a;

/// About how many entries are looked at together: enough for all threads, and no more memory than the entries take.
const TOGETHER: usize = 1 << 24;
/// How many entries a thread deals out at a time, and into how many lists: so that both stay in its cache.
const DEALT: usize = 1 << 16;
const LISTS: usize = 512;

/// Another number for each number, in which every digit depends on many; no two become the same.
fn spread(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ (number >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The places whose numbers other places have as well, and what these numbers are spread to, in the order of those and then of
/// the places. About `together` places are looked at at a time.
fn repeated(len: usize, together: usize, numbers: &Numbers<'_>) -> Vec<(u64, u32)> {
    let parts = (len / together).clamp(1, 32);
    let part_of = |number: u64| ((number >> 32) as usize * parts) >> 32;
    let list_of = |number: u64| (number >> 16) as usize % LISTS;
    // Each thread deals its numbers out into lists, one behind the other, so that no two write to the same memory. All of it
    // is one piece, which goes back to the system when it is let go; many smaller ones would not.
    let (mut dealt, mut dealt_places) = (zeros::<u64>(len), zeros::<u32>(len));
    let mut found = Vec::new();
    for part in 0..parts {
        let deal = |own: &mut Vec<u64>, (turn, (dealt, places)): (usize, (&mut [u64], &mut [u32]))| {
            let first = turn * DEALT;
            numbers(first..first + dealt.len(), own);
            own.iter_mut().for_each(|number| *number = spread(*number));
            let mut starts = [0u32; LISTS + 1];
            let of_part = |number: &&u64| parts == 1 || part_of(**number) == part;
            own.iter().filter(of_part).for_each(|&number| starts[list_of(number) + 1] += 1);
            (0..LISTS).for_each(|list| starts[list + 1] += starts[list]);
            let mut next = starts;
            for (place, number) in own.iter().enumerate().filter(|(_, number)| of_part(number)) {
                let to = &mut next[list_of(*number)];
                (dealt[*to as usize], places[*to as usize]) = (*number, (first + place) as u32);
                *to += 1;
            }
            starts
        };
        let shares = dealt.chunks_mut(DEALT).zip(dealt_places.chunks_mut(DEALT));
        let starts = parallel::map_with(shares.enumerate(), Vec::new, deal);
        let list = |list: usize| {
            let own = dealt.chunks(DEALT).zip(dealt_places.chunks(DEALT)).zip(&starts);
            own.map(move |((numbers, places), starts)| {
                let range = starts[list] as usize..starts[list + 1] as usize;
                (&numbers[range.clone()], &places[range])
            })
        };
        let again = |seen: &mut Seen, number: usize| seen.again(list(number));
        found.extend(parallel::map_with(0..LISTS, Seen::default, again).into_iter().flatten());
    }
    found.par_sort_unstable();
    found.dedup();
    found
}

/// A table of numbers, and where each was first seen.
#[derive(Default)]
struct Seen {
    /// Zero is an empty slot.
    numbers: Vec<u64>,
    firsts: Vec<u32>,
}

impl Seen {
    /// The places of numbers that come again, and those where they came first, some more than once.
    fn again<'a>(&mut self, lists: impl Iterator<Item = (&'a [u64], &'a [u32])> + Clone) -> Vec<(u64, u32)> {
        let count: usize = lists.clone().map(|(numbers, _)| numbers.len()).sum();
        let slots = (2 * count).next_power_of_two();
        self.numbers.clear();
        self.numbers.resize(slots, 0);
        self.firsts.resize(slots, 0);
        let (mut zero, mut found) = (None, Vec::new());
        for (&number, &place) in lists.flat_map(|(numbers, places)| numbers.iter().zip(places)) {
            if number == 0 {
                let first = *zero.get_or_insert(place);
                found.extend((first != place).then_some([(0, first), (0, place)]).into_iter().flatten());
                continue;
            }
            let mut slot = (number >> 24) as usize & (slots - 1);
            // At most half of the slots are taken, so there is an end.
            while self.numbers[slot] != 0 && self.numbers[slot] != number {
                slot = (slot + 1) & (slots - 1);
            }
            if self.numbers[slot] == number {
                found.extend([(number, self.firsts[slot]), (number, place)]);
            } else {
                (self.numbers[slot], self.firsts[slot]) = (number, place);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places by number that a table of all finds.
    fn expected(numbers: &[u64]) -> Vec<Vec<u32>> {
        let mut by_number = std::collections::BTreeMap::<u64, Vec<u32>>::new();
        for (place, &number) in numbers.iter().enumerate() {
            by_number.entry(number).or_default().push(place as u32);
        }
        let mut runs: Vec<_> = by_number.into_values().filter(|places| places.len() > 1).collect();
        runs.sort();
        runs
    }

    fn found(numbers: &[u64], together: usize) -> Vec<Vec<u32>> {
        let own = |places: Range<usize>, own: &mut Vec<u64>| {
            own.clear();
            own.extend_from_slice(&numbers[places]);
        };
        let pairs = repeated(numbers.len(), together, &own);
        let runs = pairs.chunk_by(|a, b| a.0 == b.0);
        let mut runs: Vec<Vec<u32>> = runs.map(|run| run.iter().map(|pair| pair.1).collect()).collect();
        runs.sort();
        runs
    }

    #[test]
    fn numbers_that_come_again_are_found_whatever_they_are_and_however_many_are_looked_at_together() {
        let many: Vec<u64> = (0..200_000u64).map(|place| (place * 7919 % 190_000) << 20).collect();
        let often: Vec<u64> =
            (0..30_000u64).map(|place| place.min(30_000 - place) / 2 * 5 % 10_007).collect();
        for numbers in [&many[..], &often, &[0, 5, 0, 0], &[0, 5, 7], &[]] {
            for together in [1000, 1 << 24] {
                assert_eq!(found(numbers, together), expected(numbers));
            }
        }
    }

    #[test]
    fn entries_that_share_a_number_are_not_the_same() {
        // Too wide to be packed; what is made of them instead is the same for the first two.
        let lists: [&[u32]; 3] = [&[1, 0, 1, u32::MAX - 1], &[0, 31, 0, 5], &[7, 7, 7, u32::MAX - 1]];
        assert_eq!(equal_runs(&lists, 4), [[0, 2]]);
    }

    #[test]
    fn duplicates_become_one_and_the_order_is_kept() {
        for shift in [0, u32::MAX - 10] {
            let mut indices = vec![
                vec![1 + shift, 2 + shift, 1 + shift, 1 + shift],
                vec![5, 6, 5, 7],
                vec![shift, shift, shift, shift],
            ];
            for (duplicates, merged) in
                [(Duplicates::Mean, 2.5), (Duplicates::Last, 4.0), (Duplicates::Sum, 5.0)]
            {
                let (mut indices, mut values) = (indices.clone(), vec![1.0, 2.0, 4.0, 8.0]);
                assert_eq!(merge(&mut indices, &mut values, duplicates).unwrap(), 1);
                assert_eq!(values, [merged, 2.0, 8.0]);
                assert_eq!(indices[1], [5, 6, 7]);
            }
            let mut values = vec![1.0, 2.0, 4.0, 8.0];
            let given = merge(&mut indices, &mut values, Duplicates::Error).unwrap_err();
            assert_eq!((given.first, given.again), (0, 2));
        }
    }

    #[test]
    fn distinct_entries_are_left_alone() {
        let mut indices = vec![vec![0, 0, 1], vec![0, 1, 0]];
        let mut values = vec![1.0, 2.0, 3.0];
        assert_eq!(merge(&mut indices, &mut values, Duplicates::Error).unwrap(), 0);
        assert_eq!(values, [1.0, 2.0, 3.0]);
    }
}
