//! MovieLens: ratings, genres and users in three layouts.

use std::path::Path;

use hashbrown::HashMap;

use super::archive::visit;
use super::labels::{Thing, label};
use super::lines::{Lines, fields, id, moment, number, show, text};
use super::{Coupling, Dataset, Imported, Once, table};
use crate::Error;
use crate::table::{Data, Labels, Table};

const NO_GENRES: [&str; 3] = ["(no genres listed)", "unknown", ""];
/// Before the flags of the genres in a line of `u.item`: id, title, two dates and an address.
const BEFORE_FLAGS: usize = 5;

#[derive(Default)]
struct Read {
    ratings: Ratings,
    movies: Vec<Movie>,
    /// By number, of the layout that has flags.
    genres: Vec<String>,
    users: Users,
    files: [Once; 4],
}

/// What is known of users; ages and occupations are codes in one of the layouts.
#[derive(Default)]
struct Users {
    ids: Vec<i64>,
    /// Gender, age, occupation and zip code.
    known: [(Vec<u32>, Labels); 4],
}

impl Users {
    fn push(&mut self, number: &[u8], known: [&[u8]; 4]) -> Result<(), String> {
        self.ids.push(id(number, "user")?);
        for ((codes, labels), field) in self.known.iter_mut().zip(known) {
            codes.push(labels.id(&text(field)));
        }
        Ok(())
    }

    fn table(self) -> Table {
        let texts = |(codes, labels)| Data::Texts { codes, labels };
        let [gender, age, occupation, zip] = self.known.map(texts);
        table(
            "users",
            [
                ("user", Data::Integers(self.ids)),
                ("gender", gender),
                ("age", age),
                ("occupation", occupation),
                ("zip", zip),
            ],
        )
    }
}

#[derive(Default)]
struct Ratings {
    users: Vec<i64>,
    movies: Vec<u32>,
    values: Vec<f64>,
    times: Vec<i64>,
    /// The ids of the movies, by their code.
    ids: Vec<i64>,
    codes: HashMap<i64, u32>,
}

struct Movie {
    id: i64,
    title: String,
    genres: Genres,
}

enum Genres {
    Names(Vec<String>),
    /// The numbers of those that it has.
    Flags(Vec<usize>),
}

/// Reads a download of any of the layouts.
pub(super) fn read(path: &Path) -> Result<Imported, Error> {
    const RATINGS: [&str; 3] = ["u.data", "ratings.dat", "ratings.csv"];
    const MOVIES: [&str; 3] = ["u.item", "movies.dat", "movies.csv"];
    let mut read = Read::default();
    const USERS: [&str; 2] = ["u.user", "users.dat"];
    let place = |name: &str| match name {
        "u.genre" => Some(2),
        _ if RATINGS.contains(&name) => Some(0),
        _ if MOVIES.contains(&name) => Some(1),
        _ => USERS.contains(&name).then_some(3),
    };
    let wanted = |name: &str| place(name).is_some();
    visit(path, &wanted, &mut |name, path, reader| {
        let lines = Lines::new(path, reader);
        if let Some(place) = place(name) {
            read.files[place].see(path)?;
        }
        match name {
            "u.data" => lines.each(|_, line| read.ratings.push(fields(line, "\t")?)),
            "ratings.dat" => lines.each(|_, line| read.ratings.push(fields(line, "::")?)),
            "ratings.csv" => lines.each(|line_number, line| match line_number {
                1 if line.starts_with(b"userId,") => Ok(()),
                _ => read.ratings.push(fields(line, ",")?),
            }),
            "u.user" => lines.each(|_, line| {
                let [user, age, gender, occupation, zip] = fields(line, "|")?;
                read.users.push(user, [gender, age, occupation, zip])
            }),
            "users.dat" => lines.each(|_, line| {
                let [user, gender, age, occupation, zip] = fields(line, "::")?;
                read.users.push(user, [gender, age, occupation, zip])
            }),
            "u.genre" => lines.each(|_, line| {
                let [name, number] = fields(line, "|")?;
                // They are numbered in order; anything else would give movies the wrong genres.
                if id(number, "genre's number")? != read.genres.len() as i64 {
                    return Err(format!(
                        "the genre's number should be {}: {}",
                        read.genres.len(),
                        show(line)
                    ));
                }
                read.genres.push(text(name).into_owned());
                Ok(())
            }),
            _ => lines.each(|line_number, line| {
                let movie = match name {
                    "u.item" => flagged(line),
                    "movies.dat" => colons(line),
                    _ if line_number == 1 && line.starts_with(b"movieId,") => return Ok(()),
                    _ => quoted(line),
                };
                read.movies.push(movie?);
                Ok(())
            }),
        }
    })?;
    let [ratings, movies, genres, _] = &read.files;
    if !ratings.is_there() {
        return Err(Dataset::MovieLens.lacks(path, "ratings.csv, ratings.dat or u.data"));
    }
    if !movies.is_there() {
        return Err(Dataset::MovieLens.lacks(path, "movies.csv, movies.dat or u.item"));
    }
    let flags = read.movies.iter().any(|movie| matches!(movie.genres, Genres::Flags(_)));
    if flags && !genres.is_there() {
        return Err(Dataset::MovieLens.lacks(path, "u.genre"));
    }
    Ok(read.finish())
}

impl Ratings {
    fn push(&mut self, [user, movie, rating, time]: [&[u8]; 4]) -> Result<(), String> {
        let movie = id(movie, "movie")?;
        self.users.push(id(user, "user")?);
        self.values.push(number(rating, "rating")?);
        self.times.push(moment(time, "timestamp")?);
        let code = *self.codes.entry(movie).or_insert_with(|| {
            self.ids.push(movie);
            self.ids.len() as u32 - 1
        });
        self.movies.push(code);
        Ok(())
    }
}

