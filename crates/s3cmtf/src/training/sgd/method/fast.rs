//! The default method: entries that share their outer rows share the contraction of the core; the others share the way
//! through it.

use std::ops::Range;
use std::sync::atomic::Ordering;

use s3cmtf_kernels::{Reg, Side, Step, prefetch};

use super::{ModeRows, TensorStep, Worker, step_all};
use crate::layout::{Chunks, Contraction, ContractionScratch as Scratch, Position, zeros_apart};
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
                    reg: $step.reg(inner[$which], $entries.clone()),
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
    parts: Vec<Position>,
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
    /// Of each outer row of a chunk: the sum of its entries' squared predictions, its rate and its gradient.
    squared_predictions: Vec<f64>,
    rates: Vec<f32>,
    gradients: Vec<f32>,
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
            squared_predictions: vec![0.0; most],
            rates: zeros_apart(most),
            gradients: zeros_apart(most * rank),
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
            let next = (chunk + 1 < chunks.end).then_some(chunk + 1);
            if self.contraction.has_mixed() && set.is_mixed(chunk) {
                self.mixed(core, rows, set, chunk, next, step);
            } else {
                for mode in 0..self.parts.len() {
                    self.bring_near(rows, set, next, mode, step);
                }
                self.shared(core, rows, set, chunk, step);
            }
        }
    }
}

