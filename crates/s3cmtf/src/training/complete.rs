//! Sums over all cells of a tensor, none of which is visited: they are products of what the rows of each mode add up to.

/// What all cells of a tensor come to, given the Gram matrix of each mode's rows.
pub(super) struct Complete {
    ranks: Vec<usize>,
    /// For each mode `U'U`.
    grams: Vec<Vec<f64>>,
}

impl Complete {
    pub(super) fn new(ranks: &[usize], grams: Vec<Vec<f64>>) -> Self {
        Complete { ranks: ranks.to_vec(), grams }
    }

    /// Takes up other rows of a mode.
    pub(super) fn update(&mut self, mode: usize, gram: Vec<f64>) {
        self.grams[mode] = gram;
    }

    /// The Gram matrix of a mode's rows.
    pub(super) fn gram(&self, mode: usize) -> &[f64] {
        &self.grams[mode]
    }

    /// The sum of d d' over all cells of a row of a mode, with d the core folded along the cell's other rows: the same for every
    /// row of it.
    pub(super) fn of_row(&self, core: &[f64], mode: usize) -> Vec<f64> {
        let mut folded = core.to_vec();
        for other in (0..self.ranks.len()).filter(|&other| other != mode) {
            folded = multiply(&folded, &self.ranks, other, &self.grams[other]);
        }
        let (rank, inner) = (self.ranks[mode], inner(&self.ranks, mode));
        let mut sums = vec![0.0; rank * rank];
        for (core, folded) in core.chunks_exact(rank * inner).zip(folded.chunks_exact(rank * inner)) {
            for (place, sum) in sums.iter_mut().enumerate() {
                let [core, folded] =
                    [(core, place / rank), (folded, place % rank)].map(|(all, k)| &all[k * inner..][..inner]);
                *sum += core.iter().zip(folded).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        sums
    }

    /// The product of X'X and a core, with X the products of rows of all cells.
    pub(super) fn of_core(&self, core: &[f64]) -> Vec<f64> {
        along_all(core, &self.ranks, &self.grams)
    }
}

/// A core multiplied with a matrix along each mode.
pub(super) fn along_all(core: &[f64], ranks: &[usize], matrices: &[Vec<f64>]) -> Vec<f64> {
    let multiplied =
        |core: Vec<f64>, (mode, matrix): (usize, &Vec<f64>)| multiply(&core, ranks, mode, matrix);
    matrices.iter().enumerate().fold(core.to_vec(), multiplied)
}

/// A core multiplied with a square matrix along one mode.
fn multiply(core: &[f64], ranks: &[usize], mode: usize, matrix: &[f64]) -> Vec<f64> {
    let (rank, inner) = (ranks[mode], inner(ranks, mode));
    let mut product = vec![0.0; core.len()];
    for (from, to) in core.chunks_exact(rank * inner).zip(product.chunks_exact_mut(rank * inner)) {
        for (to, line) in to.chunks_exact_mut(inner).zip(matrix.chunks_exact(rank)) {
            for (from, &by) in from.chunks_exact(inner).zip(line) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to += by * from);
            }
        }
    }
    product
}

/// How many numbers of a core are between two neighbours along a mode.
fn inner(ranks: &[usize], mode: usize) -> usize {
    ranks[mode + 1..].iter().product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::gram::gram;

    #[test]
    fn sums_over_all_cells_are_those_of_visiting_them() {
        let (ranks, rows) = ([2, 3, 2], [4, 5, 3]);
        let number = |seed: usize, place: usize| ((seed * 31 + place * 17) % 23) as f32 / 11.0 - 1.0;
        let factors: Vec<Vec<f32>> = (0..3)
            .map(|mode| (0..rows[mode] * ranks[mode]).map(|place| number(mode, place)).collect())
            .collect();
        let core: Vec<f64> = (0..12).map(|place| f64::from(number(7, place))).collect();
        let grams = factors.iter().zip(ranks).map(|(factor, rank)| gram(factor, rank)).collect();
        let complete = Complete::new(&ranks, grams);
        let row = |mode: usize, row: usize| {
            factors[mode][row * ranks[mode]..][..ranks[mode]].iter().map(|&value| f64::from(value))
        };
        let mut of_row = [4, 9, 4].map(|len| vec![0.0; len]);
        let mut of_core = vec![0.0; 12];
        for cell in 0..4 * 5 * 3 {
            let [i, j, k] = [cell / 15, cell / 3 % 5, cell % 3];
            let rows: Vec<Vec<f64>> = [row(0, i).collect(), row(1, j).collect(), row(2, k).collect()].into();
            let places = |place: usize| [place / 6, place / 2 % 3, place % 2];
            let product = |place: usize, but: Option<usize>| -> f64 {
                let modes = (0..3).filter(|&mode| Some(mode) != but);
                modes.map(|mode| rows[mode][places(place)[mode]]).product()
            };
            let predicted: f64 = (0..12).map(|place| core[place] * product(place, None)).sum();
            (0..12).for_each(|place| of_core[place] += predicted * product(place, None));
            for mode in 0..3 {
                let mut design = vec![0.0; ranks[mode]];
                (0..12).for_each(|place| {
                    design[places(place)[mode]] += core[place] * product(place, Some(mode))
                });
                for (place, sum) in of_row[mode].iter_mut().enumerate() {
                    *sum += design[place / ranks[mode]] * design[place % ranks[mode]];
                }
            }
        }
        // Each row of a mode has the same sum.
        let same = |a: &[f64], b: &[f64], times: usize| {
            a.iter().zip(b).all(|(a, b)| (times as f64 * a - b).abs() < 1e-9 * (1.0 + b.abs()))
        };
        assert!(same(&complete.of_core(&core), &of_core, 1));
        for mode in 0..3 {
            assert!(same(&complete.of_row(&core, mode), &of_row[mode], rows[mode]), "mode {mode}");
        }
    }
}
