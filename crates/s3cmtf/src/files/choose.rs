//! From the columns that are wanted to their places in a file.

use std::path::Path;

use crate::Error;
use crate::table::{Selector, Want, did_you_mean, shortened};

/// The headings that a message lists at most.
const LISTED: usize = 30;

/// The place of each wanted column among the headings of a file.
pub(super) fn choose(path: &Path, headings: &[String], wants: &[Want]) -> Result<Vec<usize>, Error> {
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    wants.iter().map(|want| place(&headings, &want.column).map_err(|what| Error::file(path, what))).collect()
}

/// The place of a column among headings, or why there is none.
pub(super) fn place(headings: &[&str], selector: &Selector) -> Result<usize, String> {
    match selector {
        Selector::Place(place) if *place < headings.len() => Ok(*place),
        Selector::Place(place) => Err(format!(
            "has no column {}: it has {} ({})",
            place.saturating_add(1),
            headings.len(),
            list(headings)
        )),
        Selector::Name(name) => {
            let mut places = (0..headings.len()).filter(|&place| headings[place] == *name);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (Some(first), Some(second)) => Err(format!(
                    "has two columns named \"{name}\" (columns {} and {}): choose one by its place",
                    first + 1,
                    second + 1
                )),
                _ => {
                    let hint = did_you_mean(headings.iter().copied(), name);
                    Err(format!("has no column \"{name}\"{hint} (its columns are {})", list(headings)))
                }
            }
        }
    }
}

fn list(headings: &[&str]) -> String {
    let shown: Vec<String> = headings.iter().take(LISTED).map(|heading| shortened(heading)).collect();
    let mut text = shown.join(", ");
    if headings.len() > LISTED {
        text.push_str(&format!(" and {} more", headings.len() - LISTED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ColumnType;

    #[test]
    fn a_column_that_is_not_there_says_which_are() {
        let headings: Vec<String> = ["userId", "movieId", "rating", "rating"].map(String::from).into();
        let choose = |column| {
            let want = Want { column, kind: ColumnType::Id };
            choose(Path::new("a.csv"), &headings, &[want]).map_err(|error| error.to_string())
        };
        let name = |name: &str| choose(Selector::Name(name.into()));
        assert_eq!(name("movieId"), Ok(vec![1]));
        assert_eq!(choose(Selector::Place(3)), Ok(vec![3]));
        let columns = "userId, movieId, rating, rating";
        for (wanted, what) in [
            ("MOVIEID", ", did you mean \"movieId\"?"),
            ("user_id", ", did you mean \"userId\"?"),
            ("timestamp", ""),
        ] {
            let message = format!("a.csv: has no column \"{wanted}\"{what} (its columns are {columns})");
            assert_eq!(name(wanted), Err(message));
        }
        assert_eq!(
            name("rating").unwrap_err(),
            "a.csv: has two columns named \"rating\" (columns 3 and 4): choose one by its place"
        );
        assert_eq!(
            choose(Selector::Place(4)).unwrap_err(),
            format!("a.csv: has no column 5: it has 4 ({columns})")
        );
    }
}
