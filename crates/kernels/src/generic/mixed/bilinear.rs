//! The steps of inner rows, a group of entries at a time.

use std::ops::Range;

use super::super::{reg_of, shrunk, start_of};
use super::lanes::{rows_of, to_lanes};
use super::{by_registers, tiles};
use crate::buffers::Buffers;
use crate::rows::Rows;
use crate::vector::{MOST_LANES, Vector};
use crate::{Shape, Side, Step, Sums};

/// One step on both rows of each entry, as if one entry after the other; leaves the rows as they were before their
/// steps, and the errors. Each entry's prediction and the product of its rows' squared lengths, both before the step, go
/// to `predictions` and `squares`.
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
    let mut sums = Sums::default();
    for first in (0..values.len()).step_by(V::LANES) {
        let count = (values.len() - first).min(V::LANES);
        let (indices_p, indices_q) = (&p.indices[first..first + count], &q.indices[first..first + count]);
        let repeats = may_repeat::<V>(indices_p) || may_repeat::<V>(indices_q);
        // SAFETY: as the caller vouches; `first` is that of a group.
        unsafe {
            let group = Group::<V>::new(shape, buffers, first);
            group.clear(count);
            let mut start = 0;
            while start < count {
                let end = if repeats { end_of_run(indices_p, indices_q, start) } else { count };
                group.step(p, q, start..end, values, step, predictions);
                start = end;
            }
            group.lengths(&mut squares[first..first + count]);
            sums.squared_error += f64::from(squared_sum::<V>(group.errors, V::LANES));
            sums.squared_prediction += f64::from(squared_sum::<V>(predictions.as_ptr().add(first), count));
        }
    }
    sums
}

/// Whether any two entries of a group share a row on this side. It may say so of a group that is not whole where it is
/// not true.
#[inline(always)]
fn may_repeat<V: Vector>(indices: &[u32]) -> bool {
    let mut group: [u32; MOST_LANES] = std::array::from_fn(|place| u32::MAX - place as u32);
    group[..indices.len()].copy_from_slice(indices);
    // Twice, so that all entries have one at any distance behind them; half the distances then make all pairs. What is
    // the same differs by zero: whole vectors at a time, and nothing to branch on.
    let mut twice = [0; 2 * MOST_LANES];
    (0..2 * V::LANES).for_each(|place| twice[place] = group[place % V::LANES]);
    let mut least = [u32::MAX; MOST_LANES];
    for distance in 1..=V::LANES / 2 {
        for place in 0..V::LANES {
            least[place] = least[place].min(twice[place] ^ twice[place + distance]);
        }
    }
    least[..V::LANES].iter().fold(u32::MAX, |least, &next| least.min(next)) == 0
}

/// The end of the entries from `start` on of which no two share a row.
#[inline(always)]
fn end_of_run(p: &[u32], q: &[u32], start: usize) -> usize {
    let repeats = |&entry: &usize| p[start..entry].contains(&p[entry]) || q[start..entry].contains(&q[entry]);
    (start + 1..p.len()).find(repeats).unwrap_or(p.len())
}

/// Where everything of a group of entries stands in the buffers.
struct Group<'a, V: Vector> {
    shape: &'a Shape,
    first: usize,
    t: *const f32,
    /// Rows, an entry after the other, and by lanes.
    a: *mut f32,
    b: *mut f32,
    a_lanes: *mut f32,
    b_lanes: *mut f32,
    /// `T b` and `T' a` by lanes, then the new rows.
    c0: *mut f32,
    c1: *mut f32,
    errors: *mut f32,
    vector: std::marker::PhantomData<V>,
}

impl<'a, V: Vector> Group<'a, V> {
    /// # Safety
    /// `first` must be the first entry of a group, and `buffers` be `shape`'s.
    #[inline(always)]
    unsafe fn new(shape: &'a Shape, buffers: &mut Buffers, first: usize) -> Self {
        // SAFETY: the buffers have room for whole groups.
        unsafe {
            Group {
                shape,
                first,
                t: buffers.ts.as_slice().as_ptr().add(first * shape.p * shape.q),
                a: buffers.a.as_mut_slice().as_mut_ptr().add(first * shape.p_pad),
                b: buffers.b.as_mut_slice().as_mut_ptr().add(first * shape.q_pad),
                a_lanes: buffers.a_lanes.as_mut_slice().as_mut_ptr().add(first * shape.p_pad),
                b_lanes: buffers.b_lanes.as_mut_slice().as_mut_ptr().add(first * shape.q_pad),
                c0: buffers.c0.as_mut_slice().as_mut_ptr(),
                c1: buffers.c1.as_mut_slice().as_mut_ptr(),
                errors: buffers.errors.as_mut_slice().as_mut_ptr().add(first),
                vector: std::marker::PhantomData,
            }
        }
    }

