//! Small dense matrices, and what makes them of tall ones: in f64, and in a fixed order, whatever the threads.

use crate::parallel;

/// Rows are summed in pieces of this many, so that the sum does not depend on the threads.
const PIECE: usize = 2048;
/// Numbers that are dealt with together, so that they fill the vectors of any machine.
const LANES: usize = 4;

/// The scalar product.
#[inline]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

/// Adds a row, times a number, to another.
#[inline]
pub(super) fn add_scaled(target: &mut [f64], by: f64, row: &[f64]) {
    let ((target, target_rest), (row, row_rest)) =
        (target.as_chunks_mut::<LANES>(), row.as_chunks::<LANES>());
    for (target, row) in target.iter_mut().zip(row) {
        for (target, row) in target.iter_mut().zip(row) {
            *target += by * row;
        }
    }
    target_rest.iter_mut().zip(row_rest).for_each(|(target, row)| *target += by * row);
}

/// Puts the products of two rows' numbers into a third.
#[inline]
pub(super) fn multiply(target: &mut [f64], a: &[f64], b: &[f64]) {
    let (target, target_rest) = target.as_chunks_mut::<LANES>();
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (target, (a, b)) in target.iter_mut().zip(a.iter().zip(b)) {
        for (target, (a, b)) in target.iter_mut().zip(a.iter().zip(b)) {
            *target = a * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    target_rest.iter_mut().zip(rest).for_each(|(target, (a, b))| *target = a * b);
}

/// Adds `weight row' row` to the lower triangle of a matrix; what is above it has no meaning.
#[inline]
pub(super) fn add_square(sum: &mut [f64], row: &[f64], weight: f64) {
    let rank = row.len();
    for (i, (sum, &by)) in sum.chunks_exact_mut(rank).zip(row).enumerate() {
        // Whole lanes, though they may reach beyond the diagonal.
        let end = (i / LANES + 1).saturating_mul(LANES).min(rank);
        add_scaled(&mut sum[..end], weight * by, &row[..end]);
    }
}

/// Adds `row M` to a row, with `M` of as many columns as that has.
pub(super) fn add_product(target: &mut [f64], row: &[f64], matrix: &[f64], weight: f64) {
    for (&by, values) in row.iter().zip(matrix.chunks_exact(target.len())) {
        add_scaled(target, weight * by, values);
    }
}

/// `A'B` of two factors with as many rows, of `a` and `b` columns.
pub(super) fn cross(left: &[f64], a: usize, right: &[f64], b: usize) -> Vec<f64> {
    let pieces = left.chunks(PIECE * a).zip(right.chunks(PIECE * b));
    let pieces = parallel::map_of(pieces, |(left, right)| {
        let mut sum = vec![0.0; a * b];
        for (left, right) in left.chunks_exact(a).zip(right.chunks_exact(b)) {
            for (sum, &by) in sum.chunks_exact_mut(b).zip(left) {
                add_scaled(sum, by, right);
            }
        }
        sum
    });
    let mut total = vec![0.0; a * b];
    for piece in pieces {
        total.iter_mut().zip(piece).for_each(|(total, piece)| *total += piece);
    }
    total
}

/// The Gram matrix `F'F`.
pub(super) fn gram(values: &[f64], rank: usize) -> Vec<f64> {
    cross(values, rank, values, rank)
}

/// The scalar product of long lists: in pieces, with all threads.
pub(super) fn long_dot(a: &[f64], b: &[f64]) -> f64 {
    const LONG: usize = 1 << 14;
    parallel::map_of(a.chunks(LONG).zip(b.chunks(LONG)), |(a, b)| dot(a, b)).into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_dealt_with_whole() {
        for len in 1..14usize {
            let a: Vec<f64> = (0..len).map(|k| k as f64 - 2.0).collect();
            let b: Vec<f64> = (0..len).map(|k| (k * k) as f64 + 1.0).collect();
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>());
            let mut sum = b.clone();
            add_scaled(&mut sum, 3.0, &a);
            assert!(sum.iter().zip(a.iter().zip(&b)).all(|(sum, (a, b))| *sum == b + 3.0 * a));
            multiply(&mut sum, &a, &b);
            assert!(sum.iter().zip(a.iter().zip(&b)).all(|(sum, (a, b))| *sum == a * b));
            let mut square = vec![0.0; len * len];
            add_square(&mut square, &a, 2.0);
            for i in 0..len {
                for j in 0..=i {
                    assert_eq!(square[i * len + j], 2.0 * a[i] * a[j]);
                }
            }
        }
    }

    #[test]
    fn a_cross_product_is_the_sum_over_rows() {
        let left: Vec<f64> = (0..2 * 5000).map(|place| (place % 7) as f64 - 3.0).collect();
        let right: Vec<f64> = (0..3 * 5000).map(|place| (place % 5) as f64 - 2.0).collect();
        let sums = cross(&left, 2, &right, 3);
        for i in 0..2 {
            for j in 0..3 {
                let rows = left.chunks(2).zip(right.chunks(3));
                assert_eq!(sums[i * 3 + j], rows.map(|(left, right)| left[i] * right[j]).sum::<f64>());
            }
        }
        assert_eq!(long_dot(&left, &left), left.iter().map(|value| value * value).sum::<f64>());
    }
}
