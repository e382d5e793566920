//! About what training will take.

use std::collections::HashSet;

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
/// How many entries are looked at to tell how many agree in all modes but one.
const SAMPLE: usize = 1 << 16;
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

/// How many runs there are per entry, seen from a mode: entries that agree in all modes but one, the one that makes the
/// fewest of them.
fn runs(problem: &Problem, mode: usize) -> f64 {
    let entries = problem.entries();
    let mix = |number: u64| {
        let mixed = (number ^ (number >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    };
    // All entries of some ids, so that those which agree are there together.
    let share = (entries.len() / SAMPLE).max(1) as u64;
    let ids = entries.indices(mode);
    let sample: Vec<usize> =
        (0..ids.len()).filter(|&entry| mix(u64::from(ids[entry]) + 1).is_multiple_of(share)).collect();
    let partners = (0..problem.order()).filter(|&other| other != mode).map(|partner| {
        let key = |&entry: &usize| {
            let others = (0..problem.order()).filter(|&other| other != partner);
            others.fold(0, |key, other| mix(key ^ u64::from(entries.indices(other)[entry])))
        };
        sample.iter().map(key).collect::<HashSet<u64>>().len()
    });
    partners.min().map_or(1.0, |fewest| fewest as f64 / sample.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use s3cmtf::Entries;

    #[test]
    fn runs_are_counted_for_the_best_partner() {
        // Each of ten users has rated the same five items in one month.
        let (mut users, mut items) = (Vec::new(), Vec::new());
        for user in 0..10 {
            for item in 0..5 {
                users.push(user);
                items.push(item);
            }
        }
        let entries = Entries::new(vec![users, items, vec![0; 50]], vec![1.0; 50]).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        // A run per user, one per item, and for the month either.
        assert_eq!([0, 1, 2].map(|mode| (50.0 * runs(&problem, mode)).round()), [10.0, 5.0, 5.0]);
        assert!(Epoch::new(&problem).bytes > BASE);
    }
}
