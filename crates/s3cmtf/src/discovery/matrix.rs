//! Small square matrices, row after row, and what large factors come to in them.

use nalgebra::{DMatrix, SymmetricEigen};

use crate::model::{Core, Factor};

/// A symmetric matrix by its eigenvalues, the largest first, and its eigenvectors, each a row.
pub(super) fn eigen(size: usize, values: &[f64]) -> Vec<(f64, Vec<f64>)> {
    let found = SymmetricEigen::new(DMatrix::from_row_slice(size, size, values));
    let mut pairs: Vec<(f64, Vec<f64>)> = found
        .eigenvalues
        .iter()
        .copied()
        .zip(found.eigenvectors.column_iter().map(|v| v.iter().copied().collect()))
        .collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    pairs
}

/// The mean of a factor's rows, and that of their products, number by number.
pub(super) struct Moments {
    pub(super) mean: Vec<f64>,
    pub(super) second: Vec<f64>,
}

impl Moments {
    pub(super) fn of(factor: &Factor) -> Self {
        let rank = factor.rank();
        let rows = factor.rows().max(1) as f64;
        let (mut mean, mut second) = (vec![0.0; rank], vec![0.0; rank * rank]);
        for row in factor.values().chunks_exact(rank) {
            for (i, &a) in row.iter().enumerate() {
                mean[i] += f64::from(a) / rows;
                for (j, &b) in row.iter().enumerate() {
                    second[i * rank + j] += f64::from(a) * f64::from(b) / rows;
                }
            }
        }
        Moments { mean, second }
    }

    /// How rows vary around their mean.
    pub(super) fn covariance(&self) -> Vec<f64> {
        let rank = self.mean.len();
        let place = |place: usize| self.second[place] - self.mean[place / rank] * self.mean[place % rank];
        (0..rank * rank).map(place).collect()
    }
}

/// How much predictions change with the row of a mode: for a change `d` of a row, the mean square of what predictions
/// change by is `d' M d`, over all combinations of the other modes' rows. `core` is full.
pub(super) fn sensitivity(core: &Core, moments: &[Moments], mode: usize) -> Vec<f64> {
    let ranks = core.ranks(moments.len());
    let mut weighted = core.clone();
    for (other, moments) in moments.iter().enumerate().filter(|(other, _)| *other != mode) {
        weighted.multiply(other, ranks[other], &moments.second);
    }
    let rank = ranks[mode];
    let inner: usize = ranks[mode + 1..].iter().product();
    let slices = |values: &[f32], j: usize| -> Vec<f64> {
        values.chunks_exact(inner).skip(j).step_by(rank).flatten().map(|&value| f64::from(value)).collect()
    };
    let [plain, weighted]: [Vec<Vec<f64>>; 2] =
        [core, &weighted].map(|core| (0..rank).map(|j| slices(core.values(), j)).collect());
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let product = |place: usize| dot(&plain[place / rank], &weighted[place % rank]);
    let values: Vec<f64> = (0..rank * rank).map(product).collect();
    // Rounding may have spoiled the symmetry.
    (0..rank * rank).map(|place| 0.5 * (values[place] + values[place % rank * rank + place / rank])).collect()
}

/// The product of a square matrix and its like.
pub(super) fn product(size: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let cell = |place: usize| {
        let (row, column) = (place / size, place % size);
        (0..size).map(|k| a[row * size + k] * b[k * size + column]).sum()
    };
    (0..size * size).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_put_the_matrix_together_again() {
        let matrix = [4.0, 1.0, -2.0, 1.0, 3.0, 0.5, -2.0, 0.5, 6.0];
        let pairs = eigen(3, &matrix);
        assert!(pairs[0].0 >= pairs[1].0 && pairs[1].0 >= pairs[2].0);
        for place in 0..9 {
            let sum: f64 = pairs.iter().map(|(value, v)| value * v[place / 3] * v[place % 3]).sum();
            assert!((sum - matrix[place]).abs() < 1e-12);
        }
    }

    #[test]
    fn sensitivity_is_the_mean_square_over_all_rows_of_the_others() {
        let number = |seed: usize| ((seed * 7919 + 13) % 101) as f32 / 50.0 - 1.0;
        let ranks = [2, 3, 2];
        let core = Core::full(ranks.to_vec(), (0..12).map(number).collect());
        let factor = |mode: usize, rows: usize| {
            Factor::new(ranks[mode], (0..rows * ranks[mode]).map(|place| number(place + 31 * mode)).collect())
        };
        let factors = [factor(0, 4), factor(1, 5), factor(2, 3)];
        let moments: Vec<Moments> = factors.iter().map(Moments::of).collect();
        let m = sensitivity(&core, &moments, 1);
        let change = [0.3, -1.0, 0.7];
        let mut squares = 0.0;
        for a in 0..4 {
            for c in 0..3 {
                let mut sum = 0.0;
                for (place, &value) in core.values().iter().enumerate() {
                    let (i, j, k) = (place / 6, place / 2 % 3, place % 2);
                    sum += f64::from(value)
                        * f64::from(factors[0].row(a)[i])
                        * change[j]
                        * f64::from(factors[2].row(c)[k]);
                }
                squares += sum * sum / 12.0;
            }
        }
        let quadratic: f64 = (0..9).map(|place| m[place] * change[place / 3] * change[place % 3]).sum();
        assert!((quadratic / squares - 1.0).abs() < 1e-5, "{quadratic} {squares}");
    }
}
