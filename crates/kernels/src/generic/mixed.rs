//! Entries of any outer rows: each has a `T` of its own, and what they share is the way through the core.
//!
//! With `W` the weights (an entry a row), `G` the core (a slice a row) and `P` the products `e a b'` (an entry a row):
//! `T = W G`, `h = P G'` and `G += rate W' P`. These are three products of matrices, and done as such: a tile of the
//! result stays in registers, so that a number is loaded once for several uses.

use super::{look_ahead, note_error, reg_of, start_of, stepped, weighted_rows};
use crate::buffers::Buffers;
use crate::rows::Rows;
use crate::vector::Vector;
use crate::{Shape, Side, Step, Sums};

/// Entries come in fours.
const FOUR: usize = 4;

/// Calls `$tile` with the number of vectors or slices left as a constant, at most `$most`.
macro_rules! tiles {
    ($left:expr, $most:expr, $tile:ident::<$vector:ty>($($argument:expr),*)) => {
        match $left.min($most) {
            1 => $tile::<$vector, 1>($($argument),*),
            2 => $tile::<$vector, 2>($($argument),*),
            3 => $tile::<$vector, 3>($($argument),*),
            _ => $tile::<$vector, 4>($($argument),*),
        }
    };
}

/// As wide a tile as there are registers for: 32 with vectors of sixteen, 16 with others.
const fn width<V: Vector>() -> usize {
    if V::LANES == 16 { 3 } else { 2 }
}

/// `T_k = sum_o w_k[o] G[o]` for each entry `k`.
///
/// # Safety
/// The machine must have `V`'s instructions; `weights` must be whole fours of rows, at most as many as the buffers have
/// room for, with a number for each slice of `core`; `buffers` must be `shape`'s.
#[inline(always)]
pub(crate) unsafe fn combine_mixed<V: Vector>(
    shape: &Shape,
    core: &[f32],
    weights: &[f32],
    buffers: &mut Buffers,
) {
    let len = shape.slice();
    let slices = core.len() / len;
    debug_assert!(weights.len().is_multiple_of(FOUR * slices));
    let t = buffers.ts.as_mut_slice();
    debug_assert!(weights.len() / slices * len <= t.len());
    // SAFETY: `entry + 3` is below the number of rows of weights, and `at` moves by whole vectors below `len`.
    unsafe {
        for entry in (0..weights.len() / slices).step_by(FOUR) {
            let (weights, t) = (weights.as_ptr().add(entry * slices), t.as_mut_ptr().add(entry * len));
            let mut at = 0;
            while at < len {
                let left = (len - at) / V::LANES;
                let (core, t) = (core.as_ptr().add(at), t.add(at));
                tiles!(left, width::<V>(), combine_tile::<V>(core, slices, len, weights, t));
                at += left.min(width::<V>()) * V::LANES;
            }
        }
    }
}

/// # Safety
/// Four rows of `slices` numbers at `weights`, `slices` rows at `core` and four at `t`, `len` apart and `N` vectors long.
#[inline(always)]
unsafe fn combine_tile<V: Vector, const N: usize>(
    core: *const f32,
    slices: usize,
    len: usize,
    weights: *const f32,
    t: *mut f32,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; FOUR];
        for o in 0..slices {
            let g: [V; N] = std::array::from_fn(|n| V::load(core.add(o * len + n * V::LANES)));
            for (k, sums) in sums.iter_mut().enumerate() {
                let weight = V::splat(*weights.add(k * slices + o));
                sums.iter_mut().zip(&g).for_each(|(sum, g)| *sum = g.mul_add(weight, *sum));
            }
        }
        for (k, sums) in sums.iter().enumerate() {
            sums.iter().enumerate().for_each(|(n, sum)| sum.store(t.add(k * len + n * V::LANES)));
        }
    }
}

