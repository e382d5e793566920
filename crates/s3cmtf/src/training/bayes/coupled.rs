//! Coupled matrices: what they say about rows, and what rows say about their columns.
//!
//! A matrix without a weight predicts rows (see [`Regression`]), a graph pulls those together that it connects. A matrix with a
//! weight is explained together with the tensor: its value is normal around `u . v` with a precision that the weight gives.

use super::graph::Graph;
use super::random::{Streams, gamma, normal};
use super::rank::some;
use super::regression::Regression;
use crate::Error;
use crate::parallel;
use crate::problem::{Absent, Coupled};
use crate::training::checkpoint::StateArrays;
use crate::training::cholesky::{factorize, solve_lower, solve_upper};
use crate::training::gram::gram;
use crate::training::sparse::Sparse;

const PIECE: usize = 1024;
/// The columns of a matrix that says nothing may become as small as this allows.
const LEAST: f64 = 0.05;

/// A matrix coupled to a mode.
pub(super) struct Matrix {
    pub(super) mode: usize,
    rank: usize,
    number: u64,
    body: Body,
}

enum Body {
    Cells(Cells),
    Regression(Regression),
    Graph(Graph),
}

/// A matrix of values.
pub(super) struct Cells {
    /// Whether absent cells are zeros.
    zeros: bool,
    by_row: Sparse,
    by_column: Sparse,
    /// What its values were divided by.
    pub(super) scale: f64,
    /// Its precision in units of the tensor's, and as it is.
    weight: f64,
    tau: f64,
    /// The precision of the columns' values, concept by concept.
    prior: Vec<f64>,
    pub(super) columns: Vec<f32>,
    pub(super) means: Vec<f32>,
    /// `tau V'V`, where absent cells are zeros.
    gram: Vec<f64>,
}

impl Matrix {
    /// Takes up a matrix; `spread` is what the tensor's values were divided by.
    pub(super) fn new(matrix: &Coupled, number: u64, rows: usize, rank: usize, spread: f64) -> Self {
        let entries = matrix.entries();
        let (first, second) = (entries.indices(0), entries.indices(1));
        let weight = matrix.weight().map(f64::from);
        let body = if matrix.kind() == Absent::Graph {
            let edges = (0..entries.len()).map(|edge| (first[edge], second[edge], entries.values()[edge]));
            // Rows have no unit; the tensor's entries have been divided by their spread.
            Body::Graph(Graph::new(rows, edges, weight.map(|weight| weight / (spread * spread))))
        } else if let Some(weight) = weight {
            Body::Cells(Cells::new(matrix, rows, rank, weight, spread))
        } else {
            Body::Regression(Regression::new(matrix, rows, rank))
        };
        Matrix { mode: matrix.mode(), rank, number, body }
    }

    /// The numbers of its columns that have a mean over draws: what is known of them now.
    pub(super) fn columns(&self) -> &[f32] {
        match &self.body {
            Body::Cells(cells) => &cells.means,
            Body::Regression(regression) => &regression.effects,
            Body::Graph(_) => &[],
        }
    }

    /// What `columns` are multiplied with where rows are multiplied with `by`.
    pub(super) fn follow(&self, by: f32) -> f32 {
        if self.regression().is_some() { by } else { 1.0 / by }
    }

    /// The columns and the scale of a matrix of values.
    pub(super) fn cells(&self) -> Option<&Cells> {
        match &self.body {
            Body::Cells(cells) => Some(cells),
            Body::Graph(_) | Body::Regression(_) => None,
        }
    }

    /// The effects of its columns on rows, if it has some.
    pub(super) fn regression(&self) -> Option<&Regression> {
        match &self.body {
            Body::Regression(regression) => Some(regression),
            Body::Cells(_) | Body::Graph(_) => None,
        }
    }

    /// What it adds to the precision of all rows alike, if it does.
    #[cfg(feature = "cuda")]
    pub(super) fn shared(&self) -> Option<&[f64]> {
        self.cells().filter(|cells| cells.zeros).map(|cells| &cells.gram[..])
    }

