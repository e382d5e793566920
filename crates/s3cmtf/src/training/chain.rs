//! The core, multiplied by one row after the other, and the way back.

use super::dense::{add_scaled, dot, multiply};
use super::view::{Run, View};
use crate::parallel;

/// The core in the order in which rows are multiplied into it.
pub(super) struct Chain<'a> {
    /// For each mode that is multiplied in, its rank and its factor.
    factors: Vec<(usize, &'a [f64])>,
    core: Vec<f64>,
    diagonal: bool,
}

/// What was multiplied last, step by step, so that entries which share rows share the work.
pub(super) struct Steps {
    last: Vec<u32>,
    /// What is left of the core after each step.
    left: Vec<Vec<f64>>,
    /// What goes back to the core from each step.
    back: Vec<Vec<f64>>,
}

impl<'a> Chain<'a> {
    /// A chain through the first `steps` of the modes in `axes`; the concepts of the others are what is left, in that order.
    pub(super) fn new(
        (axes, steps): (&[usize], usize),
        ranks: &[usize],
        factors: &[&'a [f64]],
        core: &[f64],
        diagonal: bool,
    ) -> Self {
        Chain {
            factors: axes[..steps].iter().map(|&mode| (ranks[mode], factors[mode])).collect(),
            core: if diagonal { core.to_vec() } else { permuted(core, ranks, axes) },
            diagonal,
        }
    }

    /// Room to walk along the chain.
    pub(super) fn steps(&self) -> Steps {
        let mut size = self.core.len();
        let left: Vec<Vec<f64>> = self
            .factors
            .iter()
            .map(|&(rank, _)| {
                size = if self.diagonal { size } else { size / rank };
                vec![0.0; size]
            })
            .collect();
        Steps { last: vec![u32::MAX; self.factors.len()], back: left.clone(), left }
    }

    /// What is left of the core after the given rows, one for each mode of the chain.
    pub(super) fn left<'s>(&'s self, rows: &[u32], steps: &'s mut Steps) -> &'s [f64] {
        let first = same(rows, &steps.last);
        for (step, &own) in rows.iter().enumerate().skip(first) {
            let (before, after) = steps.left.split_at_mut(step);
            let before = before.last().map_or(&self.core[..], |left| &left[..]);
            let (left, row) = (&mut after[0][..], self.row(step, own));
            if self.diagonal {
                multiply(left, before, row);
            } else {
                left.fill(0.0);
                for (slice, &by) in before.chunks_exact(left.len()).zip(row) {
                    add_scaled(left, by, slice);
                }
            }
            steps.last[step] = own;
        }
        steps.left.last().map_or(&self.core, |left| left)
    }

    /// The sum of squared errors over the entries of a view, by a chain through all of its modes but the last, whose factor is
    /// `last`.
    pub(super) fn squared_errors(&self, view: &View, last: &[f64]) -> f64 {
        // As many for any number of threads, so that the sum is the same.
        const PIECES: usize = 256;
        let piece = |number: usize| -> f64 {
            let (first, end) = (number * view.len() / PIECES, (number + 1) * view.len() / PIECES);
            let mut steps = self.steps();
            let of_run = |run: Run<'_>| -> f64 {
                let left = self.left(run.head, &mut steps);
                let row = |&row: &u32| &last[row as usize * left.len()..][..left.len()];
                let entries = run.last.iter().map(row).zip(run.values);
                entries.map(|(row, &value)| (f64::from(value) - dot(left, row)).powi(2)).sum()
            };
            view.runs(first..end).map(of_run).sum()
        };
        parallel::map(PIECES, piece).into_iter().sum()
    }

    /// Where to add what entries give back: their errors, each times what it is multiplied with after the chain. The rows are
    /// those of the entries; what others have given goes on to `gradient`, as far as they do not share them.
    pub(super) fn back<'s>(
        &self,
        rows: &[u32],
        steps: &'s mut Steps,
        gradient: &'s mut [f64],
    ) -> &'s mut [f64] {
        let first = same(rows, &steps.last);
        self.pass_on(first, steps, gradient);
        steps.last.copy_from_slice(rows);
        steps.back.last_mut().map_or(gradient, |back| back)
    }

    /// Passes on to `gradient` all that was given.
    pub(super) fn arrive(&self, steps: &mut Steps, gradient: &mut [f64]) {
        self.pass_on(0, steps, gradient);
    }

    fn pass_on(&self, first: usize, steps: &mut Steps, gradient: &mut [f64]) {
        if steps.last.first() == Some(&u32::MAX) {
            return;
        }
        for step in (first..self.factors.len()).rev() {
            let row = self.row(step, steps.last[step]);
            let (before, after) = steps.back.split_at_mut(step);
            let to = before.last_mut().map_or(&mut *gradient, |back| &mut back[..]);
            let back = &mut after[0];
            if self.diagonal {
                to.iter_mut().zip(back.iter()).zip(row).for_each(|((to, back), row)| *to += back * row);
            } else {
                for (slice, &by) in to.chunks_exact_mut(back.len()).zip(row) {
                    add_scaled(slice, by, back);
                }
            }
            back.fill(0.0);
        }
    }

    fn row(&self, step: usize, row: u32) -> &'a [f64] {
        let (rank, factor) = self.factors[step];
        &factor[row as usize * rank..][..rank]
    }
}

