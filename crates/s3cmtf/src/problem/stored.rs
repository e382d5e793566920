//! A problem whose entries are kept elsewhere than in memory.

use std::sync::Arc;

use super::entry_source::{Blocks, EntrySource};
use super::{Entries, Problem};
use crate::{Coupled, Error, Mode};

/// A [`Problem`] whose entries are read some at a time from where they are kept, such as a file of
/// [`files::open_problem`](crate::files::open_problem). It can be trained on, see
/// [`Training::stored`](crate::Training::stored).
#[derive(Clone)]
pub struct StoredProblem {
    /// The problem without its entries.
    pub(crate) frame: Problem,
    pub(crate) blocks: Arc<dyn Blocks>,
}

impl StoredProblem {
    /// A problem of these parts, whose entries are on rows and each there once.
    ///
    /// # Errors
    /// If the parts are none of a problem: an index that is no row, a value that is not finite, a wrong name.
    pub fn new(
        modes: Vec<Mode>,
        blocks: Arc<dyn Blocks>,
        coupled: Vec<Coupled>,
        value: Option<String>,
    ) -> Result<Self, Error> {
        let mut count = 0;
        blocks.each(&mut |lists, values| {
            count += values.len();
            super::restore::check_block("the tensor", lists, values, &modes.iter().collect::<Vec<_>>())
        })?;
        if count != blocks.count() {
            return Err(Error::Problem(format!("{count} entries where {} were announced", blocks.count())));
        }
        let frame = Problem::restore_frame(modes, count, coupled, value)?;
        Ok(StoredProblem { frame, blocks })
    }

    /// The problem without its entries.
    pub fn frame(&self) -> &Problem {
        &self.frame
    }

    /// How many entries the tensor has.
    pub fn count(&self) -> usize {
        self.blocks.count()
    }

    /// The whole problem, in memory.
    ///
    /// # Errors
    /// If its entries cannot be read.
    pub fn into_problem(self) -> Result<Problem, Error> {
        let entries = EntrySource::stored(self.blocks).into_entries()?;
        Ok(self.frame.with_entries(entries))
    }
}

impl Problem {
    /// The same problem with other entries, which are on its rows.
    pub(crate) fn with_entries(mut self, entries: Entries) -> Self {
        self.entries = entries;
        self
    }
}
