//! Cells of made-up data, each made from its number alone.

use super::shape::{MatrixShape, Shape};
use crate::parallel;
use crate::{Absent, Entries, Error};

/// The mean of all values, as of stars.
const MEAN: f64 = 3.5;

/// The entries of a tensor or of a coupled matrix, made when asked for.
pub struct Source<'a> {
    shape: &'a Shape,
    of: Of<'a>,
}

enum Of<'a> {
    /// The tensor, with its planted core.
    Tensor { core: Vec<f64> },
    /// A coupled matrix.
    Matrix { number: u64, matrix: &'a MatrixShape },
}

impl Shape {
    /// The entries of the tensor.
    pub fn tensor(&self) -> Source<'_> {
        // All combinations of planted concepts interact; the variance of their sum is about one.
        let elements = self.rank.pow(self.sizes.len() as u32);
        let scale = 1.0 / (elements as f64).sqrt();
        let core = (0..elements).map(|place| scale * even(hash(&[self.seed, 1, place as u64]))).collect();
        Source { shape: self, of: Of::Tensor { core } }
    }

    /// The entries of each coupled matrix.
    pub fn matrices(&self) -> impl Iterator<Item = Source<'_>> {
        let matrices = self.matrices.iter().zip(0..);
        matrices.map(|(matrix, number)| Source { shape: self, of: Of::Matrix { number, matrix } })
    }

    /// The planted number of an id: mean 0, variance 1.
    fn planted(&self, mode: usize, id: u32, j: usize) -> f64 {
        even(hash(&[self.seed, 2 + mode as u64, u64::from(id), j as u64]))
    }

    /// An id of a mode, the busy ones more often.
    fn draw(&self, mode: usize, random: u64) -> u32 {
        let size = u64::from(self.sizes[mode].max(1));
        let share = if self.skew == 0.0 { unit(random) } else { unit(random).powf(1.0 + self.skew) };
        scatter(((share * size as f64) as u64).min(size - 1), size)
    }
}

impl Source<'_> {
    /// The number of indices of an entry.
    pub fn order(&self) -> usize {
        match self.of {
            Of::Tensor { .. } => self.shape.sizes.len(),
            Of::Matrix { .. } => 2,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match &self.of {
            Of::Tensor { .. } => self.shape.entries,
            Of::Matrix { matrix, .. } => matrix.entries,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes an entry: fills in its ids and returns its value.
    ///
    /// # Panics
    /// If `ids` has not the length [`Source::order`].
    pub fn entry(&self, entry: usize, ids: &mut [u32]) -> f32 {
        assert_eq!(ids.len(), self.order());
        match &self.of {
            Of::Tensor { core } => self.shape.tensor_entry(core, entry as u64, ids),
            Of::Matrix { number, matrix } => self.shape.matrix_entry(*number, matrix, entry as u64, ids),
        }
    }

    /// All entries.
    ///
    /// # Errors
    /// If a value is not finite.
    pub fn collect(&self) -> Result<Entries, Error> {
        let mut indices = vec![vec![0u32; self.len()]; self.order()];
        let mut values = vec![0.0f32; self.len()];
        const PIECE: usize = 1 << 16;
        let mut pieces: Vec<_> = values
            .chunks_mut(PIECE)
            .enumerate()
            .map(|(piece, values)| (piece * PIECE, Vec::new(), values))
            .collect();
        for list in &mut indices {
            pieces.iter_mut().zip(list.chunks_mut(PIECE)).for_each(|((_, lists, _), list)| lists.push(list));
        }
        parallel::each(pieces, |(start, mut lists, values)| {
            let mut ids = vec![0; lists.len()];
            for (offset, value) in values.iter_mut().enumerate() {
                *value = self.entry(start + offset, &mut ids);
                lists.iter_mut().zip(&ids).for_each(|(list, &id)| list[offset] = id);
            }
        });
        Entries::new(indices, values)
    }
}

impl Shape {
    fn tensor_entry(&self, core: &[f64], entry: u64, ids: &mut [u32]) -> f32 {
        for (mode, id) in ids.iter_mut().enumerate() {
            *id = self.draw(mode, hash(&[self.seed, 100, entry, mode as u64]));
        }
        let mut sum = 0.0;
        for (place, &g) in core.iter().enumerate() {
            let (mut rest, mut product) = (place, g);
            for (mode, &id) in ids.iter().enumerate() {
                product *= self.planted(mode, id, rest % self.rank);
                rest /= self.rank;
            }
            sum += product;
        }
        let own = |(mode, &id): (u64, &u32)| even(hash(&[self.seed, 300 + mode, u64::from(id)]));
        let effects = self.effect * (0..).zip(ids.iter()).map(own).sum::<f64>();
        let noise = self.noise * normal(hash(&[self.seed, 101, entry]), hash(&[self.seed, 102, entry]));
        (MEAN + sum + effects + noise) as f32
    }

    fn matrix_entry(&self, number: u64, matrix: &MatrixShape, entry: u64, ids: &mut [u32]) -> f32 {
        let random = |purpose: u64| hash(&[self.seed, 200 + number, purpose, entry]);
        let row = self.draw(matrix.mode, random(0));
        // An entity's first planted number says where its columns, and its neighbours, lie.
        let lean = |id: u32| (self.planted(matrix.mode, id, 0) / 12.0f64.sqrt() + 0.5).clamp(0.0, 1.0);
        let (column, value) = match matrix.kind {
            Absent::Graph => {
                let candidates = (1..4).map(|purpose| self.draw(matrix.mode, random(purpose)));
                let distance = |id: u32| (lean(id) - lean(row)).abs();
                let nearest = candidates
                    .filter(|&other| other != row)
                    .min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
                (nearest.unwrap_or(row), 1.0)
            }
            Absent::Zeros | Absent::Missing => {
                let last = f64::from(matrix.columns.max(1) - 1);
                let place = (lean(row) + 0.2 * (unit(random(1)) - 0.5)).clamp(0.0, 1.0) * last;
                let value = if matrix.kind == Absent::Zeros {
                    1.0
                } else {
                    MEAN + self.planted(matrix.mode, row, 1) + self.noise * normal(random(2), random(3))
                };
                (place as u32, value)
            }
        };
        ids.copy_from_slice(&[row, column]);
        value as f32
    }
}

/// Mixes numbers into one that looks random.
fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(0x9e37_79b9_7f4a_7c15, |state, &part| {
        let mut mixed = (state ^ part).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 32)
    })
}

/// Between 0 and 1.
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

/// Evenly distributed with mean 0 and variance 1.
fn even(random: u64) -> f64 {
    (unit(random) - 0.5) * 12.0f64.sqrt()
}

/// Of the standard normal distribution.
fn normal(first: u64, second: u64) -> f64 {
    (-2.0 * (1.0 - unit(first)).ln()).sqrt() * (std::f64::consts::TAU * unit(second)).cos()
}

/// Another place below `size` for each place, so that busy ids do not stand together.
fn scatter(place: u64, size: u64) -> u32 {
    // A prime above 2^32 shares no factor with a smaller size, so no two places meet.
    (u128::from(place) * 4_294_967_311 % u128::from(size)) as u32
}
