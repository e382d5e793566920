//! The first records of a text, cut by a separator.

use super::Separator;
use super::cursor::{Cursor, Next, Stop};
use super::encoding::decode;
use crate::files::limits::MOST_COLUMNS;

/// As many records as decide.
const RECORDS: usize = 100;

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
        // One more than are read says that there are too many.
        if row.len() <= MOST_COLUMNS {
            row.push(decode(cursor.field()?).into_owned());
        } else {
            cursor.skip()?;
        }
        if cursor.pass() == Next::Record {
            return Ok(row);
        }
    }
}
