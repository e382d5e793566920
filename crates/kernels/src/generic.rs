//! The algorithm, once, over any vector type.
//!
//! Everything here is `inline(always)`: it must be compiled inside the shells in `arch`, where the vector's
//! instructions are enabled.

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
    let len = shape.slice();
    let t = buffers.t.as_mut_slice();
    debug_assert!(core.len() == weights.len() * len && t.len() >= len);
    // SAFETY: `at` moves in whole vectors below `len`, a multiple of LANES, and slice `o` ends at `(o + 1) * len`,
    // within the core.
    unsafe {
        let mut at = 0;
        // Four vectors at a time: four chains of additions, one broadcast for all.
        while at + 4 * V::LANES <= len {
            let mut sums = [V::splat(0.0); 4];
            for (o, &weight) in weights.iter().enumerate() {
                let weight = V::splat(weight);
                let slice = core.as_ptr().add(o * len + at);
                for (part, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(slice.add(part * V::LANES)).mul_add(weight, *sum);
                }
            }
            for (part, sum) in sums.iter().enumerate() {
                sum.store(t.as_mut_ptr().add(at + part * V::LANES));
            }
            at += 4 * V::LANES;
        }
        while at < len {
            let mut sum = V::splat(0.0);
            for (o, &weight) in weights.iter().enumerate() {
                sum = V::load(core.as_ptr().add(o * len + at)).mul_add(V::splat(weight), sum);
            }
            sum.store(t.as_mut_ptr().add(at));
            at += V::LANES;
        }
    }
}

/// Puts the transpose of `T` beside it.
fn transpose(shape: &Shape, buffers: &mut Buffers) {
    let (t, tt) = (buffers.t.as_slice(), buffers.tt.as_mut_slice());
    for (p, row) in t.chunks_exact(shape.q_pad).take(shape.p).enumerate() {
        for (q, &value) in row[..shape.q].iter().enumerate() {
            tt[q * shape.p_pad + p] = value;
        }
    }
}

/// The sum over `j` of `x[j]` times vector `at` of row `j` of `matrix`; `count` is a multiple of 4.
///
/// # Safety
/// `count` numbers must be readable at `x`, and a vector at `matrix + j * stride` for each `j < count`.
#[inline(always)]
unsafe fn weighted_rows<V: Vector>(x: *const f32, count: usize, matrix: *const f32, stride: usize) -> V {
    // SAFETY: as the caller vouches; `j + part < count` since `count` is a multiple of 4.
    unsafe {
        let mut sums = [V::splat(0.0); 4];
        let mut j = 0;
        while j < count {
            for (part, sum) in sums.iter_mut().enumerate() {
                let factor = V::splat(*x.add(j + part));
                *sum = V::load(matrix.add((j + part) * stride)).mul_add(factor, *sum);
            }
            j += 4;
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3]))
    }
}

/// The new values of a vector of a row: a step along `gradient`, the regulariser, the constraint.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
unsafe fn stepped<V: Vector>(old: V, gradient: V, scale: V, reg: f32, step: Step) -> V {
    // SAFETY: as the caller vouches.
    unsafe {
        let shrink = step.rate * reg;
        let mut new = if step.l1 {
            // A soft threshold: a step that would cross zero stops there, so zeros stay zeros.
            let moved = gradient.mul_add(scale, old);
            let (zero, by) = (V::splat(0.0), V::splat(shrink));
            zero.max(moved.sub(by)).sub(zero.max(zero.sub(moved).sub(by)))
        } else {
            gradient.mul_add(scale, old.mul(V::splat(1.0 - shrink)))
        };
        if step.nonnegative {
            new = V::splat(0.0).max(new);
        }
        new
    }
}

/// Where a side's row stands, if it is one of its rows.
#[inline(always)]
fn start_of<R: Rows>(side: &Side<'_, R>, entry: usize) -> (usize, f32) {
    let index = side.indices[entry];
    let reg = if side.reg.is_empty() { 0.0 } else { side.reg[index as usize] };
    let start = index.wrapping_sub(side.base) as usize * side.rank;
    assert!(start + side.rank <= side.rows.len(), "index {index} lies outside its rows");
    (start, reg)
}

