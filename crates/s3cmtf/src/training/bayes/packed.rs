//! Entries in memory, put in the order of a view with their rows packed into one number.
//!
//! A sort of places looks up a row of each entry somewhere in memory, again for each mode. Here entries are dealt into
//! buckets of some rows of the first mode, as numbers that have all their rows, and each bucket is sorted while it is in the
//! fast memory.

use rayon::prelude::*;

use super::sorted::Take;
use crate::Error;
use crate::model::take_first;

/// Entries of a bucket, as far as rows allow.
const BUCKET: usize = 1 << 14;
/// Entries that are packed at a time: a share of all, and some in any case.
const PASSES: usize = 4;
const FEWEST: usize = 1 << 18;

/// Rows of an entry, the first mode's in the highest bits, and its value.
type Packed = (u64, f32);

/// How rows are packed into one number.
pub(super) struct Packing {
    /// The modes, the first first, and how many bits their rows take.
    modes: Vec<(usize, u32)>,
}

impl Packing {
    /// Of the rows of these modes; none if they do not fit.
    pub(super) fn of(lists: &[&[u32]], modes: &[usize]) -> Option<Self> {
        let bits = |&mode: &usize| {
            let most = lists[mode].par_iter().copied().max().unwrap_or(0);
            (mode, 32 - most.leading_zeros())
        };
        let modes: Vec<(usize, u32)> = modes.iter().map(bits).collect();
        (modes.iter().map(|(_, bits)| bits).sum::<u32>() <= u64::BITS).then_some(Packing { modes })
    }

    fn pack(&self, lists: &[&[u32]], entry: usize) -> u64 {
        // A shift by all 64 bits can only be that of a mode which has them all.
        let add = |key: u64, &(mode, bits): &(usize, u32)| {
            key.checked_shl(bits).unwrap_or(0) | u64::from(lists[mode][entry])
        };
        self.modes.iter().fold(0, add)
    }

    /// Gives all entries to `take`, some at a time, in order; equal ones in the order they had. `counts` are how many entries
    /// each row of the first mode has.
    pub(super) fn each(
        &self,
        lists: &[&[u32]],
        values: &[f32],
        counts: &[u32],
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let Some(&(first, _)) = self.modes.first() else { return Ok(()) };
        let (bucket_of, sizes) = buckets(counts);
        let bucket = |row: u32| bucket_of[row as usize] as usize;
        let own = values.len().div_ceil(rayon::current_num_threads()).max(BUCKET);
        // How many entries of each bucket each thread has.
        let dealt: Vec<Vec<u32>> = lists[first]
            .par_chunks(own)
            .map(|rows| {
                let mut counts = vec![0u32; sizes.len()];
                rows.iter().for_each(|&row| counts[bucket(row)] += 1);
                counts
            })
            .collect();
        let most = (values.len() / PASSES).max(FEWEST);
        let mut unpacked = Unpacked::default();
        let (mut from, mut packed): (usize, Vec<Packed>) = (0, Vec::new());
        while from < sizes.len() {
            let (mut end, mut total) = (from + 1, sizes[from]);
            while end < sizes.len() && total + sizes[end] <= most {
                total += sizes[end];
                end += 1;
            }
            packed.clear();
            packed.resize(total, (0, 0.0));
            let shares = share(&mut packed, &dealt, from..end);
            shares.into_par_iter().enumerate().for_each(|(number, mut share)| {
                let mut next = vec![0usize; end - from];
                for (&row, entry) in lists[first].iter().zip(0..).skip(number * own).take(own) {
                    let bucket = bucket(row).wrapping_sub(from);
                    if bucket < end - from {
                        share[bucket][next[bucket]] = (self.pack(lists, entry), values[entry]);
                        next[bucket] += 1;
                    }
                }
            });
            let mut rest = &mut packed[..];
            let own = sizes[from..end].iter().map(|&size| take_first(&mut rest, size));
            own.collect::<Vec<_>>()
                .into_par_iter()
                .for_each_init(Vec::new, |other, bucket| sort(bucket, other));
            for some in packed.chunks(BUCKET) {
                unpacked.fill(self, some, lists.len());
                let lists: Vec<&[u32]> = unpacked.lists.iter().map(Vec::as_slice).collect();
                take(&lists, &unpacked.values, &unpacked.order)?;
            }
            from = end;
        }
        Ok(())
    }
}

/// The bucket of each row, and how many entries each bucket has.
fn buckets(counts: &[u32]) -> (Vec<u32>, Vec<usize>) {
    let (mut of_row, mut sizes) = (Vec::with_capacity(counts.len()), vec![0usize]);
    for &count in counts {
        let last = sizes.len() - 1;
        if sizes[last] > 0 && sizes[last] + count as usize > BUCKET {
            sizes.push(0);
        }
        let last = sizes.len() - 1;
        sizes[last] += count as usize;
        of_row.push(last as u32);
    }
    (of_row, sizes)
}

