//! The vector kernels of s3cmtf, and all of its `unsafe` code: slices in, slices out, checks at the door.
//!
//! A tensor entry's prediction is linear in each of its factor rows. Once the core has been contracted with the
//! rows of all modes but two (the *outer* modes), what is left for an entry is the bilinear form `a' T b` of its
//! two *inner* rows, and `T` is the same for all entries that agree in the outer modes. So three kernels do it all:
//!
//! 1. [`Kernels::combine`]: `T = sum_o w[o] G[o]`, once per chunk of entries that agree in the outer modes;
//! 2. [`Kernels::bilinear`]: one gradient step on both inner rows per entry, and `M = sum e a b'` for the chunk;
//! 3. [`Kernels::core_step`]: `h[o] = <G[o], M>`, the outer modes' gradient, and the step `G[o] += s w[o] M`.
//!
//! Entries that share their outer rows with few others, or with none, go through the same three steps in a *mixed* chunk,
//! where each has its own `T` and the chunk shares the way through the core ([`Kernels::combine_mixed`] and so on).
//!
//! A diagonal core, and a coupled matrix, need only [`Kernels::diagonal`], where `T` is a diagonal.
//!
//! Those are the kernels of gradient steps. [`NormalEquations`] has the sums of solving for whole rows, [`RowTotals`] adds them
//! up, and [`RowSystem`] solves.
//!
//! One algorithm (`generic`) is written over a vector type (`vector::Vector`); `arch` has a thin shell of it per
//! instruction set; [`Level`] is chosen once, at run time.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("rows are found by products of 32-bit numbers, which need 64 bits");

mod arch;
mod buffers;
mod generic;
mod memory;
mod normal;
mod peak;
mod prefetch;
mod rows;
mod systems;
mod totals;
mod vector;

pub use buffers::{Aligned, Buffers};
pub use memory::zeros;
pub use normal::NormalEquations;
pub use peak::multiply_adds;
pub use prefetch::prefetch;
pub use rows::{Rows, SharedRows};
pub use systems::RowSystem;
pub use totals::RowTotals;

/// The most entries that one call of [`Kernels::bilinear`] or [`Kernels::diagonal`] may step through.
pub const CHUNK: usize = 64;

/// No mixed chunk has more entries.
const MOST_MIXED: usize = 32;
/// The entries of a mixed chunk have at most this many numbers in their matrices `T`, unless there is but one per lane.
const MIXED_NUMBERS: usize = 8192;

/// The largest rank.
pub const MAX_RANK: usize = 1 << 16;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust, on any machine; vectorised as far as the compiler does it.
    Portable,
    /// AVX2 and FMA: 8 numbers at a time.
    Avx2,
    /// AVX-512: 16 numbers at a time.
    Avx512,
    /// NEON: 4 numbers at a time.
    Neon,
}

impl Level {
    /// Every level that this machine can run, the best last.
    pub fn available() -> Vec<Level> {
        #[allow(unused_mut, reason = "no other level on some machines")]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                levels.push(Level::Avx2);
                if std::arch::is_x86_feature_detected!("avx512f") {
                    levels.push(Level::Avx512);
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        levels.push(Level::Neon);
        levels
    }

    /// The best level that this machine can run.
    pub fn best() -> Level {
        *Level::available().last().unwrap_or(&Level::Portable)
    }

    /// Its name, as in `run.json`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
            Level::Neon => "neon",
        }
    }

    fn lanes(self) -> usize {
        match self {
            Level::Portable => <vector::Plain as vector::Vector>::LANES,
            Level::Avx2 => 8,
            Level::Avx512 => 16,
            Level::Neon => 4,
        }
    }
}

/// How a step changes rows and core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The step size.
    pub rate: f32,
    /// Whether the regulariser is the sum of absolute values, in place of squares.
    pub l1: bool,
    /// Whether what is changed stays at or above zero.
    pub nonnegative: bool,
}

/// One inner mode of a chunk: its rows, the row of each entry, and each row's regulariser.
#[derive(Debug)]
pub struct Side<'a, R> {
    /// The rows that may be touched.
    pub rows: R,
    /// The number of values in a row.
    pub rank: usize,
    /// For each entry its row, counted from `base`.
    pub indices: &'a [u32],
    /// The index of the first row of `rows`.
    pub base: u32,
    /// The weight of the regulariser per step.
    pub reg: Reg<'a>,
}

