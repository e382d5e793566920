//! How far to go along a direction: to a point that fulfils the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6).

/// Enough of the decrease that the slope promises.
const DECREASE: f64 = 1e-4;
/// More evaluations do not help.
const EVALUATIONS: usize = 20;

/// A point on the line: how far, the objective and its slope there.
#[derive(Clone, Copy)]
struct Point {
    step: f64,
    value: f64,
    slope: f64,
}

/// Looks for a step from where the objective has the given value and slope, the slope being negative. `evaluate` goes to a step
/// and returns value and slope there; it has last been to the step that is returned. `curvature` is the share of the slope that
/// may be left.
pub(super) fn search(
    evaluate: &mut dyn FnMut(f64) -> (f64, f64),
    (value, slope): (f64, f64),
    first: f64,
    curvature: f64,
) -> Option<f64> {
    let start = Point { step: 0.0, value, slope };
    let decreases = |point: &Point| point.value <= value + DECREASE * point.step * slope;
    let is_flat = |point: &Point| point.slope.abs() <= -curvature * slope;
    let mut at = |step: f64| {
        let (value, slope) = evaluate(step);
        Point { step, value, slope }
    };
    let (mut low, mut high, mut left) = (start, None, EVALUATIONS);
    let mut step = first;
    // Outwards, until the minimum lies between two points.
    while left > 0 {
        left -= 1;
        let point = at(step);
        if !decreases(&point) || (point.value >= low.value && low.step > 0.0) || !point.slope.is_finite() {
            high = Some(point);
            break;
        }
        if is_flat(&point) {
            return Some(step);
        }
        if point.slope >= 0.0 {
            high = Some(low);
            low = point;
            break;
        }
        low = point;
        step *= 4.0;
    }
    // Inwards, between the best point so far and another.
    let mut last = step;
    if let Some(mut high) = high {
        while left > 0 && (high.step - low.step).abs() > 1e-14 * low.step.abs().max(f64::MIN_POSITIVE) {
            left -= 1;
            last = between(&low, &high);
            let point = at(last);
            if !decreases(&point) || point.value >= low.value || !point.slope.is_finite() {
                high = point;
                continue;
            }
            if is_flat(&point) {
                return Some(last);
            }
            if point.slope * (high.step - low.step) >= 0.0 {
                high = low;
            }
            low = point;
        }
    }
    // Less than was hoped for, but lower than the start.
    if low.step > 0.0 && last != low.step {
        at(low.step);
    }
    (low.step > 0.0).then_some(low.step)
}

/// The minimum of the cubic through two points, kept away from both.
fn between(low: &Point, high: &Point) -> f64 {
    let width = high.step - low.step;
    let (near, far) = (low.step + 0.1 * width, low.step + 0.9 * width);
    let a = low.slope + high.slope - 3.0 * (high.value - low.value) / width;
    let root = (a * a - low.slope * high.slope).sqrt() * width.signum();
    let cubic = high.step - width * (high.slope + root - a) / (high.slope - low.slope + 2.0 * root);
    if cubic.is_finite() { cubic.clamp(near.min(far), near.max(far)) } else { low.step + 0.5 * width }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wolfe_conditions_hold_where_it_ends() {
        // Steep near 0, flat far out, and with a wave.
        let f = |x: f64| (x - 3.0).powi(2) / (1.0 + 0.1 * x * x) + 0.2 * (3.0 * x).sin();
        let slope = |x: f64| (f(x + 1e-6) - f(x - 1e-6)) / 2e-6;
        for first in [1e-3, 0.1, 1.0, 30.0] {
            for curvature in [0.1, 0.9] {
                let mut last = f64::NAN;
                let mut evaluate = |step: f64| {
                    last = step;
                    (f(step), slope(step))
                };
                let step = search(&mut evaluate, (f(0.0), slope(0.0)), first, curvature).unwrap();
                assert_eq!(last, step);
                assert!(f(step) <= f(0.0) + 1e-4 * step * slope(0.0), "{first}: {step}");
                assert!(slope(step).abs() <= curvature * slope(0.0).abs(), "{first}: {step}");
            }
        }
    }

    #[test]
    fn where_nothing_is_lower_there_is_no_step() {
        assert_eq!(search(&mut |step| (1.0 + step, 1.0), (1.0, -1e-9), 1.0, 0.9), None);
        assert_eq!(search(&mut |_| (f64::NAN, f64::NAN), (1.0, -1.0), 1.0, 0.9), None);
    }
}
