//! The data of a run, put aside until its model is saved.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::problem_file::Whole;
use crate::{Error, Problem};

/// The data of a run, which take no memory while it lasts.
pub struct KeptData(Place);

enum Place {
    /// A file without a name, which vanishes with the process.
    Aside(File),
    /// A file that [`save_problem`](super::save_problem) wrote.
    There(PathBuf),
}

impl KeptData {
    /// Puts a problem aside, on the disk where its model will be saved.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn of(problem: &Problem, folder: &Path) -> Result<Self, Error> {
        let beside =
            folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let path = folder.join(super::folder::DATA);
        let io = |source| Error::io(&path, source);
        let whole = Whole::of(problem).map_err(|what| Error::file(&path, what))?;
        let mut out = BufWriter::new(tempfile::tempfile_in(beside).map_err(io)?);
        whole.write(&mut out).and_then(|()| out.flush()).map_err(io)?;
        let file = out.into_inner().map_err(|error| io(error.into_error()))?;
        Ok(KeptData(Place::Aside(file)))
    }

    /// The data that are in a file, which [`save_problem`](super::save_problem) wrote and nobody changes.
    pub fn there(path: &Path) -> Self {
        KeptData(Place::There(path.to_owned()))
    }

    /// Writes the data to a new file.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let io = |source| Error::io(path, source);
        match &self.0 {
            Place::Aside(file) => {
                let mut from = file;
                from.seek(SeekFrom::Start(0)).map_err(io)?;
                let mut to = File::create_new(path).map_err(io)?;
                io::copy(&mut from, &mut to).and_then(|_| to.sync_all()).map_err(io)
            }
            // A second name is enough; where that cannot be, a copy is made.
            Place::There(from) => match fs::hard_link(from, path) {
                Ok(()) => Ok(()),
                Err(_) => fs::copy(from, path).map(|_| ()).map_err(io),
            },
        }
    }
}
