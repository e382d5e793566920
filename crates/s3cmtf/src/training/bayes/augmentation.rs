//! Likelihoods that are not Gaussian, made so: given a Polya-Gamma variable for each entry, yes or no and counts are Gaussian in
//! the linear predictor (Polson, Scott and Windle, 2013; docs/method.md, eq. L1 to L4).
//!
//! The variable of an entry is its precision, and goes with a pseudo-value. It is drawn anew wherever the entry is visited, so
//! that nothing is stored but what one draw of the core needs in all of its passes.

use std::f64::consts::PI;

use super::log_gamma::{Part, mixture};
use super::random::{Generator, gamma, pick, uniform};
use crate::likelihood::{self, Likelihood, ln_gamma};

/// In a draw of PG(b, c), so many terms of the infinite sum are drawn themselves; the rest of them together is drawn from
/// the gamma distribution of their mean and variance, which is 0.2 % of the variance of all where c is 0.
const TERMS: usize = 2;
/// From this b on, all of them are.
const MANY: f64 = 60.0;
/// Smaller variables, of which there are hardly any, would have infinite pseudo-values.
const LEAST: f64 = 1e-10;
/// The unit of the linear predictor: with the least information that an answer has, 1/4, its precision is 1, that of a
/// Gaussian value of variance 1.
const LOGIT_UNIT: f64 = 2.0;
/// The same of counts, by how much their logarithms scatter.
const LOG_UNITS: [f64; 2] = [0.5, 2.0];
/// The values of the dispersion that are told apart: from nearly all of a cell's counts being 0 to nearly Poisson. The larger it is,
/// the smaller is the part of the way that a draw goes, so that there is an end.
const LEAST_DISPERSION: f64 = 0.05;
const DISPERSIONS: usize = 42;
const STEP: f64 = 1.189_207_115_002_721;
/// Where predictors of the mean of draws are left as they are.
const UNCHANGED: [f64; 2] = [1.0, 0.0];
/// The standard deviations of slope and intercept before entries held out tell, where a slope may lie, and the steps to it.
const PRIOR: [f64; 2] = [0.2, 0.5];
const SLOPES: [f64; 2] = [0.3, 1.5];
const SCORING: usize = 8;
/// About so many entries tell the dispersion as well as all would.
pub(super) const TELLING: usize = 5000;

/// A likelihood that is made Gaussian.
#[derive(Clone, Debug)]
pub(super) struct Augmentation {
    pub(super) likelihood: Likelihood,
    /// The linear predictor where factors and core add up to nothing, and what they are multiplied by.
    pub(super) mean: f64,
    pub(super) spread: f64,
    /// Of counts: their variance is `mean + mean^2 / dispersion`.
    pub(super) dispersion: f64,
    /// What the logarithm of a gamma variable of that shape is a mixture of.
    parts: Vec<Part>,
    /// Slope and intercept that make the mean of draws right on entries held out, see [`Augmentation::calibrate`].
    pub(super) link: [f64; 2],
}

impl Augmentation {
    /// For values of a likelihood that is not Gaussian.
    pub(super) fn new(likelihood: Likelihood, values: &[f32]) -> Option<Self> {
        let len = values.len().max(1) as f64;
        let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
        let (mean, spread) = match likelihood {
            Likelihood::Gaussian => return None,
            // As if there were one more of each.
            Likelihood::Logistic => ((sum + 1.0) / (len + 2.0), LOGIT_UNIT),
            Likelihood::Counts => {
                let log = |value: &f32| f64::from(*value).ln_1p();
                let center = values.iter().map(log).sum::<f64>() / len;
                let squares: f64 = values.iter().map(|value| (log(value) - center).powi(2)).sum();
                ((sum + 0.5) / len, (squares / len).sqrt().clamp(LOG_UNITS[0], LOG_UNITS[1]))
            }
        };
        Some(Augmentation {
            likelihood,
            mean: likelihood.link(mean),
            spread,
            dispersion: 1.0,
            parts: mixture(1.0),
            link: UNCHANGED,
        })
    }

    /// The linear predictor in the units of the link.
    fn linear(&self, sampled: f32) -> f64 {
        self.mean + self.spread * f64::from(sampled)
    }

    /// The mean of values, given what factors and core add up to in a draw, or if `averaged` in their mean; `largest` is the
    /// largest value that was seen.
    pub(super) fn mean(&self, sampled: f32, averaged: bool, largest: f32) -> f32 {
        self.likelihood.mean(self.predictor(sampled, averaged) as f32, [0.0, largest])
    }

