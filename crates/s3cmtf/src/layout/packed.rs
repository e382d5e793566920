//! A view of entries in memory, put in order with their rows packed into one number.
//!
//! A sort of places looks up a row of each entry somewhere in memory, again for each mode. Here entries are dealt into
//! buckets by the first bits of a number that has all their rows, and each bucket is sorted and made into runs by one thread
//! while it is in the fast memory.

use std::ops::Range;

use s3cmtf_kernels::zeros;

use super::cut::Cut;
use super::grouping::take_first;
use super::view::{Arrays, Plan, RUN, Store, Values, View};
use crate::parallel;
use crate::problem::Packing;

/// Entries of a bucket, as far as its bits allow.
const BUCKET: usize = 1 << 14;
/// Entries whose rows are packed at a time.
const SOME: usize = 1 << 10;
/// At most so many first bits say which bucket an entry is in.
const FIRST: u32 = 16;

/// The view of a plan; nothing if the rows of an entry do not fit into a number.
pub(crate) fn arrange(lists: &[&[u32]], values: &[f32], plan: &Plan<'_>) -> Option<View> {
    let packing = Packing::new(plan.largest, &plan.order())?;
    let buckets = Buckets::new(&packing, lists, values.len());
    let mut keys = zeros(values.len());
    let (values, runs) = match plan.distinct {
        Some(distinct) => {
            let mut codes = zeros(values.len());
            let runs = buckets.sort(&mut keys, &mut codes, |entry| distinct.place(values[entry]));
            let table = distinct.values().iter().map(|&value| plan.centred(value)).collect();
            (Values::Coded(codes, table), runs)
        }
        None => {
            let mut own = zeros(values.len());
            let runs = buckets.sort(&mut keys, &mut own, |entry| plan.centred(values[entry]));
            (Values::Plain(own), runs)
        }
    };
    let arrays = buckets.arrays(&keys, &runs, values);
    let runs = arrays.rows.len();
    drop(keys);
    let mut cut = Cut::new(plan.counts, &plan.share);
    for (&row, bounds) in arrays.rows.iter().zip(arrays.starts.windows(2)) {
        cut.add(row, (bounds[1] - bounds[0]) as usize);
    }
    let (pieces, strips) = cut.finish();
    Some(View::from_parts(plan, runs, pieces, strips, Store::Memory(arrays)))
}

/// Where runs begin among numbers in order, in which the partner has so many last bits.
fn begins(keys: &[u64], partner_bits: u32) -> impl Iterator<Item = usize> {
    let mut last = None;
    keys.iter().enumerate().filter_map(move |(place, &key)| {
        let group = key >> partner_bits;
        match last {
            Some((same, start)) if same == group && place - start < RUN => None,
            _ => {
                last = Some((group, place));
                Some(place)
            }
        }
    })
}

/// Entries dealt into buckets, of which each comes wholly before the next.
struct Buckets<'a> {
    packing: &'a Packing,
    lists: &'a [&'a [u32]],
    /// The bucket of each of the first bits of a number, which are those above this.
    of_first: Vec<u32>,
    above: u32,
    /// How many entries each bucket has.
    sizes: Vec<usize>,
    /// So many entries are dealt by one thread: how many of each bucket those are.
    own: usize,
    dealt: Vec<Vec<u32>>,
}

