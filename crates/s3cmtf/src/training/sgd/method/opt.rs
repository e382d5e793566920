//! The paper's Algorithm 3: the intermediate data S of the prediction gives the gradients by Collapse and division.

use super::per_entry::{ComputeGradient, Elements, EntryGradient, NONE};
use crate::layout::Contraction;

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
}

impl ComputeGradient for Opt {
    fn compute_gradient(
        &mut self,
        core: &[f32],
        rows: &[Vec<f32>],
        value: f32,
        gradient: &mut EntryGradient,
    ) {
        // Lines 1 to 5: S, and x~ as its sum.
        let s = &mut self.s;
        let mut prediction = 0.0f32;
        self.elements.runs(|run| {
            let s = &mut s[run.places()];
            s.copy_from_slice(&core[run.places()]);
            for (row, &j) in rows.iter().zip(run.index) {
                s.iter_mut().for_each(|s| *s *= row[j]);
            }
            s.iter_mut().zip(&rows[run.index.len()][run.last..]).for_each(|(s, u)| *s *= u);
            prediction += s.iter().sum::<f32>();
        });
        let s = &self.s;
        let error = value - prediction;
        // Lines 6 to 8: -(x - x~) Collapse(S, n) / u.
        for (mode, row) in rows.iter().enumerate() {
            let gradient = &mut gradient.rows[mode];
            gradient.fill(0.0);
            self.elements.runs(|run| {
                let s = &s[run.places()];
                match run.index.get(mode) {
                    Some(&mine) => gradient[mine] += s.iter().sum::<f32>(),
                    None => gradient[run.last..].iter_mut().zip(s).for_each(|(sum, s)| *sum += s),
                }
            });
            let mut divisible = true;
            for (value, &u) in gradient.iter_mut().zip(row) {
                *value *= -error / u;
                divisible &= u.abs() >= TINY;
            }
            if !divisible {
                // The paper divides by zero here; the same sum without the factor is what it stands for.
                let zero = |j: usize| row[j].abs() < TINY;
                (0..row.len()).filter(|&j| zero(j)).for_each(|j| gradient[j] = 0.0);
                self.elements.runs(|run| {
                    run.elements(|place, j| {
                        let mine = run.index.get(mode).copied().unwrap_or(j);
                        if zero(mine) {
                            gradient[mine] -= error * run.product(core[place], rows, j, mode);
                        }
                    });
                });
            }
        }
        if !gradient.with_core {
            return;
        }
        // Line 9: -(x - x~) S / G.
        let mut divisible = true;
        for ((gradient, &s), &g) in gradient.core.iter_mut().zip(s).zip(core) {
            *gradient = -error * s / g;
            divisible &= g.abs() >= TINY;
        }
        if !divisible {
            self.elements.runs(|run| {
                run.elements(|place, j| {
                    if core[place].abs() < TINY {
                        gradient.core[place] = run.product(-error, rows, j, NONE);
                    }
                });
            });
        }
    }
}
