//! What is found out from the first lines of a file: the separator, and whether they are headings.

use std::path::Path;

use super::Separator;
use super::cursor::{Cursor, Next, Stop};
use super::encoding::decode;
use crate::Error;
use crate::files::source::Text;
use crate::table::{Selector, Want};

/// As many records as decide.
const RECORDS: usize = 100;
/// The bytes that are looked at first, and at most where records are very long.
const HEAD: usize = 1 << 16;
const LONGEST_HEAD: usize = 1 << 24;

/// The first records of a text.
pub(super) struct Sample {
    pub(super) rows: Vec<Vec<String>>,
    /// A record with wrong quotes follows.
    pub(super) broken: bool,
    /// How many bytes the records take.
    pub(super) bytes: usize,
}

/// The first records of a text; the last is left out if it may go on, which `whole` denies.
pub(super) fn sample(text: &[u8], whole: bool, separator: Separator) -> Sample {
    let mut cursor = Cursor::new(text, separator);
    let mut sample = Sample { rows: Vec::new(), broken: false, bytes: 0 };
    while sample.rows.len() < RECORDS && cursor.next_record() {
        match record(&mut cursor) {
            Ok(_) if !whole && cursor.at == text.len() && !text.ends_with(b"\n") => break,
            Ok(row) => sample.rows.push(row),
            Err(stop) => {
                sample.broken = whole || stop != Stop::Open;
                break;
            }
        }
        sample.bytes = cursor.at;
    }
    sample
}

fn record(cursor: &mut Cursor) -> Result<Vec<String>, Stop> {
    let mut row = Vec::new();
    loop {
        row.push(decode(cursor.field()?).into_owned());
        if cursor.pass() == Next::Record {
            return Ok(row);
        }
    }
}

/// Whether fields differ from each other and from all below them, as names do and data seldom.
fn look_like_headings(first: &[String], rows: &[Vec<String>]) -> bool {
    let apart = |(place, field): (usize, &String)| {
        !field.is_empty()
            && !first[..place].contains(field)
            && !rows.iter().any(|row| row.get(place) == Some(field))
    };
    !rows.is_empty() && first.iter().enumerate().all(apart)
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
            if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
                return Err(Error::file(path, "is text in UTF-16, but UTF-8 is needed"));
            }
            let separator = if blanks { Separator::Blanks } else { Separator::detect(head, whole, path) };
            let sample = sample(head, whole, separator);
            if whole || sample.broken || sample.rows.len() >= 2 || size >= LONGEST_HEAD {
                break (separator, sample);
            }
            size *= 4;
        };
        let Some(first) = sample.rows.first() else {
            let (head, _) = text.peek(size)?;
            let blank = |line: &&[u8]| line.iter().all(u8::is_ascii_whitespace);
            let line = head.split(|&byte| byte == b'\n').take_while(blank).count() as u64 + 1;
            let what = "the quotes of the first record are wrong: one that opens a field must be closed, and a \
                        separator must follow; a quote within quotes is written twice";
            let bad = Error::Line { path: path.to_path_buf(), line, what: what.to_owned() };
            return if sample.broken || size >= LONGEST_HEAD { Err(bad) } else { Ok(None) };
        };
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
        Ok(Some(Opening { separator, has_header, headings, rows: sample.rows, record_bytes }))
    }
}
