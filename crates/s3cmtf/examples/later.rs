//! Takes up what comes after training: a new user by fold-in, and more data by a warm start.
#![allow(clippy::print_stdout, reason = "a program prints")]

use s3cmtf::{Cells, Entries, FoldIn, Params, Problem, Training};

const USERS: u32 = 50;
const FILMS: u32 = 40;

/// Two tastes, and a level of each film.
fn stars(user: u32, film: u32) -> f32 {
    let (user, film) = (user as f32, film as f32);
    3.0 + 0.5 * (2.1 * film).cos()
        + (0.7 * user).sin() * (0.9 * film).sin()
        + (0.7 * user).cos() * (0.9 * film).cos()
}

/// The ratings of some users: films that `seen` says.
fn ratings(users: std::ops::Range<u32>, seen: impl Fn(u32, u32) -> bool) -> Result<Entries, s3cmtf::Error> {
    let cells = users.flat_map(|user| (0..FILMS).map(move |film| (user, film)));
    let cells: Vec<(u32, u32)> = cells.filter(|&(user, film)| seen(user, film)).collect();
    let values = cells.iter().map(|&(user, film)| stars(user, film)).collect();
    let (users, films) = cells.into_iter().unzip();
    Entries::new(vec![users, films], values)
}

/// The RMSE of predictions for a user.
fn error(model: &s3cmtf::Model, user: u32) -> Result<f32, s3cmtf::Error> {
    let cells = Cells::new(vec![vec![user; FILMS as usize], (0..FILMS).collect()])?;
    let squares = model.predict(&cells, false)?;
    let squares = (0..).zip(squares).map(|(film, value)| (value - stars(user, film)).powi(2));
    Ok((squares.sum::<f32>() / FILMS as f32).sqrt())
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let first = ratings(0..USERS, |user, film| (user + 3 * film) % 4 < 2)?;
    let params = Params { ranks: vec![6], epochs: 80, ..Params::default() };
    let problem = Problem::builder(first.clone()).build()?;
    let run = Training::new(problem, params.clone()).run()?;

    // A user comes who has rated half of the films. All rows that were there stay as they are.
    let new = USERS;
    let later = ratings(new..new + 1, |_, film| film % 2 == 0)?;
    let folded = FoldIn::new(&run.model, &params).entries(later.clone()).fold_in()?;
    let (before, after) = (error(&run.model, new)?, error(&folded.model, new)?);
    println!("RMSE for the new user: {before:.3} as the average user, {after:.3} after fold-in");

    // Training on everything starts from the model, so that a few epochs will do.
    let all = [&first, &later];
    let indices = (0..2).map(|mode| all.map(|part| part.indices(mode)).concat()).collect();
    let all = Entries::new(indices, all.map(Entries::values).concat())?;
    let few = Params { epochs: 10, ..params };
    let warm = Training::new(Problem::builder(all).build()?, few).warm_start(folded.model).run()?;
    let warm = error(&warm.model, new)?;
    println!("and {warm:.3} after 10 epochs from there");
    if after > 0.5 * before || warm > 0.5 * before {
        return Err("both should know the new user far better".into());
    }
    Ok(())
}
