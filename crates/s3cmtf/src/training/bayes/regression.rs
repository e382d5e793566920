//! Side data that predict rows: the prior of a row has a mean that is linear in the row's cells of a coupled matrix.
//!
//! A matrix that were explained together with the tensor would count with all of its cells, of which there are often more than
//! entries, whether or not they have to do with them. Here nothing has to explain the matrix. Its columns have effects on
//! rows, which are drawn as in any regression with an unknown scale, so that columns that do not help to predict
//! the tensor come to have none.

use super::random::{Streams, half_cauchy, normal};
use super::rank::some;
use crate::model::{Effects, Factor};
use crate::parallel;
use crate::problem::{Absent, Coupled};
use crate::training::cholesky::{factorize, solve_lower, solve_upper};
use crate::training::gram::gram;
use crate::training::sparse::Sparse;

/// Rows that are one task, and cells of columns.
const ROWS: usize = 256;
const PIECE: usize = 1024;
/// Of so few columns the products of all pairs are kept.
const FEW: usize = 64;
/// Steps of conjugate gradients, at most, and the share of the residual at which they end.
const STEPS: usize = 20;
const CLOSE: f64 = 1e-6;

/// The effects of a matrix's columns on rows.
pub(super) struct Regression {
    by_row: Sparse,
    by_column: Sparse,
    /// The mean of each column over all rows that have cells, which is taken off those.
    centres: Vec<f64>,
    /// The sum of squares of each column.
    squares: Vec<f64>,
    /// The products of all pairs of columns, empty if there are too many: what effects come to for columns then needs no pass over
    /// rows.
    products: Vec<f64>,
    /// For each row, how many cells it has. Of a row without any, nothing is known.
    cells_of: Vec<u32>,
    /// Whether absent cells are zeros.
    is_zero: bool,
    /// What was taken off each column, and what it was then divided by.
    offsets: Vec<f32>,
    scales: Vec<f32>,
    /// For each concept, the precision of the effects of all columns.
    pub(super) precisions: Vec<f64>,
    pub(super) effects: Vec<f32>,
    /// What the matrix adds to the mean of each row.
    pub(super) means: Vec<f32>,
    /// Room for a number of each row and concept, which is not allocated anew for each product.
    room: Vec<f64>,
}

/// What each of so many cells of a row counts, so that a row with many of them is not moved further than one with a few.
fn one_of(cells: u32) -> f32 {
    1.0 / (cells.max(1) as f32).sqrt()
}

impl Regression {
    pub(super) fn new(matrix: &Coupled, rows: usize, rank: usize) -> Self {
        let entries = matrix.entries();
        let columns = matrix.columns().rows();
        let (ids, numbers, values) = (entries.indices(0), entries.indices(1), entries.values());
        let mut counts = vec![0.0f64; columns];
        let (mut sums, mut squares) = (counts.clone(), counts.clone());
        for (&column, &value) in numbers.iter().zip(values) {
            let (column, value) = (column as usize, f64::from(value));
            counts[column] += 1.0;
            sums[column] += value;
            squares[column] += value * value;
        }
        // The cells that are there have a unit of one; those of an indicator are all alike, and are one themselves.
        let scale = |column: usize| {
            let count = counts[column].max(1.0);
            let (mean, size) = (sums[column] / count, squares[column] / count);
            let variance = size - mean * mean;
            let scale = if variance > 1e-9 * size { variance.sqrt() } else { size.sqrt() };
            if scale > 0.0 && scale.is_finite() { scale as f32 } else { 1.0 }
        };
        let scales: Vec<f32> = (0..columns).map(scale).collect();
        // Cells that may be unknown say something only by how they differ from those that are known.
        let is_zero = matrix.kind() == Absent::Zeros;
        let mean =
            |column: usize| if is_zero { 0.0 } else { (sums[column] / counts[column].max(1.0)) as f32 };
        let offsets: Vec<f32> = (0..columns).map(mean).collect();
        let mut cells_of = vec![0u32; rows];
        ids.iter().for_each(|&row| cells_of[row as usize] += 1);
        let cell = |cell: usize| {
            let (row, column) = (ids[cell], numbers[cell] as usize);
            let value = (values[cell] - offsets[column]) / scales[column];
            (row, column as u32, value * one_of(cells_of[row as usize]))
        };
        let cells = (0..entries.len()).map(cell);
        let by_column = Sparse::new(columns, cells.clone().map(|(row, column, value)| (column, row, value)));
        let sum = |column: usize, power: i32| -> f64 {
            by_column.row(column).map(|(_, value)| f64::from(value).powi(power)).sum()
        };
        let known = cells_of.iter().filter(|&&cells| cells > 0).count().max(1) as f64;
        let centres: Vec<f64> = (0..columns).map(|column| sum(column, 1) / known).collect();
        let spread = |column: usize| sum(column, 2) - known * centres[column].powi(2);
        let by_row = Sparse::new(rows, cells);
        Regression {
            squares: (0..columns).map(|column| spread(column).max(0.0)).collect(),
            products: if columns <= FEW { products(&by_row, &centres, known) } else { Vec::new() },
            by_row,
            by_column,
            centres,
            cells_of,
            is_zero,
            offsets,
            scales,
            precisions: vec![columns as f64; rank],
            effects: vec![0.0; columns * rank],
            means: vec![0.0; rows * rank],
            room: Vec::new(),
        }
    }

