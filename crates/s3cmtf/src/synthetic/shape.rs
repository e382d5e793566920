//! What made-up data look like.

use crate::Absent;

/// A coupled matrix of a [`Shape`].
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixShape {
    /// Its name, and that of its file.
    pub name: String,
    /// The mode that its rows are, counted from 0.
    pub mode: usize,
    /// What its absent cells mean.
    pub kind: Absent,
    /// The number of its columns; a graph has those of its mode.
    pub columns: u32,
    /// The number of its entries.
    pub entries: usize,
}

/// The shape of made-up data.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The number of ids of each mode.
    pub sizes: Vec<u32>,
    /// The number of tensor entries; a few may fall on the same cell.
    pub entries: usize,
    /// How unevenly entries fall on ids: 0 is evenly; at 1 a hundredth of the ids have a tenth of the entries.
    pub skew: f64,
    /// The rank of the planted model.
    pub rank: usize,
    /// The standard deviation of what an id of its own adds to all its values, as a strict user or a good film does.
    pub effect: f64,
    /// The standard deviation of the noise around all that.
    pub noise: f64,
    /// The coupled matrices.
    pub matrices: Vec<MatrixShape>,
    /// The seed of everything.
    pub seed: u64,
}

impl Default for Shape {
    /// A million entries in three modes of ten thousand, planted at rank 3, without effects, with noise 0.5.
    fn default() -> Self {
        Shape {
            sizes: vec![10_000; 3],
            entries: 1_000_000,
            skew: 0.0,
            rank: 3,
            effect: 0.0,
            noise: 0.5,
            matrices: Vec::new(),
            seed: 1,
        }
    }
}

impl Shape {
    /// The names that [`Shape::named`] knows.
    pub const NAMES: [&'static str; 5] = ["movielens-10m", "movielens-1m", "netflix", "yelp", "synthetic"];

    /// The shape of one of the paper's data sets (its Table 4), or of a smaller one, by name.
    pub fn named(name: &str) -> Option<Shape> {
        let matrix = |name: &str, mode: usize, kind: Absent, columns: u32, entries: usize| MatrixShape {
            name: name.to_owned(),
            mode,
            kind,
            columns,
            entries,
        };
        let skewed = Shape { skew: 1.0, ..Shape::default() };
        Some(match name {
            "movielens-1m" => Shape { sizes: vec![6_040, 3_706, 36], ..skewed },
            "movielens-10m" => Shape {
                sizes: vec![71_567, 10_681, 157],
                entries: 10_000_000,
                matrices: vec![matrix("genre", 1, Absent::Zeros, 20, 21_000)],
                ..skewed
            },
            "netflix" => Shape {
                sizes: vec![480_189, 17_770, 74],
                entries: 100_000_000,
                matrices: vec![matrix("year", 1, Absent::Zeros, 110, 17_770)],
                ..skewed
            },
            "yelp" => Shape {
                sizes: vec![1_000_000, 144_000, 149],
                entries: 4_000_000,
                matrices: vec![
                    matrix("friends", 0, Absent::Graph, 1_000_000, 7_000_000),
                    matrix("category", 1, Absent::Zeros, 1_000, 400_000),
                    matrix("city", 1, Absent::Zeros, 1_000, 144_000),
                ],
                ..skewed
            },
            "synthetic" => Shape {
                matrices: vec![matrix("matrix", 0, Absent::Missing, 10_000, 100_000)],
                ..Shape::default()
            },
            _ => return None,
        })
    }
}
