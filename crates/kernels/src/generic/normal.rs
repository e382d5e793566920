//! Sums over the entries of one row, from which the row is solved for.

use super::named::{Named, Tables};
use super::narrow::design_narrow;
use crate::CHUNK;
use crate::vector::Vector;

/// For each entry `d = s T' b`, where `T` is its table, `b` the row that it names and `s` its scale; and its target times `s b[0]`.
///
/// # Safety
/// The machine must have `V`'s instructions; `tables.pad` must be whole vectors; there must be a place, a scale, a target and
/// `pad` numbers of `d` per entry.
#[inline(always)]
pub(crate) unsafe fn design<V: Vector>(
    tables: Tables<'_>,
    named: Named<'_>,
    scales: &[f32],
    d: &mut [f32],
    targets: &mut [f32],
) {
    let (count, pad) = (scales.len(), tables.pad);
    debug_assert!(pad.is_multiple_of(V::LANES) && tables.places.len() == count);
    debug_assert!(named.indices.len() >= count && d.len() == count * pad);
    // SAFETY: as the caller vouches; `first + E <= count` in every call.
    unsafe {
        if pad == V::LANES && named.stride == V::LANES {
            return of_rank!(named.rank, N => design_narrow::<V, N>(tables, named, scales, d, targets));
        }
        let mut first = 0;
        while first < count {
            // Tables are large here: entries that have one together load it once.
            let place = tables.places[first];
            let same = tables.places[first..].iter().take(4).take_while(|&&other| other == place).count();
            first += match same {
                4 => design_some::<V, 4>(tables, named, scales, (d, targets), first),
                3 => design_some::<V, 3>(tables, named, scales, (d, targets), first),
                2 => design_some::<V, 2>(tables, named, scales, (d, targets), first),
                _ => design_some::<V, 1>(tables, named, scales, (d, targets), first),
            };
        }
    }
}

/// `E` entries together that have one table. Returns how many.
///
/// # Safety
/// As for [`design`]; there must be `E` entries from `first` on.
#[inline(always)]
unsafe fn design_some<V: Vector, const E: usize>(
    tables: Tables<'_>,
    named: Named<'_>,
    scales: &[f32],
    (d, targets): (&mut [f32], &mut [f32]),
    first: usize,
) -> usize {
    let pad = tables.pad;
    let mut starts = [0usize; E];
    for (k, start) in starts.iter_mut().enumerate() {
        *start = named.start(first + k);
        named.look_ahead(first + k);
    }
    let own = tables.start(first, named.rank);
    // SAFETY: as the caller vouches; both `start` have checked that rows and the table lie inside.
    unsafe {
        let table = tables.tables.as_ptr().add(own);
        let rows = starts.map(|start| named.rows.as_ptr().add(start));
        for (k, row) in rows.iter().enumerate() {
            targets[first + k] *= scales[first + k] * **row;
        }
        let mut at = 0;
        while at < pad {
            let to = d.as_mut_ptr().add(first * pad + at);
            let table = (table.add(at), named.rank, pad);
            let scales = &scales[first..first + E];
            // Several vectors of the table at a time, so that there are enough chains of additions, and registers for them.
            at += V::LANES
                * match (pad - at) / V::LANES {
                    4.. if E <= 2 => columns::<V, E, 4>(table, rows, scales, to),
                    3 => columns::<V, E, 3>(table, rows, scales, to),
                    2.. => columns::<V, E, 2>(table, rows, scales, to),
                    _ => columns::<V, E, 1>(table, rows, scales, to),
                };
        }
    }
    E
}

/// `W` vectors of the designs of `E` entries that have one table. Returns how many.
///
/// # Safety
/// As for [`design`]: the rows and the table must have `rank` numbers, and rows of `pad`, of which there are `W` vectors left, as
/// there are of `to`.
#[inline(always)]
unsafe fn columns<V: Vector, const E: usize, const W: usize>(
    (table, rank, pad): (*const f32, usize, usize),
    rows: [*const f32; E],
    scales: &[f32],
    to: *mut f32,
) -> usize {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums = [[V::splat(0.0); W]; E];
        for k in 0..rank {
            let vectors: [V; W] = std::array::from_fn(|part| V::load(table.add(k * pad + part * V::LANES)));
            for (sums, row) in sums.iter_mut().zip(rows) {
                let number = V::splat(*row.add(k));
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = vector.mul_add(number, *sum);
                }
            }
        }
        for (k, (sums, &scale)) in sums.iter().zip(scales).enumerate() {
            for (part, sum) in sums.iter().enumerate() {
                sum.mul(V::splat(scale)).store(to.add(k * pad + part * V::LANES));
            }
        }
    }
    W
}

