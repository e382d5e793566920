//! Room for entries: so much memory, and for what it does not hold, a place elsewhere.

use crate::Error;

/// Bytes that are put somewhere and read back.
pub trait Scratch: Send + Sync {
    /// Adds bytes at the end; returns where they start.
    ///
    /// # Errors
    /// If there is no room for them.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Error>;

    /// Reads as many bytes as fit, from where they start.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&self, bytes: &mut [u8], start: u64) -> Result<(), Error>;
}

/// The room that a run on a [`StoredProblem`](crate::StoredProblem) has for its entries.
pub struct MemoryBudget {
    memory: usize,
    scratch: Box<MakeScratch>,
}

type MakeScratch = dyn Fn() -> Result<Box<dyn Scratch>, Error> + Send + Sync;

impl MemoryBudget {
    /// So many bytes of memory, and as many scratches as are asked for, each empty at first. Together they take two
    /// to five times the bytes that the entries of the problem have: the more, the fewer entries agree in all modes but one.
    pub fn new(
        memory: usize,
        scratch: impl Fn() -> Result<Box<dyn Scratch>, Error> + Send + Sync + 'static,
    ) -> Self {
        MemoryBudget { memory, scratch: Box::new(scratch) }
    }

    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn scratch(&self) -> Result<Box<dyn Scratch>, Error> {
        (self.scratch)()
    }
}