/// Where the weight of the regulariser stands.
#[derive(Clone, Copy, Debug)]
pub enum Reg<'a> {
    /// There is no regulariser.
    None,
    /// For each row from index 0 on.
    Rows(&'a [f32]),
    /// The same, for rows too many to be near: each entry has a code, which says where in a small table it stands as
    /// well. Code 0 says that it does not.
    Coded {
        /// For each row from index 0 on.
        rows: &'a [f32],
        /// For each entry its code.
        codes: &'a [u8],
        /// For each code the weight.
        table: &'a [f32; 256],
    },
}

/// What a chunk did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// The sum of squared errors, each before its step.
    pub squared_error: f64,
    /// The sum of squared predictions, each before its step.
    pub squared_prediction: f64,
    /// The sum of squares of all rows on the first side, before their steps.
    pub squares_p: f32,
    /// The sum of squares of all rows on the second side, before their steps.
    pub squares_q: f32,
}

/// The kernels for one instruction set and one pair of inner ranks.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    level: Level,
    shape: Shape,
}

/// Ranks of the two inner modes, and the same padded to whole vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) p: usize,
    pub(crate) q: usize,
    pub(crate) p_pad: usize,
    pub(crate) q_pad: usize,
    pub(crate) lanes: usize,
}

impl Shape {
    /// The numbers in one `p` x `q` matrix, up to the next whole vector.
    pub(crate) fn slice(&self) -> usize {
        (self.p * self.q).next_multiple_of(self.lanes)
    }

    /// The most entries of a mixed chunk: as many as leave their matrices in the nearest caches, and an entry per lane.
    pub(crate) fn mixed(&self) -> usize {
        (MIXED_NUMBERS / self.slice() / self.lanes).clamp(1, MOST_MIXED / self.lanes) * self.lanes
    }

    /// Rows come in fours, so that sums over them run in four independent chains.
    pub(crate) fn p_pad4(&self) -> usize {
        self.p.next_multiple_of(4)
    }

    pub(crate) fn q_pad4(&self) -> usize {
        self.q.next_multiple_of(4)
    }
}

impl Kernels {
    /// The kernels for inner ranks `p` and `q` on a level.
    ///
    /// # Panics
    /// If the machine cannot run the level, or a rank is 0 or above [`MAX_RANK`].
    pub fn new(level: Level, p: usize, q: usize) -> Self {
        assert!(Level::available().contains(&level), "this machine cannot run {}", level.name());
        assert!((1..=MAX_RANK).contains(&p) && (1..=MAX_RANK).contains(&q), "ranks {p} and {q}");
        // Half a vector of sixteen is a whole vector of eight, and cheaper.
        let level = if level == Level::Avx512 && p.max(q) <= 8 { Level::Avx2 } else { level };
        let lanes = level.lanes();
        let shape = Shape { p, q, p_pad: p.next_multiple_of(lanes), q_pad: q.next_multiple_of(lanes), lanes };
        Kernels { level, shape }
    }

    /// The instruction set.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The numbers in one slice `G[o]` of the core: a `p` x `q` matrix, and zeros up to the next whole vector.
    pub fn slice_len(&self) -> usize {
        self.shape.slice()
    }

    /// Where element (`p`, `q`) stands in a slice.
    pub fn place(&self, p: usize, q: usize) -> usize {
        assert!(p < self.shape.p && q < self.shape.q);
        p * self.shape.q + q
    }

    /// The numbers in the working diagonal of a diagonal core: its rank, padded.
    pub fn diagonal_len(&self) -> usize {
        self.shape.q_pad
    }

    /// Working memory for these kernels.
    pub fn buffers(&self) -> Buffers {
        Buffers::new(&self.shape)
    }

    /// Puts `T = sum_o w[o] G[o]` into `buffers`.
    ///
    /// # Panics
    /// If `core` is not one slice per weight, or `buffers` are another shape's.
    pub fn combine(&self, core: &[f32], weights: &[f32], buffers: &mut Buffers) {
        buffers.check(&self.shape);
        let length = weights.len().checked_mul(self.shape.slice());
        assert_eq!(Some(core.len()), length, "one slice of the core per weight");
        arch::combine(self.level, &self.shape, core, weights, buffers);
    }

