//! Keys in ascending order, with what belongs to them.

use rayon::prelude::*;

use crate::arrange::{Key, take};

/// Keys are dealt to so many buckets, by their first bits; and counted in at most so many parts beside each other, of at least so
/// many keys.
const BUCKET_BITS: u32 = 12;
const PARTS: usize = 64;
const PART: usize = 1 << 16;
/// A bucket of more keys is sorted by several threads.
const LARGE: usize = 1 << 17;

/// So many keys of `bits` bits in ascending order, and those that are alike in the order of what belongs to them.
pub(crate) fn sorted<K: Key>(
    len: usize,
    bits: u32,
    item: impl Fn(usize) -> (K, u32) + Sync,
) -> Vec<(K, u32)> {
    let part = len.div_ceil(PARTS).max(PART);
    let parts = len.div_ceil(part);
    let range = |number: usize| number * part..((number + 1) * part).min(len);
    let (buckets, shift) = (1 << BUCKET_BITS, bits.saturating_sub(BUCKET_BITS));
    let bucket = |key: K| key.row(shift, BUCKET_BITS) as usize;
    let count = |number: usize| {
        let mut counts = vec![0u32; buckets];
        range(number).for_each(|place| counts[bucket(item(place).0)] += 1);
        counts
    };
    let counts: Vec<Vec<u32>> = (0..parts).into_par_iter().map(count).collect();
    // Memory is touched for the first time by all threads.
    let mut all: Vec<(K, u32)> = (0..len).into_par_iter().map(|_| (K::default(), 0)).collect();
    // Each part has a place of its own in each bucket.
    let mut places: Vec<Vec<&mut [(K, u32)]>> = (0..parts).map(|_| Vec::with_capacity(buckets)).collect();
    let mut rest = &mut all[..];
    for bucket in 0..buckets {
        for (places, counts) in places.iter_mut().zip(&counts) {
            places.push(take(&mut rest, counts[bucket] as usize));
        }
    }
    places.into_par_iter().enumerate().for_each(|(number, mut places)| {
        for (key, with) in range(number).map(&item) {
            let place = &mut places[bucket(key)];
            take(place, 1)[0] = (key, with);
        }
    });
    let mut rest = &mut all[..];
    let own = |bucket: usize| counts.iter().map(|counts| counts[bucket] as usize).sum();
    let dealt: Vec<&mut [(K, u32)]> = (0..buckets).map(|bucket| take(&mut rest, own(bucket))).collect();
    dealt.into_par_iter().for_each(|bucket| {
        if bucket.len() > LARGE { bucket.par_sort_unstable() } else { bucket.sort_unstable() }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_any_length_are_sorted() {
        let number = |place: usize| (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x55;
        for (len, bits) in [(0, 5), (1, 64), (1000, 3), (PART * 3 + 7, 20), (300_000, 64), (LARGE * 3, 1)] {
            let item = |place: usize| (number(place) >> (64 - bits), number(place + 1) as u32);
            let mut expected: Vec<(u64, u32)> = (0..len).map(item).collect();
            expected.sort_unstable();
            assert_eq!(sorted(len, bits, item), expected, "{len} keys of {bits} bits");
            let wide = |place: usize| (u128::from(item(place).0) << 40, item(place).1);
            assert!(
                sorted(len, bits + 40, wide)
                    .iter()
                    .map(|&(key, with)| ((key >> 40) as u64, with))
                    .eq(expected)
            );
        }
    }
}
