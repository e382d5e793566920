//! Normal distributions of rows, given by their precision and their pull: small systems, in f64.
//!
//! The unknowns are eliminated from the last to the first, so that what is read and written of a row is where it begins: the
//! precision is `R'R`, with `R` lower triangular. The pull is one more column, the first, and becomes `R'^-1` of it on the way.
//! Additions are in the same order on any machine, and no product is added in one step: the bits are the same, too.

use crate::generic::GROUP;
use crate::{Level, RowTotals, arch};

/// One system after the other: the working memory of one thread.
#[derive(Clone, Debug)]
pub struct RowSystem {
    level: Level,
    unknowns: usize,
    stride: usize,
    /// A row for each unknown, and one before these that is not used: `R`, each row times its own diagonal number.
    matrix: Vec<[f64; GROUP]>,
    diagonal: Vec<f64>,
    /// Of the squares of the diagonal of `R`.
    reciprocals: Vec<f64>,
    solution: Vec<[f64; GROUP]>,
}

impl RowSystem {
    /// Systems of so many unknowns.
    ///
    /// # Panics
    /// If the machine cannot run the level.
    pub fn new(level: Level, unknowns: usize) -> Self {
        assert!(Level::available().contains(&level), "this machine cannot run {}", level.name());
        let stride = (unknowns + 1).div_ceil(GROUP);
        RowSystem {
            level,
            unknowns,
            stride,
            matrix: vec![[0.0; GROUP]; (unknowns + 1) * stride],
            diagonal: vec![0.0; unknowns + 1],
            reciprocals: vec![0.0; unknowns + 1],
            solution: vec![[0.0; GROUP]; stride],
        }
    }

