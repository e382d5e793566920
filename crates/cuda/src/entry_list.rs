//! Entries on a device, in the order of their targets.

use rayon::prelude::*;

use crate::Error;
use crate::chain::THREADS;
use crate::device::{Array, Device, Module, launch};
use crate::stage::Room;

/// Entries as kernels read them, see `Entry` in device.h. Those that are held out are of a row, or a node, that is zero, and have a
/// value of zero, so that they add nothing to any sum.
pub(crate) struct EntryList<D: Device> {
    words: Array<D, u64>,
    /// The places of those that are held out, and what will be there.
    held: Option<(Array<D, u32>, Array<D, u64>)>,
}

impl<D: Device> EntryList<D> {
    /// Entries by their ids and values. Those in places `held` are held out; `nothing` is the id of what is zero.
    pub(crate) fn new(
        room: &mut Room<'_, D>,
        (ids, values): (&[u32], &[f32]),
        held: &[u32],
        nothing: u32,
    ) -> Result<Self, Error> {
        let mut words = words(ids, values);
        let later: Vec<u64> = held.iter().map(|&place| words[place as usize]).collect();
        held.iter().for_each(|&place| words[place as usize] = u64::from(nothing));
        let words = room.list(&words)?;
        let held = if held.is_empty() { None } else { Some((room.list(held)?, room.list(&later)?)) };
        Ok(EntryList { words, held })
    }

    /// Lets those take part that are held out.
    pub(crate) fn join(&mut self, device: &D) -> Result<(), Error> {
        let Some((places, words)) = self.held.take() else { return Ok(()) };
        let (count, grid) = (places.len(), [places.len().div_ceil(THREADS), 1]);
        let count = count as u32;
        launch!(device, Module::Common, "replace", grid, THREADS, 0, count, &places, &words, &self.words)
    }

    /// How many there are, with those that are held out.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// How many are held out.
    pub(crate) fn held(&self) -> usize {
        self.held.as_ref().map_or(0, |(places, _)| places.len())
    }

    pub(crate) fn words(&self) -> &Array<D, u64> {
        &self.words
    }
}

/// Ids and values as kernels read them.
pub(crate) fn words(ids: &[u32], values: &[f32]) -> Vec<u64> {
    let pairs = ids.par_iter().zip(values);
    pairs.map(|(&id, value)| u64::from(id) | u64::from(value.to_bits()) << 32).collect()
}
