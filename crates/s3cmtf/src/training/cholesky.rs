//! Small symmetric systems, in f64.

use super::dense::dot;

/// A pivot below this share of its diagonal element is rounding.
const LEAST_PIVOT: f64 = 1e-9;

/// The Cholesky factor of a positive definite matrix of `n` rows, of which the lower triangle is given and overwritten.
/// Where rounding has made it indefinite, the pivot is kept above zero.
pub(super) fn factorize(matrix: &mut [f64], n: usize) {
    factorize_by(matrix, n, |a, b| a.iter().zip(b).map(|(a, b)| a * b).sum());
}

/// The same with sums in the lanes of vectors: faster from about twenty rows on, and rounded in another way.
pub(super) fn factorize_in_lanes(matrix: &mut [f64], n: usize) {
    factorize_by(matrix, n, dot);
}

fn factorize_by(matrix: &mut [f64], n: usize, dot: impl Fn(&[f64], &[f64]) -> f64) {
    assert_eq!(matrix.len(), n * n);
    for j in 0..n {
        let diagonal = matrix[j * n + j];
        let (above, below) = matrix.split_at_mut((j + 1) * n);
        let row = &mut above[j * n..];
        let rest = diagonal - dot(&row[..j], &row[..j]);
        let pivot = rest.max(LEAST_PIVOT * diagonal).max(f64::MIN_POSITIVE).sqrt();
        row[j] = pivot;
        for other in below.chunks_exact_mut(n) {
            other[j] = (other[j] - dot(&other[..j], &row[..j])) / pivot;
        }
    }
}

/// Solves `L x = b` in place.
pub(super) fn solve_lower(factor: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        let row = &factor[i * n..=i * n + i];
        let sum: f64 = row[..i].iter().zip(b.iter()).map(|(a, b)| a * b).sum();
        b[i] = (b[i] - sum) / row[i];
    }
}

/// Solves `L' x = b` in place.
pub(super) fn solve_upper(factor: &[f64], n: usize, b: &mut [f64]) {
    for i in (0..n).rev() {
        let value = b[i] / factor[i * n + i];
        b[i] = value;
        for (b, a) in b[..i].iter_mut().zip(&factor[i * n..i * n + i]) {
            *b -= a * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved() {
        let matrix = [4.0, 0.0, 0.0, 2.0, 5.0, 0.0, -1.0, 0.5, 3.0];
        let full = |i: usize, j: usize| if i >= j { matrix[i * 3 + j] } else { matrix[j * 3 + i] };
        let x = [1.0, -2.0, 0.5];
        let mut b: Vec<f64> = (0..3).map(|i| (0..3).map(|j| full(i, j) * x[j]).sum()).collect();
        let mut factor = matrix;
        factorize(&mut factor, 3);
        let mut other = matrix;
        factorize_in_lanes(&mut other, 3);
        factor.iter().zip(other).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        solve_lower(&factor, 3, &mut b);
        solve_upper(&factor, 3, &mut b);
        b.iter().zip(x).for_each(|(got, x)| assert!((got - x).abs() < 1e-12));
    }

    #[test]
    fn a_singular_matrix_gives_numbers() {
        let mut factor = [1.0, 0.0, 1.0, 1.0];
        factorize(&mut factor, 2);
        let mut b = [1.0, 1.0];
        solve_lower(&factor, 2, &mut b);
        solve_upper(&factor, 2, &mut b);
        assert!(b.iter().all(|value| value.is_finite()));
        let mut zero = [0.0];
        factorize(&mut zero, 1);
        assert!(zero[0] > 0.0);
    }
}