impl<'a> Buckets<'a> {
    fn new(packing: &'a Packing, lists: &'a [&'a [u32]], len: usize) -> Self {
        // No run should be in two buckets.
        let above = packing.bits().saturating_sub(FIRST).max(packing.last_bits());
        let own = len.div_ceil(rayon::current_num_threads()).max(BUCKET);
        let firsts = 1usize << (packing.bits() - above);
        let count = |number: usize| {
            let (mut counts, mut keys) = (vec![0u32; firsts], Vec::new());
            for some in some_of(number * own..((number + 1) * own).min(len)) {
                packing.pack(lists, some, &mut keys);
                keys.iter().for_each(|key| counts[(key >> above) as usize] += 1);
            }
            counts
        };
        let counts = parallel::map(len.div_ceil(own), count);
        let (mut of_first, mut sizes) = (Vec::with_capacity(firsts), vec![0usize]);
        for first in 0..firsts {
            let more = counts.iter().map(|counts| counts[first] as usize).sum::<usize>();
            let last = sizes.len() - 1;
            if sizes[last] > 0 && sizes[last] + more > BUCKET {
                sizes.push(0);
            }
            let last = sizes.len() - 1;
            sizes[last] += more;
            of_first.push(last as u32);
        }
        let in_buckets = |counts: Vec<u32>| {
            let mut dealt = vec![0u32; sizes.len()];
            counts.iter().zip(&of_first).for_each(|(count, &bucket)| dealt[bucket as usize] += count);
            dealt
        };
        let dealt = counts.into_iter().map(in_buckets).collect();
        Buckets { packing, lists, of_first, above, sizes, own, dealt }
    }

    /// Puts the numbers of all entries, and what each has beside it, in order, equal ones in the order that they had. Says
    /// how many runs each bucket has.
    fn sort<V: Copy + Default + Send>(
        &self,
        keys: &mut [u64],
        values: &mut [V],
        value: impl Fn(usize) -> V + Sync,
    ) -> Vec<usize> {
        let len = keys.len();
        let shares = self.shares(keys, values);
        parallel::each(shares.into_iter().enumerate(), |(number, mut share)| {
            let mut next = vec![0usize; self.sizes.len()];
            let mut packed = Vec::new();
            for some in some_of(number * self.own..((number + 1) * self.own).min(len)) {
                self.packing.pack(self.lists, some.clone(), &mut packed);
                for (&key, entry) in packed.iter().zip(some) {
                    let bucket = self.of_first[(key >> self.above) as usize] as usize;
                    let (keys, values) = &mut share[bucket];
                    keys[next[bucket]] = key;
                    values[next[bucket]] = value(entry);
                    next[bucket] += 1;
                }
            }
        });
        let buckets = self.split(keys, &self.sizes).into_iter().zip(self.split(values, &self.sizes));
        parallel::map_with(buckets, Default::default, |other, (keys, values)| {
            sort(keys, values, other);
            begins(keys, self.packing.last_bits()).count()
        })
    }

    /// For each thread the places of its own entries in each bucket: those of the first thread come first.
    fn shares<'k, V>(
        &self,
        mut keys: &'k mut [u64],
        mut values: &'k mut [V],
    ) -> Vec<Vec<(&'k mut [u64], &'k mut [V])>> {
        let mut shares: Vec<Vec<_>> = self.dealt.iter().map(|_| Vec::new()).collect();
        for bucket in 0..self.sizes.len() {
            for (share, counts) in shares.iter_mut().zip(&self.dealt) {
                let count = counts[bucket] as usize;
                share.push((take_first(&mut keys, count), take_first(&mut values, count)));
            }
        }
        shares
    }

    /// An array in parts of these sizes.
    fn split<'k, T>(&self, mut array: &'k mut [T], sizes: &[usize]) -> Vec<&'k mut [T]> {
        sizes.iter().map(|&size| take_first(&mut array, size)).collect()
    }

    /// The runs of numbers in order, of which so many are in each bucket.
    fn arrays(&self, keys: &[u64], runs: &[usize], values: Values) -> Arrays {
        let (packing, width) = (self.packing, self.lists.len() - 2);
        let total: usize = runs.iter().sum();
        let (mut rows, mut rest, mut starts) = (zeros(total), zeros(total * width), zeros(total + 1));
        starts[total] = keys.len() as u32;
        let mut partners = zeros(keys.len());
        let widths: Vec<usize> = runs.iter().map(|runs| runs * width).collect();
        let mut left = keys;
        let mut first = 0;
        let keys: Vec<(usize, &[u64])> = self
            .sizes
            .iter()
            .map(|&size| {
                let (own, after) = left.split_at(size);
                left = after;
                first += size;
                (first - size, own)
            })
            .collect();
        let of_runs = self.split(&mut rows, runs).into_iter();
        let of_runs = of_runs.zip(self.split(&mut rest, &widths)).zip(self.split(&mut starts, runs));
        let of_entries = keys.into_iter().zip(self.split(&mut partners, &self.sizes));
        parallel::each(of_runs.zip(of_entries), |(((rows, rest), starts), ((first, keys), partners))| {
            for (run, place) in begins(keys, packing.last_bits()).enumerate() {
                rows[run] = packing.index(keys[place], 0);
                starts[run] = (first + place) as u32;
                for (at, row) in rest[run * width..(run + 1) * width].iter_mut().enumerate() {
                    *row = packing.index(keys[place], at + 1);
                }
            }
            let partner = |&key: &u64| packing.index(key, width + 1);
            partners.iter_mut().zip(keys.iter().map(partner)).for_each(|(row, partner)| *row = partner);
        });
        Arrays { rows, rest, starts, partners, values }
    }
}

/// A range in parts of which the numbers stay in the fastest memory.
fn some_of(entries: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    entries.clone().step_by(SOME).map(move |first| first..(first + SOME).min(entries.end))
}

