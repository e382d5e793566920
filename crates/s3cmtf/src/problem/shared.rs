//! Which entries a problem has already.

use hashbrown::HashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::{Entries, EntrySource, Mode, Problem, StoredProblem};
use crate::Error;
use crate::parallel;

/// A thread looks up so many entries at a time.
const TOGETHER: usize = 1 << 14;

impl Problem {
    /// How many of the given entries, by ids, are of a cell that one of the problem's own has, whatever its value.
    pub fn shared(&self, entries: &Entries) -> usize {
        let rows: Vec<&[u32]> = (0..self.order()).map(|mode| self.entries.indices(mode)).collect();
        let wanted = Wanted::new(&self.modes, entries);
        let found = wanted.among(&rows);
        wanted.count(&found)
    }
}

impl StoredProblem {
    /// The same of a problem whose entries are in a file.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn shared(&self, entries: &Entries) -> Result<usize, Error> {
        let (wanted, mut found) = (Wanted::new(&self.frame.modes, entries), HashSet::new());
        EntrySource::stored(self.blocks.clone()).each(&mut |rows, _| {
            found.extend(wanted.among(rows));
            Ok(())
        })?;
        Ok(wanted.count(&found))
    }
}

/// Cells to look for, as hashes of 64 bits: two of a billion cells have the same with a chance of 3 %.
struct Wanted {
    /// Of each entry; none where an id has no row.
    cells: Vec<Option<u64>>,
    distinct: HashSet<u64>,
}

impl Wanted {
    fn new(modes: &[Mode], entries: &Entries) -> Self {
        let cell = |place: usize| {
            let rows =
                modes.iter().enumerate().map(|(number, mode)| mode.row(entries.indices(number)[place]));
            let words: Vec<u32> = rows.collect::<Option<_>>()?;
            Some(xxh3_64(bytemuck::cast_slice(&words)))
        };
        let cells = parallel::numbers(entries.len(), cell);
        let distinct = cells.iter().copied().flatten().collect();
        Wanted { cells, distinct }
    }

    /// The wanted cells among those of entries, given by rows.
    fn among(&self, rows: &[&[u32]]) -> HashSet<u64> {
        let count = rows.first().map_or(0, |rows| rows.len());
        if self.distinct.is_empty() {
            return HashSet::new();
        }
        let found = |first: usize| {
            let mut words = vec![0; rows.len()];
            let cell = |place: usize| {
                words.iter_mut().zip(rows).for_each(|(word, rows)| *word = rows[place]);
                xxh3_64(bytemuck::cast_slice(&words))
            };
            let cells = (first..(first + TOGETHER).min(count)).map(cell);
            cells.filter(|cell| self.distinct.contains(cell)).collect::<Vec<u64>>()
        };
        parallel::map_of((0..count).step_by(TOGETHER), found).into_iter().flatten().collect()
    }

    fn count(&self, found: &HashSet<u64>) -> usize {
        self.cells.iter().flatten().filter(|&cell| found.contains(cell)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(cells: &[(u32, u32)]) -> Entries {
        let ids = vec![cells.iter().map(|cell| cell.0).collect(), cells.iter().map(|cell| cell.1).collect()];
        Entries::new(ids, vec![1.0; cells.len()]).unwrap()
    }

    #[test]
    fn cells_are_counted_as_often_as_they_are_given() {
        // Ids 1 and 3 of the first mode have no row.
        let own: Vec<(u32, u32)> = (0..40_000).map(|n| (2 * (n % 200), n / 200)).collect();
        let problem = Problem::builder(entries(&own)).build().unwrap();
        let given = [(0, 0), (0, 0), (1, 0), (398, 199), (398, 200), (4, 7), (1000, 1)];
        let oracle = given.iter().filter(|cell| own.contains(cell)).count();
        assert_eq!(oracle, 4);
        assert_eq!(problem.shared(&entries(&given)), oracle);
        assert_eq!(problem.shared(&entries(&[(1, 0)])), 0);
        assert_eq!(problem.shared(&entries(&own)), own.len());
    }
}