/// One step on both rows of each entry, one entry after the other; leaves `P`. Each entry's prediction and the product
/// of its rows' squared lengths, both before the step, go to `predictions` and `squares`.
///
/// # Safety
/// The machine must have `V`'s instructions; ranks and buffers must be `shape`'s; `T` must have been made for as many
/// entries; `predictions` and `squares` must be as long as `values`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
pub(crate) unsafe fn bilinear_mixed<V: Vector, R: Rows>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    buffers: &mut Buffers,
    predictions: &mut [f32],
    squares: &mut [f32],
) -> Sums {
    let one_vector = shape.p_pad == V::LANES && shape.q_pad == V::LANES;
    // SAFETY: as the caller vouches; where a row is one vector, the constant is the first rank in fours.
    unsafe {
        match shape.p_pad4() {
            4 if one_vector => {
                in_registers::<V, R, 4>(shape, p, q, values, step, buffers, predictions, squares)
            }
            8 if one_vector && V::LANES >= 8 => {
                in_registers::<V, R, 8>(shape, p, q, values, step, buffers, predictions, squares)
            }
            12 if one_vector && V::LANES >= 16 => {
                in_registers::<V, R, 12>(shape, p, q, values, step, buffers, predictions, squares)
            }
            16 if one_vector && V::LANES >= 16 => {
                in_registers::<V, R, 16>(shape, p, q, values, step, buffers, predictions, squares)
            }
            _ => by_parts::<V, R>(shape, p, q, values, step, buffers, predictions, squares),
        }
    }
}
/// The entries of a mixed chunk where a row is one vector.
///
/// # Safety
/// As for [`bilinear_mixed`], with both ranks at most `V::LANES`, and `N` the first one in fours.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
unsafe fn in_registers<V: Vector, R: Rows, const N: usize>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    buffers: &mut Buffers,
    predictions: &mut [f32],
    squares: &mut [f32],
) -> Sums {
    let len = shape.slice();
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; a `T` has room behind it to read `N` rows, and what the last row
    // of a `P` writes beyond its end is the next one's beginning, which is written after it, or the room behind the last.
    unsafe {
        let to_a = buffers.a.as_mut_slice().as_mut_ptr();
        let (ts, ps) = (buffers.ts.as_slice().as_ptr(), buffers.ps.as_mut_slice().as_mut_ptr());
        for (entry, &value) in values.iter().enumerate() {
            look_ahead(p, entry);
            look_ahead(q, entry);
            let (start_p, reg_p) = (start_of(p, p.rows.len(), entry), reg_of(p, entry));
            let (start_q, reg_q) = (start_of(q, q.rows.len(), entry), reg_of(q, entry));
            let a: V = p.rows.load_vector(start_p, shape.p);
            let b: V = q.rows.load_vector(start_q, shape.q);
            a.store(to_a);
            let t = ts.add(entry * len);
            let mut c1 = [V::splat(0.0); 4];
            let mut products = [V::splat(0.0); N];
            for (row, product) in products.iter_mut().enumerate() {
                let t = V::load(t.add(row * shape.q));
                c1[row % 4] = t.mul_add(V::splat(*to_a.add(row)), c1[row % 4]);
                *product = t.mul(b);
            }
            let c1 = c1[0].add(c1[1]).add(c1[2].add(c1[3]));
            let c0 = V::sums(&products);
            let prediction = c1.mul(b).sum();
            let error = note_error(&mut sums, value, prediction);
            let scale = V::splat(step.rate * error);
            p.rows.store_vector(start_p, shape.p, stepped(a, c0, scale, reg_p, step));
            q.rows.store_vector(start_q, shape.q, stepped(b, c1, scale, reg_q, step));
            let scaled = b.mul(V::splat(error));
            let product = ps.add(entry * len);
            for row in 0..shape.p {
                scaled.mul(V::splat(*to_a.add(row))).store(product.add(row * shape.q));
            }
            predictions[entry] = prediction;
            squares[entry] = a.mul(a).sum() * b.mul(b).sum();
        }
    }
    sums
}