/// Sorts numbers and what they have beside them, equal ones in the order that they had, by some bits at a time from the last
/// on; `other` is memory for it.
fn sort<V: Copy + Default>(keys: &mut [u64], values: &mut [V], other: &mut [Vec<(u64, V)>; 2]) {
    const BITS: u32 = 11;
    let least = keys.iter().copied().min().unwrap_or(0);
    let most = keys.iter().map(|key| key - least).max().unwrap_or(0);
    let [from, to] = other;
    from.clear();
    from.extend(keys.iter().map(|key| key - least).zip(values.iter().copied()));
    if from.len() < 1 << BITS {
        from.sort_by_key(|(key, _)| *key);
    } else {
        to.resize(from.len(), (0, V::default()));
        for shift in (0..u64::BITS - most.leading_zeros()).step_by(BITS as usize) {
            let digit = |key: u64| (key >> shift) as usize & ((1 << BITS) - 1);
            let mut next = [0u32; 1 << BITS];
            from.iter().for_each(|(key, _)| next[digit(*key)] += 1);
            let mut sum = 0;
            for next in &mut next {
                (*next, sum) = (sum, sum + *next);
            }
            for &one in from.iter() {
                let next = &mut next[digit(one.0)];
                to[*next as usize] = one;
                *next += 1;
            }
            std::mem::swap(from, to);
        }
    }
    for ((key, value), one) in keys.iter_mut().zip(values).zip(from.iter()) {
        (*key, *value) = (one.0 + least, one.1);
    }
}

#[cfg(test)]
mod tests {
    use s3cmtf_kernels::Level;

    use super::super::arrange::tests::counts;
    use super::super::distinct::Distinct;
    use super::super::share::Share;
    use super::*;

    /// All that a view in memory has, with the values of its entries.
    fn parts(view: &View) -> (Vec<super::super::view::Piece>, Vec<usize>, [Vec<u32>; 5]) {
        let Store::Memory(Arrays { rows, rest, starts, partners, values }) = &view.store else {
            panic!("not in memory")
        };
        let values = match values {
            Values::Plain(values) => values.clone(),
            Values::Coded(codes, values) => codes.iter().map(|&code| values[code as usize]).collect(),
        };
        let values = values.into_iter().map(f32::to_bits).collect();
        let arrays = [rows.clone(), rest.clone(), starts.clone(), partners.clone(), values];
        (view.pieces.clone(), view.strips.clone(), arrays)
    }

    /// The view as it is made here, and one entry by entry.
    fn both(lists: &[Vec<u32>], values: &[f32], (mode, partner): (usize, usize)) -> [Option<View>; 2] {
        let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        let rows = lists[mode].iter().max().map_or(0, |&most| most as usize + 1);
        let counts = counts(lists[mode], if rows > 1 << 20 { 0 } else { rows + 2 });
        let largest: Vec<u32> = lists.iter().map(|list| list.iter().max().copied().unwrap_or(0)).collect();
        let (ranks, distinct) = (vec![2; lists.len()], Distinct::collect(values));
        let plan = Plan {
            mode,
            partner,
            ranks: &ranks,
            level: Level::best(),
            counts: &counts,
            mean: 1.5,
            spread: 3.0,
            largest: &largest,
            distinct: distinct.as_ref(),
            sample: &[],
            share: Share::whole(counts.len(), values.len()),
        };
        [arrange(&lists, values, &plan), View::one_by_one(&lists, values, &plan).ok()]
    }

    #[test]
    fn a_view_is_the_one_that_entries_make_one_by_one() {
        for len in [0usize, 1, 1000, 300_000] {
            // One row has most of the entries, some have none, and many entries are there twice.
            let lists: Vec<Vec<u32>> = vec![
                (0..len).map(|i| if i % 3 == 0 { (i * 7 % 5000) as u32 * 2 } else { 6 }).collect(),
                (0..len).map(|i| (i * 13 % 90) as u32).collect(),
                (0..len).map(|i| (i / 11 % 7) as u32).collect(),
            ];
            let many: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let few: Vec<f32> = (0..len).map(|i| (i * 31 % 11) as f32 / 2.0).collect();
            for pair in [(0, 1), (1, 0), (2, 0), (0, 2)] {
                for values in [&many, &few] {
                    let [own, other] = both(&lists, values, pair).map(|view| parts(&view.unwrap()));
                    assert!(own == other, "{len} {pair:?}");
                }
            }
            let [own, other] = both(&lists[..2], &few, (1, 0)).map(|view| parts(&view.unwrap()));
            assert!(own == other, "{len}");
        }
    }
}