    /// The linear predictor of the same.
    pub(super) fn predictor(&self, sampled: f32, averaged: bool) -> f64 {
        let [slope, intercept] = if averaged { self.link } else { UNCHANGED };
        slope * self.linear(sampled) + intercept
    }

    /// Finds the slope and the intercept of linear predictors that make values held out most likely. The predictor of a mean
    /// of draws is more certain than all draws are on average, since links are curved.
    pub(super) fn calibrate(&mut self, held: &[[f32; 2]]) {
        self.link = UNCHANGED;
        let center = held.iter().map(|pair| self.linear(pair[1])).sum::<f64>() / held.len().max(1) as f64;
        // Of the predictor around its center.
        let [mut slope, mut level] = [1.0, center];
        for _ in 0..SCORING {
            let (mut pull, mut information) = ([0.0; 2], [0.0; 3]);
            for &[value, sampled] in held {
                let linear = self.linear(sampled) - center;
                let changed = (level + slope * linear - self.mean) / self.spread;
                let (score, own) = self.score(value, changed as f32);
                let (score, own) = (score / self.spread, own / self.spread.powi(2));
                pull = [pull[0] + score * linear, pull[1] + score];
                information = [
                    information[0] + own * linear * linear,
                    information[1] + own * linear,
                    information[2] + own,
                ];
            }
            // As if it were known beforehand that neither is far off.
            pull =
                [pull[0] - (slope - 1.0) / PRIOR[0].powi(2), pull[1] - (level - center) / PRIOR[1].powi(2)];
            let [a, b, d] =
                [information[0] + PRIOR[0].powi(-2), information[1], information[2] + PRIOR[1].powi(-2)];
            let determinant = a * d - b * b;
            slope = (slope + (d * pull[0] - b * pull[1]) / determinant).clamp(SLOPES[0], SLOPES[1]);
            level += (a * pull[1] - b * pull[0]) / determinant;
        }
        if slope.is_finite() && level.is_finite() {
            self.link = [slope, level - slope * center];
        }
    }

    /// The square root of an entry's precision, drawn given its value and what factors and core add up to, and that times its
    /// pseudo-value.
    pub(super) fn draw(&self, value: f32, sampled: f32, generator: &mut Generator) -> (f32, f32) {
        let value = f64::from(value);
        if self.likelihood == Likelihood::Counts && self.is_large(value) {
            return self.draw_large(value, self.linear(sampled), generator);
        }
        let (log, count, kappa) = match self.likelihood {
            // The logit of a negative binomial's chance is the logarithm of its mean less that of the dispersion.
            Likelihood::Counts => {
                (self.dispersion.ln(), value + self.dispersion, 0.5 * (value - self.dispersion))
            }
            Likelihood::Gaussian | Likelihood::Logistic => (0.0, 1.0, value - 0.5),
        };
        let base = self.mean - log;
        let omega = polya_gamma(generator, count, self.linear(sampled) - log).max(LEAST);
        let root = omega.sqrt();
        ((self.spread * root) as f32, (kappa / root - root * base) as f32)
    }

    /// Whether the Polya-Gamma variable of a count where it is expected would be larger than what it says: see [`log_gamma`].
    ///
    /// [`log_gamma`]: super::log_gamma
    fn is_large(&self, count: f64) -> bool {
        let logit = ((count + 1.0) / self.dispersion).ln();
        (count + self.dispersion) * likelihood::polya_gamma_mean(logit) > self.dispersion
    }

    /// The same for a large count: the mean that it is Poisson around is drawn, and the part of the mixture whose that is.
    fn draw_large(&self, count: f64, linear: f64, generator: &mut Generator) -> (f32, f32) {
        let rate = 1.0 + self.dispersion * (-linear).exp();
        let log = gamma(generator, count + self.dispersion, rate).ln();
        let density = |part: &Part| part.density(log - linear);
        let mut left = uniform(generator) * self.parts.iter().map(density).sum::<f64>();
        let picked = self.parts.iter().find(|part| {
            left -= density(part);
            left <= 0.0
        });
        // Far from all parts, all densities are zero: it is the outermost one.
        let outer = if log > linear { self.parts.last() } else { self.parts.first() };
        let Some(part) = picked.or(outer) else { return (0.0, 0.0) };
        let root = part.precision.sqrt();
        ((self.spread * root) as f32, (root * (log - part.mean - self.mean)) as f32)
    }

    /// Takes another dispersion.
    pub(super) fn set_dispersion(&mut self, dispersion: f64) {
        if dispersion != self.dispersion {
            self.parts = mixture(dispersion);
            self.dispersion = dispersion;
        }
    }

