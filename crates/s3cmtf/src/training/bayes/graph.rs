//! Graphs: connected rows are near each other, as near as the graph has been found to be worth.
//!
//! The prior of the rows is multiplied with `exp(-lambda / 2 sum w |u_i - u_j|^2)` over the edges. How large `lambda` should
//! be follows from the rows themselves: connected rows of a graph that says nothing are as far apart as any.

use super::random::{generator, pick};
use crate::training::sparse::Sparse;

/// The weights that are told apart: none, and powers of two up from the least.
const LEAST: f64 = 1e-4;
const STEPS: i32 = 24;
/// Degrees are summed up by this many of their quantiles.
const QUANTILES: usize = 1024;

/// A graph over the rows of a mode.
pub(super) struct Graph {
    neighbours: Sparse,
    /// Some rows' sums of weights, and for how many rows each stands.
    degrees: Vec<(f64, f64)>,
    /// The weight in units of the precision of the tensor's standardized values, if that is given.
    pub(super) fixed: Option<f64>,
    pub(super) lambda: f64,
}

impl Graph {
    pub(super) fn new(
        rows: usize,
        edges: impl Iterator<Item = (u32, u32, f32)> + Clone,
        fixed: Option<f64>,
    ) -> Self {
        let neighbours = Sparse::new(rows, edges.flat_map(|(a, b, weight)| [(a, b, weight), (b, a, weight)]));
        let degree = |row: usize| neighbours.row(row).map(|(_, weight)| f64::from(weight)).sum::<f64>();
        let mut degrees: Vec<f64> = (0..rows).map(degree).filter(|&degree| degree > 0.0).collect();
        degrees.sort_unstable_by(f64::total_cmp);
        let size = degrees.len().div_ceil(QUANTILES).max(1);
        let degrees = degrees.chunks(size).map(|part| (part[part.len() / 2], part.len() as f64)).collect();
        Graph { neighbours, degrees, fixed, lambda: 0.0 }
    }

    /// Adds what the neighbours of a row say about it; the first concept is the same for all.
    pub(super) fn pull_row(&self, row: usize, rows: &[f32], precision: &mut [f64], pull: &mut [f64]) {
        if self.lambda == 0.0 {
            return;
        }
        let rank = pull.len();
        for (other, weight) in self.neighbours.row(row) {
            let weight = self.lambda * f64::from(weight);
            for k in 1..rank {
                precision[k * rank + k] += weight;
                pull[k] += weight * f64::from(rows[other as usize * rank + k]);
            }
        }
    }

    /// Draws the weight, given the rows.
    pub(super) fn draw(&mut self, rows: &[f32], rank: usize, tau: f64, seed: u64, purpose: [u64; 3]) {
        if let Some(fixed) = self.fixed {
            self.lambda = fixed * tau;
            return;
        }
        // Every edge stands at both of its ends.
        let apart = 0.5 * self.neighbours.squared_distances(rows, rank);
        // Rows have a prior of precision 1 per concept; a row that knows its neighbours has 1 + lambda d.
        let log = |lambda: f64| {
            let rows = self.degrees.iter().map(|(degree, rows)| rows * (1.0 + lambda * degree).ln());
            0.5 * (rank - 1) as f64 * rows.sum::<f64>() - 0.5 * lambda * apart
        };
        let weights: Vec<f64> =
            std::iter::once(0.0).chain((0..STEPS).map(|step| LEAST * 2.0f64.powi(step))).collect();
        self.lambda = pick(&mut generator(seed, purpose), &weights, log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of two concepts, the first of them 1.
    fn rows(value: impl Fn(u64) -> f64) -> Vec<f32> {
        (0..400).flat_map(|row| [1.0, value(row) as f32]).collect()
    }

    fn spread(number: u64) -> f64 {
        super::super::random::normal(&mut generator(number, [0, 0, 0]))
    }

    #[test]
    fn a_graph_of_strangers_weighs_nothing_and_one_of_like_rows_weighs_much() {
        let edges = (0..400u32).flat_map(|row| [(row, (row + 1) % 400, 1.0), (row, (row + 7) % 400, 1.0)]);
        let mut graph = Graph::new(400, edges, None);
        graph.draw(&rows(spread), 2, 1.0, 1, [1, 1, 1]);
        assert!(graph.lambda < 0.1, "{}", graph.lambda);
        graph.draw(&rows(|row| (row as f64 / 400.0 * std::f64::consts::TAU).sin()), 2, 1.0, 1, [1, 1, 1]);
        assert!(graph.lambda > 3.0, "{}", graph.lambda);
    }
}
