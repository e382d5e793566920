//! The likelihood: how observed values lie around what factors and core add up to, the linear predictor.
//!
//! It is Gaussian with the identity link unless another is asked for: a value is the linear predictor plus normal noise, whose
//! precision is `tau` times a share of each of the entry's rows. What follows from that is here, and what uses it says so by this
//! name: the link, the residual that rows and core are fitted to, the conditional distribution of the precision, the units in
//! which values are sampled, and how many of them lie within a standard deviation. Kernels know the linear predictor alone.
//!
//! Values that are 0 or 1 are Bernoulli with the logit link, and counts are negative binomial with the log link. Given a
//! Polya-Gamma variable for each entry, both are Gaussian in the linear predictor (docs/method.md, eq. L1 to L4), so that the
//! sampler is the same: see `training/bayes/augmentation.rs`.

mod quantiles;

use serde::{Deserialize, Serialize};

pub(crate) use self::quantiles::{ln_gamma, normal_above};
use crate::Error;

/// Counts that are closer to Poisson than this are Poisson.
const LEAST_NOISE: f64 = 1e-3;
/// Linear predictors of the logit and log link beyond this are certain enough: a chance of 1e-13.
const CERTAIN: f64 = 30.0;
/// Non-negative whole numbers are taken for counts where the largest is beyond any usual rating.
const COUNTS_FROM: f32 = 20.0;

/// How values lie around what the model predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Likelihood {
    /// Normal around the linear predictor: ratings, measurements.
    #[default]
    Gaussian,
    /// 1 with a probability whose log-odds are the linear predictor, and 0 else: yes or no.
    Logistic,
    /// Negative binomial, whose mean's logarithm is the linear predictor: counts. How far they are from Poisson is found.
    Counts,
}

impl Likelihood {
    /// All of them.
    pub const ALL: [Likelihood; 3] = [Likelihood::Gaussian, Likelihood::Logistic, Likelihood::Counts];

    /// Its name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Likelihood::Gaussian => "gaussian",
            Likelihood::Logistic => "logistic",
            Likelihood::Counts => "counts",
        }
    }

    /// The mean of the values of a linear predictor; `range` is where a Gaussian one may lie, and a count's largest.
    pub(crate) fn mean(self, linear: f32, range: [f32; 2]) -> f32 {
        match self {
            Likelihood::Gaussian => mean(linear, range),
            Likelihood::Logistic => logistic(f64::from(linear)) as f32,
            Likelihood::Counts => mean(exp(f64::from(linear)) as f32, [0.0, range[1]]),
        }
    }

    /// The standard deviation of a value around its mean, where that follows from the mean: `noise` is the share of a count's
    /// squared mean, `own` the variance of the linear predictor.
    pub(crate) fn std(self, linear: f32, range: [f32; 2], noise: f64, own: f64) -> f32 {
        let mean = f64::from(self.mean(linear, range));
        let variance = match self {
            Likelihood::Gaussian => noise + own,
            Likelihood::Logistic => mean * (1.0 - mean),
            Likelihood::Counts => mean + mean * mean * count_noise(noise, own),
        };
        variance.sqrt().min(f32::MAX.into()) as f32
    }

    /// The bounds of an interval, given a value's mean, its standard deviation, and what both come from; `noise` and `own` are
    /// those of [`Likelihood::std`]. Of a yes or no it is one of the probability, since the answer itself is always 0 or 1.
    pub(crate) fn interval(self, mean: f32, std: f32, around: Around, tail: Tail) -> [f32; 2] {
        let Around { linear, noise, own } = around;
        match self {
            Likelihood::Gaussian => [-tail.z, tail.z].map(|z| {
                let bound = f64::from(mean) + z * f64::from(std);
                bound.clamp(f32::MIN.into(), f32::MAX.into()) as f32
            }),
            Likelihood::Logistic => {
                [-tail.z, tail.z].map(|z| logistic(f64::from(linear) + z * own.sqrt()) as f32)
            }
            Likelihood::Counts => {
                let noise = count_noise(noise, own);
                quantiles::counts(f64::from(mean), noise, tail.probability).map(|bound| bound as f32)
            }
        }
    }

    /// The linear predictor of a mean.
    pub(crate) fn link(self, mean: f64) -> f64 {
        match self {
            Likelihood::Gaussian => mean,
            Likelihood::Logistic => (mean / (1.0 - mean)).ln().clamp(-CERTAIN, CERTAIN),
            Likelihood::Counts => mean.ln().clamp(-CERTAIN, CERTAIN),
        }
    }

    /// The precision of an entry and its pseudo-value, the Polya-Gamma variable being what it is on average, given the linear
    /// predictor; `noise` is that of [`Likelihood::std`].
    pub(crate) fn pseudo(self, value: f64, linear: f64, noise: f64) -> (f64, f64) {
        match self {
            Likelihood::Gaussian => (1.0, value),
            Likelihood::Logistic => {
                let precision = polya_gamma_mean(linear);
                (precision, (value - 0.5) / precision)
            }
            Likelihood::Counts => {
                let dispersion = 1.0 / noise.max(LEAST_NOISE);
                let log = dispersion.ln();
                let precision = (value + dispersion) * polya_gamma_mean(linear - log);
                (precision, 0.5 * (value - dispersion) / precision + log)
            }
        }
    }

    /// Whether every value of a table is one that it can have.
    ///
    /// # Errors
    /// Names the first entry whose value is not.
    pub(crate) fn check(self, table: &str, values: &[f32]) -> Result<(), Error> {
        let (fits, expected): (fn(f32) -> bool, _) = match self {
            Likelihood::Gaussian => return Ok(()),
            Likelihood::Logistic => (|value| value == 0.0 || value == 1.0, "0 or 1"),
            Likelihood::Counts => (|value| value >= 0.0 && value.fract() == 0.0, "a whole number from 0 on"),
        };
        let wrong = values.iter().enumerate().find(|(_, value)| !fits(**value));
        wrong.map_or(Ok(()), |(entry, value)| {
            let merged = if value.fract() == 0.0 {
                ""
            } else {
                " (a cell that is given more than once has the mean of its values unless duplicates says otherwise)"
            };
            let what = format!("the value is {value}; the likelihood {} needs {expected}{merged}", self.name());
            Err(Error::Entry { table: table.to_owned(), entry, what })
        })
    }

    /// What is said to somebody whose values look like they come from it, and who has not asked for it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Likelihood::Gaussian => None,
            Likelihood::Logistic => {
                Some("the values are 0 and 1: with the likelihood logistic, predictions are probabilities")
            }
            Likelihood::Counts => {
                Some("the values look like counts: the likelihood counts fits those better than gaussian")
            }
        }
    }

    /// What values look like they come from.
    pub fn suggested(values: &[f32]) -> Self {
        let has = |wanted: f32| values.contains(&wanted);
        let whole = || values.iter().all(|&value| value >= 0.0 && value.fract() == 0.0);
        let largest = values.iter().copied().fold(0.0, f32::max);
        if largest == 1.0 && has(0.0) && values.iter().all(|&value| value == 0.0 || value == 1.0) {
            Likelihood::Logistic
        } else if largest > COUNTS_FROM && whole() && is_skewed(values) {
            Likelihood::Counts
        } else {
            Likelihood::Gaussian
        }
    }
}

