//! Which columns of a table are probably its modes and its value.

use super::{ModeSpec, Recipe};
use crate::table::time::Bin;
use crate::table::{Bins, Kind, Selector};

/// More columns than this are not all modes, and someone has to say which.
const MOST: usize = 3;

impl Recipe {
    /// What someone probably means by a table of these columns, each with its heading and what it seems to hold: the ids and
    /// the months of times are the modes, the last number is the value. `None` if that is not obvious.
    pub fn guess(columns: &[(String, Kind)]) -> Option<Recipe> {
        let numbers = || columns.iter().enumerate().filter(|(_, (_, kind))| *kind == Kind::Number);
        let value = numbers().next_back().map(|(place, _)| place);
        if numbers().count() > 1 {
            return None;
        }
        let modes: Vec<ModeSpec> = columns
            .iter()
            .enumerate()
            .filter(|(place, _)| Some(*place) != value)
            .map(|(place, (name, kind))| ModeSpec {
                name: None,
                column: selector(place, name),
                bins: (*kind == Kind::Time).then_some(Bins::Time(Bin::Month)),
            })
            .collect();
        let ids = modes.iter().filter(|mode| mode.bins.is_none()).count();
        // Three texts without a number are rather a list of things than what happened between them.
        let enough = if value.is_some() { ids >= 1 } else { ids == 2 };
        let obvious = enough && (2..=MOST).contains(&modes.len());
        obvious.then(|| Recipe { modes, value: value.map(|place| selector(place, &columns[place].0)) })
    }
}

/// By name where there is one; a name that is a number would be taken for a place.
fn selector(place: usize, name: &str) -> Selector {
    if name.parse::<u64>().is_ok() { Selector::Place(place) } else { Selector::Name(name.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(columns: &[(&str, Kind)]) -> Option<String> {
        let columns: Vec<(String, Kind)> =
            columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        Recipe::guess(&columns).map(|recipe| {
            let modes: Vec<String> = recipe.modes.iter().map(ToString::to_string).collect();
            format!("{} {}", modes.join(","), recipe.value.map_or(String::new(), |value| value.to_string()))
        })
    }

    #[test]
    fn the_usual_tables_need_no_words() {
        use Kind::{Id, Number, Time};
        let ratings = [("userId", Id), ("movieId", Id), ("rating", Number), ("timestamp", Time)];
        assert_eq!(guessed(&ratings).unwrap(), "userId,movieId,timestamp:month rating");
        assert_eq!(guessed(&[("1", Id), ("2", Id), ("3", Number)]).unwrap(), "1,2 3");
        assert_eq!(guessed(&[("user", Id), ("song", Id)]).unwrap(), "user,song ");
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