    /// Steps through up to [`CHUNK`] entries with the `T` in `buffers`; leaves `M = sum e a b'` there.
    ///
    /// # Panics
    /// If lengths or ranks do not match, an index lies outside its rows, or `buffers` are another shape's.
    pub fn bilinear<R: Rows>(
        &self,
        p: &mut Side<'_, R>,
        q: &mut Side<'_, R>,
        values: &[f32],
        step: Step,
        buffers: &mut Buffers,
    ) -> Sums {
        buffers.check(&self.shape);
        self.check_sides(p, q, values.len());
        arch::bilinear(self.level, &self.shape, p, q, values, step, buffers)
    }

    /// Puts `h[o] = <G[o], M>` into `h`, then steps the core: `G[o] += rate w[o] M`, less its regulariser.
    ///
    /// # Panics
    /// If `core` is not one slice per weight, or `buffers` are another shape's.
    pub fn core_step(
        &self,
        core: &mut [f32],
        weights: &[f32],
        reg: f32,
        step: Step,
        buffers: &Buffers,
        h: &mut [f32],
    ) {
        buffers.check(&self.shape);
        let length = weights.len().checked_mul(self.shape.slice());
        assert_eq!(Some(core.len()), length, "one slice of the core per weight");
        assert_eq!(h.len(), weights.len(), "one number per weight");
        arch::core_step(self.level, &self.shape, core, weights, reg, step, buffers, h);
    }

    /// The most entries of a mixed chunk: entries that need not agree in anything.
    pub fn mixed(&self) -> usize {
        self.shape.mixed()
    }

    /// Puts `T_k = sum_o w_k[o] G[o]` into `buffers` for each entry of a mixed chunk; `weights` has a row per entry.
    ///
    /// # Panics
    /// If `core` is not whole slices, `weights` are not as said, or `buffers` are another shape's.
    pub fn combine_mixed(&self, core: &[f32], weights: &[f32], buffers: &mut Buffers) {
        buffers.check(&self.shape);
        self.check_mixed(core, weights);
        arch::combine_mixed(self.level, &self.shape, core, weights, buffers);
    }

    /// Steps through the entries of a mixed chunk with the `T_k` in `buffers`; leaves what `P_k = e a b'` needs there. Each
    /// entry's prediction and the product of its rows' squared lengths, before its step, go to `predictions` and `squares`.
    ///
    /// # Panics
    /// If lengths or ranks do not match, an index lies outside its rows, or `buffers` are another shape's.
    #[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
    pub fn bilinear_mixed<R: Rows>(
        &self,
        p: &mut Side<'_, R>,
        q: &mut Side<'_, R>,
        values: &[f32],
        step: Step,
        buffers: &mut Buffers,
        predictions: &mut [f32],
        squares: &mut [f32],
    ) -> Sums {
        buffers.check(&self.shape);
        self.check_sides(p, q, values.len());
        assert!(values.len() <= self.mixed(), "{} entries in one mixed chunk", values.len());
        assert!(predictions.len() == values.len() && squares.len() == values.len(), "one number per entry");
        arch::bilinear_mixed(self.level, &self.shape, p, q, values, step, buffers, predictions, squares)
    }

    /// Puts `h_k[o] = <G[o], P_k>` into `h`, a row per entry, then steps the core:
    /// `G[o] += rate sum_k w_k[o] P_k`, less its regulariser. The `T_k` are used up.
    ///
    /// # Panics
    /// As for [`Kernels::combine_mixed`]; `h` is as long as `weights`.
    pub fn spread_mixed(
        &self,
        core: &mut [f32],
        weights: &[f32],
        reg: f32,
        step: Step,
        buffers: &mut Buffers,
        h: &mut [f32],
    ) {
        buffers.check(&self.shape);
        self.check_mixed(core, weights);
        assert_eq!(h.len(), weights.len(), "one number per weight");
        arch::spread_mixed(self.level, &self.shape, core, weights, reg, step, buffers, h);
    }

