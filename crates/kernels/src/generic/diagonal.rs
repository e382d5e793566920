//! Entries of a diagonal core, and cells of a coupled matrix.

use super::{look_ahead, note_error, reg_of, start_of, stepped};
use crate::buffers::Buffers;
use crate::rows::Rows;
use crate::vector::Vector;
use crate::{Shape, Side, Step, Sums};

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
    if shape.q_pad == V::LANES {
        // SAFETY: as the caller vouches.
        return unsafe { in_registers::<V, R>(shape, p, q, values, step, d, m) };
    }
    m.fill(0.0);
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; all else has the padded length and moves by whole vectors.
    unsafe {
        let mut squares_p = V::splat(0.0);
        let mut squares_q = V::splat(0.0);
        let (d, m) = (d.as_ptr(), m.as_mut_ptr());
        let (a, b) = (buffers.c0.as_mut_slice().as_mut_ptr(), buffers.c1.as_mut_slice().as_mut_ptr());
        for (entry, &value) in values.iter().enumerate() {
            look_ahead(p, entry);
            look_ahead(q, entry);
            let (start_p, reg_p) = (start_of(p, p.rows.len(), entry), reg_of(p, entry));
            let (start_q, reg_q) = (start_of(q, q.rows.len(), entry), reg_of(q, entry));
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

/// The same where a row is one vector.
///
/// # Safety
/// As for [`diagonal`], with the padded length that of one vector.
#[inline(always)]
unsafe fn in_registers<V: Vector, R: Rows>(
    shape: &Shape,
    p: &mut Side<'_, R>,
    q: &mut Side<'_, R>,
    values: &[f32],
    step: Step,
    d: &[f32],
    m: &mut [f32],
) -> Sums {
    let mut sums = Sums::default();
    // SAFETY: `start_of` keeps rows inside their slices; `d` and `m` are one vector.
    unsafe {
        let (d, mut sum) = (V::load(d.as_ptr()), V::splat(0.0));
        let (mut squares_p, mut squares_q) = (V::splat(0.0), V::splat(0.0));
        for (entry, &value) in values.iter().enumerate() {
            look_ahead(p, entry);
            look_ahead(q, entry);
            let (start_p, reg_p) = (start_of(p, p.rows.len(), entry), reg_of(p, entry));
            let (start_q, reg_q) = (start_of(q, q.rows.len(), entry), reg_of(q, entry));
            let a: V = p.rows.load_vector(start_p, shape.p);
            let b: V = q.rows.load_vector(start_q, shape.q);
            let (product, c0, c1) = (a.mul(b), d.mul(b), d.mul(a));
            let error = note_error(&mut sums, value, product.mul(d).sum());
            let scale = V::splat(step.rate * error);
            squares_p = a.mul_add(a, squares_p);
            squares_q = b.mul_add(b, squares_q);
            p.rows.store_vector(start_p, shape.p, stepped(a, c0, scale, reg_p, step));
            q.rows.store_vector(start_q, shape.q, stepped(b, c1, scale, reg_q, step));
            sum = product.mul_add(V::splat(error), sum);
        }
        sum.store(m.as_mut_ptr());
        Sums { squares_p: squares_p.sum(), squares_q: squares_q.sum(), ..sums }
    }
}