    /// The graph, if it is one.
    #[cfg(feature = "cuda")]
    pub(super) fn graph(&self) -> Option<&Graph> {
        match &self.body {
            Body::Graph(graph) => Some(graph),
            Body::Cells(_) | Body::Regression(_) => None,
        }
    }

    /// Draws the weight of a graph, given how far apart its rows are, see [`Graph::draw_by`]; `tau` is the tensor's precision.
    #[cfg(feature = "cuda")]
    pub(super) fn draw_graph(&mut self, distances: f64, tau: f64, streams: Streams) {
        if let Body::Graph(graph) = &mut self.body {
            graph.draw_by(distances, self.rank, tau, &mut streams.column(self.number, 0));
        }
    }

    /// What the matrix adds to the mean of each row, if it does.
    pub(super) fn means(&self) -> Option<&[f32]> {
        self.regression().map(|regression| &regression.means[..])
    }

    /// Whether it says something about the rows of a mode beyond the means that it gives them.
    pub(super) fn pulls(&self, mode: usize) -> bool {
        self.mode == mode && self.regression().is_none()
    }

    /// Adds what the matrix says about a row: to the lower triangle of its precision, and to its pull.
    /// `means` are those of the rows' prior, empty if all are zero.
    pub(super) fn pull_row(
        &self,
        row: usize,
        rows: &[f32],
        means: &[f32],
        precision: &mut [f64],
        pull: &mut [f64],
    ) {
        match &self.body {
            Body::Graph(graph) => graph.pull_row(row, rows, means, precision, pull),
            // It is in the means.
            Body::Regression(_) => {}
            Body::Cells(cells) => {
                if cells.zeros {
                    precision.iter_mut().zip(&cells.gram).for_each(|(sum, gram)| *sum += gram);
                }
                let observed = !cells.zeros;
                add_cells(&cells.by_row, row, &cells.columns, cells.tau, observed, precision, pull);
            }
        }
    }

    /// Draws all that is the matrix's own, given the rows of its mode and what all matrices add to their means; `tau` is the
    /// tensor's precision.
    pub(super) fn draw(&mut self, rows: &[f32], means: &[f32], tau: f64, streams: Streams) {
        let (rank, number) = (self.rank, self.number);
        match &mut self.body {
            Body::Graph(graph) if means.is_empty() => {
                graph.draw(rows, rank, tau, &mut streams.column(number, 0))
            }
            Body::Graph(graph) => {
                let rest: Vec<f32> = parallel::numbers(rows.len(), |place| rows[place] - means[place]);
                graph.draw(&rest, rank, tau, &mut streams.column(number, 0));
            }
            Body::Cells(cells) => cells.draw(rows, rank, tau, streams, number),
            Body::Regression(regression) => {
                regression.draw(rows, means, rank, streams, number);
            }
        }
    }

    /// Puts what the next draw depends on among numbers.
    pub(super) fn put(&self, number: usize, numbers: &mut StateArrays) {
        match &self.body {
            Body::Graph(graph) => numbers.put_doubles(format!("graph.{number}"), &[graph.lambda]),
            Body::Regression(regression) => {
                numbers.put(format!("effects.{number}"), &regression.effects);
                numbers.put(format!("side.{number}"), &regression.means);
                numbers.put_doubles(format!("effects.precision.{number}"), &regression.precisions);
            }
            Body::Cells(cells) => {
                numbers.put(format!("columns.{number}"), &cells.columns);
                numbers.put(format!("means.{number}"), &cells.means);
                numbers.put_doubles(format!("prior.{number}"), &cells.prior);
                numbers.put_doubles(format!("tau.{number}"), &[cells.tau]);
            }
        }
    }

