//! Small symmetric systems, in f64.

use super::dense::dot;

/// A pivot below this share of its diagonal element is rounding.
const LEAST_PIVOT: f64 = 1e-9;
/// From so many rows on, sums in the lanes of vectors are faster; they are rounded in another way.
const LARGE: usize = 20;

/// The Cholesky factor of a positive definite matrix of `n` rows, of which the lower triangle is given and overwritten.
/// Where rounding has made it indefinite, the pivot is kept above zero.
pub(super) fn factorize(matrix: &mut [f64], n: usize) {
    match n {
        LARGE.. => factorize_by(matrix, n, dot),
        _ => factorize_by(matrix, n, short_dot),
    }
}

#[inline]
fn short_dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
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
        let sum = if n >= LARGE { dot(&row[..i], &b[..i]) } else { short_dot(&row[..i], &b[..i]) };
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
        factorize_by(&mut other, 3, dot);
        factor.iter().zip(other).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        solve_lower(&factor, 3, &mut b);
        solve_upper(&factor, 3, &mut b);
        b.iter().zip(x).for_each(|(got, x)| assert!((got - x).abs() < 1e-12));
    }

    #[test]
    fn so_are_large_ones() {
        let n = 41;
        let x: Vec<f64> = (0..n).map(|k| (k as f64).sin()).collect();
        let full = |i: usize, j: usize| if i == j { 9.0 } else { 1.0 / (1 + i.abs_diff(j)) as f64 };
        let mut b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| full(i, j) * x[j]).sum()).collect();
        let mut factor: Vec<f64> = (0..n * n).map(|place| full(place / n, place % n)).collect();
        factorize(&mut factor, n);
        solve_lower(&factor, n, &mut b);
        solve_upper(&factor, n, &mut b);
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
