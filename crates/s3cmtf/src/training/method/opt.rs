//! The paper's Algorithm 3: the intermediate data S of the prediction gives the gradients by Collapse and division.

use super::per_entry::{ComputeGradient, Elements, EntryGradient};
use crate::model::Contraction;

/// Below this the division by a factor's or the core's value is not safe, and the product is computed directly.
const TINY: f32 = 1e-18;

/// S3CMTF-opt.
pub(super) struct Opt {
    elements: Elements,
    /// The intermediate data S: `s = g u_1 u_2 ...` for each element of the core.
    s: Vec<f32>,
}

impl Opt {
    pub(super) fn new(contraction: &Contraction) -> Self {
        let elements = Elements::new(contraction);
        Opt { s: vec![0.0; elements.len()], elements }
    }

    /// The product of an element with the rows of all modes but one (or none, for `except` past the last).
    fn product(&self, start: f32, rows: &[Vec<f32>], index: &[usize], except: usize) -> f32 {
        let others = rows.iter().zip(index).enumerate().filter(|(mode, _)| *mode != except);
        others.fold(start, |product, (_, (row, &j))| product * row[j])
    }
}

impl ComputeGradient for Opt {
    fn compute_gradient(
        &mut self,
        core: &[f32],
        rows: &[Vec<f32>],
        value: f32,
        gradient: &mut EntryGradient,
    ) -> f32 {
        // Lines 1 to 5: S, and x~ as its sum.
        let s = &mut self.s;
        let mut prediction = 0.0f32;
        self.elements.each(|place, index| {
            s[place] = rows.iter().zip(index).fold(core[place], |product, (row, &j)| product * row[j]);
            prediction += s[place];
        });
        let error = value - prediction;
        // Lines 6 to 8: -(x - x~) Collapse(S, n) / u.
        for (mode, row) in rows.iter().enumerate() {
            let gradient = &mut gradient.rows[mode];
            gradient.fill(0.0);
            self.elements.each(|place, index| gradient[index[mode]] += self.s[place]);
            let mut unsafe_to_divide = false;
            for (value, &u) in gradient.iter_mut().zip(row) {
                *value *= -error / u;
                unsafe_to_divide |= u.abs() < TINY;
            }
            if unsafe_to_divide {
                // The paper divides by zero here; the same sum without the factor is what it stands for.
                let zero = |j: usize| row[j].abs() < TINY;
                (0..row.len()).filter(|&j| zero(j)).for_each(|j| gradient[j] = 0.0);
                self.elements.each(|place, index| {
                    if zero(index[mode]) {
                        gradient[index[mode]] -= error * self.product(core[place], rows, index, mode);
                    }
                });
            }
        }
        // Line 9: -(x - x~) S / G.
        let mut unsafe_to_divide = false;
        for ((gradient, &s), &g) in gradient.core.iter_mut().zip(&self.s).zip(core) {
            *gradient = -error * s / g;
            unsafe_to_divide |= g.abs() < TINY;
        }
        if unsafe_to_divide {
            self.elements.each(|place, index| {
                if core[place].abs() < TINY {
                    gradient.core[place] = self.product(-error, rows, index, rows.len());
                }
            });
        }
        error
    }
}
