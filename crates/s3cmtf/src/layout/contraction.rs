//! Which modes entries share, and the core arranged for it.
//!
//! The two modes with most rows are *inner*: every entry has rows of its own there. The others are *outer*: entries
//! that agree in all of them share the core contracted with those rows, a matrix `T` (see `s3cmtf_kernels`).

use s3cmtf_kernels::{Buffers, Kernels, Level};

use super::chunks::Position;
use crate::params::CoreKind;

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
    pub(crate) fn pack(&self, values: &[f32]) -> Vec<f32> {
        let mut packed = vec![0.0; self.packed_len()];
        match self.kind {
            CoreKind::Diagonal => packed[..values.len()].copy_from_slice(values),
            CoreKind::Full => self.each_place(|place, packed_place| packed[packed_place] = values[place]),
        }
        packed
    }

    /// The core's numbers back from their arrangement.
    pub(crate) fn unpack(&self, packed: &[f32]) -> Vec<f32> {
        match self.kind {
            CoreKind::Diagonal => packed[..self.weights].to_vec(),
            CoreKind::Full => {
                let mut values = vec![0.0; self.ranks.iter().product()];
                self.each_place(|place, packed_place| values[place] = packed[packed_place]);
                values
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

    /// Calls `visit` with each element's place in a core and in the arrangement.
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
            let core = values;
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
