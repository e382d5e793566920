//! The entries of a tensor in the order that one mode's rows need them.

use std::ops::Range;

use crate::problem::Entries;

/// Entries sorted by the rows of one mode, and within a row so that neighbours share as many other rows as can be: a *run* is
/// entries that differ in the last mode alone.
pub(super) struct View {
    /// The modes by which entries are sorted: the view's own first.
    pub(super) modes: Vec<usize>,
    /// Where the entries of each row of its own mode begin, and where the last end.
    starts: Vec<usize>,
    /// Where the runs of each row begin, and where the last end.
    row_runs: Vec<usize>,
    /// Where the entries of each run begin, and where the last end.
    run_starts: Vec<u32>,
    /// For each run its rows, in the order of `modes` without the last.
    heads: Vec<u32>,
    /// For each entry its row of the last mode.
    last: Vec<u32>,
    values: Values,
}

/// The values of entries.
enum Values {
    Each(Vec<f32>),
    /// All are the same: as many of it as the longest run has entries.
    Same(Vec<f32>),
}

/// Entries that differ in the last mode alone.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    /// Their rows in all modes of the view but the last.
    pub(super) head: &'a [u32],
    /// For each its row of the last mode.
    pub(super) last: &'a [u32],
    pub(super) values: &'a [f32],
    /// The place of the first.
    pub(super) start: usize,
}

impl View {
    /// A view of `entries` by `mode`; modes have as many rows as `rows` says.
    pub(super) fn new(entries: &Entries, mode: usize, rows: &[usize]) -> Self {
        let mut others: Vec<usize> = (0..rows.len()).filter(|&other| other != mode).collect();
        // A mode of few rows makes long runs of entries that share its row.
        others.sort_by_key(|&other| rows[other]);
        View::ordered(entries, std::iter::once(mode).chain(others).collect(), rows)
    }

    /// A view by the first of the given modes, in which the last is that of runs.
    pub(super) fn ordered(entries: &Entries, modes: Vec<usize>, rows: &[usize]) -> Self {
        View::weighted(entries, modes, rows, |value| value)
    }

    /// The same with another value for each.
    pub(super) fn weighted(
        entries: &Entries,
        modes: Vec<usize>,
        rows: &[usize],
        weight: impl Fn(f32) -> f32,
    ) -> Self {
        let mode = modes[0];
        let lists: Vec<&[u32]> = modes.iter().map(|&mode| entries.indices(mode)).collect();
        // By the last mode first: each sort leaves those that it does not tell apart in their order.
        let mut places: Vec<u32> = (0..entries.len() as u32).collect();
        for (list, &mode) in lists.iter().zip(&modes).rev() {
            places = sorted_by(list, rows[mode], &places);
        }
        let mut starts = vec![0; rows[mode] + 1];
        lists[0].iter().for_each(|&row| starts[row as usize + 1] += 1);
        for row in 0..rows[mode] {
            starts[row + 1] += starts[row];
        }
        let heads_of = |place: u32| lists[..lists.len() - 1].iter().map(move |list| list[place as usize]);
        let mut row_runs = vec![0; rows[mode] + 1];
        let (mut run_starts, mut heads) = (Vec::new(), Vec::new());
        for (at, &place) in places.iter().enumerate() {
            if at == 0 || !heads_of(place).eq(heads_of(places[at - 1])) {
                run_starts.push(at as u32);
                heads.extend(heads_of(place));
                row_runs[lists[0][place as usize] as usize + 1] += 1;
            }
        }
        run_starts.push(places.len() as u32);
        for row in 0..rows[mode] {
            row_runs[row + 1] += row_runs[row];
        }
        let last = lists[lists.len() - 1];
        let first = entries.values().first().map_or(0.0, |&value| weight(value));
        let values = if entries.values().iter().all(|&value| weight(value) == first) {
            let longest = run_starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            Values::Same(vec![first; longest as usize])
        } else {
            Values::Each(places.iter().map(|&place| weight(entries.values()[place as usize])).collect())
        };
        View {
            last: places.iter().map(|&place| last[place as usize]).collect(),
            values,
            starts,
            row_runs,
            run_starts,
            heads,
            modes,
        }
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.last.len()
    }

    /// How many rows its own mode has.
    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The mode in which the entries of a run differ.
    pub(super) fn last_mode(&self) -> usize {
        self.modes[self.modes.len() - 1]
    }

