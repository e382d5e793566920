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
    pub(super) fn new(factor: &Factor) -> Self {
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

/// What stands for a mode while another one is looked at.
#[derive(Clone, Copy)]
pub(super) enum Along<'a> {
    /// One row.
    Row(&'a [f64]),
    /// All rows, by the mean of their products (see [`Moments`]).
    All(&'a [f64]),
}

/// How much predictions change with the row of a mode: for a change `d` of a row, the mean square of what predictions
/// change by is `d' M d`, over all combinations of what stands for the other modes.
pub(super) fn sensitivity<'a>(
    core: &Core,
    order: usize,
    mode: usize,
    along: impl Fn(usize) -> Along<'a>,
) -> Vec<f64> {
    let others = || (0..order).filter(|&other| other != mode);
    let rank = core.ranks(order)[mode];
    // A diagonal core is never written out: with many modes that would be more than memory has.
    if let Core::Diagonal(diagonal) = core {
        let cell = |place: usize| {
            let (i, j) = (place / rank, place % rank);
            let of_mode = |other: usize| match along(other) {
                Along::Row(row) => row[i] * row[j],
                Along::All(second) => second[place],
            };
            f64::from(diagonal[i]) * f64::from(diagonal[j]) * others().map(of_mode).product::<f64>()
        };
        return (0..rank * rank).map(cell).collect();
    }
    let mut plain = core.clone();
    for other in others() {
        if let Along::Row(row) = along(other) {
            plain.multiply(other, 1, row);
        }
    }
    let ranks = plain.ranks(order);
    let mut weighted = plain.clone();
    for other in others() {
        if let Along::All(second) = along(other) {
            weighted.multiply(other, ranks[other], second);
        }
    }
    let inner: usize = ranks[mode + 1..].iter().product();
    let slices = |values: &[f32], j: usize| -> Vec<f64> {
        values.chunks_exact(inner).skip(j).step_by(rank).flatten().map(|&value| f64::from(value)).collect()
    };
    let [plain, weighted]: [Vec<Vec<f64>>; 2] =
        [&plain, &weighted].map(|core| (0..rank).map(|j| slices(core.values(), j)).collect());
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let product = |place: usize| dot(&plain[place / rank], &weighted[place % rank]);
    let values: Vec<f64> = (0..rank * rank).map(product).collect();
    // Rounding may have spoiled the symmetry.
    (0..rank * rank).map(|place| 0.5 * (values[place] + values[place % rank * rank + place / rank])).collect()
}

/// What the row of a mode is multiplied with for its prediction with these rows of the other modes.
pub(super) fn weights<'a>(
    core: &Core,
    order: usize,
    mode: usize,
    row: impl Fn(usize) -> &'a [f64],
) -> Vec<f64> {
    let others = || (0..order).filter(|&other| other != mode);
    if let Core::Diagonal(diagonal) = core {
        let weight = |j: usize| f64::from(diagonal[j]) * others().map(|other| row(other)[j]).product::<f64>();
        return (0..diagonal.len()).map(weight).collect();
    }
    let mut core = core.clone();
    others().for_each(|other| core.multiply(other, 1, row(other)));
    core.values().iter().map(|&value| f64::from(value)).collect()
}

/// `d' M d` of a symmetric matrix.
pub(super) fn quadratic(matrix: &[f64], d: &[f64]) -> f64 {
    let rows = matrix.chunks_exact(d.len()).zip(d);
    rows.map(|(row, a)| a * row.iter().zip(d).map(|(cell, b)| cell * b).sum::<f64>()).sum()
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
        let moments: Vec<Moments> = factors.iter().map(Moments::new).collect();
        let m = sensitivity(&core, 3, 1, |other| Along::All(&moments[other].second));
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
        let found = quadratic(&m, &change);
        assert!((found / squares - 1.0).abs() < 1e-5, "{found} {squares}");
    }

    #[test]
    fn a_diagonal_core_is_what_it_is_written_out() {
        let number = |seed: usize| ((seed * 7919 + 13) % 101) as f32 / 50.0 - 1.0;
        let diagonal = Core::Diagonal((0..3).map(|place| number(place + 7)).collect());
        let full = diagonal.to_full(4);
        let factor =
            |mode: usize| Factor::new(3, (0..12).map(|place| number(place * place + 31 * mode)).collect());
        let moments: Vec<Moments> = (0..4).map(|mode| Moments::new(&factor(mode))).collect();
        let along = |other: usize| match other {
            3 => Along::Row(&moments[3].mean),
            other => Along::All(&moments[other].second),
        };
        let near = |a: Vec<f64>, b: Vec<f64>| {
            let size = a.iter().map(|a| a.abs()).fold(0.0, f64::max);
            assert!(size > 0.0 && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6 * size), "{a:?} {b:?}");
        };
        for mode in 0..3 {
            near(sensitivity(&diagonal, 4, mode, along), sensitivity(&full, 4, mode, along));
            let row = |other: usize| &moments[other].mean[..];
            near(weights(&diagonal, 4, mode, row), weights(&full, 4, mode, row));
        }
    }
}
