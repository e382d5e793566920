//! Cells of a tensor or a matrix, whatever their values are.

use std::sync::Arc;

use super::scan::first_place;
use crate::Error;

/// The row of an id that the model does not know.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// Cells by their indices, one array per mode: what a prediction is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    name: String,
    /// Shared by copies, and by the [`Entries`] of these cells.
    indices: Arc<Vec<Vec<u32>>>,
}

impl Cells {
    /// Cells from one array of 0-based indices per mode.
    ///
    /// # Errors
    /// If the arrays differ in length.
    pub fn new(indices: Vec<Vec<u32>>) -> Result<Self, Error> {
        let len = indices.first().map_or(0, Vec::len);
        if let Some((mode, array)) = indices.iter().enumerate().find(|(_, array)| array.len() != len) {
            let what = format!("mode {} has {} indices, but mode 1 has {len}", mode + 1, array.len());
            return Err(Error::Problem(what));
        }
        let cells = Cells::from_rows("cells".into(), indices);
        cells.check()?;
        Ok(cells)
    }

    /// The same cells under a name that errors will use, such as the path of their file.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Cells whose indices are rows of a known model: no checks, [`UNKNOWN`] allowed.
    pub(crate) fn from_rows(name: String, indices: Vec<Vec<u32>>) -> Self {
        Cells { name, indices: Arc::new(indices) }
    }

    /// Refuses too many cells, and the index that stands for an unknown row.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.len() >= u32::MAX as usize {
            return Err(Error::Problem("more than 2^32 - 2 entries".into()));
        }
        let odd = |(mode, array): (usize, &Vec<u32>)| {
            first_place(array, |&index| index == UNKNOWN).map(|entry| (mode, entry))
        };
        let Some((mode, entry)) = self.indices.iter().enumerate().find_map(odd) else { return Ok(()) };
        let what = format!("index {UNKNOWN} of mode {} is above the largest possible, 2^32 - 2", mode + 1);
        Err(Error::Entry { table: self.name.clone(), entry, what })
    }

    /// The name errors use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.indices.len()
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.indices.first().map_or(0, Vec::len)
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The indices along one mode.
    pub fn indices(&self, mode: usize) -> &[u32] {
        &self.indices[mode]
    }

    pub(super) fn indices_mut(&mut self) -> &mut Vec<Vec<u32>> {
        Arc::make_mut(&mut self.indices)
    }

    pub(crate) fn into_indices(self) -> Vec<Vec<u32>> {
        Arc::unwrap_or_clone(self.indices)
    }
}

impl AsRef<Cells> for Cells {
    fn as_ref(&self) -> &Cells {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Entries;

    #[test]
    fn cells_are_entries_without_values() {
        let cells = Cells::new(vec![vec![0, 2], vec![1, 1]]).unwrap();
        let entries = Entries::new(vec![vec![0, 2], vec![1, 1]], vec![1.0, 2.0]).unwrap();
        assert_eq!((cells.order(), cells.len(), cells.is_empty()), (2, 2, false));
        assert_eq!(Cells::from(entries).named("cells"), cells);
        assert!(Cells::new(Vec::new()).unwrap().is_empty());
    }

    #[test]
    fn arrays_that_are_no_cells_are_refused() {
        let message = |indices| Cells::new(indices).unwrap_err().to_string();
        assert!(message(vec![vec![0, 2], vec![1]]).contains("mode 2 has 1 indices, but mode 1 has 2"));
        assert!(message(vec![vec![0], vec![UNKNOWN]]).contains("cells: entry 1: index 4294967295 of mode 2"));
    }
}
