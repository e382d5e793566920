//! Passes over the entries of rows: what a core predicts of them, and its transpose.

use super::Named;
use crate::CHUNK;
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

/// For each entry the product of its run's `w` and the row that it names. The entries of a run end at `ends`, where those of the
/// next begin.
///
/// # Safety
/// The machine must have `V`'s instructions; `w` must be `named.stride` numbers for each run, whole vectors; there must be a
/// number of `out` per entry.
#[inline(always)]
pub(crate) unsafe fn project<V: Vector>(w: &[f32], named: Named<'_>, ends: &[u32], out: &mut [f32]) {
    let pad = named.stride;
    debug_assert!(pad.is_multiple_of(V::LANES) && w.len() == ends.len() * pad);
    debug_assert!(out.len() <= named.indices.len());
    let mut first = 0;
    for (w, &end) in w.chunks_exact(pad).zip(ends) {
        let end = end as usize;
        while first < end {
            let here = (end - first).min(4);
            // SAFETY: as the caller vouches; there are so many entries from `first` on.
            let dots = unsafe {
                if pad == V::LANES {
                    let along = V::load(w.as_ptr());
                    narrow_rows::<V>(named, first, here).map(|row| row.mul(along))
                } else {
                    dots::<V>(w, named, first, here)
                }
            };
            let mut sums = [0.0; 4];
            // SAFETY: the machine has `V`'s instructions.
            unsafe { V::sums(&dots).store_four(&mut sums) };
            // What is written behind a run is written again by the next.
            match out[first..].first_chunk_mut() {
                Some(four) => *four = sums,
                None => out[first..].iter_mut().zip(sums).for_each(|(out, sum)| *out = sum),
            }
            first += here;
        }
    }
}

/// The rows of one vector that so many entries name, four at most, and zeros in place of others.
///
/// # Safety
/// As for [`project`]; there must be that many entries from `first` on.
#[inline(always)]
unsafe fn narrow_rows<V: Vector>(named: Named<'_>, first: usize, entries: usize) -> [V; 4] {
    // SAFETY: as the caller vouches; `start` has checked that the rows lie inside.
    unsafe {
        let mut rows = [V::splat(0.0); 4];
        for (k, row) in rows.iter_mut().take(entries).enumerate() {
            named.look_ahead(first + k);
            *row = V::load(named.rows.as_ptr().add(named.start(first + k)));
        }
        rows
    }
}

/// The products of `w` and the rows that so many entries name, four at most, not yet summed up.
///
/// # Safety
/// As for [`project`]; there must be that many entries from `first` on.
#[inline(always)]
unsafe fn dots<V: Vector>(w: &[f32], named: Named<'_>, first: usize, entries: usize) -> [V; 4] {
    let mut rows = [w.as_ptr(); 4];
    for (entry, row) in (first..).zip(&mut rows[..entries]) {
        named.look_ahead(entry);
        *row = named.rows[named.start(entry)..].as_ptr();
    }
    let rows = &rows[..entries];
    // SAFETY: as the caller vouches; `start` has checked that the rows lie inside, which are as long as `w`.
    unsafe {
        let mut dots = [V::splat(0.0); 4];
        for at in (0..w.len()).step_by(V::LANES) {
            let along = V::load(w.as_ptr().add(at));
            for (dot, row) in dots.iter_mut().zip(rows) {
                *dot = V::load(row.add(at)).mul_add(along, *dot);
            }
        }
        dots
    }
}

/// For each run the sum of the rows that its entries name, each times its weight.
///
/// # Safety
/// As for [`project`], `sums` in place of `w`, with a weight per entry.
#[inline(always)]
pub(crate) unsafe fn collect<V: Vector>(named: Named<'_>, ends: &[u32], weights: &[f32], sums: &mut [f32]) {
    let pad = named.stride;
    debug_assert!(pad.is_multiple_of(V::LANES) && sums.len() == ends.len() * pad);
    debug_assert!(weights.len() <= named.indices.len());
    let mut first = 0;
    for (to, &end) in sums.chunks_exact_mut(pad).zip(ends) {
        let end = end as usize;
        // SAFETY: as in `project`.
        unsafe {
            for at in (0..pad).step_by(V::LANES) {
                let mut total = V::splat(0.0);
                for (first, chunk) in (first..end).step_by(CHUNK).zip(weights[first..end].chunks(CHUNK)) {
                    let mut sums = [total, V::splat(0.0), V::splat(0.0), V::splat(0.0)];
                    for (first, four) in (first..).step_by(4).zip(chunk.chunks(4)) {
                        for (k, (sum, &weight)) in sums.iter_mut().zip(four).enumerate() {
                            let row = named.rows.as_ptr().add(named.start(first + k));
                            *sum = V::load(row.add(at)).mul_add(V::splat(weight), *sum);
                        }
                    }
                    total = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
                }
                total.store(to.as_mut_ptr().add(at));
            }
        }
        first = end;
    }
}

