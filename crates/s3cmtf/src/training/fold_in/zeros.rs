//! What absent cells say about new rows, where they are zeros.

use super::system::Form;
use crate::model::{Core, Model, Uncertainty};
use crate::training::complete::Complete;
use crate::training::gram::gram;

/// The zeros of new rows.
pub(super) struct FoldInZeros {
    /// What one counts against an entry.
    weight: f64,
    /// For each mode the precision of all cells of a row.
    all: Vec<Vec<f64>>,
}

impl FoldInZeros {
    /// Those of a model, if its absent cells are zeros.
    pub(super) fn new(model: &Model, uncertainty: &Uncertainty) -> Option<Self> {
        let weight = model.absent_weight?;
        let modes = 0..model.factors().len();
        // Rows are known only so well, which adds to their squares on average.
        let moments = |mode: usize| {
            let (factor, variances) = (&model.factors()[mode], &uncertainty.variances[mode]);
            let rank = factor.rank();
            let mut moments = gram(factor.values(), rank);
            for row in variances.values().chunks_exact(rank) {
                row.iter()
                    .enumerate()
                    .for_each(|(k, &variance)| moments[k * rank + k] += f64::from(variance));
            }
            moments
        };
        let moments: Vec<Vec<f64>> = modes.clone().map(moments).collect();
        let core: Vec<f64> = model.core().values().iter().map(|&value| value.into()).collect();
        let all = match model.core() {
            Core::Full { ranks, .. } => {
                let complete = Complete::new(ranks, moments);
                modes.map(|mode| complete.of_row(&core, mode)).collect()
            }
            Core::Diagonal(_) => modes.map(|mode| like_concepts(&core, &moments, mode)).collect(),
        };
        Some(FoldInZeros { weight: weight.into(), all })
    }

    /// Adds the zeros of a row that the model has not, given the variance of values.
    pub(super) fn add(&self, mode: usize, noise: f64, to: &mut Form) {
        let sums = to.precision.iter_mut().zip(&self.all[mode]);
        sums.for_each(|(sum, all)| *sum += self.weight / noise * all);
    }

    /// Takes off sums over entries that each of them was a zero.
    pub(super) fn take_off(&self, sums: &mut Form) {
        sums.precision.iter_mut().for_each(|sum| *sum *= 1.0 - self.weight);
    }
}

/// The sum of d d' over all cells of a row, where like concepts interact: products of all other modes' moments.
fn like_concepts(core: &[f64], moments: &[Vec<f64>], mode: usize) -> Vec<f64> {
    let rank = core.len();
    let others =
        || moments.iter().enumerate().filter(|(other, _)| *other != mode).map(|(_, moments)| moments);
    let one = |place: usize| {
        core[place / rank] * core[place % rank] * others().map(|all| all[place]).product::<f64>()
    };
    (0..rank * rank).map(one).collect()
}
