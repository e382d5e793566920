//! Which columns of coupled matrices the entities of a mode were observed to have, and which of them go with something.
//!
//! Only cells of the data count. A model predicts a cell for every column, and a film that is known for its viewers alone is
//! then a little of everything; what is said of an entity should be true of it.

use super::known;
use super::largest;
use crate::problem::UNKNOWN;
use crate::{Absent, Coupled, Model, Problem};

/// A column that fewer entities have says nothing of a concept.
const FEWEST: usize = 3;
/// A correlation is one only if it lies so many standard errors from 0.
const CLEAR: f64 = 3.0;
/// A standardized number is high or low from here on.
const HIGH: f32 = 0.5;

/// What entities of a mode were observed to have, matrix by matrix; graphs have no columns.
pub(super) struct Observed {
    pub(super) matrices: Vec<ObservedMatrix>,
}

/// A matrix that is coupled to the mode.
pub(super) struct ObservedMatrix {
    pub(super) name: String,
    traits: Vec<Trait>,
    /// Where the traits of each row of the model end.
    ends: Vec<usize>,
    of_rows: Vec<u32>,
}

/// What an entity can have: a column; of numbers, a high or a low one.
struct Trait {
    name: String,
    /// How many entities have it.
    count: usize,
}

impl Observed {
    pub(super) fn new(model: &Model, data: &Problem, mode: usize) -> Self {
        let rows = known::rows(model, data, mode);
        let coupled = data.coupled().iter();
        let coupled = coupled.filter(|matrix| matrix.mode() == mode && matrix.kind() != Absent::Graph);
        let count = model.modes()[mode].rows();
        Observed { matrices: coupled.map(|matrix| ObservedMatrix::new(matrix, &rows, count)).collect() }
    }
}

impl ObservedMatrix {
    /// `to` has the model's row for each row of the matrix.
    fn new(matrix: &Coupled, to: &[u32], rows: usize) -> Self {
        let (entries, columns) = (matrix.entries(), matrix.columns());
        let is_number = entries.values().iter().any(|&value| value < 0.0);
        let cells = || {
            let cells = entries.indices(0).iter().zip(entries.indices(1)).zip(entries.values());
            cells.filter_map(|((&row, &column), &value)| {
                let row = to.get(row as usize).copied().filter(|&row| row != UNKNOWN)?;
                let which = match is_number {
                    false => (value > 0.0).then_some(column)?,
                    true if value >= HIGH => 2 * column,
                    true => (value <= -HIGH).then_some(2 * column + 1)?,
                };
                Some((row as usize, which))
            })
        };
        let mut ends = vec![0usize; rows];
        cells().for_each(|(row, _)| ends[row] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum - *end;
        }
        let labels = (0..columns.rows()).map(|row| columns.label(columns.id(row)).into_owned());
        let mut traits: Vec<Trait> = labels
            .flat_map(|label| match is_number {
                false => vec![label],
                true => vec![format!("high {label}"), format!("low {label}")],
            })
            .map(|name| Trait { name, count: 0 })
            .collect();
        // Each start moves on to its end while the lists are filled.
        let mut of_rows = vec![0; sum];
        for (row, which) in cells() {
            of_rows[ends[row]] = which;
            ends[row] += 1;
            traits[which as usize].count += 1;
        }
        ObservedMatrix { name: matrix.name().to_owned(), traits, ends, of_rows }
    }

    /// The traits of a row.
    pub(super) fn of_row(&self, row: usize) -> &[u32] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.of_rows[start..self.ends[row]]
    }

    /// How many entities have each trait.
    pub(super) fn counts(&self) -> impl Iterator<Item = usize> {
        self.traits.iter().map(|one| one.count)
    }

    /// What a trait is called beside the name of its matrix.
    pub(super) fn name(&self, which: usize) -> &str {
        &self.traits[which].name
    }

    /// What a trait is called where nothing else says of which matrix it is: `age=56`, since 56 says nothing alone.
    pub(super) fn spelled(&self, which: usize) -> String {
        let name = self.name(which);
        let matrix = self.name.split_once('/').map_or(self.name.as_str(), |(_, name)| name);
        if name.chars().any(char::is_alphabetic) { name.to_owned() } else { format!("{matrix}={name}") }
    }

    /// How each trait goes with a number that each row has: the correlation over the rows, and 0 where that may be chance. A
    /// trait that few have cannot have much of it, however much of the number these few have.
    pub(super) fn correlations(&self, scores: impl Fn(usize) -> f64) -> Vec<f64> {
        let rows = self.ends.len();
        let count = rows.max(1) as f64;
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut sums = vec![0.0; self.traits.len()];
        for row in 0..rows {
            let score = scores(row);
            sum += score;
            squares += score * score;
            self.of_row(row).iter().for_each(|&which| sums[which as usize] += score);
        }
        let (mean, variance) = (sum / count, squares / count - (sum / count).powi(2));
        let correlation = |(sum, one): (f64, &Trait)| {
            let share = one.count as f64 / count;
            let scatter = (variance * share * (1.0 - share)).sqrt();
            let found = (sum / count - share * mean) / scatter;
            let clear = one.count >= FEWEST && found.abs() * count.sqrt() >= CLEAR;
            if clear && found.is_finite() { found } else { 0.0 }
        };
        sums.into_iter().zip(&self.traits).map(correlation).collect()
    }

    /// The traits with the largest scores above 0, the largest first.
    pub(super) fn best(scores: impl Iterator<Item = f64>, top: usize) -> Vec<(usize, f64)> {
        let mut best = largest(scores, top);
        best.retain(|(_, score)| *score > 0.0);
        best
    }
}
