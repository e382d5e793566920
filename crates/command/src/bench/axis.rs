//! From numbers to places on a plot.

/// An axis from `low` to `high`, drawn from `start` to `end` in pixels.
pub(super) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    start: f64,
    end: f64,
}

impl Axis {
    /// An axis from zero on.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let high = if most > 0.0 { most } else { 1.0 };
        Axis { low: 0.0, high, log: false, start, end }
    }

    /// An axis on which a step multiplies; all values are above zero.
    pub(super) fn log(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        // Whole ticks around the values, and never an axis without length.
        let around = |value: f64| 10f64.powf(value.log10().floor());
        let step =
            |value: f64, steps: &[f64]| -> Vec<f64> { steps.iter().map(|s| s * around(value)).collect() };
        let below =
            step(low, &[1.0, 2.0, 5.0]).into_iter().filter(|&tick| tick <= low * 1.001).fold(0.0, f64::max);
        let above = step(high, &[1.0, 2.0, 5.0, 10.0]);
        let above =
            above.into_iter().find(|&tick| tick >= high * 0.999 && tick > below).unwrap_or(high * 10.0);
        Axis { low: below.max(low / 10.0), high: above, log: true, start, end }
    }

    /// The pixel of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.start + part * (self.end - self.start)
    }

    /// The values to write along the axis: a handful of round ones.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            let decade = 10f64.powf((self.high / 5.0).log10().floor());
            let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
            let step = steps.into_iter().find(|step| self.high / step <= 5.0).unwrap_or(self.high);
            return (0..)
                .map(|number| f64::from(number) * step)
                .take_while(|&tick| tick <= self.high)
                .collect();
        }
        let (from, to) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let within = |steps: &[f64]| -> Vec<f64> {
            let all = (from..=to).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            all.filter(|&tick| tick >= self.low * 0.999 && tick <= self.high * 1.001).collect()
        };
        let fine = within(&[1.0, 2.0, 5.0]);
        if fine.len() <= 7 { fine } else { within(&[1.0]) }
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn an_axis_has_round_ticks_around_its_values() {
        let axis = Axis::log([3.0, 70.0].into_iter(), 0.0, 100.0);
        assert_eq!(axis.ticks(), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!((axis.place(2.0)).abs() < 1e-9 && (axis.place(100.0) - 100.0).abs() < 1e-9);
        let axis = Axis::log([1e3, 1e8].into_iter(), 0.0, 100.0);
        assert_eq!(axis.ticks().len(), 6);
        assert!((axis.place(1e4) - 20.0).abs() < 1e-9);
        let axis = Axis::from_zero([0.9, 4.2].into_iter(), 0.0, 42.0);
        assert_eq!(axis.ticks(), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert!((axis.place(2.0) - 20.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_of_one_value_or_none_has_a_length() {
        for values in [vec![5.0], vec![], vec![0.0], vec![f64::NAN]] {
            for axis in [
                Axis::log(values.iter().copied(), 0.0, 9.0),
                Axis::from_zero(values.iter().copied(), 0.0, 9.0),
            ] {
                assert!(axis.place(1.0).is_finite());
                assert!(!axis.ticks().is_empty());
            }
        }
    }
}
