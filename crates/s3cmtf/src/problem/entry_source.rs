//! The entries of a tensor, wherever they are: in memory, or kept elsewhere and read some at a time.

use std::sync::Arc;

use super::Entries;
use super::bits::{Bits, Chosen};
use super::exact_sum::ExactSum;
use crate::Error;
use crate::nodes::Nodes;

/// Entries that are kept elsewhere than in memory.
pub trait Blocks: Send + Sync {
    /// How many entries there are.
    fn count(&self) -> usize;

    /// Reads all entries, in an order that is always the same, a block at a time: `visit` gets the rows of its entries,
    /// mode by mode, and their values.
    ///
    /// # Errors
    /// If they cannot be read, or `visit` says so.
    fn each(&self, visit: &mut Visit<'_>) -> Result<(), Error>;
}

/// What is done with a block of entries: their rows, mode by mode, and their values.
pub type Visit<'a> = dyn FnMut(&[&[u32]], &[f32]) -> Result<(), Error> + 'a;

/// Entries on the rows of a problem.
#[derive(Clone)]
pub(crate) enum EntrySource {
    Memory(Entries),
    Stored(StoredEntries),
}

/// All entries that are kept elsewhere, or a part of them.
#[derive(Clone)]
pub(crate) struct StoredEntries {
    blocks: Arc<dyn Blocks>,
    /// Of those, the part whose bit is this; of that part again, and so on.
    parts: Vec<(Arc<Bits>, bool)>,
    len: usize,
}

impl EntrySource {
    pub(crate) fn stored(blocks: Arc<dyn Blocks>) -> Self {
        let len = blocks.count();
        EntrySource::Stored(StoredEntries { blocks, parts: Vec::new(), len })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            EntrySource::Memory(entries) => entries.len(),
            EntrySource::Stored(there) => there.len,
        }
    }

    pub(crate) fn each(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
        match self {
            EntrySource::Memory(entries) => {
                let lists: Vec<&[u32]> = (0..entries.order()).map(|mode| entries.indices(mode)).collect();
                visit(&lists, entries.values())
            }
            EntrySource::Stored(there) => there.each(visit),
        }
    }

    /// The mean of the values of all nodes, 0 where there are none.
    pub(crate) fn mean(&self, nodes: &Nodes) -> Result<f64, Error> {
        let mut sum = ExactSum::default();
        self.each(&mut |_, values| {
            sum.add_all(values, |value| value);
            Ok(())
        })?;
        Ok(sum.value(nodes)? / nodes.add(self.len() as u64)?.max(1) as f64)
    }

    /// The entries that are chosen, or the others.
    pub(crate) fn part(&self, chosen: &Chosen, is_chosen: bool) -> EntrySource {
        match self {
            EntrySource::Memory(entries) => EntrySource::Memory(entries.select(&chosen.places(is_chosen))),
            EntrySource::Stored(StoredEntries { blocks, parts, len }) => {
                let parts = parts.iter().cloned().chain([(chosen.bits(), is_chosen)]).collect();
                let len = if is_chosen { chosen.count() } else { len - chosen.count() };
                EntrySource::Stored(StoredEntries { blocks: Arc::clone(blocks), parts, len })
            }
        }
    }

    /// All entries in memory.
    pub(crate) fn into_entries(self) -> Result<Entries, Error> {
        let there = match self {
            EntrySource::Memory(entries) => return Ok(entries),
            EntrySource::Stored(there) => there,
        };
        let (mut indices, mut values) = (Vec::new(), Vec::with_capacity(there.len));
        there.each(&mut |lists, more| {
            indices.resize_with(lists.len(), || Vec::with_capacity(there.len));
            indices.iter_mut().zip(lists).for_each(|(array, list)| array.extend_from_slice(list));
            values.extend_from_slice(more);
            Ok(())
        })?;
        Ok(Entries::from_rows("entries".into(), indices, values))
    }
}

impl StoredEntries {
    fn each(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
        if self.parts.is_empty() {
            return self.blocks.each(visit);
        }
        let mut firsts = vec![0; self.parts.len()];
        self.blocks.each(&mut |lists, values| {
            let mut places: Vec<usize> = (0..values.len()).collect();
            for ((bits, bit), first) in self.parts.iter().zip(&mut firsts) {
                let numbered = places.iter().zip(*first..).filter(|(_, number)| bits.get(*number) == *bit);
                let left = numbered.map(|(&place, _)| place).collect();
                *first += places.len();
                places = left;
            }
            let pick = |list: &&[u32]| places.iter().map(|&place| list[place]).collect();
            let lists: Vec<Vec<u32>> = lists.iter().map(pick).collect();
            let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
            let values: Vec<f32> = places.iter().map(|&place| values[place]).collect();
            visit(&lists, &values)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::ALONE;
    use crate::problem::HoldOut;

    /// Entries that come in blocks of a few.
    struct Few(Entries, usize);

    impl Blocks for Few {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn each(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
            for first in (0..self.0.len()).step_by(self.1) {
                let range = first..(first + self.1).min(self.0.len());
                let lists: Vec<&[u32]> =
                    (0..self.0.order()).map(|mode| &self.0.indices(mode)[range.clone()]).collect();
                visit(&lists, &self.0.values()[range.clone()])?;
            }
            Ok(())
        }
    }

    #[test]
    fn entries_are_split_alike_wherever_they_are() {
        let ids = |step: u32| (0..1000).map(|place| place * step % 37).collect::<Vec<u32>>();
        let values = (0..1000).map(|value| value as f32).collect();
        let entries = Entries::from_rows("entries".into(), vec![ids(5), ids(11)], values);
        for how in [
            HoldOut::Random(0.13),
            HoldOut::Leave { mode: 1, count: 3 },
            HoldOut::Last { mode: 0, share: 0.2 },
        ] {
            let (kept, held) = EntrySource::Memory(entries.clone()).split(how, 5).unwrap();
            let (kept, held) = (kept.into_entries().unwrap(), held.into_entries().unwrap());
            assert_eq!(kept.len() + held.len(), 1000);
            assert!(held.len() > 50 && held.len() < 300, "{how:?}: {}", held.len());
            for few in [1, 64, 2000] {
                let there = EntrySource::stored(Arc::new(Few(entries.clone(), few)));
                assert_eq!(there.mean(&ALONE).unwrap(), entries.mean());
                assert_eq!(there.clone().into_entries().unwrap(), entries);
                let parts = there.split(how, 5).unwrap();
                assert_eq!((parts.0.len(), parts.1.len()), (kept.len(), held.len()));
                assert_eq!(parts.1.mean(&ALONE).unwrap(), held.mean());
                // A part has parts, too.
                let again = |part: EntrySource| {
                    let (kept, held) = part.split(HoldOut::Random(0.4), 7).unwrap();
                    (kept.into_entries().unwrap(), held.into_entries().unwrap())
                };
                assert_eq!(again(parts.0.clone()), again(EntrySource::Memory(kept.clone())));
                assert_eq!(again(parts.1.clone()), again(EntrySource::Memory(held.clone())));
                assert_eq!(parts.0.into_entries().unwrap(), kept);
                assert_eq!(parts.1.into_entries().unwrap(), held);
            }
        }
    }
}
