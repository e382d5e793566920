//! The kernels of solving for rows: sums over entries, and nothing that depends on a step.
//!
//! Given all other rows and the core, an entry's prediction is `d . u` with its row `u` and a vector `d`, its *design*. So
//! a row's best value, and its distribution, follow from two sums over its entries: `sum d d'` and `sum x d`.

use crate::generic::{Named, Tables};
use crate::{CHUNK, Level, MAX_RANK, arch};

/// The kernels for one instruction set, a mode whose rows are solved for, and a partner mode whose rows entries name.
#[derive(Clone, Copy, Debug)]
pub struct NormalEquations {
    level: Level,
    rank: usize,
    partner: usize,
    lanes: usize,
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
        NormalEquations { level, rank, partner, lanes: level.lanes() }
    }

    /// The mode's rank, up to a whole vector: the length of a design.
    pub fn pad(&self) -> usize {
        self.rank.next_multiple_of(self.lanes)
    }

    /// The partner's rank, up to a whole vector.
    pub fn partner_pad(&self) -> usize {
        self.partner.next_multiple_of(self.lanes)
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
    /// that come next, so that their rows are fetched, here and below.
    ///
    /// # Panics
    /// If a length is not as said, there are more than [`CHUNK`] entries, or an index or a place lies outside.
    pub fn design(
        &self,
        (tables, places): (&[f32], &[u32]),
        rows: &[f32],
        indices: &[u32],
        scales: &[f32],
        d: &mut [f32],
    ) {
        let pad = self.pad();
        let count = scales.len();
        assert!(count <= CHUNK && count <= indices.len(), "{count} entries in one chunk");
        assert!(places.len() == count && d.len() == count * pad, "a place, a scale and a design per entry");
        arch::design(self.level, Tables { tables, pad, places }, self.named(rows, indices), scales, d);
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

    /// For each entry `w . b`, with the partner's row `b` that it names; `w` is padded with zeros.
    ///
    /// # Panics
    /// If `w` is not [`NormalEquations::partner_pad`] numbers, `out` not one per entry, or an index lies outside.
    pub fn project(&self, w: &[f32], rows: &[f32], indices: &[u32], out: &mut [f32]) {
        assert!(
            w.len() == self.partner_pad() && out.len() <= indices.len(),
            "a padded row, a number per entry"
        );
        arch::project(self.level, w, self.named(rows, indices), out);
    }

    /// Adds to `sum` the partner's rows that entries name, each times its weight.
    ///
    /// # Panics
    /// If `sum` is not [`NormalEquations::partner_pad`] numbers, there is not a weight per entry, or an index lies outside.
    pub fn collect(&self, rows: &[f32], indices: &[u32], weights: &[f32], sum: &mut [f32]) {
        assert!(
            sum.len() == self.partner_pad() && weights.len() <= indices.len(),
            "a padded row, a weight per entry"
        );
        arch::collect(self.level, self.named(rows, indices), weights, sum);
    }

    /// [`NormalEquations::fold`] to a row `w`, times a precision; of the first `count` entries each row `b` of the partner, times
    /// `w . b`, summed up; and [`NormalEquations::unfold`] of that sum, in one. Rows are read once. `buffer` is for two rows.
    ///
    /// # Panics
    /// If there is not a slice of [`NormalEquations::partner_pad`] numbers per weight, in `slices` and in `products`; if `buffer`
    /// is not two of them; if there are fewer entries, or an index lies outside.
    pub fn product(
        &self,
        slices: &[f32],
        (weights, precision): (&[f32], f32),
        rows: &[f32],
        (indices, count): (&[u32], usize),
        buffer: &mut [f32],
        products: &mut [f32],
    ) {
        let pad = self.partner_pad();
        assert_eq!(Some(slices.len()), weights.len().checked_mul(pad), "a slice per weight");
        assert!(products.len() == slices.len() && buffer.len() == 2 * pad, "a product per slice, two rows");
        assert!(count <= indices.len(), "an index per entry");
        let named = self.named(rows, indices);
        arch::product(self.level, slices, (weights, precision), named, count, buffer, products);
    }

    fn named<'a>(&self, rows: &'a [f32], indices: &'a [u32]) -> Named<'a> {
        Named { rows, rank: self.partner, stride: self.partner_pad(), indices }
    }
}
