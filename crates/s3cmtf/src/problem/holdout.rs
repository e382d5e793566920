//! Which entries are held out: a random share, some of each entity, or the latest.
//!
//! The functions say for each entry whether it is; the same seed gives the same answer everywhere.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use serde::{Deserialize, Serialize};

use super::bits::{Bits, Chosen};
use super::entry_source::EntrySource;
use super::mix::mix;
use super::{Entries, Problem};
use crate::Error;
use crate::nodes::{ALONE, Nodes};
use crate::parallel;

/// How entries are held out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HoldOut {
    /// This share of the entries, at random.
    Random(f64),
    /// Some random entries of each id of a mode, see [`leave`].
    Leave {
        /// The mode, counted from 0.
        mode: usize,
        /// How many of each id.
        count: usize,
    },
    /// The entries with the highest ids of a mode, whose ids are in order of time, see [`last`].
    Last {
        /// The mode, counted from 0.
        mode: usize,
        /// The share of the entries.
        share: f64,
    },
}

impl HoldOut {
    /// Says whether this can be done with a tensor of so many modes.
    ///
    /// # Errors
    /// If a share is not strictly between 0 and 1, a count is 0, or there is no such mode.
    pub fn check(&self, order: usize) -> Result<(), Error> {
        match *self {
            HoldOut::Random(share) => check_share(share),
            HoldOut::Leave { count: 0, .. } => Err(Error::param("leave", "1 or more", 0)),
            HoldOut::Leave { mode, .. } | HoldOut::Last { mode, .. } if mode >= order => {
                Err(Error::param("mode", format!("from 1 to {order}"), mode + 1))
            }
            HoldOut::Leave { .. } => Ok(()),
            HoldOut::Last { share, .. } => check_share(share),
        }
    }
}

impl HoldOut {
    fn name(self) -> &'static str {
        match self {
            HoldOut::Random(_) => "random",
            HoldOut::Leave { .. } => "leave",
            HoldOut::Last { .. } => "last",
        }
    }

    /// Says of each entry whether it is held out.
    fn bits(self, entries: &EntrySource, seed: u64, nodes: &Nodes) -> Result<Bits, Error> {
        let mut held = Bits::default();
        match self {
            HoldOut::Random(share) => {
                let hashes = Hashes { entries, seed, nodes };
                let most = hashes.smallest(share)?;
                hashes.each(&mut |hash, len| held.extend(len, |place| hash(place) <= most))?;
            }
            HoldOut::Leave { .. } | HoldOut::Last { .. } if nodes.is_shared() => {
                return Err(Error::param(
                    "holdout",
                    "a share of the entries, where nodes share them",
                    self.name(),
                ));
            }
            HoldOut::Leave { mode, count } => {
                let mut leave = Leave::new(count, seed);
                each_row(entries, mode, &mut |row| leave.count(row))?;
                each_row(entries, mode, &mut |row| held.push(leave.next(row)))?;
            }
            HoldOut::Last { mode, share } => {
                let mut counts: Vec<usize> = Vec::new();
                each_row(entries, mode, &mut |row| {
                    counts.resize(counts.len().max(row as usize + 1), 0);
                    counts[row as usize] += 1;
                })?;
                let times = counts.into_iter().zip(0u32..).filter(|(count, _)| *count > 0);
                let border = border(times.map(|(count, row)| (row, count)), entries.len(), share)?;
                each_row(entries, mode, &mut |row| held.push(row >= border))?;
            }
        }
        Ok(held)
    }
}

fn each_row(entries: &EntrySource, mode: usize, visit: &mut dyn FnMut(u32)) -> Result<(), Error> {
    entries.each(&mut |lists, _| {
        lists[mode].iter().for_each(|&row| visit(row));
        Ok(())
    })
}

impl EntrySource {
    /// Holds entries out: what is left, and those. Both have at least one entry.
    pub(crate) fn split(&self, how: HoldOut, seed: u64) -> Result<(EntrySource, EntrySource), Error> {
        self.split_among(how, seed, &ALONE)
    }

    /// The same of entries that nodes share: each holds out of its own those that one alone would hold out of all.
    pub(crate) fn split_among(
        &self,
        how: HoldOut,
        seed: u64,
        nodes: &Nodes,
    ) -> Result<(EntrySource, EntrySource), Error> {
        let held = self.choose(how, seed, nodes)?;
        Ok((self.part(&held, false), self.part(&held, true)))
    }

