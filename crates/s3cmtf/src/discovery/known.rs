//! The training data on the rows of a model, which may have come to know more entities since.

use hashbrown::HashMap;

use crate::problem::{Mode, UNKNOWN};
use crate::{Error, Model, Problem};

/// Refuses data of other modes than the model's.
pub(super) fn check(model: &Model, data: &Problem) -> Result<(), Error> {
    let names = |modes: &[Mode]| modes.iter().map(|mode| mode.name().to_owned()).collect::<Vec<_>>();
    let (own, others) = (names(model.modes()), names(data.modes()));
    if own == others {
        return Ok(());
    }
    Err(Error::Problem(format!(
        "the data have the modes {}, but the model has {}: they are not what it was trained on",
        others.join(", "),
        own.join(", ")
    )))
}

/// Refuses a mode that the model does not have.
pub(super) fn check_mode(model: &Model, mode: usize) -> Result<(), Error> {
    if mode < model.modes().len() {
        return Ok(());
    }
    Err(Error::param("mode", format!("from 1 to {}", model.modes().len()), mode.saturating_add(1)))
}

/// For each row of a mode of the data the model's row of the same entity; [`UNKNOWN`] if it has none.
pub(crate) fn rows(model: &Model, data: &Problem, mode: usize) -> Vec<u32> {
    let (own, others) = (&model.modes()[mode], &data.modes()[mode]);
    (0..others.rows()).map(|row| others.row_in(own, row).unwrap_or(UNKNOWN)).collect()
}

/// How many entries of the data, which it was trained on, each row of a mode of the model has.
///
/// # Errors
/// If there is no such mode, or the data have other modes.
pub fn counts(model: &Model, data: &Problem, mode: usize) -> Result<Vec<u32>, Error> {
    check_mode(model, mode)?;
    check(model, data)?;
    let mut counts = vec![0; model.modes()[mode].rows()];
    for (row, count) in rows(model, data, mode).into_iter().zip(data.counts(mode)) {
        if let Some(sum) = counts.get_mut(row as usize) {
            *sum = count;
        }
    }
    Ok(counts)
}

/// Which rows of one mode each row of another was observed with.
pub(super) struct Seen {
    /// Where the list of each row ends.
    ends: Vec<usize>,
    items: Vec<u32>,
}

impl Seen {
    pub(super) fn new(model: &Model, data: &Problem, by: usize, items: usize) -> Result<Self, Error> {
        check(model, data)?;
        let (by_rows, item_rows) = (rows(model, data, by), rows(model, data, items));
        let pairs = || {
            let entries = data.entries();
            let pairs = entries.indices(by).iter().zip(entries.indices(items));
            let pairs = pairs.map(|(&by, &item)| (by_rows[by as usize], item_rows[item as usize]));
            pairs.filter(|&(by, item)| by != UNKNOWN && item != UNKNOWN)
        };
        let mut ends = vec![0usize; model.modes()[by].rows()];
        pairs().for_each(|(by, _)| ends[by as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum - *end;
        }
        // Each start moves on to its end while the lists are filled.
        let mut items = vec![0u32; sum];
        for (by, item) in pairs() {
            items[ends[by as usize]] = item;
            ends[by as usize] += 1;
        }
        let mut seen = Seen { ends, items };
        for row in 0..seen.ends.len() {
            let range = seen.range(row);
            seen.items[range].sort_unstable();
        }
        Ok(seen)
    }

    #[cfg(test)]
    pub(super) fn from_lists(lists: &[&[u32]]) -> Self {
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len();
            Some(*end)
        });
        Seen { ends: ends.collect(), items: lists.concat() }
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    /// What was seen with a row, ascending; more than once if it was.
    pub(super) fn with(&self, row: usize) -> &[u32] {
        &self.items[self.range(row)]
    }
}

/// The mean of the values of each row of a mode of the model that has any.
pub(super) fn means(model: &Model, data: &Problem, mode: usize) -> HashMap<u32, f64> {
    let rows = rows(model, data, mode);
    let mut sums: HashMap<u32, (f64, f64)> = HashMap::new();
    for (&row, &value) in data.entries().indices(mode).iter().zip(data.entries().values()) {
        let (sum, count) = sums.entry(rows[row as usize]).or_default();
        *sum += f64::from(value);
        *count += 1.0;
    }
    sums.into_iter().map(|(row, (sum, count))| (row, sum / count)).collect()
}
