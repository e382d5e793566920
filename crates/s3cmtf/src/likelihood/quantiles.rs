//! Quantiles of the normal distribution and of counts.

/// Probabilities of counts are added up one by one where the mean is at most this; beyond, counts are as good as continuous.
const ONE_BY_ONE: f64 = 200.0;
/// Gamma distributions of this shape or more have the quantiles of Wilson and Hilferty, up to 2 in 10,000.
const NEARLY_NORMAL: f64 = 100.0;
/// Terms of a series or a continued fraction, of which 2 √shape or so are needed.
const TERMS: usize = 500;
/// Halvings of an interval until nothing is left of it.
const HALVINGS: usize = 60;

/// What a standard normal variable exceeds with this probability, between 0 and 1: Acklam's rational approximation, with a
/// relative error below 1.2e-9.
pub(crate) fn normal_above(tail: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] =
        [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    const CENTRE: f64 = 0.02425;
    let polynomial = |factors: &[f64], x: f64| factors.iter().fold(0.0, |sum, factor| sum * x + factor);
    if tail > 1.0 - CENTRE {
        return -normal_above(1.0 - tail);
    }
    if tail < CENTRE {
        let x = (-2.0 * tail.ln()).sqrt();
        return -polynomial(&C, x) / polynomial(&D, x);
    }
    let x = 0.5 - tail;
    x * polynomial(&A, x * x) / polynomial(&B, x * x)
}

/// The least counts that a count is at most with probability `tail`, and 1 − `tail`: those of the negative binomial
/// distribution of this mean, and of a variance that is the mean plus `noise` times its square.
pub(crate) fn counts(mean: f64, noise: f64, tail: f64) -> [f64; 2] {
    if !(mean + noise).is_finite() {
        return [f64::NAN; 2];
    }
    if mean <= ONE_BY_ONE {
        return added_up(mean, noise, tail);
    }
    // The gamma distribution of the same mean and variance. Its third moment puts quantiles off by less than a count.
    let scale = 1.0 + mean * noise;
    let shape = mean / scale;
    gamma(shape, tail).map(|quantile| (scale * quantile - 0.5).ceil().max(0.0))
}

fn added_up(mean: f64, noise: f64, tail: f64) -> [f64; 2] {
    let spread = mean * noise;
    // Of the Poisson distribution where the noise is too small for a logarithm to see.
    let none = if spread > 1e-9 { -spread.ln_1p() / noise } else { -mean };
    let (mut count, mut mass) = (0.0, none.exp());
    let mut sum = mass;
    let mut low = None;
    loop {
        if low.is_none() && sum >= tail {
            low = Some(count);
        }
        // Rounding may keep the sum below a probability that is nearly 1.
        if sum >= 1.0 - tail || (count > mean && sum + mass == sum) {
            return [low.unwrap_or(count), count];
        }
        mass *= (count * noise + 1.0) / (count + 1.0) * mean / (1.0 + spread);
        count += 1.0;
        sum += mass;
    }
}

/// What a gamma variable of scale 1 is below, and above, with probability `tail`.
fn gamma(shape: f64, tail: f64) -> [f64; 2] {
    if shape >= NEARLY_NORMAL {
        let z = normal_above(tail);
        return [-z, z].map(|z| {
            let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
            shape * root.max(0.0).powi(3)
        });
    }
    let mut most = shape + 10.0;
    while above_and_below(shape, most)[0] > tail {
        most *= 2.0;
    }
    let least_where = |is_reached: &dyn Fn([f64; 2]) -> bool| {
        let (mut low, mut high) = (0.0, most);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if is_reached(above_and_below(shape, middle)) { high = middle } else { low = middle }
        }
        high
    };
    [least_where(&|[_, below]| below >= tail), least_where(&|[above, _]| above <= tail)]
}

