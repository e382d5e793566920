//! Graphs: connected rows are near each other, as near as the graph has been found to be worth.
//!
//! The prior of the rows is multiplied with `exp(-lambda / 2 sum w |u_i - u_j|^2)` over the edges, where `u` is what the prior's
//! mean leaves of a row. How large `lambda` should be follows from the rows themselves: connected rows of a graph that
//! says nothing are as far apart as any. How far that is takes the spectrum of the graph.

use nalgebra::{DMatrix, SymmetricEigen};

use super::random::{Generator, pick};
use crate::parallel;
use crate::problem::mix;
use crate::training::sparse::Sparse;

/// The weights that are told apart: none, and powers of two up from the least.
const LEAST: f64 = 1e-4;
const STEPS: i32 = 24;
/// The spectrum is looked at along this many random directions, by this many steps of Lanczos each.
const DIRECTIONS: u64 = 8;
const LANCZOS: usize = 24;

/// A graph over the rows of a mode.
pub(super) struct Graph {
    pub(super) neighbours: Sparse,
    /// Eigenvalues of the graph's Laplacian, and for how many each stands.
    spectrum: Vec<(f64, f64)>,
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
        Graph { spectrum: spectrum(&neighbours, rows), neighbours, fixed, lambda: 0.0 }
    }

    /// Adds what the neighbours of a row say about it; the first concept is the same for all.
    /// `means` are those of the prior, empty if all are zero.
    pub(super) fn pull_row(
        &self,
        row: usize,
        rows: &[f32],
        means: &[f32],
        precision: &mut [f64],
        pull: &mut [f64],
    ) {
        if self.lambda == 0.0 {
            return;
        }
        let rank = pull.len();
        let mean = |row: usize, k: usize| means.get(row * rank + k).copied().unwrap_or(0.0);
        for (other, weight) in self.neighbours.row(row) {
            let (weight, other) = (self.lambda * f64::from(weight), other as usize);
            for k in 1..rank {
                let there = rows[other * rank + k] - mean(other, k) + mean(row, k);
                precision[k * rank + k] += weight;
                pull[k] += weight * f64::from(there);
            }
        }
    }

    /// Draws the weight, given what the prior's mean leaves of the rows.
    pub(super) fn draw(&mut self, rows: &[f32], rank: usize, tau: f64, generator: &mut Generator) {
        let distances =
            if self.fixed.is_some() { 0.0 } else { self.neighbours.squared_distances(rows, rank) };
        self.draw_by(distances, rank, tau, generator);
    }

    /// The same, given the sum over the neighbours of all rows of their squared distances times their weights, which is not looked at
    /// where the weight is fixed.
    pub(super) fn draw_by(&mut self, distances: f64, rank: usize, tau: f64, generator: &mut Generator) {
        if let Some(fixed) = self.fixed {
            self.lambda = fixed * tau;
            return;
        }
        // Every edge stands at both of its ends.
        let apart = 0.5 * distances;
        // The prior's precision is the identity and lambda times the Laplacian; this is the logarithm of its determinant.
        let log = |lambda: f64| {
            let parts = self.spectrum.iter().map(|(value, count)| count * (1.0 + lambda * value).ln());
            0.5 * (rank - 1) as f64 * parts.sum::<f64>() - 0.5 * lambda * apart
        };
        let weights: Vec<f64> =
            std::iter::once(0.0).chain((0..STEPS).map(|step| LEAST * 2.0f64.powi(step))).collect();
        self.lambda = pick(generator, &weights, log);
    }
}

