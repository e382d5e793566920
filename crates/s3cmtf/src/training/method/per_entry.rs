//! The paper's Algorithm 1 on tensor entries: one entry after the other, gradients first, then the step.

use std::ops::Range;

use super::{ModeRows, TensorStep, Worker, stepped};
use crate::model::{Chunks, Contraction};

/// The gradients of one entry, the regulariser's not included.
#[derive(Clone, Debug)]
pub(super) struct EntryGradient {
    /// For each mode, that of its row.
    pub(super) rows: Vec<Vec<f32>>,
    /// That of the core.
    pub(super) core: Vec<f32>,
}

/// The paper's *compute_gradient*.
pub(super) trait ComputeGradient: Send {
    /// Fills in the gradients of one entry; returns its error `x - x~`.
    fn compute_gradient(
        &mut self,
        core: &[f32],
        rows: &[Vec<f32>],
        value: f32,
        gradient: &mut EntryGradient,
    ) -> f32;
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

    /// Calls `visit` for each element with its place and its concept in each mode.
    pub(super) fn each(&self, mut visit: impl FnMut(usize, &[usize])) {
        let order = self.ranks.len();
        let mut index = vec![0usize; order];
        for place in 0..self.len() {
            visit(place, &index);
            if self.diagonal {
                index.fill(place + 1);
                continue;
            }
            for mode in (0..order).rev() {
                index[mode] += 1;
                if index[mode] < self.ranks[mode] {
                    break;
                }
                index[mode] = 0;
            }
        }
    }
}

/// Steps entry by entry with the gradients of `C`.
pub(super) struct PerEntry<C> {
    compute: C,
    rows: Vec<Vec<f32>>,
    gradient: EntryGradient,
}

impl<C> PerEntry<C> {
    pub(super) fn new(compute: C, contraction: &Contraction) -> Self {
        let rows: Vec<Vec<f32>> = contraction.ranks.iter().map(|&rank| vec![0.0; rank]).collect();
        let core = vec![0.0; Elements::new(contraction).len()];
        PerEntry { compute, gradient: EntryGradient { rows: rows.clone(), core }, rows }
    }
}

impl<C: ComputeGradient> Worker for PerEntry<C> {
    fn run(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunks: Range<usize>,
        step: &TensorStep<'_>,
    ) -> f64 {
        let mut squared_error = 0.0;
        let entries = set.starts[chunks.start] as usize..set.starts[chunks.end] as usize;
        for entry in entries {
            for (mode, row) in self.rows.iter_mut().enumerate() {
                rows[mode].load(set.indices[mode][entry], row);
            }
            let error =
                self.compute.compute_gradient(core, &self.rows, set.values[entry], &mut self.gradient);
            squared_error += f64::from(error) * f64::from(error);
            for (mode, row) in self.rows.iter_mut().enumerate() {
                let index = set.indices[mode][entry];
                let reg = step.reg[mode][index as usize];
                for (value, &gradient) in row.iter_mut().zip(&self.gradient.rows[mode]) {
                    *value = stepped(*value, gradient, reg, step.step);
                }
                rows[mode].store(index, row);
            }
            for (value, &gradient) in core.iter_mut().zip(&self.gradient.core) {
                *value = stepped(*value, gradient, step.core_reg, step.step);
            }
        }
        squared_error
    }
}
