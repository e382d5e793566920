//! Sums over the entries of one row, from which the row is solved for.

use super::AHEAD;
use crate::prefetch::prefetch_line;
use crate::vector::Vector;

/// `out = sum_o w[o] slices[o]`.
///
/// # Safety
/// The machine must have `V`'s instructions; `out` must be whole vectors, and `slices` one of its length per weight.
#[inline(always)]
pub(crate) unsafe fn fold<V: Vector>(slices: &[f32], weights: &[f32], out: &mut [f32]) {
    let len = out.len();
    debug_assert!(slices.len() == weights.len() * len && len.is_multiple_of(V::LANES));
    // SAFETY: `at` moves in whole vectors below `len`, a multiple of LANES, and slice `o` ends at `(o + 1) * len`.
    unsafe {
        let mut at = 0;
        // Four vectors at a time: four chains of additions, one broadcast for all.
        while at + 4 * V::LANES <= len {
            let mut sums = [V::splat(0.0); 4];
            for (o, &weight) in weights.iter().enumerate() {
                let weight = V::splat(weight);
                let slice = slices.as_ptr().add(o * len + at);
                for (part, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(slice.add(part * V::LANES)).mul_add(weight, *sum);
                }
            }
            for (part, sum) in sums.iter().enumerate() {
                sum.store(out.as_mut_ptr().add(at + part * V::LANES));
            }
            at += 4 * V::LANES;
        }
        while at < len {
            let mut sum = V::splat(0.0);
            for (o, &weight) in weights.iter().enumerate() {
                sum = V::load(slices.as_ptr().add(o * len + at)).mul_add(V::splat(weight), sum);
            }
            sum.store(out.as_mut_ptr().add(at));
            at += V::LANES;
        }
    }
}

/// `slices[o] += w[o] slice`.
///
/// # Safety
/// As for [`fold`].
#[inline(always)]
pub(crate) unsafe fn unfold<V: Vector>(slice: &[f32], weights: &[f32], slices: &mut [f32]) {
    let len = slice.len();
    debug_assert!(slices.len() == weights.len() * len && len.is_multiple_of(V::LANES));
    // SAFETY: as in `fold`.
    unsafe {
        for (o, &weight) in weights.iter().enumerate() {
            let weight = V::splat(weight);
            for at in (0..len).step_by(V::LANES) {
                let to = slices.as_mut_ptr().add(o * len + at);
                V::load(slice.as_ptr().add(at)).mul_add(weight, V::load(to)).store(to);
            }
        }
    }
}

/// The rows that entries name, `rank` numbers each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) rows: &'a [f32],
    pub(crate) rank: usize,
    pub(crate) indices: &'a [u32],
}

impl Named<'_> {
    #[inline(always)]
    fn start(&self, entry: usize) -> usize {
        let start = self.indices[entry] as usize * self.rank;
        assert!(start + self.rank <= self.rows.len(), "index {} lies outside its rows", self.indices[entry]);
        start
    }

    #[inline(always)]
    fn look_ahead(&self, entry: usize) {
        if let Some(&index) = self.indices.get(entry + AHEAD) {
            let row = self.rows.as_ptr().wrapping_add(index as usize * self.rank);
            prefetch_line(row);
            prefetch_line(row.wrapping_add(self.rank - 1));
        }
    }
}

/// For each entry `d = s T' b`, where `b` is the row that it names and `s` its scale.
///
/// # Safety
/// The machine must have `V`'s instructions; `t` must be `named.rank` rows of `pad` numbers, whole vectors; there must be
/// a scale and `pad` numbers of `d` per entry.
#[inline(always)]
pub(crate) unsafe fn design<V: Vector>(
    t: &[f32],
    pad: usize,
    named: Named<'_>,
    scales: &[f32],
    d: &mut [f32],
) {
    let count = named.indices.len();
    debug_assert!(pad.is_multiple_of(V::LANES) && t.len() == named.rank * pad);
    debug_assert!(scales.len() == count && d.len() == count * pad);
    // SAFETY: as the caller vouches; `first + E <= count` in every call.
    unsafe {
        let mut first = 0;
        while first + 8 <= count {
            design_some::<V, 8>(t, pad, named, scales, d, first);
            first += 8;
        }
        if first + 4 <= count {
            design_some::<V, 4>(t, pad, named, scales, d, first);
            first += 4;
        }
        while first < count {
            design_some::<V, 1>(t, pad, named, scales, d, first);
            first += 1;
        }
    }
}

/// `E` entries together: each vector of `T` is loaded once for all.
///
/// # Safety
/// As for [`design`]; there must be `E` entries from `first` on.
#[inline(always)]
unsafe fn design_some<V: Vector, const E: usize>(
    t: &[f32],
    pad: usize,
    named: Named<'_>,
    scales: &[f32],
    d: &mut [f32],
    first: usize,
) {
    let mut starts = [0usize; E];
    for (k, start) in starts.iter_mut().enumerate() {
        *start = named.start(first + k);
        named.look_ahead(first + k);
    }
    // SAFETY: as the caller vouches; `start` has checked that the rows lie inside.
    unsafe {
        for at in (0..pad).step_by(V::LANES) {
            let mut sums = [V::splat(0.0); E];
            for k in 0..named.rank {
                let row = V::load(t.as_ptr().add(k * pad + at));
                for (sum, start) in sums.iter_mut().zip(starts) {
                    *sum = row.mul_add(V::splat(*named.rows.as_ptr().add(start + k)), *sum);
                }
            }
            for (k, sum) in sums.iter().enumerate() {
                let to = d.as_mut_ptr().add((first + k) * pad + at);
                sum.mul(V::splat(scales[first + k])).store(to);
            }
        }
    }
}

