//! The default method: entries that share their outer rows share the contraction of the core; the others share the way
//! through it.

use std::ops::Range;
use std::sync::atomic::Ordering;

use s3cmtf_kernels::{Side, Step, prefetch};

use super::{ModeRows, TensorStep, Worker, step_all};
use crate::model::{Chunks, Contraction, Part, Scratch, zeros_apart};
use crate::params::CoreKind;

/// Runs `$body` with the inner rows of some entries, whoever they belong to.
macro_rules! with_sides {
    ($contraction:expr, $rows:expr, $set:expr, $entries:expr, $step:expr, |$p:ident, $q:ident| $body:expr) => {{
        let inner = $contraction.inner;
        let [p, q] = $rows.get_disjoint_mut(inner).unwrap_or_else(|_| unreachable!("two different modes"));
        macro_rules! side {
            ($which:expr, $side:expr, $base:expr) => {
                &mut Side {
                    rows: $side,
                    rank: $contraction.ranks[inner[$which]],
                    indices: &$set.inner[$which][$entries.clone()],
                    base: $base,
                    reg: &$step.reg[inner[$which]],
                }
            };
        }
        match (p, q) {
            (ModeRows::Owned { rows: p, base: base_p }, ModeRows::Owned { rows: q, base: base_q }) => {
                let ($p, $q) = (side!(0, &mut **p, *base_p), side!(1, &mut **q, *base_q));
                $body
            }
            (ModeRows::Shared(p), ModeRows::Shared(q)) => {
                let ($p, $q) = (side!(0, *p, 0), side!(1, *q, 0));
                $body
            }
            _ => unreachable!("both inner modes are owned, or both are shared"),
        }
    }};
}

/// Rows are brought near this many entries before they are needed.
const AHEAD: usize = 12;

/// Steps chunk by chunk: inner rows with every entry, outer rows and core once per chunk.
pub(super) struct Fast {
    contraction: Contraction,
    /// For each mode, where its rows are told.
    parts: Vec<Part>,
    scratch: Scratch,
    /// For each combination of outer concepts, the inner product of its core slice with the chunk's `M`; in a mixed
    /// chunk one such row per entry.
    h: Vec<f32>,
    /// For a diagonal core: the contracted diagonal, and the chunk's `M`.
    d: Vec<f32>,
    m: Vec<f32>,
    /// Of each entry of a mixed chunk: its prediction, and the product of its inner rows' squared lengths.
    predictions: Vec<f32>,
    squares: Vec<f32>,
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
        let most = contraction.most_mixed();
        let rank = contraction.ranks.iter().max().copied().unwrap_or(0);
        Fast {
            parts: (0..contraction.ranks.len()).map(|mode| contraction.part(mode)).collect(),
            scratch: contraction.scratch(),
            h: zeros_apart(most * contraction.weights),
            d: zeros_apart(diagonal),
            m: zeros_apart(diagonal),
            predictions: zeros_apart(most),
            squares: zeros_apart(most),
            gradient: zeros_apart(rank),
            new: zeros_apart(rank),
            contraction,
        }
    }
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
        for chunk in chunks.clone() {
            if step.interrupt.load(Ordering::Relaxed) {
                return;
            }
            if chunk + 1 < chunks.end {
                self.bring_near(rows, set, chunk + 1, step);
            }
            if self.contraction.has_mixed() && set.is_mixed(chunk) {
                self.mixed(core, rows, set, chunk, step);
            } else {
                self.shared(core, rows, set, chunk, step);
            }
        }
    }
}