/// How many rows are the same from the first on.
fn same(rows: &[u32], last: &[u32]) -> usize {
    rows.iter().zip(last).take_while(|(a, b)| a == b).count()
}

/// A full core with its modes in another order.
pub(super) fn permuted(core: &[f64], ranks: &[usize], axes: &[usize]) -> Vec<f64> {
    let stride = |axis: usize| ranks[axis + 1..].iter().product::<usize>();
    let strides: Vec<usize> = axes.iter().map(|&axis| stride(axis)).collect();
    let mut index = vec![0usize; axes.len()];
    let mut from = 0;
    let mut result = Vec::with_capacity(core.len());
    for _ in 0..core.len() {
        result.push(core[from]);
        for place in (0..axes.len()).rev() {
            index[place] += 1;
            from += strides[place];
            if index[place] < ranks[axes[place]] {
                break;
            }
            from -= strides[place] * index[place];
            index[place] = 0;
        }
    }
    result
}

/// The core again, after [`permuted`] with the same arguments.
pub(super) fn restored(core: &[f64], ranks: &[usize], axes: &[usize]) -> Vec<f64> {
    let ranks: Vec<usize> = axes.iter().map(|&axis| ranks[axis]).collect();
    let mut back = vec![0; axes.len()];
    axes.iter().enumerate().for_each(|(place, &axis)| back[axis] = place);
    permuted(core, &ranks, &back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_restored_after_any_order_of_its_modes() {
        let (ranks, core) = ([2, 3, 4], (0..24).map(f64::from).collect::<Vec<_>>());
        for axes in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let other = permuted(&core, &ranks, &axes);
            assert_eq!(restored(&other, &ranks, &axes), core, "{axes:?}");
        }
        assert_eq!(permuted(&core, &ranks, &[2, 0, 1])[..4], [0.0, 4.0, 8.0, 12.0]);
    }

    #[test]
    fn what_goes_back_is_the_gradient_of_what_came() {
        let ranks = [2, 3, 2];
        let factors: Vec<Vec<f64>> =
            ranks.iter().map(|rank| (0..4 * rank).map(|place| (place as f64).sin()).collect()).collect();
        let factors: Vec<&[f64]> = factors.iter().map(Vec::as_slice).collect();
        let entries = [[0, 1, 1], [0, 1, 3], [0, 2, 0], [3, 2, 0]];
        for diagonal in [false, true] {
            let (ranks, size) = if diagonal { ([2, 2, 2], 2) } else { (ranks, 12) };
            let core: Vec<f64> = (0..size).map(|place| (place as f64).cos()).collect();
            let modes = [2, 0, 1];
            // The last mode is not in the chain: its rows are multiplied with what is left.
            let last = |row: u32| &factors[1][row as usize * ranks[1]..][..ranks[1]];
            let walk = |core: &[f64]| {
                let chain = Chain::new((&modes, 2), &ranks, &factors, core, diagonal);
                let (mut forth, mut steps) = (chain.steps(), chain.steps());
                let (mut gradient, mut sum) = (vec![0.0; size], 0.0);
                for rows in &entries {
                    let left = chain.left(&rows[..2], &mut forth);
                    sum += left.iter().zip(last(rows[2])).map(|(a, b)| a * b).sum::<f64>();
                    add_scaled(chain.back(&rows[..2], &mut steps, &mut gradient), 1.0, last(rows[2]));
                }
                chain.arrive(&mut steps, &mut gradient);
                (sum, gradient)
            };
            let (sum, gradient) = walk(&core);
            let gradient = if diagonal { gradient } else { restored(&gradient, &ranks, &modes) };
            // Predictions are linear in the core.
            let linear: f64 = gradient.iter().zip(&core).map(|(a, b)| a * b).sum();
            assert!((sum - linear).abs() < 1e-12, "{sum} and {linear}");
            for place in 0..size {
                let mut one = vec![0.0; size];
                one[place] = 1.0;
                assert!((walk(&one).0 - gradient[place]).abs() < 1e-12);
            }
        }
    }
}
