//! Standard deviations that hold on entries that were held out.

use serde::{Deserialize, Serialize};

use crate::likelihood::{self, WITHIN};

/// The number of points of a [`StdScale`] that was fitted.
pub(crate) const POINTS: usize = 8;
/// A point counts as so many entries of the mean scale, so that a few entries alone do not say much.
const PRIOR: f64 = 50.0;
/// So many scales are tried between the one that is right for one standard deviation and that for two.
const TRIES: usize = 40;
/// Scales beyond are of entries that say nothing of others.
const LIMITS: [f64; 2] = [0.1, 10.0];

/// What standard deviations are multiplied by, depending on the prediction, with straight lines between points.
///
/// Values that have a least and a largest one scatter less where predictions are near those, and where nearly all values are
/// the same, far more of them than 68 % lie within what their variance says. Entries that were held out in training tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StdScale {
    /// Predictions, from low to high, and the scale there; at least one.
    pub points: Vec<[f32; 2]>,
}

impl StdScale {
    /// Scales by which about 68 % of the given values lie within one standard deviation of their predictions and 95 % within
    /// two; `None` where there is nothing to learn from.
    pub(crate) fn fit(predictions: &[f32], stds: &[f32], values: &[f32]) -> Option<Self> {
        let ratios = predictions.iter().zip(stds).zip(values);
        let ratios = ratios.map(|((&prediction, &std), &value)| {
            (prediction, f64::from(value - prediction).abs() / f64::from(std))
        });
        let mut ratios: Vec<(f32, f64)> = ratios.filter(|(_, ratio)| ratio.is_finite()).collect();
        if ratios.len() < POINTS {
            return None;
        }
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let squares = |ratios: &[(f32, f64)]| ratios.iter().map(|(_, ratio)| ratio * ratio).sum::<f64>();
        let overall = squares(&ratios) / ratios.len() as f64;
        let mut points = Vec::with_capacity(POINTS);
        for part in 0..POINTS {
            let part = &ratios[part * ratios.len() / POINTS..(part + 1) * ratios.len() / POINTS];
            let count = part.len() as f64;
            let prediction = part.iter().map(|(prediction, _)| f64::from(*prediction)).sum::<f64>() / count;
            let scale = (squares(part) + PRIOR * overall) / (count + PRIOR);
            points.push([prediction as f32, scale.sqrt().clamp(LIMITS[0], LIMITS[1]) as f32]);
        }
        let mut fitted = StdScale { points };
        let mut rest: Vec<f64> =
            ratios.iter().map(|&(prediction, ratio)| ratio / f64::from(fitted.at(prediction))).collect();
        rest.sort_by(f64::total_cmp);
        let times = times(&rest);
        for [_, scale] in &mut fitted.points {
            *scale = (f64::from(*scale) * times).clamp(LIMITS[0], LIMITS[1]) as f32;
        }
        fitted.is_sound().then_some(fitted)
    }

    /// The same scale everywhere; `None` where it is none.
    pub(crate) fn constant(scale: f64) -> Option<Self> {
        let scale = scale.clamp(LIMITS[0], LIMITS[1]) as f32;
        Some(StdScale { points: vec![[0.0, scale]; POINTS] }).filter(StdScale::is_sound)
    }

    /// The scale at a prediction.
    pub fn at(&self, prediction: f32) -> f32 {
        let after = self.points.partition_point(|point| point[0] <= prediction);
        match (after.checked_sub(1).map(|before| self.points[before]), self.points.get(after)) {
            (Some([low, from]), Some(&[high, to])) => from + (to - from) * (prediction - low) / (high - low),
            (Some([_, scale]), None) | (None, Some(&[_, scale])) => scale,
            (None, None) => 1.0,
        }
    }

    /// The scale of a prediction that is kept within a range.
    pub(super) fn within(&self, prediction: f32, range: [f32; 2]) -> f32 {
        self.at(likelihood::mean(prediction, range))
    }

    /// Whether no point is impossible.
    pub(super) fn is_sound(&self) -> bool {
        let sound =
            |[prediction, scale]: &[f32; 2]| prediction.is_finite() && scale.is_finite() && *scale > 0.0;
        !self.points.is_empty()
            && self.points.iter().all(sound)
            && self.points.windows(2).all(|pair| pair[0][0] <= pair[1][0])
    }
}

