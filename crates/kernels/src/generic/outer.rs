//! Rows of outer modes: fetched before a chunk, stepped after it.

use super::{reg_of, start_of, stepped};
use crate::rows::Rows;
use crate::vector::Vector;
use crate::{Side, Step};

/// Copies each entry's row to `to`, one after the other.
///
/// # Safety
/// The machine must have `V`'s instructions; `to` must have room for a row per index.
#[inline(always)]
pub(crate) unsafe fn load_rows<V: Vector, R: Rows>(side: &Side<'_, R>, to: &mut [f32]) {
    debug_assert!(to.len() == side.indices.len() * side.rank);
    let to = to.as_mut_ptr();
    for entry in 0..side.indices.len() {
        let start = start_of(side, side.rows.len(), entry);
        for at in (0..side.rank).step_by(V::LANES) {
            let count = (side.rank - at).min(V::LANES);
            // SAFETY: `start_of` keeps the row inside its slice; `to` has room for it, as the caller vouches.
            unsafe {
                let part: V = side.rows.load_vector(start + at, count);
                let to = to.add(entry * side.rank + at);
                if count == V::LANES { part.store(to) } else { part.store_part(to, count) }
            }
        }
    }
}

/// Steps each entry's row along its gradient, with a rate of its own, as often as `times` says at once.
///
/// # Safety
/// The machine must have `V`'s instructions; there must be a gradient and a rate per index.
#[inline(always)]
pub(crate) unsafe fn step_rows<V: Vector, R: Rows>(
    side: &mut Side<'_, R>,
    gradients: &[f32],
    rates: &[f32],
    times: f32,
    step: Step,
) {
    debug_assert!(gradients.len() == side.indices.len() * side.rank && rates.len() == side.indices.len());
    for (entry, &rate) in rates.iter().enumerate() {
        let start = start_of(side, side.rows.len(), entry);
        let (reg, step) = (times * reg_of(side, entry), Step { rate, ..step });
        for at in (0..side.rank).step_by(V::LANES) {
            let count = (side.rank - at).min(V::LANES);
            // SAFETY: `start_of` keeps the row inside its slice; its gradient is there, as the caller vouches.
            unsafe {
                let from = gradients.as_ptr().add(entry * side.rank + at);
                let gradient = if count == V::LANES { V::load(from) } else { V::load_part(from, count) };
                let old: V = side.rows.load_vector(start + at, count);
                let new = stepped(old, gradient, V::splat(rate), reg, step);
                side.rows.store_vector(start + at, count, new);
            }
        }
    }
}