/// From this many entries on, the transpose of `T` is worth its making.
const TRANSPOSE_FROM: usize = 4;
/// Rows are brought near this many entries before they are needed.
const AHEAD: usize = 8;

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
        let t: [V; N] = std::array::from_fn(|row| V::load(t.add(row * V::LANES)));
        let tt: [V; N] = std::array::from_fn(|row| V::load(tt.add(row * V::LANES)));
        let (mut squares_p, mut squares_q) = (V::splat(0.0), V::splat(0.0));
        let (all_a, all_b) = (buffers.a.as_mut_slice().as_mut_ptr(), buffers.b.as_mut_slice().as_mut_ptr());
        for (entry, &value) in values.iter().enumerate() {
            look_ahead(p, entry);
            look_ahead(q, entry);
            let (start_p, reg_p) = start_of(p, entry);
            let (start_q, reg_q) = start_of(q, entry);
            let (to_a, to_b) = (all_a.add(entry * V::LANES), all_b.add(entry * V::LANES));
            let a: V = p.rows.load_vector(start_p, shape.p);
            let b: V = q.rows.load_vector(start_q, shape.q);
            a.store(to_a);
            b.store(to_b);
            let c1 = weighted(&t, to_a);
            let c0 = weighted(&tt, to_b);
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

#[inline(always)]
fn note_error(sums: &mut Sums, value: f32, prediction: f32) -> f32 {
    let error = value - prediction;
    sums.squared_error += f64::from(error) * f64::from(error);
    sums.squared_prediction += f64::from(prediction) * f64::from(prediction);
    error
}

#[inline(always)]
fn look_ahead<R: Rows>(side: &Side<'_, R>, entry: usize) {
    if let Some(&index) = side.indices.get(entry + AHEAD) {
        side.rows.prefetch(index.wrapping_sub(side.base) as usize * side.rank, side.rank);
        crate::arch::prefetch(side.reg.as_ptr().wrapping_add(index as usize));
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
            let (start_p, reg_p) = start_of(p, entry);
            let (start_q, reg_q) = start_of(q, entry);
            let (a, b) = (all_a.add(entry * shape.p_pad), all_b.add(entry * shape.q_pad));
            p.rows.load::<V>(start_p, shape.p, a);
            q.rows.load::<V>(start_q, shape.q, b);

            let mut dot = V::splat(0.0);
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let sum = weighted_rows::<V>(a, shape.p_pad4(), t.add(at), shape.q_pad);
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
                        product = V::load(t.add(row * shape.q_pad + at)).mul_add(V::load(b.add(at)), product);
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
                    sum.store(m.add((p + part) * shape.q_pad + at));
                }
            }
        }
    }
}

/// One entry by itself, where a row is one vector: one pass over the core finds everything, and the rows step.
///
/// With `v[o] = a' G[o]`: `x~ = sum_o w[o] v[o] b`, `h[o] = e v[o] b`, `T' a = sum_o w[o] v[o]`, and `T b` from `T`,
/// which the same pass adds up. Leaves `a` and `b` as they were in the buffers.
///
/// # Safety
/// The machine must have `V`'s instructions; `core` must be `weights.len()` slices and `h` as many numbers; ranks and
/// buffers must be `shape`'s, each rank at most `V::LANES`, and `N` the first one in fours; there is one entry.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
unsafe fn lone_in_registers<V: Vector, R: Rows, const N: usize>(
    shape: &Shape,
    core: &[f32],
    weights: &[f32],
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    value: f32,
    step: Step,
    buffers: &mut Buffers,
    h: &mut [f32],
) -> Sums {
    let len = shape.slice();
    debug_assert!(len == N * V::LANES && core.len() == weights.len() * len && h.len() == weights.len());
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; slice `o` of the core has `N` vectors from `o * len` on.
    unsafe {
        let (start_p, reg_p) = start_of(p, 0);
        let (start_q, reg_q) = start_of(q, 0);
        let a: V = p.rows.load_vector(start_p, shape.p);
        let b: V = q.rows.load_vector(start_q, shape.q);
        let to_a = buffers.a.as_mut_slice().as_mut_ptr();
        a.store(to_a);
        b.store(buffers.b.as_mut_slice().as_mut_ptr());
        let each_a: [V; N] = std::array::from_fn(|row| V::splat(*to_a.add(row)));
        let mut t = [V::splat(0.0); N];
        let mut c1 = V::splat(0.0);
        let mut prediction = 0.0f32;
        for (o, (&weight, h)) in weights.iter().zip(h.iter_mut()).enumerate() {
            let slice = core.as_ptr().add(o * len);
            let weighed = V::splat(weight);
            let mut v = [V::splat(0.0); 2];
            for (row, t) in t.iter_mut().enumerate() {
                let g = V::load(slice.add(row * V::LANES));
                *t = g.mul_add(weighed, *t);
                v[row % 2] = g.mul_add(each_a[row], v[row % 2]);
            }
            let v = v[0].add(v[1]);
            c1 = v.mul_add(weighed, c1);
            *h = v.mul(b).sum();
            prediction += weight * *h;
        }
        let error = note_error(&mut sums, value, prediction);
        h.iter_mut().for_each(|h| *h *= error);
        let c0 = buffers.c0.as_mut_slice().as_mut_ptr();
        for (row, t) in t.iter().enumerate() {
            *c0.add(row) = t.mul(b).sum();
        }
        let scale = V::splat(step.rate * error);
        p.rows.store_vector(start_p, shape.p, stepped(a, V::load(c0), scale, reg_p, step));
        q.rows.store_vector(start_q, shape.q, stepped(b, c1, scale, reg_q, step));
        *buffers.c1.as_mut_slice().as_mut_ptr() = error;
        Sums { squares_p: a.mul(a).sum(), squares_q: b.mul(b).sum(), ..sums }
    }
}

