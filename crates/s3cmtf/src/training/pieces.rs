//! Looking through all entries piece by piece: with all threads where they are in memory, and else one after the other.

use crate::Error;
use crate::parallel;
use crate::problem::EntrySource;

/// There are no more pieces than this, and none but the last has fewer entries.
const MOST: usize = 64;
const FEWEST: usize = 1 << 16;

/// Entries in pieces, which depend neither on the number of threads nor on where the entries are.
pub(super) struct Pieces<'a> {
    entries: &'a EntrySource,
    len: usize,
}

impl<'a> Pieces<'a> {
    /// Pieces of which each needs room for so many numbers; all of them together take no more than entries do.
    pub(super) fn new(entries: &'a EntrySource, numbers: usize) -> Self {
        let most = (entries.len() / numbers.max(1)).clamp(1, MOST);
        Pieces { entries, len: entries.len().div_ceil(most).max(FEWEST) }
    }

    /// Begins each piece by its number, shows it its entries, and takes it; in order.
    pub(super) fn each<T: Send>(
        &self,
        begin: impl Fn(usize) -> T + Sync,
        visit: impl Fn(&mut T, &[&[u32]], &[f32]) + Sync,
        mut take: impl FnMut(T),
    ) -> Result<(), Error> {
        if let EntrySource::Memory(entries) = self.entries {
            let one = |number: usize| {
                let range = number * self.len..((number + 1) * self.len).min(entries.len());
                let lists: Vec<&[u32]> =
                    (0..entries.order()).map(|mode| &entries.indices(mode)[range.clone()]).collect();
                let mut piece = begin(number);
                visit(&mut piece, &lists, &entries.values()[range]);
                piece
            };
            let count = entries.len().div_ceil(self.len);
            parallel::map(count, one).into_iter().for_each(take);
            return Ok(());
        }
        let (mut number, mut filled) = (0, 0);
        let mut piece = None;
        self.entries.each(&mut |lists, values| {
            let mut first = 0;
            while first < values.len() {
                let last = (first + self.len - filled).min(values.len());
                let lists: Vec<&[u32]> = lists.iter().map(|list| &list[first..last]).collect();
                visit(piece.get_or_insert_with(|| begin(number)), &lists, &values[first..last]);
                filled += last - first;
                first = last;
                if filled == self.len {
                    piece.take().into_iter().for_each(&mut take);
                    (number, filled) = (number + 1, 0);
                }
            }
            Ok(())
        })?;
        piece.into_iter().for_each(take);
        Ok(())
    }
}