/// What a value's distribution comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// The linear predictor.
    pub(crate) linear: f32,
    /// The share of a count's squared mean in its variance.
    pub(crate) noise: f64,
    /// The variance of the linear predictor.
    pub(crate) own: f64,
}

/// What lies on either side of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    probability: f64,
    z: f64,
}

impl Tail {
    /// That of an interval of this level.
    ///
    /// # Errors
    /// If the level is not between 0 and 1.
    pub(crate) fn of(level: f64) -> Result<Self, Error> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::param("the level of an interval", "above 0 and below 1, such as 0.9", level));
        }
        let probability = 0.5 * (1.0 - level);
        Ok(Tail { probability, z: normal_above(probability) })
    }
}

/// What a count's squared mean is multiplied by in its variance: the variance of a mean whose logarithm has one comes on top,
/// as far as that makes sense.
fn count_noise(noise: f64, own: f64) -> f64 {
    noise + own.min(1.0)
}

/// Whether values scatter by more than their mean, as counts do whose mean differs from cell to cell.
fn is_skewed(values: &[f32]) -> bool {
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len().max(1) as f64;
    let squares = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>();
    squares / values.len().max(1) as f64 > mean * mean
}

/// The mean of the Polya-Gamma distribution PG(1, c).
pub(crate) fn polya_gamma_mean(c: f64) -> f64 {
    if c.abs() < 1e-2 { 0.25 - c * c / 48.0 } else { (0.5 * c).tanh() / (2.0 * c) }
}

/// The probability of log-odds.
pub(crate) fn logistic(linear: f64) -> f64 {
    1.0 / (1.0 + (-linear.clamp(-CERTAIN, CERTAIN)).exp())
}

/// The number of a logarithm.
pub(crate) fn exp(linear: f64) -> f64 {
    linear.clamp(-CERTAIN, CERTAIN).exp()
}

/// How many values lie within one and two standard deviations of their mean.
pub(crate) const WITHIN: [f64; 2] = [0.6827, 0.9545];

