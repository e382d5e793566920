//! Systems of a row's unknowns, see `RowSystem`.

use crate::vector::Vector;

/// Numbers that are dealt with together: rows are whole numbers of these.
pub(crate) const GROUP: usize = 8;
/// A pivot below this share of its diagonal element is rounding.
const LEAST_PIVOT: f64 = 1e-9;

/// Eliminates all unknowns, the last first, and sets `reciprocals` to those of their pivots. Rows are left unscaled.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
pub(crate) unsafe fn factorize<V: Vector>(
    matrix: &mut [[f64; GROUP]],
    diagonal: &[f64],
    reciprocals: &mut [f64],
) {
    let rank = diagonal.len();
    let stride = matrix.len() / rank;
    debug_assert!(stride == rank.div_ceil(GROUP) && reciprocals.len() == rank);
    for i in (1..rank).rev() {
        let mut pivot = 0.0;
        // Four vectors at a time, the last of which are the diagonal's.
        for first in (0..=i / GROUP).step_by(4) {
            pivot = match i / GROUP - first {
                0 => eliminate::<1>(matrix, stride, (i, first), reciprocals),
                1 => eliminate::<2>(matrix, stride, (i, first), reciprocals),
                2 => eliminate::<3>(matrix, stride, (i, first), reciprocals),
                _ => eliminate::<4>(matrix, stride, (i, first), reciprocals),
            };
        }
        reciprocals[i] = 1.0 / pivot.max(LEAST_PIVOT * diagonal[i]).max(f64::MIN_POSITIVE);
    }
}

/// What is left of some vectors of a row when all later unknowns are eliminated; returns the last number up to the diagonal.
#[inline(always)]
fn eliminate<const N: usize>(
    matrix: &mut [[f64; GROUP]],
    stride: usize,
    (i, first): (usize, usize),
    reciprocals: &[f64],
) -> f64 {
    let (own, later) = matrix[i * stride..].split_at_mut(stride);
    let mut row: [[f64; GROUP]; N] = std::array::from_fn(|at| own[first + at]);
    let (vector, lane) = (i / GROUP, i % GROUP);
    for (other, reciprocal) in later.chunks_exact(stride).zip(&reciprocals[i + 1..]) {
        let times = other[vector][lane] * reciprocal;
        let other = &other[first..first + N];
        for (row, other) in row.iter_mut().zip(other) {
            *row = std::array::from_fn(|lane| row[lane] - times * other[lane]);
        }
    }
    own[first..first + N].copy_from_slice(&row);
    own[vector][lane]
}

/// Solves for all unknowns, the first first: `x[1..]` of the factorized matrix and as many numbers.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
pub(crate) unsafe fn solve<V: Vector>(
    matrix: &[[f64; GROUP]],
    reciprocals: &[f64],
    numbers: &[f64],
    x: &mut [[f64; GROUP]],
) {
    let stride = x.len();
    debug_assert!(matrix.len() == (numbers.len() + 1) * stride && reciprocals.len() == numbers.len() + 1);
    // The first column is added.
    x[0][0] = -1.0;
    let rows = matrix[stride..].chunks_exact(stride).zip(&reciprocals[1..]);
    for ((k, (row, &reciprocal)), &number) in (1..).zip(rows).zip(numbers) {
        let (vector, lane) = (k / GROUP, k % GROUP);
        let mut sums = [0.0f64; GROUP];
        for (a, b) in row[..vector].iter().zip(&*x) {
            sums = std::array::from_fn(|lane| sums[lane] + a[lane] * b[lane]);
        }
        let [a, b, c, d, e, f, g, h] = sums;
        let mut sum = ((a + e) + (c + g)) + ((b + f) + (d + h));
        for (a, b) in row[vector][..lane].iter().zip(&x[vector]) {
            sum += a * b;
        }
        x[vector][lane] = number * reciprocal.sqrt() - sum * reciprocal;
    }
}
