//! Sums over all entries: squared errors, and what they pass back to the core.

use crate::parallel;
use crate::training::chain::{Chain, restored};
use crate::training::dense::{add_scaled, dot};
use crate::training::view::View;

/// The most numbers that the pieces of a sum over cores have together.
const SUMS: usize = 1 << 24;
/// Steps of conjugate gradients on the core in a sweep: factors are nearly orthogonal, so that few do.
const STEPS: usize = 10;
/// The share of the first gradient at which they end.
const CLOSE: f64 = 1e-2;

/// Entries, and rows for them.
pub(super) struct Pass<'a> {
    pub(super) view: &'a View,
    pub(super) ranks: &'a [usize],
    pub(super) factors: Vec<&'a [f64]>,
    pub(super) diagonal: bool,
    /// What values are divided by.
    pub(super) spread: f64,
}

impl Pass<'_> {
    /// The sum of squared errors of a core.
    pub(super) fn squared_errors(&self, core: &[f64]) -> f64 {
        self.sums(core, true, false).1
    }

    /// The sum of squared predictions of a core.
    pub(super) fn squared_predictions(&self, core: &[f64]) -> f64 {
        self.sums(core, false, false).1
    }

    /// A core after some steps of conjugate gradients towards the one that fits best, given all rows.
    pub(super) fn improved(&self, core: &[f64], ridge: f64) -> Vec<f64> {
        let mut core = core.to_vec();
        let (mut rest, _) = self.sums(&core, true, true);
        rest.iter_mut().zip(&core).for_each(|(rest, value)| *rest -= ridge * value);
        let first = dot(&rest, &rest);
        let (mut direction, mut size) = (rest.clone(), first);
        for _ in 0..STEPS {
            let (mut turned, squares) = self.sums(&direction, false, true);
            turned.iter_mut().zip(&direction).for_each(|(turned, value)| *turned += ridge * value);
            let step = size / (squares + ridge * dot(&direction, &direction));
            if !step.is_finite() {
                break;
            }
            core.iter_mut().zip(&direction).for_each(|(value, direction)| *value += step * direction);
            rest.iter_mut().zip(&turned).for_each(|(rest, turned)| *rest -= step * turned);
            let next = dot(&rest, &rest);
            if next <= CLOSE * CLOSE * first {
                break;
            }
            direction.iter_mut().zip(&rest).for_each(|(old, rest)| *old = rest + next / size * *old);
            size = next;
        }
        core
    }

    /// Goes through all entries: errors against the values, or where those are not asked for, predictions. Returns what they
    /// pass back to the core, if that is asked for, and the sum of their squares.
    fn sums(&self, core: &[f64], values: bool, back: bool) -> (Vec<f64>, f64) {
        let Pass { view, ranks, spread, diagonal, .. } = *self;
        let chain = Chain::new((&view.modes, view.modes.len() - 1), ranks, &self.factors, core, diagonal);
        let (last, width) = (self.factors[view.last_mode()], ranks[view.last_mode()]);
        let size = if back { core.len() } else { 0 };
        // As many for any number of threads, so that the sum is the same.
        let pieces = (SUMS / core.len().max(1)).clamp(1, 64).min(view.rows().max(1));
        let piece = |number: usize| {
            let (first, end) = (number * view.rows() / pieces, (number + 1) * view.rows() / pieces);
            let (mut forth, mut steps) = (chain.steps(), chain.steps());
            let (mut gradient, mut squares) = (vec![0.0; size], 0.0);
            for run in view.row_runs(first..end) {
                let left = chain.left(run.head, &mut forth);
                let mut given = back.then(|| chain.back(run.head, &mut steps, &mut gradient));
                for (&other, &value) in run.last.iter().zip(run.values) {
                    let other = &last[other as usize * width..][..width];
                    let prediction = dot(left, other);
                    let error = if values { f64::from(value) / spread - prediction } else { prediction };
                    squares += error * error;
                    if let Some(given) = &mut given {
                        add_scaled(given, error, other);
                    }
                }
            }
            if back {
                chain.arrive(&mut steps, &mut gradient);
            }
            (gradient, squares)
        };
        let sums: Vec<(Vec<f64>, f64)> = parallel::map(pieces, piece);
        let (mut gradient, mut squares) = (vec![0.0; size], 0.0);
        for (own, own_squares) in sums {
            gradient.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            squares += own_squares;
        }
        if back && !diagonal {
            gradient = restored(&gradient, ranks, &view.modes);
        }
        (gradient, squares)
    }
}
