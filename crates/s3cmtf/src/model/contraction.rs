//! Which modes entries share, and the core arranged for it.
//!
//! The two modes with most rows are *inner*: every entry has rows of its own there. The others are *outer*: entries
//! that agree in all of them share the core contracted with those rows, a matrix `T` (see `s3cmtf_kernels`).

use s3cmtf_kernels::{Buffers, Kernels, Level, Reg, Side};

use super::chunks::Chunks;
use super::core::Core;
use crate::params::CoreKind;

/// A mode among the inner or among the outer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Its number among the inner modes.
    Inner(usize),
    /// Its number among the outer modes.
    Outer(usize),
}

/// The arrangement of a core for the kernels.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    pub(crate) ranks: Vec<usize>,
    pub(crate) inner: [usize; 2],
    /// The other modes, in order.
    pub(crate) outer: Vec<usize>,
    pub(crate) kind: CoreKind,
    pub(crate) kernels: Kernels,
    /// For a full core, the number of combinations of outer concepts; for a diagonal one, the rank.
    pub(crate) weights: usize,
}

impl Contraction {
    /// The arrangement for a core of `ranks` whose modes have `rows` rows.
    pub(crate) fn new(ranks: &[usize], rows: &[usize], kind: CoreKind, level: Level) -> Self {
        let mut by_rows: Vec<usize> = (0..ranks.len()).collect();
        by_rows.sort_by_key(|&mode| (std::cmp::Reverse(rows[mode]), mode));
        let mut inner = [by_rows[0], by_rows[1]];
        inner.sort_unstable();
        let outer: Vec<usize> = (0..ranks.len()).filter(|mode| !inner.contains(mode)).collect();
        let weights = match kind {
            CoreKind::Full => outer.iter().map(|&mode| ranks[mode]).product(),
            CoreKind::Diagonal => ranks[0],
        };
        let kernels = Kernels::new(level, ranks[inner[0]], ranks[inner[1]]);
        Contraction { ranks: ranks.to_vec(), inner, outer, kind, kernels, weights }
    }

    /// The core's numbers in the arrangement: a slice per combination of outer concepts, or the padded
    /// diagonal.
    pub(crate) fn pack(&self, core: &Core) -> Vec<f32> {
        let mut packed = vec![0.0; self.packed_len()];
        match core {
            Core::Diagonal(values) => packed[..values.len()].copy_from_slice(values),
            Core::Full { values, .. } => {
                self.each_place(|place, packed_place| packed[packed_place] = values[place])
            }
        }
        packed
    }

    /// The core back from its arrangement.
    pub(crate) fn unpack(&self, packed: &[f32]) -> Core {
        match self.kind {
            CoreKind::Diagonal => Core::Diagonal(packed[..self.weights].to_vec()),
            CoreKind::Full => {
                let mut values = vec![0.0; self.ranks.iter().product()];
                self.each_place(|place, packed_place| values[place] = packed[packed_place]);
                Core::full(self.ranks.clone(), values)
            }
        }
    }

    /// Whether there are kernels for mixed chunks; a diagonal core gains nothing by them.
    pub(crate) fn has_mixed(&self) -> bool {
        self.kind == CoreKind::Full
    }

    /// The most entries of a mixed chunk.
    pub(crate) fn most_mixed(&self) -> usize {
        if self.has_mixed() { self.kernels.mixed() } else { 1 }
    }

    /// Where a mode's rows are told.
    pub(crate) fn part(&self, mode: usize) -> Position {
        let among = |modes: &[usize]| modes.iter().position(|&other| other == mode);
        among(&self.inner).map_or_else(|| Position::Outer(among(&self.outer).unwrap_or(0)), Position::Inner)
    }

    pub(crate) fn packed_len(&self) -> usize {
        match self.kind {
            CoreKind::Full => self.weights * self.kernels.slice_len(),
            CoreKind::Diagonal => self.kernels.diagonal_len(),
        }
    }

