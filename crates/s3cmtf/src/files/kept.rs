//! The data of a run, put aside until its model is saved.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::owned::DATA;
use super::problem_file::{Whole, content_check, load_open};
use crate::{Error, Problem};

/// The data of a run, which take no memory while it lasts: an open file, which stays what it is if its name goes to another, and
/// what it is called in messages.
pub struct KeptData {
    file: File,
    path: PathBuf,
}

impl KeptData {
    /// Puts a problem aside, on the disk where its model will be saved: beside `folder`, which need not be there. The file has no
    /// name and vanishes with the process.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn new(problem: &Problem, folder: &Path) -> Result<Self, Error> {
        let beside =
            folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let path = folder.join(DATA);
        let io = |source| Error::io(&path, source);
        let whole = Whole::new(problem).map_err(|what| Error::file(&path, what))?;
        let mut out = BufWriter::new(tempfile::tempfile_in(beside).map_err(io)?);
        whole.write(&mut out).and_then(|()| out.flush()).map_err(io)?;
        let file = out.into_inner().map_err(|error| io(error.into_error()))?;
        Ok(KeptData { file, path })
    }

    /// The data that are in a file, which [`save_problem`](super::save_problem) wrote.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn there(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::io(path, source))?;
        Ok(KeptData { file, path: path.to_owned() })
    }

    /// Reads the data again.
    ///
    /// # Errors
    /// If their file has changed.
    pub fn load(&self) -> Result<Problem, Error> {
        load_open(&self.file, &self.path)
    }

    /// What tells their content from that of others.
    pub(super) fn check(&self) -> Option<String> {
        content_check(&self.file)
    }

    /// Writes the data to a new file. It is a copy, since whoever writes to a file changes all its names.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let io = |source| Error::io(path, source);
        let mut from = &self.file;
        from.seek(SeekFrom::Start(0)).map_err(io)?;
        let mut to = File::create_new(path).map_err(io)?;
        io::copy(&mut from, &mut to).and_then(|_| to.sync_all()).map_err(io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entries;
    use std::fs;

    #[test]
    fn what_was_put_aside_is_read_again() {
        let entries = Entries::new(vec![vec![0, 2, 1], vec![1, 0, 4]], vec![1.0, 2.5, -3.0]).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let aside = KeptData::new(&problem, &folder.path().join("model")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let path = folder.path().join("data.s3cmtf");
        aside.write(&path).unwrap();
        // Before and after it was written, and as often as one likes.
        for kept in [&aside, &aside, &KeptData::there(&path).unwrap()] {
            let again = kept.load().unwrap();
            assert_eq!(again.modes(), problem.modes());
            assert_eq!(again.entries(), problem.entries());
        }
        // A file that has the name later is another one; one that was written into is noticed.
        let there = KeptData::there(&path).unwrap();
        let copy = folder.path().join("copy.s3cmtf");
        there.write(&copy).unwrap();
        fs::rename(&copy, &path).unwrap();
        fs::write(&path, "something else").unwrap();
        assert_eq!(there.load().unwrap().entries(), problem.entries());
        let error = KeptData::there(&path).unwrap().load().unwrap_err().to_string();
        assert!(error.contains("data.s3cmtf"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(KeptData::there(&path).is_err());
    }
}
