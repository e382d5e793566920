//! Who rates what, and when.

use std::collections::HashSet;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Businesses, REGIONS, Users, WorldParams};

/// A choice among numbered things that are not equally likely.
pub(super) struct Weighted {
    /// The sum of the weights up to and including each thing.
    sums: Vec<f64>,
}

impl Weighted {
    pub(super) fn new(weights: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let add = |weight| {
            sum += weight;
            sum
        };
        Weighted { sums: weights.map(add).collect() }
    }

    /// The number of one of the things, of which there must be at least one.
    pub(super) fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let place = rng.random::<f64>() * total;
        // A product that is rounded up to the total would lie beyond the last.
        self.sums.partition_point(|&sum| sum <= place).min(self.sums.len().saturating_sub(1))
    }
}

/// How active each of `count` entities is: a few very, most hardly, in random order.
///
/// Zipf's law, shifted by a share of `count` so that the first does not get a good part of everything.
fn zipf(count: u32, exponent: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let shift = f64::from(count) / 100.0;
    let mut weights: Vec<f64> = (1..=count).map(|rank| (f64::from(rank) + shift).powf(-exponent)).collect();
    weights.shuffle(rng);
    weights
}

/// Distinct cells (user, business, month) in random order; most are in the user's own region.
pub(super) fn generate_cells(
    params: &WorldParams,
    users: &Users,
    businesses: &Businesses,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<[u32; 3]> {
    // With these exponents about a third of the users and a fifth of the businesses have at most three ratings.
    let raters = Weighted::new(zipf(params.users, 1.4, rng).into_iter());
    let popularity = zipf(params.businesses, 1.6, rng);
    let everywhere = Weighted::new(popularity.iter().copied());
    let within = |region: u32| -> (Vec<usize>, Weighted) {
        let members: Vec<usize> =
            (0..popularity.len()).filter(|&business| businesses.region(business) == region).collect();
        let weights = Weighted::new(members.iter().map(|&business| popularity[business]));
        (members, weights)
    };
    let regions: Vec<(Vec<usize>, Weighted)> = (0..REGIONS).map(within).collect();

    let mut seen = HashSet::new();
    let mut cells = Vec::new();
    // In a small world the popular cells are soon taken; it must end nevertheless.
    for _ in 0..params.ratings.saturating_mul(20) {
        if cells.len() == params.ratings {
            break;
        }
        let user = raters.sample(rng);
        let (members, weights) = &regions[users.region[user] as usize];
        let business = if !members.is_empty() && rng.random_bool(0.8) {
            members[weights.sample(rng)]
        } else {
            everywhere.sample(rng)
        };
        let cell = [user as u32, business as u32, rng.random_range(0..params.months)];
        if seen.insert(cell) {
            cells.push(cell);
        }
    }
    cells
}
