//! The likelihood: how observed values lie around what factors and core add up to, the linear predictor.
//!
//! It is Gaussian with the identity link: a value is the linear predictor plus normal noise, whose precision is `tau` times a
//! share of each of the entry's rows. What follows from that is here, and what uses it says so by this name: the link, the
//! residual that rows and core are fitted to, the conditional distribution of the precision, the units in which values are
//! sampled, and how many of them lie within a standard deviation. Kernels know the linear predictor alone.

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

/// What is left of a value to fit.
pub(crate) fn residual(value: f32, linear: f32) -> f32 {
    value - linear
}

/// Shape and rate of the gamma distribution of the precision, given so many residuals and the sum of their squares; the prior's
/// are 1, in units of the values' variance.
pub(crate) fn precision(count: usize, squares: f64) -> (f64, f64) {
    (1.0 + 0.5 * count as f64, 1.0 + 0.5 * squares)
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
mod tests {
    use super::*;

    #[test]
    fn the_link_is_the_identity_within_the_range() {
        let range = [1.0, 5.0];
        assert_eq!([0.5, 1.0, 3.3, 7.0].map(|linear| mean(linear, range)), [1.0, 1.0, 3.3, 5.0]);
        assert!(mean(f32::NAN, range).is_nan());
        assert_eq!(residual(4.0, 3.5), 0.5);
    }

    #[test]
    fn the_precision_is_that_of_the_residuals_where_they_are_many() {
        let (shape, rate) = precision(1_000_000, 250_000.0);
        assert!((shape / rate - 4.0).abs() < 1e-4);
        assert_eq!(precision(0, 0.0), (1.0, 1.0));
    }

    #[test]
    fn equal_values_have_a_unit_too() {
        assert_eq!(unit(3.0, 4.0), 2.0);
        assert!(unit(3.0, 0.0) > 0.0 && unit(0.0, 0.0) > 0.0);
    }
}
