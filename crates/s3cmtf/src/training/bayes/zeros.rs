//! Absent cells that are zeros: what they say of rows and of the core, without visiting any.

use s3cmtf_kernels::RowTotals;

use super::core::{CoreState, System};
use super::pass::{Chunk, Group, Pass};
use super::random::{Streams, normal};
use super::sample::Sample;
use crate::Error;
use crate::training::cholesky::factorize;
use crate::training::complete::{Complete, along_all};
use crate::training::gram::gram;

/// That absent cells are zeros, and what they count.
#[derive(Clone, Copy)]
pub(super) struct Zeros {
    /// What one counts against a cell that is there.
    pub(super) weight: f64,
    /// How many cells the tensor has.
    pub(super) cells: f64,
}

/// Zeros, given rows.
pub(super) struct ZerosGiven {
    pub(super) zeros: Zeros,
    complete: Complete,
}

/// What the zeros of a row of some mode say about it; all cells of each say the same.
pub(super) struct RowZeros {
    weight: f64,
    all: Vec<f64>,
}

impl Zeros {
    pub(super) fn new(weight: f64, rows: &[usize]) -> Self {
        Zeros { weight, cells: rows.iter().map(|&rows| rows as f64).product() }
    }

    /// As how many observations so many entries and all zeros count.
    pub(super) fn count(self, entries: f64) -> f64 {
        entries + self.weight * (self.cells - entries).max(0.0)
    }

    /// What values are divided by: the root of their mean square over all cells, given that and the number of those that are there.
    pub(super) fn spread(self, mean_square: f64, entries: f64) -> f64 {
        (mean_square * entries / self.count(entries)).sqrt().max(1e-30)
    }

    pub(super) fn given(self, ranks: &[usize], factors: &[Vec<f32>]) -> ZerosGiven {
        let grams = factors.iter().zip(ranks).map(|(factor, &rank)| gram(factor, rank)).collect();
        ZerosGiven { zeros: self, complete: Complete::new(ranks, grams) }
    }
}

impl ZerosGiven {
    /// What they say about the rows of a mode.
    pub(super) fn of_rows(&self, core: &[f32], mode: usize) -> RowZeros {
        let core: Vec<f64> = core.iter().map(|&value| value.into()).collect();
        RowZeros { weight: self.zeros.weight, all: self.complete.of_row(&core, mode) }
    }

    /// Takes up the rows of a mode as they are now.
    pub(super) fn update(&mut self, mode: usize, rows: &[f32], rank: usize) {
        self.complete.update(mode, gram(rows, rank));
    }

    /// Numbers whose covariance is X'X over all cells.
    fn scatter(&self, ranks: &[usize], streams: Streams) -> Vec<f64> {
        let mut generator = streams.zeros();
        let numbers: Vec<f64> = (0..ranks.iter().product()).map(|_| normal(&mut generator)).collect();
        let roots: Vec<Vec<f64>> =
            ranks.iter().enumerate().map(|(mode, &rank)| self.root(mode, rank)).collect();
        along_all(&numbers, ranks, &roots)
    }

    /// The Cholesky factor of a mode's Gram matrix.
    fn root(&self, mode: usize, rank: usize) -> Vec<f64> {
        let mut root = self.complete.gram(mode).to_vec();
        factorize(&mut root, rank);
        root.chunks_exact_mut(rank).enumerate().for_each(|(k, line)| line[k + 1..].fill(0.0));
        root
    }
}

impl RowZeros {
    /// Makes of the sums over a row's entries those over all of its cells: an entry is no zero.
    pub(super) fn add(&self, totals: &mut RowTotals) {
        let rank = totals.products().len();
        for (sums, all) in totals.rows_mut().zip(self.all.chunks_exact(rank)) {
            let sums = sums.iter_mut().zip(all);
            sums.for_each(|(sum, all)| *sum = (1.0 - self.weight) * *sum + self.weight * all);
        }
    }
}

impl CoreState {
    /// Draws the core and its prior, if `all`, where absent cells are zeros; returns the sum of squared errors before that, zeros
    /// included.
    pub(super) fn draw_with_zeros(
        &mut self,
        pass: &Pass<'_>,
        given: &ZerosGiven,
        tau: f64,
        all: bool,
        streams: Streams,
    ) -> Result<f64, Error> {
        let layout = pass.layout();
        let weight = given.zeros.weight;
        let (absent, scatter) = (weight as f32, ((1.0 - weight).max(0.0) / tau).sqrt() as f32);
        // As for entries alone, but that an entry is among all cells, too, which count as zeros: that is taken off it.
        let chunk = |(first, values, predictions): Chunk<'_>| {
            let mut signs = streams.signs(first);
            let mut sum = 0.0;
            for (slot, &value) in predictions.iter_mut().zip(values) {
                let (predicted, error) = (*slot, value - *slot);
                sum += f64::from(error) * f64::from(error)
                    - weight * f64::from(predicted) * f64::from(predicted);
                let sign = if signs & 1 == 0 { scatter } else { -scatter };
                signs >>= 1;
                *slot = error + absent * predicted + sign;
            }
            sum
        };
        let entries = |group: &Group<'_>, predictions: &mut [f32]| group.each_chunk(predictions, chunk);
        let (mut squares, gradient) = pass.go(&layout.pack(&self.values), all, &entries)?;
        let core: Vec<f64> = self.values.iter().map(|&value| value.into()).collect();
        let predicted = given.complete.of_core(&core);
        squares += weight * core.iter().zip(&predicted).map(|(a, b)| a * b).sum::<f64>();
        if all {
            let random = given.scatter(pass.ranks, streams);
            let zeros = predicted.iter().zip(random);
            let zeros = zeros.map(|(predicted, random)| (weight / tau).sqrt() * random - weight * predicted);
            let gradient: Vec<f32> = layout
                .unpack(&gradient)
                .iter()
                .zip(zeros)
                .map(|(&gradient, zeros)| (f64::from(gradient) + zeros) as f32)
                .collect();
            let wide = |core: &[f32]| core.iter().map(|&value| value.into()).collect::<Vec<f64>>();
            let product = |direction: &[f32], sample: Sample| {
                let zeros = given.complete.of_core(&wide(direction)).into_iter().map(|sum| weight * sum);
                // Where a zero counts as much as an entry, nothing is left of those.
                if weight == 1.0 {
                    return Ok(zeros.map(|sum| sum as f32).collect());
                }
                let entries = layout.unpack(&pass.product(&layout.pack(direction), sample)?);
                let both = entries.iter().zip(zeros);
                Ok(both.map(|(&sum, zeros)| ((1.0 - weight) * f64::from(sum) + zeros) as f32).collect())
            };
            let curvature = |direction: &[f32]| {
                let direction_wide = wide(direction);
                let zeros = direction_wide.iter().zip(given.complete.of_core(&direction_wide));
                let zeros = weight * zeros.map(|(direction, sum)| direction * sum).sum::<f64>();
                Ok((1.0 - weight) * pass.curvature(&layout.pack(direction))? + zeros)
            };
            let system = System { product: &product, curvature: &curvature };
            let sample = if weight == 1.0 { Sample::ALL } else { self.sample(pass, streams) };
            self.step(&system, tau, &gradient, sample, streams)?;
        }
        Ok(squares.max(0.0))
    }
}
