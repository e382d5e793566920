//! The numbers that are looked for, and what may be done to them without changing what they say.

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::parallel;
use crate::training::chain::{permuted, restored};
use crate::training::cholesky;
use crate::training::dense::gram;

/// A core, a factor for each mode, and one for the columns of each coupled matrix.
#[derive(Clone)]
pub(super) struct State {
    pub(super) factors: Vec<Vec<f64>>,
    pub(super) core: Vec<f64>,
    /// For each coupled matrix its mode and the factor of its columns.
    pub(super) columns: Vec<(usize, Vec<f64>)>,
}

/// The generator of one purpose.
pub(super) fn generator(seed: u64, start: usize, purpose: usize) -> Xoshiro256PlusPlus {
    let own = ((start as u64) << 32) + purpose as u64;
    Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ own)
}

/// Numbers of the standard normal distribution.
pub(super) fn normals(mut generator: Xoshiro256PlusPlus, count: usize) -> Vec<f64> {
    (0..count).map(|_| StandardNormal.sample(&mut generator)).collect()
}

impl State {
    /// Gives the columns of every factor a mean square of 1, and those of a full core's also a mean product of 0; the core
    /// and coupled columns take up the difference (method.md eq. L4). Concepts that are alike would otherwise grow without
    /// bound against each other, and the core's least squares would be far from round.
    pub(super) fn normalize(&mut self, ranks: &[usize], diagonal: bool) {
        for (mode, &rank) in ranks.iter().enumerate() {
            let rows = (self.factors[mode].len() / rank).max(1) as f64;
            let mut lower: Vec<f64> = gram(&self.factors[mode], rank).iter().map(|sum| sum / rows).collect();
            if diagonal {
                for (place, value) in lower.iter_mut().enumerate() {
                    let (i, j) = (place / rank, place % rank);
                    *value = if i == j { value.max(f64::MIN_POSITIVE).sqrt() } else { 0.0 };
                }
            } else {
                cholesky::factorize(&mut lower, rank);
            }
            // With F'F = L L', the columns of F L'^-1 are orthogonal; each row solves L x = f.
            parallel::chunks_mut(&mut self.factors[mode], rank, |_, row| {
                cholesky::solve_lower(&lower, rank, row);
            });
            if diagonal {
                self.core.iter_mut().enumerate().for_each(|(k, value)| *value *= lower[k * rank + k]);
            } else {
                self.multiply_core(ranks, mode, &lower);
            }
            for (_, columns) in self.columns.iter_mut().filter(|(own, _)| *own == mode) {
                parallel::chunks_mut(columns, rank, |_, row| times_lower(row, &lower));
            }
        }
    }

    /// Multiplies a full core along a mode by the transpose of a lower triangle.
    fn multiply_core(&mut self, ranks: &[usize], mode: usize, lower: &[f64]) {
        let others = (0..ranks.len()).filter(|&other| other != mode);
        let axes: Vec<usize> = others.chain([mode]).collect();
        let mut core = permuted(&self.core, ranks, &axes);
        parallel::chunks_mut(&mut core, ranks[mode], |_, row| times_lower(row, lower));
        self.core = restored(&core, ranks, &axes);
    }

    pub(super) fn is_finite(&self) -> bool {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        finite(&self.core)
            && self.factors.iter().all(|factor| finite(factor))
            && self.columns.iter().all(|(_, columns)| finite(columns))
    }
}

/// A row times a lower triangle: `x L`.
fn times_lower(row: &mut [f64], lower: &[f64]) {
    let rank = row.len();
    for j in 0..rank {
        row[j] = (j..rank).map(|i| row[i] * lower[i * rank + j]).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizing_changes_no_prediction() {
        for diagonal in [false, true] {
            let ranks = if diagonal { [2, 2] } else { [2, 3] };
            let list = |count: usize, purpose: usize| normals(generator(3, 0, purpose), count);
            let mut state = State {
                factors: vec![list(5 * ranks[0], 0), list(7 * ranks[1], 1)],
                core: list(if diagonal { 2 } else { 6 }, 2),
                columns: vec![(1, list(4 * ranks[1], 3))],
            };
            let cell = |state: &State, i: usize, j: usize| -> f64 {
                let core = |k: usize, l: usize| match diagonal {
                    true if k == l => state.core[k],
                    true => 0.0,
                    false => state.core[k * ranks[1] + l],
                };
                let pairs = (0..ranks[0]).flat_map(|k| (0..ranks[1]).map(move |l| (k, l)));
                pairs
                    .map(|(k, l)| {
                        core(k, l) * state.factors[0][i * ranks[0] + k] * state.factors[1][j * ranks[1] + l]
                    })
                    .sum()
            };
            let coupled = |state: &State, i: usize, j: usize| -> f64 {
                let rank = ranks[1];
                (0..rank).map(|k| state.factors[1][i * rank + k] * state.columns[0].1[j * rank + k]).sum()
            };
            let before = (cell(&state, 4, 6), coupled(&state, 2, 3));
            state.normalize(&ranks, diagonal);
            let after = (cell(&state, 4, 6), coupled(&state, 2, 3));
            assert!((before.0 - after.0).abs() < 1e-12 && (before.1 - after.1).abs() < 1e-12);
            let gram = gram(&state.factors[1], ranks[1]);
            assert!((gram[0] - 7.0).abs() < 1e-9 && (diagonal || gram[1].abs() < 1e-9), "{gram:?}");
        }
    }
}
