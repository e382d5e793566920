//! Entries given more than once become one, with the mean of their values.

use rayon::prelude::*;

/// Merges entries with equal indices; returns how many were merged away.
///
/// The mean, because it does not depend on the order of the file and is what a squared error would settle on.
pub(super) fn merge(indices: &mut [Vec<u32>], values: &mut Vec<f32>) -> usize {
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
        return 0;
    }
    let mut keep = vec![true; values.len()];
    for run in &runs {
        let sum: f64 = run.iter().map(|&place| f64::from(values[place as usize])).sum();
        values[run[0] as usize] = (sum / run.len() as f64) as f32;
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
    runs.iter().map(|run| run.len() - 1).sum()
}

/// About how many entries are looked at together: enough for all threads, and few beside all entries, so that looking
/// takes little memory.
const TOGETHER: usize = 1 << 22;

/// The places, ascending, of each set of two or more entries that have the same key; `mix` makes any number of a key,
/// the same for the same key. About
/// `together` entries are looked at at a time.
fn equal_runs<K: Ord + Send + Sync>(
    len: usize,
    together: usize,
    key: impl Fn(usize) -> K + Sync,
    mix: impl Fn(&K) -> u64 + Sync,
) -> Vec<Vec<u32>> {
    let parts = (len / together).clamp(1, 32);
    let part_of = |key: &K| ((mix(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize * parts) >> 32;
    let mut runs = Vec::new();
    for part in 0..parts {
        let mine = || (0..len).into_par_iter().map(|place| (key(place), place as u32));
        let mine = || mine().filter(|(key, _)| part_of(key) == part);
        // Most data have no duplicates: the keys alone tell, and take less memory than keys with places.
        let mut keys: Vec<K> = mine().map(|(key, _)| key).collect();
        keys.par_sort_unstable();
        let twice = keys.par_windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]);
        let twice: Vec<&K> = twice.collect();
        if twice.is_empty() {
            continue;
        }
        let mut pairs: Vec<(K, u32)> = mine().filter(|(key, _)| twice.binary_search(&key).is_ok()).collect();
        pairs.par_sort_unstable();
        let equal = pairs.chunk_by(|a, b| a.0 == b.0);
        runs.extend(equal.map(|run| run.iter().map(|pair| pair.1).collect::<Vec<u32>>()));
    }
    runs
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
    fn duplicates_become_their_mean_and_the_order_is_kept() {
        for shift in [0, u32::MAX - 10] {
            let mut indices = vec![
                vec![1 + shift, 2 + shift, 1 + shift, 1 + shift],
                vec![5, 6, 5, 7],
                vec![shift, shift, shift, shift],
            ];
            let mut values = vec![1.0, 2.0, 4.0, 8.0];
            assert_eq!(merge(&mut indices, &mut values), 1);
            assert_eq!(values, [2.5, 2.0, 8.0]);
            assert_eq!(indices[1], [5, 6, 7]);
        }
    }

    #[test]
    fn distinct_entries_are_left_alone() {
        let mut indices = vec![vec![0, 0, 1], vec![0, 1, 0]];
        let mut values = vec![1.0, 2.0, 3.0];
        assert_eq!(merge(&mut indices, &mut values), 0);
        assert_eq!(values, [1.0, 2.0, 3.0]);
    }
}
