//! `T = W G`, an entry in each lane.

use super::lanes::to_lanes;
use super::{by_registers, tiles};
use crate::Shape;
use crate::buffers::Buffers;
use crate::vector::Vector;

/// `T_k = sum_o w_k[o] G[o]` for each entry `k`; leaves the weights by lanes.
///
/// # Safety
/// The machine must have `V`'s instructions; `weights` must be at most as many rows as the buffers have room for, with a
/// number for each slice of `core`; `buffers` must be `shape`'s.
#[inline(always)]
pub(crate) unsafe fn combine_mixed<V: Vector>(
    shape: &Shape,
    core: &[f32],
    weights: &[f32],
    buffers: &mut Buffers,
) {
    let slices = core.len() / shape.slice();
    let entries = weights.len() / slices;
    debug_assert!(entries <= shape.mixed());
    let groups = entries.div_ceil(V::LANES);
    let by_lanes = slices.next_multiple_of(V::LANES) * V::LANES;
    buffers.by_lanes.reserve(groups * by_lanes);
    let lanes = buffers.by_lanes.as_mut_slice().as_mut_ptr();
    let ts = buffers.ts.as_mut_slice().as_mut_ptr();
    // SAFETY: every group has at most `LANES` rows of weights, and room for as many lanes and for `p q` vectors of `T`;
    // `first` plus a tile is at most `p q`.
    unsafe {
        for group in 0..groups {
            let entry = group * V::LANES;
            let rows = (entries - entry).min(V::LANES);
            let (weights, to) = (weights.as_ptr().add(entry * slices), lanes.add(group * by_lanes));
            to_lanes::<V>(weights, slices, rows, slices, to);
        }
        let numbers = shape.p * shape.q;
        let mut group = 0;
        while group < groups {
            let (weights, ts) = (lanes.add(group * by_lanes), ts.add(group * numbers * V::LANES));
            let sides = Sides { len: shape.slice(), slices, weights: by_lanes, ts: numbers * V::LANES };
            let two = group + 1 < groups;
            let mut first = 0;
            while first < numbers {
                let (core, ts) = (core.as_ptr().add(first), ts.add(first * V::LANES));
                let most = by_registers::<V>(8, 4);
                first += if two {
                    tiles!(numbers - first, most, tile::<V, 2>(core, weights, ts, sides))
                } else {
                    tiles!(numbers - first, most, tile::<V, 1>(core, weights, ts, sides))
                };
            }
            group += if two { 2 } else { 1 };
        }
    }
}

/// How far apart things stand.
#[derive(Clone, Copy)]
struct Sides {
    /// From a slice of the core to the next, and how many there are.
    len: usize,
    slices: usize,
    /// From the weights and the `T`s of a group to those of the next.
    weights: usize,
    ts: usize,
}

/// # Safety
/// `N` numbers of each slice at `core`; for each of `G` groups a vector per slice at `weights` and `N` vectors at `t`.
#[inline(always)]
unsafe fn tile<V: Vector, const G: usize, const N: usize>(
    core: *const f32,
    weights: *const f32,
    t: *mut f32,
    sides: Sides,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums = [[V::splat(0.0); G]; N];
        for o in 0..sides.slices {
            let mut w = [V::splat(0.0); G];
            for (group, w) in w.iter_mut().enumerate() {
                *w = V::load(weights.add(group * sides.weights + o * V::LANES));
            }
            for (n, sums) in sums.iter_mut().enumerate() {
                let g = V::splat(*core.add(o * sides.len + n));
                sums.iter_mut().zip(&w).for_each(|(sum, w)| *sum = g.mul_add(*w, *sum));
            }
        }
        for (n, sums) in sums.iter().enumerate() {
            for (group, sum) in sums.iter().enumerate() {
                sum.store(t.add(group * sides.ts + n * V::LANES));
            }
        }
    }
}
