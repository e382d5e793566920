//! The kernels of solving for rows: sums over entries, and nothing that depends on a step.
//!
//! Given all other rows and the core, an entry's prediction is `d . u` with its row `u` and a vector `d`, its *design*. So
//! a row's best value, and its distribution, follow from two sums over its entries: `sum d d'` and `sum x d`.

use crate::generic::{Named, Perturbed, Tables, Weights};
use crate::{CHUNK, Level, MAX_RANK, arch};

/// The kernels for one instruction set, a mode whose rows are solved for, and a partner mode whose rows entries name.
#[derive(Clone, Copy, Debug)]
pub struct NormalEquations {
    level: Level,
    rank: usize,
    partner: usize,
    lanes: usize,
    pad: usize,
    partner_pad: usize,
}

impl NormalEquations {
    /// The kernels for a mode's rank and its partner's.
    ///
    /// # Panics
    /// If the machine cannot run the level, or a rank is 0 or above [`MAX_RANK`].
    pub fn new(level: Level, rank: usize, partner: usize) -> Self {
        assert!(Level::available().contains(&level), "this machine cannot run {}", level.name());
        assert!(
            (1..=MAX_RANK).contains(&rank) && (1..=MAX_RANK).contains(&partner),
            "ranks {rank}, {partner}"
        );
        // Half a vector of sixteen is a whole vector of eight, and cheaper.
        let level = if level == Level::Avx512 && rank.max(partner) <= 8 { Level::Avx2 } else { level };
        let lanes = level.lanes();
        let (pad, partner_pad) = (rank.next_multiple_of(lanes), partner.next_multiple_of(lanes));
        NormalEquations { level, rank, partner, lanes, pad, partner_pad }
    }

    /// The instruction set.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The mode's rank, up to a whole vector: the length of a design.
    #[inline]
    pub fn pad(&self) -> usize {
        self.pad
    }

    /// The partner's rank, up to a whole vector.
    #[inline]
    pub fn partner_pad(&self) -> usize {
        self.partner_pad
    }

    /// `out = sum_o w[o] slices[o]`.
    ///
    /// # Panics
    /// If `out` is not whole vectors, or `slices` are not as long as `out` for each weight.
    pub fn fold(&self, slices: &[f32], weights: &[f32], out: &mut [f32]) {
        assert!(out.len().is_multiple_of(self.lanes), "whole vectors");
        assert_eq!(Some(slices.len()), weights.len().checked_mul(out.len()), "a slice per weight");
        arch::fold(self.level, slices, weights, out);
    }

    /// `slices[o] += w[o] slice`.
    ///
    /// # Panics
    /// If `slice` is not whole vectors, or `slices` are not as long as it for each weight.
    pub fn unfold(&self, slice: &[f32], weights: &[f32], slices: &mut [f32]) {
        assert!(slice.len().is_multiple_of(self.lanes), "whole vectors");
        assert_eq!(Some(slices.len()), weights.len().checked_mul(slice.len()), "a slice per weight");
        arch::unfold(self.level, slice, weights, slices);
    }

    /// The design of each entry, `d = s T' b`: `b` is the partner's row that it names and `s` its scale. `T`, of which
    /// `places` says for each entry which it is, has a row of [`NormalEquations::pad`] numbers for each of the partner's
    /// concepts, and `d` has one for each entry. `rows` has one of
    /// [`NormalEquations::partner_pad`] numbers for each of the partner's, and `indices` go on with those of the entries
    /// that come next, so that their rows are fetched, here and below. The targets, a value of each entry, become `s b[0]` times
    /// that: the partner's first concept is a constant one, and what that has become is the root of the row's precision.
    ///
    /// # Panics
    /// If a length is not as said, there are more than [`CHUNK`] entries, or an index or a place lies outside.
    pub fn design(
        &self,
        (tables, places): (&[f32], &[u32]),
        rows: &[f32],
        indices: &[u32],
        scales: &[f32],
        (d, targets): (&mut [f32], &mut [f32]),
    ) {
        let pad = self.pad();
        let count = scales.len();
        assert!(count <= CHUNK && count <= indices.len(), "{count} entries in one chunk");
        assert!(places.len() == count && d.len() == count * pad, "a place, a scale and a design per entry");
        assert_eq!(targets.len(), count, "a target per entry");
        let named = self.named(rows, indices);
        arch::design(self.level, Tables { tables, pad, places }, named, scales, d, targets);
    }

    /// Adds to `squares` the products `d d'` of designs and to `products` their `value d`. `squares` has a row of
    /// [`NormalEquations::pad`] numbers per concept, of which only the lower triangle has a meaning.
    ///
    /// # Panics
    /// If a length is not as said.
    pub fn gram(&self, d: &[f32], values: &[f32], squares: &mut [f32], products: &mut [f32]) {
        let pad = self.pad();
        assert_eq!(Some(d.len()), values.len().checked_mul(pad), "a design per value");
        assert!(squares.len() == self.rank * pad && products.len() == pad, "a row per concept, and one");
        arch::gram(self.level, d, pad, self.rank, values, squares, products);
    }

