//! The one error of the library.

use std::path::{Path, PathBuf};

/// What went wrong, where, and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A line of a text file cannot be used.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The value found and what would be right.
        what: String,
    },
    /// A file as a whole cannot be used.
    #[error("{}: {what}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was found and what would be right.
        what: String,
    },
    /// One entry of a table does not fit the rest of the problem.
    #[error("{table}: entry {}: {what}", entry + 1)]
    Entry {
        /// The table's name, see [`crate::Entries::named`].
        table: String,
        /// Which entry, counted from 0.
        entry: usize,
        /// The value found and what would be right.
        what: String,
    },
    /// The parts of a problem do not fit together.
    #[error("{0}")]
    Problem(String),
    /// What was asked for cannot be right, whatever the data hold.
    #[error("{0}")]
    Request(String),
    /// Nothing goes by the name that was given.
    #[error("{0}")]
    Unknown(String),
    /// A setting is out of its range.
    #[error("{name} should be {expected}, but is {value}")]
    Param {
        /// The setting, by the name it has everywhere.
        name: &'static str,
        /// The range it must lie in.
        expected: String,
        /// The value given.
        value: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn file(path: &Path, what: impl Into<String>) -> Self {
        Error::File { path: path.to_path_buf(), what: what.into() }
    }

    pub(crate) fn param(name: &'static str, expected: impl Into<String>, value: impl ToString) -> Self {
        Error::Param { name, expected: expected.into(), value: value.to_string() }
    }
}
