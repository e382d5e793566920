//! `h = P G'`, an entry in each lane, and `G += rate W' P`, a sum over entries.

use super::super::stepped;
use super::lanes::from_lanes;
use super::{by_registers, small_tiles, tiles};
use crate::buffers::Buffers;
use crate::vector::Vector;
use crate::{Shape, Step};

/// `h_k[o] = <G[o], P_k>` for each entry `k`, then the step `G[o] += rate sum_k w_k[o] P_k`. The `T`s are used up.
///
/// # Safety
/// The machine must have `V`'s instructions; `weights` and `h` must be at most as many rows as the buffers have room
/// for, with a number for each slice of `core`; `buffers` must be `shape`'s, with the rows and errors of as many entries,
/// those at zero for which the steps had none.
#[inline(always)]
pub(crate) unsafe fn spread_mixed<V: Vector>(
    shape: &Shape,
    core: &mut [f32],
    weights: &[f32],
    reg: f32,
    step: Step,
    buffers: &mut Buffers,
    h: &mut [f32],
) {
    let len = shape.slice();
    let slices = core.len() / len;
    let entries = weights.len() / slices;
    debug_assert!(weights.len() == h.len() && entries <= shape.mixed());
    // SAFETY: as the caller vouches; a tile is no larger than what is left.
    unsafe {
        outer_gradients::<V>(shape, core, entries, buffers, h);
        products::<V>(shape, entries, buffers);
        let products = buffers.ts.as_slice().as_ptr();
        let sides = Sides { len, slices, entries };
        let mut at = 0;
        while at < len {
            let left = (len - at) / V::LANES;
            let (core, products) = (core.as_mut_ptr().add(at), products.add(at));
            let wide = small_tiles!(
                left,
                by_registers::<V>(4, 2),
                all_slices::<V>(core, weights.as_ptr(), products, sides, reg, step)
            );
            at += wide * V::LANES;
        }
    }
}

/// `h`, through `G[o] b` row by row.
///
/// # Safety
/// As for [`spread_mixed`].
#[inline(always)]
unsafe fn outer_gradients<V: Vector>(
    shape: &Shape,
    core: &[f32],
    entries: usize,
    buffers: &mut Buffers,
    h: &mut [f32],
) {
    let slices = core.len() / shape.slice();
    let groups = entries.div_ceil(V::LANES);
    let by_lanes = slices.next_multiple_of(V::LANES) * V::LANES;
    buffers.by_lanes.reserve(groups * by_lanes);
    let lanes = buffers.by_lanes.as_mut_slice().as_mut_ptr();
    let (a, b) = (buffers.a_lanes.as_slice().as_ptr(), buffers.b_lanes.as_slice().as_ptr());
    let errors = buffers.errors.as_slice().as_ptr();
    // SAFETY: there is room for whole groups; `o` plus a tile is at most the slices.
    unsafe {
        let mut group = 0;
        while group < groups {
            let first = group * V::LANES;
            let rows = Rows {
                a: a.add(first * shape.p_pad),
                b: b.add(first * shape.q_pad),
                errors: errors.add(first),
                h: lanes.add(group * by_lanes),
                apart: by_lanes,
            };
            let two = group + 1 < groups;
            let mut o = 0;
            while o < slices {
                let core = core.as_ptr().add(o * shape.slice());
                let rows = Rows { h: rows.h.add(o * V::LANES), ..rows };
                let most = by_registers::<V>(6, 3);
                o += if two {
                    tiles!(slices - o, most, gradient_tile::<V, 2>(shape, core, rows))
                } else {
                    tiles!(slices - o, most, gradient_tile::<V, 1>(shape, core, rows))
                };
            }
            group += if two { 2 } else { 1 };
        }
        for group in 0..groups {
            let first = group * V::LANES;
            let to = h.as_mut_ptr().add(first * slices);
            let rows = (entries - first).min(V::LANES);
            from_lanes::<V>(lanes.add(group * by_lanes), to, slices, rows, slices);
        }
    }
}

/// What stands by lanes, from one group on.
#[derive(Clone, Copy)]
struct Rows {
    a: *const f32,
    b: *const f32,
    errors: *const f32,
    h: *mut f32,
    /// From a group's `h` to the next one's.
    apart: usize,
}

