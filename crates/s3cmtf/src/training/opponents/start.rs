//! Where CP methods start.

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cp::Cp;
use super::data::Data;
use crate::params::Start;

/// Normal numbers, as many as are asked for; each purpose has its own.
pub(super) fn normals(seed: u64, purpose: usize, count: usize) -> Vec<f64> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (0x6f70 + purpose as u64),
    );
    (0..count).map(|_| StandardNormal.sample(&mut generator)).collect()
}

/// Normal numbers: as published with columns of length 1, else so large that predictions are as large as the values.
pub(super) fn start(data: &Data, cp: &Cp, how: Start) -> Vec<f64> {
    let mut state = Vec::with_capacity(cp.len());
    let (order, rank) = (data.order(), cp.rank);
    for factor in 0..order + data.matrices.len() {
        let mut values = normals(data.seed, factor, cp.range(factor).len());
        if how == Start::Random {
            unit_columns(&mut values, rank);
        }
        state.append(&mut values);
    }
    if how == Start::Random {
        return state;
    }
    // Products of normal numbers have a variance of 1, and there are as many as the rank.
    let scale = (data.spread() / (rank as f64).sqrt()).powf(1.0 / order as f64);
    state[..cp.range(order - 1).end].iter_mut().for_each(|value| *value *= scale);
    for (number, matrix) in data.matrices.iter().enumerate() {
        let spread = (matrix.squares / matrix.cells().max(1.0)).sqrt();
        let by = spread / (scale * (rank as f64).sqrt());
        state[cp.columns(number)].iter_mut().for_each(|value| *value *= by);
    }
    state
}

fn unit_columns(values: &mut [f64], rank: usize) {
    for column in 0..rank {
        let squares: f64 = values.iter().skip(column).step_by(rank).map(|value| value * value).sum();
        let length = squares.sqrt().max(f64::MIN_POSITIVE);
        values.iter_mut().skip(column).step_by(rank).for_each(|value| *value /= length);
    }
}
