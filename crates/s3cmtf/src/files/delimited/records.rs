//! Records as they stand in a file, to be copied.

use std::path::Path;

use super::cursor::{Cursor, Next, Stop};
use super::opening::Opening;
use crate::Error;
use crate::files::source::Text;

/// Does something with the bytes of each record, in order, the headings among them; blank lines and comments between
/// records are left out.
pub(in crate::files) fn each_record(
    mut text: Text,
    path: &Path,
    opening: &Opening,
    mut work: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut lines, mut kept) = (0, 0);
    while let Some(block) = text.next_block()? {
        let line_at = |start: usize| lines + memchr::memchr_iter(b'\n', &block[..start]).count() as u64 + 1;
        let bad = |start: usize, what: &str| {
            Err(Error::Line { path: path.to_path_buf(), line: line_at(start), what: what.to_owned() })
        };
        if kept > 0 && kept == block.len() {
            return bad(0, "a quote is opened here and not closed");
        }
        kept = 0;
        let mut cursor = Cursor::new(block, opening.separator);
        while cursor.next_record() {
            let start = cursor.at;
            match skip(&mut cursor) {
                Ok(()) => work(&block[start..cursor.at])?,
                Err(Stop::Open) => {
                    kept = block.len() - start;
                    break;
                }
                Err(Stop::Behind) => return bad(start, "a field goes on behind its closing quote"),
            }
        }
        lines = line_at(block.len() - kept) - 1;
        text.keep(kept);
    }
    Ok(())
}

fn skip(cursor: &mut Cursor) -> Result<(), Stop> {
    loop {
        cursor.skip()?;
        if cursor.pass() == Next::Record {
            return Ok(());
        }
    }
}
