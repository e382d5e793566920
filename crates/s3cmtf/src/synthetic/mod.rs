//! Made-up data of any shape, entry by entry: as much as a file can hold, from a planted model that needs no memory.
//!
//! Every planted number is a hash of where it stands, so that nothing is stored and any entry can be made at once.

mod shape;
mod stream;

pub use shape::{MatrixShape, Shape};
pub use stream::{Cell, MatrixStream, TensorStream};

use crate::{Coupled, Entries, Error, Problem};

/// Collects cells into entries of `order` modes.
///
/// # Errors
/// If a value is not finite.
pub fn collect(order: usize, cells: impl Iterator<Item = Cell>) -> Result<Entries, Error> {
    let mut indices = vec![Vec::new(); order];
    let mut values = Vec::new();
    for cell in cells {
        indices.iter_mut().zip(&cell.ids).for_each(|(list, &id)| list.push(id));
        values.push(cell.value);
    }
    Entries::new(indices, values)
}

impl Shape {
    /// The problem of this shape, with its coupled matrices.
    ///
    /// # Errors
    /// If the shape has no entries or fewer than two modes.
    pub fn problem(&self) -> Result<Problem, Error> {
        let entries = collect(self.sizes.len(), self.tensor())?.named("tensor");
        let mut builder = Problem::builder(entries).sizes(self.sizes.clone());
        for (number, matrix) in self.matrices.iter().enumerate() {
            let entries = collect(2, self.matrix(number))?.named(&matrix.name);
            builder = builder.couple(Coupled::new(matrix.mode, matrix.kind, entries)?.named(&matrix.name));
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_makes_the_same_data_again_and_another_seed_other_data() {
        let shape = Shape { entries: 1000, ..Shape::named("movielens-10m").unwrap() };
        let all: Vec<Cell> = shape.tensor().collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|cell| cell.ids.iter().zip(&shape.sizes).all(|(id, size)| id < size)));
        assert_eq!(all, shape.tensor().collect::<Vec<_>>());
        assert_ne!(all, Shape { seed: 9, ..shape }.tensor().collect::<Vec<_>>());
    }

    #[test]
    fn skew_makes_a_few_ids_busy() {
        let busiest = |skew: f64| {
            let shape = Shape { sizes: vec![1000, 1000], entries: 50_000, skew, ..Shape::default() };
            let mut counts = vec![0; 1000];
            shape.tensor().for_each(|cell| counts[cell.ids[0] as usize] += 1);
            counts.sort_unstable();
            counts[990..].iter().sum::<usize>()
        };
        assert!(busiest(0.0) < 1500);
        assert!(busiest(1.5) > 5000);
    }

    #[test]
    fn noise_is_as_large_as_it_says() {
        let shape = Shape { sizes: vec![50, 40, 30], entries: 20_000, noise: 0.3, ..Shape::default() };
        let quiet = Shape { noise: 0.0, ..shape.clone() };
        let pairs: Vec<(Cell, Cell)> = shape.tensor().zip(quiet.tensor()).collect();
        assert!(pairs.iter().all(|(a, b)| a.ids == b.ids));
        let squares: f64 = pairs.iter().map(|(a, b)| f64::from(a.value - b.value).powi(2)).sum();
        let noise = (squares / pairs.len() as f64).sqrt();
        assert!((noise - 0.3).abs() < 0.01, "{noise}");
        let values: Vec<f64> = pairs.iter().map(|(_, b)| f64::from(b.value)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let spread =
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        assert!((0.3..3.0).contains(&spread), "{spread}");
    }

    #[test]
    fn named_shapes_have_their_matrices() {
        let shape = Shape::named("yelp").unwrap();
        let small = Shape {
            sizes: vec![2000, 500, 30],
            entries: 3000,
            matrices: shape
                .matrices
                .iter()
                .map(|matrix| MatrixShape { entries: 700, ..matrix.clone() })
                .collect(),
            ..shape
        };
        let problem = small.problem().unwrap();
        assert_eq!(problem.coupled().len(), 3);
        assert!(Shape::named("no such shape").is_none());
    }
}
