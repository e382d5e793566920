//! Predictions of the entries of a mixed chunk, one in each lane.

use super::super::start_of;
use super::lanes::to_lanes;
use crate::buffers::Buffers;
use crate::rows::copy;
use crate::vector::{MOST_LANES, Vector};
use crate::{Shape, Side};

/// `a' T b` of each entry, each with its own `T`.
///
/// # Safety
/// The machine must have `V`'s instructions; ranks and buffers must be `shape`'s; `T` must have been made for as many
/// entries.
#[inline(always)]
pub(crate) unsafe fn predict_mixed<V: Vector>(
    shape: &Shape,
    p: &Side<'_, &[f32]>,
    q: &Side<'_, &[f32]>,
    buffers: &mut Buffers,
    predictions: &mut [f32],
) {
    let Shape { p: p_rank, q: q_rank, p_pad, q_pad, .. } = *shape;
    // SAFETY: `start_of` keeps rows inside their slices; the buffers have room for a group, and a `T` for each of them.
    unsafe {
        let (a, b) = (buffers.a.as_mut_slice().as_mut_ptr(), buffers.b.as_mut_slice().as_mut_ptr());
        let a_lanes = buffers.a_lanes.as_mut_slice().as_mut_ptr();
        let b_lanes = buffers.b_lanes.as_mut_slice().as_mut_ptr();
        for (group, predictions) in predictions.chunks_mut(V::LANES).enumerate() {
            let first = group * V::LANES;
            for entry in 0..predictions.len() {
                let start_p = start_of(p, p.rows.len(), first + entry);
                let start_q = start_of(q, q.rows.len(), first + entry);
                copy::<V>(p.rows.as_ptr().add(start_p), p_rank, a.add(entry * p_pad));
                copy::<V>(q.rows.as_ptr().add(start_q), q_rank, b.add(entry * q_pad));
            }
            to_lanes::<V>(a, p_pad, predictions.len(), p_rank, a_lanes);
            to_lanes::<V>(b, q_pad, predictions.len(), q_rank, b_lanes);
            let t = buffers.ts.as_slice().as_ptr().add(first * p_rank * q_rank);
            let mut sum = V::splat(0.0);
            for i in 0..p_rank {
                let mut sums = [V::splat(0.0); 2];
                for j in 0..q_rank {
                    let t = V::load(t.add((i * q_rank + j) * V::LANES));
                    sums[j % 2] = t.mul_add(V::load(b_lanes.add(j * V::LANES)), sums[j % 2]);
                }
                sum = sums[0].add(sums[1]).mul_add(V::load(a_lanes.add(i * V::LANES)), sum);
            }
            let mut lanes = [0.0f32; MOST_LANES];
            sum.store(lanes.as_mut_ptr());
            predictions.copy_from_slice(&lanes[..predictions.len()]);
        }
    }
}
