//! Graphs over the entities of a mode: connected rows are pulled together.
//!
//! The term is `lambda_m / 2` times the sum over edges of `w |u_i - u_j|^2`; its gradient for a row is the graph's
//! Laplacian applied to the factor.

use crate::parallel;
use crate::training::sparse::Sparse;

const PIECE: usize = 4096;

/// A graph, each edge at both of its ends.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) mode: usize,
    pub(crate) weight: f32,
    pub(crate) neighbours: Sparse,
}

impl Graph {
    /// A graph from its edges.
    pub(crate) fn new(
        mode: usize,
        weight: f32,
        rows: usize,
        edges: impl Iterator<Item = (u32, u32, f32)> + Clone,
    ) -> Self {
        let both = edges.flat_map(|(a, b, value)| [(a, b, value), (b, a, value)]);
        Graph { mode, weight, neighbours: Sparse::new(rows, both) }
    }

    /// One step on every row, from where all rows were: implicit in the row itself, so that no rate overshoots.
    pub(crate) fn step(&self, rows: &mut [f32], rank: usize, rate: f32) {
        let rate = f64::from(rate) * f64::from(self.weight);
        let old = rows.to_vec();
        parallel::chunks_mut(rows, PIECE * rank, |piece, rows| {
            let mut sum = vec![0.0f64; rank];
            for (offset, row) in rows.chunks_exact_mut(rank).enumerate() {
                let degree = self.neighbours.pull(piece * PIECE + offset, &old, rank, &mut sum);
                if degree > 0.0 {
                    for (value, &sum) in row.iter_mut().zip(&sum) {
                        *value = ((f64::from(*value) + rate * sum) / (1.0 + rate * degree)) as f32;
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connected_rows_approach_each_other_and_others_stay() {
        let graph = Graph::new(0, 2.0, 4, [(0, 1, 1.0), (1, 2, 0.5)].into_iter());
        let mut rows = vec![1.0, 3.0, -1.0, 7.0];
        for _ in 0..200 {
            graph.step(&mut rows, 1, 10.0);
        }
        assert!((rows[0] - rows[1]).abs() < 1e-3 && (rows[1] - rows[2]).abs() < 1e-3);
        assert!((-1.0..=3.0).contains(&rows[0]), "never beyond where they started");
        assert_eq!(rows[3], 7.0);
    }
}