/// [`gram`] of the rows that entries name, where they are, after each entry's target is multiplied with the first number of its row.
///
/// # Safety
/// The machine must have `V`'s instructions; there must be [`CHUNK`] targets at most; `named.stride` must be whole vectors, of which
/// `squares` must be `named.rank` rows and `products` one.
#[inline(always)]
pub(crate) unsafe fn pair<V: Vector>(
    named: Named<'_>,
    targets: &mut [f32],
    squares: &mut [f32],
    products: &mut [f32],
) {
    let (rank, pad) = (named.rank, named.stride);
    debug_assert!(targets.len() <= CHUNK && targets.len() <= named.indices.len());
    let mut starts = [0usize; CHUNK];
    for (entry, (target, start)) in targets.iter_mut().zip(&mut starts).enumerate() {
        named.look_ahead(entry);
        *start = named.start(entry);
        *target *= named.rows[*start];
    }
    let starts = &starts[..targets.len()];
    // SAFETY: as the caller vouches; `start` has checked that each row lies inside.
    unsafe {
        let rows = || starts.iter().map(|&start| named.rows.as_ptr().add(start));
        sum_products::<V, _>(rows, (pad, rank), targets, squares, products);
    }
}

/// Adds up, over the rows `d` of `pad` numbers, the products `d d'` (the lower triangle of the first `rank` rows; beyond
/// it are numbers without meaning) and `value d`.
///
/// # Safety
/// The machine must have `V`'s instructions; `pad` must be whole vectors and at least `rank`; `d` must be a row per value,
/// `squares` must be `rank` rows and `products` one.
#[inline(always)]
pub(crate) unsafe fn gram<V: Vector>(
    d: &[f32],
    pad: usize,
    rank: usize,
    values: &[f32],
    squares: &mut [f32],
    products: &mut [f32],
) {
    debug_assert!(pad.is_multiple_of(V::LANES) && rank <= pad && d.len() == values.len() * pad);
    debug_assert!(squares.len() == rank * pad && products.len() == pad);
    // SAFETY: as the caller vouches.
    unsafe {
        let rows = || (0..values.len()).map(|entry| d.as_ptr().add(entry * pad));
        sum_products::<V, _>(rows, (pad, rank), values, squares, products);
    }
}

/// The sums of [`gram`] over rows wherever they are.
///
/// # Safety
/// As for [`gram`]; there must be a row per value, and each must be `pad` numbers.
#[inline(always)]
unsafe fn sum_products<V: Vector, I: Iterator<Item = *const f32>>(
    rows: impl Fn() -> I,
    (pad, rank): (usize, usize),
    values: &[f32],
    squares: &mut [f32],
    products: &mut [f32],
) {
    // SAFETY: as the caller vouches; every tile ends at or before `rank`.
    unsafe {
        for at in (0..pad).step_by(V::LANES) {
            let products = products.as_mut_ptr().add(at);
            // Rows above the vector's first column have nothing of the lower triangle in it.
            let mut row = at;
            while row < rank {
                let to = (squares.as_mut_ptr().add(row * pad + at), products);
                let place = (pad, row, at);
                row += in_tiles!(rank - row, R => {
                    if row == at {
                        tile::<V, R, true>(rows(), values, place, to)
                    } else {
                        tile::<V, R, false>(rows(), values, place, to)
                    }
                });
            }
        }
    }
}

/// `R` rows of one column of vectors of `sum d d'`, and if `P` that column of `sum x d`, kept in registers over all entries. Returns how
/// many rows.
///
/// # Safety
/// As for [`sum_products`], with `row + R <= rank` and `at + LANES <= pad`; `to` must be where that row has that column, and `products`
/// that column.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const P: bool>(
    rows: impl Iterator<Item = *const f32>,
    values: &[f32],
    (pad, row, at): (usize, usize, usize),
    (to, products): (*mut f32, *mut f32),
) -> usize {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums: [V; R] = std::array::from_fn(|k| V::load(to.add(k * pad)));
        let mut valued = V::load(products);
        for (from, &value) in rows.zip(values) {
            let vector = V::load(from.add(at));
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = vector.mul_add(V::splat(*from.add(row + k)), *sum);
            }
            if P {
                valued = vector.mul_add(V::splat(value), valued);
            }
        }
        for (k, sum) in sums.iter().enumerate() {
            sum.store(to.add(k * pad));
        }
        if P {
            valued.store(products);
        }
    }
    R
}
