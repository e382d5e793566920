//! The data of a run, put aside until its model is saved.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::problem_file::{Whole, load_open, load_problem};
use crate::{Error, Problem};

/// The data of a run, which take no memory while it lasts.
pub struct KeptData(Place);

enum Place {
    /// A file without a name, which vanishes with the process, and where it would be.
    Aside(File, PathBuf),
    /// A file that [`save_problem`](super::save_problem) wrote.
    There(PathBuf),
}

impl KeptData {
    /// Puts a problem aside, on the disk where its model will be saved: beside `folder`, which need not be there.
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
        Ok(KeptData(Place::Aside(file, path)))
    }

    /// The data that are in a file, which [`save_problem`](super::save_problem) wrote and nobody changes.
    pub fn there(path: &Path) -> Self {
        KeptData(Place::There(path.to_owned()))
    }

    /// Reads the data again.
    ///
    /// # Errors
    /// If their file has gone, or has changed.
    pub fn load(&self) -> Result<Problem, Error> {
        match &self.0 {
            Place::Aside(file, path) => load_open(file, path),
            Place::There(path) => load_problem(path),
        }
    }

    /// Writes the data to a new file.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let io = |source| Error::io(path, source);
        match &self.0 {
            Place::Aside(file, _) => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entries;

    #[test]
    fn what_was_put_aside_is_read_again() {
        let entries = Entries::new(vec![vec![0, 2, 1], vec![1, 0, 4]], vec![1.0, 2.5, -3.0]).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let aside = KeptData::of(&problem, &folder.path().join("model")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let path = folder.path().join("data.s3cmtf");
        aside.write(&path).unwrap();
        // Before and after it was written, and as often as one likes.
        for kept in [&aside, &aside, &KeptData::there(&path)] {
            let again = kept.load().unwrap();
            assert_eq!(again.modes(), problem.modes());
            assert_eq!(again.entries(), problem.entries());
        }
        fs::write(&path, "something else").unwrap();
        let error = KeptData::there(&path).load().unwrap_err().to_string();
        assert!(error.contains("data.s3cmtf"), "{error}");
    }
}
