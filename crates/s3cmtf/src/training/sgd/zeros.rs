//! Coupled matrices whose absent cells are zeros, without visiting the zeros.
//!
//! With `S = V'V`, the sum over a row of `(y_k - u v_k')^2` is `const - 2 u (sum y_k v_k)' + u S u'`, where the sum
//! runs over the non-zeros alone. So a row costs its non-zeros and one product with a small matrix.

use crate::parallel;
use crate::training::gram::gram;
use crate::training::sparse::Sparse;

/// Rows are summed in pieces of this many, in a fixed order, so that the sum does not depend on the threads.
const PIECE: usize = 4096;
/// Sweeps over the coordinates of a constrained row; the problem is small and well conditioned.
const SWEEPS: usize = 4;

/// A fully observed matrix, by rows and by columns.
#[derive(Clone, Debug)]
pub(crate) struct Zeros {
    pub(crate) matrix: usize,
    pub(crate) mode: usize,
    pub(crate) weight: f32,
    pub(crate) by_row: Sparse,
    pub(crate) by_column: Sparse,
}

/// One half of a step: the rows of one factor against the other factor, held fixed.
pub(crate) struct Half {
    /// The step size times the matrix's weight.
    pub(crate) rate: f64,
    /// The regulariser's weight within the matrix's term; only the matrix's own columns have one.
    pub(crate) reg: f64,
    pub(crate) l1: bool,
    pub(crate) nonnegative: bool,
}

/// One implicit gradient step on every row: the new row `u` solves `u = old - rate * gradient(u)`.
///
/// A plain step over thousands of cells at once would overshoot; this one cannot, whatever the rate.
pub(crate) fn half_step(rows: &mut [f32], rank: usize, nonzeros: &Sparse, other: &[f32], half: &Half) {
    let gram = gram(other, rank);
    // The system's matrix is the same for all rows: I + rate (S + reg I), reg only where it is a sum of squares.
    let ridge = if half.l1 { 0.0 } else { half.reg };
    let mut system: Vec<f64> = gram.iter().map(|&s| half.rate * s).collect();
    (0..rank).for_each(|j| system[j * rank + j] += 1.0 + half.rate * ridge);
    let inverse = if half.l1 || half.nonnegative { Vec::new() } else { inverse(&system, rank) };
    parallel::chunks_mut(rows, PIECE * rank, |piece, rows| {
        let mut target = vec![0.0f64; rank];
        for (offset, row) in rows.chunks_exact_mut(rank).enumerate() {
            nonzeros.pull(piece * PIECE + offset, other, rank, &mut target);
            for (target, &old) in target.iter_mut().zip(row.iter()) {
                *target = f64::from(old) + half.rate * *target;
            }
            if inverse.is_empty() {
                solve_constrained(&system, &target, row, half);
            } else {
                for (i, value) in row.iter_mut().enumerate() {
                    let terms = inverse[i * rank..(i + 1) * rank].iter().zip(&target);
                    *value = terms.map(|(a, b)| a * b).sum::<f64>() as f32;
                }
            }
        }
    });
}

/// Coordinate descent for the step's row where it must not be negative, or is pulled to zero by absolute values.
fn solve_constrained(system: &[f64], target: &[f64], row: &mut [f32], half: &Half) {
    let rank = target.len();
    let threshold = if half.l1 { half.rate * half.reg } else { 0.0 };
    for _ in 0..SWEEPS {
        for j in 0..rank {
            let others = (0..rank).filter(|&l| l != j).map(|l| system[j * rank + l] * f64::from(row[l]));
            let free = target[j] - others.sum::<f64>();
            let shrunk = free.signum() * (free.abs() - threshold).max(0.0) / system[j * rank + j];
            row[j] = if half.nonnegative && shrunk < 0.0 { 0.0 } else { shrunk as f32 };
        }
    }
}

/// The inverse of a symmetric matrix whose eigenvalues are all at least 1, by Gauss-Jordan without pivoting.
fn inverse(matrix: &[f64], rank: usize) -> Vec<f64> {
    let mut left = matrix.to_vec();
    let mut right = vec![0.0; rank * rank];
    (0..rank).for_each(|j| right[j * rank + j] = 1.0);
    for pivot in 0..rank {
        let scale = 1.0 / left[pivot * rank + pivot];
        for j in 0..rank {
            left[pivot * rank + j] *= scale;
            right[pivot * rank + j] *= scale;
        }
        for i in (0..rank).filter(|&i| i != pivot) {
            let factor = left[i * rank + pivot];
            for j in 0..rank {
                left[i * rank + j] -= factor * left[pivot * rank + j];
                right[i * rank + j] -= factor * right[pivot * rank + j];
            }
        }
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Sparse, Vec<f32>, Vec<f32>) {
        let cells = [(0, 0, 1.0), (0, 2, 2.0), (1, 1, -1.0)];
        let nonzeros = Sparse::new(2, cells.iter().copied());
        (nonzeros, vec![0.5, -0.2, 0.3, 0.9], vec![1.0, 0.5, -0.3, 0.8, 0.2, 0.1])
    }

    /// The gradient of half the squared error of one row over all cells, zeros included, plus the regulariser.
    fn gradient(dense: [f64; 3], row: &[f32], other: &[f32], reg: f64) -> [f64; 2] {
        let mut gradient = [reg * f64::from(row[0]), reg * f64::from(row[1])];
        for (k, &y) in dense.iter().enumerate() {
            let v = [f64::from(other[2 * k]), f64::from(other[2 * k + 1])];
            let error = y - f64::from(row[0]) * v[0] - f64::from(row[1]) * v[1];
            gradient[0] -= error * v[0];
            gradient[1] -= error * v[1];
        }
        gradient
    }

    #[test]
    fn the_step_is_an_implicit_gradient_step_over_all_cells() {
        let (nonzeros, mut rows, other) = example();
        let old = rows.clone();
        let half = Half { rate: 0.7, reg: 0.3, l1: false, nonnegative: false };
        half_step(&mut rows, 2, &nonzeros, &other, &half);
        for (row, dense) in [[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]].into_iter().enumerate() {
            let gradient = gradient(dense, &rows[2 * row..2 * row + 2], &other, 0.3);
            for j in 0..2 {
                let expected = f64::from(old[2 * row + j]) - 0.7 * gradient[j];
                assert!((f64::from(rows[2 * row + j]) - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_constrained_step_satisfies_its_optimality_conditions() {
        let (nonzeros, start, other) = example();
        let mut rows: Vec<f32> = start.iter().map(|value: &f32| value.abs()).collect();
        let old = rows.clone();
        let half = Half { rate: 0.7, reg: 0.3, l1: true, nonnegative: true };
        half_step(&mut rows, 2, &nonzeros, &other, &half);
        for (row, dense) in [[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]].into_iter().enumerate() {
            let gradient = gradient(dense, &rows[2 * row..2 * row + 2], &other, 0.0);
            for j in 0..2 {
                let value = f64::from(rows[2 * row + j]);
                let slope = value - f64::from(old[2 * row + j]) + 0.7 * (gradient[j] + 0.3);
                assert!(
                    value >= 0.0 && (slope.abs() < 1e-3 || (value == 0.0 && slope > 0.0)),
                    "{value} {slope}"
                );
            }
        }
    }
}