/// The probabilities of a gamma variable of scale 1 to be above `x` and below: the incomplete gamma function, by its series or
/// its continued fraction (Lentz), whichever converges.
fn above_and_below(shape: f64, x: f64) -> [f64; 2] {
    let front = (shape * x.ln() - x - ln_gamma(shape)).exp();
    if x < shape + 1.0 {
        let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
        for step in 1..TERMS {
            term *= x / (shape + step as f64);
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        let below = (front * sum).min(1.0);
        return [1.0 - below, below];
    }
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (1.0 / f64::MIN_POSITIVE, 1.0 / b);
    let mut fraction = d;
    for step in 1..TERMS {
        let a = step as f64 * (shape - step as f64);
        b += 2.0;
        d = 1.0 / away_from_zero(a * d + b);
        c = away_from_zero(b + a / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    let above = (front * fraction).clamp(0.0, 1.0);
    [above, 1.0 - above]
}

fn away_from_zero(value: f64) -> f64 {
    if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value }
}

/// The logarithm of the gamma function, for positive numbers: Stirling's series after a few steps up.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 1.0);
    while x < 8.0 {
        below *= x;
        x += 1.0;
    }
    let i = 1.0 / x;
    let series = i / 12.0 - i.powi(3) / 360.0 + i.powi(5) / 1260.0;
    let below = if below == 1.0 { 0.0 } else { below.ln() };
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles_are_those_of_tables() {
        let known = [
            (0.5, 0.0),
            (0.25, 0.6744897501960817),
            (0.1, 1.2815515655446004),
            (0.9, -1.2815515655446004),
            (0.05, 1.6448536269514729),
            (0.025, 1.9599639845400545),
            (0.005, 2.575829303548901),
            (1e-6, 4.753424308822899),
            (1.0 - 1e-6, -4.753424308822899),
        ];
        for (tail, z) in known {
            assert!((normal_above(tail) - z).abs() < 1e-8, "{tail}: {}", normal_above(tail));
        }
        assert!(normal_above(f64::EPSILON / 4.0).is_finite());
    }

    #[test]
    fn quantiles_of_counts_are_those_of_the_negative_binomial_distribution() {
        // By scipy.stats.nbinom, and by scipy.stats.poisson without noise.
        let known = [
            (0.01, 0.5, 0.05, [0.0, 0.0]),
            (0.3, 0.0, 0.05, [0.0, 1.0]),
            (1.0, 1.0, 0.05, [0.0, 4.0]),
            (3.5, 0.7, 0.05, [0.0, 10.0]),
            (3.5, 0.7, 0.005, [0.0, 18.0]),
            (12.0, 0.02, 0.05, [6.0, 19.0]),
            (12.0, 0.0, 0.025, [6.0, 19.0]),
            (50.0, 1.5, 0.05, [0.0, 174.0]),
            (150.0, 0.3, 0.1, [58.0, 261.0]),
            (5.0, 20.0, 0.05, [0.0, 27.0]),
            (199.9, 21.0, 0.01, [0.0, 4432.0]),
            (199.9, 0.0, 0.05, [177.0, 223.0]),
        ];
        for (mean, noise, tail, expected) in known {
            assert_eq!(counts(mean, noise, tail), expected, "mean {mean}, noise {noise}, tail {tail}");
        }
    }

    #[test]
    fn quantiles_of_large_counts_are_off_by_one_or_two_in_a_thousand() {
        let known = [
            (201.0, 0.0, 0.05, [178.0, 225.0]),
            (201.0, 0.02, 0.025, [143.0, 267.0]),
            (250.0, 1.0, 0.05, [12.0, 750.0]),
            (300.0, 4.0, 0.05, [0.0, 1453.0]),
            (1000.0, 0.5, 0.005, [51.0, 3718.0]),
            (1000.0, 20.0, 0.05, [0.0, 5319.0]),
            (1e6, 0.6, 0.05, [138_387.0, 2_515_528.0]),
            (1e6, 0.001, 0.05, [948_534.0, 1_052_603.0]),
        ];
        for (mean, noise, tail, expected) in known {
            let found = counts(mean, noise, tail);
            for (found, expected) in found.into_iter().zip(expected) {
                let off = (found - expected).abs();
                assert!(off <= 1.0 + 1e-4 * expected, "mean {mean}, noise {noise}, tail {tail}: {found}");
                assert_eq!(found.fract(), 0.0);
            }
        }
    }

    #[test]
    fn gamma_quantiles_are_those_of_tables() {
        let known = [
            (0.5, 0.05, [0.001966070000009761, 1.9207294103470642]),
            (3.0, 0.01, [0.43604516507829316, 8.405946914885464]),
            (40.0, 0.025, [28.576586441788965, 53.31428386583285]),
            (99.0, 0.001, [71.07614301915329, 132.615437098445]),
        ];
        for (shape, tail, expected) in known {
            for (found, expected) in gamma(shape, tail).into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 1e-7, "{shape} {tail}: {found}");
            }
        }
        // The approximation goes on where the function ends.
        for tail in [0.25, 0.05, 0.005] {
            let pairs = gamma(NEARLY_NORMAL - 1e-9, tail).into_iter().zip(gamma(NEARLY_NORMAL, tail));
            pairs.for_each(|(exact, near)| assert!((near / exact - 1.0).abs() < 2e-4, "{exact} {near}"));
        }
    }

    #[test]
    fn no_probability_goes_on_for_ever() {
        for tail in [0.5, 1e-9, f64::EPSILON / 4.0] {
            for (mean, noise) in [(1e-12, 21.0), (200.0, 0.0), (200.0, 21.0), (1e13, 0.0), (1e13, 21.0)] {
                let [low, high] = counts(mean, noise, tail);
                assert!(0.0 <= low && low <= high && high.is_finite(), "{mean} {noise} {tail}: {low} {high}");
            }
        }
        assert!(counts(f64::NAN, 1.0, 0.05)[0].is_nan());
    }

    #[test]
    fn the_gamma_function_of_whole_numbers_is_a_factorial() {
        let mut factorial = 1.0f64;
        for n in 1..20 {
            assert!((ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-9, "{n}");
            factorial *= f64::from(n);
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-9);
    }
}
