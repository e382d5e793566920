//! Entries as chains have them: in the order of the rows of all modes but one, so that those that agree in these are next to
//! each other.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::Error;

/// Entries of a tensor: for each mode the row of each of them, and their values.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// For each mode, a row for each entry.
    pub indices: &'a [&'a [u32]],
    /// A value for each entry.
    pub values: &'a [f32],
}

impl Entries<'_> {
    /// Checks that all rows are there.
    pub(crate) fn check(&self, rows: &[usize]) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::Problem(why));
        if self.indices.len() != rows.len() {
            return wrong(format!("entries have {} modes, the model has {}", self.indices.len(), rows.len()));
        }
        if self.values.len() > MOST_ENTRIES {
            return wrong(format!("{} entries are more than can be counted here", self.values.len()));
        }
        let bits: u32 = rows.iter().map(|&rows| bits(rows)).sum();
        if bits > u128::BITS {
            return wrong(format!(
                "modes have too many rows: one of each is {bits} bits, of which 128 are possible"
            ));
        }
        for (mode, (indices, &rows)) in self.indices.iter().zip(rows).enumerate() {
            if indices.len() != self.values.len() {
                return wrong(format!(
                    "mode {mode} has {} rows of {} entries",
                    indices.len(),
                    self.values.len()
                ));
            }
            if indices.par_iter().any(|&row| row as usize >= rows) {
                return wrong(format!("an entry names a row of mode {mode} beyond its {rows}"));
            }
        }
        Ok(())
    }
}

/// Kernels count entries in 32 bits, and look at some behind the last.
const MOST_ENTRIES: usize = u32::MAX as usize - 64;

/// How many bits tell the rows of a mode apart.
fn bits(rows: usize) -> u32 {
    usize::BITS - rows.saturating_sub(1).leading_zeros()
}

/// The level of a chain: a node for each combination of rows that occurs in its modes and those of levels before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Level {
    /// The modes that it adds.
    pub(crate) modes: Vec<usize>,
    pub(crate) parents: Vec<u32>,
    /// For each node its rows in these modes.
    pub(crate) rows: Vec<u32>,
    /// Where the children of each node of the level before start, and the end of the last.
    pub(crate) starts: Vec<u32>,
}

/// Entries in the order of a chain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arranged {
    /// The mode that is not in the chain.
    pub(crate) leaf: usize,
    pub(crate) levels: Vec<Level>,
    /// Where the entries of each node of the last level start, and the end of the last.
    pub(crate) starts: Vec<u32>,
    /// For each entry its row in the leaf mode, and its value.
    pub(crate) rows: Vec<u32>,
    pub(crate) values: Vec<f32>,
    /// The places of those that are held out.
    pub(crate) held: Vec<u32>,
}

/// The rows of an entry as one number.
trait Key: Copy + Ord + Send + Sync {
    fn with(self, bits: u32, row: u32) -> Self;
    /// Without its last bits.
    fn prefix(self, bits: u32) -> Self;
    fn row(self, shift: u32, bits: u32) -> u32;
}

macro_rules! key {
    ($kind:ty) => {
        impl Key for $kind {
            fn with(self, bits: u32, row: u32) -> Self {
                self.checked_shl(bits).unwrap_or(0) | Self::from(row)
            }

            fn prefix(self, bits: u32) -> Self {
                self.checked_shr(bits).unwrap_or(0)
            }

            fn row(self, shift: u32, bits: u32) -> u32 {
                let mask = (1 as $kind).checked_shl(bits).map_or(<$kind>::MAX, |end| end - 1);
                (self.prefix(shift) & mask) as u32
            }
        }
    };
}
key!(u64);
key!(u128);

/// Entries that one thread looks at.
const PIECE: usize = 1 << 14;

/// How many numbers a level's tables may have before its modes are folded together with the next.
pub(crate) const MOST_NUMBERS: usize = 1 << 31;