    /// Zeros for the entries that the last group lacks.
    ///
    /// # Safety
    /// As for [`bilinear_mixed`]; so for the methods below.
    #[inline(always)]
    unsafe fn clear(&self, count: usize) {
        // SAFETY: `count` and below `LANES` are entries of the group.
        unsafe {
            for entry in count..V::LANES {
                std::slice::from_raw_parts_mut(self.a.add(entry * self.shape.p_pad), self.shape.p_pad)
                    .fill(0.0);
                std::slice::from_raw_parts_mut(self.b.add(entry * self.shape.q_pad), self.shape.q_pad)
                    .fill(0.0);
                *self.errors.add(entry) = 0.0;
            }
        }
    }

    /// The steps of the entries `run` of the group, no two of which share a row. The lanes of all others are computed as
    /// well, and nothing is made of them.
    #[inline(always)]
    unsafe fn step<R: Rows>(
        &self,
        p: &mut Side<'_, R>,
        q: &mut Side<'_, R>,
        run: Range<usize>,
        values: &[f32],
        step: Step,
        predictions: &mut [f32],
    ) {
        let Shape { p_pad, q_pad, .. } = *self.shape;
        let (mut found, mut errors) = ([0.0f32; MOST_LANES], [0.0f32; MOST_LANES]);
        // SAFETY: all stays in the group's part of the buffers.
        unsafe {
            let rows_p = self.load(p, run.clone(), self.a, p_pad, self.a_lanes);
            let rows_q = self.load(q, run.clone(), self.b, q_pad, self.b_lanes);
            self.products().store(found.as_mut_ptr());
            for entry in run.clone() {
                errors[entry] = values[self.first + entry] - found[entry];
                predictions[self.first + entry] = found[entry];
                *self.errors.add(entry) = errors[entry];
            }
            let scale = V::load(errors.as_ptr()).mul(V::splat(step.rate));
            store(p, run.clone(), &rows_p, self.a_lanes, self.c0, scale, step);
            store(q, run, &rows_q, self.b_lanes, self.c1, scale, step);
        }
    }

    /// Loads the rows of the entries `run` on one side, to `to` and then all of the group by lanes.
    #[inline(always)]
    unsafe fn load<R: Rows>(
        &self,
        side: &Side<'_, R>,
        run: Range<usize>,
        to: *mut f32,
        pad: usize,
        lanes: *mut f32,
    ) -> Found {
        let mut found = Found { starts: [0; MOST_LANES], regs: [0.0; MOST_LANES] };
        // SAFETY: `start_of` keeps rows inside their slices; `to` has room for the padded rows of a group.
        unsafe {
            for entry in run {
                let start = start_of(side, side.rows.len(), self.first + entry);
                side.rows.load::<V>(start, side.rank, to.add(entry * pad));
                found.starts[entry] = start;
                found.regs[entry] = reg_of(side, self.first + entry);
            }
            to_lanes::<V>(to, pad, V::LANES, side.rank, lanes);
        }
        found
    }

    /// `T b` and `T' a` by lanes; returns the predictions `a' T b`.
    #[inline(always)]
    unsafe fn products(&self) -> V {
        let Shape { q, .. } = *self.shape;
        // SAFETY: `j` plus a tile is at most `q`.
        unsafe {
            let mut j = 0;
            while j < q {
                j += tiles!(q - j, by_registers::<V>(8, 4), columns::<V>(self, j));
            }
            let mut predictions = [V::splat(0.0); 2];
            for j in 0..q {
                let (c1, b) = (V::load(self.c1.add(j * V::LANES)), V::load(self.b_lanes.add(j * V::LANES)));
                predictions[j % 2] = c1.mul_add(b, predictions[j % 2]);
            }
            predictions[0].add(predictions[1])
        }
    }

