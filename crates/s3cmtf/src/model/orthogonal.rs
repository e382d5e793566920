//! Orthogonal factors, with the core and the coupled factors adjusted (the paper's Algorithm 1, lines 17 to 21).

use super::{Factor, Model};

/// Below this share of a column's length, what is left of it after projection is rounding.
const DEPENDENT: f64 = 1e-10;

impl Model {
    /// Makes the columns of every factor orthonormal by QR; the core and the coupled factors take up R, so that
    /// predictions stay the same. A diagonal core becomes full, and a rank above its mode's number of rows shrinks
    /// to that number.
    pub fn orthogonalize(&mut self) {
        self.core = self.core.to_full(self.modes.len());
        // Rows are mixed, and what is known of each of their numbers is not enough to say what becomes of it; nor of their priors.
        self.uncertainty = None;
        for mode in 0..self.modes.len() {
            let factor = &self.factors[mode];
            let (q, r) = qr(factor.values(), factor.rows(), factor.rank());
            let (rank, kept) = (factor.rank(), r.len() / factor.rank());
            self.factors[mode] = Factor::new(kept, q);
            self.core.multiply(mode, kept, &r);
            for matrix in self.coupled.iter_mut().filter(|matrix| matrix.mode == mode) {
                // V R': each row of V times R'.
                let rows = matrix.factor.values().chunks_exact(rank);
                let values = rows.flat_map(|row| {
                    r.chunks_exact(rank)
                        .map(move |r| row.iter().zip(r).map(|(&v, &r)| f64::from(v) * r).sum::<f64>() as f32)
                });
                matrix.factor = Factor::new(kept, values.collect());
                matrix.effects = None;
            }
        }
    }
}

/// A thin QR decomposition in f64: Q with `min(rows, rank)` orthonormal columns, row after row, and R likewise.
///
/// Gram-Schmidt with every projection done twice, which is as orthogonal as rounding allows for any input. A column
/// that depends on those before it has nothing to add: its place in Q is filled with a unit vector made orthogonal
/// to the others, and its row of R is zero.
fn qr(values: &[f32], rows: usize, rank: usize) -> (Vec<f32>, Vec<f64>) {
    let kept = rank.min(rows);
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(kept);
    let mut r = vec![0.0; kept * rank];
    for j in 0..rank {
        let mut column: Vec<f64> =
            values.iter().skip(j).step_by(rank).map(|&value| f64::from(value)).collect();
        let length = norm(&column);
        for (i, share) in project_twice(&mut column, &columns).into_iter().enumerate() {
            r[i * rank + j] = share;
        }
        let left = norm(&column);
        if columns.len() < kept && left > DEPENDENT * length {
            r[columns.len() * rank + j] = left;
            column.iter_mut().for_each(|value| *value /= left);
            columns.push(column);
        }
    }
    // Dependent columns left places free: any orthonormal completion will do, R does not use it.
    let mut candidate = 0;
    while columns.len() < kept {
        let mut column = vec![0.0; rows];
        column[candidate] = 1.0;
        candidate += 1;
        project_twice(&mut column, &columns);
        let left = norm(&column);
        // Some unit vector always has at least this much left: the free directions have length one in all.
        if left > 1e-6 {
            column.iter_mut().for_each(|value| *value /= left);
            columns.push(column);
        }
    }
    let mut q = vec![0.0; rows * kept];
    for (j, column) in columns.iter().enumerate() {
        column.iter().enumerate().for_each(|(row, &value)| q[row * kept + j] = value as f32);
    }
    (q, r)
}

fn norm(column: &[f64]) -> f64 {
    column.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Takes the share of each orthonormal column out of `column`, twice; returns the shares.
fn project_twice(column: &mut [f64], columns: &[Vec<f64>]) -> Vec<f64> {
    let mut shares = vec![0.0; columns.len()];
    for _ in 0..2 {
        for (share, other) in shares.iter_mut().zip(columns) {
            let dot: f64 = column.iter().zip(other).map(|(a, b)| a * b).sum();
            column.iter_mut().zip(other).for_each(|(value, other)| *value -= dot * other);
            *share += dot;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f32], rows: usize, rank: usize) {
        let (q, r) = qr(values, rows, rank);
        let kept = rank.min(rows);
        let size = values.iter().fold(0.0f64, |size, &value| size.max(f64::from(value).abs())).max(1e-30);
        for row in 0..rows {
            for j in 0..rank {
                let product: f64 = (0..kept).map(|i| f64::from(q[row * kept + i]) * r[i * rank + j]).sum();
                let expected = f64::from(values[row * rank + j]);
                assert!(
                    (product - expected).abs() < 1e-6 * size,
                    "({row}, {j}): {product} and not {expected}"
                );
            }
        }
        for i in 0..kept {
            for j in 0..kept {
                let dot: f64 =
                    (0..rows).map(|row| f64::from(q[row * kept + i]) * f64::from(q[row * kept + j])).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-6, "({i}, {j}): {dot}");
            }
        }
    }

    fn noise(len: usize) -> Vec<f32> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn qr_of_tall_wide_ill_conditioned_and_dependent_matrices() {
        check(&noise(5000 * 8), 5000, 8);
        check(&noise(3 * 5), 3, 5);
        check(&[0.0; 12], 4, 3);
        check(&[1.0; 12], 4, 3);
        // Columns that differ by little, and one that is a combination of others.
        let base = noise(1000 * 4);
        let nearly: Vec<f32> = base
            .chunks(4)
            .flat_map(|row| [row[0], row[0] + 1e-6 * row[1], row[2], row[0] + row[2]])
            .collect();
        check(&nearly, 1000, 4);
        let scaled: Vec<f32> =
            base.chunks(4).flat_map(|row| [row[0] * 1e15, row[1] * 1e-15, row[2], row[3]]).collect();
        let (q, _) = qr(&scaled, 1000, 4);
        let dot: f64 = q.chunks(4).map(|row| f64::from(row[0]) * f64::from(row[1])).sum();
        assert!(dot.abs() < 1e-6);
    }
}
