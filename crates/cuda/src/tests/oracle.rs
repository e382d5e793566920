//! The same sums as plain loops in f64.

use super::Random;
use crate::state::concepts;

/// The sums of a row: of products of designs, of designs times values, and of squared values.
pub(crate) type RowSums = (Vec<Vec<f64>>, Vec<f64>, f64);

impl Random {
    fn row(&self, mode: usize, entry: usize) -> usize {
        self.indices[mode][entry] as usize
    }

    fn number(&self, mode: usize, row: usize, concept: usize) -> f64 {
        f64::from(self.state.factors[mode][row * self.ranks[mode] + concept])
    }

    /// What an entry's other rows make of the core, for each concept of a mode.
    pub(crate) fn design(&self, mode: usize, entry: usize) -> Vec<f64> {
        let mut design = vec![0.0; self.ranks[mode]];
        for (place, &value) in self.state.core.iter().enumerate() {
            let index = concepts(&self.ranks, place);
            let others = (0..self.rows.len()).filter(|&other| other != mode);
            let product: f64 =
                others.map(|other| self.number(other, self.row(other, entry), index[other])).product();
            design[index[mode]] += f64::from(value) * product;
        }
        design
    }

    pub(crate) fn prediction(&self, entry: usize) -> f64 {
        let design = self.design(0, entry);
        let row = self.row(0, entry);
        design.iter().enumerate().map(|(k, design)| design * self.number(0, row, k)).sum()
    }

    /// The precision of an entry without `tau`, and without the share of its row in a mode.
    pub(crate) fn share(&self, without: Option<usize>, entry: usize) -> f64 {
        let modes = (0..self.rows.len()).filter(|&mode| Some(mode) != without);
        modes.map(|mode| f64::from(self.state.roots[mode][self.row(mode, entry)]).powi(2)).product()
    }

    /// For each row of a mode the sums of products of designs, of designs times values, and of squared values.
    pub(crate) fn sums(&self, mode: usize) -> Vec<RowSums> {
        let rank = self.ranks[mode];
        let mut sums = vec![(vec![vec![0.0; rank]; rank], vec![0.0; rank], 0.0); self.rows[mode]];
        for entry in 0..self.values.len() {
            let (design, share) = (self.design(mode, entry), self.share(Some(mode), entry));
            let value = f64::from(self.values[entry]);
            let (products, pulls, squares) = &mut sums[self.row(mode, entry)];
            for k in 0..rank {
                (0..rank).for_each(|l| products[k][l] += share * design[k] * design[l]);
                pulls[k] += share * design[k] * value;
            }
            *squares += share * value * value;
        }
        sums
    }

    /// The sum over entries of something times the derivative of predictions by the core.
    pub(crate) fn gradient(&self, of: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut gradient = vec![0.0; self.state.core.len()];
        for entry in 0..self.values.len() {
            let made = of(entry);
            for (place, sum) in gradient.iter_mut().enumerate() {
                let index = concepts(&self.ranks, place);
                let modes = index.iter().enumerate();
                *sum += made
                    * modes.map(|(mode, &k)| self.number(mode, self.row(mode, entry), k)).product::<f64>();
            }
        }
        gradient
    }
}

/// The solution of a symmetric system and the inverse of its matrix, by elimination.
pub(crate) fn solve(matrix: &[Vec<f64>], side: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = side.len();
    let mut lines: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let unit = (0..n).map(|j| if i == j { 1.0 } else { 0.0 });
            matrix[i].iter().copied().chain([side[i]]).chain(unit).collect()
        })
        .collect();
    for i in 0..n {
        let pivot = lines[i][i];
        lines[i].iter_mut().for_each(|value| *value /= pivot);
        let own = lines[i].clone();
        for (j, line) in lines.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let by = line[i];
            line.iter_mut().zip(&own).for_each(|(value, own)| *value -= by * own);
            debug_assert!(j < n);
        }
    }
    (
        lines.iter().map(|line| line[n]).collect(),
        lines.into_iter().map(|line| line[n + 1..].to_vec()).collect(),
    )
}

/// Asserts that numbers are close, relative to the largest of them and 1.
pub(crate) fn assert_close(found: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |most, value| most.max(value.abs()));
    for (place, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs();
        assert!(error <= tolerance * scale, "{what}: {found} and not {expected} at {place}, scale {scale}");
    }
}

/// Asserts that rows which have all the same distribution have its moments, given its precision and pull without the first
/// concept.
pub(crate) fn assert_moments(drawn: &[f32], precision: &[Vec<f64>], pull: &[f64], what: &str) {
    let rank = pull.len() + 1;
    let (mean, covariance) = solve(precision, pull);
    assert!(drawn.iter().step_by(rank).all(|&first| first == 1.0));
    let count = (drawn.len() / rank) as f64;
    let root = count.sqrt();
    let moment = |of: &dyn Fn(&[f32]) -> f64| drawn.chunks_exact(rank).map(of).sum::<f64>() / count;
    for k in 1..rank {
        let found = moment(&|row| f64::from(row[k]));
        let deviation = covariance[k - 1][k - 1].sqrt();
        assert!((found - mean[k - 1]).abs() < 5.0 * deviation / root, "{what} {k}: {found}");
        for l in 1..=k {
            let product = |row: &[f32]| (f64::from(row[k]) - mean[k - 1]) * (f64::from(row[l]) - mean[l - 1]);
            let (found, expected) = (moment(&product), covariance[k - 1][l - 1]);
            let scale = (covariance[k - 1][k - 1] * covariance[l - 1][l - 1] + expected * expected).sqrt();
            assert!((found - expected).abs() < 6.0 * scale / root, "{what} {k} {l}: {found} {expected}");
        }
    }
}
