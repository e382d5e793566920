//! The entries of a tensor in the order that one mode's rows need them.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use crate::problem::Entries;

/// Entries sorted by the rows of one mode, and within a row so that neighbours share as many other rows as can be.
pub(super) struct View {
    /// The modes by which entries are sorted: the view's own first.
    pub(super) modes: Vec<usize>,
    /// Where the entries of each row of its own mode begin, and where the last end.
    starts: Vec<usize>,
    /// For each entry its rows, in the order of `modes`.
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl View {
    /// A view of `entries` by `mode`; modes have as many rows as `rows` says.
    pub(super) fn new(entries: &Entries, mode: usize, rows: &[usize]) -> Self {
        let mut others: Vec<usize> = (0..rows.len()).filter(|&other| other != mode).collect();
        // A mode of few rows makes long runs of entries that share its row.
        others.sort_by_key(|&other| rows[other]);
        let modes: Vec<usize> = std::iter::once(mode).chain(others).collect();
        let lists: Vec<&[u32]> = modes.iter().map(|&mode| entries.indices(mode)).collect();
        let mut places: Vec<u32> = (0..entries.len() as u32).collect();
        let compare = |a: &u32, b: &u32| {
            let of = |list: &&[u32]| list[*a as usize].cmp(&list[*b as usize]);
            lists.iter().map(of).find(|order| order.is_ne()).unwrap_or(Ordering::Equal).then(a.cmp(b))
        };
        places.par_sort_unstable_by(compare);
        let mut starts = vec![0; rows[mode] + 1];
        lists[0].iter().for_each(|&row| starts[row as usize + 1] += 1);
        for row in 0..rows[mode] {
            starts[row + 1] += starts[row];
        }
        let indices = places.iter().flat_map(|&place| lists.iter().map(move |list| list[place as usize]));
        let values = places.iter().map(|&place| entries.values()[place as usize]);
        View { starts, indices: indices.collect(), values: values.collect(), modes }
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// How many rows its own mode has.
    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entries of some rows: the rows of each, in the order of `modes`, and its value.
    pub(super) fn entries(&self, rows: Range<usize>) -> impl Iterator<Item = (&[u32], f64)> {
        self.run(self.starts[rows.start]..self.starts[rows.end])
    }

    /// The places of a row's entries.
    pub(super) fn places(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    /// The entries at some places, as [`View::entries`] gives them.
    pub(super) fn run(&self, range: Range<usize>) -> impl Iterator<Item = (&[u32], f64)> {
        let order = self.modes.len();
        let indices = self.indices[range.start * order..range.end * order].chunks_exact(order);
        indices.zip(&self.values[range]).map(|(indices, &value)| (indices, f64::from(value)))
    }
}
