//! In which direction to go next: nonlinear conjugate gradients, or L-BFGS.

use std::collections::VecDeque;

use crate::Error;
use crate::parallel;
use crate::params::OptimizerKind;
use crate::training::checkpoint::StateArrays;
use crate::training::dense::long_dot;

/// How many steps L-BFGS remembers.
const MEMORY: usize = 10;

/// What is remembered of the steps before.
pub(super) enum Directions {
    /// Hestenes and Stiefel's: the last direction.
    Cg(Option<Vec<f64>>),
    /// Steps and what they did to the gradient, the last one last.
    Lbfgs(VecDeque<[Vec<f64>; 2]>),
}

impl Directions {
    pub(super) fn new(kind: OptimizerKind) -> Self {
        match kind {
            OptimizerKind::Cg => Directions::Cg(None),
            OptimizerKind::Lbfgs => Directions::Lbfgs(VecDeque::new()),
        }
    }

    /// Whether the next direction is but the steepest descent.
    pub(super) fn is_new(&self) -> bool {
        match self {
            Directions::Cg(last) => last.is_none(),
            Directions::Lbfgs(pairs) => pairs.is_empty(),
        }
    }

    pub(super) fn forget(&mut self) {
        match self {
            Directions::Cg(last) => *last = None,
            Directions::Lbfgs(pairs) => pairs.clear(),
        }
    }

    /// What may be left of the slope after a step.
    pub(super) fn curvature(&self) -> f64 {
        match self {
            Directions::Cg(_) => 0.1,
            Directions::Lbfgs(_) => 0.9,
        }
    }

    /// Takes note of a step along a direction and of the gradients before and after it.
    pub(super) fn update(&mut self, direction: Vec<f64>, step: f64, before: &[f64], after: &[f64]) {
        let change = parallel::numbers(after.len(), |at| after[at] - before[at]);
        match self {
            Directions::Cg(last) => {
                let scale = long_dot(&direction, &change);
                let beta = (long_dot(after, &change) / scale).max(0.0);
                let beta = if beta.is_finite() { beta } else { 0.0 };
                let next = |at: usize| beta * direction[at] - after[at];
                *last = Some(parallel::numbers(after.len(), next));
            }
            Directions::Lbfgs(pairs) => {
                let moved = parallel::numbers_of(&direction, |direction| step * direction);
                // Without curvature along the step nothing was learnt.
                if long_dot(&moved, &change) > 1e-12 * long_dot(&change, &change) * step.min(1.0) {
                    if pairs.len() == MEMORY {
                        pairs.pop_front();
                    }
                    pairs.push_back([moved, change]);
                }
            }
        }
    }

    /// The next direction.
    pub(super) fn next(&self, gradient: &[f64]) -> Vec<f64> {
        match self {
            Directions::Cg(Some(next)) => next.clone(),
            Directions::Lbfgs(pairs) if !pairs.is_empty() => two_loops(pairs, gradient),
            _ => parallel::numbers_of(gradient, |gradient| -gradient),
        }
    }

    pub(super) fn save(&self, arrays: &mut StateArrays) {
        match self {
            Directions::Cg(last) => {
                last.iter().for_each(|last| arrays.put_doubles("direction", last));
            }
            Directions::Lbfgs(pairs) => {
                for (number, [moved, change]) in pairs.iter().enumerate() {
                    arrays.put_doubles(format!("moved.{number}"), moved);
                    arrays.put_doubles(format!("change.{number}"), change);
                }
            }
        }
    }

    pub(super) fn restore(&mut self, len: usize, arrays: &mut StateArrays) -> Result<(), Error> {
        let mut get = |name: &str| -> Result<Option<Vec<f64>>, Error> {
            if !arrays.doubles.contains_key(name) {
                return Ok(None);
            }
            let mut list = vec![0.0; len];
            arrays.get_doubles(name, &mut list)?;
            Ok(Some(list))
        };
        match self {
            Directions::Cg(last) => *last = get("direction")?,
            Directions::Lbfgs(pairs) => {
                pairs.clear();
                for number in 0..MEMORY {
                    let pair = (get(&format!("moved.{number}"))?, get(&format!("change.{number}"))?);
                    let (Some(moved), Some(change)) = pair else { break };
                    pairs.push_back([moved, change]);
                }
            }
        }
        Ok(())
    }
}

/// The product of the approximate inverse Hessian and the negative gradient.
fn two_loops(pairs: &VecDeque<[Vec<f64>; 2]>, gradient: &[f64]) -> Vec<f64> {
    let add = |to: &mut Vec<f64>, by: f64, list: &[f64]| {
        parallel::change(to, |at, to| *to += by * list[at]);
    };
    let mut direction = parallel::numbers_of(gradient, |gradient| -gradient);
    let mut shares = Vec::with_capacity(pairs.len());
    for [moved, change] in pairs.iter().rev() {
        let share = long_dot(moved, &direction) / long_dot(moved, change);
        add(&mut direction, -share, change);
        shares.push(share);
    }
    if let Some([moved, change]) = pairs.back() {
        let scale = long_dot(moved, change) / long_dot(change, change);
        parallel::change(&mut direction, |_, value| *value *= scale);
    }
    for ([moved, change], share) in pairs.iter().zip(shares.into_iter().rev()) {
        let back = long_dot(change, &direction) / long_dot(moved, change);
        add(&mut direction, share - back, moved);
    }
    direction
}