/// The entries of a mixed chunk for any ranks, vector by vector of a row.
///
/// # Safety
/// As for [`bilinear_mixed`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
unsafe fn by_parts<V: Vector, R: Rows>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    buffers: &mut Buffers,
    predictions: &mut [f32],
    squares: &mut [f32],
) -> Sums {
    let len = shape.slice();
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; every other pointer stays in a buffer whose length is
    // that of `shape`, and moves by whole vectors within the padded lengths. What the last row of a `P` writes beyond
    // its end is the next one's beginning, which is written after it, or the room behind the last.
    unsafe {
        let (c0, c1) = (buffers.c0.as_mut_slice().as_mut_ptr(), buffers.c1.as_mut_slice().as_mut_ptr());
        let (a, b) = (buffers.a.as_mut_slice().as_mut_ptr(), buffers.b.as_mut_slice().as_mut_ptr());
        for (entry, &value) in values.iter().enumerate() {
            look_ahead(p, entry);
            look_ahead(q, entry);
            let (start_p, reg_p) = (start_of(p, p.rows.len(), entry), reg_of(p, entry));
            let (start_q, reg_q) = (start_of(q, q.rows.len(), entry), reg_of(q, entry));
            let t = buffers.ts.as_slice().as_ptr().add(entry * len);
            let product = buffers.ps.as_mut_slice().as_mut_ptr().add(entry * len);
            p.rows.load::<V>(start_p, shape.p, a);
            q.rows.load::<V>(start_q, shape.q, b);

            let prediction = times_first::<V>(shape, t, a, b, c1);
            times_second::<V>(shape, t, b, c0);
            let error = note_error(&mut sums, value, prediction);
            predictions[entry] = prediction;

            let scale = V::splat(step.rate * error);
            let (mut squares_p, mut squares_q) = (V::splat(0.0), V::splat(0.0));
            for at in (0..shape.p_pad).step_by(V::LANES) {
                let old = V::load(a.add(at));
                squares_p = old.mul_add(old, squares_p);
                stepped(old, V::load(c0.add(at)), scale, reg_p, step).store(c0.add(at));
            }
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let old = V::load(b.add(at));
                squares_q = old.mul_add(old, squares_q);
                stepped(old, V::load(c1.add(at)), scale, reg_q, step).store(c1.add(at));
            }
            p.rows.store::<V>(start_p, shape.p, c0);
            q.rows.store::<V>(start_q, shape.q, c1);
            for row in 0..shape.p {
                let factor = V::splat(error * *a.add(row));
                for at in (0..shape.q_pad).step_by(V::LANES) {
                    V::load(b.add(at)).mul(factor).store(product.add(row * shape.q + at));
                }
            }
            squares[entry] = squares_p.sum() * squares_q.sum();
        }
    }
    sums
}

/// `T' a`; returns `a' T b`.
///
/// # Safety
/// A `T` at `t` with room behind it, padded rows at `a`, `b` and `c1`.
#[inline(always)]
unsafe fn times_first<V: Vector>(
    shape: &Shape,
    t: *const f32,
    a: *const f32,
    b: *const f32,
    c1: *mut f32,
) -> f32 {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut dot = V::splat(0.0);
        for at in (0..shape.q_pad).step_by(V::LANES) {
            let sum = weighted_rows::<V>(a, shape.p_pad4(), t.add(at), shape.q);
            dot = sum.mul_add(V::load(b.add(at)), dot);
            sum.store(c1.add(at));
        }
        dot.sum()
    }
}

/// `T b`.
///
/// # Safety
/// A `T` at `t` with room behind it, padded rows at `b` and `c0`.
#[inline(always)]
unsafe fn times_second<V: Vector>(shape: &Shape, t: *const f32, b: *const f32, c0: *mut f32) {
    // SAFETY: as the caller vouches; rows below `p_pad4` are in `T` or in the room behind it, and `c0` has as many.
    unsafe {
        for first in (0..shape.p_pad4()).step_by(4) {
            let mut products = [V::splat(0.0); 4];
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let b = V::load(b.add(at));
                for (part, product) in products.iter_mut().enumerate() {
                    *product = V::load(t.add((first + part) * shape.q + at)).mul_add(b, *product);
                }
            }
            let sums = V::sums(&products);
            if V::LANES == 4 { sums.store(c0.add(first)) } else { sums.store_part(c0.add(first), 4) }
        }
    }
}

