//! How a failure is told, and which exit code it has.

use std::process::ExitCode;

use s3cmtf::{Error, files};

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
    error.is::<Usage>() || matches!(error.downcast_ref(), Some(Error::Param { .. }))
}

/// Tells the user what went wrong: exit code 2 for what was typed, 1 for the rest.
pub(crate) fn report(error: anyhow::Error) -> ExitCode {
    let usage = is_usage(&error);
    match error.downcast::<Error>() {
        // The library knows entries, the user knows lines.
        Ok(error) => print::error(files::with_line(error)),
        Err(error) => print::error(format_args!("{error:#}")),
    }
    ExitCode::from(if usage { 2 } else { 1 })
}