    /// Draws effects and how large they are, given the rows, and what all matrices, this one among them, add to their means.
    pub(super) fn draw(&mut self, rows: &[f32], means: &[f32], rank: usize, streams: Streams, matrix: u64) {
        let mut room = std::mem::take(&mut self.room);
        room.resize(rows.len(), 0.0);
        // A draw is the solution for a right side with noise: of variance 1 in rows, of the prior's precision in effects.
        let totals = self.fill(&mut room, rank, |row, noisy| {
            let mut generator = streams.column(matrix, row);
            for (place, noisy) in (row * rank..).zip(noisy) {
                // What other matrices leave of it.
                let rest = rows[place] - (means[place] - self.means[place]);
                *noisy = f64::from(rest) + normal(&mut generator);
            }
        });
        let mut right = self.transposed(&room, &totals);
        let mut random = streams.matrix(matrix);
        for column in right.chunks_exact_mut(rank) {
            for (value, precision) in column.iter_mut().zip(&self.precisions) {
                *value += precision.sqrt() * normal(&mut random);
            }
        }
        let solved = self.solve(&right, rank, &mut room);
        self.effects = solved.iter().map(|&value| value as f32).collect();
        let count = self.centres.len() as f64;
        for (k, precision) in self.precisions.iter_mut().enumerate() {
            let sum: f64 = solved.iter().skip(k).step_by(rank).map(|value| value * value).sum();
            *precision = half_cauchy(&mut random, *precision, count, sum);
        }
        self.apply(&solved, rank, &mut room);
        // The first concept is the same for all.
        let mean = |place: usize, mean: &mut f32| {
            *mean = if place.is_multiple_of(rank) { 0.0 } else { room[place] as f32 };
        };
        parallel::change(&mut self.means, mean);
        self.room = room;
    }

    /// What these effects are for cells as they are in the data.
    pub(super) fn known(&self, effects: &[f32], rank: usize) -> Effects {
        let mut base = vec![0.0f64; rank];
        let mut values = effects.to_vec();
        let columns = values.chunks_exact_mut(rank).zip(&self.centres).zip(&self.scales);
        for ((effects, centre), scale) in columns {
            base.iter_mut().zip(effects.iter()).for_each(|(sum, &effect)| *sum -= centre * f64::from(effect));
            effects.iter_mut().for_each(|effect| *effect /= scale);
        }
        let squares = |values: &[f32]| values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>();
        let free = (rank - 1).max(1) as f64 * (self.means.len() / rank).max(1) as f64;
        let explained = squares(&self.means) / free;
        Effects {
            // Rows have a variance of 1 beyond what is explained.
            explained: (explained / (1.0 + explained)) as f32,
            base: base.into_iter().map(|value| value as f32).collect(),
            offsets: self.offsets.clone(),
            factor: Factor::new(rank, values),
        }
    }

