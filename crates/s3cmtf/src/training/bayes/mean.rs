//! The mean of many draws, as one model.
//!
//! What is averaged of a row is not the row, but the normal distribution that it was drawn from: its precision and its pull.
//! The mean row is the one that these averages ask for. It takes into account how uncertain all rows are that it was drawn
//! with, and so predicts nearly as well as all draws together, where the mean of the rows themselves would not.

use s3cmtf_kernels::{Level, RowSystem};

use super::core;
use super::coupled::Matrix;
use super::noise::Noise;
use crate::parallel;
use crate::params::Component;
use crate::training::cholesky::{factorize, solve_lower};

/// So many draws are remembered; beyond, older ones fade, as concepts drift.
const WINDOW: usize = 40;

/// The mean so far.
pub(super) struct Mean {
    pub(super) draws: usize,
    /// For each mode and row, see [`NaturalParams`].
    pub(super) natural_params: Vec<NaturalParams>,
    pub(super) core: Vec<f32>,
    pub(super) columns: Vec<Vec<f32>>,
    /// For each coupled matrix, how much it counts.
    pub(super) weights: Vec<f64>,
    /// The variance of entries around their predictions, and for each mode and row its share in their precision.
    pub(super) variance: f64,
    pub(super) shares: Vec<Vec<f32>>,
    window: usize,
}

/// For each row of a mode, the lower triangle of its precision without the first concept, and then its pull.
pub(super) struct NaturalParams {
    rank: usize,
    numbers: Vec<f32>,
}

impl NaturalParams {
    #[cfg(any(test, feature = "cuda"))]
    pub(super) fn new(rank: usize, numbers: Vec<f32>) -> Self {
        NaturalParams { rank, numbers }
    }

    /// How many numbers a row of this rank has.
    pub(super) fn len(rank: usize) -> usize {
        let free = rank - 1;
        free * (free + 1) / 2 + free
    }

    pub(super) fn numbers(&mut self) -> &mut [f32] {
        &mut self.numbers
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.numbers
    }

    /// Follows a change of scale: each concept was multiplied with a number in all rows.
    fn rescale(&mut self, by: &[f32]) {
        let by = &by[1..];
        let triangle = (0..by.len()).flat_map(|k| (0..=k).map(move |l| 1.0 / (by[k] * by[l])));
        let times: Vec<f32> = triangle.chain(by.iter().map(|by| 1.0 / by)).collect();
        parallel::rows_mut(&mut self.numbers, times.len().max(1), |_, numbers| {
            numbers.iter_mut().zip(&times).for_each(|(number, times)| *number *= times);
        });
    }

    /// The rows that these numbers ask for.
    pub(super) fn rows(&self, level: Level) -> Vec<f32> {
        let (rank, free, len) = (self.rank, self.rank - 1, NaturalParams::len(self.rank));
        let mut rows = vec![1.0; self.numbers.len() / len * rank];
        parallel::chunks_mut_with(
            &mut rows,
            rank,
            || (RowSystem::new(level, free), vec![0.0; len], vec![0.0; free]),
            |(system, numbers, zeros), number, row| {
                let own = &self.numbers[number * len..][..len];
                numbers.iter_mut().zip(own).for_each(|(to, &from)| *to = f64::from(from));
                let (triangle, pull) = numbers.split_at(len - free);
                let row_of = |k: usize| &triangle[k * (k + 1) / 2..][..=k];
                system.set((0..free).map(|k| (pull[k], row_of(k))));
                let solved = system.solve(zeros);
                row[1..].iter_mut().zip(solved).for_each(|(value, &solved)| *value = solved as f32);
            },
        );
        rows
    }

    /// The variances of their numbers; that of the first concept, which is fixed, is 0. Numbers of a row are correlated, and
    /// where concepts are many, a prediction is known far better than its parts: variances are scaled so that alone they come to
    /// what all of it does, on average over predictions, which are products of rows with vectors of these second moments.
    pub(super) fn variances(&self, moments: &[f64]) -> Vec<f32> {
        let rank = self.rank;
        self.solve(|precision, memory, row| {
            let free = memory.len();
            // The inverse of L L' has the products of the columns of L^-1.
            let columns: Vec<Vec<f64>> = (0..free)
                .map(|k| {
                    memory.fill(0.0);
                    memory[k] = 1.0;
                    solve_lower(precision, free, memory);
                    memory.to_vec()
                })
                .collect();
            let (mut all, mut alone) = (0.0, 0.0);
            for k in 0..free {
                for l in 0..=k {
                    let product: f64 = columns[k].iter().zip(&columns[l]).map(|(a, b)| a * b).sum();
                    let moment = moments[(k + 1) * rank + l + 1];
                    all += if k == l { moment * product } else { 2.0 * moment * product };
                    if k == l {
                        alone += moment * product;
                        row[k] = product as f32;
                    }
                }
            }
            if all > 0.0 && alone > 0.0 {
                row.iter_mut().for_each(|variance| *variance *= (all / alone) as f32);
            }
        })
    }

