//! Entries that models are evaluated on.

use s3cmtf_kernels::{Aligned, CHUNK, Level};

use crate::layout::{Chunks, Contraction, Order, deal};
use crate::model::{ErrorSums, Model};
use crate::problem::Entries;

/// Entries, by the problem's rows, in the order of the kernels that predict them.
pub(super) struct TestSet {
    contraction: Contraction,
    chunks: Chunks,
}

impl TestSet {
    /// Arranges entries for models that are shaped as the given one.
    pub(super) fn new(model: &Model, entries: Entries, level: Level) -> Self {
        let rows: Vec<usize> = model.factors.iter().map(|factor| factor.rows()).collect();
        let ranks: Vec<usize> = model.factors.iter().map(|factor| factor.rank()).collect();
        let contraction = Contraction::new(&ranks, &rows, model.core_kind(), level);
        // Unknown ids are one row more, the average of their mode.
        let (indices, values) = entries.known_or(&rows).into_parts();
        let tasks = deal(&indices[contraction.inner[0]]);
        let order = Order { chunk: CHUNK, tasks: Some(tasks), seed: None, places: false };
        TestSet { chunks: Chunks::new(&contraction, indices, values, order), contraction }
    }

    /// The RMSE of a model's predictions.
    pub(super) fn rmse(&self, model: &Model) -> f64 {
        let core = Aligned::from(self.contraction.pack(model.core.values()));
        let factors = model.factors.iter().map(|factor| [factor.values(), &factor.average()].concat());
        let factors: Vec<Vec<f32>> = factors.collect();
        let factors: Vec<&[f32]> = factors.iter().map(Vec::as_slice).collect();
        let errors =
            |entries, predictions: &[f32]| ErrorSums::new(&self.chunks.values[entries], predictions, None);
        let sums: ErrorSums = self.chunks.sum(&self.contraction, core.as_slice(), &factors, errors);
        (sums.squared / self.chunks.len() as f64).sqrt()
    }
}
