//! How a time grows with something: the slope of a line through logarithms, by least squares.

/// Below this many seconds, clocks and the start of threads are measured.
const LEAST: f64 = 5e-4;

/// A slope with its standard error, where there are more points than a line needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub(super) slope: f64,
    pub(super) error: Option<f64>,
    pub(super) points: usize,
}

/// The exponent b of y = a x^b; none if fewer than two of the points differ in x.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<Slope> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let square: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    if logs.len() < 2 || square < 1e-12 {
        return None;
    }
    let slope = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / square;
    let rest: f64 = logs.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    let error = (logs.len() > 2).then(|| (rest / (count - 2.0) / square).sqrt());
    Some(Slope { slope, error, points: logs.len() })
}

/// The same of times that are long enough to be told.
pub(super) fn time_slope(points: &[(f64, f64)]) -> Option<Slope> {
    let long: Vec<(f64, f64)> = points.iter().copied().filter(|point| point.1 >= LEAST).collect();
    slope(&long)
}

impl Slope {
    /// `1.02 (+- 0.01)`.
    pub(super) fn text(&self) -> String {
        let error = self.error.map_or(String::new(), |error| format!(" (+- {error:.2})"));
        format!("{:.2}{error}", self.slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_power_is_found() {
        let power = |b: f64| -> Vec<(f64, f64)> {
            [1.0f64, 2.0, 5.0, 30.0].iter().map(|x| (*x, 3.0 * x.powf(b))).collect()
        };
        for b in [-1.0, 0.0, 1.0, 3.0] {
            let found = slope(&power(b)).unwrap();
            assert!((found.slope - b).abs() < 1e-9 && found.error.unwrap() < 1e-6 && found.points == 4);
        }
        // By hand: logarithms 0, 1, 2 and 0, 1, 3 lie around a line of slope 1.5 with rests 1/6, -1/3, 1/6.
        let e = std::f64::consts::E;
        let found = slope(&[(1.0, 1.0), (e, e), (e * e, e.powi(3))]).unwrap();
        assert!((found.slope - 1.5).abs() < 1e-12);
        assert!((found.error.unwrap() - (1.0f64 / 6.0 / 2.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_slope_has_none() {
        for points in [&[][..], &[(1.0, 2.0)], &[(2.0, 1.0), (2.0, 3.0)], &[(1.0, 0.0), (2.0, 5.0)]] {
            assert_eq!(slope(points), None);
        }
        assert_eq!(slope(&[(1.0, 2.0), (2.0, 4.0)]).unwrap().error, None);
        assert_eq!(time_slope(&[(1.0, 1e-6), (2.0, 1e-5), (4.0, 1.0)]), None);
    }
}
