//! How good probabilities and expected counts are, by the measures of the field.

use serde::Serialize;

use super::Model;
use crate::likelihood::Likelihood;

/// Probabilities are not taken for more certain than this, so that one wrong answer does not make the log loss infinite.
const LEAST: f64 = 1e-7;
/// Bins of about equal numbers of probabilities, whose mean is compared with what happened.
const BINS: usize = 10;

/// Measures of a model that is not Gaussian, beside the same of the mean of the training values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Scores {
    /// Of probabilities of yes.
    #[non_exhaustive]
    Logistic {
        /// The mean of the negative logarithm of what was predicted for what happened.
        log_loss: f64,
        /// The same of the share of yes in training.
        mean_log_loss: Option<f64>,
        /// The chance that a yes has a larger probability than a no; `None` where there are not both.
        auc: Option<f64>,
        /// How far, on average, the share of yes lies from the mean probability in ten bins of as many entries.
        calibration_error: f64,
    },
    /// Of expected counts.
    #[non_exhaustive]
    Counts {
        /// The mean Poisson deviance.
        deviance: f64,
        /// The same of the mean count in training.
        mean_deviance: Option<f64>,
    },
}

impl Model {
    /// The scores of predicted means, given values; none where the model is Gaussian or values are not what it can predict.
    pub(crate) fn scores(&self, means: &[f32], values: &[f32]) -> Option<Scores> {
        let likelihood = self.likelihood();
        likelihood.check("", values).ok()?;
        let simple = self.offsets().map(|offsets| offsets.mean);
        match likelihood {
            Likelihood::Gaussian => None,
            Likelihood::Logistic => Some(Scores::Logistic {
                log_loss: log_loss(means, values),
                mean_log_loss: simple.map(|mean| log_loss(&vec![mean; values.len()], values)),
                auc: auc(means, values),
                calibration_error: calibration_error(means, values),
            }),
            Likelihood::Counts => Some(Scores::Counts {
                deviance: deviance(means, values),
                mean_deviance: simple.map(|mean| deviance(&vec![mean; values.len()], values)),
            }),
        }
    }
}

fn mean_of(terms: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = terms.len().max(1) as f64;
    terms.sum::<f64>() / count
}

fn log_loss(means: &[f32], values: &[f32]) -> f64 {
    mean_of(means.iter().zip(values).map(|(&mean, &value)| {
        let mean = f64::from(mean).clamp(LEAST, 1.0 - LEAST);
        if value > 0.5 { -mean.ln() } else { -(-mean).ln_1p() }
    }))
}

fn deviance(means: &[f32], values: &[f32]) -> f64 {
    mean_of(means.iter().zip(values).map(|(&mean, &value)| {
        let (mean, value) = (f64::from(mean).max(LEAST), f64::from(value));
        let log = if value > 0.0 { value * (value / mean).ln() } else { 0.0 };
        2.0 * (log - (value - mean))
    }))
}

/// Pairs of a mean and a value, the smallest mean first.
fn sorted(means: &[f32], values: &[f32]) -> Vec<(f32, f32)> {
    let mut pairs: Vec<(f32, f32)> = means.iter().copied().zip(values.iter().copied()).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs
}

/// By ranks (Mann and Whitney); those of equal means are their average.
fn auc(means: &[f32], values: &[f32]) -> Option<f64> {
    let pairs = sorted(means, values);
    let (mut ranks, mut before) = (0.0, 0);
    for tied in pairs.chunk_by(|a, b| a.0 == b.0) {
        let rank = before as f64 + 0.5 * (tied.len() as f64 + 1.0);
        ranks += rank * tied.iter().filter(|pair| pair.1 > 0.5).count() as f64;
        before += tied.len();
    }
    let yes = values.iter().filter(|&&value| value > 0.5).count() as f64;
    let no = values.len() as f64 - yes;
    (yes > 0.0 && no > 0.0).then(|| (ranks - 0.5 * yes * (yes + 1.0)) / (yes * no))
}

fn calibration_error(means: &[f32], values: &[f32]) -> f64 {
    let pairs = sorted(means, values);
    let bins = (0..BINS).map(|bin| &pairs[bin * pairs.len() / BINS..(bin + 1) * pairs.len() / BINS]);
    let off = bins.map(|bin| bin.iter().map(|pair| f64::from(pair.0) - f64::from(pair.1)).sum::<f64>().abs());
    off.sum::<f64>() / pairs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_textbook() {
        let (means, values) = ([0.9, 0.2, 0.6, 0.6], [1.0, 0.0, 0.0, 1.0]);
        let expected = -(0.9f64.ln() + 0.8f64.ln() + 0.4f64.ln() + 0.6f64.ln()) / 4.0;
        assert!((log_loss(&means, &values) - expected).abs() < 1e-6);
        // Of four pairs of a yes and a no, three are in order and one is a tie.
        assert_eq!(auc(&means, &values), Some(3.5 / 4.0));
        assert_eq!(auc(&means, &[1.0; 4]), None);
        let expected = 2.0 * ((3.0 * (3.0f64 / 2.0).ln() - 1.0) + 0.5) / 2.0;
        assert!((deviance(&[2.0, 0.5], &[3.0, 0.0]) - expected).abs() < 1e-6);
        assert_eq!(deviance(&[2.0, 7.0], &[2.0, 7.0]), 0.0);
        // What is certain and wrong is bad, but not infinite.
        assert!(log_loss(&[1.0], &[0.0]).is_finite() && deviance(&[0.0], &[5.0]).is_finite());
    }

    #[test]
    fn probabilities_that_happen_as_often_are_calibrated() {
        let means: Vec<f32> = (0..1000).map(|place| 0.1 + 0.8 * (place / 100) as f32 / 9.0).collect();
        let share =
            |place: usize, by: f32| f32::from(u8::from(((place % 100) as f32) < 100.0 * (means[place] + by)));
        let right: Vec<f32> = (0..1000).map(|place| share(place, 0.0)).collect();
        let wrong: Vec<f32> = (0..1000).map(|place| share(place, 0.1)).collect();
        assert!(calibration_error(&means, &right) < 0.01);
        assert!((calibration_error(&means, &wrong) - 0.1).abs() < 0.011);
    }
}
