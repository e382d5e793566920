//! Factorizes a CSV file together with a table about its films, and predicts a film that nobody has rated yet.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::fmt::Write;
use std::fs;

use s3cmtf::input::{Couple, Input, TableSource};
use s3cmtf::{Absent, Cells, Params, Training, files};

const USERS: u32 = 60;
const FILMS: u32 = 40;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (ratings, films) = (folder.path().join("ratings.csv"), folder.path().join("films.csv"));
    fs::write(&ratings, ratings_csv()?)?;
    fs::write(&films, films_csv()?)?;

    // Names become ids; the columns of the tensor and those of the table about films are given by their headings.
    let genres = Couple::new("film", TableSource::path(films)).columns(["film", "genres"]).split("|");
    let input = Input::new(TableSource::path(ratings))
        .modes(["user", "film"])?
        .value("stars")
        .couple(genres.absent(Absent::Zeros));
    let problem = input.problem()?;
    let params = Params { epochs: 60, ..Params::default() };
    let run = Training::new(problem, params).run()?;

    // What is saved can be loaded, here or by the command.
    let saved = folder.path().join("model");
    files::save(&run, &saved)?;
    let model = files::load(&saved)?.model;

    let id = |mode: usize, name: &str| model.modes()[mode].find(name).ok_or(format!("no {name}"));
    let cells = Cells::new(vec![vec![id(0, "user2")?, id(0, "user3")?], vec![id(1, "The New War")?; 2]])?;
    let predicted = model.predict(&cells, true)?;
    println!("The New War, which nobody has rated:");
    println!("  user2, who likes war films      {:.1} stars", predicted[0]);
    println!("  user3, who likes comedies more  {:.1} stars", predicted[1]);
    if predicted[0] < predicted[1] + 1.0 {
        return Err("its genre should tell who likes it".into());
    }
    Ok(())
}

/// Even users like war films, odd ones comedies; each has rated every third film.
fn ratings_csv() -> Result<String, std::fmt::Error> {
    let mut text = String::from("user,film,stars\n");
    for user in 0..USERS {
        for film in (0..FILMS).filter(|film| (user + film * 7) % 3 == 0) {
            let stars = if user % 2 == film % 2 { 4.5 } else { 2.0 };
            writeln!(text, "user{user},Film {film},{}", stars + 0.5 * f64::from((user * film) % 2))?;
        }
    }
    Ok(text)
}

/// Even films are about war, odd ones are comedies, and one is new.
fn films_csv() -> Result<String, std::fmt::Error> {
    let mut text = String::from("film,genres\n");
    for film in 0..FILMS {
        let genre = if film % 2 == 0 { "War" } else { "Comedy" };
        writeln!(text, "Film {film},{genre}|Drama")?;
    }
    writeln!(text, "The New War,War|Drama")?;
    Ok(text)
}
