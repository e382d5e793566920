//! A made-up world of people who rate businesses, whose truth is known.
//!
//! Its ratings are a Tucker model of small rank plus noise, so one can tell how close a factorization comes to the best
//! that is possible ([`World::noise`]), and whether it finds the groups that were planted.

mod activity;
mod names;
mod planted;

pub use names::THEMES;

use std::collections::HashSet;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::table::Binning;
use crate::table::time::Bin;
use crate::{Absent, Coupled, Entries, Error, Naming, Problem};
use activity::{Weighted, generate_cells};
use names::{CATEGORIES, CITIES};
use planted::{Planted, gaussian};

/// The number of groups of users that share a taste.
const GROUPS: u32 = 6;
/// The number of regions that the cities lie in; people mostly rate in their own.
const REGIONS: u32 = 3;

/// How large a world is, and how noisy.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldParams {
    /// How many users. 2 or more.
    pub users: u32,
    /// How many businesses. 2 or more.
    pub businesses: u32,
    /// How many months. 1 or more.
    pub months: u32,
    /// How many ratings, for training and test together. There will be fewer if the world has too few cells.
    pub ratings: usize,
    /// The standard deviation of the noise. 0 or more.
    pub noise: f64,
    /// The seed of everything random.
    pub seed: u64,
}

impl Default for WorldParams {
    fn default() -> Self {
        WorldParams { users: 2000, businesses: 800, months: 24, ratings: 60_000, noise: 0.5, seed: 1 }
    }
}

impl WorldParams {
    /// The same with numbers out of their range replaced by the nearest in it: a world is for trying things out.
    fn clamped(&self) -> Self {
        WorldParams {
            users: self.users.clamp(2, u32::MAX - 1),
            businesses: self.businesses.clamp(2, u32::MAX - 1),
            months: self.months.clamp(1, u32::MAX - 1),
            ratings: self.ratings.max(2),
            noise: if self.noise.is_finite() { self.noise.clamp(0.0, 1e6) } else { 0.0 },
            seed: self.seed,
        }
    }
}

/// A made-up world. All ids count from 0; names and groups are by id.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// Four fifths of the ratings: user, business, month.
    pub ratings: Entries,
    /// The other ratings; no cell is also among [`World::ratings`].
    pub test: Entries,
    /// Pairs of users who are friends, each once, of weight 1.
    pub friends: Entries,
    /// The categories of each business, of value 1.
    pub categories: Entries,
    /// The city of each business, of value 1.
    pub cities: Entries,
    /// The users' names.
    pub user_names: Vec<String>,
    /// The businesses' names.
    pub business_names: Vec<String>,
    /// The months, such as `2015-01`.
    pub month_names: Vec<String>,
    /// The categories' names.
    pub category_names: Vec<String>,
    /// The cities' names.
    pub city_names: Vec<String>,
    /// The standard deviation of the noise: no prediction of new ratings has a smaller RMSE.
    pub noise: f64,
    /// The planted group of each user.
    pub user_groups: Vec<u32>,
    /// The planted group of each business, a place in [`THEMES`].
    pub business_groups: Vec<u32>,
    /// [`World::ratings`] without the noise.
    pub truth: Vec<f32>,
    /// [`World::test`] without the noise.
    pub test_truth: Vec<f32>,
}

/// Where users are from and what they like.
struct Users {
    group: Vec<u32>,
    region: Vec<u32>,
}

/// Where businesses are and what they do.
struct Businesses {
    theme: Vec<u32>,
    city: Vec<u32>,
    /// The main category comes first.
    categories: Vec<Vec<u32>>,
}

impl Businesses {
    fn region(&self, business: usize) -> u32 {
        self.city[business] % REGIONS
    }
}

/// Makes a world; the same for the same parameters. Parameters out of their range count as the nearest in it.
pub fn generate(params: &WorldParams) -> World {
    let params = params.clamped();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(params.seed);
    let users = Users {
        group: (0..params.users).map(|_| rng.random_range(0..GROUPS)).collect(),
        region: (0..params.users).map(|_| rng.random_range(0..REGIONS)).collect(),
    };
    let businesses = generate_businesses(params.businesses, &mut rng);
    let cells = generate_cells(&params, &users, &businesses, &mut rng);
    let mut planted = Planted::new(&users, &businesses, params.months, &mut rng);
    planted.scale_to(&cells);
    let (ratings, truth, test, test_truth) = rate(&cells, &planted, params.noise, &mut rng);
    let friends = generate_friends(&users, &mut rng);
    let (user_names, business_names) = names::generate(&users, &businesses, &mut rng);

    let ids = 0..params.businesses;
    let categories = ids.clone().zip(&businesses.categories);
    let categories = categories.flat_map(|(id, list)| list.iter().map(move |&category| (id, category)));
    World {
        ratings,
        test,
        friends: ones("friends", friends),
        categories: ones("categories", categories.collect()),
        cities: ones("cities", ids.zip(businesses.city.iter().copied()).collect()),
        user_names,
        business_names,
        month_names: (0..params.months).map(names::month).collect(),
        category_names: CATEGORIES.iter().map(|category| category.name.to_owned()).collect(),
        city_names: CITIES.iter().map(|&city| city.to_owned()).collect(),
        noise: params.noise,
        user_groups: users.group,
        business_groups: businesses.theme,
        truth,
        test_truth,
    }
}

