//! The core, multiplied by one row after the other, and the way back.

/// The core in the order in which rows are multiplied into it.
pub(super) struct Chain<'a> {
    /// The modes whose rows are multiplied in, in this order.
    modes: &'a [usize],
    /// For each of them its rank and its factor.
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
    /// A chain through `modes`; one mode may be missing, and its concepts are what is left then.
    pub(super) fn new(
        modes: &'a [usize],
        ranks: &[usize],
        factors: &[&'a [f64]],
        core: &[f64],
        diagonal: bool,
    ) -> Self {
        let core = if diagonal { core.to_vec() } else { permuted(core, ranks, &axes(modes, ranks.len())) };
        Chain {
            modes,
            factors: modes.iter().map(|&mode| (ranks[mode], factors[mode])).collect(),
            core,
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
        Steps { last: vec![u32::MAX; self.modes.len()], back: left.clone(), left }
    }

    /// What is left of the core after the given rows, one for each mode of the chain.
    pub(super) fn left<'s>(&self, rows: &[u32], steps: &'s mut Steps) -> &'s [f64] {
        let first = same(rows, &steps.last);
        for (step, &own) in rows.iter().enumerate().skip(first) {
            let (before, after) = steps.left.split_at_mut(step);
            let before = before.last().map_or(&self.core[..], |left| &left[..]);
            let (left, row) = (&mut after[0][..], self.row(step, own));
            if self.diagonal {
                left.iter_mut().zip(before).zip(row).for_each(|((left, before), row)| *left = before * row);
            } else {
                left.fill(0.0);
                for (slice, &by) in before.chunks_exact(left.len()).zip(row) {
                    left.iter_mut().zip(slice).for_each(|(left, value)| *left += by * value);
                }
            }
            steps.last[step] = own;
        }
        steps.left.last().map_or(&[], |left| left)
    }

    /// The prediction of a cell by a chain through all modes.
    pub(super) fn predict(&self, rows: &[u32], steps: &mut Steps) -> f64 {
        self.left(rows, steps).iter().sum()
    }

    /// Adds to the gradient of the core what an entry gives, which must be that of the last prediction. It arrives with
    /// [`Chain::arrive`].
    pub(super) fn give(&self, error: f64, steps: &mut Steps) {
        if let Some(back) = steps.back.last_mut() {
            back.iter_mut().for_each(|back| *back += error);
        }
    }

    /// Passes on what was given by entries that do not share the given rows; without rows, all of it.
    pub(super) fn arrive(&self, next: Option<&[u32]>, steps: &mut Steps, gradient: &mut [f64]) {
        let first = next.map_or(0, |rows| same(rows, &steps.last));
        if steps.last.first() == Some(&u32::MAX) {
            return;
        }
        for step in (first..self.modes.len()).rev() {
            let row = self.row(step, steps.last[step]);
            let (before, after) = steps.back.split_at_mut(step);
            let to = before.last_mut().map_or(&mut *gradient, |back| &mut back[..]);
            let back = &mut after[0];
            if self.diagonal {
                to.iter_mut().zip(back.iter()).zip(row).for_each(|((to, back), row)| *to += back * row);
            } else {
                for (slice, &by) in to.chunks_exact_mut(back.len()).zip(row) {
                    slice.iter_mut().zip(back.iter()).for_each(|(to, back)| *to += by * back);
                }
            }
            back.fill(0.0);
        }
    }

    /// Moves to the given rows without anything being left of the core: only what is given goes back.
    pub(super) fn walk(&self, rows: &[u32], steps: &mut Steps) {
        steps.last.copy_from_slice(rows);
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

/// The modes of a chain, and behind them those that are not in it.
fn axes(modes: &[usize], order: usize) -> Vec<usize> {
    modes.iter().copied().chain((0..order).filter(|mode| !modes.contains(mode))).collect()
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
            let walk = |core: &[f64]| {
                let chain = Chain::new(&modes, &ranks, &factors, core, diagonal);
                let (mut steps, mut gradient, mut sum) = (chain.steps(), vec![0.0; size], 0.0);
                for rows in &entries {
                    chain.arrive(Some(rows), &mut steps, &mut gradient);
                    sum += chain.predict(rows, &mut steps);
                    chain.give(1.0, &mut steps);
                }
                chain.arrive(None, &mut steps, &mut gradient);
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
