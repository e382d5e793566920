//! What is predicted without any concept: the mean of all values, and an offset for each row.

use serde::{Deserialize, Serialize};

use super::Model;
use crate::Error;
use crate::likelihood;
use crate::nodes::{ALONE, Nodes};
use crate::problem::{Entries, EntrySource, ExactSum, Mode};

/// The mean of the values and an offset for each row of every mode: predictions that a model should beat.
#[derive(Clone, Debug, PartialEq)]
pub struct Offsets {
    /// The mean of the training values.
    pub mean: f32,
    /// For each mode its regulariser lambda: the offset of a row with n entries is the sum of what is left of them, divided by
    /// n + lambda.
    pub lambdas: Vec<f32>,
    /// For each mode the offset of each row; 0 where there was no entry.
    pub rows: Vec<Vec<f32>>,
}

/// How far simple predictions lie from observed values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimpleErrors {
    /// The root mean squared error of the mean of the training values.
    pub mean_rmse: f64,
    /// The same of [`Offsets`], kept within the observed range.
    pub offsets_rmse: f64,
}

impl Offsets {
    /// Whether there is one offset for each row, and no impossible number.
    fn fits(&self, modes: &[Mode]) -> bool {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        self.mean.is_finite()
            && self.lambdas.len() == modes.len()
            && self.lambdas.iter().all(|&lambda| lambda.is_finite() && lambda > 0.0)
            && self.rows.len() == modes.len()
            && self.rows.iter().zip(modes).all(|(rows, mode)| rows.len() == mode.rows() && finite(rows))
    }

    /// What is predicted for a cell, by its row in each mode; a row that is not known has no offset.
    fn predict(&self, rows: impl Iterator<Item = u32>) -> f64 {
        let offsets = self.rows.iter().zip(rows);
        let offset =
            |(offsets, row): (&Vec<f32>, u32)| f64::from(offsets.get(row as usize).map_or(0.0, |&b| b));
        f64::from(self.mean) + offsets.map(offset).sum::<f64>()
    }

    /// How far predictions lie from all nodes' entries on the model's rows; `None` where there are none.
    pub(crate) fn errors(
        &self,
        entries: &EntrySource,
        range: [f32; 2],
        nodes: &Nodes,
    ) -> Result<Option<SimpleErrors>, Error> {
        let (mut plain, mut squares) = (ExactSum::default(), ExactSum::default());
        entries.each(&mut |lists, values| {
            for (place, &value) in values.iter().enumerate() {
                let prediction = self.predict(lists.iter().map(|list| list[place])) as f32;
                squares.add((f64::from(value) - f64::from(likelihood::mean(prediction, range))).powi(2));
                plain.add((f64::from(value) - f64::from(self.mean)).powi(2));
            }
            Ok(())
        })?;
        let count = nodes.add(entries.len() as u64)?;
        let rmse = |sum: ExactSum| -> Result<f64, Error> { Ok((sum.value(nodes)? / count as f64).sqrt()) };
        let (mean_rmse, offsets_rmse) = (rmse(plain)?, rmse(squares)?);
        Ok((count > 0).then_some(SimpleErrors { mean_rmse, offsets_rmse }))
    }
}

impl Model {
    /// The mean and the offsets of what the model was trained on; older models do not have them.
    pub fn offsets(&self) -> Option<&Offsets> {
        self.offsets.as_ref()
    }

    /// How far simple predictions lie from entries, given by ids; nothing for an older model.
    ///
    /// # Errors
    /// If the entries have another number of modes, or an id lies far beyond its mode.
    pub fn simple_errors(&self, entries: &Entries) -> Result<Option<SimpleErrors>, Error> {
        let Some(offsets) = &self.offsets else { return Ok(None) };
        offsets.errors(&EntrySource::Memory(self.locate(entries)?), self.range, &ALONE)
    }

    /// The same model with the offsets of what it was trained on.
    ///
    /// # Errors
    /// If there is not one offset for each row, or a number is impossible.
    pub fn with_offsets(mut self, offsets: Offsets) -> Result<Self, Error> {
        if !offsets.fits(&self.modes) {
            return Err(Error::Problem("the offsets do not fit the model".into()));
        }
        self.offsets = Some(offsets);
        Ok(self)
    }
}

/// Says so where a model is no better than the offsets of its modes.
pub(crate) fn no_better(rmse: f64, offsets_rmse: f64, modes: &[Mode]) -> Option<String> {
    // What is not a number is no better either.
    if rmse < offsets_rmse {
        return None;
    }
    let names: Vec<&str> = modes.iter().map(Mode::name).collect();
    let names = match names.as_slice() {
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    };
    Some(format!(
        "the model's test RMSE ({}) is not below that of offsets alone ({}): the mean and an offset per {names} predict \
         as well or better",
        short(rmse),
        short(offsets_rmse)
    ))
}

/// A number with four digits that matter.
pub(crate) fn short(number: f64) -> String {
    let magnitude = if number == 0.0 { 0.0 } else { number.abs().log10().floor() };
    match magnitude {
        m if (-4.0..9.0).contains(&m) => format!("{number:.*}", (3.0 - m).max(0.0) as usize),
        _ => format!("{number:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::UNKNOWN;

    #[test]
    fn predictions_are_sums_within_the_range_and_unknown_rows_have_no_offset() {
        let offsets =
            Offsets { mean: 3.0, lambdas: vec![1.0; 2], rows: vec![vec![1.0, -0.5], vec![0.25, 2.0]] };
        let entries = |rows: [u32; 2], value| {
            let indices = rows.map(|row| vec![row]).into();
            EntrySource::Memory(Entries::from_rows("entries".into(), indices, vec![value]))
        };
        for (rows, value, expected) in [
            ([0, 0], 4.0, 0.25),
            ([1, 0], 4.0, 1.25),
            ([0, 1], 4.0, 1.0),
            ([UNKNOWN, 0], 4.0, 0.75),
            ([UNKNOWN, UNKNOWN], 4.0, 1.0),
        ] {
            let found = offsets.errors(&entries(rows, value), [1.0, 5.0], &ALONE).unwrap().unwrap();
            assert_eq!(found, SimpleErrors { mean_rmse: 1.0, offsets_rmse: expected }, "{rows:?}");
        }
        let none = EntrySource::Memory(Entries::from_rows("entries".into(), vec![vec![], vec![]], vec![]));
        assert_eq!(offsets.errors(&none, [1.0, 5.0], &ALONE).unwrap(), None);
    }

    #[test]
    fn a_model_that_is_no_better_is_told_of() {
        let modes = [Mode::new("user", 1), Mode::new("film", 1), Mode::new("month", 1)];
        assert_eq!(no_better(0.9169, 0.917, &modes), None);
        let expected = "the model's test RMSE (0.9500) is not below that of offsets alone (0.9170): the mean and an offset \
                        per user, film and month predict as well or better";
        assert_eq!(no_better(0.95, 0.917, &modes).as_deref(), Some(expected));
        assert!(
            no_better(f64::NAN, 1e-9, &modes[..2])
                .unwrap()
                .contains("(1.000e-9): the mean and an offset per user and film")
        );
    }
}
