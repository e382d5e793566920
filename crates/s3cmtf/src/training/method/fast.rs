//! The default method: entries that share their outer rows share the contraction of the core.

use std::ops::Range;
use std::sync::atomic::Ordering;

use s3cmtf_kernels::{Rows, Side, Step, Sums, prefetch};

use super::{ModeRows, TensorStep, Worker, step_all};
use crate::model::{Chunks, Contraction, Scratch, zeros_apart};
use crate::params::{CoreKind, MAX_RANK};

/// Rows are brought near this many entries before they are needed.
const AHEAD: usize = 12;

/// Steps chunk by chunk: inner rows with every entry, outer rows and core once per chunk.
pub(super) struct Fast {
    contraction: Contraction,
    scratch: Scratch,
    /// For each combination of outer concepts, the inner product of its core slice with the chunk's `M`.
    h: Vec<f32>,
    /// For a diagonal core: the contracted diagonal, and the chunk's `M`.
    d: Vec<f32>,
    m: Vec<f32>,
    /// An outer row's gradient, and what it becomes.
    gradient: Vec<f32>,
    new: Vec<f32>,
}

impl Fast {
    pub(super) fn new(contraction: Contraction) -> Self {
        let diagonal = match contraction.kind {
            CoreKind::Full => 0,
            CoreKind::Diagonal => contraction.kernels.diagonal_len(),
        };
        Fast {
            scratch: contraction.scratch(),
            h: zeros_apart(contraction.weights),
            d: zeros_apart(diagonal),
            m: zeros_apart(diagonal),
            gradient: zeros_apart(MAX_RANK),
            new: zeros_apart(MAX_RANK),
            contraction,
        }
    }

    /// The step on the inner rows of entries that share their outer rows; leaves `M` in the buffers, in `m` for a
    /// diagonal core, or `h` for an entry alone.
    fn inner<R: Rows>(
        &mut self,
        core: &[f32],
        p: &mut Side<'_, R>,
        q: &mut Side<'_, R>,
        values: &[f32],
        step: Step,
    ) -> Sums {
        let kernels = &self.contraction.kernels;
        let Scratch { weights, buffers, .. } = &mut self.scratch;
        match self.contraction.kind {
            CoreKind::Full if values.len() == 1 && self.contraction.has_lone() => {
                kernels.lone(core, weights, p, q, values[0], step, buffers, &mut self.h)
            }
            CoreKind::Full => {
                kernels.combine(core, weights, buffers);
                kernels.bilinear(p, q, values, step, buffers)
            }
            CoreKind::Diagonal => {
                let terms = self.d.iter_mut().zip(core).zip(weights);
                terms.for_each(|((d, core), weight)| *d = core * *weight);
                kernels.diagonal(p, q, values, step, &self.d, &mut self.m, buffers)
            }
        }
    }

    /// The gradient of the outer row of mode number `which` among the outer ones, after `h` has been found.
    fn outer_gradient(&mut self, which: usize, core: &[f32]) {
        let outer = &self.scratch.outer;
        let gradient = &mut self.gradient;
        gradient.clear();
        gradient.resize(outer[which].len(), 0.0);
        match self.contraction.kind {
            CoreKind::Diagonal => {
                for (j, gradient) in gradient.iter_mut().enumerate() {
                    let others = outer.iter().enumerate().filter(|(other, _)| *other != which);
                    *gradient = -others.fold(self.m[j] * core[j], |product, (_, row)| product * row[j]);
                }
            }
            CoreKind::Full if outer.len() == 1 => {
                gradient.iter_mut().zip(&self.h).for_each(|(gradient, h)| *gradient = -h);
            }
            CoreKind::Full => {
                for (place, &h) in self.h.iter().enumerate() {
                    let (mut rest, mut product, mut mine) = (place, h, 0);
                    for (other, row) in outer.iter().enumerate().rev() {
                        let j = rest % row.len();
                        rest /= row.len();
                        if other == which {
                            mine = j;
                        } else {
                            product *= row[j];
                        }
                    }
                    gradient[mine] -= product;
                }
            }
        }
    }
}

/// A boosted step over `entries` gradients at once must not overshoot where plain steps one by one would not: with
/// curvature `curvature` over all of them, those would have moved by less than their sum.
fn damped(rate: f32, boost: f32, curvature: f64, entries: usize) -> f32 {
    let rate = f64::from(rate) * f64::from(boost);
    let others = curvature * (1.0 - 1.0 / (entries as f64 * f64::from(boost)));
    let damped = rate / (1.0 + rate * others);
    if damped.is_finite() { damped as f32 } else { rate as f32 }
}

