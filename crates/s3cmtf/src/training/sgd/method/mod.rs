//! The methods: three ways to the same steps on tensor entries.

mod fast;
mod naive;
mod opt;
mod per_entry;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use s3cmtf_kernels::{Reg, Rows, SharedRows, Step};

use crate::layout::{Chunks, Contraction};
use crate::model::Core;
use crate::params::Method;

/// The rows of one mode that a worker may touch.
pub(crate) enum ModeRows<'a> {
    /// Rows that nobody else touches meanwhile, from index `base` on.
    Owned {
        /// The rows.
        rows: &'a mut [f32],
        /// The index of the first.
        base: u32,
    },
    /// All rows, which other threads touch as well.
    Shared(SharedRows<'a>),
}

impl ModeRows<'_> {
    /// Copies a row out.
    pub(crate) fn load(&self, index: u32, row: &mut [f32]) {
        match self {
            ModeRows::Owned { rows, base } => {
                row.copy_from_slice(&rows[(index - base) as usize * row.len()..][..row.len()]);
            }
            ModeRows::Shared(rows) => {
                let start = index as usize * row.len();
                row.iter_mut().enumerate().for_each(|(j, value)| *value = rows.get(start + j));
            }
        }
    }

    /// Prefetches a row.
    pub(crate) fn prefetch(&self, index: u32, rank: usize) {
        match self {
            ModeRows::Owned { rows, base } => rows.prefetch(index.wrapping_sub(*base) as usize * rank, rank),
            ModeRows::Shared(rows) => rows.prefetch(index as usize * rank, rank),
        }
    }

    /// Copies a row in.
    pub(crate) fn store(&mut self, index: u32, row: &[f32]) {
        match self {
            ModeRows::Owned { rows, base } => {
                rows[(index - *base) as usize * row.len()..][..row.len()].copy_from_slice(row);
            }
            ModeRows::Shared(rows) => {
                let start = index as usize * row.len();
                row.iter().enumerate().for_each(|(j, &value)| rows.set(start + j, value));
            }
        }
    }
}

/// How tensor entries step.
#[derive(Clone, Copy)]
pub(crate) struct TensorStep<'a> {
    pub(crate) step: Step,
    /// For each mode and row, the regulariser's weight per entry: lambda_reg / |Omega_i|.
    pub(crate) reg: &'a [Vec<f32>],
    /// For each mode whose rows are too many to be near, each entry's (in an outer mode, each slot's) number of entries
    /// of its row, 0 for many; empty for other modes.
    pub(crate) codes: &'a [Vec<u8>],
    /// For each number of entries, lambda_reg over it.
    pub(crate) by_code: &'a [f32; 256],
    /// The same for the core: lambda_reg / |Omega|.
    pub(crate) core_reg: f32,
    /// How much longer than others the core's steps are, to make up for an average over copies that follows, or for threads
    /// that do not step it; 0 for a worker that only reads it.
    pub(crate) core_boost: f32,
    /// The same for each row of the modes that are copied; empty for other modes.
    pub(crate) boost: &'a [Vec<f32>],
    /// Whether a step that sums over a chunk is shortened where its length would overshoot.
    pub(crate) damped: bool,
    /// Stops the worker between two chunks once it is true.
    pub(crate) interrupt: &'a AtomicBool,
}

impl TensorStep<'_> {
    /// The regulariser of a mode for some entries, or slots of an outer mode.
    pub(crate) fn reg(&self, mode: usize, entries: Range<usize>) -> Reg<'_> {
        let rows = &self.reg[mode];
        match self.codes[mode].get(entries) {
            Some(codes) => Reg::Coded { rows, codes, table: self.by_code },
            None => Reg::Rows(rows),
        }
    }

    /// The boost of a row.
    pub(crate) fn row_boost(&self, mode: usize, index: u32) -> f32 {
        self.boost[mode].get(index as usize).copied().unwrap_or(1.0)
    }
}

/// Steps one tensor entry at a time, in any order.
pub(crate) trait EntryWorker: Send {
    /// Steps an entry of a chunk.
    fn step(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunk: usize,
        entry: usize,
        step: &TensorStep<'_>,
    );
}

/// Steps through tensor entries, one thread's worth of it.
pub(crate) trait Worker: Send {
    /// Steps through chunks of entries, unless it is interrupted.
    fn run(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunks: Range<usize>,
        step: &TensorStep<'_>,
    );
}

impl Method {
    /// A worker of this method.
    pub(crate) fn worker(self, contraction: &Contraction) -> Box<dyn Worker> {
        match self {
            Method::Fast => Box::new(fast::Fast::new(contraction.clone())),
            Method::Opt => Box::new(per_entry::PerEntry::new(opt::Opt::new(contraction), contraction)),
            Method::Naive => Box::new(per_entry::PerEntry::new(naive::Naive::new(contraction), contraction)),
        }
    }

    /// A worker of this method that takes entries in any order; none of the fast method, which lives from the one it chose.
    pub(crate) fn entry_worker(self, contraction: &Contraction) -> Option<Box<dyn EntryWorker>> {
        match self {
            Method::Fast => None,
            Method::Opt => Some(Box::new(per_entry::PerEntry::new(opt::Opt::new(contraction), contraction))),
            Method::Naive => {
                Some(Box::new(per_entry::PerEntry::new(naive::Naive::new(contraction), contraction)))
            }
        }
    }

    /// The core as this method's workers want it.
    pub(crate) fn pack(self, contraction: &Contraction, core: &Core) -> Vec<f32> {
        match self {
            Method::Fast => contraction.pack(core.values()),
            Method::Opt | Method::Naive => core.values().to_vec(),
        }
    }

    /// The core back from what this method's workers make of it.
    pub(crate) fn unpack(self, contraction: &Contraction, packed: &[f32], like: &Core) -> Core {
        let values = match self {
            Method::Fast => contraction.unpack(packed),
            Method::Opt | Method::Naive => packed.to_vec(),
        };
        match like {
            Core::Full { ranks, .. } => Core::full(ranks.clone(), values),
            Core::Diagonal(_) => Core::Diagonal(values),
        }
    }
}

/// One number after a step against `gradient` (the regulariser's not included).
fn stepped(old: f32, gradient: f32, reg: f32, step: Step) -> f32 {
    let shrink = step.rate * reg;
    let new = if step.l1 {
        // A soft threshold: a step that would cross zero stops there, so zeros stay zeros.
        let moved = old - step.rate * gradient;
        moved.signum() * (moved.abs() - shrink).max(0.0)
    } else {
        old - step.rate * gradient - shrink * old
    };
    // Not `max`, which would turn a NaN into a zero that nobody notices.
    if step.nonnegative && new < 0.0 { 0.0 } else { new }
}

/// Steps numbers against their gradient (the regulariser's not included).
pub(crate) fn step_all(values: &mut [f32], gradient: &[f32], reg: f32, step: Step) {
    let terms = values.iter_mut().zip(gradient);
    if step.l1 || step.nonnegative {
        terms.for_each(|(value, &gradient)| *value = stepped(*value, gradient, reg, step));
    } else {
        terms.for_each(|(value, &gradient)| *value -= step.rate * (gradient + reg * *value));
    }
}
