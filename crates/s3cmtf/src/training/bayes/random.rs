//! Random numbers that depend on what they are for, and not on who asks first.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(super) type Generator = Xoshiro256PlusPlus;

/// The generator of one purpose, such as a row of a mode in an epoch.
pub(super) fn generator(seed: u64, purpose: [u64; 3]) -> Generator {
    let mixed = purpose.iter().fold(seed, |state, &part| mix(state ^ mix(part)));
    Generator::seed_from_u64(mixed)
}

/// One step of splitmix64: every bit of the result depends on every bit of the number.
pub(super) fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number of the standard normal distribution.
pub(super) fn normal(generator: &mut Generator) -> f64 {
    StandardNormal.sample(generator)
}

/// A precision: of the gamma distribution with the given shape and rate.
pub(super) fn gamma(generator: &mut Generator, shape: f64, rate: f64) -> f64 {
    // Shapes and rates here are sums of squares and counts on top of positive constants.
    Gamma::new(shape, 1.0 / rate).map_or(shape / rate, |gamma| gamma.sample(generator))
}

/// One of several values, by the logarithms of their probabilities, up to a constant.
pub(super) fn pick(generator: &mut Generator, values: &[f64], log: impl Fn(f64) -> f64) -> f64 {
    let logs: Vec<f64> = values.iter().map(|&value| log(value)).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let masses = || logs.iter().map(|log| (log - most).exp());
    let mut left = generator.random::<f64>() * masses().sum::<f64>();
    let picked = masses().position(|mass| {
        left -= mass;
        left <= 0.0
    });
    values[picked.unwrap_or(values.len() - 1)]
}
