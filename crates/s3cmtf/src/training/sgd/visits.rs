//! What an epoch visits, and the order in which it does where every epoch has its own.

use std::sync::Mutex;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cells::Cells;
use super::method::EntryWorker;
use crate::layout::{Chunks, Contraction};
use crate::params::{Method, Shuffle};

/// What is visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Visit {
    Entry { chunk: usize, entry: usize },
    Cell { which: usize, cell: usize },
}

/// What an epoch in random order needs beside the workspace.
pub(super) struct RandomOrder {
    /// The chunk of each tensor entry.
    chunks: Vec<u32>,
    /// The number of visits up to the end of the tensor, and of each matrix.
    ends: Vec<usize>,
    /// One for each thread.
    pub(super) workers: Vec<Mutex<Box<dyn EntryWorker>>>,
    /// The visits by number, as this epoch has them.
    pub(super) order: Vec<u32>,
}

impl RandomOrder {
    /// `None` if entries are not visited so.
    ///
    /// # Panics
    /// If there are more visits than a number of 32 bits can tell.
    pub(super) fn new(
        shuffle: Shuffle,
        method: Method,
        threads: usize,
        train: &Chunks,
        cells: &[Cells],
        contraction: &Contraction,
    ) -> Option<Self> {
        if shuffle == Shuffle::Once {
            return None;
        }
        let workers: Option<Vec<_>> =
            (0..threads).map(|_| method.entry_worker(contraction).map(Mutex::new)).collect();
        let of_chunk = |chunk: usize| std::iter::repeat_n(chunk as u32, train.entries(chunk).len());
        let mut ends = vec![train.len()];
        cells.iter().for_each(|cells| ends.push(ends[ends.len() - 1] + cells.len()));
        let visits = ends[ends.len() - 1];
        assert!(u32::try_from(visits).is_ok(), "{visits} visits cannot be told apart");
        let chunks = (0..train.chunks()).flat_map(of_chunk).collect();
        Some(RandomOrder { chunks, ends, workers: workers?, order: vec![0; visits] })
    }

    /// Draws the order of an epoch, which is always the same for a seed and an epoch: a run that goes on has it too.
    pub(super) fn shuffle(&mut self, seed: u64, epoch: usize) {
        let seed =
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(400 << 32).wrapping_add(epoch as u64);
        (0..).zip(&mut self.order).for_each(|(number, visit)| *visit = number);
        self.order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    }

    pub(super) fn visit(&self, number: u32) -> Visit {
        let number = number as usize;
        match self.ends.iter().position(|&end| number < end) {
            Some(0) | None => Visit::Entry { chunk: self.chunks[number] as usize, entry: number },
            Some(which) => Visit::Cell { which: which - 1, cell: number - self.ends[which - 1] },
        }
    }
}
