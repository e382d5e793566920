//! Made-up data of any shape: as much as a file can hold, from a planted model that needs no memory.
//!
//! Every planted number is a hash of where it stands, so that nothing is stored and any entry can be made at once.

mod shape;
mod source;

pub use shape::{MatrixShape, Shape};
pub use source::Source;

use crate::{Coupled, Error, Problem};

impl Shape {
    /// The problem of this shape, with its coupled matrices.
    ///
    /// # Errors
    /// If the shape has no entries or fewer than two modes.
    pub fn problem(&self) -> Result<Problem, Error> {
        let mut builder =
            Problem::builder(self.tensor().collect()?.named("tensor")).sizes(self.sizes.clone());
        for (source, matrix) in self.matrices().zip(&self.matrices) {
            let entries = source.collect()?.named(&matrix.name);
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
        let all = shape.tensor().collect().unwrap();
        assert_eq!(all.len(), 1000);
        for (mode, &size) in shape.sizes.iter().enumerate() {
            assert!(all.indices(mode).iter().all(|&id| id < size));
        }
        assert_eq!(all, shape.tensor().collect().unwrap());
        assert_ne!(all, Shape { seed: 9, ..shape }.tensor().collect().unwrap());
    }

    #[test]
    fn skew_makes_a_few_ids_busy() {
        let busiest = |skew: f64| {
            let shape = Shape { sizes: vec![1000, 1000], entries: 50_000, skew, ..Shape::default() };
            let mut counts = vec![0; 1000];
            shape.tensor().collect().unwrap().indices(0).iter().for_each(|&id| counts[id as usize] += 1);
            counts.sort_unstable();
            counts[990..].iter().sum::<usize>()
        };
        assert!(busiest(0.0) < 1500);
        assert!(busiest(1.5) > 5000);
    }

    #[test]
    fn noise_is_as_large_as_it_says() {
        let shape = Shape { sizes: vec![50, 40, 30], entries: 20_000, noise: 0.3, ..Shape::default() };
        let loud = shape.tensor().collect().unwrap();
        let quiet = Shape { noise: 0.0, ..shape }.tensor().collect().unwrap();
        assert_eq!(loud.indices(1), quiet.indices(1));
        let spread = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
        };
        let noise = spread(loud.values().iter().zip(quiet.values()).map(|(a, b)| f64::from(a - b)).collect());
        assert!((noise - 0.3).abs() < 0.01, "{noise}");
        let planted = spread(quiet.values().iter().map(|&value| f64::from(value)).collect());
        assert!((0.3..3.0).contains(&planted), "{planted}");
    }

    #[test]
    fn an_effect_is_the_same_in_all_values_of_an_id() {
        let shape = Shape { sizes: vec![2, 500], entries: 1000, rank: 1, noise: 0.0, ..Shape::default() };
        let plain = shape.tensor().collect().unwrap();
        let moved = Shape { effect: 1.0, ..shape }.tensor().collect().unwrap();
        let mut by_ids = std::collections::HashMap::new();
        for entry in 0..plain.len() {
            let effect = moved.values()[entry] - plain.values()[entry];
            by_ids.insert((plain.indices(0)[entry], plain.indices(1)[entry]), effect);
        }
        // What the first id makes of the difference is the same, whatever the second is.
        let differences = (0..500).filter_map(|id| Some(by_ids.get(&(0, id))? - by_ids.get(&(1, id))?));
        let differences: Vec<f32> = differences.collect();
        assert!(differences.len() > 100 && differences[0].abs() > 1e-3);
        assert!(differences.iter().all(|difference| (difference - differences[0]).abs() < 1e-4));
    }

    #[test]
    fn named_shapes_have_their_matrices() {
        for name in Shape::NAMES {
            let shape = Shape::named(name).unwrap();
            let matrices = shape.matrices.iter();
            let small = Shape {
                sizes: vec![2000, 500, 30],
                entries: 3000,
                matrices: matrices.map(|matrix| MatrixShape { entries: 700, ..matrix.clone() }).collect(),
                ..shape.clone()
            };
            assert_eq!(small.problem().unwrap().coupled().len(), shape.matrices.len());
        }
        assert!(Shape::named("no such shape").is_none());
    }
}
