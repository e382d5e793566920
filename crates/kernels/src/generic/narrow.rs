//! Designs where rows and designs are one vector each.

use super::named::{Named, Tables};
use crate::CHUNK;
use crate::prefetch::prefetch_line;
use crate::vector::Vector;

/// So many entries are taken together: as many chains of additions as leave none waiting for another.
const EIGHT: usize = 8;
/// So many if their tables are not the same, whose places stay in registers.
const FOUR: usize = 4;

/// [`super::design`] of rows of `N` numbers.
///
/// # Safety
/// As for that; rows and designs must be one vector each.
#[inline(always)]
pub(super) unsafe fn design_narrow<V: Vector, const N: usize>(
    tables: Tables<'_>,
    named: Named<'_>,
    scales: &[f32],
    d: &mut [f32],
    targets: &mut [f32],
) {
    let (indices, places) = (&named.indices[..scales.len()], tables.places);
    if indices.is_empty() {
        return;
    }
    // All at once, as what is done for an entry is little.
    let (row, place) = (largest(indices), largest(places));
    assert!((row + 1) * V::LANES <= named.rows.len(), "index {row} lies outside its rows");
    assert!((place + 1) * N * V::LANES <= tables.tables.len(), "there is no table {place}");
    // SAFETY: as the caller vouches; rows and tables lie inside, and there is a vector of `d` for each entry.
    unsafe {
        put_rows::<V>(named.rows.as_ptr(), (indices, scales), d.as_mut_ptr(), targets);
        let (table, mut rows) = (tables.tables.as_ptr(), d.as_mut_ptr());
        let (eights, rest) = places.as_chunks::<EIGHT>();
        for (eight, first) in eights.iter().zip((0..).step_by(EIGHT)) {
            fetch::<V>(named, first..first + EIGHT);
            tables.look_ahead(first + EIGHT..first + 2 * EIGHT, N);
            if eight.iter().all(|&place| place == eight[0]) {
                through_table::<V, N, EIGHT>(table.add(eight[0] as usize * N * V::LANES), rows);
            } else {
                let (fours, _) = eight.as_chunks::<FOUR>();
                through_tables::<V, N>(table, &fours[0], rows);
                through_tables::<V, N>(table, &fours[1], rows.add(FOUR * V::LANES));
            }
            rows = rows.add(EIGHT * V::LANES);
        }
        fetch::<V>(named, places.len() - rest.len()..places.len());
        for &place in rest {
            through_table::<V, N, 1>(table.add(place as usize * N * V::LANES), rows);
            rows = rows.add(V::LANES);
        }
    }
}

/// The largest of some numbers.
#[inline(always)]
fn largest(numbers: &[u32]) -> usize {
    let mut largest = 0;
    for &number in numbers {
        largest = largest.max(number);
    }
    largest as usize
}

/// Fetches the rows that entries name which come a chunk after some.
#[inline(always)]
fn fetch<V: Vector>(named: Named<'_>, entries: std::ops::Range<usize>) {
    let ahead = named.indices.get(entries.start + CHUNK..entries.end + CHUNK);
    for &index in ahead.unwrap_or_default() {
        prefetch_line(named.rows.as_ptr().wrapping_add(index as usize * V::LANES));
    }
}

/// Puts each entry's row, times its scale, where its design will be, and multiplies its target with the first number of that.
///
/// # Safety
/// The machine must have `V`'s instructions; rows must be there, and there must be room for a vector of each entry, and a target.
#[inline(always)]
unsafe fn put_rows<V: Vector>(
    rows: *const f32,
    (indices, scales): (&[u32], &[f32]),
    mut to: *mut f32,
    targets: &mut [f32],
) {
    for ((&index, &scale), target) in indices.iter().zip(scales).zip(targets) {
        // SAFETY: as the caller vouches.
        unsafe {
            let row = rows.add(index as usize * V::LANES);
            *target *= scale * *row;
            V::load(row).mul(V::splat(scale)).store(to);
            to = to.add(V::LANES);
        }
    }
}

/// Makes designs of the rows of four entries.
///
/// # Safety
/// The machine must have `V`'s instructions; there must be a vector for each entry, and their tables of `N`.
#[inline(always)]
#[allow(
    clippy::needless_range_loop,
    reason = "through iterators, sums are in memory and not in registers: half as fast"
)]
unsafe fn through_tables<V: Vector, const N: usize>(
    tables: *const f32,
    places: &[u32; FOUR],
    rows: *mut f32,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut own = [tables; FOUR];
        for (own, &place) in own.iter_mut().zip(places) {
            *own = own.add(place as usize * N * V::LANES);
        }
        if own.iter().all(|&other| other == own[0]) {
            return through_table::<V, N, FOUR>(own[0], rows);
        }
        let mut sums = [V::splat(0.0); FOUR];
        below!(N, AT => {
            for k in 0..FOUR {
                let vector = V::load(own[k].add(AT * V::LANES));
                sums[k] = vector.mul_add(V::splat(*rows.add(k * V::LANES + AT)), sums[k]);
            }
        });
        sums.iter().enumerate().for_each(|(k, sum)| sum.store(rows.add(k * V::LANES)));
    }
}

/// The same for so many entries that have one table.
///
/// # Safety
/// As for [`through_tables`].
#[inline(always)]
#[allow(
    clippy::needless_range_loop,
    reason = "through iterators, sums are in memory and not in registers: half as fast"
)]
unsafe fn through_table<V: Vector, const N: usize, const E: usize>(table: *const f32, rows: *mut f32) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums = [V::splat(0.0); E];
        below!(N, AT => {
            let vector = V::load(table.add(AT * V::LANES));
            for k in 0..E {
                sums[k] = vector.mul_add(V::splat(*rows.add(k * V::LANES + AT)), sums[k]);
            }
        });
        sums.iter().enumerate().for_each(|(k, sum)| sum.store(rows.add(k * V::LANES)));
    }
}