impl World {
    /// The world as a problem: the ratings, and the friends, categories and cities coupled to them.
    ///
    /// # Errors
    /// If the world is so small that its parts do not make a problem.
    pub fn problem(&self) -> Result<Problem, Error> {
        let naming = |column: &str, binning: Option<Binning>, names: &[String]| {
            Some(Naming { column: column.into(), binning, labels: names.iter().collect() })
        };
        let matrix = |column: &str, entries: &Entries, names: &[String]| -> Result<Coupled, Error> {
            let matrix = Coupled::new(1, Absent::Zeros, entries.clone())?.named(format!("business/{column}"));
            // A small world may not have every category.
            let known = &names[..names.len().min(matrix.columns().size() as usize)];
            let named = naming(column, None, known).and_then(|naming| matrix.clone().columns_named(naming));
            Ok(named.unwrap_or(matrix))
        };
        Problem::builder(self.ratings.clone())
            .names(["user", "business", "month"].map(String::from).to_vec())
            .namings(vec![
                naming("user", None, &self.user_names),
                naming("business", None, &self.business_names),
                naming("month", Some(Binning::Time(Bin::Month)), &self.month_names),
            ])
            .value("stars")
            .couple(Coupled::new(0, Absent::Graph, self.friends.clone())?.named("user/friends"))
            .couple(matrix("category", &self.categories, &self.category_names)?)
            .couple(matrix("city", &self.cities, &self.city_names)?)
            .build()
    }
}

fn generate_businesses(count: u32, rng: &mut Xoshiro256PlusPlus) -> Businesses {
    // The first cities are larger, as cities are.
    let cities = Weighted::new((0..CITIES.len()).map(|city| 1.0 / (city as f64 + 3.0)));
    let mut businesses = Businesses { theme: Vec::new(), city: Vec::new(), categories: Vec::new() };
    let every: Vec<u32> = (0..CATEGORIES.len() as u32).collect();
    for _ in 0..count {
        let theme = rng.random_range(0..THEMES.len() as u32);
        let of_theme: Vec<u32> =
            every.iter().copied().filter(|&category| CATEGORIES[category as usize].theme == theme).collect();
        let mut own = vec![of_theme[rng.random_range(0..of_theme.len())]];
        for _ in 0..rng.random_range(0..3) {
            let list = if rng.random_bool(0.85) { &of_theme } else { &every };
            let category = list[rng.random_range(0..list.len())];
            if !own.contains(&category) {
                own.push(category);
            }
        }
        businesses.theme.push(theme);
        businesses.city.push(cities.sample(rng) as u32);
        businesses.categories.push(own);
    }
    businesses
}

/// Pairs of users, the smaller id first: three per user, most of them within a group.
fn generate_friends(users: &Users, rng: &mut Xoshiro256PlusPlus) -> Vec<(u32, u32)> {
    let count = users.group.len();
    let mut groups = vec![Vec::new(); GROUPS as usize];
    for (user, &group) in users.group.iter().enumerate() {
        groups[group as usize].push(user);
    }
    let mut seen = HashSet::new();
    let mut pairs = Vec::new();
    for _ in 0..3 * count {
        let one = rng.random_range(0..count);
        let group = &groups[users.group[one] as usize];
        let within = rng.random_bool(0.9);
        let other = if within { group[rng.random_range(0..group.len())] } else { rng.random_range(0..count) };
        let pair = (one.min(other) as u32, one.max(other) as u32);
        if pair.0 != pair.1 && seen.insert(pair) {
            pairs.push(pair);
        }
    }
    if pairs.is_empty() {
        // A graph has at least one edge, even among two users.
        pairs.push((0, 1));
    }
    pairs
}

/// Gives each cell its value, and splits them: ratings and their truth, then test ratings and theirs.
fn rate(
    cells: &[[u32; 3]],
    planted: &Planted,
    noise: f64,
    rng: &mut Xoshiro256PlusPlus,
) -> (Entries, Vec<f32>, Entries, Vec<f32>) {
    let mut parts = [(Vec::new(), Vec::new(), Vec::new()), (Vec::new(), Vec::new(), Vec::new())];
    for (place, &cell) in cells.iter().enumerate() {
        let truth = planted.value(cell);
        // Cells come in random order, so every fifth is as good a choice as any.
        let (cells, values, truths) = &mut parts[usize::from(place % 5 == 4)];
        cells.push(cell);
        values.push((truth + noise * gaussian(rng)) as f32);
        truths.push(truth as f32);
    }
    let [(train, values, truth), (test, test_values, test_truth)] = parts;
    (table("ratings", &train, values), truth, table("test", &test, test_values), test_truth)
}

fn table<const ORDER: usize>(name: &str, cells: &[[u32; ORDER]], values: Vec<f32>) -> Entries {
    let indices = (0..ORDER).map(|mode| cells.iter().map(|cell| cell[mode]).collect()).collect();
    // Ids are below their modes' sizes and values finite by construction.
    Entries::from_rows(name.to_owned(), indices, values)
}

fn ones(name: &str, pairs: Vec<(u32, u32)>) -> Entries {
    let cells: Vec<[u32; 2]> = pairs.into_iter().map(|(row, column)| [row, column]).collect();
    table(name, &cells, vec![1.0; cells.len()])
}

#[cfg(test)]
mod tests;
