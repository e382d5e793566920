//! The sums over a row's entries, in f64: of what [`NormalEquations`](crate::NormalEquations) has found of some of them each.

use crate::generic::GROUP;
use crate::{Level, arch};

/// Those of one row after the other: the working memory of one thread.
#[derive(Clone, Debug)]
pub struct RowTotals {
    level: Level,
    rank: usize,
    stride: usize,
    /// A row per concept, of which only the lower triangle has a meaning.
    squares: Vec<[f64; GROUP]>,
    products: Vec<f64>,
    /// Whether nothing was added yet.
    fresh: bool,
    /// The row that errors are asked for, with zeros after it.
    row: Vec<[f64; GROUP]>,
}

impl RowTotals {
    /// Sums of nothing, for a mode's rank.
    ///
    /// # Panics
    /// If the rank is 0, or the machine cannot run the level.
    pub fn new(level: Level, rank: usize) -> Self {
        assert!(rank > 0, "a concept at least");
        assert!(Level::available().contains(&level), "this machine cannot run {}", level.name());
        let stride = rank.div_ceil(GROUP);
        RowTotals {
            level,
            rank,
            stride,
            squares: vec![[0.0; GROUP]; rank * stride],
            products: vec![0.0; rank],
            fresh: true,
            row: vec![[0.0; GROUP]; stride],
        }
    }

    /// Begins another row: the sums that are added next take the place of those here.
    pub fn clear(&mut self) {
        self.fresh = true;
    }

    /// Adds sums: of squares a row per concept, and of products one. Their order matters to the last bit.
    ///
    /// # Panics
    /// If the squares are not as many rows as there are concepts, each as long as that of the products, or these are shorter.
    pub fn add(&mut self, squares: &[f32], products: &[f32]) {
        let pad = products.len();
        assert!(pad >= self.rank && squares.len() == self.rank * pad, "a row per concept, and one");
        arch::widen(self.level, &mut self.squares, squares, pad, self.fresh);
        for (total, &sum) in self.products.iter_mut().zip(products) {
            *total = if self.fresh { sum.into() } else { *total + f64::from(sum) };
        }
        self.fresh = false;
    }

    /// The rows of the squares, each up to the diagonal.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        let rows = self.squares.chunks_exact_mut(self.stride).enumerate();
        rows.map(|(k, row)| &mut row.as_flattened_mut()[..=k])
    }

    /// The sums of products.
    pub fn products(&self) -> &[f64] {
        &self.products
    }

    /// What the squared errors of a row's predictions add up to, but for the sum of squared values.
    ///
    /// # Panics
    /// If the row is not as long as there are concepts.
    pub fn squared_errors(&mut self, row: &[f64]) -> f64 {
        assert_eq!(row.len(), self.rank, "a number per concept");
        self.row.as_flattened_mut()[..self.rank].copy_from_slice(row);
        let products: f64 = row.iter().zip(&self.products).map(|(value, product)| value * product).sum();
        arch::square(self.level, &self.squares, self.rank, &self.row) - 2.0 * products
    }

    /// The squares, whole groups for each row.
    pub(crate) fn squares(&self) -> &[[f64; GROUP]] {
        &self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_added_up_and_give_squared_errors_on_any_level() {
        for rank in [1usize, 2, 7, 8, 9, 12, 16, 47, 64] {
            for pad in [rank, rank.next_multiple_of(4), rank.next_multiple_of(16)] {
                // Whole numbers, so that sums are exact; what is above the diagonal must not matter.
                let squares = |times: usize| -> Vec<f32> {
                    let number = |(k, l): (usize, usize)| ((k * 7 + l * 3) % 11 * times) as f32;
                    let places = (0..rank).flat_map(|k| (0..pad).map(move |l| (k, l)));
                    places.map(|(k, l)| if l > k { 1e9 } else { number((k, l)) }).collect()
                };
                let products =
                    |times: usize| -> Vec<f32> { (0..pad).map(|k| (k % 5 * times) as f32).collect() };
                let row: Vec<f64> = (0..rank).map(|k| (k % 4) as f64 - 1.5).collect();
                for level in Level::available() {
                    let mut totals = RowTotals::new(level, rank);
                    totals.add(&squares(5), &products(5));
                    totals.clear();
                    totals.add(&squares(1), &products(1));
                    totals.add(&squares(2), &products(2));
                    let mut expected = 0.0;
                    for (k, found) in totals.rows_mut().enumerate() {
                        let wanted = |l: usize| ((k * 7 + l * 3) % 11 * 3) as f64;
                        assert!(found.iter().enumerate().all(|(l, &found)| found == wanted(l)), "{level:?}");
                        let both = (0..k).map(|l| 2.0 * wanted(l) * row[l]).sum::<f64>() + wanted(k) * row[k];
                        expected += row[k] * (both - 2.0 * (k % 5 * 3) as f64);
                    }
                    assert!((0..rank).all(|k| totals.products()[k] == (k % 5 * 3) as f64), "{level:?}");
                    let found = totals.squared_errors(&row);
                    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{level:?} {rank}");
                }
            }
        }
    }
}
