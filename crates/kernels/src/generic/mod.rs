//! The algorithm, once, over any vector type.
//!
//! Everything here is `inline(always)`: it must be compiled inside the shells in `arch`, where the vector's
//! instructions are enabled.
//!
//! A `p` x `q` matrix stands row after row without gaps. A vector that is read at the end of a row therefore has the
//! start of the next row in its last lanes; whatever it is multiplied with has zeros there.

/// Runs something for the next of so many rows, with a constant number of them: twelve at most, which leaves registers for the rest, and
/// all about as many, as few rows wait for each other's additions.
macro_rules! in_tiles {
    ($left:expr, $rows:ident => $run:expr) => {
        in_tiles!(@ $left, $rows, $run, 1 2 3 4 5 6 7 8 9 10 11)
    };
    (@ $left:expr, $rows:ident, $run:expr, $($count:literal)*) => {
        match $left.div_ceil($left.div_ceil(12)) {
            $($count => {
                const $rows: usize = $count;
                $run
            })*
            _ => {
                const $rows: usize = 12;
                $run
            }
        }
    };
}

/// Runs something with a constant rank, of a row that is one vector.
macro_rules! of_rank {
    ($rank:expr, $constant:ident => $run:expr) => {
        of_rank!(@ $rank, $constant, $run, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $rank:expr, $constant:ident, $run:expr, $($count:literal)*) => {
        match $rank {
            $($count if $count <= V::LANES => {
                const $constant: usize = $count;
                $run
            })*
            _ => {
                const $constant: usize = 16;
                $run
            }
        }
    };
}

/// Runs something for each number below a constant one, all of which are constant.
macro_rules! below {
    ($count:expr, $number:ident => $run:expr) => {
        below!(@ $count, $number, $run, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $count:expr, $number:ident, $run:expr, $($constant:literal)*) => {
        $(if $constant < $count {
            const $number: usize = $constant;
            $run
        })*
    };
}

mod chains;
mod diagonal;
mod mixed;
mod named;
mod narrow;
mod normal;
mod outer;
mod passes;
mod predict;
mod shared;
mod systems;
mod totals;

pub(crate) use chains::{CHAINS, chains};
pub(crate) use diagonal::diagonal;
pub(crate) use mixed::{bilinear_mixed, combine_mixed, predict_mixed, spread_mixed};
pub(crate) use named::{Named, Tables};
pub(crate) use normal::{design, gram, pair};
pub(crate) use outer::{load_rows, step_rows};
pub(crate) use passes::{
    Perturbed, Weights, collect, fold, fold_runs, product, project, residuals, unfold, unfold_runs,
};
pub(crate) use predict::predict;
pub(crate) use shared::{bilinear, combine, core_step};
pub(crate) use systems::{GROUP, factorize, solve};
pub(crate) use totals::{approach, square, weigh, widen};

use crate::prefetch::prefetch_line;
use crate::rows::Rows;
use crate::vector::Vector;
use crate::{Reg, Side, Step, Sums};

/// Rows are prefetched this many entries before they are needed.
const AHEAD: usize = 8;

/// The sum over `j` of `x[j]` times vector `at` of row `j` of `matrix`; `count` is a multiple of 4.
///
/// # Safety
/// `count` numbers must be readable at `x`, and a vector at `matrix + j * stride` for each `j < count`.
#[inline(always)]
unsafe fn weighted_rows<V: Vector>(x: *const f32, count: usize, matrix: *const f32, stride: usize) -> V {
    // SAFETY: as the caller vouches; `j + part < count` since `count` is a multiple of 4.
    unsafe {
        let mut sums = [V::splat(0.0); 4];
        let mut j = 0;
        while j < count {
            for (part, sum) in sums.iter_mut().enumerate() {
                let factor = V::splat(*x.add(j + part));
                *sum = V::load(matrix.add((j + part) * stride)).mul_add(factor, *sum);
            }
            j += 4;
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3]))
    }
}

/// The new values of a vector of a row: a step along `gradient`, the regulariser, the constraint.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
unsafe fn stepped<V: Vector>(old: V, gradient: V, scale: V, reg: f32, step: Step) -> V {
    // SAFETY: as the caller vouches.
    unsafe {
        let shrink = step.rate * reg;
        shrunk(old, gradient, scale, V::splat(shrink), V::splat(1.0 - shrink), step)
    }
}

/// The same with the regulariser as a vector: what it takes of absolute values, and the share of squares that it leaves.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
unsafe fn shrunk<V: Vector>(old: V, gradient: V, scale: V, by: V, left: V, step: Step) -> V {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut new = if step.l1 {
            // A soft threshold: a step that would cross zero stops there, so zeros stay zeros.
            let moved = gradient.mul_add(scale, old);
            let zero = V::splat(0.0);
            zero.max(moved.sub(by)).sub(zero.max(zero.sub(moved).sub(by)))
        } else {
            gradient.mul_add(scale, old.mul(left))
        };
        if step.nonnegative {
            new = V::splat(0.0).max(new);
        }
        new
    }
}

/// Where a side's row stands, if it is one of its rows.
#[inline(always)]
fn start_of<R>(side: &Side<'_, R>, len: usize, entry: usize) -> usize {
    let index = side.indices[entry];
    let start = index.wrapping_sub(side.base) as usize * side.rank;
    assert!(start + side.rank <= len, "index {index} lies outside its rows");
    start
}

/// Where the first `N` numbers of a row can be read one by one until it is stored: where it stands if it is ours and so
/// long, else in `copy`, where `vector`, the row, is put. A number that was just stored by a vector comes late.
///
/// # Safety
/// The row must be `vector`; there must be room for one at `copy`.
#[inline(always)]
unsafe fn single_numbers<V: Vector, R: Rows, const N: usize>(
    side: &Side<'_, R>,
    start: usize,
    vector: V,
    copy: *mut f32,
) -> *const f32 {
    if R::OWNED && side.rank == N {
        return side.rows.address().wrapping_add(start);
    }
    // SAFETY: as the caller vouches.
    unsafe { vector.store(copy) };
    copy
}

/// The weight of the regulariser of an entry's row.
#[inline(always)]
fn reg_of<R>(side: &Side<'_, R>, entry: usize) -> f32 {
    match side.reg {
        Reg::None => 0.0,
        Reg::Rows(rows) => rows[side.indices[entry] as usize],
        Reg::Coded { rows, codes, table } => match codes[entry] {
            0 => rows[side.indices[entry] as usize],
            code => table[code as usize],
        },
    }
}

#[inline(always)]
fn note_error(sums: &mut Sums, value: f32, prediction: f32) -> f32 {
    let error = value - prediction;
    sums.squared_error += f64::from(error) * f64::from(error);
    sums.squared_prediction += f64::from(prediction) * f64::from(prediction);
    error
}

/// Prefetches the rows of entries to come.
#[inline(always)]
fn look_ahead<R: Rows>(side: &Side<'_, R>, entry: usize) {
    look_ahead_at(side, side.rows.address(), entry);
}

#[inline(always)]
fn look_ahead_at<R>(side: &Side<'_, R>, rows: *const f32, entry: usize) {
    if let Some(&index) = side.indices.get(entry + AHEAD) {
        let row = rows.wrapping_add(index.wrapping_sub(side.base) as usize * side.rank);
        prefetch_line(row);
        prefetch_line(row.wrapping_add(side.rank - 1));
        if let Reg::Rows(rows) = side.reg {
            prefetch_line(rows.as_ptr().wrapping_add(index as usize));
        }
    }
}
