//! The only place that writes to stdout and stderr.
//!
//! A reader that has gone away (`| head`) is not an error: what is left to say is dropped. A stdout that fails
//! otherwise (a full disk) is one. A stderr that fails leaves nobody to tell.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use anstream::AutoStream;
use anyhow::Context;

use crate::show::{ERROR, NOTE, styled as coloured};

/// Writes results to stdout, as they are; to a terminal, without what it would obey.
pub(crate) fn out(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        through(Shown(io::stdout().lock()), write)
    } else {
        through(io::stdout().lock(), write)
    }
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

/// Writes labels and values to stdout, the values below each other. These are for a person: also what goes through a pipe has no
/// orders to a terminal in it.
pub(crate) fn table(rows: &[(&str, String)]) -> anyhow::Result<()> {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let line = |(label, value): &(&str, String)| format!("{label:width$}  {}", harmless(value));
    out(|out| rows.iter().map(line).try_for_each(|line| writeln!(out, "{line}")))
}

/// Writes a line about the state of things to stderr.
pub(crate) fn status(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(&line.to_string()));
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
    let _ = writeln!(stderr.into_inner(), " {}", harmless(&what.to_string()));
}

/// The most characters of a message.
const LONGEST: usize = 4000;

/// A text that may come from a file, without what a terminal would take for orders, and no longer than somebody reads.
fn harmless(text: &str) -> String {
    let mut clean = String::new();
    for (place, c) in text.chars().enumerate() {
        if place == LONGEST {
            clean.push_str(&format!(" .. ({} characters more)", text.chars().count() - LONGEST));
            break;
        }
        match c {
            '\n' | '\t' => clean.push(c),
            c if is_order(c) => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}

/// Whether a terminal does not show a character but obeys it: controls, and those that turn the direction of writing.
fn is_order(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes what is shown as it is, and orders to a terminal as their codes.
struct Shown<W>(W);

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for chunk in bytes.utf8_chunks() {
            let mut from = 0;
            let orders = chunk.valid().match_indices(|c| is_order(c) && !matches!(c, '\n' | '\t' | '\r'));
            for (place, order) in orders {
                self.0.write_all(&chunk.valid().as_bytes()[from..place])?;
                write!(self.0, "{}", order.escape_unicode())?;
                from = place + order.len();
            }
            self.0.write_all(&chunk.valid().as_bytes()[from..])?;
            self.0.write_all(chunk.invalid())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Tells how many entries name an id that the model was not trained on, if any do; `names` says which, see [`unknown`].
///
/// [`unknown`]: crate::unknown
pub(crate) fn note_unknown(table: &str, unknown: usize, entries: usize, names: &str) {
    if unknown > 0 {
        note(format_args!(
            "{table}: {unknown} of {entries} entries have an id that is not in the model{names}; the average entity is \
             used"
        ));
    }
}

/// Tells how many entries to test with are those of training, if any are: a model that only remembers does well on them.
pub(crate) fn note_shared(table: &str, shared: usize, entries: usize) {
    if shared > 0 {
        let which = if shared == entries { "all".to_owned() } else { format!("{shared} of {entries}") };
        note(format_args!(
            "{table}: {which} test entries are also training entries: errors on them are too optimistic"
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
    use super::*;

    #[test]
    fn orders_to_a_terminal_become_their_codes() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}\n\tc"), "a\\u{1b}[31mb\\u{202e}\n\tc");
        let long = harmless(&"x".repeat(5000));
        assert!(long.ends_with("xx .. (1000 characters more)") && long.len() < 4100);
        let mut shown = Shown(Vec::new());
        shown.write_all(b"a\x1b]0;x\x07,\xff\xc2\x9b\r\n").unwrap();
        assert_eq!(shown.0, b"a\\u{1b}]0;x\\u{7},\xff\\u{9b}\r\n");
    }

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