    /// Which entries are held out, of those of all nodes at least one.
    pub(crate) fn choose(&self, how: HoldOut, seed: u64, nodes: &Nodes) -> Result<Chosen, Error> {
        let chosen = Chosen::new(how.bits(self, seed, nodes)?);
        if nodes.add(chosen.count() as u64)? == 0 {
            let what = "every id has a single entry, so none can be held out";
            return Err(Error::Problem(what.into()));
        }
        Ok(chosen)
    }

    /// About this share of all nodes' entries of so many modes, in the order of their cells: the same ones in whatever order they
    /// come, and however many nodes share them.
    pub(crate) fn sample(
        &self,
        order: usize,
        share: f64,
        seed: u64,
        nodes: &Nodes,
    ) -> Result<Entries, Error> {
        // A share of 1 or more is all of them.
        let most = (share * 2f64.powi(u64::BITS as i32)) as u64;
        let (mut indices, mut sampled) = (vec![Vec::new(); order], Vec::new());
        self.each(&mut |lists, values| {
            let hash = block_hash(lists, seed);
            let places = parallel::gather(values.len(), PIECE, |places, found| {
                found.extend(places.filter(|&place| hash(place) <= most));
            });
            for (indices, list) in indices.iter_mut().zip(lists) {
                indices.extend(places.iter().map(|&place| list[place]));
            }
            sampled.extend(places.iter().map(|&place| values[place]));
            Ok(())
        })?;
        Ok(Entries::from_rows("sample".into(), indices, sampled).gathered(nodes)?.sorted())
    }
}

impl Problem {
    /// Moves entries out of the problem; both parts keep at least one entry. The entries that come back are on the
    /// problem's rows.
    ///
    /// # Errors
    /// If that cannot be done, see [`HoldOut::check`], or one of the parts would have no entry.
    pub fn hold_out_by(mut self, how: HoldOut, seed: u64) -> Result<(Problem, Entries), Error> {
        how.check(self.order())?;
        let (kept, held) = EntrySource::Memory(self.take_entries()).split(how, seed)?;
        Ok((self.with_entries(kept.into_entries()?), held.into_entries()?))
    }
}

fn check_share(share: f64) -> Result<(), Error> {
    if share > 0.0 && share < 1.0 {
        return Ok(());
    }
    Err(Error::param("holdout", "between 0 and 1, both excluded", share))
}

/// A random share of so many entries, at least one and not all.
///
/// # Errors
/// If the share is not strictly between 0 and 1, or there are fewer than two entries.
pub fn random(entries: usize, share: f64, seed: u64) -> Result<Vec<bool>, Error> {
    let mut random = Random::new(entries, share, seed)?;
    Ok((0..entries).map(|_| random.next()).collect())
}

/// For each distinct id, `count` of its entries at random; an id with fewer than one more keeps one of them.
pub fn leave<T: Copy + Eq + Hash>(ids: &[T], count: usize, seed: u64) -> Vec<bool> {
    let mut leave = Leave::new(count, seed);
    ids.iter().for_each(|&id| leave.count(id));
    ids.iter().map(|&id| leave.next(id)).collect()
}

/// The latest entries, about this share of all: entries of one time stay together, and the time at the border goes to
/// the side that brings the share nearest to what is asked for. Neither side is empty.
///
/// # Errors
/// If the share is not strictly between 0 and 1, or all entries have the same time.
pub fn last<T: Copy + Ord>(times: &[T], share: f64) -> Result<Vec<bool>, Error> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let counts = sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len()));
    let border = border(counts, times.len(), share)?;
    Ok(times.iter().map(|&time| time >= border).collect())
}

/// The first time to be held out, given how many entries each time has, in order.
fn border<T: Copy>(counts: impl Iterator<Item = (T, usize)>, entries: usize, share: f64) -> Result<T, Error> {
    check_share(share)?;
    let wanted = entries as f64 * share;
    let mut before = 0;
    let starts = counts.map(|(time, count)| {
        before += count;
        (time, ((entries - (before - count)) as f64 - wanted).abs())
    });
    // All of them cannot be held out.
    let nearest = starts.skip(1).min_by(|a, b| a.1.total_cmp(&b.1));
    let same = || "all entries have the same time, so the latest of them cannot be held out".to_owned();
    nearest.map(|(time, _)| time).ok_or_else(|| Error::Problem(same()))
}

/// A number for each entry that looks random and depends on its cell alone, wherever the entry is.
struct Hashes<'a> {
    entries: &'a EntrySource,
    seed: u64,
    nodes: &'a Nodes,
}

