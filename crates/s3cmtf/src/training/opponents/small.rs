//! Small matrices and what makes them of tall ones, in f64 and in a fixed order.

use rayon::prelude::*;

/// Rows are summed in pieces of this many, so that the sum does not depend on the threads.
const PIECE: usize = 2048;

/// `A'B` of two factors with as many rows, of `a` and `b` columns.
pub(super) fn cross(left: &[f64], a: usize, right: &[f64], b: usize) -> Vec<f64> {
    let pieces: Vec<Vec<f64>> = left
        .par_chunks(PIECE * a)
        .zip(right.par_chunks(PIECE * b))
        .map(|(left, right)| {
            let mut sum = vec![0.0; a * b];
            for (left, right) in left.chunks_exact(a).zip(right.chunks_exact(b)) {
                for (sum, &by) in sum.chunks_exact_mut(b).zip(left) {
                    sum.iter_mut().zip(right).for_each(|(sum, value)| *sum += by * value);
                }
            }
            sum
        })
        .collect();
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

/// Adds `row M` to a row, with `M` of as many columns as that has.
pub(super) fn add_product(target: &mut [f64], row: &[f64], matrix: &[f64], weight: f64) {
    for (&by, values) in row.iter().zip(matrix.chunks_exact(target.len())) {
        target.iter_mut().zip(values).for_each(|(target, value)| *target += weight * by * value);
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The same of long lists: in pieces, with all threads.
pub(super) fn long_dot(a: &[f64], b: &[f64]) -> f64 {
    const LONG: usize = 1 << 14;
    let pieces: Vec<f64> = a.par_chunks(LONG).zip(b.par_chunks(LONG)).map(|(a, b)| dot(a, b)).collect();
    pieces.into_iter().sum()
}