    /// Predicts the entries of a mixed chunk with the `T_k` in `buffers`.
    ///
    /// # Panics
    /// If lengths or ranks do not match, an index lies outside its rows, or `buffers` are another shape's.
    pub fn predict_mixed(
        &self,
        p: &Side<'_, &[f32]>,
        q: &Side<'_, &[f32]>,
        buffers: &mut Buffers,
        predictions: &mut [f32],
    ) {
        buffers.check(&self.shape);
        self.check_sides(p, q, predictions.len());
        assert!(predictions.len() <= self.mixed(), "{} entries in one mixed chunk", predictions.len());
        arch::predict_mixed(self.level, &self.shape, p, q, buffers, predictions);
    }

    /// Copies the row of each index of an outer mode to `to`, one after the other.
    ///
    /// # Panics
    /// If `to` is not as long as those rows, or an index lies outside.
    pub fn load_rows<R: Rows>(&self, side: &Side<'_, R>, to: &mut [f32]) {
        // Checked, so that no rank wraps around to a length that fits.
        assert_eq!(Some(to.len()), side.indices.len().checked_mul(side.rank), "a row per index");
        assert!(side.rank <= MAX_RANK, "a rank of {}", side.rank);
        arch::load_rows(self.level, side, to);
    }

    /// Steps the row of each index of an outer mode along its gradient, each with a rate of its own in place of the
    /// step's; the regulariser counts `times` times. An index may come more than once.
    ///
    /// # Panics
    /// If there is not a gradient and a rate per index, or an index lies outside.
    pub fn step_rows<R: Rows>(
        &self,
        side: &mut Side<'_, R>,
        gradients: &[f32],
        rates: &[f32],
        times: f32,
        step: Step,
    ) {
        let length = side.indices.len().checked_mul(side.rank);
        assert!(
            Some(gradients.len()) == length && rates.len() == side.indices.len(),
            "a gradient and a rate per index"
        );
        assert!(side.rank <= MAX_RANK, "a rank of {}", side.rank);
        arch::step_rows(self.level, side, gradients, rates, times, step);
    }

    /// Steps through up to [`CHUNK`] entries whose prediction is `sum_j d[j] a[j] b[j]`; leaves `sum e a[j] b[j]`
    /// in `m`, both padded to [`Kernels::diagonal_len`].
    ///
    /// # Panics
    /// If lengths or ranks do not match, or an index lies outside its rows.
    #[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
    pub fn diagonal<R: Rows>(
        &self,
        p: &mut Side<'_, R>,
        q: &mut Side<'_, R>,
        values: &[f32],
        step: Step,
        d: &[f32],
        m: &mut [f32],
        buffers: &mut Buffers,
    ) -> Sums {
        buffers.check(&self.shape);
        assert_eq!(self.shape.p, self.shape.q, "a diagonal is square");
        assert!(d.len() == self.shape.q_pad && m.len() == self.shape.q_pad, "a padded diagonal");
        self.check_sides(p, q, values.len());
        arch::diagonal(self.level, &self.shape, p, q, values, step, d, m, buffers)
    }

    /// Predicts entries with the `T` in `buffers`.
    ///
    /// # Panics
    /// If lengths or ranks do not match, an index lies outside its rows, or `buffers` are another shape's.
    pub fn predict(
        &self,
        p: &Side<'_, &[f32]>,
        q: &Side<'_, &[f32]>,
        buffers: &mut Buffers,
        predictions: &mut [f32],
    ) {
        buffers.check(&self.shape);
        assert!(p.rank == self.shape.p && q.rank == self.shape.q, "the ranks of these kernels");
        assert!(
            p.indices.len() == predictions.len() && q.indices.len() == predictions.len(),
            "one index per entry"
        );
        arch::predict(self.level, &self.shape, p, q, buffers, predictions);
    }

    fn check_mixed(&self, core: &[f32], weights: &[f32]) {
        let slices = core.len() / self.shape.slice();
        assert!(slices > 0 && core.len() == slices * self.shape.slice(), "whole slices of the core");
        let entries = weights.len() / slices;
        assert!(weights.len() == entries * slices, "whole rows of weights");
        assert!(entries <= self.mixed(), "{entries} entries in one mixed chunk");
    }

    fn check_sides<R>(&self, p: &Side<'_, R>, q: &Side<'_, R>, entries: usize) {
        assert!(p.rank == self.shape.p && q.rank == self.shape.q, "the ranks of these kernels");
        assert!(entries <= CHUNK, "{entries} entries in one chunk");
        assert!(
            p.indices.len() == entries && q.indices.len() == entries,
            "one index and one value per entry"
        );
    }
}
