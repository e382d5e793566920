//! How little is known of a prediction, because little is known of the two rows it is made of.
//!
//! A prediction is `u' W x` for the row `u` of a user and `x` of an item. Where each number of a row has a variance of its
//! own, that of the prediction is, but for products of variances, `sum (W'u)^2 var(x) + sum var(u) (W x)^2`: a product of a
//! query of the user and a row of the item, as the prediction is. What stands for the other modes is the same for all items
//! and is taken as known.

use super::best::Panels;
use crate::{Factor, Uncertainty};

/// The variances of predictions, ready to be searched.
pub(super) struct PredictiveVariance<'a> {
    pub(super) panels: Panels,
    /// The variances of the rows of those to whom items are recommended.
    variances: &'a Factor,
    /// How many standard deviations are taken off.
    pub(super) caution: f32,
}

impl<'a> PredictiveVariance<'a> {
    /// Of the items' factor; `weights` have a row per concept of `by`.
    pub(super) fn new(
        uncertainty: &'a Uncertainty,
        (by, items): (usize, usize),
        factor: &Factor,
        weights: &[f32],
        caution: f32,
    ) -> Self {
        let variances = &uncertainty.variances[items];
        let mut rows = Vec::with_capacity(factor.rows() * (weights.len() / factor.rank() + factor.rank()));
        for row in 0..factor.rows() {
            let item = factor.row(row);
            rows.extend_from_slice(variances.row(row));
            let along = |weights: &[f32]| weights.iter().zip(item).map(|(a, b)| a * b).sum::<f32>();
            rows.extend(weights.chunks_exact(factor.rank()).map(|weights| along(weights).powi(2)));
        }
        let rank = factor.rank() + weights.len() / factor.rank();
        PredictiveVariance {
            panels: Panels::new(rank, &rows),
            variances: &uncertainty.variances[by],
            caution,
        }
    }

    /// What the rows of items are multiplied with for the variance; `query` is that for the prediction.
    pub(super) fn query(&self, row: u32, query: &[f32], to: &mut [f32]) {
        let (first, rest) = to.split_at_mut(query.len());
        first.iter_mut().zip(query).for_each(|(to, value)| *to = value * value);
        rest.copy_from_slice(self.variances.row(row as usize));
    }
}

#[cfg(test)]
mod tests {
    use crate::discovery::Recommender;
    use crate::{Cells, Core, Factor, Mode, Model, Uncertainty};

    #[test]
    fn what_is_taken_off_is_the_standard_deviation_that_a_model_has_of_a_cell() {
        let number = |seed: usize| ((seed * 7919 + 13) % 101) as f32 / 50.0 - 1.0;
        let factor = |rows: usize, rank: usize, seed: usize| {
            Factor::new(rank, (0..rows * rank).map(|place| number(place * place + seed)).collect())
        };
        let variances = |rows: usize, rank: usize, seed: usize| {
            Factor::new(rank, (0..rows * rank).map(|place| number(place + seed).powi(2) + 0.01).collect())
        };
        let modes = vec![Mode::new("user", 5), Mode::new("item", 20)];
        let core = Core::full(vec![3, 2], (0..6).map(|place| number(place + 1)).collect());
        let factors = vec![factor(5, 3, 1), factor(20, 2, 2)];
        let uncertainty = Uncertainty {
            noise: 0.0,
            shares: vec![vec![1.0; 5], vec![1.0; 20]],
            variances: vec![variances(5, 3, 3), variances(20, 2, 4)],
            scale: None,
        };
        let model = Model::new(modes, core, factors, Vec::new(), [0.0, 5.0]).unwrap();
        let plain = Recommender::new(&model, 0, 1, &[]).unwrap();
        assert!(plain.cautious(1.0).is_err());

        let model = model.with_uncertainty(uncertainty).unwrap();
        let cautious = |caution| Recommender::new(&model, 0, 1, &[]).unwrap().cautious(caution);
        assert!(cautious(-1.0).is_err() && cautious(f32::NAN).is_err());
        let found = cautious(1.5).unwrap().best(&[0, 4], 20);
        for (user, found) in [0, 4].into_iter().zip(found) {
            assert_eq!(found.len(), 20);
            assert!(found.windows(2).all(|pair| pair[0].rank_by >= pair[1].rank_by));
            let cells = vec![vec![user; 20], found.iter().map(|best| best.row).collect()];
            let cells = Cells::new(cells).unwrap();
            let (values, stds) = (model.predict(&cells, false).unwrap(), model.std(&cells).unwrap());
            for (best, (value, std)) in found.iter().zip(values.iter().zip(stds)) {
                assert!((best.value - value).abs() < 1e-5);
                assert!((best.rank_by - (value - 1.5 * std)).abs() < 1e-5, "{best:?} {value} {std}");
            }
        }
    }
}
