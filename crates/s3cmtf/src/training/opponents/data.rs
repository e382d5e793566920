//! What is fitted: entries less their base, in the order of each mode, and coupled matrices.

use super::base::Base;
use crate::Error;
use crate::model::{Core, Factor, Model};
use crate::params::{OpponentParams, Start};
use crate::problem::{Absent, Entries, Problem};
use crate::training::frame::{frame, known_rows, narrow};
use crate::training::matrix::Matrix;
use crate::training::view::View;

/// A problem as the methods of this folder see it.
pub(super) struct Data {
    /// How many rows each mode has.
    pub(super) rows: Vec<usize>,
    /// One for each mode.
    pub(super) views: Vec<View>,
    /// The mode with the most rows, whose view sums over all entries go through.
    pub(super) lead: usize,
    pub(super) matrices: Vec<Matrix>,
    pub(super) base: Base,
    /// Whether absent cells of the tensor are zeros.
    pub(super) zeros: bool,
    /// The sum of the squared values, less their base.
    pub(super) squares: f64,
    pub(super) seed: u64,
    frame: Model,
}

impl Data {
    /// `warm` says that there is a model to go on from: whatever its columns are, all of them are fitted.
    pub(super) fn new(
        problem: &Problem,
        entries: Entries,
        params: &OpponentParams,
        warm: bool,
    ) -> Result<Self, Error> {
        let rows: Vec<usize> = problem.modes().iter().map(|mode| mode.rows()).collect();
        let zeros = params.absent == Absent::Zeros;
        let seed = params.common.seed;
        let start = if zeros || warm { Start::Random } else { params.start };
        let base = Base::new(start, &entries, &rows, seed)?;
        let weight = |own: Option<f32>| own.unwrap_or(params.lambda_couple);
        let matrices = problem
            .coupled()
            .iter()
            .map(|matrix| Matrix::new(matrix, rows[matrix.mode()], f64::from(weight(matrix.weight()))));
        let frame = frame(problem, &entries, params.lambda_couple);
        let matrices = matrices.collect();
        let entries = base.off(entries);
        Ok(Data {
            squares: entries.values().iter().map(|&value| f64::from(value).powi(2)).sum(),
            // The most rows are the most pieces for threads.
            lead: (0..rows.len()).max_by_key(|&mode| rows[mode]).unwrap_or(0),
            views: (0..rows.len()).map(|mode| View::new(&entries, mode, &rows)).collect(),
            rows,
            matrices,
            base,
            zeros,
            seed,
            frame,
        })
    }

    pub(super) fn order(&self) -> usize {
        self.rows.len()
    }

    /// How many entries the tensor has.
    pub(super) fn entries(&self) -> usize {
        self.views[self.lead].len()
    }

    /// How many entries and cells a sweep goes through.
    pub(super) fn cells(&self) -> f64 {
        self.entries() as f64 + self.matrices.iter().map(|matrix| matrix.present as f64).sum::<f64>()
    }

    /// The root mean square of the values, less their base.
    pub(super) fn spread(&self) -> f64 {
        let spread = (self.squares / self.entries().max(1) as f64).sqrt();
        if spread > 0.0 { spread } else { 1.0 }
    }

    /// The rows of a mode in a model to go on from; those of ids that it does not have are its average.
    pub(super) fn known_rows(&self, warm: &Model, mode: usize) -> Vec<f64> {
        known_rows(&self.frame, warm, mode)
    }

    /// The columns of a matrix in such a model, if it has that matrix with as many.
    pub(super) fn known_columns<'a>(&self, warm: &'a Model, matrix: usize) -> Option<&'a [f32]> {
        let own = &self.frame.coupled[matrix];
        let known = warm.coupled_like(&own.name, own.mode)?;
        (known.factor.rows() == self.matrices[matrix].columns).then(|| known.factor.values())
    }

    /// A model with the given core, rows and columns of matrices; each list of rows with its rank.
    pub(super) fn model(
        &self,
        core: Core,
        rows: Vec<(usize, Vec<f64>)>,
        columns: Vec<(usize, Vec<f64>)>,
    ) -> Model {
        let factor =
            |(rank, values): (usize, Vec<f64>)| Factor::new(rank, values.into_iter().map(narrow).collect());
        let mut model = self.frame.clone();
        model.core = core;
        model.factors = rows.into_iter().map(factor).collect();
        for (coupled, columns) in model.coupled.iter_mut().zip(columns) {
            coupled.factor = factor(columns);
        }
        model
    }
}
