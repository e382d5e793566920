//! What entries name: rows, and tables of what the core becomes along what they share.

use crate::prefetch::prefetch_line;

/// How many entries before its use a row is fetched: sums take few instructions per entry, and memory takes its time.
const AHEAD: usize = 24;
/// So many numbers do not fit the second cache.
const FAR: usize = 1 << 18;
/// The numbers in a line of the cache.
const LINE: usize = 16;

/// The rows that entries name: of every `stride` numbers the first `rank`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) rows: &'a [f32],
    pub(crate) rank: usize,
    pub(crate) stride: usize,
    /// Of the entries, and of those that come after them: their rows are fetched.
    pub(crate) indices: &'a [u32],
}

impl Named<'_> {
    #[inline(always)]
    pub(super) fn start(&self, entry: usize) -> usize {
        let start = self.indices[entry] as usize * self.stride;
        assert!(
            start + self.stride <= self.rows.len(),
            "index {} lies outside its rows",
            self.indices[entry]
        );
        start
    }

    #[inline(always)]
    pub(super) fn look_ahead(&self, entry: usize) {
        if let Some(&index) = self.indices.get(entry + AHEAD) {
            let row = self.rows.as_ptr().wrapping_add(index as usize * self.stride);
            prefetch_line(row);
            if self.stride > LINE {
                (LINE..self.stride).step_by(LINE).for_each(|at| prefetch_line(row.wrapping_add(at)));
            }
        }
    }
}

/// What the core becomes along what entries share: tables of a row of `pad` numbers for each concept of the rows that
/// they name, and which of the tables is each entry's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a> {
    pub(crate) tables: &'a [f32],
    pub(crate) pad: usize,
    pub(crate) places: &'a [u32],
}

impl Tables<'_> {
    /// Fetches the tables of entries to come, each once where it is the one before's, if they are so many that they come from far.
    #[inline(always)]
    pub(super) fn look_ahead(&self, entries: std::ops::Range<usize>, rank: usize) {
        if self.tables.len() < FAR {
            return;
        }
        let Some(places) = self.places.get(entries.start - 1..entries.end.min(self.places.len())) else {
            return;
        };
        let len = rank * self.pad;
        for both in places.windows(2).filter(|both| both[0] != both[1]) {
            let table = self.tables.as_ptr().wrapping_add(both[1] as usize * len);
            (0..len).step_by(LINE).for_each(|at| prefetch_line(table.wrapping_add(at)));
        }
    }

    #[inline(always)]
    pub(super) fn start(&self, entry: usize, rank: usize) -> usize {
        let len = rank * self.pad;
        let start = self.places[entry] as usize * len;
        assert!(start + len <= self.tables.len(), "there is no table {}", self.places[entry]);
        start
    }
}
