//! Entries as chains have them: in the order of the rows of all modes but one, so that those that agree in these are next to
//! each other.

use std::ops::Range;

use rayon::prelude::*;

use crate::Error;
use crate::by_row::{ByRow, owners};
use crate::chain::zero_row;
use crate::sort::sorted;
use crate::state::Generator;
use crate::stretch::ByTarget;

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

/// The level of a chain: a node for each combination of rows that occurs in its modes and those of levels before. If entries are
/// held out, the last has one more, whose rows are zero.
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
pub(crate) trait Key: Copy + Default + Ord + Send + Sync {
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
pub(crate) const PIECE: usize = 1 << 14;

/// Some keys in ascending order, and how many nodes begin among them.
struct Piece {
    places: Range<usize>,
    /// For each mode of the chain, in how many places it changes, or one before it.
    counts: Vec<usize>,
    /// The same for all pieces before.
    before: Vec<usize>,
}

/// Keys in ascending order.
struct Keys<'a, K> {
    sorted: &'a [(K, u32)],
    /// The bits behind each mode of the chain.
    behind: &'a [u32],
}

impl<K: Key> Keys<'_, K> {
    /// The first mode of the chain that is another than in the place before, if one is.
    fn changed(&self, place: usize) -> Option<usize> {
        let Some(before) = place.checked_sub(1) else { return Some(0) };
        let (now, before) = (self.sorted[place].0, self.sorted[before].0);
        self.behind.iter().position(|&bits| before.prefix(bits) != now.prefix(bits))
    }

    fn pieces(&self) -> Vec<Piece> {
        let modes = self.behind.len();
        let piece = |first: usize| {
            let places = first * PIECE..((first + 1) * PIECE).min(self.sorted.len());
            let mut counts = vec![0; modes];
            for change in places.clone().filter_map(|place| self.changed(place)) {
                counts[change] += 1;
            }
            (1..modes).for_each(|mode| counts[mode] += counts[mode - 1]);
            Piece { places, counts, before: Vec::new() }
        };
        let mut pieces: Vec<Piece> =
            (0..self.sorted.len().div_ceil(PIECE)).into_par_iter().map(piece).collect();
        let mut before = vec![0; modes];
        for piece in &mut pieces {
            piece.before.clone_from(&before);
            before.iter_mut().zip(&piece.counts).for_each(|(sum, count)| *sum += count);
        }
        pieces
    }
}

/// Takes the first numbers of some away.
pub(crate) fn take<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, behind) = std::mem::take(rest).split_at_mut(count);
    *rest = behind;
    first
}

/// Consecutive entries of so many are in a sample together, so that it has fewer nodes, too.
const WINDOW: usize = 128;

/// The places of so many entries that are in a sample: those of one in so many windows, always the same ones.
fn sampled(entries: usize, every: usize) -> Vec<u32> {
    let takes = |first: &usize| Generator(*first as u64).bits().is_multiple_of(every as u64);
    let windows = (0..entries).step_by(WINDOW).filter(takes);
    windows.flat_map(|first| first as u32..(first + WINDOW).min(entries) as u32).collect()
}

/// How many numbers a level's tables may have before its modes are folded together with the next.
pub(crate) const MOST_NUMBERS: usize = 1 << 31;

/// Entries in the order of all modes but one, those with the fewest rows first.
pub(crate) trait Order {
    /// How many there are.
    fn len(&self) -> usize;

    /// For each entry its row in the leaf mode.
    fn leaf_rows(&self) -> Vec<u32>;

    /// Some that follow each other.
    fn range(&self, places: Range<usize>) -> Arranged;

    /// Those in some places, in ascending order.
    fn some(&self, places: &[u32]) -> Arranged;

    /// All of them.
    fn all(&self) -> Arranged {
        self.range(0..self.len())
    }

    /// The places of a sample of them: one in `every`, in windows of the order. None, if that is all of them.
    fn sample(&self, every: usize) -> Option<Vec<u32>> {
        (every > 1).then(|| sampled(self.len(), every))
    }
}

/// What entries are arranged for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) rows: &'a [usize],
    /// Those of tables: padded in the leaf mode.
    pub(crate) ranks: &'a [usize],
    /// The mode that is not in the chain.
    pub(crate) leaf: usize,
    /// No level but the last has tables of more numbers.
    pub(crate) most: usize,
}

