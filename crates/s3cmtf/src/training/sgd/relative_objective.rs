//! The objective of the state an workspace is in, up to a constant: enough to tell which of two states is worse.

use super::workspace::Workspace;
use crate::training::gram::gram;

impl Workspace {
    /// The objective less the sums of squares of the data; `rmse` is the training RMSE of the state.
    pub(super) fn relative_objective(&self, rmse: f64) -> f64 {
        let penalty = |values: &[f32]| -> f64 {
            let terms = values.iter().map(|&value| f64::from(value));
            if self.params.l1 { terms.map(|v| 2.0 * v.abs()).sum() } else { terms.map(|v| v * v).sum() }
        };
        let lambda_reg = f64::from(self.params.lambda_reg);
        let factors = (0..self.modes.len()).map(|mode| penalty(self.rows(mode))).sum::<f64>();
        let mut sum = self.squares(rmse) + lambda_reg * (penalty(&self.state.core) + factors);
        for cells in &self.cells {
            let columns = &self.state.columns[cells.matrix];
            let errors = cells.squared_error(&self.state.factors[cells.mode], columns);
            sum += f64::from(cells.weight) * (errors + lambda_reg * penalty(columns));
        }
        for matrix in &self.zeros {
            let rank = self.contraction.ranks[matrix.mode];
            let (rows, columns) = (self.rows(matrix.mode), &self.state.columns[matrix.matrix]);
            // -2 sum y u v' + <U'U, V'V>, the sum over non-zeros alone.
            let grams = gram(rows, rank).into_iter().zip(gram(columns, rank));
            let all: f64 = grams.map(|(a, b)| a * b).sum();
            let nonzeros = matrix.by_row.dot(rows, columns, rank);
            sum += f64::from(matrix.weight) * (all - 2.0 * nonzeros + lambda_reg * penalty(columns));
        }
        for graph in &self.graphs {
            let rank = self.contraction.ranks[graph.mode];
            let rows = self.rows(graph.mode);
            // Over both ends of every edge: w |u_i|^2 - w u_i u_j'.
            let (own, mut buffer) = (graph.neighbours.dot(rows, rows, rank), vec![0.0; rank]);
            let lengths: f64 = rows
                .chunks_exact(rank)
                .enumerate()
                .map(|(row, values)| graph.neighbours.pull(row, rows, rank, &mut buffer) * penalty_l2(values))
                .sum();
            sum += f64::from(graph.weight) * (lengths - own);
        }
        sum
    }

    /// The sum of squared errors of a training RMSE.
    pub(super) fn squares(&self, rmse: f64) -> f64 {
        rmse * rmse * self.train.len() as f64
    }

    /// The rows of a mode, without the average behind them.
    fn rows(&self, mode: usize) -> &[f32] {
        let values = &self.state.factors[mode];
        &values[..values.len() - self.contraction.ranks[mode]]
    }
}

fn penalty_l2(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value) * f64::from(value)).sum()
}
