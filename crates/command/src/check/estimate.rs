//! About what training will take.

use s3cmtf::internal::describe::runs;
use s3cmtf::{Params, Problem};
use serde::Serialize;

/// What an epoch will take, roughly, with the default settings.
#[derive(Serialize)]
pub(super) struct Epoch {
    pub(super) ranks: Vec<usize>,
    pub(super) threads: usize,
    pub(super) seconds: f64,
    /// Of the whole run.
    pub(super) bytes: f64,
}

/// The squares of concepts that a thread goes through in a second. Epochs of 1 and 5 million entries at rank 10, on two
/// cores that had other work too, took between once and five times as long, five where ids were many and runs short.
const SPEED: f64 = 1e9;
/// A run costs this much of what the numbers of the core would, if they were squares of concepts.
const RUN: f64 = 0.3;
/// The command itself and what its threads work with.
const BASE: f64 = 16e6;
/// The bytes of a name, with what finds it.
const NAME: f64 = 60.0;
/// Those of a cell of a coupled matrix: as it was read, by row and by column.
const CELL: f64 = 28.0;
/// Lists that grow have more room than they need, and for a moment are there twice.
const GROWING: f64 = 1.5;

impl Epoch {
    /// The time: each entry is looked at once per mode, for the square of what its row is multiplied with, and the core once
    /// per run.
    ///
    /// The memory is the higher of two: when the entries are put in the order of each mode, those as they were read are still
    /// there; when draws are averaged they are gone, but all is there that is known of rows. Runs of 1 and 5 million entries
    /// of 25 thousand and of 250 thousand ids, and of two modes, took what this says give or take a tenth.
    pub(super) fn new(problem: &Problem) -> Self {
        let params = Params::default();
        let (ranks, threads) = (s3cmtf::internal::auto_ranks(problem), params.n_threads());
        let squares: usize = ranks.iter().map(|rank| rank * rank).sum();
        let core: f64 = ranks.iter().map(|&rank| rank as f64).product();
        let (entries, order) = (problem.entries().len() as f64, problem.order() as f64);
        let runs: f64 = (0..problem.order()).map(|mode| runs(problem, mode)).sum();
        // For each mode an index and a value, and what each run has.
        let ordered = entries * (8.0 * order + GROWING * 4.0 * order * runs);
        // An index per mode and a value, twice where some are held out, and two lists to sort by.
        let read = entries * (8.0 * (order + 1.0) + 8.0);
        // Half a square, and the row itself in some places: as it is, its mean, its variance, and in the model.
        let row = |rank: usize| 4.0 * (rank * (rank + 1) / 2 + 8 * rank) as f64;
        let modes = || problem.modes().iter().zip(&ranks);
        let rows: f64 = modes().map(|(mode, &rank)| mode.rows() as f64 * row(rank)).sum();
        let named = problem.modes().iter().filter(|mode| mode.naming().is_some());
        let names: f64 = named.map(|mode| NAME * mode.rows() as f64).sum();
        let cells: usize = problem.coupled().iter().map(|matrix| matrix.entries().len()).sum();
        Epoch {
            threads,
            seconds: entries * (squares as f64 + RUN * core * runs) / SPEED / threads as f64,
            bytes: BASE + ordered + read.max(rows) + names + CELL * cells as f64,
            ranks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use s3cmtf::Entries;

    #[test]
    fn there_is_more_than_the_program_itself() {
        let entries = Entries::new(vec![vec![0, 1], vec![1, 0]], vec![1.0; 2]).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        assert!(Epoch::new(&problem).bytes > BASE);
    }
}
