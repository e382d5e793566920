//! Entries that are held out at first. They are on the device from the beginning, since to arrange all of them anew takes far longer
//! than the epochs until they join.

use rayon::prelude::*;

use crate::Error;
use crate::arrange::Entries;
use crate::device::{Array, Device};
use crate::sampler::Sampler;
use crate::shares::telling;

/// Rows are counted in at most so many parts beside each other, of at least so many entries.
const PARTS: usize = 16;
const PART: usize = 1 << 18;

/// What there is once entries have joined that are held out now.
pub(crate) struct Held {
    /// How many entries each row of each mode has then.
    counts: Vec<Vec<u32>>,
}

/// How many entries each row of each mode has without those that are held out, and what there is with them, if there are any.
pub(crate) fn counted(entries: &Entries<'_>, held: &[u32], rows: &[usize]) -> (Vec<Vec<u32>>, Option<Held>) {
    let part = entries.values.len().div_ceil(PARTS).max(PART);
    let all: Vec<Vec<u32>> = entries
        .indices
        .par_iter()
        .zip(rows)
        .map(|(of, &rows)| {
            let count = |of: &[u32]| {
                let mut counts = vec![0; rows];
                of.iter().for_each(|&row| counts[row as usize] += 1);
                counts
            };
            let add = |mut sums: Vec<u32>, counts: Vec<u32>| {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                sums
            };
            of.par_chunks(part).map(count).reduce(|| vec![0; rows], add)
        })
        .collect();
    if held.is_empty() {
        return (all, None);
    }
    let mut counts = all.clone();
    for (counts, of) in counts.iter_mut().zip(entries.indices) {
        held.iter().for_each(|&entry| counts[of[entry as usize] as usize] -= 1);
    }
    (counts, Some(Held { counts: all }))
}

impl<D: Device> Sampler<D> {
    /// Lets entries take part that were held out so far, see [`Setup::held`](crate::Setup::held). From then on, draws are those of a
    /// sampler of all of them.
    ///
    /// # Errors
    /// If the device fails: nothing is left then but the device.
    pub fn join(&mut self) -> Result<(), Error> {
        self.check_ranks()?;
        let Some(held) = self.held.take() else { return Ok(()) };
        self.outdate(self.lead.leaf());
        self.lost = true;
        let (device, tables) = (&self.device, &self.tables);
        self.lead.join(device, tables)?;
        self.sample.iter_mut().try_for_each(|sample| sample.join(device, tables))?;
        self.work.iter_mut().flatten().try_for_each(|work| work.join(device, tables))?;
        for (mode, counts) in held.counts.iter().enumerate() {
            self.counts[mode].put(device, counts)?;
            self.telling[mode] = Array::new(device, &telling(counts, self.row_noise))?;
        }
        self.lost = false;
        Ok(())
    }
}
