//! Factorizes arrays: stars by user, film and month, of which a quarter is observed.
#![allow(clippy::print_stdout, reason = "a program prints")]

use s3cmtf::{Cells, Entries, Params, Problem, Training};

const SIZES: [u32; 3] = [40, 30, 6];

/// The rule behind the stars: a level of each user and film, and two tastes.
fn stars(user: u32, film: u32, month: u32) -> f32 {
    let (user, film, month) = (user as f32, film as f32, month as f32);
    3.0 + 0.5 * (1.3 * user).sin()
        + 0.4 * (2.1 * film).cos()
        + (0.7 * user).sin() * (0.9 * film).sin()
        + 0.5 * (1.1 * user).cos() * (0.4 * film).cos() * (1.0 - 0.3 * month)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One array of indices per mode, counted from 0: those of the observed cells, and those of all others.
    let (mut seen, mut unseen) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
    let (mut values, mut truth) = (Vec::new(), Vec::new());
    for cell in 0..SIZES.iter().product::<u32>() {
        let place = [cell / (SIZES[1] * SIZES[2]), cell / SIZES[2] % SIZES[1], cell % SIZES[2]];
        let random = cell.wrapping_mul(2_654_435_761);
        // Ratings scatter around the rule.
        let value = stars(place[0], place[1], place[2]) + (random % 1000) as f32 / 2000.0;
        let is_seen = random >> 30 == 0;
        let (indices, values) = if is_seen { (&mut seen, &mut values) } else { (&mut unseen, &mut truth) };
        indices.iter_mut().zip(place).for_each(|(indices, index)| indices.push(index));
        values.push(value);
    }

    let ratings = Entries::new(seen, values)?;
    let mean = ratings.mean() as f32;
    let names = ["user", "film", "month"].map(String::from).into();
    let problem = Problem::builder(ratings).names(names).build()?;
    let params = Params { epochs: 60, ..Params::default() };
    let run = Training::new(problem, params).run()?;

    let unseen = Cells::new(unseen)?;
    let predictions = run.model.predict(&unseen, false)?;
    let stds = run.model.std(&unseen)?;
    let rmse = |prediction: &dyn Fn(usize) -> f32| {
        let squares = truth.iter().enumerate().map(|(cell, value)| (value - prediction(cell)).powi(2));
        (squares.sum::<f32>() / truth.len() as f32).sqrt()
    };
    let (own, plain) = (rmse(&|cell| predictions[cell]), rmse(&|_| mean));
    println!("ranks {:?}, {} epochs", run.record.summary.ranks, run.record.summary.epochs);
    println!("RMSE of {} unseen cells: {own:.3}, that of the mean {plain:.3}", unseen.len());
    println!("the first: {:.2} +- {:.2}, and it is {:.2}", predictions[0], stds[0], truth[0]);
    if own > 0.5 * plain {
        return Err("the model should be far better than the mean".into());
    }
    Ok(())
}
