//! Draws of rows, given the sums over their entries.

use s3cmtf_kernels::RowSystem;

use super::conditional::RowConditional;
use super::core::OFFSET;
use super::random::normal;
use super::sums::RowSums;
use crate::parallel;
use crate::params::Component;
use crate::training::dense::dot;

/// What becomes of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drawn {
    pub(super) rows: Vec<f32>,
    /// For each row the sum of squared errors, each entry's times the shares of its other rows.
    pub(super) squares: Vec<f64>,
}

impl Drawn {
    /// All of them after each other.
    pub(super) fn concat(parts: &[Drawn]) -> Self {
        Drawn {
            rows: parallel::concat(parts, |part| &part.rows),
            squares: parallel::concat(parts, |part| &part.squares),
        }
    }
}

/// Draws one row after the other: the working memory of one thread.
pub(super) struct Drawer<'a> {
    given: &'a RowConditional<'a>,
    /// How far the mean is moved.
    share: f32,
    /// Whether that is the mean of rows, not of their distributions.
    plain: bool,
    /// The sums so far, in f64: of a row with many entries, and of its coupled matrices.
    precision: Vec<f64>,
    pull: Vec<f64>,
    values: f64,
    /// The same with the prior and the precision.
    all: Vec<f64>,
    all_pull: Vec<f64>,
    /// The system without the first concept, and a normal number for each of the others.
    system: RowSystem,
    normals: Vec<f64>,
    row: Vec<f64>,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(given: &'a RowConditional<'a>, share: f32) -> Self {
        let rank = given.ranks[given.view.mode];
        Drawer {
            given,
            share,
            plain: given.without.contains(&Component::RaoBlackwell)
                || given.without.contains(&Component::Averaging),
            precision: vec![0.0; rank * rank],
            pull: vec![0.0; rank],
            values: 0.0,
            all: Vec::new(),
            all_pull: Vec::new(),
            system: RowSystem::new(given.view.normal.level(), rank - 1),
            normals: vec![0.0; rank - 1],
            row: vec![0.0; rank],
        }
    }

    /// Begins another row.
    pub(super) fn clear(&mut self) {
        self.precision.fill(0.0);
        self.pull.fill(0.0);
        self.values = 0.0;
    }

    /// Adds sums over some of the row's entries. Their order matters to the last bit.
    pub(super) fn add(&mut self, sums: &RowSums) {
        let (rank, pad) = (self.pull.len(), self.given.view.normal.pad());
        for k in 0..rank {
            for l in 0..=k {
                self.precision[k * rank + l] += f64::from(sums.squares[k * pad + l]);
            }
            self.pull[k] += f64::from(sums.products[k]);
        }
        self.values += sums.values;
    }

    /// Draws the row whose sums were added.
    pub(super) fn draw(&mut self, row: usize, drawn: &mut Drawn, natural_params: &mut [f32]) {
        let RowConditional { view, noise, zeros, matrices, means, factors, streams, .. } = *self.given;
        let rank = self.pull.len();
        if let Some(zeros) = zeros {
            zeros.add(&mut self.precision);
        }
        let share = f64::from(noise.roots[view.mode][row]).powi(2);
        let weight = noise.tau * share;
        let free = rank - 1;

        // The precision and the pull of all that is known, first concept included.
        let (precision, pull) = (&mut self.all, &mut self.all_pull);
        precision.clear();
        precision.extend(self.precision.iter().map(|sum| weight * sum));
        pull.clear();
        pull.extend(self.pull.iter().map(|sum| weight * sum));
        let prior = |k: usize| if k > OFFSET { noise.hurdle } else { 1.0 };
        (1..rank).for_each(|k| precision[k * rank + k] += prior(k));
        for matrix in matrices.iter().filter(|matrix| matrix.mode == view.mode) {
            matrix.pull_row(row, factors[view.mode], means, precision, pull);
        }
        if let Some(mean) = means.get(row * rank..(row + 1) * rank) {
            (1..rank).for_each(|k| pull[k] += prior(k) * f64::from(mean[k]));
        }
        // Given that the first concept is 1.
        (1..rank).for_each(|k| pull[k] -= precision[k * rank]);
        let precision_row = |k: usize| &precision[k * rank + 1..=k * rank + k];
        if !natural_params.is_empty() && !self.plain {
            let (triangle, pulls) = natural_params.split_at_mut(free * (free + 1) / 2);
            let mut rest = triangle;
            for k in 1..rank {
                let numbers;
                (numbers, rest) = rest.split_at_mut(k);
                approach(numbers, precision_row(k), self.share);
            }
            approach(pulls, &pull[1..], self.share);
        }
        self.system.set((1..rank).map(|k| (pull[k], precision_row(k))));
        let mut generator = streams.row(view.mode, row);
        self.normals.iter_mut().for_each(|number| *number = normal(&mut generator));
        self.row[1..].copy_from_slice(self.system.solve(&self.normals));
        self.row[0] = 1.0;
        if !natural_params.is_empty() && self.plain {
            // The distribution that lies at the row itself.
            let triangle = (0..free).flat_map(|k| (0..=k).map(move |l| f64::from(u8::from(k == l))));
            let numbers: Vec<f64> = triangle.chain(self.row[1..].iter().copied()).collect();
            approach(natural_params, &numbers, self.share);
        }

        drawn.rows.extend(self.row.iter().map(|&value| value as f32));
        let mut squares = self.values;
        for k in 0..rank {
            let own = &self.precision[k * rank..=k * rank + k];
            let product = 2.0 * dot(&own[..k], &self.row[..k]) + own[k] * self.row[k];
            squares += self.row[k] * (product - 2.0 * self.pull[k]);
        }
        drawn.squares.push(squares.max(0.0));
    }
}

/// Moves numbers by a share of the way.
fn approach(numbers: &mut [f32], goals: &[f64], share: f32) {
    numbers.iter_mut().zip(goals).for_each(|(number, &goal)| *number += share * (goal as f32 - *number));
}
