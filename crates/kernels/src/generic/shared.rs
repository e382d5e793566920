//! Entries that agree in all outer modes, and share the core contracted with those rows.

use super::{fold, look_ahead, note_error, reg_of, single_numbers, start_of, stepped, weighted_rows};
use crate::buffers::Buffers;
use crate::rows::Rows;
use crate::vector::Vector;
use crate::{Shape, Side, Step, Sums};

/// `T = sum_o w[o] G[o]`.
///
/// # Safety
/// The machine must have `V`'s instructions; `core` must be `weights.len()` slices; `buffers` must be `shape`'s.
#[inline(always)]
pub(crate) unsafe fn combine<V: Vector>(shape: &Shape, core: &[f32], weights: &[f32], buffers: &mut Buffers) {
    let t = &mut buffers.t.as_mut_slice()[..shape.slice()];
    // SAFETY: as the caller vouches; a slice is whole vectors.
    unsafe { fold::<V>(core, weights, t) }
}

/// Puts the transpose of `T` beside it.
fn transpose(shape: &Shape, buffers: &mut Buffers) {
    let (t, tt) = (buffers.t.as_slice(), buffers.tt.as_mut_slice());
    for (p, row) in t.chunks_exact(shape.q).take(shape.p).enumerate() {
        for (q, &value) in row.iter().enumerate() {
            tt[q * shape.p_pad + p] = value;
        }
    }
}

/// From this many entries on, the transpose of `T` is worth its making.
const TRANSPOSE_FROM: usize = 4;
/// One step on both rows of each entry; `M = sum e a b'`.
///
/// # Safety
/// The machine must have `V`'s instructions; ranks and buffers must be `shape`'s; at most `CHUNK` entries.
#[inline(always)]
pub(crate) unsafe fn bilinear<V: Vector, R: Rows>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    buffers: &mut Buffers,
) -> Sums {
    let one_vector = shape.p_pad == V::LANES && shape.q_pad == V::LANES && shape.p_pad4() == shape.q_pad4();
    if values.len() >= TRANSPOSE_FROM {
        transpose(shape, buffers);
    }
    // SAFETY: as the caller vouches; the transpose is there from TRANSPOSE_FROM entries on, and `one_vector` says
    // that a row is one vector and that its fours are as many as the constant says.
    let sums = unsafe {
        match shape.p_pad4() {
            _ if values.len() < TRANSPOSE_FROM => by_parts::<V, R, false>(shape, p, q, values, step, buffers),
            4 if one_vector => in_registers::<V, R, 4>(shape, p, q, values, step, buffers),
            8 if one_vector => in_registers::<V, R, 8>(shape, p, q, values, step, buffers),
            // 32 registers have no room for more than twice twelve and the sums.
            12 if one_vector => in_registers::<V, R, 12>(shape, p, q, values, step, buffers),
            _ => by_parts::<V, R, true>(shape, p, q, values, step, buffers),
        }
    };
    // SAFETY: as the caller vouches.
    unsafe { outer_products::<V>(shape, values.len(), buffers) };
    sums
}