/// The mean of the values of a linear predictor: itself, the link being the identity, but within the range of what was observed.
pub(crate) fn mean(linear: f32, [low, high]: [f32; 2]) -> f32 {
    // Not `max` and `min`, which would turn a NaN into a number that nobody notices.
    if linear < low {
        low
    } else if linear > high {
        high
    } else {
        linear
    }
}

/// Shape and rate of the gamma distribution of the precision, given so many residuals and the sum of their squares; the prior's
/// are 1, in units of the values' variance.
pub(crate) fn precision(count: f64, squares: f64) -> (f64, f64) {
    (1.0 + 0.5 * count, 1.0 + 0.5 * squares)
}

/// What values of this mean and variance are divided by, so that their variance is 1.
pub(crate) fn unit(mean: f64, variance: f64) -> f64 {
    if variance > 1e-12 * mean * mean {
        variance.sqrt()
    } else {
        // Equal values, up to rounding: hardly any spread.
        (1e-6 * mean.abs()).max(1e-30)
    }
}

/// Whether values of this range scatter, given their variance around predictions: by more than a hundredth of the range.
pub(crate) fn is_noisy(variance: f64, [low, high]: [f32; 2]) -> bool {
    variance.sqrt() > 0.01 * (f64::from(high) - f64::from(low))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_the_identity_within_the_range() {
        let range = [1.0, 5.0];
        assert_eq!([0.5, 1.0, 3.3, 7.0].map(|linear| mean(linear, range)), [1.0, 1.0, 3.3, 5.0]);
        assert!(mean(f32::NAN, range).is_nan());
    }

    #[test]
    fn the_precision_is_that_of_the_residuals_where_they_are_many() {
        let (shape, rate) = precision(1e6, 250_000.0);
        assert!((shape / rate - 4.0).abs() < 1e-4);
        assert_eq!(precision(0.0, 0.0), (1.0, 1.0));
    }

    #[test]
    fn links_and_means_are_each_others_inverse() {
        let range = [0.0, 1e6];
        for (likelihood, mean) in [(Likelihood::Logistic, 0.2), (Likelihood::Counts, 7.5)] {
            let found = likelihood.mean(likelihood.link(mean) as f32, range);
            assert!((f64::from(found) - mean).abs() < 1e-5 * mean, "{likelihood:?}: {found}");
        }
        // Neither overflows, and counts stay within what was seen.
        assert_eq!(Likelihood::Logistic.mean(1e30, range), 1.0);
        assert_eq!(Likelihood::Counts.mean(1e30, [0.0, 50.0]), 50.0);
        assert!(Likelihood::Logistic.link(0.0).is_finite() && Likelihood::Counts.link(0.0).is_finite());
        assert!(Likelihood::Counts.mean(f32::NAN, range).is_nan());
    }

    #[test]
    fn values_tell_what_they_are() {
        assert_eq!(Likelihood::suggested(&[0.0, 1.0, 1.0]), Likelihood::Logistic);
        // Only what is there: choices, not answers.
        assert_eq!(Likelihood::suggested(&[1.0, 1.0]), Likelihood::Gaussian);
        assert_eq!(Likelihood::suggested(&[1.0, 2.0, 5.0, 4.0]), Likelihood::Gaussian);
        assert_eq!(Likelihood::suggested(&[1.0, 2.0, 1.0, 3.0, 250.0, 1.0]), Likelihood::Counts);
        // Whole numbers from 0 to 100 are points.
        assert_eq!(Likelihood::suggested(&[60.0, 75.0, 80.0, 100.0]), Likelihood::Gaussian);
        assert_eq!(Likelihood::suggested(&[0.5, 2.0, 1000.0]), Likelihood::Gaussian);
        assert_eq!(Likelihood::suggested(&[]), Likelihood::Gaussian);
    }

    #[test]
    fn a_value_that_cannot_be_is_named() {
        let check = |likelihood: Likelihood, value: f32| likelihood.check("plays", &[1.0, value]);
        assert!(check(Likelihood::Logistic, 0.0).is_ok());
        assert!(check(Likelihood::Counts, 12.0).is_ok());
        let error = check(Likelihood::Logistic, 2.0).unwrap_err().to_string();
        assert!(error.contains("the value is 2; the likelihood logistic needs 0 or 1"), "{error}");
        for value in [-1.0, 0.5] {
            assert!(check(Likelihood::Counts, value).is_err());
            assert!(check(Likelihood::Gaussian, value).is_ok());
        }
    }

    #[test]
    fn equal_values_have_a_unit_too() {
        assert_eq!(unit(3.0, 4.0), 2.0);
        assert!(unit(3.0, 0.0) > 0.0 && unit(0.0, 0.0) > 0.0);
    }
}