    /// The derivative of a value's log-likelihood by what factors and core add up to, and its information.
    pub(super) fn score(&self, value: f32, sampled: f32) -> (f64, f64) {
        let linear = self.linear(sampled);
        let (mean, variance) = match self.likelihood {
            Likelihood::Counts => {
                let mean = likelihood::exp(linear);
                (mean, mean / (1.0 + mean / self.dispersion))
            }
            Likelihood::Gaussian | Likelihood::Logistic => {
                let mean = likelihood::logistic(linear);
                (mean, mean * (1.0 - mean))
            }
        };
        let slope = if mean > 0.0 { variance / mean } else { 1.0 };
        let error = match self.likelihood {
            Likelihood::Counts => (f64::from(value) - mean) * slope,
            Likelihood::Gaussian | Likelihood::Logistic => f64::from(value) - mean,
        };
        (self.spread * error, self.spread.powi(2) * variance)
    }

    /// Draws the dispersion, given values and what factors and core add up to.
    pub(super) fn draw_dispersion(&mut self, entries: &[[f32; 2]], generator: &mut Generator) {
        // Not `powi`, whose last digit depends on how far the compiler optimises.
        let values = std::iter::successors(Some(LEAST_DISPERSION), |value| Some(value * STEP));
        let values: Vec<f64> = values.take(DISPERSIONS).collect();
        let means: Vec<[f64; 2]> = entries
            .iter()
            .map(|&[value, sampled]| [f64::from(value), likelihood::exp(self.linear(sampled))])
            .collect();
        let dispersion = pick(generator, &values, |dispersion| {
            let constant = ln_gamma(dispersion);
            let one = |&[value, mean]: &[f64; 2]| {
                let all = (dispersion + mean).ln();
                let there =
                    if value > 0.0 { ln_gamma(value + dispersion) - constant - value * all } else { 0.0 };
                there + dispersion * (dispersion.ln() - all)
            };
            means.iter().map(one).sum()
        });
        self.set_dispersion(dispersion);
    }
}

/// What an entry tells against a Gaussian one: of an answer, not more than a quarter is known.
pub(super) fn information(likelihood: Likelihood) -> f64 {
    match likelihood {
        Likelihood::Gaussian | Likelihood::Counts => 1.0,
        Likelihood::Logistic => 0.25,
    }
}

/// A draw of the Polya-Gamma distribution PG(b, c).
fn polya_gamma(generator: &mut Generator, b: f64, c: f64) -> f64 {
    let (mut mean, mut variance) = moments(c);
    let mut sum = 0.0;
    if b < MANY {
        let square = (c / (2.0 * PI)).powi(2);
        for term in 0..TERMS {
            let weight = 1.0 / (2.0 * PI * PI * ((term as f64 + 0.5).powi(2) + square));
            sum += weight * gamma(generator, b, 1.0);
            mean -= weight;
            variance -= weight * weight;
        }
    }
    sum + gamma(generator, b * mean * mean / variance, mean / variance)
}