/// What hashes an entry of a block.
type BlockHash<'a> = dyn Fn(usize) -> u64 + Sync + 'a;

/// What hashes an entry of these rows, one of each mode.
fn block_hash(lists: &[&[u32]], seed: u64) -> impl Fn(usize) -> u64 + Sync {
    let seed = mix(seed ^ 0x686f_6c64_6f75_7421);
    move |place| lists.iter().fold(seed, |hash, list| mix(hash ^ u64::from(list[place])))
}

/// Hashes are counted by their first bits, so many of them by one thread.
const FIRST_BITS: u32 = 16;
const PIECE: usize = 1 << 16;

impl Hashes<'_> {
    /// Visits blocks of entries: what hashes an entry of a block, and how many entries the block has.
    fn each(&self, visit: &mut dyn FnMut(&BlockHash<'_>, usize)) -> Result<(), Error> {
        self.entries.each(&mut |lists, values| {
            visit(&block_hash(lists, self.seed), values.len());
            Ok(())
        })
    }

    /// The largest of the smallest hashes, which are this share of all; at least one, and not all.
    fn smallest(&self, share: f64) -> Result<u64, Error> {
        check_share(share)?;
        let first = |hash: u64| (hash >> (u64::BITS - FIRST_BITS)) as usize;
        let counts = Mutex::new(vec![0u32; 1 << FIRST_BITS]);
        self.each(&mut |hash, len| {
            parallel::each_range(len, PIECE, |places| {
                let mut own = vec![0u32; 1 << FIRST_BITS];
                places.for_each(|place| own[first(hash(place))] += 1);
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                counts.iter_mut().zip(own).for_each(|(count, own)| *count += own);
            });
        })?;
        let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let counts = self.nodes.add_counts(counts)?;
        let total: usize = counts.iter().map(|&count| count as usize).sum();
        if total < 2 {
            let what = "one entry cannot be split into a training and a held-out part";
            return Err(Error::Problem(what.into()));
        }
        let mut wanted = ((total as f64 * share).round() as usize).clamp(1, total - 1);
        let mut bucket = 0;
        while wanted > counts[bucket] as usize {
            wanted -= counts[bucket] as usize;
            bucket += 1;
        }
        let mut last = Vec::new();
        self.each(&mut |hash, len| {
            last.append(&mut parallel::gather(len, PIECE, |places, found| {
                found.extend(places.map(hash).filter(|&hash| first(hash) == bucket));
            }));
        })?;
        let mut last = self.nodes.gather(last)?;
        last.sort_unstable();
        Ok(last[wanted - 1])
    }
}

/// Chooses some of a known number of entries, one after the other: every choice of so many is equally likely.
struct Random {
    left: usize,
    wanted: usize,
    generator: Xoshiro256PlusPlus,
}

impl Random {
    fn new(entries: usize, share: f64, seed: u64) -> Result<Self, Error> {
        check_share(share)?;
        if entries < 2 {
            let what = "one entry cannot be split into a training and a held-out part";
            return Err(Error::Problem(what.into()));
        }
        let wanted = ((entries as f64 * share).round() as usize).clamp(1, entries - 1);
        // A stream of its own, so that the start of the factors does not depend on whether there is a holdout.
        let generator = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x686f_6c64_6f75_7421);
        Ok(Random { left: entries, wanted, generator })
    }

    fn next(&mut self) -> bool {
        let chosen = self.generator.random_range(0..self.left) < self.wanted;
        self.left -= 1;
        self.wanted -= usize::from(chosen);
        chosen
    }
}

/// The same within the entries of each id.
struct Leave<T> {
    /// For each id how many entries are left, and how many of them are wanted.
    ids: HashMap<T, (usize, usize)>,
    most: usize,
    generator: Xoshiro256PlusPlus,
}

