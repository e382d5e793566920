//! The Netflix prize: ratings by movie, in one file each or in a few, and the movies' titles and years.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::archive::visit;
use super::labels::{Thing, label};
use super::lines::{Lines, fields, id, moment, number, show, text};
use super::{Coupling, Dataset, Imported, Once, table};
use crate::Error;
use crate::table::{Data, Labels};

#[derive(Default)]
struct Read {
    customers: Vec<i64>,
    movies: Vec<u32>,
    values: Vec<f64>,
    dates: Vec<i64>,
    /// The ids of the movies that have ratings, by their code.
    ids: Vec<i64>,
    codes: HashMap<i64, u32>,
    titles: Vec<Title>,
}

struct Title {
    id: i64,
    year: Option<i64>,
    title: String,
}

fn is_movie(name: &str) -> bool {
    name.starts_with("mv_") && name.ends_with(".txt")
}

fn is_combined(name: &str) -> bool {
    name.starts_with("combined_data_") && name.ends_with(".txt")
}

fn is_titles(name: &str) -> bool {
    matches!(name, "movie_titles.txt" | "movie_titles.csv")
}

/// Reads the original download or Kaggle's.
pub(super) fn read(path: &Path) -> Result<Imported, Error> {
    let (mut read, mut titles) = (Read::default(), Once::default());
    // One of each way in which the ratings may be there.
    let mut ways: [Option<PathBuf>; 2] = [None, None];
    let wanted = |name: &str| {
        is_movie(name) || is_combined(name) || is_titles(name) || name.starts_with("training_set.t")
    };
    visit(path, &wanted, &mut |name, path, reader| {
        let lines = Lines::new(path, reader);
        if is_titles(name) {
            titles.see(path)?;
            return lines.each(|_, line| {
                read.titles.push(title(line)?);
                Ok(())
            });
        }
        ways[usize::from(is_combined(name))] = Some(path.to_path_buf());
        let mut movie = None;
        lines.each(|_, line| match line.trim_ascii_end().strip_suffix(b":") {
            Some(number) => {
                movie = Some(read.code(id(number, "movie")?));
                Ok(())
            }
            None => read.push(movie.ok_or("the first line should be a movie's number and a colon")?, line),
        })
    })?;
    match &ways {
        [None, None] => {
            return Err(Dataset::Netflix.lacks(path, "training_set/mv_*.txt or combined_data_*.txt"));
        }
        [Some(one), Some(other)] => {
            let what =
                format!("has the same ratings as {}: name the folder of one download", other.display());
            return Err(Error::file(one, what));
        }
        _ => {}
    }
    if !titles.is_there() {
        return Err(Dataset::Netflix.lacks(path, "movie_titles.txt or movie_titles.csv"));
    }
    Ok(read.finish())
}

/// `id,year,title`; the title may have commas and is not in quotes.
fn title(line: &[u8]) -> Result<Title, String> {
    let mut parts = line.splitn(3, |&byte| byte == b',');
    let (Some(number), Some(year), Some(title)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("should be an id, a year and a title between commas, but is {}", show(line)));
    };
    let year = match year.trim_ascii() {
        b"NULL" | b"" => None,
        year => Some(id(year, "year")?),
    };
    Ok(Title { id: id(number, "movie")?, year, title: text(title).into_owned() })
}

impl Read {
    fn code(&mut self, movie: i64) -> u32 {
        *self.codes.entry(movie).or_insert_with(|| {
            self.ids.push(movie);
            self.ids.len() as u32 - 1
        })
    }

    fn push(&mut self, movie: u32, line: &[u8]) -> Result<(), String> {
        let [customer, rating, date] = fields(line, ",")?;
        let (customer, rating) = (id(customer, "customer")?, number(rating, "rating")?);
        self.dates.push(moment(date, "date")?);
        self.customers.push(customer);
        self.values.push(rating);
        self.movies.push(movie);
        Ok(())
    }

    fn finish(self) -> Imported {
        let mut notes = Vec::new();
        let thing = |title: &Title| Thing {
            id: title.id.to_string(),
            name: title.title.clone(),
            hint: title.year.map_or_else(String::new, |year| year.to_string()),
        };
        let mut things: Vec<Thing> = self.titles.iter().map(thing).collect();
        let mut place: HashMap<i64, usize> = self.titles.iter().map(|title| title.id).zip(0..).collect();
        let mut untitled = 0;
        for number in &self.ids {
            if !place.contains_key(number) {
                place.insert(*number, things.len());
                things.push(Thing { id: number.to_string(), name: String::new(), hint: String::new() });
                untitled += 1;
            }
        }
        if untitled > 0 {
            notes.push(format!("{untitled} rated movies have no title: they go by their id"));
        }
        let unrated = self.titles.iter().filter(|title| !self.codes.contains_key(&title.id)).count();
        if unrated > 0 {
            notes.push(format!("{unrated} movies have no rating; their years are kept"));
        }
        let without = self.titles.iter().filter(|title| title.year.is_none()).count();
        if without > 0 {
            notes.push(format!("{without} movies have no year"));
        }
        let titles = label(&things);
        let labels: Labels = self.ids.iter().map(|number| &titles[place[number]]).collect();
        let (mut codes, mut names, mut years) = (Vec::new(), Labels::new(), Vec::new());
        for title in &self.titles {
            if let Some(year) = title.year {
                codes.push(names.id(&titles[place[&title.id]]));
                years.push(year);
            }
        }
        let ratings = table(
            "ratings",
            [
                ("customer", Data::Integers(self.customers)),
                ("movie", Data::Texts { codes: self.movies, labels }),
                ("rating", Data::Numbers(self.values)),
                ("date", Data::Times(self.dates)),
            ],
        );
        let years = table(
            "years",
            [("movie", Data::Texts { codes, labels: names }), ("year", Data::Integers(years))],
        );
        Imported {
            tables: vec![ratings, years],
            modes: "customer,movie,date:month",
            value: "rating",
            couplings: vec![Coupling { mode: "movie", table: "years", words: ":movie,year,zeros" }],
            notes,
        }
    }
}
