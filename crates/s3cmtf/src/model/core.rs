//! The core tensor: how concepts of different modes interact.

/// The core of a factorization.
#[derive(Clone, Debug, PartialEq)]
pub enum Core {
    /// Tucker: a number for every combination of concepts, the last mode's changing fastest.
    Full {
        /// The rank of each mode.
        ranks: Vec<usize>,
        /// One number per combination.
        values: Vec<f32>,
    },
    /// CP: concept `j` of one mode interacts only with concept `j` of the others.
    Diagonal(Vec<f32>),
}

impl Core {
    /// A full core from its ranks and values.
    ///
    /// # Panics
    /// If there is not one value per combination.
    pub fn full(ranks: Vec<usize>, values: Vec<f32>) -> Self {
        assert_eq!(ranks.iter().product::<usize>(), values.len(), "a core of ranks {ranks:?}");
        Core::Full { ranks, values }
    }

    /// The rank of each of `order` modes.
    pub fn ranks(&self, order: usize) -> Vec<usize> {
        match self {
            Core::Full { ranks, .. } => ranks.clone(),
            Core::Diagonal(values) => vec![values.len(); order],
        }
    }

    /// The numbers of the core: all of them, or those on the diagonal.
    pub fn values(&self) -> &[f32] {
        match self {
            Core::Full { values, .. } | Core::Diagonal(values) => values,
        }
    }

    /// The numbers of the core: all of them, or those on the diagonal.
    pub fn values_mut(&mut self) -> &mut [f32] {
        match self {
            Core::Full { values, .. } | Core::Diagonal(values) => values,
        }
    }

    /// The same core with its zeros written out.
    pub fn to_full(&self, order: usize) -> Core {
        match self {
            Core::Full { .. } => self.clone(),
            Core::Diagonal(diagonal) => {
                let rank = diagonal.len();
                let ranks = vec![rank; order];
                let mut values = vec![0.0; ranks.iter().product()];
                // One step along every mode at once: 1 + rank + rank^2 + ...
                let step: usize = (0..order as u32).map(|mode| rank.pow(mode)).sum();
                for (j, &value) in diagonal.iter().enumerate() {
                    values[j * step] = value;
                }
                Core::Full { ranks, values }
            }
        }
    }

    /// Multiplies a full core along one mode by a `rows` x rank matrix, row after row: `G x_n A`.
    pub(crate) fn multiply(&mut self, mode: usize, rows: usize, matrix: &[f64]) {
        let Core::Full { ranks, values } = self else {
            panic!("only a full core is multiplied along a mode")
        };
        let rank = ranks[mode];
        assert_eq!(matrix.len(), rows * rank);
        let inner: usize = ranks[mode + 1..].iter().product();
        let outer: usize = ranks[..mode].iter().product();
        let mut product = vec![0.0f32; outer * rows * inner];
        for o in 0..outer {
            for i in 0..inner {
                for row in 0..rows {
                    let sum: f64 = (0..rank)
                        .map(|j| matrix[row * rank + j] * f64::from(values[(o * rank + j) * inner + i]))
                        .sum();
                    product[(o * rows + row) * inner + i] = sum as f32;
                }
            }
        }
        ranks[mode] = rows;
        *values = product;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagonal_core_written_out_has_its_numbers_on_the_diagonal() {
        let Core::Full { ranks, values } = Core::Diagonal(vec![2.0, 3.0]).to_full(3) else { panic!() };
        assert_eq!(ranks, [2, 2, 2]);
        assert_eq!(values, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
    }

    #[test]
    fn multiply_along_each_mode() {
        let core = || Core::full(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]);
        let mut first = core();
        first.multiply(0, 1, &[1.0, 10.0]);
        assert_eq!(first, Core::full(vec![1, 2], vec![31.0, 42.0]));
        let mut second = core();
        second.multiply(1, 1, &[1.0, 10.0]);
        assert_eq!(second, Core::full(vec![2, 1], vec![21.0, 43.0]));
    }
}
