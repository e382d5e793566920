//! How a failure is told, and which exit code it has.

use std::io::ErrorKind;
use std::process::ExitCode;

use s3cmtf::Error;
use s3cmtf::internal::files;
use s3cmtf::internal::files::{COUNT_PAIRS, RAISE_MEMORY};
use s3cmtf::internal::table::SKIP_EMPTY;

use crate::print;

/// Something was typed that cannot be right, whatever the files hold.
#[derive(Debug)]
struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A usage error: what was typed, and what would be right.
pub(crate) fn usage(what: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Usage(what.into()))
}

/// Whether what was typed is wrong.
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<Usage>()
        || matches!(error.downcast_ref(), Some(Error::Param { .. } | Error::Request(_) | Error::Unknown(_)))
}

/// Tells the user what went wrong: exit code 2 for what was typed, 1 for the rest.
pub(crate) fn report(error: anyhow::Error) -> ExitCode {
    let usage = is_usage(&error);
    print::error(told(error));
    ExitCode::from(if usage { 2 } else { 1 })
}

/// What is said of an error.
pub(crate) fn told(error: anyhow::Error) -> String {
    match error.downcast::<Error>() {
        // The library knows entries, the user knows lines.
        Ok(error) => {
            let near = match &error {
                Error::Io { path, source } if source.kind() == ErrorKind::NotFound => files::similar(path),
                _ => None,
            };
            let hint = near.map_or(String::new(), |near| format!(", did you mean {}?", near.display()));
            let words = format!("{:#}", files::with_line(error));
            let flag = |words: String, name: &str| words.replace(name, &format!("--{name}"));
            let words = words.replace(COUNT_PAIRS, "--format csv --modes 1,2 counts such pairs");
            format!("{}{hint}", flag(flag(words, SKIP_EMPTY), RAISE_MEMORY))
        }
        Err(error) => format!("{error:#}"),
    }
}
