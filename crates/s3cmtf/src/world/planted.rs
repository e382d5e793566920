//! The factors and the core behind the ratings.

use std::f64::consts::TAU;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Businesses, REGIONS, THEMES, Users};

/// Concepts of users and of businesses: a constant, one per theme, and two for where they are.
const RANK: usize = 1 + THEMES.len() + 2;
/// The first concept of a place: regions lie evenly on a circle, so that two numbers tell all of them apart.
const PLACE: usize = 1 + THEMES.len();
/// Concepts of months: a constant, and a sine and a cosine of the year.
const SEASONS: usize = 3;

/// The mean of the ratings without noise.
const MEAN: f64 = 3.5;
/// Their standard deviation.
const DEVIATION: f64 = 0.9;

/// A normally distributed number of mean 0 and standard deviation 1 (Box and Muller).
pub(super) fn gaussian(rng: &mut Xoshiro256PlusPlus) -> f64 {
    // 1 - u is never 0, whose logarithm would be infinite.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (TAU * rng.random::<f64>()).cos()
}

/// A Tucker model that has every rating.
pub(super) struct Planted {
    users: Vec<[f64; RANK]>,
    businesses: Vec<[f64; RANK]>,
    months: Vec<[f64; SEASONS]>,
    core: [[[f64; SEASONS]; RANK]; RANK],
}

impl Planted {
    pub(super) fn new(
        users: &Users,
        businesses: &Businesses,
        months: u32,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let themes = THEMES.len();
        let one = |theme: u32, value: f64| {
            let mut likes = vec![0.0; themes];
            likes[theme as usize % themes] = value;
            likes
        };
        // A group loves one theme, cannot stand another, and has mild opinions of the rest.
        let tastes: Vec<Vec<f64>> = (0..super::GROUPS)
            .map(|group| {
                let hates = one(group + 2 + group / themes as u32, -1.0);
                one(group, 1.0)
                    .iter()
                    .zip(hates)
                    .map(|(love, hate)| love + hate + 0.3 * gaussian(rng))
                    .collect()
            })
            .collect();
        let user_rows = (users.group.iter().zip(&users.region))
            .map(|(&group, &region)| row(&tastes[group as usize], region, rng))
            .collect();
        let business_rows = (0..businesses.theme.len())
            .map(|business| row(&one(businesses.theme[business], 1.0), businesses.region(business), rng))
            .collect();
        let month_row = |month: u32| {
            let (sine, cosine) = (TAU * f64::from(month % 12) / 12.0).sin_cos();
            [1.0, sine, cosine]
        };
        Planted {
            users: user_rows,
            businesses: business_rows,
            months: (0..months).map(month_row).collect(),
            core: core(rng),
        }
    }

    /// The rating of a cell without noise.
    pub(super) fn value(&self, [user, business, month]: [u32; 3]) -> f64 {
        let month = &self.months[month as usize];
        let mut sum = 0.0;
        for (u, slice) in self.users[user as usize].iter().zip(&self.core) {
            for (b, fibre) in self.businesses[business as usize].iter().zip(slice) {
                sum += u * b * fibre.iter().zip(month).map(|(core, m)| core * m).sum::<f64>();
            }
        }
        sum
    }

    /// Moves and stretches the values such that those of the given cells have the mean and deviation of ratings.
    ///
    /// The constant concepts take up the move, so the rank stays what it is.
    pub(super) fn scale_to(&mut self, cells: &[[u32; 3]]) {
        let values: Vec<f64> = cells.iter().map(|&cell| self.value(cell)).collect();
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        let scale = if deviation > 0.0 { DEVIATION / deviation } else { 1.0 };
        self.core.iter_mut().flatten().flatten().for_each(|value| *value *= scale);
        self.core[0][0][0] += MEAN - scale * mean;
    }
}

/// A row: the constant, what its group or theme says, the place, and a little of its own.
fn row(likes: &[f64], region: u32, rng: &mut Xoshiro256PlusPlus) -> [f64; RANK] {
    let (sine, cosine) = (TAU * f64::from(region) / f64::from(REGIONS)).sin_cos();
    let mut row = [1.0; RANK];
    for (value, &like) in row[1..PLACE].iter_mut().zip(likes) {
        *value = like + 0.1 * gaussian(rng);
    }
    for (value, place) in row[PLACE..].iter_mut().zip([cosine, sine]) {
        *value = place + 0.1 * gaussian(rng);
    }
    row
}

/// Taste meets theme, home meets place, themes have a level and a season, and everything hangs together a little.
fn core(rng: &mut Xoshiro256PlusPlus) -> [[[f64; SEASONS]; RANK]; RANK] {
    let mut core = [[[0.0; SEASONS]; RANK]; RANK];
    core.iter_mut().flatten().flatten().for_each(|value| *value = 0.06 * gaussian(rng));
    let mut add =
        |user: usize, business: usize, month: usize, value: f64| core[user][business][month] += value;
    for theme in 1..PLACE {
        let (sine, cosine) = (TAU * theme as f64 / THEMES.len() as f64).sin_cos();
        add(theme, theme, 0, 1.0);
        add(0, theme, 0, 0.3 * gaussian(rng));
        add(0, theme, 1, 0.4 * sine);
        add(0, theme, 2, 0.4 * cosine);
    }
    for place in PLACE..RANK {
        add(place, place, 0, 0.4);
    }
    core
}
