//! Columns of length one, for non-negative models.

use super::Model;
use super::core::Core;

impl Model {
    /// Gives every factor column length one; the core and the coupled factors take up the lengths, so predictions
    /// stay the same. A column of zeros stays.
    pub fn normalize_columns(&mut self) {
        for mode in 0..self.modes.len() {
            let factor = &mut self.factors[mode];
            let rank = factor.rank();
            let mut squares = vec![0.0f64; rank];
            for row in factor.values().chunks_exact(rank) {
                squares
                    .iter_mut()
                    .zip(row)
                    .for_each(|(sum, &value)| *sum += f64::from(value) * f64::from(value));
            }
            let usable = |length: &f64| *length > 0.0;
            let lengths: Vec<f64> = squares
                .iter()
                .map(|sum| sum.sqrt())
                .map(|length| if usable(&length) { length } else { 1.0 })
                .collect();
            scale_columns(factor.values_mut(), rank, |j| 1.0 / lengths[j]);
            match &mut self.core {
                Core::Diagonal(values) => scale_columns(values, rank, |j| lengths[j]),
                Core::Full { ranks, values } => {
                    let inner: usize = ranks[mode + 1..].iter().product();
                    for (place, value) in values.iter_mut().enumerate() {
                        *value = (f64::from(*value) * lengths[place / inner % rank]) as f32;
                    }
                }
            }
            for matrix in self.coupled.iter_mut().filter(|matrix| matrix.mode == mode) {
                scale_columns(matrix.factor.values_mut(), rank, |j| lengths[j]);
            }
        }
    }
}

fn scale_columns(values: &mut [f32], rank: usize, scale: impl Fn(usize) -> f64) {
    for row in values.chunks_exact_mut(rank) {
        for (j, value) in row.iter_mut().enumerate() {
            *value = (f64::from(*value) * scale(j)) as f32;
        }
    }
}
