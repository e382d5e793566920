//! From rows to lanes and back.

use crate::vector::{MOST_LANES, Vector};

/// Number `c` of row `r` becomes lane `r` of vector `c` at `to`. Lanes without a row are zero, and so are vectors beyond
/// the columns, up to the next whole `LANES`.
///
/// # Safety
/// The machine must have `V`'s instructions; `rows <= LANES` rows of `columns` numbers must be readable at `from`,
/// `stride` apart, and `columns` vectors, up to whole `LANES`, writable at `to`.
#[inline(always)]
pub(super) unsafe fn to_lanes<V: Vector>(
    from: *const f32,
    stride: usize,
    rows: usize,
    columns: usize,
    to: *mut f32,
) {
    // SAFETY: as the caller vouches; a vector that goes beyond the columns is read in part.
    unsafe {
        for first in (0..columns).step_by(V::LANES) {
            let count = (columns - first).min(V::LANES);
            let mut tile = [V::splat(0.0); MOST_LANES];
            for (row, vector) in tile.iter_mut().take(V::LANES).enumerate() {
                if row < rows {
                    let from = from.add(row * stride + first);
                    *vector = if count == V::LANES { V::load(from) } else { V::load_part(from, count) };
                }
            }
            V::transpose(&mut tile);
            for (column, vector) in tile.iter().take(V::LANES).enumerate() {
                vector.store(to.add((first + column) * V::LANES));
            }
        }
    }
}

/// `LANES` vectors at `from`, lane `r` of vector `c` as lane `c` of vector `r`.
///
/// # Safety
/// The machine must have `V`'s instructions; so many vectors must be readable at `from`.
#[inline(always)]
pub(super) unsafe fn rows_of<V: Vector>(from: *const f32) -> [V; MOST_LANES] {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut tile = [V::splat(0.0); MOST_LANES];
        for (column, vector) in tile.iter_mut().take(V::LANES).enumerate() {
            *vector = V::load(from.add(column * V::LANES));
        }
        V::transpose(&mut tile);
        tile
    }
}

/// Lane `r` of vector `c` becomes number `c` of row `r` at `to`.
///
/// # Safety
/// The machine must have `V`'s instructions; `columns` vectors, up to whole `LANES`, must be readable at `from`, and
/// `rows <= LANES` rows of `columns` numbers writable at `to`, `stride` apart.
#[inline(always)]
pub(super) unsafe fn from_lanes<V: Vector>(
    from: *const f32,
    to: *mut f32,
    stride: usize,
    rows: usize,
    columns: usize,
) {
    // SAFETY: as the caller vouches; a vector that goes beyond the columns is written in part.
    unsafe {
        for first in (0..columns).step_by(V::LANES) {
            let count = (columns - first).min(V::LANES);
            let tile: [V; MOST_LANES] = rows_of(from.add(first * V::LANES));
            for (row, vector) in tile.iter().take(V::LANES).enumerate() {
                if row < rows {
                    let to = to.add(row * stride + first);
                    if count == V::LANES { vector.store(to) } else { vector.store_part(to, count) }
                }
            }
        }
    }
}