    /// The columns for which products with rows come closest to the matrix, which had no part in finding the rows.
    pub(super) fn columns(&self, rows: &[f32], rank: usize) -> Vec<f32> {
        let mut shared = gram(rows, rank);
        (0..rank).for_each(|k| shared[k * rank + k] += 1.0);
        factorize(&mut shared, rank);
        let mut all = vec![0.0; self.effects.len()];
        parallel::chunks_mut(&mut all, rank, |column, values| {
            let (mut system, mut pull) = (vec![0.0; rank * rank], vec![0.0; rank]);
            (0..rank).for_each(|k| system[k * rank + k] = 1.0);
            for (row, value) in self.by_column.row(column) {
                let cells = self.cells_of[row as usize];
                let value = value / one_of(cells) * self.scales[column] + self.offsets[column];
                let row = &rows[row as usize * rank..][..rank];
                for (k, &a) in row.iter().enumerate() {
                    pull[k] += f64::from(value) * f64::from(a);
                    let sums = system[k * rank..=k * rank + k].iter_mut().zip(row);
                    sums.for_each(|(sum, &b)| *sum += f64::from(a) * f64::from(b));
                }
            }
            let factor = if self.is_zero {
                &shared
            } else {
                factorize(&mut system, rank);
                &system
            };
            solve_lower(factor, rank, &mut pull);
            solve_upper(factor, rank, &mut pull);
            values.iter_mut().zip(&pull).for_each(|(value, &solved)| *value = solved as f32);
        });
        all
    }

    /// Keeps some concepts.
    pub(super) fn keep(&mut self, kept: &[usize], rank: usize) {
        self.effects = some(&self.effects, rank, kept);
        self.means = some(&self.means, rank, kept);
        self.precisions = kept.iter().map(|&k| self.precisions[k]).collect();
    }

    /// Follows a change of the rows' scale: each concept but the first was multiplied with its number of `by`.
    pub(super) fn rescale(&mut self, by: &[f32]) {
        for values in [&mut self.effects, &mut self.means] {
            parallel::rows_mut(values, by.len(), |_, values| {
                values.iter_mut().zip(by).skip(1).for_each(|(value, by)| *value *= by);
            });
        }
    }