impl<T: Copy + Eq + Hash> Leave<T> {
    fn new(most: usize, seed: u64) -> Self {
        let generator = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6c65_6176_6520_6b21);
        Leave { ids: HashMap::new(), most, generator }
    }

    /// Gets to know an entry of an id; all are known before the first is chosen.
    fn count(&mut self, id: T) {
        let (left, wanted) = self.ids.entry(id).or_insert((0, 0));
        *left += 1;
        *wanted = self.most.min(*left - 1);
    }

    fn next(&mut self, id: T) -> bool {
        let Some((left, wanted)) = self.ids.get_mut(&id).filter(|(left, _)| *left > 0) else { return false };
        let chosen = *wanted > 0 && self.generator.random_range(0..*left) < *wanted;
        *left -= 1;
        *wanted -= usize::from(chosen);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(held: &[bool]) -> Vec<usize> {
        (0..held.len()).filter(|&place| held[place]).collect()
    }

    #[test]
    fn the_latest_stay_together_and_the_border_is_the_nearest() {
        let times = [3, 1, 2, 3, 1, 2, 2, 2, 2, 2];
        // 2 of 10 are of time 3, 8 of times 2 and 3.
        assert_eq!(places(&last(&times, 0.2).unwrap()), [0, 3]);
        assert_eq!(places(&last(&times, 0.01).unwrap()), [0, 3]);
        assert_eq!(places(&last(&times, 0.49).unwrap()), [0, 3]);
        assert_eq!(places(&last(&times, 0.51).unwrap()), [0, 2, 3, 5, 6, 7, 8, 9]);
        assert_eq!(places(&last(&times, 0.99).unwrap()).len(), 8);
        assert!(last(&[7, 7], 0.5).unwrap_err().to_string().contains("the same time"));
        assert!(last::<u32>(&[], 0.5).is_err());
        assert!(last(&times, 1.0).unwrap_err().to_string().contains("between 0 and 1"));
    }

    #[test]
    fn each_id_gives_so_many_and_keeps_one() {
        let ids: Vec<u32> = (0..5).flat_map(|id| vec![id; id as usize]).collect();
        for seed in 0..20 {
            let held = leave(&ids, 2, seed);
            for (id, expected) in [(1, 0), (2, 1), (3, 2), (4, 2)] {
                let found = ids.iter().zip(&held).filter(|(of, held)| **of == id && **held).count();
                assert_eq!(found, expected, "id {id}, seed {seed}");
            }
        }
        assert_eq!(leave(&ids, 2, 7), leave(&ids, 2, 7));
        assert!((0..20).any(|seed| leave(&ids, 2, seed) != leave(&ids, 2, 7)));
        assert!(leave::<u32>(&[], 2, 1).is_empty());
    }

    #[test]
    fn a_problem_is_split_by_its_modes() {
        let entries =
            Entries::new(vec![vec![0, 0, 1, 1, 1], vec![4, 2, 2, 9, 9]], vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        let problem = Problem::builder(entries.unwrap()).build().unwrap();
        let total = problem.entries().len();
        let by = |how| problem.clone().hold_out_by(how, 3);
        let (rest, held) = by(HoldOut::Last { mode: 1, share: 0.3 }).unwrap();
        // The two entries at 9 are one cell.
        assert_eq!((rest.entries().len(), held.values()), (total - 1, &[4.5][..]));
        let (rest, held) = by(HoldOut::Leave { mode: 0, count: 5 }).unwrap();
        assert_eq!((rest.entries().len(), held.len()), (2, total - 2));
        let error = |how| by(how).unwrap_err().to_string();
        assert_eq!(error(HoldOut::Last { mode: 2, share: 0.1 }), "mode should be from 1 to 2, but is 3");
        assert_eq!(error(HoldOut::Leave { mode: 0, count: 0 }), "leave should be 1 or more, but is 0");
        assert!(error(HoldOut::Random(f64::NAN)).contains("between 0 and 1"));
    }

    #[test]
    fn a_random_share_depends_on_the_cells_alone() {
        let held = |places: &[u32], seed: u64| {
            let ids: Vec<u32> = places.iter().map(|place| place * 7 % 50).collect();
            let values = places.iter().map(|&place| place as f32).collect();
            let entries = Entries::new(vec![ids.clone(), ids], values).unwrap();
            let problem = Problem::builder(entries).sizes(vec![50, 50]).build().unwrap();
            let mut held = problem.hold_out(0.3, seed).unwrap().1.values().to_vec();
            held.sort_by(f32::total_cmp);
            held
        };
        let (forth, back): (Vec<u32>, Vec<u32>) = ((0..50).collect(), (0..50).rev().collect());
        assert_eq!(held(&forth, 9).len(), 15);
        assert_eq!(held(&forth, 9), held(&back, 9));
        assert_ne!(held(&forth, 9), held(&forth, 10));
        // Each entry about as often as every other.
        let mut counts = [0; 50];
        for seed in 0..400 {
            held(&forth, seed).iter().for_each(|&value| counts[value as usize] += 1);
        }
        assert!(counts.iter().all(|&count| (80..160).contains(&count)), "{counts:?}");
        assert!(random(1, 0.3, 9).is_err());
    }
}