/// Entries in the order of a chain; `held` are the numbers of those that are held out.
pub(crate) fn order<'a>((entries, held): (&Entries<'_>, &[u32]), shape: &Shape<'a>) -> Box<dyn Order + 'a> {
    let rows = shape.rows;
    let mut modes: Vec<usize> = (0..rows.len()).filter(|&mode| mode != shape.leaf).collect();
    modes.sort_by_key(|&mode| rows[mode]);
    modes.push(shape.leaf);
    let bits: Vec<u32> = modes.iter().map(|&mode| bits(rows[mode])).collect();
    if bits.iter().sum::<u32>() <= u64::BITS {
        Box::new(Ordered::<u64>::new((entries, held), *shape, modes, bits))
    } else {
        Box::new(Ordered::<u128>::new((entries, held), *shape, modes, bits))
    }
}

/// Entries by their keys.
struct Ordered<'a, K> {
    sorted: Vec<(K, u32)>,
    /// The places of those that are held out, in ascending order.
    held: Vec<u32>,
    modes: Vec<usize>,
    bits: Vec<u32>,
    shape: Shape<'a>,
}

impl<'a, K: Key> Ordered<'a, K> {
    fn new(
        (entries, held): (&Entries<'_>, &[u32]),
        shape: Shape<'a>,
        modes: Vec<usize>,
        bits: Vec<u32>,
    ) -> Self {
        let key = |entry: usize| {
            let rows = modes.iter().zip(&bits);
            let key =
                rows.fold(K::default(), |key, (&mode, &bits)| key.with(bits, entries.indices[mode][entry]));
            (key, entries.values[entry].to_bits())
        };
        // With their values, so that these need not be looked for in the order of entries.
        let sorted = sorted(entries.values.len(), bits.iter().sum(), key);
        let mut held: Vec<(K, u32)> = held.par_iter().map(|&entry| key(entry as usize)).collect();
        held.par_sort_unstable();
        // Those that are alike are as good as each other.
        let place = |(number, held_out): (usize, &(K, u32))| {
            let first = sorted.partition_point(|other| other < held_out);
            (first + number - held.partition_point(|other| other < held_out)) as u32
        };
        let held: Vec<u32> = held.par_iter().enumerate().map(place).collect();
        Ordered { sorted, held, modes, bits, shape }
    }

    fn arranged(&self, sorted: &[(K, u32)], held: Vec<u32>) -> Arranged {
        let Shape { rows, ranks, most, .. } = self.shape;
        Arranged::from_sorted(sorted, held, &self.modes, (rows, &self.bits), (ranks, most))
    }
}

impl<K: Key> Order for Ordered<'_, K> {
    fn len(&self) -> usize {
        self.sorted.len()
    }

    fn leaf_rows(&self) -> Vec<u32> {
        let own = self.bits[self.bits.len() - 1];
        self.sorted.par_iter().map(|(key, _)| key.row(0, own)).collect()
    }

    fn range(&self, places: Range<usize>) -> Arranged {
        let first = |place: usize| self.held.partition_point(|&held| (held as usize) < place);
        let held = &self.held[first(places.start)..first(places.end)];
        let held = held.iter().map(|held| held - places.start as u32).collect();
        self.arranged(&self.sorted[places], held)
    }

    fn some(&self, places: &[u32]) -> Arranged {
        let sorted: Vec<(K, u32)> = places.par_iter().map(|&place| self.sorted[place as usize]).collect();
        let is_held = |place: &u32| !self.held.is_empty() && self.held.binary_search(place).is_ok();
        let held = places.par_iter().enumerate().filter(|(_, place)| is_held(place));
        self.arranged(&sorted, held.map(|(number, _)| number as u32).collect())
    }
}