    /// The effects that solve `(F'F + precisions) effects = right`, from those that there are.
    fn solve(&self, right: &[f64], rank: usize, room: &mut [f64]) -> Vec<f64> {
        let mut solved: Vec<f64> = self.effects.iter().map(|&value| f64::from(value)).collect();
        let mut product = |values: &[f64]| {
            let mut product = if self.products.is_empty() {
                let totals = self.apply(values, rank, room);
                self.transposed(room, &totals)
            } else {
                let mut all = vec![0.0; values.len()];
                let lines = self.products.chunks_exact(values.len() / rank);
                for (sums, line) in all.chunks_exact_mut(rank).zip(lines) {
                    for (values, product) in values.chunks_exact(rank).zip(line) {
                        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += product * value);
                    }
                }
                all
            };
            let terms = product.chunks_exact_mut(rank).zip(values.chunks_exact(rank));
            terms.for_each(|(product, values)| {
                product.iter_mut().zip(values).zip(&self.precisions).for_each(|((p, v), a)| *p += a * v);
            });
            product
        };
        let conditioned = |values: &[f64]| -> Vec<f64> {
            let columns = values.chunks_exact(rank).zip(&self.squares);
            columns
                .flat_map(|(values, square)| {
                    values
                        .iter()
                        .zip(&self.precisions)
                        .map(move |(value, precision)| value / (square + precision))
                })
                .collect()
        };
        let dots = |a: &[f64], b: &[f64]| -> Vec<f64> {
            let mut sums = vec![0.0; rank];
            for (a, b) in a.chunks_exact(rank).zip(b.chunks_exact(rank)) {
                sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
            }
            sums
        };
        let start = product(&solved);
        let mut residual: Vec<f64> =
            right.iter().zip(start).map(|(right, product)| right - product).collect();
        let mut direction = conditioned(&residual);
        let mut lengths = dots(&residual, &direction);
        let enough: Vec<f64> = dots(right, &conditioned(right)).into_iter().map(|all| CLOSE * all).collect();
        for _ in 0..STEPS {
            if lengths.iter().zip(&enough).all(|(length, enough)| length <= enough) {
                break;
            }
            let along = product(&direction);
            let curvatures = dots(&direction, &along);
            let step =
                |(length, curvature): (&f64, &f64)| if *curvature > 0.0 { length / curvature } else { 0.0 };
            let steps: Vec<f64> = lengths.iter().zip(&curvatures).map(step).collect();
            for (place, step) in (0..solved.len()).zip(steps.iter().cycle()) {
                solved[place] += step * direction[place];
                residual[place] -= step * along[place];
            }
            let next = conditioned(&residual);
            let next_lengths = dots(&residual, &next);
            let keep: Vec<f64> = next_lengths
                .iter()
                .zip(&lengths)
                .map(|(next, last)| if *last > 0.0 { next / last } else { 0.0 })
                .collect();
            for ((direction, next), keep) in direction.iter_mut().zip(next).zip(keep.iter().cycle()) {
                *direction = next + keep * *direction;
            }
            lengths = next_lengths;
        }
        solved
    }

    /// What effects come to for each row; returns the sums over rows that have cells.
    fn apply(&self, effects: &[f64], rank: usize, all: &mut [f64]) -> Vec<f64> {
        let mut centre = vec![0.0; rank];
        for (effects, mean) in effects.chunks_exact(rank).zip(&self.centres) {
            centre.iter_mut().zip(effects).for_each(|(sum, effect)| *sum += mean * effect);
        }
        self.fill(all, rank, |row, sums| {
            if self.cells_of[row] == 0 {
                sums.fill(0.0);
                return;
            }
            sums.iter_mut().zip(&centre).for_each(|(sum, centre)| *sum = -centre);
            add(&self.by_row, row, effects, sums);
        })
    }

    /// Fills the numbers of each row; returns their sums over rows that have cells.
    fn fill(&self, all: &mut [f64], rank: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let pieces = parallel::map_of(all.chunks_mut(ROWS * rank).enumerate(), |(piece, rows)| {
            let mut sums = vec![0.0; rank];
            for (row, values) in (piece * ROWS..).zip(rows.chunks_exact_mut(rank)) {
                fill(row, values);
                if self.cells_of[row] > 0 {
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += *value);
                }
            }
            sums
        });
        (0..rank).map(|k| pieces.iter().map(|piece: &Vec<f64>| piece[k]).sum()).collect()
    }

    /// What values of rows come to for each column, given their totals.
    fn transposed(&self, values: &[f64], totals: &[f64]) -> Vec<f64> {
        let rank = totals.len();
        let mut all = vec![0.0; self.effects.len()];
        // A few columns may have most of the cells.
        let mut left = &mut all[..];
        let pieces = self.by_column.pieces(PIECE).into_iter().map(|columns| {
            let (sums, rest) = std::mem::take(&mut left).split_at_mut(columns.len() * rank);
            left = rest;
            (columns, sums)
        });
        parallel::each(pieces.collect::<Vec<_>>(), |(columns, sums)| {
            for (column, sums) in columns.zip(sums.chunks_exact_mut(rank)) {
                sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum = -self.centres[column] * total);
                add(&self.by_column, column, values, sums);
            }
        });
        all
    }
}

