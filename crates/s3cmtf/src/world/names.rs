//! Names for everything, made of lists of words.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Businesses, Users};

/// What businesses are about: the planted groups, see [`super::World::business_groups`].
pub const THEMES: [&str; 5] = ["food", "nightlife", "health", "shopping", "home services"];

/// A kind of business.
pub(super) struct Category {
    /// A place in [`THEMES`].
    pub(super) theme: u32,
    pub(super) name: &'static str,
    /// What such a business has at the end of its name.
    sign: &'static str,
}

const fn category(theme: u32, name: &'static str, sign: &'static str) -> Category {
    Category { theme, name, sign }
}

pub(super) const CATEGORIES: [Category; 24] = [
    category(0, "Cafes", "Cafe"),
    category(0, "Pizza", "Pizzeria"),
    category(0, "Sushi", "Sushi"),
    category(0, "Bakeries", "Bakery"),
    category(0, "Burgers", "Grill"),
    category(1, "Bars", "Bar"),
    category(1, "Dance Clubs", "Club"),
    category(1, "Karaoke", "Karaoke"),
    category(1, "Breweries", "Brewery"),
    category(1, "Jazz & Blues", "Jazz Cellar"),
    category(2, "Dentists", "Dental"),
    category(2, "Yoga", "Yoga"),
    category(2, "Gyms", "Gym"),
    category(2, "Pharmacies", "Pharmacy"),
    category(2, "Physiotherapy", "Physio"),
    category(3, "Books", "Books"),
    category(3, "Shoes", "Shoes"),
    category(3, "Toys", "Toys"),
    category(3, "Vintage Clothing", "Vintage"),
    category(3, "Flowers", "Florist"),
    category(4, "Plumbers", "Plumbing"),
    category(4, "Electricians", "Electric"),
    category(4, "Movers", "Movers"),
    category(4, "Gardeners", "Gardens"),
];

pub(super) const CITIES: [&str; 10] = [
    "Alderhaven",
    "Brackwater",
    "Corvale",
    "Dunmere",
    "Eastmarsh",
    "Fenwick Falls",
    "Graystone",
    "Hollowbridge",
    "Isleton Bay",
    "Juniper Flats",
];

const FIRST_NAMES: &str = "Ada Alma Anton Arlo Bea Bruno Carla Cem Clara Dario Dora Edgar Elif Elsa Emil Esther \
    Felix Flora Gita Greta Hana Henrik Hugo Ida Ines Ivo Jana Joris Juno Kaito Karim Lena Leo Lina Lucia Mads Mara \
    Milo Mina Nadia Nils Nora Olga Omar Otto Paula Petra Ravi Rosa Sana Selma Theo Tilda Uma Vera Viktor Wanda Yara \
    Yusuf Zoe";

const LAST_NAMES: &str = "Abel Arden Bakker Barrow Berg Castell Dahl Dimas Ekren Falk Ferro Garner Grau Hale Harlan \
    Hofer Ibarra Iwata Jansen Kaplan Keller Kovac Lund Marlow Mercer Moreau Nader Nolan Okoye Orsini Paz Pell \
    Quist Rao Reyes Rossi Sander Serra Stroud Tamm Tobin Ueda Vance Varga Weller Winter Yilmaz Zander";

const COLOURS: &str = "Amber Blue Brass Bright Busy Calm Copper Coral Crimson Daily Drowsy Early Emerald Fancy \
    Gentle Golden Grand Green Happy Hidden Humble Ivory Jolly Little Lucky Merry Mighty Noble Old Paper Plain Proud \
    Quiet Red Royal Rusty Silver Stone Sunny Velvet White Wild Wooden";

const THINGS: &str = "Acorn Anchor Badger Barrel Bear Bell Birch Bridge Button Candle Cedar Clover Compass Crane \
    Dragon Drum Feather Fern Fig Fox Garden Goose Harbor Heron Kettle Lantern Lark Lemon Maple Meadow Moon Oak Olive \
    Otter Owl Pebble Pine Plum River Robin Rooster Sparrow Star Tiger Turtle Willow";

/// The names of the users and of the businesses, all different.
pub(super) fn generate(
    users: &Users,
    businesses: &Businesses,
    rng: &mut Xoshiro256PlusPlus,
) -> (Vec<String>, Vec<String>) {
    let user_names = pairs(users.group.len(), FIRST_NAMES, LAST_NAMES, rng);
    let business_names = pairs(businesses.city.len(), COLOURS, THINGS, rng)
        .into_iter()
        .zip(&businesses.categories)
        .map(|(pair, categories)| {
            let sign = categories.first().map_or("Place", |&main| CATEGORIES[main as usize].sign);
            format!("{pair} {sign}")
        })
        .collect();
    (user_names, business_names)
}

/// Different pairs of a word of each list, in random order; when all are used they come again with a number.
fn pairs(count: usize, first: &str, second: &str, rng: &mut Xoshiro256PlusPlus) -> Vec<String> {
    let mut all: Vec<(&str, &str)> =
        first.split_whitespace().flat_map(|a| second.split_whitespace().map(move |b| (a, b))).collect();
    all.shuffle(rng);
    let name = |place: usize| {
        let (a, b) = all[place % all.len()];
        match place / all.len() {
            0 => format!("{a} {b}"),
            round => format!("{a} {b} {}", round + 1),
        }
    };
    (0..count).map(name).collect()
}

/// The name of a month, counted from January 2015.
pub(super) fn month(month: u32) -> String {
    format!("{}-{:02}", 2015 + u64::from(month / 12), month % 12 + 1)
}
