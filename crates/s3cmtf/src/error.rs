//! The one error of the library.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// The error of another library or of the operating system that lies behind one of ours.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What went wrong, where, and what would be right.
///
/// `{}` says what this library knows, and [`source`](std::error::Error::source) has the error behind it, if there is one; `{:#}`
/// says both in one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a file.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A line of a text file cannot be used.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The value found and what would be right.
        what: String,
    },
    /// A file as a whole cannot be used.
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was found and what would be right.
        what: String,
        /// What the library said that reads files of this format, if it was asked.
        source: Option<Cause>,
    },
    /// One entry of a table does not fit the rest of the problem.
    Entry {
        /// The table's name, see [`crate::Entries::named`].
        table: String,
        /// Which entry, counted from 0.
        entry: usize,
        /// The value found and what would be right.
        what: String,
    },
    /// The parts of a problem do not fit together.
    Problem(String),
    /// An invalid request, whatever the data.
    Request(String),
    /// Nothing goes by the name that was given.
    Unknown(String),
    /// A setting is out of its range.
    Param {
        /// The setting, by the name it has everywhere.
        name: &'static str,
        /// The range it must lie in.
        expected: String,
        /// The value given.
        value: String,
    },
    /// The operating system refused threads.
    Threads {
        /// Its reason.
        source: Cause,
    },
    /// A GPU cannot be used, or has failed.
    Device {
        /// Which, as in the settings.
        device: String,
        /// Why.
        source: Cause,
    },
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            // The reason is a sentence of its own.
            Error::Io { path, source } if f.alternate() => return write!(f, "{}: {source}", path.display()),
            Error::Io { path, .. } => write!(f, "{}: cannot be read or written", path.display()),
            Error::Line { path, line, what } => write!(f, "{}:{line}: {what}", path.display()),
            Error::File { path, what, .. } => write!(f, "{}: {what}", path.display()),
            Error::Entry { table, entry, what } => write!(f, "{table}: entry {}: {what}", entry + 1),
            Error::Problem(what) | Error::Request(what) | Error::Unknown(what) => f.write_str(what),
            Error::Param { name, expected, value } => {
                write!(f, "{name} should be {expected}, but is {value}")
            }
            Error::Threads { .. } => f.write_str("threads cannot be started"),
            Error::Device { device, .. } => write!(f, "device {device} cannot be used"),
        }?;
        if f.alternate() {
            let mut cause = std::error::Error::source(self);
            while let Some(error) = cause {
                write!(f, ": {error}")?;
                cause = error.source();
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::File { source: Some(source), .. }
            | Error::Threads { source }
            | Error::Device { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn file(path: &Path, reason: impl Into<Reason>) -> Self {
        let Reason { what, source } = reason.into();
        Error::File { path: path.to_path_buf(), what, source }
    }

    pub(crate) fn threads(source: impl Into<Cause>) -> Self {
        Error::Threads { source: source.into() }
    }

    pub(crate) fn param(name: &'static str, expected: impl Into<String>, value: impl ToString) -> Self {
        Error::Param { name, expected: expected.into(), value: value.to_string() }
    }
}

/// What is wrong with a file whose path is known elsewhere.
#[derive(Debug)]
pub(crate) struct Reason {
    what: String,
    source: Option<Cause>,
}

impl Reason {
    pub(crate) fn new(what: impl Into<String>, source: impl Into<Cause>) -> Self {
        Reason { what: what.into(), source: Some(source.into()) }
    }
}

impl From<String> for Reason {
    fn from(what: String) -> Self {
        Reason { what, source: None }
    }
}

impl From<&str> for Reason {
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use super::*;

    #[test]
    fn each_error_says_its_own_part_once() {
        let error = Error::io(Path::new("a.csv"), io::Error::other("no disk"));
        assert_eq!(error.to_string(), "a.csv: cannot be read or written");
        assert_eq!(error.source().unwrap().to_string(), "no disk");
        assert_eq!(format!("{error:#}"), "a.csv: no disk");

        let error =
            Error::file(Path::new("run.json"), Reason::new("is no record", io::Error::other("line 3")));
        assert_eq!(error.to_string(), "run.json: is no record");
        assert_eq!(error.source().unwrap().to_string(), "line 3");
        assert_eq!(format!("{error:#}"), "run.json: is no record: line 3");

        let error = Error::file(Path::new("run.json"), "is empty");
        assert!(error.source().is_none());
        assert_eq!(format!("{error:#}"), error.to_string());
    }

    #[test]
    fn what_is_handed_from_thread_to_thread_can_be() {
        fn free<T: Send + Sync + 'static>() {}
        free::<Error>();
        free::<crate::Cells>();
        free::<crate::Checkpoint>();
        free::<crate::Coupled>();
        free::<crate::Entries>();
        free::<crate::Model>();
        free::<crate::Params>();
        free::<crate::Problem>();
        free::<crate::Run>();
    }
}