/// The products of all pairs of columns, whose centres are taken off, over rows that have cells.
fn products(by_row: &Sparse, centres: &[f64], known: f64) -> Vec<f64> {
    let pairs = centres.iter().flat_map(|a| centres.iter().map(move |b| -known * a * b));
    let mut products: Vec<f64> = pairs.collect();
    for row in 0..by_row.rows() {
        for (column, value) in by_row.row(row) {
            let line = &mut products[column as usize * centres.len()..][..centres.len()];
            for (other, times) in by_row.row(row) {
                line[other as usize] += f64::from(value) * f64::from(times);
            }
        }
    }
    products
}

/// Adds the rows of `others` that the cells of a row name, each times its value.
fn add(cells: &Sparse, row: usize, others: &[f64], sums: &mut [f64]) {
    let rank = sums.len();
    for (other, value) in cells.row(row) {
        let other = &others[other as usize * rank..][..rank];
        sums.iter_mut().zip(other).for_each(|(sum, other)| *sum += f64::from(value) * other);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;
    use crate::problem::Entries;

    const ROWS: usize = 7;
    const COLUMNS: usize = 3;

    /// The last row has no cell.
    fn matrix(kind: Absent) -> (Coupled, Vec<(usize, usize, f64)>) {
        let cells = vec![
            (0, 0, 1.0),
            (0, 1, 2.0),
            (1, 1, -1.0),
            (2, 2, 0.5),
            (3, 0, 3.0),
            (3, 2, 1.5),
            (4, 1, 0.5),
            (5, 2, 2.0),
        ];
        let list = |of: &dyn Fn(&(usize, usize, f64)) -> u32| cells.iter().map(of).collect::<Vec<u32>>();
        let values = cells.iter().map(|cell| cell.2 as f32).collect();
        let entries = Entries::new(vec![list(&|cell| cell.0 as u32), list(&|cell| cell.1 as u32)], values);
        (Coupled::new(0, kind, entries.unwrap()).unwrap(), cells)
    }

    /// The features that the regression should have, as a plain matrix.
    fn features(kind: Absent, cells: &[(usize, usize, f64)]) -> DMatrix<f64> {
        let mut features = DMatrix::zeros(ROWS, COLUMNS);
        for column in 0..COLUMNS {
            let values: Vec<f64> = cells.iter().filter(|cell| cell.1 == column).map(|cell| cell.2).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance =
                values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
            for cell in cells.iter().filter(|cell| cell.1 == column) {
                let count = cells.iter().filter(|other| other.0 == cell.0).count() as f64;
                let value = if kind == Absent::Zeros { cell.2 } else { cell.2 - mean };
                features[(cell.0, column)] = value / variance.sqrt() / count.sqrt();
            }
            let centre = features.column(column).sum() / 6.0;
            (0..6).for_each(|row| features[(row, column)] -= centre);
        }
        features
    }

    #[test]
    fn effects_come_from_the_distribution_of_a_ridge_regression() {
        const DRAWS: usize = 4000;
        let rest: Vec<f32> = (0..ROWS * 2).map(|place| ((place * 7 % 11) as f32 - 5.0) / 3.0).collect();
        for kind in [Absent::Zeros, Absent::Missing] {
            let (coupled, cells) = matrix(kind);
            let features = features(kind, &cells);
            let system = features.transpose() * &features + DMatrix::identity(COLUMNS, COLUMNS) * 2.0;
            let inverse = system.try_inverse().unwrap();
            let values = DVector::from_iterator(ROWS, rest.iter().skip(1).step_by(2).map(|&v| f64::from(v)));
            let mean = &inverse * features.transpose() * values;
            let mut draws = Vec::new();
            for epoch in 0..DRAWS {
                let mut regression = Regression::new(&coupled, ROWS, 2);
                regression.precisions = vec![2.0; 2];
                regression.draw(
                    &rest,
                    &regression.means.clone(),
                    2,
                    Streams { seed: 1, epoch: epoch as u64 },
                    0,
                );
                let effects: Vec<f64> =
                    regression.effects.iter().skip(1).step_by(2).map(|&v| f64::from(v)).collect();
                // The means are the features times the effects.
                let means = &features * DVector::from_vec(effects.clone());
                for row in 0..ROWS {
                    assert!((f64::from(regression.means[2 * row + 1]) - means[row]).abs() < 1e-4);
                    assert_eq!(regression.means[2 * row], 0.0);
                }
                draws.push(effects);
            }
            for k in 0..COLUMNS {
                let average = draws.iter().map(|draw| draw[k]).sum::<f64>() / DRAWS as f64;
                let variance =
                    draws.iter().map(|draw| (draw[k] - average).powi(2)).sum::<f64>() / DRAWS as f64;
                let expected = inverse[(k, k)];
                assert!((average - mean[k]).abs() < 5.0 * (expected / DRAWS as f64).sqrt(), "{kind:?} {k}");
                assert!((variance / expected - 1.0).abs() < 0.15, "{variance} and not {expected}");
            }
        }
    }

    #[test]
    fn products_of_pairs_of_columns_stand_for_passes_over_rows() {
        for kind in [Absent::Zeros, Absent::Missing] {
            let draw = |pairs: bool| {
                let mut regression = Regression::new(&matrix(kind).0, ROWS, 2);
                assert_eq!(regression.products.len(), COLUMNS * COLUMNS);
                if !pairs {
                    regression.products.clear();
                }
                let rows: Vec<f32> = (0..ROWS * 2).map(|place| (place as f32).sin()).collect();
                regression.draw(&rows, &[0.0; ROWS * 2], 2, Streams { seed: 1, epoch: 1 }, 0);
                regression.effects
            };
            let (pairs, passes) = (draw(true), draw(false));
            assert!(pairs.iter().any(|effect| effect.abs() > 1e-3));
            assert!(pairs.iter().zip(&passes).all(|(a, b)| (a - b).abs() < 1e-5), "{pairs:?} {passes:?}");
        }
    }

    #[test]
    fn what_is_known_of_effects_gives_the_same_means() {
        for kind in [Absent::Zeros, Absent::Missing] {
            let (coupled, cells) = matrix(kind);
            let mut regression = Regression::new(&coupled, ROWS, 2);
            let rest: Vec<f32> = (0..ROWS * 2).map(|place| (place as f32).sin()).collect();
            regression.draw(&rest, &regression.means.clone(), 2, Streams { seed: 1, epoch: 1 }, 0);
            let known = regression.known(&regression.effects, 2);
            for row in 0..ROWS {
                let own = cells.iter().filter(|cell| cell.0 == row);
                let mean = known.mean(own.map(|cell| (cell.1 as u32, cell.2 as f32)));
                let expected = f64::from(regression.means[2 * row + 1]);
                assert!((mean[1] - expected).abs() < 1e-5, "{kind:?} {row}: {} {expected}", mean[1]);
            }
        }
    }

    #[test]
    fn columns_are_those_of_a_regression_of_the_matrix_on_rows() {
        let (coupled, cells) = matrix(Absent::Zeros);
        let regression = Regression::new(&coupled, ROWS, 2);
        let rows: Vec<f32> = (0..ROWS).flat_map(|row| [1.0, (row as f32 * 1.3).cos()]).collect();
        let mut dense = DMatrix::zeros(ROWS, COLUMNS);
        cells.iter().for_each(|cell| dense[(cell.0, cell.1)] = cell.2);
        let factor = DMatrix::from_fn(ROWS, 2, |row, k| f64::from(rows[2 * row + k]));
        let system = factor.transpose() * &factor + DMatrix::identity(2, 2);
        let expected = system.try_inverse().unwrap() * factor.transpose() * dense;
        let columns = regression.columns(&rows, 2);
        for column in 0..COLUMNS {
            for k in 0..2 {
                let (got, expected) = (f64::from(columns[2 * column + k]), expected[(k, column)]);
                assert!((got - expected).abs() < 1e-4, "{got} and not {expected}");
            }
        }
    }
}
