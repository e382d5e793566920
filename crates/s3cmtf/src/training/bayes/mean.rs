//! The mean of many draws, as one model.
//!
//! What is averaged of a row is not the row, but the normal distribution that it was drawn from: its precision and its pull.
//! The mean row is the one that these averages ask for. It takes into account how uncertain all rows are that it was drawn
//! with, and so predicts nearly as well as all draws together, where the mean of the rows themselves would not.

use rayon::prelude::*;

use super::cholesky::{factorize, solve_lower, solve_upper};
use crate::params::Part;

/// So many draws are remembered; beyond, older ones fade, as concepts drift.
const WINDOW: usize = 40;

/// The mean so far.
pub(super) struct Mean {
    pub(super) draws: usize,
    /// For each mode and row, see [`Naturals`].
    pub(super) naturals: Vec<Naturals>,
    pub(super) core: Vec<f32>,
    pub(super) columns: Vec<Vec<f32>>,
    window: usize,
}

/// For each row of a mode, the lower triangle of its precision without the first concept, and then its pull.
pub(super) struct Naturals {
    rank: usize,
    numbers: Vec<f32>,
}

impl Naturals {
    /// How many numbers a row of this rank has.
    pub(super) fn len(rank: usize) -> usize {
        let free = rank - 1;
        free * (free + 1) / 2 + free
    }

    pub(super) fn numbers(&mut self) -> &mut [f32] {
        &mut self.numbers
    }

    /// The rows that these numbers ask for.
    pub(super) fn rows(&self) -> Vec<f32> {
        let (rank, free) = (self.rank, self.rank - 1);
        let numbers = self.numbers.par_chunks_exact(Naturals::len(rank));
        let mut rows = vec![1.0; numbers.len() * rank];
        rows.par_chunks_exact_mut(rank).zip(numbers).for_each_init(
            || (vec![0.0; free * free], vec![0.0; free]),
            |(precision, pull), (row, numbers)| {
                let mut numbers = numbers.iter().map(|&number| f64::from(number));
                for k in 0..free {
                    let triangle = precision[k * free..=k * free + k].iter_mut();
                    triangle.zip(&mut numbers).for_each(|(value, number)| *value = number);
                }
                pull.iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
                factorize(precision, free);
                solve_lower(precision, free, pull);
                solve_upper(precision, free, pull);
                row[1..].iter_mut().zip(pull.iter()).for_each(|(value, &solved)| *value = solved as f32);
            },
        );
        rows
    }
}

impl Mean {
    pub(super) fn new(ranks: &[usize], rows: impl Iterator<Item = usize>, without: &[Part]) -> Self {
        let empty = |(&rank, rows): (&usize, usize)| Naturals {
            rank,
            numbers: vec![0.0; rows * Naturals::len(rank)],
        };
        let naturals = ranks.iter().zip(rows).map(empty).collect();
        let window = if without.contains(&Part::Average) { 1 } else { WINDOW };
        Mean { draws: 0, naturals, core: Vec::new(), columns: Vec::new(), window }
    }

    /// The share in the mean of a draw that begins now.
    pub(super) fn begin(&mut self) -> f32 {
        self.draws += 1;
        1.0 / self.draws.min(self.window) as f32
    }

    /// Takes the rest of a draw into the mean: the core, and for each coupled matrix the means of its columns.
    pub(super) fn end<'a>(&mut self, share: f32, core: &[f32], columns: impl Iterator<Item = &'a [f32]>) {
        self.core.resize(core.len(), 0.0);
        approach(&mut self.core, core, share);
        for (number, columns) in columns.enumerate() {
            if self.columns.len() == number {
                self.columns.push(vec![0.0; columns.len()]);
            }
            approach(&mut self.columns[number], columns, share);
        }
    }
}

/// Moves a mean by a share of the way towards new numbers.
pub(super) fn approach(mean: &mut [f32], numbers: &[f32], share: f32) {
    mean.iter_mut().zip(numbers).for_each(|(mean, number)| *mean += share * (number - *mean));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_solve_the_mean_of_precisions_and_pulls() {
        let mut mean = Mean::new(&[3], std::iter::once(2), &[]);
        for draw in [1.0f32, 3.0] {
            let share = mean.begin();
            // The precision 2 * identity and 4 * identity in turn, its pull (draw, -draw); the second row twice that.
            let row = |times: f32| [draw + 1.0, 0.0, draw + 1.0, times * draw, -times * draw];
            approach(mean.naturals[0].numbers(), &[row(1.0), row(2.0)].concat(), share);
            mean.end(share, &[draw], std::iter::once(&[2.0 * draw][..]));
        }
        let rows = mean.naturals[0].rows();
        let expected = [1.0, 2.0 / 3.0, -2.0 / 3.0, 1.0, 4.0 / 3.0, -4.0 / 3.0];
        rows.iter().zip(expected).for_each(|(row, expected)| assert!((row - expected).abs() < 1e-6));
        assert_eq!((mean.core[0], mean.columns[0][0], mean.draws), (2.0, 4.0, 2));
    }
}