/// Runs that go through a pass together: the weights of each are a row of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights<'a> {
    pub(crate) table: &'a [f32],
    /// How many a run has: one for each slice, and how far apart the table's rows begin.
    pub(crate) slices: usize,
    pub(crate) stride: usize,
    /// Which row of the table is each run's.
    pub(crate) places: &'a [u32],
}

impl Weights<'_> {
    /// Those of `E` runs from `first` on.
    #[inline(always)]
    fn rows<const E: usize>(&self, first: usize) -> [*const f32; E] {
        std::array::from_fn(|k| {
            let start = self.places[first + k] as usize * self.stride;
            self.table[start..start + self.slices].as_ptr()
        })
    }
}

/// [`fold`] for each run, times its scale: `out` has a row of `pad` numbers for each.
///
/// # Safety
/// The machine must have `V`'s instructions; `pad` must be whole vectors, and `slices` and `out` as many rows of it as runs have
/// weights, and as there are runs; there must be a scale for each run.
#[inline(always)]
pub(crate) unsafe fn fold_runs<V: Vector>(
    slices: &[f32],
    weights: Weights<'_>,
    scales: &[f32],
    pad: usize,
    out: &mut [f32],
) {
    debug_assert!(pad.is_multiple_of(V::LANES) && slices.len() == weights.slices * pad);
    debug_assert!(out.len() == weights.places.len() * pad && scales.len() == weights.places.len());
    let count = weights.places.len();
    let mut first = 0;
    while first < count {
        // SAFETY: as the caller vouches; there are as many runs from `first` on.
        first += unsafe {
            match count - first {
                8.. => fold_some::<V, 8>(slices, weights, scales, pad, first, out),
                4.. => fold_some::<V, 4>(slices, weights, scales, pad, first, out),
                2.. => fold_some::<V, 2>(slices, weights, scales, pad, first, out),
                _ => fold_some::<V, 1>(slices, weights, scales, pad, first, out),
            }
        };
    }
}

/// `E` runs together: one load of a slice for all, and a chain of additions for each. Returns how many.
///
/// # Safety
/// As for [`fold_runs`]; there must be `E` runs from `first` on.
#[inline(always)]
unsafe fn fold_some<V: Vector, const E: usize>(
    slices: &[f32],
    weights: Weights<'_>,
    scales: &[f32],
    pad: usize,
    first: usize,
    out: &mut [f32],
) -> usize {
    let rows = weights.rows::<E>(first);
    // SAFETY: as the caller vouches; `rows` has checked that the weights lie inside.
    unsafe {
        for at in (0..pad).step_by(V::LANES) {
            let mut sums = [V::splat(0.0); E];
            for o in 0..weights.slices {
                let vector = V::load(slices.as_ptr().add(o * pad + at));
                for (sum, row) in sums.iter_mut().zip(rows) {
                    *sum = vector.mul_add(V::splat(*row.add(o)), *sum);
                }
            }
            for (k, sum) in sums.iter().enumerate() {
                let scale = V::splat(scales[first + k]);
                sum.mul(scale).store(out.as_mut_ptr().add((first + k) * pad + at));
            }
        }
    }
    E
}

/// [`unfold`] for each run, whose rows of `pad` numbers are in `sums`, one after the other.
///
/// # Safety
/// As for [`fold_runs`], with `sums` in place of `out`.
#[inline(always)]
pub(crate) unsafe fn unfold_runs<V: Vector>(
    sums: &[f32],
    weights: Weights<'_>,
    pad: usize,
    slices: &mut [f32],
) {
    debug_assert!(pad.is_multiple_of(V::LANES) && slices.len() == weights.slices * pad);
    debug_assert!(sums.len() == weights.places.len() * pad);
    // SAFETY: as the caller vouches; every tile ends at or before the last slice.
    unsafe {
        for at in (0..pad).step_by(V::LANES) {
            let mut slice = 0;
            while slice < weights.slices {
                slice += in_tiles!(weights.slices - slice, S => {
                    unfold_tile::<V, S>(sums, weights, pad, (slice, at), slices)
                });
            }
        }
    }
}

