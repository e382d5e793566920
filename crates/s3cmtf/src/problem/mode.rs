//! One mode of the tensor: its name, its size, and which of its ids occur.

use serde::{Deserialize, Serialize};

/// One way of the tensor (users, businesses, months), or the columns of a coupled matrix.
///
/// An *id* is the entity's number in the data, from 0 to `size - 1`. A *row* is its place in a factor.
/// Only ids that occur somewhere have a row, so a mode of four billion ids costs what its data costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    name: String,
    size: u32,
    /// The ids that have a row, ascending; `None` when every id has one.
    present: Option<Vec<u32>>,
}

impl Mode {
    /// A mode in which every id from 0 to `size - 1` has a row.
    pub fn new(name: impl Into<String>, size: u32) -> Self {
        Mode { name: name.into(), size, present: None }
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
        Some(Mode { name: name.into(), size, present: (!all).then_some(present) })
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
