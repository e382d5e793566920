//! What entries, coupled cells and a prior say about one row: a quadratic form, and the row of its least value.

use crate::training::cholesky::{factorize, solve_lower, solve_upper};

/// A quadratic form `u' P u / 2 - h' u` over a row.
#[derive(Clone)]
pub(super) struct Form {
    rank: usize,
    /// The lower triangle counts.
    pub(super) precision: Vec<f64>,
    pub(super) pull: Vec<f64>,
}

impl Form {
    pub(super) fn new(rank: usize) -> Self {
        Form { rank, precision: vec![0.0; rank * rank], pull: vec![0.0; rank] }
    }

    /// Adds `weight / 2 (value - design . u)^2`.
    pub(super) fn add(&mut self, weight: f64, value: f64, design: &[f64]) {
        self.add_square(weight, design);
        self.pull.iter_mut().zip(design).for_each(|(sum, d)| *sum += weight * value * d);
    }

    /// Adds `weight / 2 (design . u)^2`.
    pub(super) fn add_square(&mut self, weight: f64, design: &[f64]) {
        for (k, a) in design.iter().enumerate() {
            let sums = self.precision[k * self.rank..=k * self.rank + k].iter_mut();
            sums.zip(design).for_each(|(sum, b)| *sum += weight * a * b);
        }
    }

    /// Adds `precision / 2 (u_k - mean)^2`.
    pub(super) fn add_prior(&mut self, k: usize, precision: f64, mean: f64) {
        self.precision[k * self.rank + k] += precision;
        self.pull[k] += precision * mean;
    }

    pub(super) fn add_form(&mut self, weight: f64, other: &Form) {
        self.precision.iter_mut().zip(&other.precision).for_each(|(sum, value)| *sum += weight * value);
        self.pull.iter_mut().zip(&other.pull).for_each(|(sum, value)| *sum += weight * value);
    }

    /// Twice the form's value at a row, and what its variances add to that on average.
    pub(super) fn twice(&self, row: &[f64], variances: &[f64]) -> f64 {
        let mut sum = 0.0;
        for k in 0..self.rank {
            let line = &self.precision[k * self.rank..=k * self.rank + k];
            let below: f64 = line[..k].iter().zip(row).map(|(a, b)| a * b).sum();
            sum += row[k] * (2.0 * below + line[k] * row[k] - 2.0 * self.pull[k]) + line[k] * variances[k];
        }
        sum
    }

    /// The row of least value in which some numbers are 1, and the variances of all.
    pub(super) fn solve_with_constants(&self, constant: &[bool]) -> (Vec<f64>, Vec<f64>) {
        let rank = self.rank;
        let (fixed, free): (Vec<usize>, Vec<usize>) = (0..rank).partition(|&k| constant[k]);
        let element = |k: usize, l: usize| self.precision[k.max(l) * rank + k.min(l)];
        let mut system: Vec<f64> =
            free.iter().flat_map(|&k| free.iter().map(move |&l| element(k, l))).collect();
        let mut solved: Vec<f64> =
            free.iter().map(|&k| fixed.iter().fold(self.pull[k], |pull, &l| pull - element(k, l))).collect();
        factorize(&mut system, free.len());
        solve_lower(&system, free.len(), &mut solved);
        solve_upper(&system, free.len(), &mut solved);
        let (mut row, mut variances) = (vec![1.0; rank], vec![0.0; rank]);
        let mut unit = vec![0.0; free.len()];
        for (place, &k) in free.iter().enumerate() {
            row[k] = solved[place];
            unit.fill(0.0);
            unit[place] = 1.0;
            solve_lower(&system, free.len(), &mut unit);
            variances[k] = unit.iter().map(|value| value * value).sum();
        }
        (row, variances)
    }

    /// The row of least value.
    pub(super) fn solve(&self) -> Vec<f64> {
        let rank = self.rank;
        let mut system = self.precision.clone();
        let most = (0..rank).map(|k| system[k * rank + k]).fold(0.0, f64::max);
        // What nothing is said about stays at zero.
        (0..rank).for_each(|k| system[k * rank + k] += 1e-9 * most + f64::MIN_POSITIVE);
        let mut row = self.pull.clone();
        factorize(&mut system, rank);
        solve_lower(&system, rank, &mut row);
        solve_upper(&system, rank, &mut row);
        row
    }

    /// The row of least value with `lambda` times the sum of its magnitudes added, and without negative numbers if so
    /// asked: number by number, until none moves.
    pub(super) fn solve_bounded(&self, lambda: f64, nonnegative: bool) -> Vec<f64> {
        const SWEEPS: usize = 1000;
        let rank = self.rank;
        let element = |k: usize, l: usize| self.precision[k.max(l) * rank + k.min(l)];
        let mut row = vec![0.0; rank];
        for _ in 0..SWEEPS {
            let (mut moved, mut length) = (0.0f64, 0.0f64);
            for k in 0..rank {
                let others: f64 = (0..rank).filter(|&l| l != k).map(|l| element(k, l) * row[l]).sum();
                let rest = self.pull[k] - others;
                let shrunk = rest.signum() * (rest.abs() - lambda).max(0.0);
                let value = if element(k, k) > 0.0 { shrunk / element(k, k) } else { 0.0 };
                let value = if nonnegative { value.max(0.0) } else { value };
                moved = moved.max((value - row[k]).abs());
                length = length.max(value.abs());
                row[k] = value;
            }
            if moved <= 1e-10 * length {
                break;
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_constant_stay_one_and_the_others_make_the_best_of_it() {
        let mut form = Form::new(4);
        form.add(1.0, 2.0, &[1.0, 0.5, -0.3, 0.2]);
        form.add(2.0, -1.0, &[0.2, 1.0, 0.6, -0.4]);
        (0..4).for_each(|k| form.add_prior(k, 1.0, 0.0));
        for constant in [[true, false, false, false], [true, false, true, false], [false; 4], [true; 4]] {
            let (row, variances) = form.solve_with_constants(&constant);
            let least = form.twice(&row, &[0.0; 4]);
            for k in 0..4 {
                if constant[k] {
                    assert_eq!((row[k], variances[k]), (1.0, 0.0));
                    continue;
                }
                assert!(variances[k] > 0.0);
                for step in [-1e-3, 1e-3] {
                    let mut other = row.clone();
                    other[k] += step;
                    assert!(form.twice(&other, &[0.0; 4]) > least, "{row:?} {k} {step}");
                }
            }
        }
    }

    #[test]
    fn bounded_rows_are_the_least_among_their_neighbours() {
        let mut form = Form::new(3);
        form.add(1.0, 2.0, &[1.0, 0.5, -0.3]);
        form.add(2.0, -1.0, &[0.2, 1.0, 0.6]);
        form.add(0.7, 0.4, &[-0.5, 0.1, 1.0]);
        for (lambda, nonnegative) in [(0.0, true), (0.3, false), (0.3, true)] {
            let value = |row: &[f64]| {
                form.twice(row, &[0.0; 3]) / 2.0 + lambda * row.iter().map(|value| value.abs()).sum::<f64>()
            };
            let row = form.solve_bounded(lambda, nonnegative);
            let least = value(&row);
            for k in 0..3 {
                for step in [-1e-3, 1e-3] {
                    let mut other = row.clone();
                    other[k] += step;
                    assert!((nonnegative && other[k] < 0.0) || value(&other) >= least, "{row:?} {k} {step}");
                }
            }
        }
        let free = form.solve_bounded(0.0, false);
        free.iter().zip(form.solve()).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{a} {b}"));
    }
}
