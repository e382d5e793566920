//! Cells of made-up data, one after the other.

use super::shape::Shape;
use crate::Kind;

/// The mean of all values, as of stars.
const MEAN: f64 = 3.5;

/// A cell and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its id in each mode.
    pub ids: Vec<u32>,
    /// Its value.
    pub value: f32,
}

/// The cells of a tensor.
pub struct TensorStream<'a> {
    shape: &'a Shape,
    core: Vec<f64>,
    next: usize,
}

/// The cells of a coupled matrix.
pub struct MatrixStream<'a> {
    shape: &'a Shape,
    number: usize,
    next: usize,
}

impl Shape {
    /// The entries of the tensor.
    pub fn tensor(&self) -> TensorStream<'_> {
        let order = self.sizes.len();
        // All pairs and the like of planted concepts interact; the sum's variance is about one.
        let elements = self.rank.pow(order as u32);
        let scale = 1.0 / (elements as f64).sqrt();
        let core = (0..elements).map(|place| scale * even(hash(&[self.seed, 1, place as u64]))).collect();
        TensorStream { shape: self, core, next: 0 }
    }

    /// The entries of a coupled matrix.
    pub fn matrix(&self, number: usize) -> MatrixStream<'_> {
        MatrixStream { shape: self, number, next: 0 }
    }

    /// The planted row of an id: numbers of mean 0 and variance 1.
    fn planted(&self, mode: usize, id: u32, j: usize) -> f64 {
        even(hash(&[self.seed, 2 + mode as u64, u64::from(id), j as u64]))
    }

    /// An id of a mode, the busy ones more often.
    fn draw(&self, mode: usize, random: u64) -> u32 {
        let size = u64::from(self.sizes[mode].max(1));
        let place = (unit(random).powf(1.0 + self.skew) * size as f64) as u64;
        scatter(place.min(size - 1), size)
    }
}

impl Iterator for TensorStream<'_> {
    type Item = Cell;

    fn next(&mut self) -> Option<Cell> {
        let Shape { seed, sizes, rank, noise, .. } = self.shape;
        if self.next >= self.shape.entries {
            return None;
        }
        let entry = self.next as u64;
        self.next += 1;
        let ids: Vec<u32> = (0..sizes.len())
            .map(|mode| self.shape.draw(mode, hash(&[*seed, 100, entry, mode as u64])))
            .collect();
        // The core is contracted with one row after the other, from the last mode on.
        let mut left = self.core.clone();
        for (mode, &id) in ids.iter().enumerate().rev() {
            let row: Vec<f64> = (0..*rank).map(|j| self.shape.planted(mode, id, j)).collect();
            left = left
                .chunks_exact(*rank)
                .map(|part| part.iter().zip(&row).map(|(g, u)| g * u).sum())
                .collect();
        }
        let noise = noise * normal(hash(&[*seed, 101, entry]), hash(&[*seed, 102, entry]));
        Some(Cell { ids, value: (MEAN + left[0] + noise) as f32 })
    }
}

impl Iterator for MatrixStream<'_> {
    type Item = Cell;

    fn next(&mut self) -> Option<Cell> {
        let shape = self.shape;
        let matrix = &shape.matrices[self.number];
        if self.next >= matrix.entries {
            return None;
        }
        let entry = self.next as u64;
        self.next += 1;
        let random = |purpose: u64| hash(&[shape.seed, 200 + self.number as u64, purpose, entry]);
        let row = shape.draw(matrix.mode, random(0));
        // An entity's first planted number says where its columns, and its neighbours, lie.
        let lean = |id: u32| (shape.planted(matrix.mode, id, 0) / 12.0f64.sqrt() + 0.5).clamp(0.0, 1.0);
        let (column, value) = match matrix.kind {
            Kind::Graph => {
                let candidates = (1..4).map(|purpose| shape.draw(matrix.mode, random(purpose)));
                let nearest = candidates
                    .filter(|&other| other != row)
                    .min_by(|&a, &b| (lean(a) - lean(row)).abs().total_cmp(&(lean(b) - lean(row)).abs()));
                (nearest.unwrap_or(row), 1.0)
            }
            Kind::Zeros | Kind::Missing => {
                let columns = f64::from(matrix.columns.max(1));
                let place = (lean(row) + 0.2 * (unit(random(1)) - 0.5)).clamp(0.0, 1.0) * (columns - 1.0);
                let value = if matrix.kind == Kind::Zeros {
                    1.0
                } else {
                    MEAN + shape.planted(matrix.mode, row, 1) + shape.noise * normal(random(2), random(3))
                };
                (place as u32, value)
            }
        };
        Some(Cell { ids: vec![row, column], value: value as f32 })
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