impl Arranged {
    /// Entries in the order of all modes but one, those with the fewest rows first. `ranks` are those of tables, padded in the
    /// leaf mode, of which no level but the last has more than `most` numbers. `held` are the numbers of entries that are held out.
    pub(crate) fn new(
        (entries, held): (&Entries<'_>, &[u32]),
        rows: &[usize],
        ranks: &[usize],
        leaf: usize,
        most: usize,
    ) -> Self {
        let mut modes: Vec<usize> = (0..rows.len()).filter(|&mode| mode != leaf).collect();
        modes.sort_by_key(|&mode| rows[mode]);
        modes.push(leaf);
        let bits: Vec<u32> = modes.iter().map(|&mode| bits(rows[mode])).collect();
        if bits.iter().sum::<u32>() <= u64::BITS {
            Arranged::by_key((entries, held), &modes, &bits, ranks, most, 0u64)
        } else {
            Arranged::by_key((entries, held), &modes, &bits, ranks, most, 0u128)
        }
    }

    fn by_key<K: Key>(
        (entries, held): (&Entries<'_>, &[u32]),
        modes: &[usize],
        bits: &[u32],
        ranks: &[usize],
        most: usize,
        none: K,
    ) -> Self {
        let key = |entry: usize| {
            let rows = modes.iter().zip(bits);
            let key = rows.fold(none, |key, (&mode, &bits)| key.with(bits, entries.indices[mode][entry]));
            (key, entries.values[entry].to_bits())
        };
        // With their values, so that these need not be looked for in the order of entries.
        let mut sorted: Vec<(K, u32)> = (0..entries.values.len()).into_par_iter().map(key).collect();
        sorted.par_sort_unstable();
        let mut held: Vec<(K, u32)> = held.par_iter().map(|&entry| key(entry as usize)).collect();
        held.par_sort_unstable();
        // Those that are alike are as good as each other.
        let place = |(number, held_out): (usize, &(K, u32))| {
            let first = sorted.partition_point(|other| other < held_out);
            (first + number - held.partition_point(|other| other < held_out)) as u32
        };
        let held = held.par_iter().enumerate().map(place).collect();
        // The bits behind each mode.
        let behind: Vec<u32> = (1..=bits.len()).map(|mode| bits[mode..].iter().sum()).collect();
        let others = modes.len() - 1;
        let changed = |place: usize| {
            let (now, before) = (sorted[place].0, place.checked_sub(1).map(|before| sorted[before].0));
            (0..others).find(|&mode| {
                before.is_none_or(|before| before.prefix(behind[mode]) != now.prefix(behind[mode]))
            })
        };
        // Where a mode of the chain changes, and the first that does.
        let heads: Vec<(u32, u8)> = (0..sorted.len())
            .into_par_iter()
            .filter_map(|place| changed(place).map(|change| (place as u32, change as u8)))
            .collect();
        let mut counts = vec![0usize; others];
        heads.iter().for_each(|&(_, change)| {
            counts.iter_mut().skip(change.into()).for_each(|count| *count += 1);
        });
        // A level ends behind a mode, unless its tables would be too large.
        let len = |mode: usize| modes[mode + 1..].iter().map(|&mode| ranks[mode]).product::<usize>();
        let ends: Vec<usize> = (0..others)
            .filter(|&mode| mode + 1 == others || counts[mode].saturating_mul(len(mode)) <= most)
            .collect();
        let mut levels: Vec<Level> = Vec::new();
        let mut begin = 0;
        for &end in &ends {
            // A node for each place where a mode of the level changes, or one before it: the first child of a parent.
            let nodes = heads.par_iter().filter(|(_, change)| usize::from(*change) <= end);
            let nodes: Vec<(u32, u8)> = nodes.copied().collect();
            let is_first = |(place, change): (u32, u8)| usize::from(change) < begin || place == 0;
            let firsts = nodes.par_iter().enumerate().filter(|&(_, &node)| is_first(node));
            let mut starts: Vec<u32> = firsts.map(|(number, _)| number as u32).collect();
            starts.push(nodes.len() as u32);
            let rows = nodes.par_iter().flat_map_iter(|&(place, _)| {
                let key = sorted[place as usize].0;
                (begin..=end)
                    .map(move |mode| (key, mode))
                    .map(|(key, mode)| key.row(behind[mode], bits[mode]))
            });
            let (rows, parents) = (rows.collect(), owners(&starts, nodes.len()));
            levels.push(Level { modes: modes[begin..=end].to_vec(), parents, rows, starts });
            begin = end + 1;
        }
        if entries.values.is_empty() {
            // A root without children.
            levels.iter_mut().take(1).for_each(|level| level.starts = vec![0, 0]);
        }
        let mut starts: Vec<u32> = heads.par_iter().map(|&(place, _)| place).collect();
        starts.push(sorted.len() as u32);
        let leaf = modes[others];
        let rows = sorted.par_iter().map(|(key, _)| key.row(0, bits[others])).collect();
        let values = sorted.par_iter().map(|&(_, value)| f32::from_bits(value)).collect();
        Arranged { leaf, levels, starts, rows, values, held }
    }

    /// How many nodes the last level has.
    pub(crate) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entries in the order of rows of the leaf mode.
    pub(crate) fn by_row(&self, rows: usize) -> ByRow<f32> {
        let nodes = owners(&self.starts, self.rows.len());
        ByRow::new(rows, &self.rows, &self.held, |place| (nodes[place], self.values[place]))
    }
}

/// Whose each element is, given where everybody's start and the end of the last; all have at least one.
fn owners(starts: &[u32], len: usize) -> Vec<u32> {
    let mut owners = vec![0; len];
    owners.par_chunks_mut(PIECE).enumerate().for_each(|(piece, owners)| {
        let first = (piece * PIECE) as u32;
        let mut owner = starts.partition_point(|&start| start <= first) - 1;
        for (place, to) in (first..).zip(owners) {
            if starts[owner + 1] <= place {
                owner += 1;
            }
            *to = owner as u32;
        }
    });
    owners
}

/// What belongs to the rows of a mode, in the order of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByRow<T> {
    /// Where each row's starts, and the end of the last.
    pub(crate) starts: Vec<u32>,
    pub(crate) ids: Vec<u32>,
    pub(crate) values: Vec<T>,
    /// The places of those that are held out.
    pub(crate) held: Vec<u32>,
}

impl<T: Send> ByRow<T> {
    /// Elements of these rows: those of a row stay in their order. `element` says what is in a place, and `held` which places are
    /// held out.
    pub(crate) fn new(
        rows: usize,
        of: &[u32],
        held: &[u32],
        element: impl Fn(usize) -> (u32, T) + Sync,
    ) -> Self {
        let (starts, places) = by_counting(rows, of);
        let place = |&held: &u32| {
            let row = of[held as usize] as usize;
            let first = starts[row];
            let own = &places[first as usize..starts[row + 1] as usize];
            first + own.partition_point(|place| place.load(Ordering::Relaxed) < held) as u32
        };
        let held = held.par_iter().map(place).collect();
        let (ids, values) = places.into_par_iter().map(|place| element(place.into_inner() as usize)).unzip();
        ByRow { starts, ids, values, held }
    }
}

/// Elements are counted in at most so many parts beside each other.
const PARTS: usize = 64;

/// Where the elements of each row start, and the places of all in the order of rows, and as they were within a row.
fn by_counting(rows: usize, of: &[u32]) -> (Vec<u32>, Vec<AtomicU32>) {
    // Counts of a part are as many as there are rows, and should be fewer than its elements.
    let parts = (of.len() / rows.max(PIECE)).clamp(1, PARTS);
    let len = of.len().div_ceil(parts).max(1);
    let count = |part: &[u32]| {
        let mut counts = vec![0u32; rows];
        part.iter().for_each(|&row| counts[row as usize] += 1);
        counts
    };
    let mut next: Vec<Vec<u32>> = of.par_chunks(len).map(count).collect();
    let mut starts = vec![0; rows + 1];
    for row in 0..rows {
        let mut at = starts[row];
        for next in &mut next {
            at += std::mem::replace(&mut next[row], at);
        }
        starts[row + 1] = at;
    }
    // Every place is written once, by whoever has it: in which order does not matter.
    let places: Vec<AtomicU32> = (0..of.len()).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    of.par_chunks(len).zip(&mut next).enumerate().for_each(|(part, (of, next))| {
        for (place, &row) in (part * len..).zip(of) {
            let to = &mut next[row as usize];
            places[*to as usize].store(place as u32, Ordering::Relaxed);
            *to += 1;
        }
    });
    (starts, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of four modes, some of them in the same place.
    fn some() -> (Vec<Vec<u32>>, Vec<f32>) {
        let rows = [3, 5, 2, 7];
        let mut state = 1u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let indices = rows.map(|rows| (0..100).map(|_| next(rows)).collect()).to_vec();
        (indices, (0..100).map(|value| value as f32).collect())
    }

    #[test]
    fn chains_lead_to_every_entry() {
        let (indices, values) = some();
        let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
        let entries = Entries { indices: &slices, values: &values };
        for leaf in 0..4 {
            for most in [0, 20, usize::MAX] {
                let arranged = Arranged::new((&entries, &[3, 50]), &[3, 5, 2, 7], &[2; 4], leaf, most);
                assert_eq!(arranged.levels.iter().map(|level| level.modes.len()).sum::<usize>(), 3);
                for level in &arranged.levels {
                    let children = level.starts.windows(2).zip(0u32..);
                    let parents: Vec<u32> =
                        children.flat_map(|(pair, parent)| (pair[0]..pair[1]).map(move |_| parent)).collect();
                    assert_eq!(level.parents, parents);
                }
                let mut seen = [false; 100];
                for node in 0..arranged.nodes() {
                    for place in arranged.starts[node]..arranged.starts[node + 1] {
                        let entry = arranged.values[place as usize] as usize;
                        assert!(!std::mem::replace(&mut seen[entry], true));
                        assert_eq!(arranged.rows[place as usize], indices[leaf][entry]);
                        let mut at = node;
                        for level in arranged.levels.iter().rev() {
                            for (i, &mode) in level.modes.iter().enumerate() {
                                assert_eq!(level.rows[at * level.modes.len() + i], indices[mode][entry]);
                            }
                            at = level.parents[at] as usize;
                        }
                        assert_eq!(at, 0);
                    }
                }
                assert!(seen.iter().all(|seen| *seen));
                let by_row = arranged.by_row([3, 5, 2, 7][leaf]);
                for (held, values) in [(&arranged.held, &arranged.values), (&by_row.held, &by_row.values)] {
                    let mut held: Vec<f32> = held.iter().map(|&place| values[place as usize]).collect();
                    held.sort_by(f32::total_cmp);
                    assert_eq!(held, [3.0, 50.0]);
                }
                for (row, pair) in by_row.starts.windows(2).enumerate() {
                    for place in pair[0] as usize..pair[1] as usize {
                        let entry = by_row.values[place] as usize;
                        let node = arranged.starts.partition_point(|&start| {
                            arranged.values[..start as usize].iter().all(|&value| value as usize != entry)
                        });
                        assert_eq!(
                            (indices[leaf][entry] as usize, node),
                            (row, by_row.ids[place] as usize + 1)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn elements_are_in_the_order_of_rows_however_many_parts_count_them() {
        for (len, rows) in [(0, 0), (0, 3), (7, 10), (PIECE * 3, 5), (PIECE * 70 + 11, 1000)] {
            let of: Vec<u32> = (0..len).map(|place| (place * 7919 % 1009 % rows) as u32).collect();
            let mut expected: Vec<(u32, usize)> = of.iter().copied().zip(0..).collect();
            expected.sort();
            let by_row = ByRow::new(rows, &of, &[], |place| (of[place], place));
            let found: Vec<(u32, usize)> = by_row.ids.into_iter().zip(by_row.values).collect();
            assert_eq!(found, expected);
            let start = |row: usize| expected.partition_point(|&(own, _)| (own as usize) < row) as u32;
            assert_eq!(by_row.starts, (0..=rows).map(start).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_of_128_bits_are_told_apart_and_more_are_an_error() {
        let rows = [1 << 26, 1 << 26, 1 << 25, 1 << 25, 1 << 26];
        // Entries that differ in one mode each.
        let indices: Vec<Vec<u32>> = (0..5)
            .map(|mode| (0..6).map(|entry| if entry == mode { rows[mode] as u32 - 1 } else { 0 }).collect())
            .collect();
        let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
        let entries = Entries { indices: &slices, values: &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0] };
        entries.check(&rows).unwrap();
        let arranged = Arranged::new((&entries, &[]), &rows, &[2; 5], 4, usize::MAX);
        assert_eq!((arranged.nodes(), arranged.rows.len()), (5, 6));
        let more = rows.map(|rows| rows + 1);
        assert!(matches!(entries.check(&more), Err(Error::Problem(_))));
    }

    #[test]
    fn no_entries_are_a_chain_without_nodes() {
        let arranged = Arranged::new(
            (&Entries { indices: &[&[], &[], &[]], values: &[] }, &[]),
            &[2, 2, 2],
            &[2; 3],
            0,
            usize::MAX,
        );
        assert_eq!((arranged.nodes(), &arranged.levels[0].starts[..]), (0, &[0, 0][..]));
    }
}