    /// Adds to `sums` what a run's entries come to, given their partner's rows `b` alone: `sum b b'`, a row of
    /// [`NormalEquations::partner_pad`] numbers per concept of which only the lower triangle has a meaning, and behind it a row of
    /// `sum x b`. A target x is multiplied with `b[0]` first, as for [`NormalEquations::design`].
    ///
    /// # Panics
    /// If a length is not as said, there are more than [`CHUNK`] entries, or an index lies outside.
    pub fn pair(&self, rows: &[f32], indices: &[u32], targets: &mut [f32], sums: &mut [f32]) {
        let (rank, pad, count) = (self.partner, self.partner_pad(), targets.len());
        assert!(count <= CHUNK && count <= indices.len(), "{count} entries in one chunk");
        assert_eq!(sums.len(), (rank + 1) * pad, "a row per concept, and one");
        let (squares, products) = sums.split_at_mut(rank * pad);
        arch::pair(self.level, self.named(rows, indices), targets, squares, products);
    }

    /// Adds what [`NormalEquations::pair`] has found of a run's entries, times a scale, to the sums of the designs that they have by
    /// the run's table: as [`NormalEquations::gram`] would, entry by entry. `sums` is made symmetric; `scales` has the scale, and
    /// `numbers` those from 0 on, one more than the partner has concepts; `buffer` is for as many rows of the mode.
    ///
    /// # Panics
    /// If a length is not as said.
    pub fn fold_pair(
        &self,
        table: &[f32],
        (sums, scales): (&mut [f32], &[f32]),
        (numbers, buffer): (&[u32], &mut [f32]),
        squares: &mut [f32],
        products: &mut [f32],
    ) {
        let (rank, pad, partner) = (self.rank, self.pad(), self.partner);
        let stride = self.partner_pad();
        assert!(
            table.len() == partner * pad && sums.len() == (partner + 1) * stride,
            "a row per concept of the partner, and one more"
        );
        assert!(
            numbers.len() == partner + 1
                && scales.len() == numbers.len()
                && buffer.len() == numbers.len() * pad,
            "a number, a scale and a row for each of them"
        );
        assert!(squares.len() == rank * pad && products.len() == pad, "a row per concept, and one");
        for k in 0..partner {
            for l in 0..k {
                sums[l * stride + k] = sums[k * stride + l];
            }
        }
        let weights = Weights { table: sums, slices: partner, stride, places: numbers };
        arch::fold_runs(self.level, table, weights, scales, pad, buffer);
        let (rows, own) = buffer.split_at(partner * pad);
        products.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        let weights = Weights { table, slices: rank, stride: pad, places: &numbers[..partner] };
        arch::unfold_runs(self.level, rows, weights, pad, squares);
    }

    /// For each entry `w . b`, with the partner's row `b` that it names. Each run has a `w` of its own, padded with zeros; its
    /// entries begin where those of the run before it end.
    ///
    /// # Panics
    /// If `w` is not [`NormalEquations::partner_pad`] numbers per run, `out` not one per entry, or an index lies outside.
    pub fn project(&self, w: &[f32], rows: &[f32], (indices, ends): (&[u32], &[u32]), out: &mut [f32]) {
        assert_eq!(w.len(), ends.len() * self.partner_pad(), "a padded row per run");
        assert!(out.len() <= indices.len() && is_runs(ends, out.len()), "a number per entry of a run");
        arch::project(self.level, w, self.named(rows, indices), ends, out);
    }

    /// Sets `sums`, a row for each run, to the sum of the partner's rows that its entries name, each times its weight.
    ///
    /// # Panics
    /// As for [`NormalEquations::project`], with `sums` in place of `w` and weights in place of `out`.
    pub fn collect(
        &self,
        rows: &[f32],
        (indices, ends): (&[u32], &[u32]),
        weights: &[f32],
        sums: &mut [f32],
    ) {
        assert_eq!(sums.len(), ends.len() * self.partner_pad(), "a padded row per run");
        assert!(
            weights.len() <= indices.len() && is_runs(ends, weights.len()),
            "a weight per entry of a run"
        );
        arch::collect(self.level, self.named(rows, indices), ends, weights, sums);
    }

    /// [`NormalEquations::fold`] to a row of the partner's concepts for each of some runs, times its scale. A run's weights are
    /// the row of the table that `places` says.
    ///
    /// # Panics
    /// If there are not a scale and [`NormalEquations::partner_pad`] numbers of `out` per run; if `slices` are not as long as
    /// that for each weight; if a place lies outside the table.
    pub fn fold_runs(&self, slices: &[f32], weights: (&[f32], &[u32]), scales: &[f32], out: &mut [f32]) {
        let (weights, pad) = (self.weights(slices.len(), weights), self.partner_pad());
        assert!(
            scales.len() == weights.places.len() && out.len() == scales.len() * pad,
            "a scale and a row per run"
        );
        arch::fold_runs(self.level, slices, weights, scales, pad, out);
    }