impl Worker for Fast {
    fn run(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunks: Range<usize>,
        step: &TensorStep<'_>,
    ) {
        let end = set.starts[chunks.end] as usize;
        let mut near = set.starts[chunks.start] as usize;
        for chunk in chunks {
            if step.interrupt.load(Ordering::Relaxed) {
                return;
            }
            let entries = set.entries(chunk);
            // The kernel looks ahead within a chunk; here the first rows of the chunks to come are brought near.
            near = near.max(entries.end);
            while near < (entries.end + AHEAD).min(end) {
                for (mode, rows) in rows.iter().enumerate() {
                    let index = set.indices[mode][near];
                    rows.prefetch(index, self.contraction.ranks[mode]);
                    prefetch(&step.reg[mode], index as usize);
                }
                near += 1;
            }
            self.step(core, rows, set, entries, step);
        }
    }
}

impl Fast {
    /// Steps entries that share their outer rows.
    fn step(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        entries: Range<usize>,
        step: &TensorStep<'_>,
    ) {
        for (row, &mode) in self.scratch.outer.iter_mut().zip(&self.contraction.outer) {
            rows[mode].load(set.indices[mode][entries.start], row);
        }
        self.contraction.weigh(&self.scratch.outer, &mut self.scratch.weights);
        let inner = self.contraction.inner;
        let ranks = inner.map(|mode| self.contraction.ranks[mode]);
        let indices = inner.map(|mode| &set.indices[mode][entries.clone()]);
        let reg = inner.map(|mode| &step.reg[mode][..]);
        let values = &set.values[entries.clone()];
        let [p, q] = rows.get_disjoint_mut(inner).unwrap_or_else(|_| unreachable!("two different modes"));
        macro_rules! side {
            ($n:expr, $rows:expr, $base:expr) => {
                Side { rows: $rows, rank: ranks[$n], indices: indices[$n], base: $base, reg: reg[$n] }
            };
        }
        let sums = match (p, q) {
            (ModeRows::Owned { rows: p, base: base_p }, ModeRows::Owned { rows: q, base: base_q }) => {
                let (mut p, mut q) = (side!(0, &mut **p, *base_p), side!(1, &mut **q, *base_q));
                self.inner(core, &mut p, &mut q, values, step.step)
            }
            (ModeRows::Shared(p), ModeRows::Shared(q)) => {
                let (mut p, mut q) = (side!(0, *p, 0), side!(1, *q, 0));
                self.inner(core, &mut p, &mut q, values, step.step)
            }
            _ => unreachable!("both inner modes are owned, or both are shared"),
        };
        self.shared(core, rows, set, entries, &sums, step);
    }

    /// The step on what a chunk shares: the outer rows and the core.
    fn shared(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        entries: Range<usize>,
        sums: &Sums,
        step: &TensorStep<'_>,
    ) {
        let (first, entries) = (entries.start, entries.len());
        let count = entries as f32;
        let boosted = |boost: f32, curvature: &dyn Fn() -> f64| {
            let rate = step.step.rate;
            // One plain step needs no damping, and most entries of very sparse data are alone.
            let single = entries == 1 && boost == 1.0;
            let rate =
                if step.damped && !single { damped(rate, boost, curvature(), entries) } else { rate * boost };
            Step { rate, ..step.step }
        };
        let squares =
            |values: &[f32]| values.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>();
        let core_step = boosted(step.core_boost, &|| {
            // An entry's curvature along the core is |a|^2 |b|^2 |w|^2; rows are taken as independent of each other.
            squares(&self.scratch.weights) * f64::from(sums.squares_p) * f64::from(sums.squares_q)
                / f64::from(count)
        });
        let core_reg = step.core_reg * count;
        if self.contraction.kind == CoreKind::Full {
            let Scratch { weights, buffers, .. } = &self.scratch;
            let kernels = &self.contraction.kernels;
            if entries == 1 && self.contraction.has_lone() {
                kernels.spread_lone(core, weights, core_reg, core_step, buffers);
            } else {
                kernels.spread(core, weights, core_reg, core_step, buffers, &mut self.h);
            }
        }
        for which in 0..self.contraction.outer.len() {
            let mode = self.contraction.outer[which];
            let index = set.indices[mode][first];
            self.outer_gradient(which, core);
            let row = &self.scratch.outer[which];
            let row_step = boosted(step.row_boost(mode, index), &|| {
                // An entry's curvature along this row is at least x~^2 / |u|^2, and about that where entries agree.
                let length = squares(row);
                if length > 0.0 { sums.squared_prediction / length } else { 0.0 }
            });
            // The old row stays in the scratch: the gradients of the other outer modes need it.
            self.new.clear();
            self.new.extend_from_slice(row);
            step_all(&mut self.new, &self.gradient, step.reg[mode][index as usize] * count, row_step);
            rows[mode].store(index, &self.new);
        }
        if self.contraction.kind == CoreKind::Diagonal {
            let terms = self.m.iter_mut().zip(&self.scratch.weights);
            terms.for_each(|(m, weight)| *m *= -weight);
            step_all(core, &self.m, core_reg, core_step);
        }
    }
}
