//! Observed cells of a tensor or a matrix.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::cells::{Cells, UNKNOWN};
use super::mix::mix;
use super::scan::first_place;
use crate::Error;
use crate::nodes::Nodes;
use crate::parallel;

/// Observed cells: one array of indices per mode and one of values. A cell that is not here is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    cells: Cells,
    /// Shared by copies: a problem that is kept beside its training does not take its memory twice.
    values: Arc<Vec<f32>>,
}

impl Entries {
    /// Entries from one array of 0-based indices per mode and the values.
    ///
    /// # Errors
    /// If the arrays differ in length, or a value is not finite.
    pub fn new(indices: Vec<Vec<u32>>, values: Vec<f32>) -> Result<Self, Error> {
        for (mode, array) in indices.iter().enumerate() {
            if array.len() != values.len() {
                return Err(Error::Problem(format!(
                    "mode {} has {} indices but there are {} values",
                    mode + 1,
                    array.len(),
                    values.len()
                )));
            }
        }
        let odd = |value: &f32| !value.is_finite();
        if let Some(entry) = first_place(&values, odd) {
            let what = format!("the value {} is not finite", values[entry]);
            return Err(Error::Entry { table: "entries".into(), entry, what });
        }
        let entries = Entries::from_rows("entries".into(), indices, values);
        entries.cells.check()?;
        Ok(entries)
    }

    /// The same entries under a name that errors will use, such as the path of their file.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.cells = self.cells.named(name);
        self
    }

    /// Entries whose indices are rows of a known model: no checks, [`UNKNOWN`] allowed.
    pub(crate) fn from_rows(name: String, indices: Vec<Vec<u32>>, values: Vec<f32>) -> Self {
        Entries { cells: Cells::from_rows(name, indices), values: Arc::new(values) }
    }

    /// The name errors use.
    pub fn name(&self) -> &str {
        self.cells.name()
    }

    /// The cells without their values.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The mean square of how far values lie from their mean; 0 if there are none.
    pub fn variance(&self) -> f64 {
        let count = self.values.len().max(1) as f64;
        let sum = |turn: &(dyn Fn(f64) -> f64 + Sync)| -> f64 {
            // In pieces of the same size whatever the number of threads, so that the sum is the same.
            let of_piece = |piece: &[f32]| piece.iter().map(|&value| turn(f64::from(value))).sum::<f64>();
            parallel::map_of(self.values.chunks(1 << 16), of_piece).iter().sum()
        };
        let mean = sum(&|value| value) / count;
        sum(&|value| (value - mean).powi(2)) / count
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.cells.order()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The indices along one mode.
    pub fn indices(&self, mode: usize) -> &[u32] {
        self.cells.indices(mode)
    }

    /// The values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The mean of the values, 0 where there are none.
    pub fn mean(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        self.values.iter().map(|&value| f64::from(value)).sum::<f64>() / self.len() as f64
    }

    /// The smallest and the largest value; `[0, 0]` where there are none.
    pub fn range(&self) -> [f32; 2] {
        let Some(&first) = self.values.first() else { return [0.0, 0.0] };
        self.values.iter().fold([first, first], |[low, high], &value| [low.min(value), high.max(value)])
    }

    /// The same cells as choices: each has the value 1.
    pub fn chosen(&self) -> Entries {
        Entries { values: vec![1.0; self.len()].into(), ..self.clone() }
    }

    /// The same entries; unknown rows become the given one of their mode.
    pub(crate) fn known_or(mut self, rows: &[usize]) -> Entries {
        for (array, &other) in self.cells.indices_mut().iter_mut().zip(rows) {
            array.iter_mut().filter(|row| **row == UNKNOWN).for_each(|row| *row = other as u32);
        }
        self
    }

    /// The entries of all nodes.
    pub(crate) fn gathered(self, nodes: &Nodes) -> Result<Entries, Error> {
        let (indices, values) = self.into_parts();
        let indices = indices.into_iter().map(|list| nodes.gather(list)).collect::<Result<_, Error>>()?;
        Ok(Entries::from_rows("entries".into(), indices, nodes.gather(values)?))
    }

    /// The entries that all nodes have for this one, given which nodes each entry is for.
    pub(crate) fn dealt(
        &self,
        nodes: &Nodes,
        to: &(dyn Fn(usize) -> Range<usize> + Sync),
    ) -> Result<Entries, Error> {
        let order = self.order();
        let mut parts: Vec<Vec<u32>> = vec![Vec::new(); nodes.count()];
        for (place, value) in self.values.iter().enumerate() {
            for part in &mut parts[to(place)] {
                part.extend((0..order).map(|mode| self.indices(mode)[place]));
                part.push(value.to_bits());
            }
        }
        let parts = nodes.deal(parts)?;
        let len = parts.iter().map(Vec::len).sum::<usize>() / (order + 1);
        let entries = || parts.iter().flat_map(|part| part.chunks_exact(order + 1));
        let list = |mode: usize| {
            let mut list = Vec::with_capacity(len);
            list.extend(entries().map(|entry| entry[mode]));
            list
        };
        let lists = parallel::map(order, list);
        let values = entries().map(|entry| f32::from_bits(entry[order])).collect();
        Ok(Entries::from_rows(self.name().to_owned(), lists, values))
    }

    /// The same where each entry is for the node that its cell says: all that are given for a cell come together.
    pub(super) fn dealt_by_cell(&self, nodes: &Nodes) -> Result<Entries, Error> {
        self.dealt(nodes, &|place| {
            let hash =
                (0..self.order()).fold(0, |hash, mode| mix(hash ^ u64::from(self.indices(mode)[place])));
            let node = (hash % nodes.count() as u64) as usize;
            node..node + 1
        })
    }

    /// The entries in an order that depends on nothing but them: by their rows, mode by mode.
    pub(crate) fn sorted(&self) -> Entries {
        let mut places: Vec<u32> = (0..self.len() as u32).collect();
        let key = |place: u32| (0..self.order()).map(move |mode| self.indices(mode)[place as usize]);
        places.par_sort_by(|&a, &b| key(a).cmp(key(b)));
        self.select(&places)
    }

    /// The entries at the given places, in that order.
    pub(crate) fn select(&self, places: &[u32]) -> Entries {
        let pick = |array: &[u32]| parallel::numbers_of(places, |&place| array[place as usize]);
        let indices = (0..self.order()).map(|mode| pick(self.indices(mode))).collect();
        let values = parallel::numbers_of(places, |&place| self.values[place as usize]);
        Entries::from_rows(self.name().to_owned(), indices, values)
    }

    pub(crate) fn into_parts(self) -> (Vec<Vec<u32>>, Vec<f32>) {
        (self.cells.into_indices(), Arc::unwrap_or_clone(self.values))
    }

    pub(super) fn into_cells(self) -> Cells {
        self.cells
    }
}

impl AsRef<Cells> for Entries {
    fn as_ref(&self) -> &Cells {
        self.cells()
    }
}

impl From<Entries> for Cells {
    fn from(entries: Entries) -> Self {
        entries.into_cells()
    }
}