/// By how much standard deviations have to grow so that as many of these ratios of errors to them, in order, lie within one and
/// within two as can be: one number cannot always be right for both.
fn times(ratios: &[f64]) -> f64 {
    let quantile = |share: f64| ratios[((share * ratios.len() as f64) as usize).min(ratios.len() - 1)];
    let [one, two] = [quantile(WITHIN[0]), 0.5 * quantile(WITHIN[1])];
    let miss = |times: f64| {
        let within =
            |stds: f64| ratios.partition_point(|&ratio| ratio <= stds * times) as f64 / ratios.len() as f64;
        (within(1.0) - WITHIN[0]).abs().max((within(2.0) - WITHIN[1]).abs())
    };
    let tried = (0..=TRIES).map(|step| one + (two - one) * step as f64 / TRIES as f64);
    tried.min_by(|&a, &b| miss(a).total_cmp(&miss(b))).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of a normal distribution, by its quantiles in a shuffled order.
    fn normal(count: usize) -> Vec<f64> {
        // The sum of twelve even numbers, each from a sequence of its own, is close to normal.
        let even = |place: usize, step: f64| (place as f64 * step).fract();
        let steps: Vec<f64> =
            [2.0, 3.0, 5.0, 6.0, 7.0, 10.0, 11.0, 13.0, 14.0, 15.0, 17.0, 19.0].map(f64::sqrt).to_vec();
        (1..=count).map(|place| steps.iter().map(|&step| even(place, step)).sum::<f64>() - 6.0).collect()
    }

    fn within(scale: &StdScale, predictions: &[f32], values: &[f32], stds: f32) -> f64 {
        let close = predictions.iter().zip(values).filter(|(p, v)| (*p - *v).abs() <= stds * scale.at(**p));
        close.count() as f64 / values.len() as f64
    }

    #[test]
    fn scatter_that_depends_on_the_prediction_is_found() {
        let noise = normal(20_000);
        let predictions: Vec<f32> = (0..20_000).map(|place| (place % 1000) as f32 / 500.0).collect();
        let std = |prediction: f32| 0.5 + prediction;
        let values: Vec<f32> =
            predictions.iter().zip(&noise).map(|(&p, &noise)| p + std(p) * noise as f32).collect();
        let scale = StdScale::fit(&predictions, &vec![1.0; 20_000], &values).unwrap();
        for prediction in [0.2, 1.0, 1.8] {
            let found = scale.at(prediction);
            assert!((found / std(prediction) - 1.0).abs() < 0.05, "{prediction}: {found}");
        }
        assert!((within(&scale, &predictions, &values, 1.0) - 0.683).abs() < 0.01);
        assert!((within(&scale, &predictions, &values, 2.0) - 0.954).abs() < 0.01);
        // Beyond the points, the last counts.
        assert_eq!(scale.at(-10.0), scale.points[0][1]);
        assert_eq!(scale.at(10.0), scale.points[POINTS - 1][1]);
    }

    #[test]
    fn heavy_tails_are_weighed_against_the_middle() {
        // 80 % scatter by 0.5, the others by 2: their standard deviation has 80 % of them within one.
        let values: Vec<f32> = normal(20_000)
            .iter()
            .enumerate()
            .map(|(place, &noise)| noise as f32 * if place % 5 == 0 { 2.0 } else { 0.5 })
            .collect();
        let predictions = vec![0.0; 20_000];
        let std = (values.iter().map(|value| value * value).sum::<f32>() / 20_000.0).sqrt();
        let plain = StdScale { points: vec![[0.0, std]] };
        assert!(within(&plain, &predictions, &values, 1.0) > 0.79);
        let scale = StdScale::fit(&predictions, &vec![1.0; 20_000], &values).unwrap();
        assert!((within(&scale, &predictions, &values, 1.0) - 0.683).abs() < 0.06);
        assert!((within(&scale, &predictions, &values, 2.0) - 0.954).abs() < 0.06);
    }

    #[test]
    fn a_few_entries_say_little_and_none_nothing() {
        assert_eq!(StdScale::fit(&[1.0; 7], &[1.0; 7], &[2.0; 7]), None);
        assert_eq!(StdScale::fit(&[1.0; 20], &[0.0; 20], &[1.0; 20]), None);
        // One entry of eight lies far away, and takes its neighbours with it only a little.
        let values: Vec<f32> =
            (0..16).map(|place| place as f32 + if place == 0 { 8.0 } else { 1.0 }).collect();
        let predictions: Vec<f32> = (0..16).map(|place| place as f32).collect();
        let scale = StdScale::fit(&predictions, &[1.0; 16], &values).unwrap();
        assert!(scale.points[0][1] / scale.points[7][1] < 1.3, "{scale:?}");
    }
}