/// The entries of a chunk where a row is one vector: `T` and its transpose, `N` rows each, stay in registers.
///
/// # Safety
/// As for [`bilinear`], with the transpose made, both ranks at most `V::LANES`, and `N` both of them in fours.
#[inline(always)]
unsafe fn in_registers<V: Vector, R: Rows, const N: usize>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    buffers: &mut Buffers,
) -> Sums {
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; entry `k`'s vectors stand at `k * LANES` of the buffers.
    unsafe {
        let (t, tt) = (buffers.t.as_slice().as_ptr(), buffers.tt.as_slice().as_ptr());
        let t: [V; N] = std::array::from_fn(|row| V::load(t.add(row * shape.q)));
        let tt: [V; N] = std::array::from_fn(|row| V::load(tt.add(row * V::LANES)));
        let (mut squares_p, mut squares_q) = (V::splat(0.0), V::splat(0.0));
        let (all_a, all_b) = (buffers.a.as_mut_slice().as_mut_ptr(), buffers.b.as_mut_slice().as_mut_ptr());
        for (entry, &value) in values.iter().enumerate() {
            look_ahead(p, entry);
            look_ahead(q, entry);
            let (start_p, reg_p) = (start_of(p, p.rows.len(), entry), reg_of(p, entry));
            let (start_q, reg_q) = (start_of(q, q.rows.len(), entry), reg_of(q, entry));
            let (to_a, to_b) = (all_a.add(entry * V::LANES), all_b.add(entry * V::LANES));
            let a: V = p.rows.load_vector(start_p, shape.p);
            let b: V = q.rows.load_vector(start_q, shape.q);
            b.store(to_b);
            let c1 = weighted(&t, single_numbers::<V, R, N>(p, start_p, a, to_a));
            let c0 = weighted(&tt, single_numbers::<V, R, N>(q, start_q, b, to_b));
            let error = note_error(&mut sums, value, c1.mul(b).sum());
            let scale = V::splat(step.rate * error);
            squares_p = a.mul_add(a, squares_p);
            squares_q = b.mul_add(b, squares_q);
            p.rows.store_vector(start_p, shape.p, stepped(a, c0, scale, reg_p, step));
            q.rows.store_vector(start_q, shape.q, stepped(b, c1, scale, reg_q, step));
            a.mul(V::splat(error)).store(to_a);
        }
        Sums { squares_p: squares_p.sum(), squares_q: squares_q.sum(), ..sums }
    }
}

/// The sum of `N` vectors, each times one of the numbers at `x`.
///
/// # Safety
/// `N` numbers must be readable at `x`.
#[inline(always)]
unsafe fn weighted<V: Vector, const N: usize>(vectors: &[V; N], x: *const f32) -> V {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums = [V::splat(0.0); 4];
        for (j, vector) in vectors.iter().enumerate() {
            sums[j % 4] = vector.mul_add(V::splat(*x.add(j)), sums[j % 4]);
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3]))
    }
}

/// The entries of a chunk for any ranks, vector by vector of a row.
///
/// # Safety
/// As for [`bilinear`], with the transpose made where `TRANSPOSED`.
#[inline(always)]
unsafe fn by_parts<V: Vector, R: Rows, const TRANSPOSED: bool>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    buffers: &mut Buffers,
) -> Sums {
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; every other pointer stays in a buffer whose length is
    // that of `shape`, and moves by whole vectors within the padded lengths.
    unsafe {
        let mut squares_p = V::splat(0.0);
        let mut squares_q = V::splat(0.0);
        let (t, tt) = (buffers.t.as_slice().as_ptr(), buffers.tt.as_slice().as_ptr());
        let (c0, c1) = (buffers.c0.as_mut_slice().as_mut_ptr(), buffers.c1.as_mut_slice().as_mut_ptr());
        let (all_a, all_b) = (buffers.a.as_mut_slice().as_mut_ptr(), buffers.b.as_mut_slice().as_mut_ptr());
        for (entry, &value) in values.iter().enumerate() {
            look_ahead(p, entry);
            look_ahead(q, entry);
            let (start_p, reg_p) = (start_of(p, p.rows.len(), entry), reg_of(p, entry));
            let (start_q, reg_q) = (start_of(q, q.rows.len(), entry), reg_of(q, entry));
            let (a, b) = (all_a.add(entry * shape.p_pad), all_b.add(entry * shape.q_pad));
            p.rows.load::<V>(start_p, shape.p, a);
            q.rows.load::<V>(start_q, shape.q, b);

            let mut dot = V::splat(0.0);
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let sum = weighted_rows::<V>(a, shape.p_pad4(), t.add(at), shape.q);
                dot = sum.mul_add(V::load(b.add(at)), dot);
                sum.store(c1.add(at));
            }
            if TRANSPOSED {
                for at in (0..shape.p_pad).step_by(V::LANES) {
                    weighted_rows::<V>(b, shape.q_pad4(), tt.add(at), shape.p_pad).store(c0.add(at));
                }
            } else {
                for row in 0..shape.p {
                    let mut product = V::splat(0.0);
                    for at in (0..shape.q_pad).step_by(V::LANES) {
                        product = V::load(t.add(row * shape.q + at)).mul_add(V::load(b.add(at)), product);
                    }
                    *c0.add(row) = product.sum();
                }
            }
            let error = note_error(&mut sums, value, dot.sum());

            let scale = V::splat(step.rate * error);
            for at in (0..shape.p_pad).step_by(V::LANES) {
                let old = V::load(a.add(at));
                squares_p = old.mul_add(old, squares_p);
                stepped(old, V::load(c0.add(at)), scale, reg_p, step).store(c0.add(at));
                old.mul(V::splat(error)).store(a.add(at));
            }
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let old = V::load(b.add(at));
                squares_q = old.mul_add(old, squares_q);
                stepped(old, V::load(c1.add(at)), scale, reg_q, step).store(c1.add(at));
            }
            p.rows.store::<V>(start_p, shape.p, c0);
            q.rows.store::<V>(start_q, shape.q, c1);
        }
        Sums { squares_p: squares_p.sum(), squares_q: squares_q.sum(), ..sums }
    }
}

