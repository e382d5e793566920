//! Entries in the order of a view, a part at a time.

use std::collections::HashSet;

use super::budget::{MemoryBudget, Scratch};
use super::grouping::sort_by_row;
use super::view::Plan;
use crate::Error;
use crate::nodes::Nodes;
use crate::problem::{EntrySource, Visit, mix};

/// How many entries are looked at to choose a partner, or to guess where entries lie in an order; never many more.
const SAMPLE: usize = 1 << 16;
const MOST: usize = 1 << 20;
/// Entries of one part are written together, so many at a time at most.
const TOGETHER: usize = 1 << 14;

/// What is done with entries: their rows, mode by mode, their values, and in which order they come.
pub(crate) type Take<'a> = dyn FnMut(&[&[u32]], &[f32], &[u32]) -> Result<(), Error> + 'a;

/// Gives all entries to `take`, some at a time, in the order of a plan.
pub(crate) fn each_sorted(
    entries: &EntrySource,
    plan: &Plan<'_>,
    budget: &MemoryBudget,
    take: &mut Take<'_>,
) -> Result<(), Error> {
    let modes = plan.order();
    let mut parts = Parts::new(entries.len(), &modes, plan.sample, budget)?;
    entries.each(&mut |lists, values| parts.put(lists, values))?;
    parts.each(&mut |lists, values| take(lists, values, &order(lists, values.len(), &modes)))
}

/// The order of entries by the given modes, the first first.
pub(crate) fn order(lists: &[&[u32]], len: usize, modes: &[usize]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..len as u32).collect();
    // The last mode first: every sort keeps what the sorts before it did.
    modes.iter().rev().for_each(|&mode| sort_by_row(&mut order, lists[mode], 0));
    order
}

/// Entries dealt out into parts, of which each comes wholly before the next and fits into memory.
struct Parts<'a> {
    modes: &'a [usize],
    /// The first entry of each part but the first, by the order's modes.
    bounds: Vec<Vec<u32>>,
    /// Entries of each part that are not on the scratch yet, one behind the other: their rows and their value.
    waiting: Vec<Vec<u32>>,
    /// How many words may wait.
    most: usize,
    scratch: Box<dyn Scratch>,
    /// Where entries of each part start, and how many words those are.
    places: Vec<Vec<(u64, usize)>>,
}

impl<'a> Parts<'a> {
    fn new(
        total: usize,
        modes: &'a [usize],
        sample: &[Vec<u32>],
        budget: &MemoryBudget,
    ) -> Result<Self, Error> {
        let width = modes.len() + 1;
        // An entry of the part that is sorted is there as it was read, as lists, and in up to five words of the sort.
        let each = 4 * (2 * width + 5);
        // Parts are not all as large as they should be: a third is left for those that are larger.
        let fit = (budget.memory() * 2 / 3 / each).max(1 << 10);
        let count = total.div_ceil(fit);
        let key = |place: usize| -> Vec<u32> { modes.iter().map(|&mode| sample[mode][place]).collect() };
        let mut keys: Vec<Vec<u32>> = (0..sample.first().map_or(0, Vec::len)).map(key).collect();
        keys.sort_unstable();
        let mut bounds: Vec<Vec<u32>> = Vec::new();
        if !keys.is_empty() {
            bounds.extend((1..count).map(|part| keys[keys.len() * part / count].clone()));
        }
        bounds.dedup();
        let parts = bounds.len() + 1;
        let most = (budget.memory() / 8 / parts).clamp(64, TOGETHER * width);
        let (waiting, places) = (vec![Vec::new(); parts], vec![Vec::new(); parts]);
        Ok(Parts { modes, bounds, waiting, most, scratch: budget.scratch()?, places })
    }

