//! Modes that take up ids which came later, and where their old rows have gone.

use crate::Error;
use crate::problem::{Mode, Naming};

/// A mode with more rows than it had.
pub(super) struct ExtendedMode {
    pub(super) mode: Mode,
    /// For each row the one it was before, if it was there.
    pub(super) before: Vec<Option<u32>>,
}

impl ExtendedMode {
    /// Takes up the ids of `lists`; `naming` says what they are called where ids have names.
    pub(super) fn new(mode: &Mode, naming: Option<&Naming>, lists: &[&[u32]]) -> Result<Self, Error> {
        let naming = naming.or(mode.naming());
        check_naming(mode, naming)?;
        let mut present: Vec<u32> = lists.concat();
        present.extend((0..mode.rows()).map(|row| mode.id(row)));
        present.sort_unstable();
        present.dedup();
        let ids = present.last().map_or(0, |&last| last.saturating_add(1));
        let size = naming.map_or(ids.max(mode.size()), |naming| naming.labels.len() as u32);
        let before = present.iter().map(|&id| mode.row(id)).collect();
        let beyond =
            || Error::Problem(format!("mode {}: id {ids} has no name: there are {size}", mode.name()));
        let grown = Mode::with_present(mode.name(), size, present).ok_or_else(beyond)?;
        let mode = match naming {
            Some(naming) => grown.named(naming.clone()).ok_or_else(beyond)?,
            None => grown,
        };
        Ok(ExtendedMode { mode, before })
    }

    /// The rows that were not there before.
    pub(super) fn added(&self) -> impl Iterator<Item = u32> + '_ {
        self.before.iter().zip(0..).filter(|(before, _)| before.is_none()).map(|(_, row)| row)
    }

    /// Numbers of rows, `rank` each: those of before, and `fresh` for rows that are new.
    pub(super) fn spread(&self, values: &[f32], rank: usize, fresh: &[f32]) -> Vec<f32> {
        let row = |before: &Option<u32>| before.map_or(fresh, |row| &values[row as usize * rank..][..rank]);
        self.before.iter().flat_map(row).copied().collect()
    }
}

/// Names may be added, but those that are there must stay.
fn check_naming(mode: &Mode, naming: Option<&Naming>) -> Result<(), Error> {
    let same = match (mode.naming(), naming) {
        (Some(old), Some(new)) => {
            old.labels.len() <= new.labels.len()
                && old.labels.iter().zip(new.labels.iter()).all(|(a, b)| a == b)
        }
        (None, Some(_)) => false,
        _ => true,
    };
    if same {
        return Ok(());
    }
    Err(Error::Problem(format!(
        "mode {}: the names of its ids are not those of the model and more",
        mode.name()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_added_wherever_they_belong_and_old_rows_are_kept() {
        let mode = Mode::with_present("user", 6, vec![1, 4]).unwrap();
        let grown = ExtendedMode::new(&mode, None, &[&[4, 9, 0], &[9]]).unwrap();
        assert_eq!((grown.mode.size(), grown.mode.rows()), (10, 4));
        assert_eq!(grown.before, [None, Some(0), Some(1), None]);
        assert_eq!(grown.added().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(grown.spread(&[5.0, 6.0], 1, &[0.0]), [0.0, 5.0, 6.0, 0.0]);
    }

    #[test]
    fn names_are_added_but_never_changed() {
        let naming =
            |names: &[&str]| Naming { column: "user".into(), binning: None, labels: names.iter().collect() };
        let mode = Mode::new("user", 2).named(naming(&["ann", "bob"])).unwrap();
        let grown = ExtendedMode::new(&mode, Some(&naming(&["ann", "bob", "eve"])), &[&[2]]).unwrap();
        assert_eq!((grown.mode.rows(), grown.mode.find("eve")), (3, Some(2)));
        assert!(ExtendedMode::new(&mode, Some(&naming(&["bob", "ann", "eve"])), &[&[2]]).is_err());
        assert!(ExtendedMode::new(&mode, None, &[&[2]]).is_err());
    }
}
