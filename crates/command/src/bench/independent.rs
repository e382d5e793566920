//! What the machine gives to threads that share nothing: the limit of every scheme.

use std::sync::Barrier;

use anyhow::{anyhow, ensure};
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::{Error, Params, Problem, Training};

use super::measure::{self, Measured};

/// A problem for each of the threads, with the entries of the shape dealt among them.
pub(super) fn problems(shape: &Shape, threads: usize) -> Result<Vec<Problem>, Error> {
    let entries = (shape.entries / threads).max(1);
    (0..threads as u64)
        .map(|seed| Shape { entries, seed: shape.seed + seed, ..shape.clone() }.problem())
        .collect()
}

/// Factorizes every problem on a thread of its own, all at once. Returns the entries per second of all together in
/// the best epoch, without so many that come first, and the mean of their training RMSEs.
pub(super) fn measure(problems: &[&Problem], params: &Params, first: usize) -> anyhow::Result<(f64, f64)> {
    let barrier = Barrier::new(problems.len());
    let all: Vec<Measured> = std::thread::scope(|scope| {
        let start = |problem: &&'_ Problem| {
            let training = Training::new((*problem).clone(), Params { threads: 1, ..params.clone() });
            let barrier = &barrier;
            scope.spawn(move || together(training, params.epochs, barrier))
        };
        let threads: Vec<_> = problems.iter().map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<Measured>>| {
            thread.join().map_err(|_| anyhow!("a thread of a measurement stopped"))?
        };
        threads.into_iter().map(join).collect::<anyhow::Result<_>>()
    })?;
    for one in &all {
        let (first, last) = (one.rmse.first().copied().unwrap_or(f64::NAN), one.last_rmse());
        ensure!(last <= first, "independent: the RMSE goes up, from {first} to {last}");
    }
    let speed = |epoch: usize| -> f64 {
        problems
            .iter()
            .zip(&all)
            .map(|(problem, one)| problem.entries().len() as f64 / one.seconds[epoch])
            .sum()
    };
    // The first epoch may have begun while others were still getting ready.
    let from = first.min(params.epochs - 1);
    let best = (from..params.epochs).map(speed).fold(0.0, f64::max);
    Ok((best, all.iter().map(Measured::last_rmse).sum::<f64>() / all.len() as f64))
}

/// Runs; all begin each epoch but the first at the same time.
fn together(training: Training<'_>, epochs: usize, barrier: &Barrier) -> anyhow::Result<Measured> {
    let mut ended = 0;
    let measured = measure::measure(training, || {
        ended += 1;
        barrier.wait();
    });
    // One that fails must not leave the others waiting.
    (ended..epochs).for_each(|_| {
        barrier.wait();
    });
    let measured = measured?;
    ensure!(measured.seconds.len() == epochs, "a measurement stopped early");
    Ok(measured)
}