impl Arranged {
    /// Entries in ascending order, those in places `held` held out.
    fn from_sorted<K: Key>(
        sorted: &[(K, u32)],
        held: Vec<u32>,
        modes: &[usize],
        (all_rows, bits): (&[usize], &[u32]),
        (ranks, most): (&[usize], usize),
    ) -> Self {
        // The bits behind each mode.
        let behind: Vec<u32> = (1..=bits.len()).map(|mode| bits[mode..].iter().sum()).collect();
        let others = modes.len() - 1;
        let keys = Keys { sorted, behind: &behind[..others] };
        let pieces = keys.pieces();
        let count = |mode: usize| pieces.last().map_or(0, |last| last.before[mode] + last.counts[mode]);
        // A level ends behind a mode, unless its tables would be too large.
        let len = |mode: usize| modes[mode + 1..].iter().map(|&mode| ranks[mode]).product::<usize>();
        let ends: Vec<usize> = (0..others)
            .filter(|&mode| mode + 1 == others || count(mode).saturating_mul(len(mode)) <= most)
            .collect();
        let mut levels: Vec<Level> = Vec::new();
        let mut starts = vec![0; count(others - 1) + 1];
        let mut begin = 0;
        for &end in &ends {
            let (nodes, parents_count) = (count(end), if begin == 0 { 1 } else { count(begin - 1) });
            // And a node that is zero.
            let zero = usize::from(end + 1 == others && !held.is_empty());
            let width = end + 1 - begin;
            let mut rows = vec![0; (nodes + zero) * width];
            let mut parents = vec![0; nodes + zero];
            let mut firsts = vec![0; parents_count + 1];
            let is_last = end + 1 == others;
            let mut rest =
                (&mut rows[..nodes * width], &mut parents[..nodes], &mut firsts[..], &mut starts[..]);
            let mut work = Vec::with_capacity(pieces.len());
            for piece in &pieces {
                let own = piece.counts[end];
                let first =
                    if begin == 0 { usize::from(piece.places.start == 0) } else { piece.counts[begin - 1] };
                work.push((
                    piece,
                    take(&mut rest.0, own * width),
                    take(&mut rest.1, own),
                    take(&mut rest.2, first),
                    take(&mut rest.3, if is_last { own } else { 0 }),
                ));
            }
            work.into_par_iter().for_each(|(piece, rows, parents, firsts, starts)| {
                let before = piece.before[end] as u32;
                let parents_before =
                    if begin == 0 { usize::from(piece.places.start > 0) } else { piece.before[begin - 1] };
                let (mut node, mut first) = (0, 0);
                for place in piece.places.clone() {
                    let Some(change) = keys.changed(place).filter(|&change| change <= end) else { continue };
                    // A node for each place where a mode of the level changes, or one before it: the first child of a parent.
                    if change < begin || place == 0 {
                        firsts[first] = before + node as u32;
                        first += 1;
                    }
                    parents[node] = (parents_before + first - 1) as u32;
                    let own = rows[node * width..][..width].iter_mut().zip(begin..);
                    own.for_each(|(row, mode)| *row = sorted[place].0.row(behind[mode], bits[mode]));
                    if is_last {
                        starts[node] = place as u32;
                    }
                    node += 1;
                }
            });
            *firsts.last_mut().unwrap_or(&mut 0) = nodes as u32;
            let own = &modes[begin..=end];
            rows[nodes * width..]
                .iter_mut()
                .zip(own)
                .for_each(|(row, &mode)| *row = zero_row(all_rows[mode]));
            levels.push(Level { modes: own.to_vec(), parents, rows, starts: firsts });
            begin = end + 1;
        }
        starts.iter_mut().last().into_iter().for_each(|end| *end = sorted.len() as u32);
        let leaf = modes[others];
        let rows = sorted.par_iter().map(|(key, _)| key.row(0, bits[others])).collect();
        let values = sorted.par_iter().map(|&(_, value)| f32::from_bits(value)).collect();
        Arranged { leaf, levels, starts, rows, values, held }
    }

