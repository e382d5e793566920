//! Entries given more than once become one.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::table::did_you_mean;

/// What becomes of entries that are given more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    pub fn of(name: &str) -> Result<Self, Error> {
        Duplicates::ALL.into_iter().find(|duplicates| duplicates.name() == name).ok_or_else(|| {
            let hint = did_you_mean(Duplicates::ALL.map(Duplicates::name), name);
            Error::Asked(format!("duplicates should be mean, last, sum or error, but is {name:?}{hint}"))
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
pub(super) struct Given {
    pub(super) first: usize,
    pub(super) again: usize,
}

/// Merges entries with equal indices; returns how many were merged away.
pub(super) fn merge(
    indices: &mut [Vec<u32>],
    values: &mut Vec<f32>,
    duplicates: Duplicates,
) -> Result<usize, Given> {
    let widths: Vec<u32> =
        indices.iter().map(|array| 32 - array.iter().max().copied().unwrap_or(0).leading_zeros()).collect();
    let runs = if widths.iter().sum::<u32>() <= 64 {
        let key = |place: usize| {
            indices.iter().zip(&widths).fold(0u64, |key, (array, &width)| {
                key.checked_shl(width).unwrap_or(0) | u64::from(array[place])
            })
        };
        equal_runs(values.len(), TOGETHER, key, |&key| key)
    } else {
        let key = |place: usize| indices.iter().map(|array| array[place]).collect::<Vec<u32>>();
        let mix = |key: &Vec<u32>| key.iter().fold(0u64, |sum, &row| sum.wrapping_mul(31) + u64::from(row));
        equal_runs(values.len(), TOGETHER, key, mix)
    };
    if runs.is_empty() {
        return Ok(0);
    }
    if duplicates == Duplicates::Error {
        let again = runs.iter().map(|run| (run[1], run[0])).min().unwrap_or_default();
        return Err(Given { first: again.1 as usize, again: again.0 as usize });
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
    let retain = |array: &mut Vec<u32>| {
        let mut place = 0..;
        array.retain(|_| keep[place.next().unwrap_or(0)]);
    };
    indices.iter_mut().for_each(retain);
    let mut place = 0..;
    values.retain(|_| keep[place.next().unwrap_or(0)]);
    Ok(runs.iter().map(|run| run.len() - 1).sum())
}

/// About how many entries are looked at together: enough for all threads, and no more memory than the entries take.
const TOGETHER: usize = 1 << 24;
/// How many entries a thread deals out at a time, and into how many lists: so that both stay in its cache.
const DEALT: usize = 1 << 17;
const LISTS: usize = 256;

/// The places, ascending, of each set of two or more entries that have the same key; `mix` makes any number of a key,
/// the same for the same key. About `together` entries are looked at at a time.
fn equal_runs<K: Ord + Send + Sync>(
    len: usize,
    together: usize,
    key: impl Fn(usize) -> K + Sync,
    mix: impl Fn(&K) -> u64 + Sync,
) -> Vec<Vec<u32>> {
    let parts = (len / together).clamp(1, 32);
    let part_of = |number: u64| ((number >> 32) as usize * parts) >> 32;
    let mut runs = Vec::new();
    for part in 0..parts {
        let number = |place: usize| Some(spread(mix(&key(place)))).filter(|&number| part_of(number) == part);
        // Most data have no duplicates, which is found without a sort. Keys may differ where their numbers do not.
        let twice = repeated(len, number);
        if twice.is_empty() {
            continue;
        }
        let first_bits = FirstBits::of(&twice);
        let pairs = (0..len).into_par_iter().map(|place| (key(place), place as u32));
        let again = |number: u64| first_bits.may_have(number) && twice.binary_search(&number).is_ok();
        let mut pairs: Vec<(K, u32)> = pairs.filter(|(key, _)| again(spread(mix(key)))).collect();
        pairs.par_sort_unstable();
        let equal = pairs.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1);
        runs.extend(equal.map(|run| run.iter().map(|pair| pair.1).collect::<Vec<u32>>()));
    }
    runs
}

/// Which first bits numbers have: tells most that are not among them apart without a search.
struct FirstBits(Vec<u64>);

impl FirstBits {
    /// The first bits that are looked at: as many as stay in the fast memory.
    const BITS: u32 = 22;

    fn of(numbers: &[u64]) -> Self {
        let mut bits = vec![0; 1 << (Self::BITS - 6)];
        for number in numbers {
            let place = number >> (64 - Self::BITS);
            bits[(place >> 6) as usize] |= 1 << (place & 63);
        }
        FirstBits(bits)
    }

    fn may_have(&self, number: u64) -> bool {
        let place = number >> (64 - Self::BITS);
        self.0[(place >> 6) as usize] >> (place & 63) & 1 == 1
    }
}

/// Another number for each number, in which every digit depends on many.
fn spread(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ (number >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The numbers that more than one place has, ascending; places may have none.
fn repeated(len: usize, number: impl Fn(usize) -> Option<u64> + Sync) -> Vec<u64> {
    let list_of = |number: u64| (number >> 16) as usize % LISTS;
    // Each thread deals its numbers out into lists, one behind the other, so that no two write to the same memory. All of it
    // is one piece, which goes back to the system when it is let go; many smaller ones would not.
    let deal = |numbers: &mut Vec<u64>, (turn, dealt): (usize, &mut [u64])| {
        let places = turn * DEALT..turn * DEALT + dealt.len();
        numbers.clear();
        numbers.extend(places.filter_map(&number));
        let mut starts = [0u32; LISTS + 1];
        numbers.iter().for_each(|&number| starts[list_of(number) + 1] += 1);
        (0..LISTS).for_each(|list| starts[list + 1] += starts[list]);
        let mut next = starts;
        for &number in numbers.iter() {
            let place = &mut next[list_of(number)];
            dealt[*place as usize] = number;
            *place += 1;
        }
        starts
    };
    let mut dealt = vec![0u64; len];
    let starts: Vec<_> = dealt.par_chunks_mut(DEALT).enumerate().map_init(Vec::new, deal).collect();
    let list = |list: usize| {
        let own = dealt.chunks(DEALT).zip(&starts);
        own.map(move |(dealt, starts)| &dealt[starts[list] as usize..starts[list + 1] as usize])
    };
    let twice = |slots: &mut Vec<u64>, number: usize| again(slots, list(number));
    let mut twice: Vec<u64> = (0..LISTS).into_par_iter().map_init(Vec::new, twice).flatten_iter().collect();
    twice.par_sort_unstable();
    twice.dedup();
    twice
}

/// The numbers that come again; `slots` is room for a table of those that came.
fn again<'a>(slots: &mut Vec<u64>, lists: impl Iterator<Item = &'a [u64]> + Clone) -> Vec<u64> {
    let count: usize = lists.clone().map(<[u64]>::len).sum();
    slots.clear();
    slots.resize((2 * count).next_power_of_two(), 0);
    let (last, mut zeros, mut twice) = (slots.len() - 1, 0, Vec::new());
    for &number in lists.flatten() {
        // Zero is an empty slot.
        if number == 0 {
            zeros += 1;
            continue;
        }
        let mut slot = (number >> 24) as usize & last;
        // At most half of the slots are taken, so there is an end.
        while slots[slot] != 0 && slots[slot] != number {
            slot = (slot + 1) & last;
        }
        if slots[slot] == number {
            twice.push(number);
        }
        slots[slot] = number;
    }
    twice.extend((zeros > 1).then_some(0));
    twice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_found_among_more_entries_than_are_looked_at_together() {
        let len = 30_000;
        let runs =
            equal_runs(len, 1000, |place| (place.min(len - place) / 2 * 5) as u64 % 10_007, |&key| key);
        let mut by_key = std::collections::HashMap::<u64, usize>::new();
        for place in 0..len {
            *by_key.entry((place.min(len - place) / 2 * 5) as u64 % 10_007).or_default() += 1;
        }
        assert_eq!(runs.len(), by_key.values().filter(|&&count| count > 1).count());
        assert!(runs.iter().all(|run| run.is_sorted() && run.len() > 1));
        assert_eq!(
            runs.iter().map(Vec::len).sum::<usize>(),
            by_key.values().filter(|&&count| count > 1).sum::<usize>()
        );
    }

    #[test]
    fn numbers_that_come_again_are_found_once_whatever_they_are() {
        let numbers: Vec<u64> = (0..300_000u64).map(|place| (place * 7919 % 290_000) << 20).collect();
        let mut expected: Vec<u64> = (0..10_000u64).map(|place| (place * 7919 % 290_000) << 20).collect();
        expected.sort_unstable();
        assert_eq!(repeated(numbers.len(), |place| Some(numbers[place])), expected);
        assert_eq!(repeated(4, |place| Some([0, 5, 0, 0][place])), [0]);
        assert_eq!(repeated(4, |place| (place != 2).then_some([0, 5, 0, 7][place])), [0u64; 0]);
        assert_eq!(repeated(0, |_| None), [0u64; 0]);
    }

    #[test]
    fn keys_that_share_a_number_are_not_the_same() {
        assert_eq!(equal_runs(4, 10, |place| [3, 4, 3, 5][place], |_| 1), [[0, 2]]);
        assert!(equal_runs(3, 10, |place| place, |_| 0).is_empty());
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
