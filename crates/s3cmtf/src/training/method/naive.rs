//! The paper's Algorithm 2: every gradient is contracted from the core anew.

use super::per_entry::{ComputeGradient, Elements, EntryGradient};
use crate::model::Contraction;

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
    ) -> f32 {
        // Line 1: x~ = G x {u}.
        let mut prediction = 0.0f32;
        self.elements.each(|place, index| {
            prediction += rows.iter().zip(index).fold(core[place], |product, (row, &j)| product * row[j]);
        });
        let error = value - prediction;
        // Lines 2 to 4: the row of mode n gets -(x - x~) G x_{-n} {u}.
        for (mode, gradient) in gradient.rows.iter_mut().enumerate() {
            gradient.fill(0.0);
            self.elements.each(|place, index| {
                let others = rows.iter().zip(index).enumerate().filter(|(other, _)| *other != mode);
                gradient[index[mode]] += others.fold(core[place], |product, (_, (row, &j))| product * row[j]);
            });
            gradient.iter_mut().for_each(|value| *value *= -error);
        }
        // Line 5: the core gets -(x - x~) x {u'}.
        self.elements.each(|place, index| {
            gradient.core[place] = rows.iter().zip(index).fold(-error, |product, (row, &j)| product * row[j]);
        });
        error
    }
}
