//! Which columns of a table are probably its modes and its value.

use super::{ModeSpec, Recipe};
use crate::table::time::Bin;
use crate::table::{Bins, ColumnType, Selector};

/// More columns than this are not all modes, and someone has to say which.
const MOST: usize = 3;

impl Recipe {
    /// What someone probably means by a table of these columns, each with its heading and what it seems to hold: the ids and
    /// the months of times are the modes, the last number is the value. `None` if that is not obvious.
    pub fn guess(columns: &[(String, ColumnType)]) -> Option<Recipe> {
        let mut columns: Vec<(usize, &str, ColumnType)> =
            columns.iter().enumerate().map(|(place, (name, kind))| (place, name.as_str(), *kind)).collect();
        if is_index(&columns) {
            columns.remove(0);
        }
        Recipe::of_all(&columns).or_else(|| Recipe::of_usual(&columns))
    }

    /// The modes and the value of a table that has nothing else.
    fn of_all(columns: &[(usize, &str, ColumnType)]) -> Option<Recipe> {
        let numbers = || columns.iter().filter(|(_, _, kind)| *kind == ColumnType::Number);
        let value = numbers().next_back();
        if numbers().count() > 1 {
            return None;
        }
        let modes: Vec<ModeSpec> =
            columns.iter().filter(|column| Some(*column) != value).map(|column| mode(*column)).collect();
        let ids = modes.iter().filter(|mode| mode.bins.is_none()).count();
        // Three texts without a number are rather a list of things than what happened between them.
        let enough = if value.is_some() { ids >= 1 } else { ids == 2 };
        let obvious = enough && (2..=MOST).contains(&modes.len());
        obvious.then(|| Recipe { modes, value: value.map(|&(place, name, _)| selector(place, name)) })
    }

    /// The user, the item, the value and the only time of a table that has more, if each has a usual name and is the only one.
    fn of_usual(columns: &[(usize, &str, ColumnType)]) -> Option<Recipe> {
        let only = |is: &dyn Fn(&(usize, &str, ColumnType)) -> bool| {
            let mut found = columns.iter().filter(|column| is(column)).copied();
            found.next().filter(|_| found.next().is_none())
        };
        let called = |names: &'static [&str], kind: ColumnType| {
            only(&move |(_, name, own): &(usize, &str, ColumnType)| {
                *own == kind && names.contains(&plain(name).as_str())
            })
        };
        let (user, item) = (called(&USERS, ColumnType::Id)?, called(&ITEMS, ColumnType::Id)?);
        let value = called(&VALUES, ColumnType::Number)?;
        let time = only(&|(_, _, kind)| *kind == ColumnType::Time);
        let modes = [Some(user), Some(item), time].into_iter().flatten().map(mode).collect();
        Some(Recipe { modes, value: Some(selector(value.0, value.1)) })
    }
}

/// What users, items and their values are called in exports, in lower case and without `id` and what separates it.
const USERS: [&str; 9] =
    ["user", "customer", "reviewer", "member", "client", "visitor", "listener", "reader", "account"];
const ITEMS: [&str; 16] = [
    "item",
    "product",
    "movie",
    "film",
    "business",
    "book",
    "song",
    "track",
    "artist",
    "article",
    "game",
    "asin",
    "isbn",
    "recipe",
    "restaurant",
    "sku",
];
const VALUES: [&str; 6] = ["rating", "stars", "score", "overall", "value", "ratings"];

/// A heading as it is looked up: `User_ID` is `user`.
fn plain(heading: &str) -> String {
    let letters: String = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    match letters.strip_suffix("id") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => letters,
    }
}

/// Whether the first column is the index that pandas writes before those of a table: it alone has no heading, or one that says so.
pub(crate) fn is_index(columns: &[(usize, &str, ColumnType)]) -> bool {
    let is_place = |name: &str| name.parse::<u64>().is_ok();
    let Some(((_, first, kind), others)) = columns.split_first() else { return false };
    let unnamed = *first == "1" && !others.is_empty() && !others.iter().any(|(_, name, _)| is_place(name));
    *kind == ColumnType::Id && (unnamed || first.starts_with("Unnamed:"))
}

fn mode((place, name, kind): (usize, &str, ColumnType)) -> ModeSpec {
    let bins = (kind == ColumnType::Time).then_some(Bins::Time(Bin::Month));
    ModeSpec { name: None, column: selector(place, name), bins }
}

/// By name where there is one; a name that is a number would be taken for a place.
fn selector(place: usize, name: &str) -> Selector {
    if name.parse::<u64>().is_ok() { Selector::Place(place) } else { Selector::Name(name.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(columns: &[(&str, ColumnType)]) -> Option<String> {
        let columns: Vec<(String, ColumnType)> =
            columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        Recipe::guess(&columns).map(|recipe| {
            let modes: Vec<String> = recipe.modes.iter().map(ToString::to_string).collect();
            format!("{} {}", modes.join(","), recipe.value.map_or(String::new(), |value| value.to_string()))
        })
    }

    #[test]
    fn the_usual_tables_need_no_words() {
        use ColumnType::{Id, Number, Time};
        let ratings = [("userId", Id), ("movieId", Id), ("rating", Number), ("timestamp", Time)];
        assert_eq!(guessed(&ratings).unwrap(), "userId,movieId,timestamp:month rating");
        assert_eq!(guessed(&[("1", Id), ("2", Id), ("3", Number)]).unwrap(), "1,2 3");
        assert_eq!(guessed(&[("user", Id), ("song", Id)]).unwrap(), "user,song ");
        // What pandas writes before a table is no mode.
        let indexed = [("1", Id), ("user", Id), ("film", Id), ("rating", Number)];
        assert_eq!(guessed(&indexed).unwrap(), "user,film rating");
        assert_eq!(guessed(&[("Unnamed: 0", Id), ("user", Id), ("song", Id)]).unwrap(), "user,song ");
        // Of many columns those with usual names.
        let export = [
            ("review_id", Id),
            ("User_ID", Id),
            ("item_id", Id),
            ("rating", Number),
            ("helpful", Number),
            ("review_date", Time),
            ("title", Id),
        ];
        assert_eq!(guessed(&export).unwrap(), "User_ID,item_id,review_date:month rating");
        for unclear in [
            &[("user", Id), ("rating", Number)][..],
            &[("a", Id), ("b", Id), ("c", Number), ("d", Number)],
            &[("a", Id), ("b", Id), ("c", Id), ("d", Id)],
            &[("a", Time), ("b", Time)],
            &[("film", Id), ("title", Id), ("genres", Id)],
        ] {
            assert_eq!(guessed(unclear), None, "{unclear:?}");
        }
    }
}
