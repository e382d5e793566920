//! The paper's Algorithm 2: every gradient is contracted from the core anew.

use super::per_entry::{ComputeGradient, Elements, EntryGradient, NONE};
use crate::layout::Contraction;

/// S3CMTF-naive.
pub(super) struct Naive {
    elements: Elements,
}

impl Naive {
    pub(super) fn new(contraction: &Contraction) -> Self {
        Naive { elements: Elements::new(contraction) }
    }
}

impl ComputeGradient for Naive {
    fn compute_gradient(
        &mut self,
        core: &[f32],
        rows: &[Vec<f32>],
        value: f32,
        gradient: &mut EntryGradient,
    ) {
        // Line 1: x~ = G x {u}.
        let mut prediction = 0.0f32;
        self.elements.runs(|run| {
            run.elements(|place, j| prediction += run.product(core[place], rows, j, NONE));
        });
        let error = value - prediction;
        // Lines 2 to 4: the row of mode n gets -(x - x~) G x_{-n} {u}.
        for (mode, gradient) in gradient.rows.iter_mut().enumerate() {
            gradient.fill(0.0);
            self.elements.runs(|run| {
                run.elements(|place, j| {
                    let mine = run.index.get(mode).copied().unwrap_or(j);
                    gradient[mine] += run.product(core[place], rows, j, mode);
                });
            });
            gradient.iter_mut().for_each(|value| *value *= -error);
        }
        if !gradient.with_core {
            return;
        }
        // Line 5: the core gets -(x - x~) x {u'}.
        self.elements.runs(|run| {
            run.elements(|place, j| gradient.core[place] = run.product(-error, rows, j, NONE));
        });
    }
}
