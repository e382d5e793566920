//! The entries of a problem that stay in its file, and files for what a run puts aside.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::pieces::{self, Number};
use crate::error::Reason;
use crate::{Blocks, Error, Scratch, Visit};

/// So many entries are read at a time.
const BLOCK: usize = 1 << 18;

/// Entries in the file of a problem.
pub(super) struct StoredEntries {
    path: PathBuf,
    file: File,
    /// Where the array of each mode starts, and that of the values.
    starts: Vec<u64>,
    len: usize,
}

impl StoredEntries {
    /// Entries whose arrays, one per mode and that of the values, are whole and of the same length.
    pub(super) fn new(path: &Path, file: File, starts: Vec<u64>, len: usize) -> Self {
        StoredEntries { path: path.to_owned(), file, starts, len }
    }
}

impl Blocks for StoredEntries {
    fn count(&self) -> usize {
        self.len
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), Error> {
        let order = self.starts.len() - 1;
        let mut lists = vec![Vec::new(); order];
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        for first in (0..self.len).step_by(BLOCK) {
            let len = BLOCK.min(self.len - first);
            bytes.resize(4 * len, 0);
            for (place, start) in self.starts.iter().enumerate() {
                pieces::read_at(&self.file, &mut bytes, start + 4 * first as u64)
                    .map_err(|source| Error::io(&self.path, source))?;
                match lists.get_mut(place) {
                    Some(list) => fill(&bytes, list),
                    None => fill(&bytes, &mut values),
                }
            }
            let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
            visit(&lists, &values)?;
        }
        Ok(())
    }
}

fn fill<T: Number>(bytes: &[u8], numbers: &mut Vec<T>) {
    numbers.resize(bytes.len() / T::BYTES, T::default());
    T::read(bytes, numbers);
}

/// A file without a name for what a run puts aside; it is gone when the run is, whatever ends it.
struct ScratchFile {
    folder: PathBuf,
    file: File,
    end: u64,
}

/// An empty scratch in a folder.
///
/// # Errors
/// If no file can be made there.
pub fn scratch(folder: &Path) -> Result<Box<dyn Scratch>, Error> {
    let file = tempfile::tempfile_in(folder).map_err(|source| Error::io(folder, source))?;
    Ok(Box::new(ScratchFile { folder: folder.to_owned(), file, end: 0 }))
}

impl Scratch for ScratchFile {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        let error = |source: std::io::Error| {
            let what = format!("no room to put entries aside after {} MB", self.end / 1_000_000);
            Error::file(&self.folder, Reason::new(what, source))
        };
        self.file.seek(SeekFrom::Start(self.end)).map_err(error)?;
        self.file.write_all(bytes).map_err(error)?;
        let start = self.end;
        self.end += bytes.len() as u64;
        Ok(start)
    }

    fn read(&self, bytes: &mut [u8], start: u64) -> Result<(), Error> {
        let error = |source: std::io::Error| {
            Error::file(&self.folder, Reason::new("entries put aside cannot be read", source))
        };
        pieces::read_at(&self.file, bytes, start).map_err(error)
    }
}