/// `id|title|date|video date|address|0|1|..`
fn flagged(line: &[u8]) -> Result<Movie, String> {
    let parts: Vec<&[u8]> = line.split(|&byte| byte == b'|').collect();
    let [number, title, _, _, _, flags @ ..] = &parts[..] else {
        return Err(format!("has {} fields, but should have at least {BEFORE_FLAGS}", parts.len()));
    };
    if let Some(odd) = flags.iter().find(|flag| !matches!(flag.trim_ascii(), b"0" | b"1")) {
        return Err(format!("the flag of a genre should be 0 or 1, but is {}", show(odd)));
    }
    let flags = flags.iter().enumerate().filter(|(_, flag)| flag.trim_ascii() == b"1");
    let genres = Genres::Flags(flags.map(|(number, _)| number).collect());
    Ok(Movie { id: id(number, "movie")?, title: text(title).into_owned(), genres })
}

/// `id::title::genre|genre`; a title may have colons.
fn colons(line: &[u8]) -> Result<Movie, String> {
    let (first, last) = (memchr::memmem::find(line, b"::"), memchr::memmem::rfind(line, b"::"));
    match (first, last) {
        (Some(first), Some(last)) if first + 2 <= last => {
            movie(&line[..first], &text(&line[first + 2..last]), &text(&line[last + 2..]))
        }
        _ => Err(format!("should be an id, a title and genres between ::, but is {}", show(line))),
    }
}

/// `id,title,genre|genre`; a title may be in quotes.
fn quoted(line: &[u8]) -> Result<Movie, String> {
    let wrong = || format!("should be an id, a title and genres between commas, but is {}", show(line));
    let line = text(line);
    let mut fields: Vec<String> = vec![String::new()];
    let (mut inside, mut characters) = (false, line.chars().peekable());
    while let Some(character) = characters.next() {
        match (character, fields.last_mut()) {
            ('"', Some(field)) if inside && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            ('"', Some(field)) if inside || field.is_empty() => inside = !inside,
            (',', _) if !inside => fields.push(String::new()),
            (character, Some(field)) => field.push(character),
            (_, None) => {}
        }
    }
    match &fields[..] {
        [number, title, genres] if !inside => movie(number.as_bytes(), title.trim(), genres.trim()),
        _ => Err(wrong()),
    }
}

fn movie(number: &[u8], title: &str, genres: &str) -> Result<Movie, String> {
    let genres = genres.split('|').map(|genre| genre.trim().to_owned()).collect();
    Ok(Movie { id: id(number, "movie")?, title: title.to_owned(), genres: Genres::Names(genres) })
}

impl Read {
    fn finish(self) -> Imported {
        let Read { ratings, movies, genres: known, users, .. } = self;
        let mut notes = Vec::new();
        let mut things: Vec<Thing> = movies
            .iter()
            .map(|movie| Thing { id: movie.id.to_string(), name: movie.title.clone(), hint: String::new() })
            .collect();
        let mut place: HashMap<i64, usize> = movies.iter().map(|movie| movie.id).zip(0..).collect();
        let untitled: Vec<i64> =
            ratings.ids.iter().copied().filter(|number| !place.contains_key(number)).collect();
        for number in &untitled {
            place.insert(*number, things.len());
            things.push(Thing { id: number.to_string(), name: String::new(), hint: String::new() });
        }
        if !untitled.is_empty() {
            notes.push(format!("{} rated movies have no title: they go by their id", untitled.len()));
        }
        let unrated = movies.iter().filter(|movie| !ratings.codes.contains_key(&movie.id)).count();
        if unrated > 0 {
            notes.push(format!("{unrated} movies have no rating; their genres are kept"));
        }
        let titles = label(&things);
        let labels: Labels = ratings.ids.iter().map(|number| &titles[place[number]]).collect();
        let (mut codes, mut names, mut genre_codes, mut genre_names) =
            (Vec::new(), Labels::new(), Vec::new(), Labels::new());
        let mut without = 0;
        for movie in &movies {
            let genres: Vec<&str> = match &movie.genres {
                Genres::Names(genres) => genres.iter().map(String::as_str).collect(),
                Genres::Flags(flags) => {
                    flags.iter().filter_map(|&number| known.get(number)).map(String::as_str).collect()
                }
            };
            let before = codes.len();
            for genre in genres.into_iter().filter(|genre| !NO_GENRES.contains(genre)) {
                codes.push(names.id(&titles[place[&movie.id]]));
                genre_codes.push(genre_names.id(genre));
            }
            without += usize::from(codes.len() == before);
        }
        if without > 0 {
            notes.push(format!("{without} movies have no genre"));
        }
        let ratings = table(
            "ratings",
            [
                ("user", Data::Integers(ratings.users)),
                ("movie", Data::Texts { codes: ratings.movies, labels }),
                ("rating", Data::Numbers(ratings.values)),
                ("timestamp", Data::Times(ratings.times)),
            ],
        );
        let genres = table(
            "genres",
            [
                ("movie", Data::Texts { codes, labels: names }),
                ("genre", Data::Texts { codes: genre_codes, labels: genre_names }),
            ],
        );
        let mut tables = vec![ratings, genres];
        let mut couplings = vec![Coupling { mode: "movie", table: "genres", words: ":movie,genre,zeros" }];
        if !users.ids.is_empty() {
            tables.push(users.table());
            couplings.push(Coupling { mode: "user", table: "users", words: "" });
        }
        Imported { tables, modes: "user,movie,timestamp:month", value: "rating", couplings, notes }
    }
}
