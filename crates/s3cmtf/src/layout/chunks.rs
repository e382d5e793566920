//! Entries in chunks, as the kernels go through them.

use std::ops::Range;

/// A mode among the inner or among the outer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Its number among the inner modes.
    Inner(usize),
    /// Its number among the outer modes.
    Outer(usize),
}

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
}