    /// [`NormalEquations::unfold`] of a row of the partner's concepts of each of some runs, in their order.
    ///
    /// # Panics
    /// As for [`NormalEquations::fold_runs`].
    pub fn unfold_runs(&self, sums: &[f32], weights: (&[f32], &[u32]), slices: &mut [f32]) {
        let (weights, pad) = (self.weights(slices.len(), weights), self.partner_pad());
        assert_eq!(sums.len(), weights.places.len() * pad, "a row per run");
        arch::unfold_runs(self.level, sums, weights, pad, slices);
    }

    /// [`NormalEquations::fold_runs`] to a row `w` of each run, with precisions in place of scales; of its entries each row `b` of
    /// the partner, times `w . b`, summed up; and [`NormalEquations::unfold_runs`] of these sums, in one. Rows are read once. The
    /// entries of a run begin where those of the run before it end. `buffer` is for two rows of each run.
    ///
    /// # Panics
    /// As for those; if there is not an end for each run, or an index lies outside.
    pub fn product(
        &self,
        slices: &[f32],
        (weights, precisions): ((&[f32], &[u32]), &[f32]),
        rows: &[f32],
        (indices, ends): (&[u32], &[u32]),
        buffer: &mut [f32],
        products: &mut [f32],
    ) {
        let (weights, named) = (self.weights(slices.len(), weights), self.named(rows, indices));
        self.check_runs((weights, precisions), (indices, ends), (buffer, products, slices));
        arch::product(self.level, slices, (weights, precisions), (named, ends), buffer, products);
    }

    /// What [`NormalEquations::product`] is given: a number and an end per run, an index per entry, two rows of the buffer per run and a
    /// sum per slice.
    fn check_runs(
        &self,
        (weights, numbers): (Weights<'_>, &[f32]),
        (indices, ends): (&[u32], &[u32]),
        (buffer, sums, slices): (&[f32], &[f32], &[f32]),
    ) {
        let runs = weights.places.len();
        assert!(numbers.len() == runs && ends.len() == runs, "a precision and an end per run");
        assert!(
            sums.len() == slices.len() && buffer.len() == 2 * runs * self.partner_pad(),
            "a product per slice, two rows per run"
        );
        let entries = ends.last().map_or(0, |&end| end as usize);
        assert!(entries <= indices.len() && is_runs(ends, entries), "an index per entry of a run");
    }

    /// As [`NormalEquations::product`], but of each entry's row comes `p (e + z)` in place of the prediction, where `e = p (b[0] x - w . b)` is
    /// the error of its value `x`, times the roots of its precision: `p` is the base of its run. `z` is the scatter, less than zero
    /// where the entry's bit of the signs is set, which begin with the one that is given. Returns the sum of squared errors.
    ///
    /// # Panics
    /// As for that; if there is not a value for each entry, or there are not signs for all and a word more.
    pub fn residuals(
        &self,
        slices: &[f32],
        (weights, bases): ((&[f32], &[u32]), &[f32]),
        (rows, (indices, ends)): (&[f32], (&[u32], &[u32])),
        (values, (signs, first_sign), scatter): (&[f32], (&[u64], usize), f32),
        buffer: &mut [f32],
        gradients: &mut [f32],
    ) -> f64 {
        let (weights, named) = (self.weights(slices.len(), weights), self.named(rows, indices));
        self.check_runs((weights, bases), (indices, ends), (buffer, gradients, slices));
        assert_eq!(values.len(), ends.last().map_or(0, |&end| end as usize), "a value for each entry");
        assert!((first_sign + values.len()) / 64 + 1 < signs.len(), "a sign for each entry, and a word more");
        let perturbed = Perturbed { values, signs, first_sign, scatter };
        arch::residuals(self.level, slices, (weights, bases), (named, ends), perturbed, buffer, gradients)
    }

    /// The weights of runs for slices of the partner's concepts.
    fn weights<'a>(&self, len: usize, (table, places): (&'a [f32], &'a [u32])) -> Weights<'a> {
        let slices = len / self.partner_pad();
        assert_eq!(len, slices * self.partner_pad(), "whole slices");
        Weights { table, slices, stride: slices, places }
    }

    fn named<'a>(&self, rows: &'a [f32], indices: &'a [u32]) -> Named<'a> {
        Named { rows, rank: self.partner, stride: self.partner_pad(), indices }
    }
}

/// Whether runs that end there, one behind the other, have so many entries in all.
fn is_runs(ends: &[u32], entries: usize) -> bool {
    ends.is_sorted() && ends.last().map_or(0, |&end| end as usize) == entries
}
