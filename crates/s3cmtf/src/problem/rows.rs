//! From the ids in the data to the rows of the factors.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

use super::cells::{Cells, UNKNOWN};
use super::mode::Mode;
use crate::parallel;

/// As many ids are looked at by one thread at least.
const TOGETHER: usize = 1 << 12;

/// Whether a table with one number for each of `size` ids is affordable, and beats searching for `ids` of them.
fn table_pays(size: u32, ids: usize) -> bool {
    size as usize <= (1 << 26).min(16 * ids + 1024)
}

/// Marks something that threads see over and over: memory that is only read stays with all of them.
pub(crate) fn mark(seen: &AtomicBool) {
    if !seen.load(Relaxed) {
        seen.store(true, Relaxed);
    }
}

/// A mode of `size` ids in which exactly the ids that occur in `lists` have a row.
pub(super) fn present_rows(name: &str, size: u32, lists: &[&[u32]]) -> Mode {
    let ids = lists.iter().map(|list| list.len()).sum();
    let present = if table_pays(size, ids) {
        let seen: Vec<AtomicBool> = (0..size).map(|_| AtomicBool::new(false)).collect();
        for list in lists {
            parallel::each_range(list.len(), TOGETHER, |range| {
                list[range].iter().for_each(|&id| mark(&seen[id as usize]));
            });
        }
        (0..size).filter(|&id| seen[id as usize].load(Relaxed)).collect()
    } else {
        let mut ids: Vec<u32> = lists.concat();
        ids.par_sort_unstable();
        ids.dedup();
        ids
    };
    Mode::with_present(name, size, present).expect("sorted, distinct and below the size by construction")
}

/// How many entries, given by ids, name one that has no row.
pub(crate) fn count_unknown(modes: &[Mode], cells: &Cells) -> usize {
    let known =
        |place: usize| modes.iter().enumerate().all(|(mode, m)| m.row(cells.indices(mode)[place]).is_some());
    let unknown = AtomicUsize::new(0);
    parallel::each_range(cells.len(), TOGETHER, |places| {
        unknown.fetch_add(places.filter(|&place| !known(place)).count(), Relaxed);
    });
    unknown.into_inner()
}

impl Mode {
    /// Replaces each id by its row, [`UNKNOWN`] where it has none.
    pub(crate) fn locate(&self, ids: &mut [u32]) {
        let Some(present) = self.present() else {
            let size = self.size();
            return parallel::change(ids, |_, id| {
                if *id >= size {
                    *id = UNKNOWN;
                }
            });
        };
        if table_pays(self.size(), ids.len()) {
            let mut table = vec![UNKNOWN; self.size() as usize];
            for (row, &id) in present.iter().enumerate() {
                table[id as usize] = row as u32;
            }
            parallel::change(ids, |_, id| *id = table.get(*id as usize).copied().unwrap_or(UNKNOWN));
        } else {
            parallel::change(ids, |_, id| *id = self.row(*id).unwrap_or(UNKNOWN));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locate_agrees_with_row_for_small_and_huge_modes() {
        for size in [1000, u32::MAX] {
            let ids = [3, 999, 7, 3, 500];
            let mode = present_rows("user", size, &[&ids]);
            assert_eq!(mode.rows(), 4);
            let mut located = [3, 4, 999, 7, u32::MAX - 1];
            mode.locate(&mut located);
            assert_eq!(located, [0, UNKNOWN, 3, 1, UNKNOWN]);
        }
    }
}
