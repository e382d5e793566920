//! From errors of the library to exceptions of Python, with the library's words.

use std::any::Any;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use s3cmtf::Error;
use s3cmtf::internal::files::{self, RAISE_MEMORY};
use s3cmtf::internal::table::SKIP_EMPTY;

use crate::pool::with_threads;

/// The characters of a message at most.
const MOST: usize = 2000;

/// The exception that an error is.
pub(crate) fn exception(error: Error) -> PyErr {
    let error = in_python(files::with_line(error));
    let near = match &error {
        Error::Io { path, source } if source.kind() == ErrorKind::NotFound => files::similar(path),
        _ => None,
    };
    let hint = near.map_or(String::new(), |near| format!(", did you mean {}?", near.display()));
    let words = format!("{error:#}{hint}")
        .replace(SKIP_EMPTY, "skip_empty=True leaves rows with None or NaN out")
        .replace(RAISE_MEMORY, "s3cmtf.limit_memory raises that limit");
    let words = short(words);
    match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(words)
        }
        Error::File { path, .. } if !path.exists() => PyFileNotFoundError::new_err(words),
        Error::Io { .. } => PyOSError::new_err(words),
        Error::Unknown(_) => unknown_name(words),
        _ => PyValueError::new_err(words),
    }
}

/// Settings that go by another name in Python.
fn in_python(error: Error) -> Error {
    match error {
        Error::Param { name, expected, value } => {
            let name = match name {
                "threads" => "n_threads",
                "core" => "core_kind",
                "lambda-reg" => "lambda_reg",
                "lambda-couple" => "lambda_couple",
                other => other,
            };
            Error::Param { name, expected, value }
        }
        Error::Request(what) => {
            let named =
                [("threads cannot be", "n_threads cannot be"), ("core cannot be", "core_kind cannot be")];
            let found =
                named.iter().find_map(|(own, here)| Some(format!("{here}{}", what.strip_prefix(own)?)));
            Error::Request(found.unwrap_or(what))
        }
        other => other,
    }
}

/// The same in at most so many characters: what a table holds may be a page or a whole library.
fn short(words: String) -> String {
    match words.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ..", &words[..end]),
        None => words,
    }
}

/// A `KeyError` whose text is its words and not those between quotation marks, which is why it is made in Python.
fn unknown_name(words: String) -> PyErr {
    let made = Python::attach(|py| {
        py.import("s3cmtf._errors")?.getattr("UnknownName")?.call1((&words,)).map(PyErr::from_value)
    });
    made.unwrap_or_else(|error| error)
}

/// Runs the library without holding the interpreter. A panic, which would be a fault of ours, becomes an exception that
/// programs can catch as any other.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| with_threads(work))));
    done.map_err(|panic| panicked(&*panic))?.map_err(exception)
}

/// The exception for a panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let what = panic.downcast_ref::<String>().map(String::as_str);
    let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it does not say why");
    PyRuntimeError::new_err(format!("s3cmtf has a fault, please report it: {what}"))
}