    /// The places of a row's entries.
    pub(super) fn places(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    /// The runs of some rows.
    pub(super) fn row_runs(&self, rows: Range<usize>) -> impl Iterator<Item = Run<'_>> {
        let places = self.starts[rows.start]..self.starts[rows.end];
        self.cut(self.row_runs[rows.start]..self.row_runs[rows.end], places)
    }

    /// The runs of the entries at some places of a row; the first and the last may be parts.
    pub(super) fn runs_in_row(&self, row: usize, places: Range<usize>) -> impl Iterator<Item = Run<'_>> {
        self.cut(self.row_runs[row]..self.row_runs[row + 1], places)
    }

    /// The runs of the entries at some places of any rows, in the same way.
    pub(super) fn runs(&self, places: Range<usize>) -> impl Iterator<Item = Run<'_>> {
        self.cut(0..self.run_starts.len() - 1, places)
    }

    /// Of some runs those that have entries at some places.
    fn cut(&self, runs: Range<usize>, places: Range<usize>) -> impl Iterator<Item = Run<'_>> {
        let width = self.modes.len() - 1;
        let before = |&start: &u32| (start as usize) <= places.start;
        let skipped = self.run_starts[runs.clone()].partition_point(before).saturating_sub(1);
        let first = runs.start + skipped;
        let count = self.run_starts[first..runs.end].partition_point(|&start| (start as usize) < places.end);
        (first..first + count).map(move |run| {
            let start = (self.run_starts[run] as usize).max(places.start);
            let end = (self.run_starts[run + 1] as usize).min(places.end);
            Run {
                head: &self.heads[run * width..][..width],
                last: &self.last[start..end],
                values: match &self.values {
                    Values::Each(values) => &values[start..end],
                    Values::Same(values) => &values[..end - start],
                },
                start,
            }
        })
    }
}

/// Places of entries in the order of their rows, of which there are so many: a counting sort.
fn sorted_by(list: &[u32], rows: usize, places: &[u32]) -> Vec<u32> {
    let mut next = vec![0u32; rows + 1];
    list.iter().for_each(|&row| next[row as usize + 1] += 1);
    for row in 0..rows {
        next[row + 1] += next[row];
    }
    let mut sorted = vec![0; places.len()];
    for &place in places {
        let next = &mut next[list[place as usize] as usize];
        sorted[*next as usize] = place;
        *next += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_places_are_the_entries_there_in_their_order() {
        let count = 200usize;
        let rows = [7, 3, 11];
        let list = |by: usize, size: usize| (0..count).map(|place| (place * by % size) as u32).collect();
        let indices: Vec<Vec<u32>> = vec![list(5, 7), list(7, 3), list(3, 11)];
        let values: Vec<f32> = (0..count).map(|place| place as f32).collect();
        let entries = Entries::from_rows("entries".into(), indices.clone(), values);
        for mode in 0..3 {
            let view = View::new(&entries, mode, &rows);
            let all: Vec<(Vec<u32>, f32)> = view
                .runs(0..count)
                .flat_map(|run| {
                    let entry = move |k: usize| ([run.head, &run.last[k..=k]].concat(), run.values[k]);
                    (0..run.values.len()).map(entry)
                })
                .collect();
            let mut expected = all.clone();
            expected.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            assert_eq!(all, expected);
            for (rows, value) in &all {
                let of = |&mode: &usize| indices[mode][*value as usize];
                assert_eq!(*rows, view.modes.iter().map(of).collect::<Vec<_>>());
            }
            for (first, last) in [(0, 0), (0, 1), (3, 60), (17, 18), (100, 200), (199, 200), (200, 200)] {
                let some = view.runs(first..last);
                let some: Vec<f32> = some.flat_map(|run| run.values.iter().copied()).collect();
                let expected: Vec<f32> = all[first..last].iter().map(|entry| entry.1).collect();
                assert_eq!(some, expected, "{first} {last}");
            }
            let same = View::weighted(&entries, view.modes.clone(), &rows, |_| 2.0);
            assert!(
                same.runs(0..count).zip(view.runs(0..count)).all(|(same, run)| {
                    same.last == run.last && same.values == vec![2.0; run.values.len()]
                })
            );
            for row in 0..rows[mode] {
                let places = view.places(row);
                let own: usize = view.row_runs(row..row + 1).map(|run| run.values.len()).sum();
                assert_eq!(own, places.len());
                assert!(view.runs_in_row(row, places).all(|run| run.head[0] as usize == row));
            }
        }
    }
}