/// `S` slices of one column of vectors, kept in registers over all runs. Returns how many.
///
/// # Safety
/// As for [`unfold_runs`], with `slice + S` of the slices at most, and `at + LANES <= pad`.
#[inline(always)]
unsafe fn unfold_tile<V: Vector, const S: usize>(
    sums: &[f32],
    weights: Weights<'_>,
    pad: usize,
    (slice, at): (usize, usize),
    slices: &mut [f32],
) -> usize {
    // SAFETY: as the caller vouches; `rows` has checked that the weights lie inside.
    unsafe {
        let to = slices.as_mut_ptr().add(slice * pad + at);
        let mut totals: [V; S] = std::array::from_fn(|k| V::load(to.add(k * pad)));
        for run in 0..weights.places.len() {
            let vector = V::load(sums.as_ptr().add(run * pad + at));
            let [row] = weights.rows::<1>(run);
            for (k, total) in totals.iter_mut().enumerate() {
                *total = vector.mul_add(V::splat(*row.add(slice + k)), *total);
            }
        }
        for (k, total) in totals.iter().enumerate() {
            total.store(to.add(k * pad));
        }
    }
    S
}

/// What becomes of products of rows before they are collected. No closure, whose code would not be that of the machine's vectors.
trait Weigh {
    /// What the row of an entry is multiplied with, of which `w` is the first vector.
    ///
    /// # Safety
    /// The machine must have `V`'s instructions.
    unsafe fn along<V: Vector>(&self, w: V, entry: usize) -> V;

    /// Changes the products of four entries from `first` on. Those of entries that are not there are 0, and what is left of them
    /// does not count.
    fn weigh(&mut self, first: usize, dots: &mut [f32; 4]);
}

/// Products stay as they are.
struct Unchanged;

impl Weigh for Unchanged {
    #[inline(always)]
    unsafe fn along<V: Vector>(&self, w: V, _entry: usize) -> V {
        w
    }

    #[inline(always)]
    fn weigh(&mut self, _first: usize, _dots: &mut [f32; 4]) {}
}

/// Sets `sum` to the sum of the rows that entries name, each times what `weigh` makes of its product with `w`: [`project`] and
/// [`collect`] in one, so that rows are read once.
///
/// # Safety
/// As for both.
#[inline(always)]
unsafe fn project_and_collect<V: Vector>(
    w: &[f32],
    named: Named<'_>,
    entries: std::ops::Range<usize>,
    sum: &mut [f32],
    weigh: &mut impl Weigh,
) {
    debug_assert!(w.len().is_multiple_of(V::LANES) && w.len() == named.stride && sum.len() == w.len());
    debug_assert!(entries.end <= named.indices.len());
    // SAFETY: as in `project`.
    unsafe {
        let mut first = entries.start;
        if w.len() == V::LANES {
            let along = V::load(w.as_ptr());
            let mut sums = [V::splat(0.0); 4];
            while first < entries.end {
                let here = (entries.end - first).min(4);
                let rows = narrow_rows::<V>(named, first, here);
                let mut products = [V::splat(0.0); 4];
                for (k, (product, row)) in products.iter_mut().zip(rows).take(here).enumerate() {
                    *product = row.mul(weigh.along(along, first + k));
                }
                let mut dots = [0.0f32; 4];
                V::sums(&products).store_four(&mut dots);
                weigh.weigh(first, &mut dots);
                for ((sum, row), dot) in sums.iter_mut().zip(rows).zip(dots) {
                    *sum = row.mul_add(V::splat(dot), *sum);
                }
                first += 4;
            }
            sums[0].add(sums[1]).add(sums[2].add(sums[3])).store(sum.as_mut_ptr());
            return;
        }
        sum.fill(0.0);
        while first < entries.end {
            let here = (entries.end - first).min(4);
            let mut rows = [named.rows.as_ptr(); 4];
            let mut products = [V::splat(0.0); 4];
            for (k, (slot, product)) in rows.iter_mut().zip(&mut products).take(here).enumerate() {
                named.look_ahead(first + k);
                *slot = named.rows.as_ptr().add(named.start(first + k));
                *product = V::load(*slot).mul(weigh.along(V::load(w.as_ptr()), first + k));
                for at in (V::LANES..w.len()).step_by(V::LANES) {
                    *product = V::load(slot.add(at)).mul_add(V::load(w.as_ptr().add(at)), *product);
                }
            }
            let mut dots = [0.0f32; 4];
            V::sums(&products).store_four(&mut dots);
            weigh.weigh(first, &mut dots);
            for at in (0..w.len()).step_by(V::LANES) {
                let to = sum.as_mut_ptr().add(at);
                let mut total = V::load(to);
                for (row, &dot) in rows.iter().zip(&dots).take(here) {
                    total = V::load(row.add(at)).mul_add(V::splat(dot), total);
                }
                total.store(to);
            }
            first += 4;
        }
    }
}

