//! Random numbers that depend on what they are for, and not on who asks first.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::parallel;
use crate::problem::mix;

/// Precisions beyond these are not told apart.
const LEAST: f64 = 1e-12;
const MOST: f64 = 1e12;

pub(super) type Generator = Xoshiro256PlusPlus;

/// The random streams of an epoch. Each has a name here, so that no two are the same and whoever draws has the same numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    pub(super) seed: u64,
    /// 0 is the start.
    pub(super) epoch: u64,
}

/// What streams are of, beside the rows of a mode, whose number is below these.
const TAU: u64 = 1 << 32;
const SHARES: u64 = 2 << 32;
const MATRICES: u64 = 3 << 32;
const CORE: u64 = 4 << 32;
const SCALES: u64 = 5 << 32;
const START: u64 = 6 << 32;
const ENTRIES: u64 = 7 << 32;
const DISPERSION: u64 = 8 << 32;
const ZEROS: u64 = 9 << 32;
const SAMPLE: u64 = 10 << 32;
/// The place of what belongs to no row or column.
const ALL: u64 = u64::MAX;

impl Streams {
    /// A row of a mode.
    pub(super) fn row(self, mode: usize, row: usize) -> Generator {
        self.stream(mode as u64, row as u64)
    }

    /// The precision of the tensor's entries.
    pub(super) fn tau(self) -> Generator {
        self.stream(TAU, 0)
    }

    /// How much the shares of a mode's rows differ.
    pub(super) fn shares(self, mode: usize) -> Generator {
        self.stream(SHARES + mode as u64, ALL)
    }

    /// The share of a row.
    pub(super) fn share(self, mode: usize, row: usize) -> Generator {
        self.stream(SHARES + mode as u64, row as u64)
    }

    /// The prior of a coupled matrix.
    pub(super) fn matrix(self, matrix: u64) -> Generator {
        self.stream(MATRICES + matrix, ALL)
    }

    /// A column of a coupled matrix; a graph has one.
    pub(super) fn column(self, matrix: u64, column: usize) -> Generator {
        self.stream(MATRICES + matrix, column as u64)
    }

    /// The core and its prior.
    pub(super) fn core(self) -> Generator {
        self.stream(CORE, 0)
    }

    /// A sign for each of 64 entries, the first of which has this place in its view.
    pub(super) fn signs(self, first: usize) -> u64 {
        mix(mix(self.seed ^ mix(self.epoch)) ^ first as u64)
    }

    /// Puts signs of consecutive entries of a view in place of those there, and a word more; returns which bit is the first's.
    pub(super) fn put_signs(self, entries: Range<usize>, signs: &mut Vec<u64>) -> usize {
        signs.clear();
        signs.extend((entries.start / 64..=entries.end / 64 + 1).map(|word| self.signs(word)));
        entries.start % 64
    }

    /// Which entries a sample has.
    pub(super) fn sample(self) -> u64 {
        mix(self.signs(0) ^ SAMPLE)
    }

    /// Some entries, the first of which has this place in the view of a mode; `core` where the core is drawn.
    pub(super) fn entries(self, mode: usize, core: bool, first: usize) -> Generator {
        self.stream(ENTRIES + 2 * mode as u64 + u64::from(core), first as u64)
    }

    /// The dispersion of counts.
    pub(super) fn dispersion(self) -> Generator {
        self.stream(DISPERSION, 0)
    }

    /// What absent cells add to the core's draw.
    pub(super) fn zeros(self) -> Generator {
        self.stream(ZEROS, 0)
    }

    /// The scales of a mode's concepts.
    pub(super) fn scales(self, mode: usize) -> Generator {
        self.stream(SCALES + mode as u64, 0)
    }

    /// The core to start from.
    pub(super) fn start_core(self) -> Generator {
        self.stream(START, 0)
    }

    fn stream(self, purpose: u64, place: u64) -> Generator {
        generator(self.seed, [self.epoch, purpose, place])
    }
}

/// The generator of one purpose.
pub(super) fn generator(seed: u64, purpose: [u64; 3]) -> Generator {
    let mixed = purpose.iter().fold(seed, |state, &part| mix(state ^ mix(part)));
    Generator::seed_from_u64(mixed)
}

/// A number of the standard normal distribution.
pub(super) fn normal(generator: &mut Generator) -> f64 {
    StandardNormal.sample(generator)
}

/// A number from 0 to 1.
pub(super) fn uniform(generator: &mut Generator) -> f64 {
    generator.random()
}

/// A precision: of the gamma distribution with the given shape and rate.
pub(super) fn gamma(generator: &mut Generator, shape: f64, rate: f64) -> f64 {
    // Shapes and rates here are sums of squares and counts on top of positive constants.
    Gamma::new(shape, 1.0 / rate).map_or(shape / rate, |gamma| gamma.sample(generator))
}

/// A precision of `count` numbers with this sum of squares, of which nothing is known beforehand: the deviation that it stands
/// for has a half-Cauchy distribution of scale 1. Unlike a gamma distribution of any usual rate, that allows numbers of
/// no use to vanish, and does not pull those of use. `old` is the precision as it was.
pub(super) fn half_cauchy(generator: &mut Generator, old: f64, count: f64, squares: f64) -> f64 {
    // A mixture of gamma distributions over the rate.
    let rate = gamma(generator, 1.0, 1.0 + old);
    gamma(generator, 0.5 + 0.5 * count, rate + 0.5 * squares).clamp(LEAST, MOST)
}

/// One of several values, by the logarithms of their probabilities, up to a constant.
pub(super) fn pick(generator: &mut Generator, values: &[f64], log: impl Fn(f64) -> f64 + Sync) -> f64 {
    pick_by(generator, values, &parallel::map(values.len(), |place| log(values[place])))
}

/// The same where the logarithms are known.
pub(super) fn pick_by(generator: &mut Generator, values: &[f64], logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let masses = || logs.iter().map(|log| (log - most).exp());
    let mut left = generator.random::<f64>() * masses().sum::<f64>();
    let picked = masses().position(|mass| {
        left -= mass;
        left <= 0.0
    });
    values[picked.unwrap_or(values.len() - 1)]
}