    /// The products of the squared lengths of both rows, for as many entries as there is room for.
    #[inline(always)]
    unsafe fn lengths(&self, to: &mut [f32]) {
        let mut lanes = [0.0f32; MOST_LANES];
        // SAFETY: both rows are there by lanes.
        unsafe {
            let p = squares_of::<V>(self.a_lanes, self.shape.p);
            p.mul(squares_of::<V>(self.b_lanes, self.shape.q)).store(lanes.as_mut_ptr());
        }
        to.copy_from_slice(&lanes[..to.len()]);
    }
}

/// `N` columns of `T` from `first` on: `T' a` there, and their part of `T b`, which the first ones start.
///
/// # Safety
/// As for [`bilinear_mixed`], with `first + N <= q`.
#[inline(always)]
unsafe fn columns<V: Vector, const N: usize>(group: &Group<'_, V>, first: usize) {
    let Shape { p, q, .. } = *group.shape;
    // SAFETY: as the caller vouches.
    unsafe {
        let (mut b, mut c1) = ([V::splat(0.0); N], [V::splat(0.0); N]);
        for (n, b) in b.iter_mut().enumerate() {
            *b = V::load(group.b_lanes.add((first + n) * V::LANES));
        }
        for i in 0..p {
            let a = V::load(group.a_lanes.add(i * V::LANES));
            let c0 = group.c0.add(i * V::LANES);
            let mut sums = [if first == 0 { V::splat(0.0) } else { V::load(c0) }, V::splat(0.0)];
            for (n, (b, c1)) in b.iter().zip(&mut c1).enumerate() {
                let t = V::load(group.t.add((i * q + first + n) * V::LANES));
                *c1 = t.mul_add(a, *c1);
                sums[n % 2] = t.mul_add(*b, sums[n % 2]);
            }
            sums[0].add(sums[1]).store(c0);
        }
        for (n, c1) in c1.iter().enumerate() {
            c1.store(group.c1.add((first + n) * V::LANES));
        }
    }
}

/// The squared lengths of rows, each in a lane.
///
/// # Safety
/// The machine must have `V`'s instructions, and `rank` vectors be readable at `rows`.
#[inline(always)]
unsafe fn squares_of<V: Vector>(rows: *const f32, rank: usize) -> V {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sum = V::splat(0.0);
        for j in 0..rank {
            let row = V::load(rows.add(j * V::LANES));
            sum = row.mul_add(row, sum);
        }
        sum
    }
}

/// Where the rows of a group stand, and their regularisers.
struct Found {
    starts: [usize; MOST_LANES],
    regs: [f32; MOST_LANES],
}

/// Steps the rows of the entries `run` from `old` along `gradients`, both by lanes; the latter are used up.
///
/// # Safety
/// The machine must have `V`'s instructions; both must be readable up to whole `LANES` of vectors; `found` must be where
/// the rows of `run` stand.
#[inline(always)]
unsafe fn store<V: Vector, R: Rows>(
    side: &mut Side<'_, R>,
    run: Range<usize>,
    found: &Found,
    old: *const f32,
    gradients: *mut f32,
    scale: V,
    step: Step,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let by = V::load(found.regs.as_ptr()).mul(V::splat(step.rate));
        let left = V::splat(1.0).sub(by);
        for j in 0..side.rank {
            let at = gradients.add(j * V::LANES);
            shrunk(V::load(old.add(j * V::LANES)), V::load(at), scale, by, left, step).store(at);
        }
        for at in (0..side.rank).step_by(V::LANES) {
            let count = (side.rank - at).min(V::LANES);
            let rows: [V; MOST_LANES] = rows_of(gradients.add(at * V::LANES));
            for (entry, row) in rows.iter().take(V::LANES).enumerate() {
                if run.contains(&entry) {
                    side.rows.store_vector(found.starts[entry] + at, count, *row);
                }
            }
        }
    }
}

/// The sum of the squares of at most `LANES` numbers.
///
/// # Safety
/// The machine must have `V`'s instructions, and so many numbers be readable.
#[inline(always)]
unsafe fn squared_sum<V: Vector>(numbers: *const f32, count: usize) -> f32 {
    // SAFETY: as the caller vouches.
    unsafe {
        let numbers = if count == V::LANES { V::load(numbers) } else { V::load_part(numbers, count) };
        numbers.mul(numbers).sum()
    }
}