impl Fast {
    /// Asks for the rows that a chunk needs first; the kernels themselves look further ahead within a chunk.
    fn bring_near(&self, rows: &[ModeRows<'_>], set: &Chunks, chunk: usize, step: &TensorStep<'_>) {
        let (entries, slots) = (set.entries(chunk), set.slots(chunk));
        for (mode, part) in self.parts.iter().enumerate() {
            let indices = match *part {
                Part::Inner(which) => {
                    &set.inner[which][entries.start..entries.end.min(entries.start + AHEAD)]
                }
                Part::Outer(which) => &set.outer[which][slots.clone()],
            };
            for &index in indices {
                rows[mode].prefetch(index, self.contraction.ranks[mode]);
                prefetch(&step.reg[mode], index as usize);
            }
        }
    }

    /// Loads a chunk's outer rows, and weighs the combinations of their concepts.
    fn load_outer(&mut self, rows: &[ModeRows<'_>], set: &Chunks, slots: Range<usize>) {
        let Scratch { outer, weights, .. } = &mut self.scratch;
        for (which, (loaded, &mode)) in outer.iter_mut().zip(&self.contraction.outer).enumerate() {
            let to = loaded.chunks_exact_mut(self.contraction.ranks[mode]);
            to.zip(&set.outer[which][slots.clone()]).for_each(|(row, &index)| rows[mode].load(index, row));
        }
        let all = self.contraction.weights;
        for (entry, weights) in weights.chunks_exact_mut(all).take(slots.len()).enumerate() {
            self.contraction.weigh(outer, entry, weights);
        }
    }

    /// Steps entries that share their outer rows.
    fn shared(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunk: usize,
        step: &TensorStep<'_>,
    ) {
        let (entries, slot) = (set.entries(chunk), set.slots(chunk).start);
        self.load_outer(rows, set, slot..slot + 1);
        let values = &set.values[entries.clone()];
        let Scratch { weights, buffers, .. } = &mut self.scratch;
        let (kernels, all) = (&self.contraction.kernels, self.contraction.weights);
        let sums = match self.contraction.kind {
            CoreKind::Full => {
                kernels.combine(core, &weights[..all], buffers);
                with_sides!(self.contraction, rows, set, entries, step, |p, q| {
                    kernels.bilinear(p, q, values, step.step, buffers)
                })
            }
            CoreKind::Diagonal => {
                let terms = self.d.iter_mut().zip(&*core).zip(&weights[..all]);
                terms.for_each(|((d, core), weight)| *d = core * weight);
                with_sides!(self.contraction, rows, set, entries, step, |p, q| {
                    kernels.diagonal(p, q, values, step.step, &self.d, &mut self.m, buffers)
                })
            }
        };
        let entries = values.len();
        let core_step = boosted(step, step.core_boost, entries, || {
            // An entry's curvature along the core is |a|^2 |b|^2 |w|^2; rows are taken as independent of each other.
            let weights = squares(&self.scratch.weights[..all]);
            weights * f64::from(sums.squares_p) * f64::from(sums.squares_q) / entries as f64
        });
        let core_reg = step.core_reg * entries as f32;
        if self.contraction.kind == CoreKind::Full {
            let Scratch { weights, buffers, .. } = &self.scratch;
            let h = &mut self.h[..all];
            self.contraction.kernels.spread(core, &weights[..all], core_reg, core_step, buffers, h);
        }
        self.step_outer(core, rows, set, (slot, 0), entries, sums.squared_prediction, step);
        if self.contraction.kind == CoreKind::Diagonal {
            let terms = self.m.iter_mut().zip(&self.scratch.weights[..all]);
            terms.for_each(|(m, weight)| *m *= -weight);
            step_all(core, &self.m, core_reg, core_step);
        }
    }

    /// Steps the entries of a mixed chunk.
    fn mixed(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunk: usize,
        step: &TensorStep<'_>,
    ) {
        let (entries, slots) = (set.entries(chunk), set.slots(chunk));
        let (count, all) = (entries.len(), self.contraction.weights);
        let fours = count.next_multiple_of(4) * all;
        self.load_outer(rows, set, slots.clone());
        let Scratch { weights, buffers, .. } = &mut self.scratch;
        weights[count * all..fours].fill(0.0);
        self.contraction.kernels.combine_mixed(core, &weights[..fours], buffers);
        let values = &set.values[entries.clone()];
        let kernels = &self.contraction.kernels;
        let (predictions, lengths) = (&mut self.predictions[..count], &mut self.squares[..count]);
        with_sides!(self.contraction, rows, set, entries, step, |p, q| {
            kernels.bilinear_mixed(p, q, values, step.step, buffers, predictions, lengths)
        });
        let core_step = boosted(step, step.core_boost, count, || {
            let lengths = self.scratch.weights.chunks_exact(all).map(squares);
            lengths.zip(&self.squares[..count]).map(|(weights, &rows)| weights * f64::from(rows)).sum()
        });
        let Scratch { weights, buffers, .. } = &self.scratch;
        self.contraction.kernels.spread_mixed(
            core,
            &weights[..fours],
            step.core_reg * count as f32,
            core_step,
            buffers,
            &mut self.h[..fours],
        );
        for (entry, slot) in slots.enumerate() {
            let prediction = f64::from(self.predictions[entry]);
            self.step_outer(core, rows, set, (slot, entry), 1, prediction * prediction, step);
        }
    }

    /// The step on outer rows that `entries` entries share: those at `slot` of the set, number `row` in the scratch.
    #[allow(clippy::too_many_arguments, reason = "all of them differ from call to call")]
    fn step_outer(
        &mut self,
        core: &[f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        (slot, row): (usize, usize),
        entries: usize,
        squared_prediction: f64,
        step: &TensorStep<'_>,
    ) {
        for which in 0..self.contraction.outer.len() {
            let mode = self.contraction.outer[which];
            let (rank, index) = (self.contraction.ranks[mode], set.outer[which][slot]);
            self.outer_gradient(which, row, core);
            let row_step = boosted(step, step.row_boost(mode, index), entries, || {
                // An entry's curvature along this row is at least x~^2 / |u|^2, and about that where entries agree.
                let length = squares(&self.scratch.outer[which][row * rank..][..rank]);
                if length > 0.0 { squared_prediction / length } else { 0.0 }
            });
            // Not the row in the scratch: another entry of a mixed chunk may have stepped it meanwhile.
            let new = &mut self.new[..rank];
            rows[mode].load(index, new);
            let reg = step.reg[mode][index as usize] * entries as f32;
            step_all(new, &self.gradient[..rank], reg, row_step);
            rows[mode].store(index, new);
        }
    }

    /// The gradient of an outer row of mode number `which` among the outer ones, after `h` has been found; `row` is its
    /// number in the scratch.
    fn outer_gradient(&mut self, which: usize, row: usize, core: &[f32]) {
        let (outer, modes, ranks) = (&self.scratch.outer, &self.contraction.outer, &self.contraction.ranks);
        let rank = |which: usize| ranks[modes[which]];
        let value = |which: usize, j: usize| outer[which][row * rank(which) + j];
        let gradient = &mut self.gradient[..rank(which)];
        let h = &self.h[row * self.contraction.weights..][..self.contraction.weights];
        match self.contraction.kind {
            CoreKind::Diagonal => {
                for (j, gradient) in gradient.iter_mut().enumerate() {
                    let others = (0..outer.len()).filter(|&other| other != which);
                    *gradient = -others.fold(self.m[j] * core[j], |product, other| product * value(other, j));
                }
            }
            CoreKind::Full if outer.len() == 1 => {
                gradient.iter_mut().zip(h).for_each(|(gradient, h)| *gradient = -h);
            }
            CoreKind::Full => {
                gradient.fill(0.0);
                for (place, &h) in h.iter().enumerate() {
                    let (mut rest, mut product, mut mine) = (place, h, 0);
                    for other in (0..outer.len()).rev() {
                        let j = rest % rank(other);
                        rest /= rank(other);
                        if other == which {
                            mine = j;
                        } else {
                            product *= value(other, j);
                        }
                    }
                    gradient[mine] -= product;
                }
            }
        }
    }
}

/// How far to step at once over `entries` entries, boosted by `boost`. `curvature` is that over all of them.
fn boosted(step: &TensorStep<'_>, boost: f32, entries: usize, curvature: impl FnOnce() -> f64) -> Step {
    let rate = step.step.rate;
    // One plain step needs no damping.
    let single = entries == 1 && boost == 1.0;
    let rate = if step.damped && !single { damped(rate, boost, curvature(), entries) } else { rate * boost };
    Step { rate, ..step.step }
}

/// A boosted step over `entries` gradients at once must not overshoot where plain steps one by one would not: with
/// curvature `curvature` over all of them, those would have moved by less than their sum.
fn damped(rate: f32, boost: f32, curvature: f64, entries: usize) -> f32 {
    let rate = f64::from(rate) * f64::from(boost);
    let others = curvature * (1.0 - 1.0 / (entries as f64 * f64::from(boost)));
    let damped = rate / (1.0 + rate * others);
    if damped.is_finite() { damped as f32 } else { rate as f32 }
}

fn squares(values: &[f32]) -> f64 {
    f64::from(values.iter().map(|value| value * value).sum::<f32>())
}