/// One entry by itself: both rows step, `h[o] = e a' G[o] b`; the core is left for [`spread_lone`].
///
/// # Safety
/// The machine must have `V`'s instructions; `core` must be `weights.len()` slices and `h` as many numbers; ranks and
/// buffers must be `shape`'s; each rank must be at most `V::LANES`; there must be one entry.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
pub(crate) unsafe fn lone<V: Vector, R: Rows>(
    shape: &Shape,
    core: &[f32],
    weights: &[f32],
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    value: f32,
    step: Step,
    buffers: &mut Buffers,
    h: &mut [f32],
) -> Sums {
    // SAFETY: as the caller vouches; the constant is the first rank in fours.
    unsafe {
        match shape.p_pad4() {
            4 => lone_in_registers::<V, R, 4>(shape, core, weights, p, q, value, step, buffers, h),
            8 => lone_in_registers::<V, R, 8>(shape, core, weights, p, q, value, step, buffers, h),
            12 => lone_in_registers::<V, R, 12>(shape, core, weights, p, q, value, step, buffers, h),
            _ => lone_in_registers::<V, R, 16>(shape, core, weights, p, q, value, step, buffers, h),
        }
    }
}

/// The core's step after [`lone`]: `G[o] += rate e w[o] a b'`, less its regulariser.
///
/// # Safety
/// The machine must have `V`'s instructions; `core` must be `weights.len()` slices; buffers must be `shape`'s; each
/// rank must be at most `V::LANES`.
#[inline(always)]
pub(crate) unsafe fn spread_lone<V: Vector>(
    shape: &Shape,
    core: &mut [f32],
    weights: &[f32],
    reg: f32,
    step: Step,
    buffers: &Buffers,
) {
    let len = shape.slice();
    debug_assert!(core.len() == weights.len() * len && shape.q_pad == V::LANES);
    let a = &buffers.a.as_slice()[..shape.p_pad4()];
    let error = buffers.c1.as_slice()[0];
    // With as little regularisation as one entry's share of it, most often nothing is left of it in f32.
    let plain = !step.l1 && !step.nonnegative && 1.0 - step.rate * reg == 1.0;
    // SAFETY: each slice has `p_pad4` vectors; b is one vector.
    unsafe {
        let b = V::load(buffers.b.as_slice().as_ptr());
        for (slice, &weight) in core.chunks_exact_mut(len).zip(weights) {
            let b = b.mul(V::splat(step.rate * error * weight));
            for (row, &a) in a.iter().enumerate() {
                let g = slice.as_mut_ptr().add(row * V::LANES);
                let old = V::load(g);
                let new = if plain {
                    b.mul_add(V::splat(a), old)
                } else {
                    stepped(old, b.mul(V::splat(a)), V::splat(1.0), reg, step)
                };
                new.store(g);
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
pub(crate) unsafe fn spread<V: Vector>(
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
            // Rows come in fours, so there are whole fours of vectors.
            while at < len {
                for (part, sum) in sums.iter_mut().enumerate() {
                    let place = at + part * V::LANES;
                    let (old, m) = (V::load(g.add(place)), V::load(m.add(place)));
                    *sum = old.mul_add(m, *sum);
                    stepped(old, m, scale, reg, step).store(g.add(place));
                }
                at += 4 * V::LANES;
            }
            *h = sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum();
        }
    }
}

/// One step on both rows of each entry, where the prediction is `sum_j d[j] a[j] b[j]`; `m[j] = sum e a[j] b[j]`.
///
/// # Safety
/// The machine must have `V`'s instructions; ranks must be `shape`'s, equal; `d` and `m` have the padded length.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
pub(crate) unsafe fn diagonal<V: Vector, R: Rows>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    d: &[f32],
    m: &mut [f32],
    buffers: &mut Buffers,
) -> Sums {
    debug_assert!(d.len() == shape.q_pad && m.len() == shape.q_pad);
    m.fill(0.0);
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; all else has the padded length and moves by whole vectors.
    unsafe {
        let mut squares_p = V::splat(0.0);
        let mut squares_q = V::splat(0.0);
        let (d, m) = (d.as_ptr(), m.as_mut_ptr());
        let (a, b) = (buffers.c0.as_mut_slice().as_mut_ptr(), buffers.c1.as_mut_slice().as_mut_ptr());
        for (entry, &value) in values.iter().enumerate() {
            let (start_p, reg_p) = start_of(p, entry);
            let (start_q, reg_q) = start_of(q, entry);
            p.rows.load::<V>(start_p, shape.p, a);
            q.rows.load::<V>(start_q, shape.q, b);
            let mut dot = V::splat(0.0);
            for at in (0..shape.q_pad).step_by(V::LANES) {
                dot = V::load(a.add(at)).mul(V::load(b.add(at))).mul_add(V::load(d.add(at)), dot);
            }
            let error = note_error(&mut sums, value, dot.sum());
            let scale = V::splat(step.rate * error);
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let (old_a, old_b, d) = (V::load(a.add(at)), V::load(b.add(at)), V::load(d.add(at)));
                squares_p = old_a.mul_add(old_a, squares_p);
                squares_q = old_b.mul_add(old_b, squares_q);
                stepped(old_a, d.mul(old_b), scale, reg_p, step).store(a.add(at));
                stepped(old_b, d.mul(old_a), scale, reg_q, step).store(b.add(at));
                old_a.mul(old_b).mul_add(V::splat(error), V::load(m.add(at))).store(m.add(at));
            }
            p.rows.store::<V>(start_p, shape.p, a);
            q.rows.store::<V>(start_q, shape.q, b);
        }
        Sums { squares_p: squares_p.sum(), squares_q: squares_q.sum(), ..sums }
    }
}