    /// Takes it back.
    pub(super) fn get(&mut self, number: usize, numbers: &mut StateArrays) -> Result<(), Error> {
        match &mut self.body {
            Body::Graph(graph) => {
                numbers.get_doubles(&format!("graph.{number}"), std::slice::from_mut(&mut graph.lambda))
            }
            Body::Regression(regression) => {
                numbers.get(&format!("effects.{number}"), &mut regression.effects)?;
                numbers.get(&format!("side.{number}"), &mut regression.means)?;
                numbers.get_doubles(&format!("effects.precision.{number}"), &mut regression.precisions)
            }
            Body::Cells(cells) => {
                numbers.get(&format!("columns.{number}"), &mut cells.columns)?;
                numbers.get(&format!("means.{number}"), &mut cells.means)?;
                numbers.get_doubles(&format!("prior.{number}"), &mut cells.prior)?;
                numbers.get_doubles(&format!("tau.{number}"), std::slice::from_mut(&mut cells.tau))
            }
        }
    }

    /// How much a squared error in the matrix counts against 1 in the tensor, in the units of the data, as found so far; 0 where
    /// it only predicts rows. `tau` and `spread` are the tensor's.
    pub(super) fn weight(&self, tau: f64, spread: f64) -> f64 {
        let (weight, scale) = match &self.body {
            Body::Graph(graph) => (graph.fixed.unwrap_or(graph.lambda / tau), 1.0),
            Body::Cells(cells) => (cells.weight, cells.scale),
            Body::Regression(_) => (0.0, 1.0),
        };
        weight * (spread / scale).powi(2)
    }

    /// Whether it asks for concepts of its own, whatever the tensor's entries make of them.
    pub(super) fn is_joint(&self) -> bool {
        self.cells().is_some()
    }

    /// Keeps some concepts. What is drawn before it is next used is not looked at.
    pub(super) fn keep(&mut self, kept: &[usize]) {
        match &mut self.body {
            Body::Cells(cells) => cells.keep(kept, self.rank),
            Body::Regression(regression) => regression.keep(kept, self.rank),
            // It has one number for all of them.
            Body::Graph(_) => {}
        }
        self.rank = kept.len();
    }

    /// Follows a change of the rows' scale: each concept but the first was multiplied with its number of `by`.
    pub(super) fn rescale(&mut self, by: &[f32]) {
        match &mut self.body {
            Body::Regression(regression) => regression.rescale(by),
            Body::Cells(cells) => parallel::chunks_mut(&mut cells.columns, by.len(), |_, values| {
                values.iter_mut().zip(by).skip(1).for_each(|(value, by)| *value /= by);
            }),
            Body::Graph(_) => {}
        }
    }
}

impl Cells {
    /// Keeps some concepts.
    fn keep(&mut self, kept: &[usize], rank: usize) {
        self.columns = some(&self.columns, rank, kept);
        self.means = some(&self.means, rank, kept);
        self.prior = kept.iter().map(|&k| self.prior[k]).collect();
        self.gram = vec![0.0; kept.len() * kept.len()];
    }

    fn new(matrix: &Coupled, rows: usize, rank: usize, weight: f64, spread: f64) -> Self {
        let entries = matrix.entries();
        let columns = matrix.columns().rows();
        let zeros = matrix.kind() == Absent::Zeros;
        let cells = if zeros { rows as f64 * columns as f64 } else { entries.len() as f64 };
        let values = || entries.values().iter().map(|&value| f64::from(value));
        let (sum, squares) = (values().sum::<f64>(), values().map(|value| value * value).sum::<f64>());
        let variance = squares / cells - (sum / cells).powi(2);
        // Equal values have no spread; their own size is as good.
        let scale =
            if variance > 1e-12 * squares / cells { variance.sqrt() } else { (squares / cells).sqrt() };
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let cell = |cell: usize| {
            let value = (f64::from(entries.values()[cell]) / scale) as f32;
            (entries.indices(0)[cell], entries.indices(1)[cell], value)
        };
        let list = (0..entries.len()).map(cell);
        Cells {
            zeros,
            by_column: Sparse::new(columns, list.clone().map(|(row, column, value)| (column, row, value))),
            by_row: Sparse::new(rows, list),
            scale,
            weight: weight * (scale / spread).powi(2),
            tau: 1.0,
            prior: vec![1.0; rank],
            columns: vec![0.0; columns * rank],
            means: vec![0.0; columns * rank],
            gram: vec![0.0; rank * rank],
        }
    }