impl Fast {
    /// Asks for the rows of a mode that the next chunk needs: all of a mixed chunk; else the first, since the kernels
    /// themselves look further ahead.
    fn bring_near(
        &self,
        rows: &[ModeRows<'_>],
        set: &Chunks,
        next: Option<usize>,
        mode: usize,
        step: &TensorStep<'_>,
    ) {
        let Some(chunk) = next else { return };
        let (entries, slots) = (set.entries(chunk), set.slots(chunk));
        let most = if set.is_mixed(chunk) { entries.len() } else { AHEAD };
        let indices = match self.parts[mode] {
            Position::Inner(which) => &set.inner[which][entries.start..entries.end.min(entries.start + most)],
            Position::Outer(which) => &set.outer[which][slots],
        };
        for &index in indices {
            rows[mode].prefetch(index, self.contraction.ranks[mode]);
            if step.codes[mode].is_empty() {
                prefetch(&step.reg[mode], index as usize);
            }
        }
    }

    /// Loads a chunk's outer rows, and weighs the combinations of their concepts.
    fn load_outer(&mut self, rows: &mut [ModeRows<'_>], set: &Chunks, slots: Range<usize>) {
        let Scratch { outer, weights, .. } = &mut self.scratch;
        let kernels = &self.contraction.kernels;
        for (which, (loaded, &mode)) in outer.iter_mut().zip(&self.contraction.outer).enumerate() {
            let (rank, indices) = (self.contraction.ranks[mode], &set.outer[which][slots.clone()]);
            let loaded = &mut loaded[..slots.len() * rank];
            match &mut rows[mode] {
                ModeRows::Owned { rows, base } => {
                    kernels.load_rows(
                        &Side { rows: &mut **rows, rank, indices, base: *base, reg: Reg::None },
                        loaded,
                    );
                }
                ModeRows::Shared(rows) => {
                    kernels.load_rows(&Side { rows: *rows, rank, indices, base: 0, reg: Reg::None }, loaded);
                }
            }
        }
        let all = self.contraction.weights;
        if self.contraction.kind == CoreKind::Full && outer.len() == 1 {
            return weights[..slots.len() * all].copy_from_slice(&outer[0][..slots.len() * all]);
        }
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
            self.contraction.kernels.core_step(core, &weights[..all], core_reg, core_step, buffers, h);
        }
        self.squared_predictions[0] = sums.squared_prediction;
        self.step_outer(core, rows, set, slot..slot + 1, entries, step);
        if self.contraction.kind == CoreKind::Diagonal {
            let terms = self.m.iter_mut().zip(&self.scratch.weights[..all]);
            terms.for_each(|(m, weight)| *m *= -weight);
            step_all(core, &self.m, core_reg, core_step);
        }
    }

    /// Steps the entries of a mixed chunk. The rows of the next one are asked for mode by mode between its steps: all at
    /// once they would wait for each other, and the steps for them.
    fn mixed(
        &mut self,
        core: &mut [f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        chunk: usize,
        next: Option<usize>,
        step: &TensorStep<'_>,
    ) {
        let (entries, slots) = (set.entries(chunk), set.slots(chunk));
        let (count, all) = (entries.len(), self.contraction.weights);
        self.load_outer(rows, set, slots.clone());
        self.bring_near(rows, set, next, self.contraction.inner[0], step);
        let Scratch { weights, buffers, .. } = &mut self.scratch;
        self.contraction.kernels.combine_mixed(core, &weights[..count * all], buffers);
        let values = &set.values[entries.clone()];
        let kernels = &self.contraction.kernels;
        let (predictions, lengths) = (&mut self.predictions[..count], &mut self.squares[..count]);
        with_sides!(self.contraction, rows, set, entries, step, |p, q| {
            kernels.bilinear_mixed(p, q, values, step.step, buffers, predictions, lengths)
        });
        self.bring_near(rows, set, next, self.contraction.inner[1], step);
        let core_step = boosted(step, step.core_boost, count, || {
            let lengths = self.scratch.weights.chunks_exact(all).map(squares);
            lengths.zip(&self.squares[..count]).map(|(weights, &rows)| weights * f64::from(rows)).sum()
        });
        let Scratch { weights, buffers, .. } = &mut self.scratch;
        self.contraction.kernels.spread_mixed(
            core,
            &weights[..count * all],
            step.core_reg * count as f32,
            core_step,
            buffers,
            &mut self.h[..count * all],
        );
        for &mode in &self.contraction.outer {
            self.bring_near(rows, set, next, mode, step);
        }
        for (squared, &prediction) in self.squared_predictions.iter_mut().zip(&self.predictions[..count]) {
            *squared = f64::from(prediction) * f64::from(prediction);
        }
        self.step_outer(core, rows, set, slots, 1, step);
    }

    /// The step on the outer rows at `slots`, each shared by `times` entries.
    fn step_outer(
        &mut self,
        core: &[f32],
        rows: &mut [ModeRows<'_>],
        set: &Chunks,
        slots: Range<usize>,
        times: usize,
        step: &TensorStep<'_>,
    ) {
        for which in 0..self.contraction.outer.len() {
            let mode = self.contraction.outer[which];
            let (rank, indices) = (self.contraction.ranks[mode], &set.outer[which][slots.clone()]);
            let outer = &self.scratch.outer[which];
            for (row, (rate, &index)) in self.rates.iter_mut().zip(indices).enumerate() {
                let boost = step.row_boost(mode, index);
                *rate = boosted(step, boost, times, || {
                    // An entry's curvature along this row is at least x~^2 / |u|^2, and about that where entries agree.
                    let length = squares(&outer[row * rank..][..rank]);
                    if length > 0.0 { self.squared_predictions[row] / length } else { 0.0 }
                })
                .rate;
            }
            self.outer_gradients(which, slots.len(), core);
            let gradients = &self.gradients[..slots.len() * rank];
            let (kernels, rates) = (&self.contraction.kernels, &self.rates[..slots.len()]);
            let reg = step.reg(mode, slots.clone());
            match &mut rows[mode] {
                ModeRows::Owned { rows, base } => {
                    let mut side = Side { rows: &mut **rows, rank, indices, base: *base, reg };
                    kernels.step_rows(&mut side, gradients, rates, times as f32, step.step);
                }
                ModeRows::Shared(rows) => {
                    let mut side = Side { rows: *rows, rank, indices, base: 0, reg };
                    kernels.step_rows(&mut side, gradients, rates, times as f32, step.step);
                }
            }
        }
    }

    /// The gradients of the first `count` outer rows in the scratch, of mode number `which` among the outer ones, after
    /// `h` has been found.
    fn outer_gradients(&mut self, which: usize, count: usize, core: &[f32]) {
        let (outer, modes, ranks) = (&self.scratch.outer, &self.contraction.outer, &self.contraction.ranks);
        let rank = |which: usize| ranks[modes[which]];
        let gradients = &mut self.gradients[..count * rank(which)];
        let all = self.contraction.weights;
        if self.contraction.kind == CoreKind::Full && outer.len() == 1 {
            return gradients.copy_from_slice(&self.h[..count * all]);
        }
        for (row, gradient) in gradients.chunks_exact_mut(rank(which)).enumerate() {
            let value = |which: usize, j: usize| outer[which][row * rank(which) + j];
            match self.contraction.kind {
                CoreKind::Diagonal => {
                    for (j, gradient) in gradient.iter_mut().enumerate() {
                        let others = (0..outer.len()).filter(|&other| other != which);
                        *gradient =
                            others.fold(self.m[j] * core[j], |product, other| product * value(other, j));
                    }
                }
                CoreKind::Full => {
                    gradient.fill(0.0);
                    for (place, &h) in self.h[row * all..][..all].iter().enumerate() {
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
                        gradient[mine] += product;
                    }
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
    // Four sums at a time, which the compiler makes a vector of.
    let mut sums = [0.0f32; 4];
    let fours = values.chunks_exact(4);
    let rest: f32 = fours.remainder().iter().map(|value| value * value).sum();
    for four in fours {
        sums.iter_mut().zip(four).for_each(|(sum, value)| *sum += value * value);
    }
    f64::from(sums.iter().sum::<f32>() + rest)
}
