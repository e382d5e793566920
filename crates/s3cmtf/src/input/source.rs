//! A table as it is given: files, or columns in memory.

use std::path::PathBuf;
use std::sync::Arc;

use super::note::Note;
use crate::Error;
use crate::files::{self, Format, Frame, SampledColumn, Source};
use crate::prepare::{Recipe, Tensor};
use crate::table::{Empty, Table, Want};

/// A table, before anything of it is read.
#[derive(Clone, Debug)]
pub enum TableSource {
    /// Files that are one table.
    Files {
        /// Each a path, or a pattern such as `part-*.csv`.
        paths: Vec<PathBuf>,
        /// Their format; found out if it is `None`.
        format: Option<Format>,
        /// Whether the first line holds headings; found out if it is `None`.
        header: Option<bool>,
        /// What becomes of rows in which a wanted value is empty.
        empty: Empty,
    },
    /// Columns in memory, and what becomes of rows in which a wanted value is empty.
    Frame(Arc<Frame>, Empty),
}

/// A table whose files are known.
pub(super) enum Opened<'a> {
    Source(Source),
    Frame(&'a Frame, Empty),
}

/// The rows of a table that were left out, counted from 0, ascending.
#[derive(Debug, Default)]
pub(super) struct Skipped(Vec<usize>);

impl Skipped {
    /// The row of the table that a row without those was.
    fn before(&self, row: usize) -> usize {
        let mut row = row;
        for &skipped in &self.0 {
            if skipped > row {
                break;
            }
            row += 1;
        }
        row
    }
}

impl TableSource {
    /// The files of one path or pattern.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        TableSource::Files { paths: vec![path.into()], format: None, header: None, empty: Empty::Refuse }
    }

    /// The files that are meant, of which each may be a pattern, as one source.
    ///
    /// # Errors
    /// If a pattern is wrong or nothing matches it, or if a file is a whole problem; and for columns in memory.
    #[doc(hidden)]
    pub fn source(&self) -> Result<Source, Error> {
        let TableSource::Files { paths, format, header, empty } = self else {
            return Err(Error::Request("a table in memory is no file".into()));
        };
        let mut source = Source { paths: Vec::new(), format: *format, header: *header, empty: *empty };
        for path in paths {
            source.paths.extend(Source::new(path)?.paths);
        }
        // Whoever takes a whole problem has done so already.
        for path in &source.paths {
            if files::is_problem(path)? {
                return Err(Error::Request(format!(
                    "{}: is a whole problem, but a table is needed here: give that which it was made of",
                    path.display()
                )));
            }
        }
        Ok(source)
    }

    pub(super) fn open(&self) -> Result<Opened<'_>, Error> {
        match self {
            TableSource::Files { .. } => self.source().map(Opened::Source),
            TableSource::Frame(frame, empty) => Ok(Opened::Frame(frame, *empty)),
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
            Opened::Frame(frame, _) => frame.name().to_owned(),
        }
    }

    pub(super) fn columns(&self) -> Result<Vec<SampledColumn>, Error> {
        match self {
            Opened::Source(source) => files::columns(source),
            Opened::Frame(frame, _) => frame.columns(),
        }
    }

    /// The same table, where something else becomes of rows in which a wanted value is empty.
    pub(super) fn with(mut self, other: Empty) -> Self {
        match &mut self {
            Opened::Source(Source { empty, .. }) | Opened::Frame(_, empty) => *empty = other,
        }
        self
    }

    pub(super) fn read(&self, wants: &[Want]) -> Result<(Table, Skipped), Error> {
        let (table, skipped) = match self {
            Opened::Source(source) => files::read_rows(source, wants),
            Opened::Frame(frame, empty) => frame.read_rows(wants, *empty),
        }?;
        Ok((table, Skipped(skipped)))
    }

    /// Tells of rows that were left out of a table that has now so many.
    pub(super) fn tell_skipped(&self, skipped: &Skipped, rows: usize, tell: &mut dyn FnMut(Note)) {
        let Some(&first) = skipped.0.first() else { return };
        let line = match self {
            Opened::Source(source) => files::line_of_row(source, &[], first).ok().flatten(),
            Opened::Frame(..) => None,
        };
        let (table, count) = (self.name(), skipped.0.len());
        let first = line.map_or_else(|| format!("row {}", first + 1), |(_, line)| format!("line {line}"));
        tell(Note::Skipped { table, count, of: count + rows, first });
    }

    /// What errors and notes call it.
    fn name(&self) -> String {
        match self {
            Opened::Source(source) => source.name(),
            Opened::Frame(frame, _) => frame.name().to_owned(),
        }
    }

    /// Reads a tensor; of what is in memory, column by column, so that little is there twice.
    pub(super) fn tensor(&self, recipe: &Recipe) -> Result<(Tensor, Skipped), Error> {
        if let Opened::Frame(frame, Empty::Refuse) = self {
            let tensor = recipe.tensor_by(frame.name(), frame.rows(), |_, want| frame.read_column(want))?;
            return Ok((tensor, Skipped::default()));
        }
        let wants = recipe.wants();
        let (table, skipped) = self.read(&wants)?;
        match recipe.tensor(table) {
            Ok(tensor) => Ok((tensor, skipped)),
            Err(error) => Err(self.explain(error, &wants, &skipped)),
        }
    }

    /// Turns an error about a row of a file into one that names its line.
    pub(super) fn explain(&self, error: Error, wants: &[Want], skipped: &Skipped) -> Error {
        let error = match error {
            Error::Entry { table, entry, what } => Error::Entry { table, entry: skipped.before(entry), what },
            other => other,
        };
        match self {
            Opened::Source(source) => files::with_row_line(error, source, wants),
            Opened::Frame(..) => error,
        }
    }
}
