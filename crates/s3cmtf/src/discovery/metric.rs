//! How far predictions lie apart: the coordinates in which rows of a mode are looked at.

use super::matrix::{Along, Moments, eigen, quadratic, sensitivity, weights};
use crate::model::Core;

/// Directions in which predictions vary less than this share of the most are rounding.
pub(super) const LEAST: f64 = 1e-9;

/// The level is a concept of its own where it has this part of what varies. It has 6 % of what varies between the businesses
/// of the generated world, whose themes are liked by some users each; of the films of MovieLens (latest, small) 76 %.
pub(super) const LEVEL: f64 = 0.3;

/// What the predictions of a mode's rows depend on.
pub(super) struct Metric {
    /// See [`sensitivity`].
    pub(super) weights: Vec<f64>,
    /// What a row is multiplied with for its prediction with the mean entities of all other modes.
    pub(super) common: Vec<f64>,
}

impl Metric {
    pub(super) fn new(core: &Core, moments: &[Moments], mode: usize) -> Self {
        let order = moments.len();
        Metric {
            weights: sensitivity(core, order, mode, |other| Along::All(&moments[other].second)),
            common: weights(core, order, mode, |other| &moments[other].mean),
        }
    }

    /// Whether rows that vary so differ in their level by so much that it is a concept of its own.
    pub(super) fn has_level(&self, covariance: &[f64]) -> bool {
        let size = self.common.len();
        let pairs = eigen(size, &self.weights);
        let least = LEAST * pairs.first().map_or(0.0, |(value, _)| value.max(0.0));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let strong = pairs.iter().filter(|(value, _)| *value > least);
        let length: f64 = strong.map(|(value, axis)| dot(axis, &self.common).powi(2) / value).sum();
        let varies: f64 = self.weights.iter().zip(covariance).map(|(a, b)| a * b).sum();
        length > 0.0 && varies > 0.0 && quadratic(covariance, &self.common) / length >= LEVEL * varies
    }

    /// Axes such that the distance of two rows along all of them is how far their predictions lie apart. Without the level,
    /// rows that differ in nothing but how high values are with the mean entities of the other modes are the same.
    pub(super) fn axes(&self, level: bool) -> Vec<Vec<f64>> {
        let pairs = eigen(self.common.len(), &self.weights);
        let least = LEAST * pairs.first().map_or(0.0, |(value, _)| value.max(0.0));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let root = |value: f64| if value > least { value.sqrt() } else { 0.0 };
        // Where the level points, along these axes.
        let mut direction: Vec<f64> = pairs
            .iter()
            .map(|(value, axis)| if *value > least { dot(axis, &self.common) / root(*value) } else { 0.0 })
            .collect();
        let length = dot(&direction, &direction).sqrt();
        let mut axes: Vec<Vec<f64>> = pairs
            .into_iter()
            .map(|(value, axis)| axis.into_iter().map(|part| part * root(value)).collect())
            .collect();
        if level || length <= 0.0 || !length.is_finite() {
            return axes;
        }
        direction.iter_mut().for_each(|part| *part /= length);
        let mut along = vec![0.0; self.common.len()];
        for (axis, part) in axes.iter().zip(&direction) {
            along.iter_mut().zip(axis).for_each(|(sum, value)| *sum += part * value);
        }
        for (axis, part) in axes.iter_mut().zip(&direction) {
            axis.iter_mut().zip(&along).for_each(|(value, along)| *value -= part * along);
        }
        axes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Factor;

    /// Rows that differ in their level alone are one point without it, and as far apart as their predictions with it.
    #[test]
    fn what_all_agree_on_is_the_level() {
        // Users: three who differ in one taste. A row of an item: what all like, what they differ in.
        let users = Factor::new(2, vec![1.0, 1.0, 1.0, 0.0, 1.0, -1.0]);
        let items = Factor::new(2, vec![0.5, 1.0, 2.0, 1.0, -1.0, 3.0]);
        let core = Core::full(vec![2, 2], vec![1.0, 0.0, 0.0, 2.0]);
        let moments: Vec<Moments> = [&users, &items].into_iter().map(Moments::new).collect();
        let metric = Metric::new(&core, &moments, 1);
        let distance = |axes: &[Vec<f64>], a: usize, b: usize| {
            let along = |axis: &Vec<f64>| {
                let terms = axis.iter().zip(items.row(a)).zip(items.row(b));
                terms.map(|((axis, &a), &b)| axis * f64::from(a - b)).sum::<f64>().powi(2)
            };
            axes.iter().map(along).sum::<f64>()
        };
        // Predictions of items 0 and 1 differ by 1.5 with every user.
        let (with, without) = (metric.axes(true), metric.axes(false));
        // It has 1.5 of the 3.87 by which predictions of items vary.
        assert!(metric.has_level(&moments[1].covariance()));
        assert!((distance(&with, 0, 1) - 2.25).abs() < 1e-6);
        assert!(distance(&without, 0, 1) < 1e-6);
        // Items 0 and 2 differ by -1.5 and, with two users in three, by 4 or -4.
        assert!((distance(&with, 0, 2) - 2.25 - 2.0 / 3.0 * 16.0).abs() < 1e-5);
        assert!((distance(&without, 0, 2) - 2.0 / 3.0 * 16.0).abs() < 1e-5);
    }
}