/// With `w = p sum_o weights[o] slices[o]` of each run: adds `weights[o] sum_e (w . b_e) b_e` to slice `o` of the products, over
/// the rows `b` that its entries name. Entries of a run end at `ends`, where those of the next begin. `buffer` is for two rows of
/// each run.
///
/// # Safety
/// As for [`fold_runs`], [`project_and_collect`] and [`unfold_runs`], with rows of the length of those that entries name.
#[inline(always)]
pub(crate) unsafe fn product<V: Vector>(
    slices: &[f32],
    (weights, precisions): (Weights<'_>, &[f32]),
    (named, ends): (Named<'_>, &[u32]),
    buffer: &mut [f32],
    products: &mut [f32],
) {
    let pad = named.stride;
    debug_assert!(ends.len() == weights.places.len() && buffer.len() == 2 * ends.len() * pad);
    let (w, sums) = buffer.split_at_mut(ends.len() * pad);
    // SAFETY: as the caller vouches; both parts of the buffer have a row for each run.
    unsafe {
        fold_runs::<V>(slices, weights, precisions, pad, w);
        let mut start = 0;
        for ((w, sum), &end) in w.chunks_exact(pad).zip(sums.chunks_exact_mut(pad)).zip(ends) {
            project_and_collect::<V>(w, named, start..end as usize, sum, &mut Unchanged);
            start = end as usize;
        }
        unfold_runs::<V>(sums, weights, pad, products);
    }
}

/// Entries' values, and the signs of their perturbations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Perturbed<'a> {
    pub(crate) values: &'a [f32],
    /// A bit for each entry, from this one on, and a word more.
    pub(crate) signs: &'a [u64],
    pub(crate) first_sign: usize,
    /// What they are perturbed by, either way.
    pub(crate) scatter: f32,
}

impl Perturbed<'_> {
    /// The signs of four entries from `first` on, in the last bits.
    #[inline(always)]
    fn signs(&self, first: usize) -> u64 {
        let at = self.first_sign + first;
        let (word, bit) = (at / 64, at % 64);
        self.signs[word] >> bit | self.signs[word + 1] << 1 << (63 - bit)
    }
}

/// As [`product`], but with what is left of each entry's value in place of its prediction, see `NormalEquations::residuals`; returns
/// the sum of squared errors.
///
/// # Safety
/// As for [`product`], with bases in place of precisions; there must be a value for each entry.
#[inline(always)]
pub(crate) unsafe fn residuals<V: Vector>(
    slices: &[f32],
    (weights, bases): (Weights<'_>, &[f32]),
    (named, ends): (Named<'_>, &[u32]),
    perturbed: Perturbed<'_>,
    buffer: &mut [f32],
    gradients: &mut [f32],
) -> f64 {
    let pad = named.stride;
    debug_assert!(ends.len() == weights.places.len() && buffer.len() == 2 * ends.len() * pad);
    let (w, sums) = buffer.split_at_mut(ends.len() * pad);
    let mut left = Perturb { perturbed, base: 1.0, squares: [0.0; 4] };
    // SAFETY: as in `product`.
    unsafe {
        fold_runs::<V>(slices, weights, bases, pad, w);
        let mut start = 0;
        let runs = w.chunks_exact(pad).zip(sums.chunks_exact_mut(pad)).zip(bases).zip(ends);
        for (((w, sum), &base), &end) in runs {
            left.base = base;
            project_and_collect::<V>(w, named, start..end as usize, sum, &mut left);
            start = end as usize;
        }
        unfold_runs::<V>(sums, weights, pad, gradients);
    }
    left.squares.iter().sum()
}

/// Puts what is left of entries of a run in place of predictions, and adds up squares of errors.
struct Perturb<'a> {
    perturbed: Perturbed<'a>,
    base: f32,
    squares: [f64; 4],
}

impl Weigh for Perturb<'_> {
    /// A row begins with the root that goes with the value: taken off `w`, it makes the prediction the error, but for its sign.
    #[inline(always)]
    unsafe fn along<V: Vector>(&self, w: V, entry: usize) -> V {
        // SAFETY: as the caller vouches; one number is one that is there.
        unsafe { V::load_part(&raw const self.perturbed.values[entry], 1).mul_add(V::splat(-self.base), w) }
    }

    #[inline(always)]
    fn weigh(&mut self, first: usize, dots: &mut [f32; 4]) {
        let signs = self.perturbed.signs(first);
        for (k, (dot, square)) in dots.iter_mut().zip(&mut self.squares).enumerate() {
            let error = -*dot;
            *square += f64::from(error) * f64::from(error);
            let sign = (signs >> k) as u32 & 1;
            *dot = self.base * (error + f32::from_bits(self.perturbed.scatter.to_bits() ^ (sign << 31)));
        }
    }
}