    fn put(&mut self, lists: &[&[u32]], values: &[f32]) -> Result<(), Error> {
        for (place, value) in values.iter().enumerate() {
            let key = self.modes.iter().map(|&mode| lists[mode][place]);
            let part = self.bounds.partition_point(|bound| bound.iter().copied().le(key.clone()));
            let waiting = &mut self.waiting[part];
            waiting.extend(lists.iter().map(|list| list[place]));
            waiting.push(value.to_bits());
            if waiting.len() >= self.most {
                self.write(part)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, part: usize) -> Result<(), Error> {
        let waiting = &mut self.waiting[part];
        if !waiting.is_empty() {
            let start = self.scratch.append(bytemuck::cast_slice(waiting))?;
            self.places[part].push((start, waiting.len()));
            waiting.clear();
        }
        Ok(())
    }

    /// Gives each part to `visit`, the first first.
    fn each(mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        (0..self.waiting.len()).try_for_each(|part| self.write(part))?;
        self.waiting = Vec::new();
        let width = self.modes.len() + 1;
        for places in &self.places {
            let mut words = vec![0u32; places.iter().map(|(_, len)| len).sum()];
            let mut rest = &mut words[..];
            for &(start, len) in places {
                let (own, after) = rest.split_at_mut(len);
                self.scratch.read(bytemuck::cast_slice_mut(own), start)?;
                rest = after;
            }
            let list = |mode: usize| words.iter().skip(mode).step_by(width).copied().collect();
            let lists: Vec<Vec<u32>> = (0..self.modes.len()).map(list).collect();
            let values: Vec<f32> =
                words.iter().skip(width - 1).step_by(width).map(|&bits| f32::from_bits(bits)).collect();
            drop(words);
            let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
            visit(&lists, &values)?;
        }
        Ok(())
    }
}

/// Some entries, as lists of rows by mode.
pub(crate) struct Sample {
    lists: Vec<Vec<u32>>,
    /// One in so many is taken.
    share: u64,
}

impl Sample {
    /// An empty sample of so many entries.
    pub(crate) fn new(order: usize, entries: usize) -> Self {
        Sample { lists: vec![Vec::new(); order], share: (entries / SAMPLE).max(1) as u64 }
    }

    /// Whether what has this number is of the sample.
    pub(crate) fn takes(&self, number: u64) -> bool {
        mix(number).is_multiple_of(self.share)
    }

    /// Whether each row is, of those that have so many entries.
    pub(crate) fn rows(&self, counts: &[u32]) -> Vec<bool> {
        let mut left = MOST;
        let take = |(number, &count): (u64, &u32)| {
            let is_taken = self.takes(number) && left >= count as usize;
            left -= if is_taken { count as usize } else { 0 };
            is_taken
        };
        (0..).zip(counts).map(take).collect()
    }

    /// The same entries of all nodes.
    pub(crate) fn gathered(self, nodes: &Nodes) -> Result<Self, Error> {
        let lists = self.lists.into_iter().map(|list| nodes.gather(list));
        Ok(Sample { lists: lists.collect::<Result<_, Error>>()?, ..self })
    }

    /// Takes an entry, as long as there are not too many.
    pub(crate) fn take(&mut self, lists: &[&[u32]], place: usize) {
        if self.lists[0].len() < MOST {
            self.lists.iter_mut().zip(lists).for_each(|(taken, list)| taken.push(list[place]));
        }
    }

    pub(crate) fn lists(&self) -> &[Vec<u32>] {
        &self.lists
    }
}

/// The partner with which a mode's entries, of whom these are all those of some rows, fall into fewest runs.
pub(crate) fn best_partner(sample: &[Vec<u32>], mode: usize) -> usize {
    let others = (0..sample.len()).filter(|&other| other != mode);
    let runs = others.map(|partner| {
        let agree = |entry: usize| {
            let agree = (0..sample.len()).filter(|&other| other != partner);
            agree.fold(0, |hash, other| mix(hash ^ u64::from(sample[other][entry])))
        };
        let distinct: HashSet<u64> = (0..sample[mode].len()).map(agree).collect();
        (partner, distinct.len())
    });
    runs.min_by_key(|&(_, runs)| runs).map_or(usize::from(mode == 0), |(partner, _)| partner)
}
