//! The small matrix that stands for a large one where all of its cells count.

use crate::parallel;

/// Rows are summed in pieces of this many, in a fixed order, so that the sum does not depend on the threads.
const PIECE: usize = 4096;

/// The Gram matrix `F'F` of a factor, in f64.
pub(crate) fn gram(values: &[f32], rank: usize) -> Vec<f64> {
    let pieces = parallel::map_of(values.chunks(PIECE * rank), |piece| {
        let mut sum = vec![0.0f64; rank * rank];
        for row in piece.chunks_exact(rank) {
            for (i, &a) in row.iter().enumerate() {
                for (sum, &b) in sum[i * rank..=i * rank + i].iter_mut().zip(row) {
                    *sum += f64::from(a) * f64::from(b);
                }
            }
        }
        sum
    });
    let mut gram = vec![0.0; rank * rank];
    for piece in pieces {
        gram.iter_mut().zip(piece).for_each(|(gram, piece)| *gram += piece);
    }
    for i in 0..rank {
        for j in 0..i {
            gram[j * rank + i] = gram[i * rank + j];
        }
    }
    gram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gram_matrix_is_the_sum_over_rows() {
        let values: Vec<f32> = (0..3 * 10_000).map(|place| (place % 7) as f32 - 3.0).collect();
        let expected: f64 = values.chunks(3).map(|row| f64::from(row[0]) * f64::from(row[2])).sum();
        let gram = gram(&values, 3);
        assert_eq!(gram[2], expected);
        assert_eq!(gram[6], expected);
    }
}