    /// Takes a system: for each unknown its pull, and its row of the precision up to the diagonal.
    ///
    /// # Panics
    /// If these are not as many as there are unknowns, or a row is not as long as its number.
    pub fn set<'a>(&mut self, rows: impl IntoIterator<Item = (f64, &'a [f64])>) {
        let mut unknowns = 0;
        for (k, (pull, row)) in (1..).zip(rows) {
            assert_eq!(row.len(), k, "a row ends at the diagonal");
            let to = self.row_mut(k);
            to[0] = pull;
            to[1..].copy_from_slice(row);
            unknowns = k;
        }
        assert_eq!(unknowns, self.unknowns, "a row per unknown");
        self.factorize();
    }

    /// Takes the squares over a row's entries, times a weight, for a precision. The first concept is no unknown: the first number of a
    /// row, see [`RowSystem::row_mut`], is its product with that.
    ///
    /// # Panics
    /// If there are not the squares of one concept more than there are unknowns.
    pub fn weigh(&mut self, totals: &RowTotals, weight: f64) {
        assert_eq!(totals.products().len(), self.unknowns + 1, "a concept more than unknowns");
        arch::weigh(self.level, totals.squares(), weight, &mut self.matrix);
    }

    /// An unknown's pull, and its row of the precision up to the diagonal; unknowns are counted from 1. What is changed here needs
    /// [`RowSystem::factorize`].
    ///
    /// # Panics
    /// If there is no such unknown.
    pub fn row_mut(&mut self, unknown: usize) -> &mut [f64] {
        assert!((1..=self.unknowns).contains(&unknown), "unknown {unknown} of {}", self.unknowns);
        &mut self.matrix[unknown * self.stride..][..self.stride].as_flattened_mut()[..=unknown]
    }

    /// Moves numbers by a share of the way to the rows of the precision, each up to the diagonal, and behind them to the pulls.
    ///
    /// # Panics
    /// If they are not as many.
    pub fn approach(&self, numbers: &mut [f32], share: f32) {
        let unknowns = self.unknowns;
        assert_eq!(numbers.len(), unknowns * (unknowns + 1) / 2 + unknowns, "a triangle and a row");
        arch::approach(self.level, &self.matrix, self.stride, share, numbers);
    }

    /// Eliminates the unknowns, so that the system can be solved.
    pub fn factorize(&mut self) {
        let diagonals = self.matrix.chunks_exact(self.stride).zip(&mut self.diagonal).enumerate();
        diagonals.for_each(|(k, (row, diagonal))| *diagonal = row[k / GROUP][k % GROUP]);
        arch::factorize(self.level, &mut self.matrix, &self.diagonal, &mut self.reciprocals);
    }

    /// The mean of the distribution, plus `R^-1` of some numbers: a draw if these are of variance one.
    ///
    /// # Panics
    /// If there is not a number for each unknown.
    pub fn solve(&mut self, numbers: &[f64]) -> &[f64] {
        assert_eq!(numbers.len(), self.unknowns, "a number per unknown");
        arch::solve(self.level, &self.matrix, &self.reciprocals, numbers, &mut self.solution);
        &self.solution.as_flattened()[1..=self.unknowns]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1.
    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn systems_are_solved_on_any_level() {
        for unknowns in [1, 2, 7, 8, 9, 15, 16, 31, 47, 63] {
            let root = numbers(unknowns * unknowns, unknowns as u64);
            let precision = |k: usize, l: usize| -> f64 {
                let both = root[k * unknowns..][..unknowns].iter().zip(&root[l * unknowns..]);
                both.map(|(a, b)| a * b).sum::<f64>() + f64::from(u8::from(k == l))
            };
            let rows: Vec<Vec<f64>> =
                (0..unknowns).map(|k| (0..=k).map(|l| precision(k, l)).collect()).collect();
            let pull = numbers(unknowns, 5);
            let mut first: Option<Vec<f64>> = None;
            for level in Level::available() {
                let mut system = RowSystem::new(level, unknowns);
                let given = || pull.iter().copied().zip(rows.iter().map(Vec::as_slice));
                // Twice, as nothing of the first may be left.
                system.set(given().map(|(pull, row)| (2.0 * pull, row)));
                system.set(given());
                let mean = system.solve(&vec![0.0; unknowns]).to_vec();
                for (k, &pull) in pull.iter().enumerate() {
                    let sum: f64 = mean.iter().enumerate().map(|(l, x)| x * precision(k, l)).sum();
                    assert!((sum - pull).abs() < 1e-9, "{level:?}, {unknowns}: {sum} for {pull}");
                }
                // The columns of R^-1 have the inverse as the sum of their products.
                let columns: Vec<Vec<f64>> = (0..unknowns)
                    .map(|one| {
                        let unit: Vec<f64> = (0..unknowns).map(|k| f64::from(u8::from(k == one))).collect();
                        system.solve(&unit).iter().zip(&mean).map(|(x, mean)| x - mean).collect()
                    })
                    .collect();
                for k in 0..unknowns {
                    let row: Vec<f64> = (0..unknowns)
                        .map(|l| columns.iter().map(|column| column[k] * column[l]).sum())
                        .collect();
                    for l in 0..unknowns {
                        let sum: f64 = row.iter().enumerate().map(|(m, x)| x * precision(m, l)).sum();
                        assert!((sum - f64::from(u8::from(k == l))).abs() < 1e-8, "{level:?}, {unknowns}");
                    }
                }
                let bits = first.get_or_insert_with(|| mean.clone());
                assert_eq!(*bits, mean, "{level:?}, {unknowns}");
            }
        }
    }

    #[test]
    fn sums_become_a_system_that_numbers_approach() {
        for unknowns in [1usize, 7, 8, 11, 47] {
            let rank = unknowns + 1;
            let pad = rank.next_multiple_of(16);
            // Whole numbers, so that all of it is exact.
            let square = |k: usize, l: usize| ((k * 5 + l * 3) % 13) as f64;
            let squares: Vec<f32> = (0..rank * pad).map(|at| square(at / pad, at % pad) as f32).collect();
            for level in Level::available() {
                let mut totals = RowTotals::new(level, rank);
                totals.add(&squares, &vec![1.0; pad]);
                let mut system = RowSystem::new(level, unknowns);
                system.weigh(&totals, 0.5);
                let mut found = vec![8.0; unknowns * (unknowns + 1) / 2 + unknowns];
                for k in 1..rank {
                    let row = system.row_mut(k);
                    assert!(
                        row.iter().enumerate().all(|(l, &found)| found == 0.5 * square(k, l)),
                        "{level:?}"
                    );
                    row[0] = k as f64;
                }
                system.approach(&mut found, 0.25);
                let triangle = (1..rank).flat_map(|k| (1..=k).map(move |l| 0.5 * square(k, l)));
                let goals = triangle.chain((1..rank).map(|k| k as f64));
                let expected: Vec<f32> = goals.map(|goal| (6.0 + 0.25 * goal) as f32).collect();
                assert_eq!(found, expected, "{level:?}, {unknowns}");
            }
        }
    }

    #[test]
    fn a_singular_system_gives_numbers() {
        for level in Level::available() {
            let mut system = RowSystem::new(level, 2);
            system.set([(1.0, &[1.0][..]), (1.0, &[1.0, 1.0])]);
            assert!(system.solve(&[0.3, -0.3]).iter().all(|number| number.is_finite()));
            system.set([(0.0, &[0.0][..]), (0.0, &[0.0, 0.0])]);
            assert!(system.solve(&[0.0, 0.0]).iter().all(|number| number.is_finite()));
        }
    }
}
