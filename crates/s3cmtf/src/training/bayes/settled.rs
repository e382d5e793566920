//! Whether more draws would change what is predicted.
//!
//! The mean of n draws is compared with that of the first half of them. The two halves are as good as each other, so that the mean of both is as
//! far from the mean of all draws there could be as it is from that of the first half.

use super::Sampler;
use crate::Error;
use crate::problem::{Cells, Entries};
use crate::training::checkpoint::StateArrays;

/// After so many draws, and twice and four times as many and so on, it is seen whether predictions have changed.
const FIRST: usize = 5;

/// Cells whose predictions are watched, and what these were when they were last looked at.
pub(super) struct Watched {
    cells: Cells,
    before: Vec<f32>,
}

impl Watched {
    /// Cells like entries: each has the first row of another one. Entries themselves are trained on, and known better than others.
    pub(super) fn new(entries: &Entries) -> Self {
        let mut indices: Vec<Vec<u32>> =
            (0..entries.order()).map(|mode| entries.indices(mode).to_vec()).collect();
        if let Some(first) = indices.first_mut() {
            let half = first.len() / 2;
            first.rotate_left(half);
        }
        Watched { cells: Cells::from_rows("cells".into(), indices), before: Vec::new() }
    }

    pub(super) fn put(&self, numbers: &mut StateArrays) {
        if !self.before.is_empty() {
            numbers.put("watched", &self.before);
        }
    }

    /// Takes back what was kept after so many draws.
    pub(super) fn get(&mut self, draws: usize, numbers: &mut StateArrays) -> Result<(), Error> {
        if draws < FIRST {
            return Ok(());
        }
        self.before = vec![0.0; self.cells.len()];
        numbers.get("watched", &mut self.before)
    }
}

impl Sampler {
    /// Whether predictions are looked at after this epoch, for which the mean of draws is needed.
    pub(super) fn is_looked_at(&self) -> bool {
        let draws = self.average.draws;
        let doubled = draws.is_multiple_of(FIRST) && (draws / FIRST).is_power_of_two();
        self.watched.is_some() && self.is_typical() && doubled
    }

    /// Whether nothing would come of another epoch.
    ///
    /// # Errors
    /// If other nodes cannot be reached.
    pub(super) fn settled(&mut self) -> Result<bool, Error> {
        let tolerance = self.schedule.tolerance;
        if tolerance > 0.0 && self.schedule.ends(self.epoch) {
            return Ok(true);
        }
        if !self.is_looked_at() {
            return Ok(false);
        }
        let Some(Watched { cells, .. }) = &self.watched else { return Ok(false) };
        let now = self.predict_so_far(cells.clone())?;
        let variance = self.average.variance * self.spread * self.spread;
        let Some(Watched { before, .. }) = &mut self.watched else { return Ok(false) };
        let squares = now.iter().zip(before.iter()).map(|(now, before)| f64::from(now - before).powi(2));
        let changed = squares.sum::<f64>() / now.len() as f64;
        // A mean square error that falls by some share is an RMSE that falls by half of it.
        let settled = !before.is_empty() && changed < 2.0 * tolerance * variance;
        *before = now;
        Ok(settled)
    }
}
