//! A sample of the entries of a view.

use std::ops::Range;

use crate::problem::mix;

/// Consecutive entries of so many are in a sample together: enough to be worth what a row costs that has any.
const WINDOW: usize = 128;

/// Which entries a product is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// One in so many windows, by chance.
    pub(super) every: u64,
    pub(super) seed: u64,
}

impl Sample {
    /// All entries.
    pub(super) const ALL: Sample = Sample { every: 1, seed: 0 };

    pub(super) fn is_all(self) -> bool {
        self.every == 1
    }

    /// What it has of consecutive entries of the view, window by window; all at once, if it has all.
    pub(super) fn parts(self, entries: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut left = entries;
        let parts = std::iter::from_fn(move || {
            let end = if self.is_all() { left.end } else { left.end.min(window(left.start).end) };
            let part = left.start..end;
            left.start = end;
            (!part.is_empty()).then_some(part)
        });
        parts.filter(move |part| self.takes(part.start))
    }

    /// The first of consecutive entries of the view that it has.
    pub(super) fn next(self, mut entries: Range<usize>) -> Option<usize> {
        while !entries.is_empty() {
            if self.takes(entries.start) {
                return Some(entries.start);
            }
            entries.start = window(entries.start).end;
        }
        None
    }

    /// Whether it has the window of this entry of the view.
    fn takes(self, entry: usize) -> bool {
        self.is_all() || mix(self.seed ^ (entry / WINDOW) as u64).is_multiple_of(self.every)
    }
}

/// The window of an entry of the view.
pub(super) fn window(entry: usize) -> Range<usize> {
    let start = entry / WINDOW * WINDOW;
    start..start + WINDOW
}
