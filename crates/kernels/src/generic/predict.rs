//! Predictions of entries that share their `T`.

use super::{look_ahead_at, start_of, weighted_rows};
use crate::buffers::Buffers;
use crate::rows::copy;
use crate::vector::Vector;
use crate::{Shape, Side};

/// `a' T b` of each entry.
///
/// # Safety
/// The machine must have `V`'s instructions; ranks and buffers must be `shape`'s.
#[inline(always)]
pub(crate) unsafe fn predict<V: Vector>(
    shape: &Shape,
    p: &Side<'_, &[f32]>,
    q: &Side<'_, &[f32]>,
    buffers: &mut Buffers,
    predictions: &mut [f32],
) {
    let one_vector = shape.p_pad == V::LANES && shape.q_pad == V::LANES;
    // SAFETY: as the caller vouches; where a row is one vector, the constant is the first rank in fours.
    unsafe {
        match shape.p_pad4() {
            4 if one_vector => in_registers::<V, 4>(shape, p, q, buffers, predictions),
            8 if one_vector => in_registers::<V, 8>(shape, p, q, buffers, predictions),
            12 if one_vector => in_registers::<V, 12>(shape, p, q, buffers, predictions),
            16 if one_vector => in_registers::<V, 16>(shape, p, q, buffers, predictions),
            _ => by_parts::<V>(shape, p, q, buffers, predictions),
        }
    }
}

/// Entries that share a `T` which, with rows of one vector, stays in registers.
///
/// # Safety
/// As for [`predict`], with both ranks at most `V::LANES`, and `N` the first one in fours.
#[inline(always)]
unsafe fn in_registers<V: Vector, const N: usize>(
    shape: &Shape,
    p: &Side<'_, &[f32]>,
    q: &Side<'_, &[f32]>,
    buffers: &mut Buffers,
    predictions: &mut [f32],
) {
    // SAFETY: `start_of` keeps rows inside their slices; `T` has room behind it to read `N` rows; the buffer has room for
    // a row of each of four entries.
    unsafe {
        let t = buffers.t.as_slice().as_ptr();
        let t: [V; N] = std::array::from_fn(|row| V::load(t.add(row * shape.q)));
        let rows = buffers.a.as_mut_slice().as_mut_ptr();
        for (four, predictions) in predictions.chunks_mut(4).enumerate() {
            let mut dots = [V::splat(0.0); 4];
            for (k, dot) in dots.iter_mut().take(predictions.len()).enumerate() {
                let entry = 4 * four + k;
                look_ahead_at(p, p.rows.as_ptr(), entry);
                look_ahead_at(q, q.rows.as_ptr(), entry);
                let (start_p, start_q) = (start_of(p, p.rows.len(), entry), start_of(q, q.rows.len(), entry));
                let mut a = p.rows.as_ptr().add(start_p);
                if shape.p != N {
                    // Zeros up to the next four.
                    copy::<V>(a, shape.p, rows.add(k * V::LANES));
                    a = rows.add(k * V::LANES);
                }
                let mut sums = [V::splat(0.0); 4];
                for (row, t) in t.iter().enumerate() {
                    sums[row % 4] = t.mul_add(V::splat(*a.add(row)), sums[row % 4]);
                }
                let from = q.rows.as_ptr().add(start_q);
                let b = if shape.q == V::LANES { V::load(from) } else { V::load_part(from, shape.q) };
                *dot = sums[0].add(sums[1]).add(sums[2].add(sums[3])).mul(b);
            }
            let mut sums = [0.0f32; 4];
            V::sums(&dots).store_four(&mut sums);
            predictions.copy_from_slice(&sums[..predictions.len()]);
        }
    }
}

/// Entries of any ranks.
///
/// # Safety
/// As for [`predict`].
#[inline(always)]
unsafe fn by_parts<V: Vector>(
    shape: &Shape,
    p: &Side<'_, &[f32]>,
    q: &Side<'_, &[f32]>,
    buffers: &mut Buffers,
    predictions: &mut [f32],
) {
    // SAFETY: `start_of` keeps rows inside their slices; all else has the padded length and moves by whole vectors.
    unsafe {
        let (a, b) = (buffers.a.as_mut_slice().as_mut_ptr(), buffers.b.as_mut_slice().as_mut_ptr());
        let t = buffers.t.as_slice().as_ptr();
        for (entry, prediction) in predictions.iter_mut().enumerate() {
            look_ahead_at(p, p.rows.as_ptr(), entry);
            look_ahead_at(q, q.rows.as_ptr(), entry);
            let (start_p, start_q) = (start_of(p, p.rows.len(), entry), start_of(q, q.rows.len(), entry));
            copy::<V>(p.rows.as_ptr().add(start_p), shape.p, a);
            copy::<V>(q.rows.as_ptr().add(start_q), shape.q, b);
            let mut dot = V::splat(0.0);
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let sum = weighted_rows::<V>(a, shape.p_pad4(), t.add(at), shape.q);
                dot = sum.mul_add(V::load(b.add(at)), dot);
            }
            *prediction = dot.sum();
        }
    }
}
