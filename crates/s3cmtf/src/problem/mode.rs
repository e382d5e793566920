//! One mode of the tensor: its name, its size, and which of its ids occur.

use std::borrow::Cow;
use std::sync::Arc;

use crate::table::time::Bin;
use crate::table::{Binning, Labels};

/// One way of the tensor (users, businesses, months), or the columns of a coupled matrix.
///
/// An *id* is the entity's number in the data, from 0 to `size - 1`. A *row* is its place in a factor.
/// Only ids that occur somewhere have a row, so a mode of four billion ids costs what its data costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    name: String,
    size: u32,
    /// The ids that have a row, ascending; `None` when every id has one.
    present: Option<Vec<u32>>,
    naming: Option<Arc<Naming>>,
}

/// What the ids of a mode are called in the data, and how data that come later find them.
#[derive(Clone, Debug, PartialEq)]
pub struct Naming {
    /// The heading of the column that they come from.
    pub column: String,
    /// What the column's values are put together by, if they are.
    pub binning: Option<Binning>,
    /// The name of each id.
    pub labels: Labels,
}

impl Mode {
    /// A mode in which every id from 0 to `size - 1` has a row.
    pub fn new(name: impl Into<String>, size: u32) -> Self {
        Mode { name: name.into(), size, present: None, naming: None }
    }

    /// A mode of `size` ids of which only the `present` ones (ascending, distinct, below `size`) have a row.
    ///
    /// Returns `None` if `present` is not such a list.
    pub fn with_present(name: impl Into<String>, size: u32, present: Vec<u32>) -> Option<Self> {
        let ordered = present.windows(2).all(|pair| pair[0] < pair[1]);
        let below = present.last().is_none_or(|&last| last < size);
        if !ordered || !below {
            return None;
        }
        let all = present.len() == size as usize;
        Some(Mode { name: name.into(), size, present: (!all).then_some(present), naming: None })
    }

    /// The same mode whose ids have names; `None` if there is not one for each.
    #[must_use]
    pub fn named(mut self, naming: Naming) -> Option<Self> {
        if naming.labels.len() != self.size as usize {
            return None;
        }
        self.naming = Some(Arc::new(naming));
        Some(self)
    }

    /// The same mode with more ids, none of which has a row; `None` if that would be fewer.
    pub(super) fn grown(self, size: u32) -> Option<Self> {
        if size == self.size {
            return Some(self);
        }
        let present = self.present.unwrap_or_else(|| (0..self.size).collect());
        (size > self.size).then(|| Mode { size, present: Some(present), ..self })
    }

    /// What the ids are called, if they have names.
    pub fn naming(&self) -> Option<&Naming> {
        self.naming.as_deref()
    }

    /// Whether its ids are points in time, put together by the month and the like.
    pub fn is_time(&self) -> bool {
        self.time_bin().is_some()
    }

    /// What its ids are put together by, if they are points in time.
    pub(crate) fn time_bin(&self) -> Option<Bin> {
        match self.naming()?.binning {
            Some(Binning::Time(bin)) => Some(bin),
            _ => None,
        }
    }

    /// What people call the entity of an id: its name, or its number in the data, which counts from 1.
    ///
    /// # Panics
    /// If `id` is not below [`Mode::size`] and ids have names.
    pub fn label(&self, id: u32) -> Cow<'_, str> {
        match &self.naming {
            Some(naming) => naming.labels.get(id).into(),
            None => (u64::from(id) + 1).to_string().into(),
        }
    }

    /// The id that people call so, if there is one.
    pub fn find(&self, label: &str) -> Option<u32> {
        match &self.naming {
            Some(naming) => naming.labels.find(label),
            None => label.parse::<u32>().ok()?.checked_sub(1).filter(|&id| id < self.size),
        }
    }

    /// The row that the entity on a row of this mode has in another one, if it is there.
    pub(crate) fn row_in(&self, other: &Mode, row: usize) -> Option<u32> {
        let id = self.id(row);
        match (&self.naming, &other.naming) {
            (Some(own), Some(others)) => other.row(others.labels.find(own.labels.get(id))?),
            _ => other.row(id),
        }
    }

    /// The mode's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of ids, whether or not they occur.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The number of rows: ids that occur somewhere in the data.
    pub fn rows(&self) -> usize {
        self.present.as_ref().map_or(self.size as usize, Vec::len)
    }

    /// The ids that have a row, ascending; `None` when every id has one.
    pub fn present(&self) -> Option<&[u32]> {
        self.present.as_deref()
    }

    /// The row of an id, if it has one.
    pub fn row(&self, id: u32) -> Option<u32> {
        match &self.present {
            None => (id < self.size).then_some(id),
            Some(present) => present.binary_search(&id).ok().map(|row| row as u32),
        }
    }

    /// The id on a row.
    ///
    /// # Panics
    /// If `row` is not below [`Mode::rows`].
    pub fn id(&self, row: usize) -> u32 {
        match &self.present {
            None => {
                assert!(row < self.size as usize, "row {row} of a mode with {} rows", self.size);
                row as u32
            }
            Some(present) => present[row],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_rows_are_inverse() {
        let mode = Mode::with_present("user", 10, vec![1, 4, 9]).unwrap();
        assert_eq!(mode.rows(), 3);
        for row in 0..3 {
            assert_eq!(mode.row(mode.id(row)), Some(row as u32));
        }
        assert_eq!(mode.row(2), None);
        assert_eq!(mode.row(10), None);
    }

    #[test]
    fn ids_are_called_by_their_names_or_by_their_numbers() {
        let mode = Mode::new("user", 2);
        assert_eq!((mode.label(1), mode.find("2"), mode.find("3")), ("2".into(), Some(1), None));
        let naming =
            Naming { column: "userId".into(), binning: None, labels: ["ann", "bob"].iter().collect() };
        assert!(Mode::new("user", 3).named(naming.clone()).is_none());
        let mode = mode.named(naming).unwrap();
        assert_eq!((mode.label(1), mode.find("ann"), mode.find("2")), ("bob".into(), Some(0), None));
    }

    #[test]
    fn a_full_list_is_kept_as_all() {
        let mode = Mode::with_present("user", 3, vec![0, 1, 2]).unwrap();
        assert_eq!(mode, Mode::new("user", 3));
    }

    #[test]
    fn bad_lists_are_refused() {
        assert!(Mode::with_present("user", 3, vec![1, 1]).is_none());
        assert!(Mode::with_present("user", 3, vec![2, 1]).is_none());
        assert!(Mode::with_present("user", 3, vec![3]).is_none());
    }
}
