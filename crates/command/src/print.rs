//! The only place that writes to stdout and stderr.
//!
//! A reader that has gone away (`| head`) is not an error: what is left to say is dropped. A stdout that fails
//! otherwise (a full disk) is one. A stderr that fails leaves nobody to tell.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Write};

use anstream::AutoStream;
use anyhow::Context;

use crate::show::{ERROR, NOTE, styled as coloured};

/// Writes results to stdout, as they are.
pub(crate) fn out(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    through(io::stdout().lock(), write)
}

/// Writes results to stdout for a person: colours are kept on a terminal that has them, unless NO_COLOR is set, and anywhere
/// where CLICOLOR_FORCE is.
pub(crate) fn styled(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    through(AutoStream::auto(io::stdout().lock()), write)
}

/// Writes lines to stdout for a person.
pub(crate) fn lines(lines: &[String]) -> anyhow::Result<()> {
    styled(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}

fn through(stdout: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut stdout = BufWriter::new(stdout);
    let written = write(&mut stdout).and_then(|()| stdout.flush());
    // What could not be written would be tried once more when the buffer is dropped.
    let _ = stdout.into_parts();
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("stdout"),
    }
}

/// Writes one JSON object on a line of its own to stdout.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let line = serde_json::to_string(value)?;
    out(|out| writeln!(out, "{line}"))
}

/// Writes labels and values to stdout, the values below each other.
pub(crate) fn table(rows: &[(&str, String)]) -> anyhow::Result<()> {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    out(|out| rows.iter().try_for_each(|(label, value)| writeln!(out, "{label:width$}  {value}")))
}

/// Writes a line about the state of things to stderr.
pub(crate) fn status(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Tells of something odd that does not stop the run.
pub(crate) fn note(what: impl Display) {
    tell(&coloured(NOTE, "note:"), what);
}

/// Tells what went wrong.
pub(crate) fn error(what: impl Display) {
    tell(&coloured(ERROR, "error:"), what);
}

fn tell(word: &str, what: impl Display) {
    let mut stderr = AutoStream::auto(io::stderr().lock());
    let _ = write!(stderr, "{word}");
    // As it is: what is said of files and names is not for us to change.
    let _ = writeln!(stderr.into_inner(), " {what}");
}

/// Tells how many entries name an id that the model was not trained on, if any do; `names` says which, see [`unknown`].
///
/// [`unknown`]: crate::unknown
pub(crate) fn note_unknown(table: &str, unknown: usize, entries: usize, names: &str) {
    if unknown > 0 {
        note(format_args!(
            "{table}: {unknown} of {entries} entries name an id that training does not have{names}; the average one \
             stands in"
        ));
    }
}

/// A number of bytes for a person.
pub(crate) fn bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes < 1e9 { format!("{:.0} MB", (bytes / 1e6).ceil()) } else { format!("{:.1} GB", bytes / 1e9) }
}

/// A number with five digits that matter.
pub(crate) fn short(number: f64) -> String {
    let magnitude = if number == 0.0 { 0.0 } else { number.abs().log10().floor() };
    if (-4.0..9.0).contains(&magnitude) {
        let decimals = (4.0 - magnitude).max(0.0) as usize;
        return format!("{number:.decimals$}");
    }
    format!("{number:.4e}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_are_short_at_any_scale() {
        assert_eq!(short(0.0), "0.0000");
        assert_eq!(short(1.234567), "1.2346");
        assert_eq!(short(-123456.0), "-123456");
        assert_eq!(short(0.00123456), "0.0012346");
        assert_eq!(short(1.5e-9), "1.5000e-9");
        assert_eq!(short(f64::NAN), "NaN");
        assert_eq!(short(f64::INFINITY), "inf");
    }
}