/// `a' T b` of each entry.
///
/// # Safety
/// The machine must have `V`'s instructions; ranks and buffers must be `shape`'s.
#[inline(always)]
pub(crate) unsafe fn predict<V: Vector>(
    shape: &Shape,
    p: &Side<'_, &[f32]>,
    q: &Side<'_, &[f32]>,
    buffers: &Buffers,
    predictions: &mut [f32],
) {
    let t = buffers.t.as_slice().as_ptr();
    let start = |side: &Side<'_, &[f32]>, entry: usize| {
        let index = side.indices[entry];
        let start = index.wrapping_sub(side.base) as usize * side.rank;
        assert!(start + side.rank <= side.rows.len(), "index {index} lies outside its rows");
        start
    };
    for (entry, prediction) in predictions.iter_mut().enumerate() {
        let (start_p, start_q) = (start(p, entry), start(q, entry));
        // SAFETY: the rows lie inside their slices (just asserted); row `j < p` of T and each vector of it lie in
        // the buffer; the last vector of b is read in part.
        unsafe {
            let (a, b) = (p.rows.as_ptr().add(start_p), q.rows.as_ptr().add(start_q));
            let mut dot = V::splat(0.0);
            for at in (0..shape.q_pad).step_by(V::LANES) {
                let mut sums = [V::splat(0.0); 2];
                for j in 0..shape.p {
                    let factor = V::splat(*a.add(j));
                    sums[j % 2] = V::load(t.add(j * shape.q_pad + at)).mul_add(factor, sums[j % 2]);
                }
                let left = shape.q - at;
                let b = if left >= V::LANES { V::load(b.add(at)) } else { V::load_part(b.add(at), left) };
                dot = sums[0].add(sums[1]).mul_add(b, dot);
            }
            *prediction = dot.sum();
        }
    }
}
