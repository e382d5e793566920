//! Predictions of entries that stand in chunks.

use std::ops::{Add, Range};

use s3cmtf_kernels::{CHUNK, Reg, Side, prefetch};

use super::chunks::Chunks;
use super::contraction::{Contraction, Scratch};
use crate::parallel;
use crate::params::CoreKind;

impl Contraction {
    /// Predicts the entries of a chunk; `factors` are whole factors.
    pub(crate) fn predict(
        &self,
        scratch: &mut Scratch,
        core: &[f32],
        factors: &[&[f32]],
        set: &Chunks,
        chunk: usize,
        predictions: &mut [f32],
    ) {
        let (entries, slots) = (set.entries(chunk), set.slots(chunk));
        let Scratch { outer, weights, buffers } = scratch;
        for (which, (rows, &mode)) in outer.iter_mut().zip(&self.outer).enumerate() {
            let rank = self.ranks[mode];
            for (row, &index) in rows.chunks_exact_mut(rank).zip(&set.outer[which][slots.clone()]) {
                row.copy_from_slice(&factors[mode][index as usize * rank..][..rank]);
            }
        }
        let all = self.weights;
        slots.clone().enumerate().for_each(|(k, _)| self.weigh(outer, k, &mut weights[k * all..][..all]));
        let side = |which: usize| Side {
            rows: factors[self.inner[which]],
            rank: self.ranks[self.inner[which]],
            indices: &set.inner[which][entries.clone()],
            base: 0,
            reg: Reg::None,
        };
        match self.kind {
            CoreKind::Full if set.is_mixed(chunk) => {
                self.kernels.combine_mixed(core, &weights[..slots.len() * all], buffers);
                self.kernels.predict_mixed(&side(0), &side(1), buffers, predictions);
            }
            CoreKind::Full => {
                self.kernels.combine(core, &weights[..all], buffers);
                self.kernels.predict(&side(0), &side(1), buffers, predictions);
            }
            CoreKind::Diagonal => {
                let weights = &mut weights[..all];
                weights.iter_mut().zip(core).for_each(|(weight, core)| *weight *= core);
                let (a, b) = (side(0), side(1));
                let row = |side: &Side<'_, &[f32]>, entry: usize| -> std::ops::Range<usize> {
                    let start = side.indices[entry] as usize * side.rank;
                    start..start + side.rank
                };
                for (entry, prediction) in predictions.iter_mut().enumerate() {
                    let terms =
                        a.rows[row(&a, entry)].iter().zip(&b.rows[row(&b, entry)]).zip(weights.iter());
                    *prediction = terms.map(|((a, b), weight)| weight * a * b).sum();
                }
            }
        }
    }
}

impl Chunks {
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
        let sums = parallel::map_with(
            0..pieces,
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
        );
        sums.into_iter().fold(S::default(), |sum, next| sum + next)
    }
}