/// For each thread the place of its own entries in each of some buckets: those of the first thread come first.
fn share<'a>(
    mut packed: &'a mut [Packed],
    dealt: &[Vec<u32>],
    buckets: std::ops::Range<usize>,
) -> Vec<Vec<&'a mut [Packed]>> {
    let mut shares: Vec<Vec<&mut [Packed]>> = dealt.iter().map(|_| Vec::new()).collect();
    for bucket in buckets {
        for (share, counts) in shares.iter_mut().zip(dealt) {
            share.push(take_first(&mut packed, counts[bucket] as usize));
        }
    }
    shares
}

/// A stable sort, by some bits at a time from the last on; `other` is memory for it.
fn sort(bucket: &mut [Packed], other: &mut Vec<Packed>) {
    const BITS: u32 = 11;
    if bucket.len() < 1 << BITS {
        return bucket.sort_by_key(|(key, _)| *key);
    }
    let least = bucket.iter().map(|(key, _)| *key).min().unwrap_or(0);
    let most = bucket.iter().map(|(key, _)| key - least).max().unwrap_or(0);
    other.clear();
    other.extend_from_slice(bucket);
    let (mut from, mut to) = (&mut bucket[..], &mut other[..]);
    let mut swapped = false;
    for shift in (0..u64::BITS - most.leading_zeros()).step_by(BITS as usize) {
        let digit = |key: u64| ((key - least) >> shift) as usize & ((1 << BITS) - 1);
        let mut next = [0u32; 1 << BITS];
        from.iter().for_each(|(key, _)| next[digit(*key)] += 1);
        let mut sum = 0;
        for next in &mut next {
            (*next, sum) = (sum, sum + *next);
        }
        for one in from.iter() {
            let next = &mut next[digit(one.0)];
            to[*next as usize] = *one;
            *next += 1;
        }
        (from, to, swapped) = (to, from, !swapped);
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

/// Some entries as they were before they were packed, in their new order.
#[derive(Default)]
struct Unpacked {
    lists: Vec<Vec<u32>>,
    values: Vec<f32>,
    order: Vec<u32>,
}

impl Unpacked {
    fn fill(&mut self, packing: &Packing, packed: &[Packed], modes: usize) {
        self.lists.resize(modes, Vec::new());
        let mut shift = 0u32;
        for &(mode, bits) in packing.modes.iter().rev() {
            let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |above| above - 1);
            let row = |&(key, _): &Packed| (key.checked_shr(shift).unwrap_or(0) & mask) as u32;
            self.lists[mode].clear();
            self.lists[mode].extend(packed.iter().map(row));
            shift += bits;
        }
        self.values.clear();
        self.values.extend(packed.iter().map(|(_, value)| value));
        if self.order.len() != packed.len() {
            self.order = (0..packed.len() as u32).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out, entry by entry, and what a stable sort of rows makes of it.
    fn both(lists: &[Vec<u32>], modes: &[usize]) -> [Vec<Vec<u32>>; 2] {
        let len = lists[0].len();
        let values: Vec<f32> = (0..len).map(|entry| entry as f32).collect();
        let refs: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        let rows = lists[modes[0]].iter().max().map_or(0, |&most| most as usize + 1);
        let mut counts = vec![0u32; rows];
        lists[modes[0]].iter().for_each(|&row| counts[row as usize] += 1);
        let mut found = Vec::new();
        let packing = Packing::of(&refs, modes).unwrap();
        let mut take = |lists: &[&[u32]], values: &[f32], order: &[u32]| {
            for &entry in order {
                let entry = entry as usize;
                let mut all: Vec<u32> = lists.iter().map(|list| list[entry]).collect();
                all.push(values[entry] as u32);
                found.push(all);
            }
            Ok(())
        };
        packing.each(&refs, &values, &counts, &mut take).unwrap();
        let mut expected: Vec<Vec<u32>> = (0..len)
            .map(|entry| lists.iter().map(|list| list[entry]).chain([entry as u32]).collect())
            .collect();
        expected.sort_by_key(|all| modes.iter().map(|&mode| all[mode]).collect::<Vec<u32>>());
        [found, expected]
    }

    #[test]
    fn entries_come_as_a_stable_sort_of_their_rows_has_them() {
        for len in [0usize, 1, 1000, 700_000] {
            // One row has most of the entries, some have none, and many entries are there twice.
            let lists: Vec<Vec<u32>> = vec![
                (0..len).map(|i| if i % 3 == 0 { (i * 7 % 5000) as u32 * 2 } else { 6 }).collect(),
                (0..len).map(|i| (i * 13 % 90) as u32).collect(),
                (0..len).map(|i| (i / 11 % 7) as u32).collect(),
            ];
            for modes in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
                let [found, expected] = both(&lists, &modes);
                assert_eq!(found, expected, "{len} {modes:?}");
            }
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_not_packed() {
        let full = vec![u32::MAX - 1, 3];
        let two = [full.clone(), full.clone()];
        let refs: Vec<&[u32]> = two.iter().map(Vec::as_slice).collect();
        assert_eq!(Packing::of(&refs, &[1, 0]).unwrap().pack(&refs, 1), 3 << 32 | 3);
        let three = [full.clone(), vec![0, 1], full];
        let refs: Vec<&[u32]> = three.iter().map(Vec::as_slice).collect();
        assert!(Packing::of(&refs, &[0, 1, 2]).is_none());
    }
}
