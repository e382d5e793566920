//! The paper's Algorithm 1 on tensor entries: one entry after the other, gradients first, then the step.

use std::ops::Range;
use std::sync::atomic::Ordering;

use s3cmtf_kernels::Step;

use super::{EntryWorker, ModeRows, TensorStep, Worker, step_all};
use crate::layout::{Chunks, Contraction, Position};

/// The gradients of one entry, the regulariser's not included.
#[derive(Clone, Debug)]
pub(super) struct EntryGradient {
    /// For each mode, that of its row.
    pub(super) rows: Vec<Vec<f32>>,
    /// That of the core.
    pub(super) core: Vec<f32>,
    /// Whether that is asked for.
    pub(super) with_core: bool,
}

/// The paper's *compute_gradient*.
pub(super) trait ComputeGradient: Send {
    /// Fills in the gradients of one entry.
    fn compute_gradient(&mut self, core: &[f32], rows: &[Vec<f32>], value: f32, gradient: &mut EntryGradient);
}

/// The elements of a core with the concepts they connect.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    ranks: Vec<usize>,
    diagonal: bool,
}

impl Elements {
    pub(super) fn new(contraction: &Contraction) -> Self {
        let diagonal = contraction.kind == crate::params::CoreKind::Diagonal;
        Elements { ranks: contraction.ranks.clone(), diagonal }
    }

    pub(super) fn len(&self) -> usize {
        if self.diagonal { self.ranks[0] } else { self.ranks.iter().product() }
    }

    /// Calls `visit` for each run of elements that differ in the last mode's concept alone.
    pub(super) fn runs(&self, mut visit: impl FnMut(&CoreRun<'_>)) {
        let last = self.ranks.len() - 1;
        let mut index = vec![0usize; last];
        if self.diagonal {
            for j in 0..self.ranks[last] {
                index.fill(j);
                visit(&CoreRun { first: j, index: &index, last: j, len: 1 });
            }
            return;
        }
        let len = self.ranks[last];
        for first in (0..self.len()).step_by(len) {
            visit(&CoreRun { first, index: &index, last: 0, len });
            for mode in (0..last).rev() {
                index[mode] += 1;
                if index[mode] < self.ranks[mode] {
                    break;
                }
                index[mode] = 0;
            }
        }
    }
}

/// Elements that differ in the last mode's concept alone.
pub(super) struct CoreRun<'a> {
    /// The place of the first in the core.
    pub(super) first: usize,
    /// Their concept in each mode but the last.
    pub(super) index: &'a [usize],
    /// The last mode's concept of the first.
    pub(super) last: usize,
    /// How many there are.
    pub(super) len: usize,
}

impl CoreRun<'_> {
    /// Their places in the core.
    pub(super) fn places(&self) -> Range<usize> {
        self.first..self.first + self.len
    }

    /// Calls `visit` for each element with its place in the core and the last mode's concept.
    #[inline(always)]
    pub(super) fn elements(&self, mut visit: impl FnMut(usize, usize)) {
        for offset in 0..self.len {
            visit(self.first + offset, self.last + offset);
        }
    }

    /// `start` times the value of each mode's row but `except`'s at these elements; the last mode's concept is `j`.
    #[inline(always)]
    pub(super) fn product(&self, start: f32, rows: &[Vec<f32>], j: usize, except: usize) -> f32 {
        let mut product = start;
        for (mode, &j) in self.index.iter().enumerate() {
            if mode != except {
                product *= rows[mode][j];
            }
        }
        if self.index.len() != except {
            product *= rows[self.index.len()][j];
        }
        product
    }
}

/// No mode: [`CoreRun::product`] over all of them.
pub(super) const NONE: usize = usize::MAX;

/// Steps entry by entry with the gradients of `C`.
pub(super) struct PerEntry<C> {
    compute: C,
    /// For each mode, where its rows are told.
    parts: Vec<Position>,
    rows: Vec<Vec<f32>>,
    gradient: EntryGradient,
}

impl<C> PerEntry<C> {
    pub(super) fn new(compute: C, contraction: &Contraction) -> Self {
        let rows: Vec<Vec<f32>> = contraction.ranks.iter().map(|&rank| vec![0.0; rank]).collect();
        let core = vec![0.0; Elements::new(contraction).len()];
        let parts = (0..rows.len()).map(|mode| contraction.part(mode)).collect();
        let gradient = EntryGradient { rows: rows.clone(), core, with_core: true };
        PerEntry { compute, parts, gradient, rows }
    }
}

fn boosted(step: Step, boost: f32) -> Step {
    Step { rate: step.rate * boost, ..step }
}

impl<C: ComputeGradient> Worker for PerEntry<C> {
    fn run(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunks: Range<usize>,
        step: &TensorStep<'_>,
    ) {
        let entries = chunks.flat_map(|chunk| set.entries(chunk).map(move |entry| (chunk, entry)));
        for (chunk, entry) in entries {
            if step.interrupt.load(Ordering::Relaxed) {
                return;
            }
            self.step(core, rows, set, chunk, entry, step);
        }
    }
}

impl<C: ComputeGradient> EntryWorker for PerEntry<C> {
    fn step(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunk: usize,
        entry: usize,
        step: &TensorStep<'_>,
    ) {
        for (mode, row) in self.rows.iter_mut().enumerate() {
            rows[mode].load(set.row(self.parts[mode], chunk, entry), row);
        }
        self.gradient.with_core = step.core_boost > 0.0;
        self.compute.compute_gradient(core, &self.rows, set.values[entry], &mut self.gradient);
        for (mode, row) in self.rows.iter_mut().enumerate() {
            let index = set.row(self.parts[mode], chunk, entry);
            let reg = step.reg[mode][index as usize];
            step_all(row, &self.gradient.rows[mode], reg, boosted(step.step, step.row_boost(mode, index)));
            rows[mode].store(index, row);
        }
        if self.gradient.with_core {
            step_all(core, &self.gradient.core, step.core_reg, boosted(step.step, step.core_boost));
        }
    }
}