/// Values that stand for the eigenvalues of the Laplacian of all rows that have neighbours, each with how many it stands for
/// (stochastic Lanczos quadrature).
fn spectrum(neighbours: &Sparse, rows: usize) -> Vec<(f64, f64)> {
    let degree = |row: usize| neighbours.row(row).map(|(_, weight)| f64::from(weight)).sum::<f64>();
    let degrees = parallel::numbers(rows, degree);
    let connected = degrees.iter().filter(|&&degree| degree > 0.0).count();
    if connected == 0 {
        return Vec::new();
    }
    let apply = |vector: &[f64]| -> Vec<f64> {
        let one = |row: usize| {
            let others: f64 =
                neighbours.row(row).map(|(other, weight)| f64::from(weight) * vector[other as usize]).sum();
            degrees[row] * vector[row] - others
        };
        parallel::numbers(rows, one)
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let size = 1.0 / (connected as f64).sqrt();
    let mut all = Vec::new();
    for direction in 0..DIRECTIONS {
        let sign = |row: usize| match (degrees[row] > 0.0, mix(mix(direction) ^ row as u64) & 1) {
            (false, _) => 0.0,
            (true, 0) => -size,
            (true, _) => size,
        };
        let mut vector: Vec<f64> = (0..rows).map(sign).collect();
        let mut last = vec![0.0; rows];
        let (mut diagonal, mut beside): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        loop {
            let mut next = apply(&vector);
            let along = dot(&next, &vector);
            let before = beside.last().copied().unwrap_or(0.0);
            for ((next, vector), last) in next.iter_mut().zip(&vector).zip(&last) {
                *next -= along * vector + before * last;
            }
            diagonal.push(along);
            let length = dot(&next, &next).sqrt();
            if diagonal.len() == LANCZOS || length < 1e-9 * (along.abs() + before) || length <= 0.0 {
                break;
            }
            beside.push(length);
            next.iter_mut().for_each(|value| *value /= length);
            last = std::mem::replace(&mut vector, next);
        }
        let steps = diagonal.len();
        let small = DMatrix::from_fn(steps, steps, |i, j| match i.abs_diff(j) {
            0 => diagonal[i],
            1 => beside[i.min(j)],
            _ => 0.0,
        });
        let eigen = SymmetricEigen::new(small);
        for (place, &value) in eigen.eigenvalues.iter().enumerate() {
            let part = eigen.eigenvectors[(0, place)].powi(2) * connected as f64 / DIRECTIONS as f64;
            all.push((value.max(0.0), part));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::bayes::random::{Streams, normal};

    /// Rows of two concepts, the first of them 1.
    fn rows(value: impl Fn(u64) -> f64) -> Vec<f32> {
        (0..400).flat_map(|row| [1.0, value(row) as f32]).collect()
    }

    fn spread(number: u64) -> f64 {
        normal(&mut Streams { seed: number, epoch: 0 }.row(0, 0))
    }

    #[test]
    fn the_spectrum_gives_the_determinant_of_a_ring() {
        let edges = (0..2000u32).map(|row| (row, (row + 1) % 2000, 0.5));
        let graph = Graph::new(2010, edges, None);
        for lambda in [0.1, 1.0, 20.0] {
            // The eigenvalues of a ring of weight w are 2 w (1 - cos).
            let angle = |row: i32| f64::from(row) / 2000.0 * std::f64::consts::TAU;
            let exact: f64 = (0..2000).map(|row| (1.0 + lambda * (1.0 - angle(row).cos())).ln()).sum();
            let got: f64 =
                graph.spectrum.iter().map(|(value, count)| count * (1.0 + lambda * value).ln()).sum();
            assert!((got / exact - 1.0).abs() < 0.05, "{lambda}: {got} and not {exact}");
        }
    }

    #[test]
    fn a_graph_of_strangers_weighs_nothing_and_one_of_like_rows_weighs_much() {
        let edges = (0..400u32).flat_map(|row| [(row, (row + 1) % 400, 1.0), (row, (row + 7) % 400, 1.0)]);
        let mut graph = Graph::new(400, edges, None);
        let stream = || Streams { seed: 1, epoch: 1 }.column(0, 0);
        graph.draw(&rows(spread), 2, 1.0, &mut stream());
        assert!(graph.lambda < 0.1, "{}", graph.lambda);
        graph.draw(&rows(|row| (row as f64 / 400.0 * std::f64::consts::TAU).sin()), 2, 1.0, &mut stream());
        assert!(graph.lambda > 3.0, "{}", graph.lambda);
    }
}
