//! Entries given more than once become one, with the mean of their values.

use rayon::prelude::*;

/// Merges entries with equal indices; returns how many were merged away.
///
/// The mean, because it does not depend on the order of the file and is what a squared error would settle on.
pub(super) fn merge(indices: &mut [Vec<u32>], values: &mut Vec<f32>) -> usize {
    let widths: Vec<u32> =
        indices.iter().map(|array| 32 - array.iter().max().copied().unwrap_or(0).leading_zeros()).collect();
    let runs = if widths.iter().sum::<u32>() <= 64 {
        equal_runs(values.len(), |place| {
            indices.iter().zip(&widths).fold(0u64, |key, (array, &width)| {
                key.checked_shl(width).unwrap_or(0) | u64::from(array[place])
            })
        })
    } else {
        equal_runs(values.len(), |place| indices.iter().map(|array| array[place]).collect::<Vec<u32>>())
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

/// The places, ascending, of each set of two or more entries that have the same key.
fn equal_runs<K: Ord + Send + Sync>(len: usize, key: impl Fn(usize) -> K + Sync) -> Vec<Vec<u32>> {
    // Most data have no duplicates: look for any with the keys alone before paying for places.
    let mut keys: Vec<K> = (0..len).into_par_iter().map(&key).collect();
    keys.par_sort_unstable();
    if !keys.par_windows(2).any(|pair| pair[0] == pair[1]) {
        return Vec::new();
    }
    drop(keys);
    let mut pairs: Vec<(K, u32)> = (0..len).into_par_iter().map(|place| (key(place), place as u32)).collect();
    pairs.par_sort_unstable();
    pairs
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|run| run.len() > 1)
        .map(|run| run.iter().map(|pair| pair.1).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
