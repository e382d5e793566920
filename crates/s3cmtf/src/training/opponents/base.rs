//! What is taken off the values before anything is fitted to them, and put back into the model.

use crate::Error;
use crate::model::Offsets;
use crate::nodes::ALONE;
use crate::params::Start;
use crate::problem::{Entries, EntrySource};
use crate::training::offsets;

/// A part of the predictions that is known beforehand.
pub(super) enum Base {
    /// Nothing.
    Zero,
    /// The mean of the values.
    Mean(f64),
    /// The mean and an offset for each row.
    Offsets(Offsets),
}

impl Base {
    /// What a start takes off entries of modes with so many rows.
    pub(super) fn new(start: Start, entries: &Entries, rows: &[usize], seed: u64) -> Result<Self, Error> {
        Ok(match start {
            Start::Random => Base::Zero,
            Start::Mean => Base::Mean(entries.mean()),
            Start::Offsets => {
                Base::Offsets(offsets::fit(&EntrySource::Memory(entries.clone()), rows, seed, &ALONE)?.0)
            }
        })
    }

    /// What is left of the entries.
    pub(super) fn off(&self, entries: Entries) -> Entries {
        if matches!(self, Base::Zero) {
            return entries;
        }
        let name = entries.name().to_owned();
        let (indices, mut values) = entries.into_parts();
        for (place, value) in values.iter_mut().enumerate() {
            let base = self.mean()
                + (0..indices.len()).map(|mode| self.offset(mode, indices[mode][place])).sum::<f64>();
            *value = (f64::from(*value) - base) as f32;
        }
        Entries::from_rows(name, indices, values)
    }

    pub(super) fn mean(&self) -> f64 {
        match self {
            Base::Zero => 0.0,
            Base::Mean(mean) => *mean,
            Base::Offsets(offsets) => f64::from(offsets.mean),
        }
    }

    fn offset(&self, mode: usize, row: u32) -> f64 {
        match self {
            Base::Offsets(offsets) => f64::from(offsets.rows[mode][row as usize]),
            _ => 0.0,
        }
    }

    /// How many columns it takes in every factor of a model of so many modes with a diagonal core.
    pub(super) fn columns(&self, order: usize) -> usize {
        match self {
            Base::Zero => 0,
            Base::Mean(_) => 1,
            Base::Offsets(_) => 1 + order,
        }
    }

    /// Those columns of a row: a constant for the mean, and the offset in the column of its own mode.
    pub(super) fn row(&self, mode: usize, row: usize, order: usize) -> Vec<f64> {
        let mut columns = vec![1.0; self.columns(order)];
        if let (Base::Offsets(_), Some(own)) = (self, columns.get_mut(1 + mode)) {
            *own = self.offset(mode, row as u32);
        }
        columns
    }

    /// The diagonal of the core for those columns.
    pub(super) fn core(&self, order: usize) -> Vec<f64> {
        let mut core = vec![1.0; self.columns(order)];
        core.iter_mut().take(1).for_each(|first| *first = self.mean());
        core
    }

    /// How many columns it takes in every factor of a model with a full core: a constant, and the mode's own offset.
    pub(super) fn full_columns(&self) -> usize {
        match self {
            Base::Zero => 0,
            Base::Mean(_) => 1,
            Base::Offsets(_) => 2,
        }
    }

    /// Those columns of a row.
    pub(super) fn full_row(&self, mode: usize, row: usize) -> Vec<f64> {
        [1.0, self.offset(mode, row as u32)][..self.full_columns()].to_vec()
    }

    /// The core's number for those columns, by the column of each mode: the mean for all constants, and 1 for one offset.
    pub(super) fn full_core(&self, columns: &[usize]) -> f64 {
        match columns.iter().sum() {
            0usize => self.mean(),
            1 => 1.0,
            _ => 0.0,
        }
    }
}