    /// Rows of zeros and of what `solve` makes of a factorized precision, given memory for as many numbers.
    fn solve(&self, solve: impl Fn(&[f64], &mut [f64], &mut [f32]) + Sync) -> Vec<f32> {
        let (rank, free) = (self.rank, self.rank - 1);
        let len = NaturalParams::len(rank);
        let mut rows = vec![0.0; self.numbers.len() / len * rank];
        parallel::chunks_mut_with(
            &mut rows,
            rank,
            || (vec![0.0; free * free], vec![0.0; free]),
            |(precision, memory), number, row| {
                let numbers = &self.numbers[number * len..][..len];
                let mut numbers = numbers.iter().map(|&number| f64::from(number));
                for k in 0..free {
                    let triangle = precision[k * free..=k * free + k].iter_mut();
                    triangle.zip(&mut numbers).for_each(|(value, number)| *value = number);
                }
                factorize(precision, free);
                solve(precision, memory, &mut row[1..]);
            },
        );
        rows
    }
}

impl Mean {
    pub(super) fn new(ranks: &[usize], rows: impl Iterator<Item = usize>, without: &[Component]) -> Self {
        let empty = |(&rank, rows): (&usize, usize)| NaturalParams {
            rank,
            numbers: vec![0.0; rows * NaturalParams::len(rank)],
        };
        let natural_params = ranks.iter().zip(rows).map(empty).collect();
        let window = if without.contains(&Component::Averaging) { 1 } else { WINDOW };
        Mean {
            draws: 0,
            natural_params,
            core: Vec::new(),
            columns: Vec::new(),
            weights: Vec::new(),
            variance: 0.0,
            shares: Vec::new(),
            window,
        }
    }

    /// Makes room for other ranks, as long as no draw has counted.
    pub(super) fn resize(&mut self, ranks: &[usize]) {
        for (natural_params, &rank) in self.natural_params.iter_mut().zip(ranks) {
            let rows = natural_params.numbers.len() / NaturalParams::len(natural_params.rank);
            *natural_params = NaturalParams { rank, numbers: vec![0.0; rows * NaturalParams::len(rank)] };
        }
    }

    /// Follows a change of scale: each concept of a mode was multiplied with a number in all rows. Draws whose scales differ
    /// have no mean: what is little to entries that scatter much would be all that is left where they hardly do.
    pub(super) fn rescale(&mut self, mode: usize, by: &[f32], ranks: &[usize], matrices: &[Matrix]) {
        if self.draws == 0 {
            return;
        }
        self.natural_params[mode].rescale(by);
        for (k, &by) in by.iter().enumerate().skip(1) {
            core::rescale(&mut self.core, ranks, mode, k, by);
        }
        self.rescale_columns(mode, by, matrices);
    }

    /// The columns' part of that.
    pub(super) fn rescale_columns(&mut self, mode: usize, by: &[f32], matrices: &[Matrix]) {
        let rank = by.len();
        let columns = self.columns.iter_mut().zip(matrices).filter(|(_, matrix)| matrix.mode == mode);
        for (columns, matrix) in columns {
            for (k, &by) in by.iter().enumerate().skip(1) {
                let times = matrix.follow(by);
                columns.iter_mut().skip(k).step_by(rank).for_each(|value| *value *= times);
            }
        }
    }

    /// The share in the mean of a draw that begins now. It counts once it has ended, which an interrupt may prevent.
    pub(super) fn begin(&self) -> f32 {
        1.0 / (self.draws + 1).min(self.window) as f32
    }

    /// Takes the rest of a draw into the mean: the core, for each coupled matrix its columns and its weight, and the noise.
    pub(super) fn end<'a>(
        &mut self,
        share: f32,
        core: &[f32],
        matrices: impl Iterator<Item = (&'a [f32], f64)>,
        noise: &Noise,
    ) {
        self.draws += 1;
        self.variance += f64::from(share) * (1.0 / noise.tau - self.variance);
        self.shares.resize(noise.roots.len(), Vec::new());
        for (mean, roots) in self.shares.iter_mut().zip(&noise.roots) {
            mean.resize(roots.len(), 1.0);
            mean.iter_mut().zip(roots).for_each(|(mean, root)| *mean += share * (root * root - *mean));
        }
        self.core.resize(core.len(), 0.0);
        approach(&mut self.core, core, share);
        self.end_columns(share, matrices);
    }

    /// The columns' part of that.
    pub(super) fn end_columns<'a>(&mut self, share: f32, matrices: impl Iterator<Item = (&'a [f32], f64)>) {
        for (number, (columns, weight)) in matrices.enumerate() {
            if self.columns.len() == number {
                self.columns.push(vec![0.0; columns.len()]);
                self.weights.push(0.0);
            }
            self.weights[number] += f64::from(share) * (weight - self.weights[number]);
            approach(&mut self.columns[number], columns, share);
        }
    }
}

