//! A table as it is given: files, or columns in memory.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Error;
use crate::files::{self, Format, Frame, SampledColumn, Source};
use crate::prepare::{Recipe, Tensor};
use crate::table::{Table, Want};

/// A table, before anything of it is read.
#[derive(Clone, Debug)]
pub enum Given {
    /// Files that are one table.
    Files {
        /// Each a path, or a pattern such as `part-*.csv`.
        paths: Vec<PathBuf>,
        /// Their format; found out if it is `None`.
        format: Option<Format>,
        /// Whether the first line holds headings; found out if it is `None`.
        header: Option<bool>,
    },
    /// Columns in memory.
    Frame(Arc<Frame>),
}

/// A table whose files are known.
pub(super) enum Opened<'a> {
    Source(Source),
    Frame(&'a Frame),
}

impl Given {
    /// The files of one path or pattern.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Given::Files { paths: vec![path.into()], format: None, header: None }
    }

    /// The files that are meant, of which each may be a pattern, as one source.
    ///
    /// # Errors
    /// If a pattern is wrong or nothing matches it, or if a file is a whole problem; and for columns in memory.
    pub fn source(&self) -> Result<Source, Error> {
        let Given::Files { paths, format, header } = self else {
            return Err(Error::Asked("a table in memory is no file".into()));
        };
        let mut source = Source { paths: Vec::new(), format: *format, header: *header };
        for path in paths {
            source.paths.extend(Source::new(path)?.paths);
        }
        // Whoever takes a whole problem has done so already.
        for path in &source.paths {
            if files::is_problem(path)? {
                return Err(Error::Asked(format!(
                    "{}: is a whole problem, but a table is needed here: give that which it was made of",
                    path.display()
                )));
            }
        }
        Ok(source)
    }

    pub(super) fn open(&self) -> Result<Opened<'_>, Error> {
        match self {
            Given::Files { .. } => self.source().map(Opened::Source),
            Given::Frame(frame) => Ok(Opened::Frame(frame)),
        }
    }
}

impl Opened<'_> {
    /// The file that is all there is of the table, if it is one of indices that count from 1, which needs no words about its
    /// columns.
    pub(super) fn numbered(&self) -> Result<Option<&PathBuf>, Error> {
        match self {
            Opened::Source(source) if files::is_numbered(source)? => Ok(source.paths.first()),
            _ => Ok(None),
        }
    }

    /// What errors call its start.
    pub(super) fn first(&self) -> String {
        match self {
            Opened::Source(source) => {
                source.paths.first().map_or(source.name(), |path| path.display().to_string())
            }
            Opened::Frame(frame) => frame.name().to_owned(),
        }
    }

    pub(super) fn columns(&self) -> Result<Vec<SampledColumn>, Error> {
        match self {
            Opened::Source(source) => files::columns(source),
            Opened::Frame(frame) => frame.columns(),
        }
    }

    pub(super) fn read(&self, wants: &[Want]) -> Result<Table, Error> {
        match self {
            Opened::Source(source) => files::read_table(source, wants),
            Opened::Frame(frame) => frame.read(wants),
        }
    }

    /// Reads a tensor; of what is in memory, column by column, so that little is there twice.
    pub(super) fn tensor(&self, recipe: &Recipe) -> Result<Tensor, Error> {
        match self {
            Opened::Source(_) => {
                let wants = recipe.wants();
                let table = self.read(&wants)?;
                recipe.tensor(table).map_err(|error| self.explain(error, &wants))
            }
            Opened::Frame(frame) => {
                recipe.tensor_by(frame.name(), frame.rows(), |_, want| frame.read_column(want))
            }
        }
    }

    /// Turns an error about a row of a file into one that names its line.
    pub(super) fn explain(&self, error: Error, wants: &[Want]) -> Error {
        match self {
            Opened::Source(source) => files::with_row_line(error, source, wants),
            Opened::Frame(_) => error,
        }
    }
}