    /// How many nodes the last level has.
    pub(crate) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entries of the last level's nodes, if the leaf mode has so many rows.
    pub(crate) fn leaves(&self, rows: usize) -> ByTarget<'_> {
        let Arranged { starts, rows: ids, values, held, .. } = self;
        ByTarget { starts, ids, values, held, nothing: zero_row(rows) }
    }

    /// The entries in the order of rows of the leaf mode.
    pub(crate) fn by_row(&self, rows: usize) -> ByRow<f32> {
        let nodes = owners(&self.starts, self.rows.len());
        ByRow::new(rows, &self.rows, &self.held, |place| (nodes[place], self.values[place]))
    }
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
    fn a_sample_has_windows_of_the_entries_and_those_of_them_that_are_held_out() {
        let count = 20 * WINDOW as u32 - 5;
        let indices = [(0..count).map(|entry| entry / 700).collect(), (0..count).collect::<Vec<u32>>()];
        let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
        let values: Vec<f32> = (0..count).map(|entry| entry as f32).collect();
        let (entries, rows) = (Entries { indices: &slices, values: &values }, [4, count as usize]);
        let held: Vec<u32> = (0..count).step_by(3).collect();
        let ordered = order((&entries, &held), &Shape { rows: &rows, ranks: &[2; 2], leaf: 1, most: 0 });
        assert!(ordered.sample(1).is_none());
        let sample = ordered.some(&ordered.sample(4).unwrap());
        assert!((2 * WINDOW..=9 * WINDOW).contains(&sample.rows.len()), "{}", sample.rows.len());
        for (place, window) in sample.rows.chunks(WINDOW).enumerate() {
            assert!(window[0].is_multiple_of(WINDOW as u32) && window.is_sorted());
            for (row, place) in window.iter().zip(place * WINDOW..) {
                assert_eq!(
                    (sample.values[place], sample.held.contains(&(place as u32))),
                    (*row as f32, row % 3 == 0)
                );
                let node = sample.starts.partition_point(|&start| start as usize <= place) - 1;
                assert_eq!(sample.levels[0].rows[node], row / 700);
            }
        }
    }

    #[test]
    fn chains_lead_to_every_entry() {
        let (indices, values) = some();
        let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
        let entries = Entries { indices: &slices, values: &values };
        for leaf in 0..4 {
            for most in [0, 20, usize::MAX] {
                let shape = Shape { rows: &[3, 5, 2, 7], ranks: &[2; 4], leaf, most };
                let arranged = order((&entries, &[3, 50]), &shape).all();
                assert_eq!(arranged.levels.iter().map(|level| level.modes.len()).sum::<usize>(), 3);
                for level in &arranged.levels {
                    let children = level.starts.windows(2).zip(0u32..);
                    let parents: Vec<u32> =
                        children.flat_map(|(pair, parent)| (pair[0]..pair[1]).map(move |_| parent)).collect();
                    assert_eq!(level.parents[..parents.len()], parents);
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
    fn parts_have_the_entries_of_the_whole_between_them() {
        let (indices, values) = some();
        let slices: Vec<&[u32]> = indices.iter().map(Vec::as_slice).collect();
        let entries = Entries { indices: &slices, values: &values };
        let shape = Shape { rows: &[3, 5, 2, 7], ranks: &[2; 4], leaf: 1, most: usize::MAX };
        let ordered = order((&entries, &[3, 50, 77]), &shape);
        let whole = ordered.all();
        let parts = [ordered.range(0..33), ordered.range(33..34), ordered.range(34..100)];
        let joined: Vec<f32> = parts.iter().flat_map(|part| part.values.clone()).collect();
        assert_eq!((joined, ordered.leaf_rows()), (whole.values.clone(), whole.rows.clone()));
        let held = parts.iter().flat_map(|part| part.held.iter().map(|&place| part.values[place as usize]));
        let mut held: Vec<f32> = held.collect();
        held.sort_by(f32::total_cmp);
        assert_eq!(held, [3.0, 50.0, 77.0]);
        assert_eq!(ordered.some(&(33..100).collect::<Vec<_>>()), ordered.range(33..100));
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
        let shape = Shape { rows: &rows, ranks: &[2; 5], leaf: 4, most: usize::MAX };
        let arranged = order((&entries, &[]), &shape).all();
        assert_eq!((arranged.nodes(), arranged.rows.len()), (5, 6));
        let more = rows.map(|rows| rows + 1);
        assert!(matches!(entries.check(&more), Err(Error::Problem(_))));
    }

    #[test]
    fn no_entries_are_a_chain_without_nodes() {
        let shape = Shape { rows: &[2; 3], ranks: &[2; 3], leaf: 0, most: usize::MAX };
        let arranged = order((&Entries { indices: &[&[], &[], &[]], values: &[] }, &[]), &shape).all();
        assert_eq!((arranged.nodes(), &arranged.levels[0].starts[..]), (0, &[0, 0][..]));
    }
}