    fn draw(&mut self, rows: &[f32], rank: usize, tau: f64, streams: Streams, matrix: u64) {
        self.tau = self.weight * tau;
        let rows_gram = gram(rows, rank);
        self.draw_columns(rows, rank, &rows_gram, streams, matrix);
        let mut generator = streams.matrix(matrix);
        for (k, precision) in self.prior.iter_mut().enumerate() {
            let values = self.columns.iter().skip(k).step_by(rank).map(|&value| f64::from(value));
            let (count, sum) = (self.columns.len() / rank, values.map(|value| value * value).sum::<f64>());
            *precision = gamma(&mut generator, 1.0 + 0.5 * count as f64, LEAST + 0.5 * sum);
        }
        self.gram = gram(&self.columns, rank).into_iter().map(|sum| self.tau * sum).collect();
    }

    fn draw_columns(&mut self, rows: &[f32], rank: usize, rows_gram: &[f64], streams: Streams, matrix: u64) {
        // Where absent cells are zeros, all columns have the same precision.
        let mut base: Vec<f64> =
            rows_gram.iter().map(|sum| if self.zeros { self.tau * sum } else { 0.0 }).collect();
        (0..rank).for_each(|k| base[k * rank + k] += self.prior[k]);
        let shared = self.zeros.then(|| {
            let mut shared = base.clone();
            factorize(&mut shared, rank);
            shared
        });
        let (by_column, weight) = (&self.by_column, self.tau);
        let pieces = self.columns.chunks_mut(PIECE * rank).zip(self.means.chunks_mut(PIECE * rank));
        parallel::each(pieces.enumerate(), |(piece, (columns, means))| {
            let (mut system, mut pull) = (base.clone(), vec![0.0; rank]);
            let both = columns.chunks_exact_mut(rank).zip(means.chunks_exact_mut(rank));
            for (offset, (column, mean)) in both.enumerate() {
                let number = piece * PIECE + offset;
                pull.fill(0.0);
                system.copy_from_slice(&base);
                add_cells(by_column, number, rows, weight, shared.is_none(), &mut system, &mut pull);
                let factor = shared.as_ref().unwrap_or_else(|| {
                    factorize(&mut system, rank);
                    &system
                });
                solve_lower(factor, rank, &mut pull);
                let mut centre = pull.clone();
                solve_upper(factor, rank, &mut centre);
                let mut generator = streams.column(matrix, number);
                pull.iter_mut().for_each(|value| *value += normal(&mut generator));
                solve_upper(factor, rank, &mut pull);
                column.iter_mut().zip(&pull).for_each(|(value, &drawn)| *value = drawn as f32);
                mean.iter_mut().zip(&centre).for_each(|(value, &centre)| *value = centre as f32);
            }
        });
    }
}

/// Adds the cells of a row, times `weight`: their values to its pull, and if `squares`, what they name to its precision.
fn add_cells(
    cells: &Sparse,
    row: usize,
    others: &[f32],
    weight: f64,
    squares: bool,
    precision: &mut [f64],
    pull: &mut [f64],
) {
    let rank = pull.len();
    for (other, value) in cells.row(row) {
        let other = &others[other as usize * rank..][..rank];
        for (k, &a) in other.iter().enumerate() {
            let a = weight * f64::from(a);
            pull[k] += a * f64::from(value);
            if squares {
                let sums = precision[k * rank..=k * rank + k].iter_mut();
                sums.zip(other).for_each(|(sum, &b)| *sum += a * f64::from(b));
            }
        }
    }
}