/// `M = sum_k a_k b_k'` over the first `entries` rows of the buffers.
///
/// # Safety
/// The machine must have `V`'s instructions; buffers must be `shape`'s; at most `CHUNK` entries.
#[inline(always)]
unsafe fn outer_products<V: Vector>(shape: &Shape, entries: usize, buffers: &mut Buffers) {
    let m = buffers.m.as_mut_slice().as_mut_ptr();
    let (a, b) = (buffers.a.as_slice().as_ptr(), buffers.b.as_slice().as_ptr());
    // SAFETY: `p + part < p_pad4 <= p_pad` and `at` moves by whole vectors below `q_pad`.
    unsafe {
        for p in (0..shape.p_pad4()).step_by(4) {
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let mut sums = [V::splat(0.0); 4];
                for entry in 0..entries {
                    let b = V::load(b.add(entry * shape.q_pad + at));
                    for (part, sum) in sums.iter_mut().enumerate() {
                        *sum = b.mul_add(V::splat(*a.add(entry * shape.p_pad + p + part)), *sum);
                    }
                }
                for (part, sum) in sums.iter().enumerate() {
                    let (to, left) = (m.add((p + part) * shape.q + at), shape.q - at);
                    if left >= V::LANES { sum.store(to) } else { sum.store_part(to, left) }
                }
            }
        }
    }
}

/// `h[o] = <G[o], M>`, then the step on the core.
///
/// # Safety
/// The machine must have `V`'s instructions; `core` must be `weights.len()` slices, `h` as many numbers; buffers
/// must be `shape`'s.
#[inline(always)]
pub(crate) unsafe fn core_step<V: Vector>(
    shape: &Shape,
    core: &mut [f32],
    weights: &[f32],
    reg: f32,
    step: Step,
    buffers: &Buffers,
    h: &mut [f32],
) {
    let len = shape.slice();
    debug_assert!(core.len() == weights.len() * len && h.len() == weights.len());
    let m = buffers.m.as_slice().as_ptr();
    for ((slice, &weight), h) in core.chunks_exact_mut(len).zip(weights).zip(h) {
        // SAFETY: `at` moves in whole vectors below `len`, a multiple of LANES and the length of both.
        unsafe {
            let g = slice.as_mut_ptr();
            let scale = V::splat(step.rate * weight);
            let mut sums = [V::splat(0.0); 4];
            let mut at = 0;
            while at < len {
                for sum in &mut sums {
                    if at < len {
                        let (old, m) = (V::load(g.add(at)), V::load(m.add(at)));
                        *sum = old.mul_add(m, *sum);
                        stepped(old, m, scale, reg, step).store(g.add(at));
                        at += V::LANES;
                    }
                }
            }
            *h = sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum();
        }
    }
}