    /// Calls `visit` with each element's place in a [`Core`] and in the arrangement.
    fn each_place(&self, mut visit: impl FnMut(usize, usize)) {
        let order = self.ranks.len();
        let mut index = vec![0usize; order];
        for place in 0..self.ranks.iter().product() {
            let o = self.outer.iter().fold(0, |o, &mode| o * self.ranks[mode] + index[mode]);
            let inner = self.kernels.place(index[self.inner[0]], index[self.inner[1]]);
            visit(place, o * self.kernels.slice_len() + inner);
            for mode in (0..order).rev() {
                index[mode] += 1;
                if index[mode] < self.ranks[mode] {
                    break;
                }
                index[mode] = 0;
            }
        }
    }

    /// The weight of each combination of outer concepts: the products of the values of the outer rows number `entry` in
    /// the scratch. For a diagonal core, the products concept by concept.
    pub(crate) fn weigh(&self, outer: &[Vec<f32>], entry: usize, weights: &mut [f32]) {
        let rows = outer.iter().zip(&self.outer).map(|(rows, &mode)| {
            let rank = self.ranks[mode];
            &rows[entry * rank..(entry + 1) * rank]
        });
        match self.kind {
            CoreKind::Diagonal => {
                weights.fill(1.0);
                for row in rows {
                    weights.iter_mut().zip(row).for_each(|(weight, value)| *weight *= value);
                }
            }
            CoreKind::Full => {
                weights[0] = 1.0;
                let mut before = 1;
                for row in rows {
                    // From the back, so that no weight is overwritten before it is used.
                    for place in (0..before).rev() {
                        let weight = weights[place];
                        let products = &mut weights[place * row.len()..(place + 1) * row.len()];
                        products.iter_mut().zip(row).for_each(|(product, value)| *product = weight * value);
                    }
                    before *= row.len();
                }
            }
        }
    }

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

    /// Working memory for [`Contraction::predict`] and the fast method.
    pub(crate) fn scratch(&self) -> Scratch {
        let most = self.most_mixed();
        Scratch {
            outer: self.outer.iter().map(|&mode| zeros_apart(most * self.ranks[mode])).collect(),
            weights: zeros_apart(most * self.weights),
            buffers: self.kernels.buffers(),
        }
    }
}

/// Zeros with room behind them, so that what one thread writes never shares a cache line with another's.
pub(crate) fn zeros_apart(len: usize) -> Vec<f32> {
    let mut zeros = Vec::with_capacity(len + 32);
    zeros.resize(len, 0.0);
    zeros
}

/// The working memory of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// For each outer mode the current row, or that of each entry of a mixed chunk.
    pub(crate) outer: Vec<Vec<f32>>,
    /// The weights of all combinations of outer concepts, as often.
    pub(crate) weights: Vec<f32>,
    pub(crate) buffers: Buffers,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_undone_by_unpacking() {
        for level in Level::available() {
            let ranks = [2, 5, 3, 4];
            let values: Vec<f32> = (0..120).map(|value| value as f32 + 1.0).collect();
            let core = Core::full(ranks.to_vec(), values);
            let contraction = Contraction::new(&ranks, &[3, 100, 2, 50], CoreKind::Full, level);
            assert_eq!((contraction.inner, contraction.outer.as_slice()), ([1, 3], &[0, 2][..]));
            assert_eq!(contraction.unpack(&contraction.pack(&core)), core);
        }
    }

    #[test]
    fn weights_are_products_of_outer_values() {
        let contraction = Contraction::new(&[2, 3, 4, 4], &[1, 1, 9, 9], CoreKind::Full, Level::best());
        let mut weights = [0.0; 6];
        let rows = [vec![0.0, 0.0, 2.0, 3.0], vec![1.0, 1.0, 1.0, 5.0, 7.0, 11.0]];
        contraction.weigh(&rows, 1, &mut weights);
        assert_eq!(weights, [10.0, 14.0, 22.0, 15.0, 21.0, 33.0]);
    }
}