/// Adds up, over the rows `d` of `pad` numbers, the products `d d'` (the lower triangle of the first `rank` rows; beyond
/// it are numbers without meaning) and `value d`.
///
/// # Safety
/// The machine must have `V`'s instructions; `pad` must be whole vectors and at least `rank`; `d` must be a row per value,
/// `squares` must be `rank` rows and `products` one.
#[inline(always)]
pub(crate) unsafe fn gram<V: Vector>(
    d: &[f32],
    pad: usize,
    rank: usize,
    values: &[f32],
    squares: &mut [f32],
    products: &mut [f32],
) {
    debug_assert!(pad.is_multiple_of(V::LANES) && rank <= pad && d.len() == values.len() * pad);
    debug_assert!(squares.len() == rank * pad && products.len() == pad);
    // SAFETY: as the caller vouches; every tile ends at or before `rank`.
    unsafe {
        for at in (0..pad).step_by(V::LANES) {
            // Rows above the vector's first column have nothing of the lower triangle in it.
            let mut row = at;
            while row + 8 <= rank {
                tile::<V, 8>(d, pad, values.len(), row, at, squares);
                row += 8;
            }
            if row + 4 <= rank {
                tile::<V, 4>(d, pad, values.len(), row, at, squares);
                row += 4;
            }
            while row < rank {
                tile::<V, 1>(d, pad, values.len(), row, at, squares);
                row += 1;
            }
            let mut sums = [V::splat(0.0); 4];
            for (entry, &value) in values.iter().enumerate() {
                let sum = &mut sums[entry % 4];
                *sum = V::load(d.as_ptr().add(entry * pad + at)).mul_add(V::splat(value), *sum);
            }
            let to = products.as_mut_ptr().add(at);
            let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
            sum.add(V::load(to)).store(to);
        }
    }
}

/// `R` rows of one column of vectors of `sum d d'`, kept in registers over all entries.
///
/// # Safety
/// As for [`gram`], with `row + R <= rank` and `at + LANES <= pad`.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize>(
    d: &[f32],
    pad: usize,
    count: usize,
    row: usize,
    at: usize,
    squares: &mut [f32],
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sums: [V; R] = std::array::from_fn(|k| V::load(squares.as_ptr().add((row + k) * pad + at)));
        let mut from = d.as_ptr();
        for _ in 0..count {
            let vector = V::load(from.add(at));
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = vector.mul_add(V::splat(*from.add(row + k)), *sum);
            }
            from = from.add(pad);
        }
        for (k, sum) in sums.iter().enumerate() {
            sum.store(squares.as_mut_ptr().add((row + k) * pad + at));
        }
    }
}

/// For each entry the product of `w` and the row that it names.
///
/// # Safety
/// The machine must have `V`'s instructions; `w` must be `named.rank` numbers and zeros up to a whole vector; there must be
/// a number of `out` per entry.
#[inline(always)]
pub(crate) unsafe fn project<V: Vector>(w: &[f32], named: Named<'_>, out: &mut [f32]) {
    debug_assert!(
        w.len().is_multiple_of(V::LANES) && w.len() >= named.rank && out.len() == named.indices.len()
    );
    // SAFETY: as the caller vouches; `start` has checked that the rows lie inside, and `load_part` stays in them.
    unsafe {
        for (four, out) in out.chunks_mut(4).enumerate() {
            let mut dots = [V::splat(0.0); 4];
            for (k, dot) in dots.iter_mut().take(out.len()).enumerate() {
                let entry = 4 * four + k;
                named.look_ahead(entry);
                let row = named.rows.as_ptr().add(named.start(entry));
                for at in (0..w.len()).step_by(V::LANES) {
                    *dot = part::<V>(row, at, named.rank).mul_add(V::load(w.as_ptr().add(at)), *dot);
                }
            }
            let mut sums = [0.0f32; 4];
            V::sums(&dots).store_four(&mut sums);
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}

/// Adds to `sum` the rows that entries name, each times its weight.
///
/// # Safety
/// As for [`project`], `sum` in place of `w`, with a weight per entry.
#[inline(always)]
pub(crate) unsafe fn collect<V: Vector>(named: Named<'_>, weights: &[f32], sum: &mut [f32]) {
    debug_assert!(sum.len().is_multiple_of(V::LANES) && sum.len() >= named.rank);
    debug_assert!(weights.len() == named.indices.len());
    // SAFETY: as in `project`.
    unsafe {
        for at in (0..sum.len()).step_by(V::LANES) {
            let mut sums = [V::splat(0.0); 4];
            for (entry, &weight) in weights.iter().enumerate() {
                named.look_ahead(entry);
                let row = named.rows.as_ptr().add(named.start(entry));
                let sum = &mut sums[entry % 4];
                *sum = part::<V>(row, at, named.rank).mul_add(V::splat(weight), *sum);
            }
            let to = sum.as_mut_ptr().add(at);
            let total = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
            total.add(V::load(to)).store(to);
        }
    }
}

/// The vector at `at` of a row of `rank` numbers, zeros after them.
///
/// # Safety
/// The row must be readable; `at` must be below `rank`.
#[inline(always)]
unsafe fn part<V: Vector>(row: *const f32, at: usize, rank: usize) -> V {
    // SAFETY: as the caller vouches.
    unsafe { if at + V::LANES <= rank { V::load(row.add(at)) } else { V::load_part(row.add(at), rank - at) } }
}
