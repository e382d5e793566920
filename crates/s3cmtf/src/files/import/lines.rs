//! The lines of a file of a download, one at a time: some of these files are larger than memory.

use std::borrow::Cow;
use std::io::{BufRead, Read};
use std::path::Path;

use crate::Error;
use crate::error::Reason;
use crate::files::delimited::decode;
use crate::files::limits::{Held, LONGEST_LINE};
use crate::table::time;

/// What is kept of a line at least: two ids, a value and a time.
const KEPT: u64 = 24;
/// Memory is looked at once in so many lines.
const LOOK: u64 = 1 << 16;

/// The lines of a file, without their ends and without a byte order mark; blank ones are left out.
pub(super) struct Lines<'a> {
    path: &'a Path,
    reader: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(path: &'a Path, reader: &'a mut dyn BufRead) -> Self {
        Lines { path, reader, line: Vec::new(), number: 0 }
    }

    /// Does something with each line; its errors get the file and the line.
    pub(super) fn each(
        mut self,
        mut work: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<(), Error> {
        let held = Held::new(self.path);
        loop {
            self.line.clear();
            let limited = &mut (&mut *self.reader).take(LONGEST_LINE as u64);
            let read = limited.read_until(b'\n', &mut self.line);
            let read = read.map_err(|source| match source.raw_os_error() {
                Some(_) => Error::io(self.path, source),
                // Unpackers have errors of their own.
                None => Error::file(self.path, Reason::new("is cut off or broken", source)),
            })?;
            if read == 0 {
                return Ok(());
            }
            self.number += 1;
            let bad = |what| Error::Line { path: self.path.to_path_buf(), line: self.number, what };
            if read == LONGEST_LINE {
                return Err(bad("is longer than any line of such a file".into()));
            }
            if self.number.is_multiple_of(LOOK) {
                held.check(self.number * KEPT)?;
            }
            let line = match self.number {
                1 => self.line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.line),
                _ => &self.line,
            };
            if !line.trim_ascii().is_empty() {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                work(self.number, line.strip_suffix(b"\r").unwrap_or(line)).map_err(bad)?;
            }
        }
    }
}

/// The fields of a line; there must be exactly `N`.
pub(super) fn fields<'a, const N: usize>(line: &'a [u8], separator: &str) -> Result<[&'a [u8]; N], String> {
    let mut fields = [&line[..0]; N];
    let (mut rest, mut count) = (Some(line), 0);
    while let Some(text) = rest {
        let end = memchr::memmem::find(text, separator.as_bytes());
        if let Some(field) = fields.get_mut(count) {
            *field = &text[..end.unwrap_or(text.len())];
        }
        rest = end.map(|end| &text[end + separator.len()..]);
        count += 1;
    }
    if count == N {
        Ok(fields)
    } else {
        Err(format!("has {count} fields, but should have {N}: {}", show(line)))
    }
}

/// A line or field in an error: not all of it if it is long.
pub(super) fn show(text: &[u8]) -> String {
    let text = decode(text);
    let short: String = text.chars().take(60).collect();
    if short.len() < text.len() { format!("{short:?}..") } else { format!("{short:?}") }
}

pub(super) fn text(field: &[u8]) -> Cow<'_, str> {
    decode(field.trim_ascii())
}

/// An id that is a whole number.
pub(super) fn id(field: &[u8], what: &str) -> Result<i64, String> {
    let number = std::str::from_utf8(field.trim_ascii()).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("the {what} should be a whole number, but is {}", show(field)))
}

/// A finite number.
pub(super) fn number(field: &[u8], what: &str) -> Result<f64, String> {
    let number = std::str::from_utf8(field.trim_ascii()).ok().and_then(|text| text.parse().ok());
    let number = number.filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("the {what} should be a number, but is {}", show(field)))
}

/// A point in time.
pub(super) fn moment(field: &[u8], what: &str) -> Result<i64, String> {
    let seconds = time::parse(field);
    seconds.ok_or_else(|| format!("the {what} should be a date or a unix time, but is {}", show(field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_ends_of_lines_are_no_part_of_them() {
        let mut reader: &[u8] = b"\xef\xbb\xbfa\r\n\n \r\nb\nc";
        let mut seen = Vec::new();
        let work = |number, line: &[u8]| {
            seen.push((number, line.to_vec()));
            Ok(())
        };
        Lines::new(Path::new("x"), &mut reader).each(work).unwrap();
        assert_eq!(seen, [(1, b"a".to_vec()), (4, b"b".to_vec()), (5, b"c".to_vec())]);
        let mut reader: &[u8] = b"a\nb\n";
        let error = Lines::new(Path::new("x"), &mut reader).each(|number, _| match number {
            2 => Err("no".into()),
            _ => Ok(()),
        });
        assert_eq!(error.unwrap_err().to_string(), "x:2: no");
    }

    #[test]
    fn lines_have_their_number_of_fields() {
        assert_eq!(fields::<3>(b"1::a:b::", "::").unwrap(), [&b"1"[..], b"a:b", b""]);
        let error = fields::<2>(b"1,2,3", ",").unwrap_err();
        assert_eq!(error, "has 3 fields, but should have 2: \"1,2,3\"");
        assert!(id(b"1.5", "user").unwrap_err().contains("the user should be a whole number"));
        assert!(number(b"nan", "rating").is_err());
        assert_eq!(moment(b"2005-09-06", "date"), Ok(1_125_964_800));
    }
}