/// `h_k[o] = <G[o], P_k>` for each entry `k`, then the step `G[o] += rate sum_k w_k[o] P_k`.
///
/// # Safety
/// The machine must have `V`'s instructions; `weights` and `h` must be whole fours of rows, at most as many as the
/// buffers have room for, with a number for each slice of `core`; `buffers` must be `shape`'s. `weights` must be zero
/// for entries that have no `P`.
#[inline(always)]
pub(crate) unsafe fn spread_mixed<V: Vector>(
    shape: &Shape,
    core: &mut [f32],
    weights: &[f32],
    reg: f32,
    step: Step,
    buffers: &Buffers,
    h: &mut [f32],
) {
    let len = shape.slice();
    let slices = core.len() / len;
    let entries = weights.len() / slices;
    debug_assert!(weights.len() == h.len() && entries.is_multiple_of(FOUR));
    debug_assert!(entries * len <= buffers.ps.as_slice().len());
    let products = buffers.ps.as_slice().as_ptr();
    let wide = if V::LANES == 16 { 4 } else { 2 };
    // SAFETY: entries come in fours, `o` and `at` stay below the slices and the vectors of one, and a tile is no larger
    // than what is left.
    unsafe {
        for entry in (0..entries).step_by(FOUR) {
            let (products, h) = (products.add(entry * len), h.as_mut_ptr().add(entry * slices));
            let mut o = 0;
            while o < slices {
                let (core, h) = (core.as_ptr().add(o * len), h.add(o));
                tiles!(slices - o, wide, inner_tile::<V>(core, len, products, slices, h));
                o += wide.min(slices - o);
            }
        }
        let mut at = 0;
        while at < len {
            let left = (len - at) / V::LANES;
            let mut o = 0;
            while o < slices {
                let (core, weights) = (core.as_mut_ptr().add(o * len + at), weights.as_ptr().add(o));
                let products = products.add(at);
                let sides = Sides { len, slices, entries };
                if slices - o >= FOUR {
                    tiles!(left, width::<V>(), four_slices::<V>(core, weights, products, sides, reg, step));
                    o += FOUR;
                } else {
                    tiles!(left, width::<V>(), one_slice::<V>(core, weights, products, sides, reg, step));
                    o += 1;
                }
            }
            at += left.min(width::<V>()) * V::LANES;
        }
    }
}

/// # Safety
/// `N` slices at `core` and four products at `products`, both `len` long; at `h` four rows of `N` numbers, `slices` apart.
#[inline(always)]
unsafe fn inner_tile<V: Vector, const N: usize>(
    core: *const f32,
    len: usize,
    products: *const f32,
    slices: usize,
    h: *mut f32,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        // Always four slices' worth of sums, so that they are reduced together; those beyond `N` stay zero.
        let mut sums = [[V::splat(0.0); FOUR]; FOUR];
        for at in (0..len).step_by(V::LANES) {
            let g: [V; N] = std::array::from_fn(|n| V::load(core.add(n * len + at)));
            for (k, sums) in sums.iter_mut().enumerate() {
                let p = V::load(products.add(k * len + at));
                sums.iter_mut().zip(&g).for_each(|(sum, g)| *sum = g.mul_add(p, *sum));
            }
        }
        for (k, sums) in sums.iter().enumerate() {
            let sums = V::sums(sums);
            if N == V::LANES { sums.store(h.add(k * slices)) } else { sums.store_part(h.add(k * slices), N) }
        }
    }
}

/// The sides of the matrices in [`spread_mixed`].
#[derive(Clone, Copy)]
struct Sides {
    len: usize,
    slices: usize,
    entries: usize,
}

/// # Safety
/// As for [`spread_tile`], with four slices.
#[inline(always)]
unsafe fn four_slices<V: Vector, const N: usize>(
    core: *mut f32,
    weights: *const f32,
    products: *const f32,
    sides: Sides,
    reg: f32,
    step: Step,
) {
    // SAFETY: as the caller vouches.
    unsafe { spread_tile::<V, FOUR, N>(core, weights, products, sides, reg, step) }
}

/// # Safety
/// As for [`spread_tile`], with one slice.
#[inline(always)]
unsafe fn one_slice<V: Vector, const N: usize>(
    core: *mut f32,
    weights: *const f32,
    products: *const f32,
    sides: Sides,
    reg: f32,
    step: Step,
) {
    // SAFETY: as the caller vouches.
    unsafe { spread_tile::<V, 1, N>(core, weights, products, sides, reg, step) }
}

/// # Safety
/// `M` slices at `core` and the products at `products`, each `len` apart and `N` vectors long from there; the weights of
/// those slices at `weights`, a row per entry, `slices` apart.
#[inline(always)]
unsafe fn spread_tile<V: Vector, const M: usize, const N: usize>(
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
            let p: [V; N] = std::array::from_fn(|n| V::load(products.add(entry * sides.len + n * V::LANES)));
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
