//! Draws of rows, given the sums over their entries.

use s3cmtf_kernels::{RowSystem, RowTotals};

use super::conditional::RowConditional;
use super::core::OFFSET;
use super::random::normal;
use crate::params::Component;

/// What becomes of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drawn {
    pub(super) rows: Vec<f32>,
    /// For each row the sum of squared errors, each entry's times the shares of its other rows.
    pub(super) squares: Vec<f64>,
}

/// Where a row and its sum of squared errors are put, and what is moved towards its distribution, if there is a mean.
pub(super) struct Slot<'n> {
    pub(super) row: &'n mut [f32],
    pub(super) squares: &'n mut f64,
    pub(super) natural_params: &'n mut [f32],
}

/// Draws one row after the other: the working memory of one thread.
pub(super) struct Drawer<'a> {
    given: &'a RowConditional<'a>,
    /// How far the mean is moved.
    share: f32,
    /// Whether that is the mean of rows, not of their distributions.
    plain: bool,
    /// The sums so far: of a row with many entries, and of absent cells.
    totals: RowTotals,
    values: f64,
    /// What coupled matrices add to the precision and to the pull, if there are any.
    precision: Vec<f64>,
    pull: Vec<f64>,
    /// The system without the first concept, and a normal number for each of the others.
    system: RowSystem,
    normals: Vec<f64>,
    row: Vec<f64>,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(given: &'a RowConditional<'a>, share: f32) -> Self {
        let (rank, level) = (given.ranks[given.view.mode], given.view.normal.level());
        let coupled =
            if given.matrices.iter().any(|matrix| matrix.pulls(given.view.mode)) { rank } else { 0 };
        Drawer {
            given,
            share,
            plain: given.without.contains(&Component::RaoBlackwell)
                || given.without.contains(&Component::Averaging),
            totals: RowTotals::new(level, rank),
            values: 0.0,
            precision: vec![0.0; coupled * coupled],
            pull: vec![0.0; coupled],
            system: RowSystem::new(level, rank - 1),
            normals: vec![0.0; rank - 1],
            row: vec![0.0; rank],
        }
    }

    /// Begins another row.
    pub(super) fn clear(&mut self) {
        self.totals.clear();
        self.values = 0.0;
    }

    /// Adds sums over some of the row's entries. Their order matters to the last bit.
    pub(super) fn add(&mut self, squares: &[f32], products: &[f32], values: f64) {
        self.totals.add(squares, products);
        self.values += values;
    }

    /// Draws the row whose sums were added.
    pub(super) fn draw(&mut self, row: usize, slot: Slot<'_>) {
        let natural_params = slot.natural_params;
        let RowConditional { view, noise, zeros, matrices, means, factors, streams, .. } = *self.given;
        let rank = self.row.len();
        if let Some(zeros) = zeros {
            zeros.add(&mut self.totals);
        }
        let share = f64::from(noise.roots[view.mode][row]).powi(2);
        let weight = noise.tau * share;

        // The precision and the pull of all that is known, given that the first concept is 1.
        self.system.weigh(&self.totals, weight);
        self.precision.fill(0.0);
        self.pull.fill(0.0);
        for matrix in matrices.iter().filter(|matrix| matrix.pulls(view.mode)) {
            matrix.pull_row(row, factors[view.mode], means, &mut self.precision, &mut self.pull);
        }
        let mean = means.get(row * rank..(row + 1) * rank);
        for k in 1..rank {
            let line = self.system.row_mut(k);
            let mut pull = weight * self.totals.products()[k];
            if let Some(more) = self.pull.get(k) {
                line.iter_mut().zip(&self.precision[k * rank..]).for_each(|(sum, more)| *sum += more);
                pull += more;
            }
            let prior = if k > OFFSET { noise.hurdle } else { 1.0 };
            if let Some(mean) = mean {
                pull += prior * f64::from(mean[k]);
            }
            line[k] += prior;
            line[0] = pull - line[0];
        }
        if !natural_params.is_empty() && !self.plain {
            self.system.approach(natural_params, self.share);
        }
        self.system.factorize();
        let mut generator = streams.row(view.mode, row);
        self.normals.iter_mut().for_each(|number| *number = normal(&mut generator));
        self.row[1..].copy_from_slice(self.system.solve(&self.normals));
        self.row[0] = 1.0;
        if !natural_params.is_empty() && self.plain {
            // The distribution that lies at the row itself.
            let triangle = (0..rank - 1).flat_map(|k| (0..=k).map(move |l| f64::from(u8::from(k == l))));
            let numbers: Vec<f64> = triangle.chain(self.row[1..].iter().copied()).collect();
            approach(natural_params, &numbers, self.share);
        }

        slot.row.iter_mut().zip(&self.row).for_each(|(slot, &value)| *slot = value as f32);
        *slot.squares = (self.values + self.totals.squared_errors(&self.row)).max(0.0);
    }
}

/// Moves numbers by a share of the way.
fn approach(numbers: &mut [f32], goals: &[f64], share: f32) {
    numbers.iter_mut().zip(goals).for_each(|(number, &goal)| *number += share * (goal as f32 - *number));
}
