//! Entries in chunks, as the kernels go through them.

use std::ops::{Add, Range};

use rayon::prelude::*;
use s3cmtf_kernels::{CHUNK, prefetch};

use super::contraction::{Contraction, Position};

/// Entries cut into chunks of at most [`CHUNK`]. The entries of a chunk agree in all outer modes, or it is *mixed*: its
/// entries need not agree in anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    /// For each inner mode the row of each entry.
    pub(crate) inner: [Vec<u32>; 2],
    pub(crate) values: Vec<f32>,
    /// For each outer mode the row of each chunk, and in mixed chunks of each entry.
    pub(crate) outer: Vec<Vec<u32>>,
    /// Where each chunk's entries start, and the end of the last.
    pub(crate) starts: Vec<u32>,
    /// Where each chunk's outer rows start, and the end of the last.
    pub(crate) slots: Vec<u32>,
    /// Where each task's chunks start, and the end of the last.
    pub(crate) tasks: Vec<u32>,
    /// The place that each entry had before; empty if nobody asked for it.
    pub(crate) places: Vec<u32>,
}

impl Chunks {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn chunks(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The entries of a chunk.
    pub(crate) fn entries(&self, chunk: usize) -> Range<usize> {
        self.starts[chunk] as usize..self.starts[chunk + 1] as usize
    }

    /// The places of a chunk's rows in the lists of outer rows.
    pub(crate) fn slots(&self, chunk: usize) -> Range<usize> {
        self.slots[chunk] as usize..self.slots[chunk + 1] as usize
    }

    /// Whether each entry of a chunk has outer rows of its own.
    pub(crate) fn is_mixed(&self, chunk: usize) -> bool {
        self.slots(chunk).len() == self.entries(chunk).len()
    }

    /// The chunks of a task.
    pub(crate) fn task(&self, task: usize) -> Range<usize> {
        self.tasks[task] as usize..self.tasks[task + 1] as usize
    }

    /// The row of an entry of a chunk in one mode.
    pub(crate) fn row(&self, part: Position, chunk: usize, entry: usize) -> u32 {
        match part {
            Position::Inner(which) => self.inner[which][entry],
            Position::Outer(which) => {
                let offset = if self.is_mixed(chunk) { entry - self.starts[chunk] as usize } else { 0 };
                self.outer[which][self.slots[chunk] as usize + offset]
            }
        }
    }

    /// Asks for the inner rows of the first entries from `start` on; the kernels look ahead only within a chunk.
    fn bring_near(&self, contraction: &Contraction, factors: &[&[f32]], start: usize) {
        const AHEAD: usize = 8;
        for (indices, &mode) in self.inner.iter().zip(&contraction.inner) {
            let rank = contraction.ranks[mode];
            for &row in &indices[start..indices.len().min(start + AHEAD)] {
                prefetch(factors[mode], row as usize * rank);
                prefetch(factors[mode], (row as usize + 1) * rank - 1);
            }
        }
    }

    /// Predicts every entry; `factors` are whole factors, `visit` gets the entries of each chunk and their predictions,
    /// on any thread, and its results are added up in the order of the entries.
    pub(crate) fn sum<S: Send + Default + Add<Output = S>>(
        &self,
        contraction: &Contraction,
        core: &[f32],
        factors: &[&[f32]],
        visit: impl Fn(Range<usize>, &[f32]) -> S + Sync,
    ) -> S {
        const PIECE: usize = 256;
        let pieces = self.chunks().div_ceil(PIECE);
        let sums: Vec<S> = (0..pieces)
            .into_par_iter()
            .map_init(
                || contraction.scratch(),
                |scratch, piece| {
                    let mut predictions = [0.0f32; CHUNK];
                    let mut sum = S::default();
                    for chunk in piece * PIECE..((piece + 1) * PIECE).min(self.chunks()) {
                        let entries = self.entries(chunk);
                        let predictions = &mut predictions[..entries.len()];
                        self.bring_near(contraction, factors, entries.end);
                        contraction.predict(scratch, core, factors, self, chunk, predictions);
                        sum = sum + visit(entries, predictions);
                    }
                    sum
                },
            )
            .collect();
        sums.into_iter().fold(S::default(), |sum, next| sum + next)
    }
}
