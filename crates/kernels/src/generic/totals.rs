//! What becomes of the sums over a row's entries, see `RowTotals`.

use super::GROUP;
use crate::vector::Vector;

/// How often each number of a row's last vector is in a symmetric matrix of which the lower triangle is given: twice before the
/// diagonal, once on it.
const TIMES: [[f64; GROUP]; GROUP] = {
    let mut times = [[0.0; GROUP]; GROUP];
    let mut diagonal = 0;
    while diagonal < GROUP {
        let mut lane = 0;
        while lane < diagonal {
            times[diagonal][lane] = 2.0;
            lane += 1;
        }
        times[diagonal][diagonal] = 1.0;
        diagonal += 1;
    }
    times
};

/// Adds rows of `pad` numbers to rows of whole groups; `fresh` if nothing is there yet.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
pub(crate) unsafe fn widen<V: Vector>(totals: &mut [[f64; GROUP]], sums: &[f32], pad: usize, fresh: bool) {
    let stride = totals.len() / (sums.len() / pad);
    let len = pad.min(stride * GROUP);
    for (totals, sums) in totals.chunks_exact_mut(stride).zip(sums.chunks_exact(pad)) {
        let both = totals.as_flattened_mut().iter_mut().zip(&sums[..len]);
        if fresh {
            both.for_each(|(total, &sum)| *total = sum.into());
        } else {
            both.for_each(|(total, &sum)| *total += f64::from(sum));
        }
    }
}

/// Puts numbers times a weight in place of others.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
pub(crate) unsafe fn weigh<V: Vector>(totals: &[[f64; GROUP]], weight: f64, matrix: &mut [[f64; GROUP]]) {
    let numbers = matrix.as_flattened_mut().iter_mut().zip(totals.as_flattened());
    numbers.for_each(|(to, total)| *to = weight * total);
}

/// Moves numbers by a share of the way to those of a system: its triangle without the first column, and then that.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
pub(crate) unsafe fn approach<V: Vector>(
    matrix: &[[f64; GROUP]],
    stride: usize,
    share: f32,
    numbers: &mut [f32],
) {
    let moved = |number: f32, goal: f64| number + share * (goal as f32 - number);
    let mut rest = numbers;
    for (k, row) in (1..).zip(matrix.chunks_exact(stride).skip(1)) {
        let (numbers, after) = std::mem::take(&mut rest).split_at_mut(k);
        for (number, &goal) in numbers.iter_mut().zip(&row.as_flattened()[1..=k]) {
            *number = moved(*number, goal);
        }
        rest = after;
    }
    for (number, row) in rest.iter_mut().zip(matrix.chunks_exact(stride).skip(1)) {
        *number = moved(*number, row[0][0]);
    }
}

/// `x' S x` with the lower triangle of `S`.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
pub(crate) unsafe fn square<V: Vector>(totals: &[[f64; GROUP]], rank: usize, x: &[[f64; GROUP]]) -> f64 {
    let mut sums = [[0.0; GROUP]; 2];
    for (k, row) in totals.chunks_exact(x.len()).take(rank).enumerate() {
        let (vector, lane) = (k / GROUP, k % GROUP);
        let (own, sum) = (x[vector][lane], &mut sums[k % 2]);
        for (row, x) in row[..vector].iter().zip(x) {
            *sum = std::array::from_fn(|lane| sum[lane] + 2.0 * own * (row[lane] * x[lane]));
        }
        let (row, x, times) = (&row[vector], &x[vector], &TIMES[lane]);
        *sum = std::array::from_fn(|lane| sum[lane] + own * times[lane] * (row[lane] * x[lane]));
    }
    let [a, b, c, d, e, f, g, h]: [f64; GROUP] = std::array::from_fn(|lane| sums[0][lane] + sums[1][lane]);
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}
