//! Which entries are held out: a random share, some of each entity, or the latest.
//!
//! The functions say for each entry whether it is; the same seed gives the same answer everywhere.

use std::hash::Hash;

use hashbrown::HashMap;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use serde::{Deserialize, Serialize};

use super::bits::Bits;
use super::entry_source::EntrySource;
use super::{Entries, Problem};
use crate::Error;

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
    /// Says of each entry whether it is held out.
    fn choose(self, entries: &EntrySource, seed: u64) -> Result<Bits, Error> {
        let mut held = Bits::default();
        match self {
            HoldOut::Random(share) => {
                let mut random = Random::new(entries.len(), share, seed)?;
                (0..entries.len()).for_each(|_| held.push(random.next()));
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
        let held = how.choose(self, seed)?;
        let count = held.count();
        if count == 0 {
            let what = "every id has a single entry, so none can be held out";
            return Err(Error::Problem(what.into()));
        }
        Ok(self.part_by(held, count))
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
    fn the_random_share_is_that_of_a_problem() {
        let ids: Vec<u32> = (0..50).collect();
        let entries = Entries::new(vec![ids.clone(), ids], (0..50).map(|v| v as f32).collect()).unwrap();
        let held = Problem::builder(entries).build().unwrap().hold_out(0.3, 9).unwrap().1;
        let expected: Vec<usize> = held.values().iter().map(|&value| value as usize).collect();
        assert_eq!(places(&random(50, 0.3, 9).unwrap()), expected);
        assert!(random(1, 0.3, 9).is_err());
    }
}
