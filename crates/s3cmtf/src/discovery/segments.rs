//! For whom and for what predictions are good: errors by how much training knew, and by time.

use serde::Serialize;

use super::concepts::time_mode;
use super::known;
use crate::problem::UNKNOWN;
use crate::{Entries, Error, Model, Problem};

/// The most entries in training of each segment but the last.
const STEPS: [u32; 4] = [0, 5, 20, 100];
const NAMES: [&str; 5] = ["0", "1-5", "6-20", "21-100", "> 100"];

/// The errors of the entries that have something in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Segment {
    /// What they have in common: entries in training, as `6-20`, or the time.
    pub name: String,
    /// How many entries there are.
    pub entries: usize,
    /// Root mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
}

/// All entries, apart by one thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Segments {
    /// The mode.
    pub mode: String,
    /// What they are told apart by: `entries in training`, or `time`.
    pub by: &'static str,
    /// Those that have entries.
    pub segments: Vec<Segment>,
}

/// How far predictions lie from entries, given by ids: for each of `modes` by how many entries its ids have in `data`, which
/// the model was trained on; and by time, if there is a mode of times.
///
/// # Errors
/// If there are no such modes, or the data or entries have other ones.
pub fn segments(
    model: &Model,
    data: Option<&Problem>,
    entries: &Entries,
    modes: &[usize],
    clip: bool,
) -> Result<Vec<Segments>, Error> {
    modes.iter().try_for_each(|&mode| known::check_mode(model, mode))?;
    let located = model.locate(entries)?;
    let predictions = model.predict(entries, clip)?;
    let errors: Vec<f64> = predictions
        .iter()
        .zip(entries.values())
        .map(|(&prediction, &value)| f64::from(prediction) - f64::from(value))
        .collect();
    let mut found = Vec::new();
    if let Some(data) = data {
        for &mode in modes {
            let counts = known::counts(model, data, mode)?;
            let step = |&row: &u32| {
                let count = counts.get(row as usize).copied().unwrap_or(0);
                STEPS.iter().position(|&most| count <= most).unwrap_or(STEPS.len())
            };
            let steps = located.indices(mode).iter().map(step);
            let names: Vec<String> = NAMES.iter().map(ToString::to_string).collect();
            found.push(Segments {
                mode: model.modes()[mode].name().to_owned(),
                by: "entries in training",
                segments: apart(steps, &errors, names),
            });
        }
    }
    if let Some(time) = time_mode(model) {
        let known = &model.modes()[time];
        let rows = known.rows();
        let mut names: Vec<String> = (0..rows).map(|row| known.label(known.id(row)).into_owned()).collect();
        names.push("not in training".into());
        let steps = located.indices(time).iter();
        let steps = steps.map(|&row| if row == UNKNOWN { rows } else { row as usize });
        let segments = apart(steps, &errors, names);
        found.push(Segments { mode: known.name().to_owned(), by: "time", segments });
    }
    Ok(found)
}

fn apart(steps: impl Iterator<Item = usize>, errors: &[f64], names: Vec<String>) -> Vec<Segment> {
    let mut sums = vec![(0usize, 0.0, 0.0); names.len()];
    for (step, error) in steps.zip(errors) {
        let (count, squares, sizes) = &mut sums[step];
        *count += 1;
        *squares += error * error;
        *sizes += error.abs();
    }
    let segment = |(name, (entries, squares, sizes)): (String, (usize, f64, f64))| Segment {
        name,
        entries,
        rmse: (squares / entries as f64).sqrt(),
        mae: sizes / entries as f64,
    };
    names.into_iter().zip(sums).filter(|(_, (count, ..))| *count > 0).map(segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_worked_out_by_hand() {
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let found = apart([0, 2, 0].into_iter(), &[3.0, -2.0, -1.0], names);
        let segment = |name: &str, entries, rmse: f64, mae| Segment { name: name.into(), entries, rmse, mae };
        assert_eq!(found, [segment("a", 2, 5f64.sqrt(), 2.0), segment("c", 1, 2.0, 2.0)]);
    }
}