/// Moves a mean by a share of the way towards new numbers.
pub(super) fn approach(mean: &mut [f32], numbers: &[f32], share: f32) {
    mean.iter_mut().zip(numbers).for_each(|(mean, number)| *mean += share * (number - *mean));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;
    use crate::problem::{Absent, Coupled, Entries};

    #[test]
    fn rows_solve_the_mean_of_precisions_and_pulls() {
        let mut mean = Mean::new(&[3], std::iter::once(2), &[]);
        for draw in [1.0f32, 3.0] {
            let share = mean.begin();
            // The precision 2 * identity and 4 * identity in turn, its pull (draw, -draw); the second row twice that.
            let row = |times: f32| [draw + 1.0, 0.0, draw + 1.0, times * draw, -times * draw];
            approach(mean.natural_params[0].numbers(), &[row(1.0), row(2.0)].concat(), share);
            let mut noise = Noise::new(vec![vec![1, 1]]);
            noise.tau = 1.0 / f64::from(draw);
            noise.roots[0][1] = draw.sqrt();
            mean.end(share, &[draw], std::iter::once((&[2.0 * draw][..], f64::from(3.0 * draw))), &noise);
        }
        let rows = mean.natural_params[0].rows(Level::best());
        let expected = [1.0, 2.0 / 3.0, -2.0 / 3.0, 1.0, 4.0 / 3.0, -4.0 / 3.0];
        rows.iter().zip(expected).for_each(|(row, expected)| assert!((row - expected).abs() < 1e-6));
        assert_eq!((mean.core[0], mean.columns[0][0], mean.weights[0], mean.draws), (2.0, 4.0, 6.0, 2));
        assert_eq!((mean.variance, &mean.shares[0][..]), (2.0, &[1.0, 2.0][..]));
        // The mean precision is 3 * identity.
        let variances = mean.natural_params[0].variances(&[1.0; 9]);
        let expected = [0.0, 1.0 / 3.0, 1.0 / 3.0];
        variances.iter().zip(expected.iter().cycle()).for_each(|(a, b)| assert!((a - b).abs() < 1e-6));
    }

    #[test]
    fn variances_alone_come_to_what_they_do_with_correlations() {
        // The inverse of (2, 1; 1, 2) is (2, -1; -1, 2) / 3: the sum of both has a variance of 2/3, where 4/3 would be without
        // their correlation, and the difference of both one of 2.
        let natural_params = NaturalParams { rank: 3, numbers: vec![2.0, 1.0, 2.0, 0.0, 0.0] };
        for (product, expected) in [(1.0, 1.0 / 3.0), (-1.0, 1.0), (0.0, 2.0 / 3.0)] {
            let moments = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, product, 1.0];
            let variances = natural_params.variances(&moments);
            for (variance, expected) in variances.iter().zip([0.0, expected, expected]) {
                assert!((f64::from(*variance) - expected).abs() < 1e-6, "{product}: {variances:?}");
            }
        }
    }

    #[test]
    fn a_change_of_scale_is_one_of_the_mean() {
        let mut mean = Mean::new(&[3, 2], [1, 1].into_iter(), &[]);
        let share = mean.begin();
        approach(mean.natural_params[0].numbers(), &[4.0, 1.0, 5.0, 6.0, -3.0], share);
        let noise = Noise::new(vec![vec![1], vec![1]]);
        let core = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let columns = [(&[7.0, 8.0, 9.0][..], 1.0), (&[7.0, 8.0][..], 1.0), (&[7.0, 8.0, 9.0][..], 1.0)];
        mean.end(share, &core, columns.into_iter(), &noise);
        let cell = || Entries::new(vec![vec![0], vec![0]], vec![1.0]).unwrap();
        let coupled = |mode, weight: Option<f32>| {
            let matrix = Coupled::new(mode, Absent::Zeros, cell()).unwrap();
            weight.map_or(matrix.clone(), |weight| matrix.weighted(weight))
        };
        let coupled = [coupled(0, Some(1.0)), coupled(1, Some(1.0)), coupled(0, None)];
        let matrices: Vec<Matrix> =
            coupled.iter().map(|matrix| Matrix::new(matrix, 0, 1, 3 - matrix.mode(), 1.0)).collect();
        let before = mean.natural_params[0].rows(Level::best());
        mean.rescale(0, &[1.0, 2.0, 0.5], &[3, 2], &matrices);
        let after = mean.natural_params[0].rows(Level::best());
        for (k, by) in [1.0, 2.0, 0.5].into_iter().enumerate() {
            assert!((after[k] - by * before[k]).abs() < 1e-6, "{before:?} {after:?}");
        }
        assert_eq!(mean.core, [1.0, 2.0, 1.5, 2.0, 10.0, 12.0]);
        assert_eq!((&mean.columns[0][..], &mean.columns[1][..]), (&[7.0, 4.0, 18.0][..], &[7.0, 8.0][..]));
        // Effects on rows grow with them.
        assert_eq!(mean.columns[2], [7.0, 16.0, 4.5]);
    }
}
