//! First-order optimization of any function, one step at a time.

use super::direction::Directions;
use super::line_search;
use crate::Error;
use crate::parallel;
use crate::params::OptimizerKind;
use crate::training::checkpoint::StateArrays;
use crate::training::dense::long_dot;

/// A relative change of the objective below this is none, and so is a gradient whose length is below the second times the number
/// of variables: those of the Poblano toolbox.
const CHANGE: f64 = 1e-6;
const GRADIENT: f64 = 1e-5;

/// A function: writes the gradient at a point, and returns the value.
pub(super) type Evaluate<'a> = dyn FnMut(&[f64], &mut [f64]) -> f64 + 'a;

/// Where it is, as far as the function goes, and what it remembers.
pub(super) struct Optimizer {
    directions: Directions,
    /// The value and the gradient where it is, once they are known.
    here: Option<(f64, Vec<f64>)>,
    /// The decrease of the last step.
    decrease: Option<f64>,
}

impl Optimizer {
    pub(super) fn new(kind: OptimizerKind) -> Self {
        Optimizer { directions: Directions::new(kind), here: None, decrease: None }
    }

    /// Takes a step; `false` if nothing would come of another.
    pub(super) fn step(&mut self, evaluate: &mut Evaluate<'_>, point: &mut Vec<f64>) -> bool {
        let (value, gradient) = self.here.take().unwrap_or_else(|| {
            let mut gradient = vec![0.0; point.len()];
            (evaluate(point, &mut gradient), gradient)
        });
        let length = long_dot(&gradient, &gradient).sqrt();
        if length <= GRADIENT * point.len() as f64 * f64::EPSILON.sqrt() {
            self.here = Some((value, gradient));
            return false;
        }
        let mut direction = self.directions.next(&gradient);
        let mut slope = long_dot(&gradient, &direction);
        // Where it would go up, or hardly down, what is remembered misleads.
        if slope.is_nan() || slope >= -1e-12 * length * long_dot(&direction, &direction).sqrt() {
            self.directions.forget();
            direction = self.directions.next(&gradient);
            slope = -length * length;
        }
        let first = match (&self.directions, self.decrease) {
            (Directions::Lbfgs(pairs), _) if !pairs.is_empty() => 1.0,
            (_, Some(decrease)) => (-2.02 * decrease / slope).clamp(1e-12, 1e12),
            _ => (1.0 / length).min(1.0),
        };
        let mut reached = (f64::NAN, vec![0.0; point.len()], vec![0.0; point.len()]);
        let mut along = |step: f64| {
            let (value, gradient, there) = &mut reached;
            parallel::change(there, |at, there| *there = point[at] + step * direction[at]);
            *value = evaluate(there, gradient);
            (*value, long_dot(gradient, &direction))
        };
        let curvature = self.directions.curvature();
        let found = line_search::search(&mut along, (value, slope), first, curvature);
        let Some(step) = found else {
            // From here no direction leads down, unless what is remembered misleads.
            let again = !self.directions.is_new();
            self.directions.forget();
            self.decrease = None;
            self.here = Some((value, gradient));
            return again;
        };
        let (lower, after, there) = reached;
        self.directions.update(direction, step, &gradient, &after);
        *point = there;
        self.decrease = Some(value - lower);
        self.here = Some((lower, after));
        value - lower > CHANGE * value.abs()
    }

    /// What the next step depends on, but for the function.
    pub(super) fn save(&self, arrays: &mut StateArrays) {
        self.directions.save(arrays);
        self.decrease.iter().for_each(|&decrease| arrays.put_doubles("decrease", &[decrease]));
    }

    /// Goes on from there.
    pub(super) fn restore(&mut self, len: usize, arrays: &mut StateArrays) -> Result<(), Error> {
        self.directions.restore(len, arrays)?;
        if arrays.doubles.contains_key("decrease") {
            let mut decrease = [0.0];
            arrays.get_doubles("decrease", &mut decrease)?;
            self.decrease = Some(decrease[0]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [OptimizerKind; 2] = [OptimizerKind::Cg, OptimizerKind::Lbfgs];

    fn minimize(kind: OptimizerKind, mut point: Vec<f64>, evaluate: &mut Evaluate<'_>) -> (Vec<f64>, usize) {
        let mut optimizer = Optimizer::new(kind);
        let mut gradient = vec![0.0; point.len()];
        let mut last = evaluate(&point, &mut gradient);
        for steps in 1..1000 {
            let go_on = optimizer.step(evaluate, &mut point);
            let value = evaluate(&point, &mut gradient);
            assert!(value <= last, "{value} after {last}");
            last = value;
            if !go_on {
                return (point, steps);
            }
        }
        (point, 1000)
    }

    #[test]
    fn rosenbrocks_valley_is_followed_to_its_end() {
        let mut rosenbrock = |x: &[f64], gradient: &mut [f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            gradient.copy_from_slice(&[-2.0 * a - 400.0 * x[0] * b, 200.0 * b]);
            // Above zero, so that a relative change means something at the end.
            1e-6 + a * a + 100.0 * b * b
        };
        for kind in KINDS {
            let (point, steps) = minimize(kind, vec![-1.2, 1.0], &mut rosenbrock);
            assert!((point[0] - 1.0).abs() < 1e-3 && (point[1] - 1.0).abs() < 2e-3, "{kind:?} {point:?}");
            assert!(steps < 150, "{kind:?} took {steps} steps");
        }
    }

    #[test]
    fn a_quadratic_takes_few_steps() {
        let curve = |k: usize| 1.0 + 30.0 * k as f64;
        for kind in KINDS {
            let mut quadratic = |x: &[f64], gradient: &mut [f64]| {
                gradient.iter_mut().zip(x).enumerate().for_each(|(k, (g, x))| *g = curve(k) * (x - 1.0));
                1e-9 + 0.5 * x.iter().enumerate().map(|(k, x)| curve(k) * (x - 1.0).powi(2)).sum::<f64>()
            };
            let (point, steps) = minimize(kind, vec![0.0; 8], &mut quadratic);
            assert!(point.iter().all(|x| (x - 1.0).abs() < 1e-4), "{kind:?} {point:?}");
            assert!(steps < 60, "{kind:?} took {steps} steps");
        }
    }
}