/// # Safety
/// `N` slices at `core`; rows, errors and room for `N` vectors of `h` for each of `G` groups.
#[inline(always)]
unsafe fn gradient_tile<V: Vector, const G: usize, const N: usize>(
    shape: &Shape,
    core: *const f32,
    rows: Rows,
) {
    let Shape { p, q, p_pad, q_pad, .. } = *shape;
    let len = shape.slice();
    // SAFETY: as the caller vouches; the next group's rows are `LANES` padded rows on.
    unsafe {
        let mut h = [[V::splat(0.0); G]; N];
        for i in 0..p {
            let mut sums = [[V::splat(0.0); G]; N];
            for j in 0..q {
                let mut b = [V::splat(0.0); G];
                for (group, b) in b.iter_mut().enumerate() {
                    *b = V::load(rows.b.add((group * q_pad + j) * V::LANES));
                }
                for (n, sums) in sums.iter_mut().enumerate() {
                    let g = V::splat(*core.add(n * len + i * q + j));
                    sums.iter_mut().zip(&b).for_each(|(sum, b)| *sum = g.mul_add(*b, *sum));
                }
            }
            for group in 0..G {
                let a = V::load(rows.a.add((group * p_pad + i) * V::LANES));
                h.iter_mut().zip(&sums).for_each(|(h, sums)| h[group] = sums[group].mul_add(a, h[group]));
            }
        }
        for group in 0..G {
            let errors = V::load(rows.errors.add(group * V::LANES));
            for (n, h) in h.iter().enumerate() {
                h[group].mul(errors).store(rows.h.add(group * rows.apart + n * V::LANES));
            }
        }
    }
}

/// The products `P`, in place of the `T`s.
///
/// # Safety
/// As for [`spread_mixed`].
#[inline(always)]
unsafe fn products<V: Vector>(shape: &Shape, entries: usize, buffers: &mut Buffers) {
    let len = shape.slice();
    let one_vector = shape.p_pad == V::LANES && shape.q_pad == V::LANES;
    let [first, second] = buffers.picks.each_ref().map(|picks| picks.as_ptr());
    let to = buffers.ts.as_mut_slice().as_mut_ptr();
    let (a, b) = (buffers.a.as_slice().as_ptr(), buffers.b.as_slice().as_ptr());
    // SAFETY: padded rows of each entry stand at `a` and `b`. Where a row is one vector, the number behind the last of a
    // row of `a`, which gaps of the core pick, is zero, and there is one if there are gaps. Else what the last row of a
    // `P` writes beyond its end is the gap, the next one's beginning, which is written after it, or the room behind.
    unsafe {
        for entry in 0..entries {
            let (a, b) = (a.add(entry * shape.p_pad), b.add(entry * shape.q_pad));
            let (error, to) = (buffers.errors.as_slice()[entry], to.add(entry * len));
            if V::PICKS && one_vector {
                // Whole vectors in order: stores that straddle cache lines take several times as long.
                let (a, b) = (V::load(a).mul(V::splat(error)), V::load(b));
                for at in (0..len).step_by(V::LANES) {
                    a.pick(first.add(at)).mul(b.pick(second.add(at))).store(to.add(at));
                }
                continue;
            }
            for row in 0..shape.p {
                let factor = V::splat(error * *a.add(row));
                for at in (0..shape.q_pad).step_by(V::LANES) {
                    V::load(b.add(at)).mul(factor).store(to.add(row * shape.q + at));
                }
            }
            let gap = len - shape.p * shape.q;
            if gap > 0 {
                V::splat(0.0).store_part(to.add(len - gap), gap);
            }
        }
    }
}

/// The sides of the matrices of the core's step.
#[derive(Clone, Copy)]
struct Sides {
    len: usize,
    slices: usize,
    entries: usize,
}

/// # Safety
/// The slices at `core` and the products at `products`, each `len` apart and `N` vectors long from there; a row of
/// weights per entry at `weights`.
#[inline(always)]
unsafe fn all_slices<V: Vector, const N: usize>(
    core: *mut f32,
    weights: *const f32,
    products: *const f32,
    sides: Sides,
    reg: f32,
    step: Step,
) {
    // SAFETY: as the caller vouches; `o` plus a tile is at most the slices.
    unsafe {
        let mut o = 0;
        while o < sides.slices {
            let (core, weights) = (core.add(o * sides.len), weights.add(o));
            o += small_tiles!(
                sides.slices - o,
                5,
                spread_tile::<V, N>(core, weights, products, sides, reg, step)
            );
        }
    }
}

/// # Safety
/// `M` slices at `core` and the products at `products`, each `len` apart and `N` vectors long from there; the weights of
/// those slices at `weights`, a row per entry, `slices` apart.
#[inline(always)]
unsafe fn spread_tile<V: Vector, const N: usize, const M: usize>(
    core: *mut f32,
    weights: *const f32,
    products: *const f32,
    sides: Sides,
    reg: f32,
    step: Step,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; M];
        for entry in 0..sides.entries {
            let mut p = [V::splat(0.0); N];
            for (n, p) in p.iter_mut().enumerate() {
                *p = V::load(products.add(entry * sides.len + n * V::LANES));
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let weight = V::splat(*weights.add(entry * sides.slices + m));
                sums.iter_mut().zip(&p).for_each(|(sum, p)| *sum = p.mul_add(weight, *sum));
            }
        }
        let rate = V::splat(step.rate);
        for (m, sums) in sums.iter().enumerate() {
            for (n, &sum) in sums.iter().enumerate() {
                let g = core.add(m * sides.len + n * V::LANES);
                stepped(V::load(g), sum, rate, reg, step).store(g);
            }
        }
    }
}
