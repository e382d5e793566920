//! What is found out from the first lines of a file: the separator, and whether they are headings.

use std::collections::HashSet;
use std::path::Path;

use super::Separator;
use super::detect::separator_of;
use super::sample::sample;
use crate::Error;
use crate::files::limits::MOST_COLUMNS;
use crate::files::source::Text;
use crate::table::{Selector, Want};

/// The bytes that are looked at first, and at most where records are very long.
const HEAD: usize = 1 << 16;
const LONGEST_HEAD: usize = 1 << 24;

/// Whether fields differ from each other and from all below them, as names do and data seldom.
fn look_like_headings(first: &[String], rows: &[Vec<String>]) -> bool {
    let distinct: HashSet<&String> = first.iter().collect();
    let apart = |(place, field): (usize, &String)| {
        !field.is_empty() && !rows.iter().any(|row| row.get(place) == Some(field))
    };
    !rows.is_empty() && distinct.len() == first.len() && first.iter().enumerate().all(apart)
}

/// The line on which a text has its first record, counted from 1.
fn first_line(head: &[u8]) -> u64 {
    let blank = |line: &&[u8]| line.iter().all(u8::is_ascii_whitespace);
    head.split(|&byte| byte == b'\n').take_while(blank).count() as u64 + 1
}

/// Says that a record with wrong quotes starts on a line.
pub(in crate::files) fn wrong_quotes(path: &Path, line: u64) -> Error {
    let what = "the quotes of this record are wrong: one that opens a field must be closed, and a separator must \
                follow; a quote within quotes is written twice";
    Error::Line { path: path.to_path_buf(), line, what: what.to_owned() }
}

/// What no table of text starts with, and what to do about it.
fn no_text(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Some("is text in UTF-16, but UTF-8 is needed");
    }
    if matches!(head, [0x80, 2..=5, ..]) {
        return Some(
            "is a pickle of Python, which is not read: it may run anything; save it there as .csv, .parquet or .npz",
        );
    }
    memchr::memchr(0, head).map(
        |_| "is no text: it has bytes of value 0, and is no file of Parquet, Arrow, NumPy or s3cmtf either",
    )
}

/// How a file starts.
pub(in crate::files) struct Opening {
    pub(in crate::files) separator: Separator,
    /// Its first record holds headings.
    pub(in crate::files) has_header: bool,
    /// One per column; its number where it has none.
    pub(in crate::files) headings: Vec<String>,
    /// The first records of data.
    pub(in crate::files) rows: Vec<Vec<String>>,
    /// The mean length of a record.
    pub(super) record_bytes: usize,
    /// The line of the second record, if its quotes are wrong: then nothing is known of the columns.
    pub(in crate::files) broken: Option<u64>,
}

impl Opening {
    /// Whether it is a file of numbers between white space.
    pub(in crate::files) fn is_tns(&self) -> bool {
        self.separator == Separator::Blanks
    }

    /// What the start of a file says; `None` if there is nothing but blank lines.
    ///
    /// A first record is a header if `header` says so. If it says nothing: if none of its fields is a number, and it
    /// has the headings of an `earlier` file, one that is wanted, or a number below it; where nothing is wanted yet, also
    /// if it looks like headings.
    pub(in crate::files) fn read(
        text: &mut Text,
        path: &Path,
        blanks: bool,
        header: Option<bool>,
        wants: &[Want],
        earlier: Option<&[String]>,
    ) -> Result<Option<Self>, Error> {
        let mut size = HEAD;
        let (separator, mut sample) = loop {
            let (head, whole) = text.peek(size)?;
            if let Some(what) = no_text(head) {
                return Err(Error::file(path, what));
            }
            let separator = if blanks { Separator::Blanks } else { separator_of(head, whole, path) };
            let sample = sample(head, whole, separator);
            if whole || sample.broken || sample.rows.len() >= 2 || size >= LONGEST_HEAD {
                break (separator, sample);
            }
            size *= 4;
        };
        let Some(first) = sample.rows.first() else {
            let bad = wrong_quotes(path, first_line(text.peek(size)?.0));
            return if sample.broken || size >= LONGEST_HEAD { Err(bad) } else { Ok(None) };
        };
        let broken = if sample.broken && sample.rows.len() == 1 {
            let (head, _) = text.peek(size)?;
            Some(memchr::memchr_iter(b'\n', &head[..sample.bytes]).count() as u64 + 1)
        } else {
            None
        };
        if first.len() > MOST_COLUMNS {
            let what = format!(
                "more than {MOST_COLUMNS} fields separated by {}: a table has at most so many columns",
                separator.name()
            );
            return Err(Error::Line { path: path.to_path_buf(), line: first_line(text.peek(size)?.0), what });
        }
        let record_bytes = (sample.bytes / sample.rows.len()).max(1);
        let is_number = |field: &String| separator.number(field.as_bytes()).is_some();
        let is_wanted =
            |field: &String| wants.iter().any(|want| want.column == Selector::Name(field.clone()));
        let has_header = !blanks
            && header.unwrap_or_else(|| {
                !first.iter().any(is_number)
                    && (earlier == Some(first.as_slice())
                        || first.iter().any(is_wanted)
                        || wants.is_empty() && look_like_headings(first, &sample.rows[1..])
                        || sample.rows.get(1).is_some_and(|second| second.iter().any(is_number)))
            });
        let number = |place: usize| (place + 1).to_string();
        let headings = if has_header {
            let names = sample.rows.remove(0).into_iter().enumerate();
            names.map(|(place, name)| if name.is_empty() { number(place) } else { name }).collect()
        } else {
            match earlier {
                Some(headings) => headings.to_vec(),
                None => (0..first.len()).map(number).collect(),
            }
        };
        Ok(Some(Opening { separator, has_header, headings, rows: sample.rows, record_bytes, broken }))
    }
}
