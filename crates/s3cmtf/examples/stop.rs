//! Stops a run by a rule of one's own: when held-out entries have not been predicted better for ten epochs.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::ops::ControlFlow;

use s3cmtf::{Entries, Epoch, Params, Problem, Stop, Training};

const MOST: usize = 1000;
const PATIENCE: usize = 10;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cells: Vec<(u32, u32)> = (0..60).flat_map(|user| (0..40).map(move |film| (user, film))).collect();
    let cells: Vec<(u32, u32)> = cells.into_iter().filter(|(user, film)| (user + 3 * film) % 5 < 2).collect();
    let values = cells.iter().map(|&(user, film)| {
        let noise = (user * 7919 + film * 104_729) % 1000;
        (0.7 * user as f32).sin() * (0.9 * film as f32).cos() + noise as f32 / 4000.0
    });
    let values = values.collect();
    let (users, films) = cells.into_iter().unzip();
    let problem = Problem::builder(Entries::new(vec![users, films], values)?).build()?;

    let mut best = (f64::INFINITY, 0);
    let observe = |epoch: &Epoch| {
        let rmse = epoch.test_rmse.unwrap_or(f64::INFINITY);
        if rmse < best.0 {
            best = (rmse, epoch.epoch);
        }
        if epoch.epoch - best.1 >= PATIENCE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let params = Params { ranks: vec![2], epochs: MOST, ..Params::sgd() };
    let run = Training::new(problem, params).holdout(0.2).observe(observe).run()?;

    let end = run.record.summary;
    println!("stopped after {} of at most {MOST} epochs: {}", end.epochs, end.stop.reason());
    println!("held-out RMSE: the least was {:.3} after epoch {}", best.0, best.1);
    if end.stop != Stop::Interrupted || end.epochs != best.1 + PATIENCE {
        return Err("the rule should have stopped the run".into());
    }
    Ok(())
}