/// Mean and variance of PG(1, c); those of PG(b, c) are b times as large.
fn moments(c: f64) -> (f64, f64) {
    let mean = likelihood::polya_gamma_mean(c);
    let c = c.abs();
    if c < 1e-2 {
        return (mean, (1.0 - 0.2 * c * c) / 24.0);
    }
    let half = (0.5 * c).tanh();
    (mean, (2.0 * half - c * (1.0 - half * half)) / (4.0 * c.powi(3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::bayes::random::generator;

    #[test]
    fn draws_have_the_laplace_transform_of_the_distribution() {
        const DRAWS: usize = 40_000;
        let mut stream = generator(7, [0, 0, 0]);
        for (b, c) in [(1.0, 0.0), (1.0, 2.5), (1.0, -8.0), (0.3, 1.0), (4.5, 3.0), (200.0, -2.0), (1e5, 5.0)]
        {
            let draws: Vec<f64> = (0..DRAWS).map(|_| polya_gamma(&mut stream, b, c)).collect();
            let (mean, variance) = moments(c);
            let found = draws.iter().sum::<f64>() / DRAWS as f64;
            let error = (b * variance / DRAWS as f64).sqrt();
            assert!((found - b * mean).abs() < 4.5 * error, "{b} {c}: {found}");
            for times in [0.3, 1.0, 3.0] {
                let t = times / (b * variance).sqrt();
                // E exp(-t w) = (cosh(c/2) / cosh(sqrt((c^2/2 + t) / 2)))^b, in logarithms that do not overflow.
                let log_cosh = |x: f64| x.abs() + (-2.0 * x.abs()).exp().ln_1p() - 2f64.ln();
                let log = b * (log_cosh(0.5 * c) - log_cosh((0.25 * c * c + 0.5 * t).sqrt()));
                // Around the mean, where all of them are numbers that can be told apart.
                let shift = t * b * mean;
                let powers: Vec<f64> = draws.iter().map(|draw| (shift - t * draw).exp()).collect();
                let transform = powers.iter().sum::<f64>() / DRAWS as f64;
                let squares = powers.iter().map(|power| (power - transform).powi(2)).sum::<f64>();
                let error = squares.sqrt() / DRAWS as f64;
                let exact = (log + shift).exp();
                assert!((transform - exact).abs() < 4.5 * error, "{b} {c} {t}: {transform} for {exact}");
            }
        }
    }

    #[test]
    fn moments_have_no_seam() {
        let ((a, b), (c, d)) = (moments(0.999_999e-2), moments(1.000_001e-2));
        assert!((a - c).abs() < 1e-9 && (b - d).abs() < 1e-8, "{a} {c} {b} {d}");
        let (mean, variance) = moments(300.0);
        assert!((mean - 1.0 / 600.0).abs() < 1e-12 && variance > 0.0);
    }

    #[test]
    fn scores_are_derivatives() {
        for likelihood in [Likelihood::Logistic, Likelihood::Counts] {
            let values = [0.0, 1.0, 0.0, 1.0];
            let mut augmentation = Augmentation::new(likelihood, &values).expect("it is not Gaussian");
            augmentation.set_dispersion(3.0);
            let log = |value: f64, sampled: f64| {
                let linear = augmentation.mean + augmentation.spread * sampled;
                match likelihood {
                    Likelihood::Counts => {
                        let mean = linear.exp();
                        value * (mean / (mean + 3.0)).ln() + 3.0 * (3.0 / (mean + 3.0)).ln()
                    }
                    _ => value * linear - linear.exp().ln_1p(),
                }
            };
            for (value, sampled) in [(1.0, 0.4), (0.0, -0.7)] {
                let step = 1e-5;
                let slope = (log(value, sampled + step) - log(value, sampled - step)) / (2.0 * step);
                let (score, information) = augmentation.score(value as f32, sampled as f32);
                assert!((score - slope).abs() < 1e-4 && information > 0.0, "{likelihood:?}: {score} {slope}");
            }
        }
    }

    #[test]
    fn predictors_that_are_too_certain_are_made_right() {
        let mut stream = generator(9, [0, 0, 0]);
        let mut augmentation =
            Augmentation::new(Likelihood::Logistic, &[0.0, 1.0]).expect("it is not Gaussian");
        let held: Vec<[f32; 2]> = (0..20_000)
            .map(|place| {
                let sampled = f64::from(place % 100) / 25.0 - 2.0;
                let chance = likelihood::logistic(0.6 * augmentation.linear(sampled as f32) - 0.4);
                // An exponential number is below this with that chance.
                let is_yes = gamma(&mut stream, 1.0, 1.0) < -(-chance).ln_1p();
                [f32::from(u8::from(is_yes)), sampled as f32]
            })
            .collect();
        augmentation.calibrate(&held);
        let [slope, intercept] = augmentation.link;
        assert!((slope - 0.6).abs() < 0.03 && (intercept + 0.4).abs() < 0.06, "{slope} {intercept}");
        // A few entries do not say much.
        augmentation.calibrate(&held[..3]);
        assert!((augmentation.link[0] - 1.0).abs() < 0.2, "{:?}", augmentation.link);
    }

    #[test]
    fn the_dispersion_of_counts_is_found() {
        let mut stream = generator(3, [0, 0, 0]);
        for planted in [0.3, 2.0] {
            // A negative binomial count is Poisson around a mean that has a gamma distribution.
            let entries: Vec<[f32; 2]> = (0..8000)
                .map(|place| {
                    let sampled = f64::from(place % 40) / 20.0;
                    let mean = gamma(&mut stream, planted, planted / sampled.exp());
                    let (mut count, mut left) = (0.0, mean);
                    loop {
                        left -= gamma(&mut stream, 1.0, 1.0);
                        if left < 0.0 {
                            break [count, sampled as f32];
                        }
                        count += 1.0;
                    }
                })
                .collect();
            let mut augmentation = Augmentation::new(Likelihood::Counts, &[1.0]).expect("it is not Gaussian");
            (augmentation.mean, augmentation.spread) = (0.0, 1.0);
            augmentation.draw_dispersion(&entries, &mut stream);
            assert!((augmentation.dispersion / planted).ln().abs() < 0.25, "{}", augmentation.dispersion);
        }
    }
}
