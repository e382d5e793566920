//! From a file to columns, block by block: each block is cut into pieces, which are parsed at the same time.

use std::path::Path;

use memchr::{memchr, memchr_iter, memchr2_iter};

use super::cursor::{Cursor, Next, Stop};
use super::opening::Opening;
use super::piece::{Piece, Plan, Take, parse, unclosed};
use crate::Error;
use crate::files::limits::{self, Held, LONGEST_LINE};
use crate::files::lines::BadLine;
use crate::files::source::Text;
use crate::parallel;
use crate::table::{Data, Empty};

/// Small enough to keep all threads busy to the end of a block, and to stay in their caches.
const PIECE: usize = 1 << 20;

/// How many rows were read, and which records were left out, counted from 0.
pub(in crate::files) struct Read {
    pub(in crate::files) rows: usize,
    pub(in crate::files) skipped: Vec<usize>,
}

/// Puts the columns at these places of a file behind `columns`.
pub(in crate::files) fn read(
    text: Text,
    path: &Path,
    opening: &Opening,
    (takes, empty): (&[Take], Empty),
    columns: &mut [Data],
) -> Result<Read, Error> {
    read_pieces(text, path, opening, (takes, empty), columns, PIECE)
}

fn read_pieces(
    mut text: Text,
    path: &Path,
    opening: &Opening,
    (takes, empty): (&[Take], Empty),
    columns: &mut [Data],
    size: usize,
) -> Result<Read, Error> {
    let plan = Plan::new(opening, takes, empty);
    let read = Read { rows: 0, skipped: Vec::new() };
    let mut reader = Reader { path, plan, size, read, lines: 0, kept: 0, header: opening.has_header };
    let held = Held::new(path);
    while let Some(result) = text.work_on_block(|block| reader.block(block, columns))? {
        result?;
        held.check(limits::bytes(columns))?;
        text.keep(reader.kept);
    }
    Ok(reader.read)
}

/// How far the reading of a file has come.
struct Reader<'a> {
    path: &'a Path,
    plan: Plan<'a>,
    /// Of a piece.
    size: usize,
    read: Read,
    /// The line ends before the next block.
    lines: u64,
    /// How many bytes at the end of the last block belong to a record that goes on in the next.
    kept: usize,
    /// Headings are still to come.
    header: bool,
}

impl Reader<'_> {
    fn block(&mut self, block: &[u8], columns: &mut [Data]) -> Result<(), Error> {
        if self.kept > 0 && (block.len() == self.kept || self.kept > LONGEST_LINE) {
            return Err(self.bad(BadLine { line: 1, what: unclosed(block, &self.plan) }));
        }
        let mut start = 0;
        if self.header {
            let mut cursor = Cursor::new(block, self.plan.opening.separator);
            if !(cursor.next_record() && skip_record(&mut cursor)) {
                self.kept = block.len();
                return Ok(());
            }
            start = cursor.at;
            self.header = false;
            self.lines += count_lines(&block[..start]);
        }
        self.kept = 0;
        let mut parts: Vec<Vec<Data>> = columns.iter().map(|_| Vec::new()).collect();
        for piece in parse_block(&block[start..], &self.plan, self.size) {
            if let Some(fault) = piece.bad {
                return Err(self.bad(fault));
            }
            let before = self.read.rows + self.read.skipped.len();
            self.read.skipped.extend(piece.skipped.iter().map(|record| before + record));
            self.read.rows += piece.rows;
            self.lines += piece.lines;
            self.kept = piece.open.map_or(0, |open| block.len() - start - open);
            parts.iter_mut().zip(piece.columns).for_each(|(parts, part)| parts.push(part));
        }
        parallel::each(columns.iter_mut().zip(parts), |(column, parts)| {
            parts.into_iter().for_each(|part| column.append(part));
        });
        Ok(())
    }

    fn bad(&self, BadLine { line, what }: BadLine) -> Error {
        Error::Line { path: self.path.to_path_buf(), line: self.lines + line, what }
    }
}

/// The pieces of a block, up to the first that is bad. If the last is open, the place is that in the block.
///
/// Where a piece starts is a guess when there are quotes. It holds if the pieces before ended with their last records;
/// if one did not, the rest of the block is parsed again as one.
fn parse_block(block: &[u8], plan: &Plan, size: usize) -> Vec<Piece> {
    let texts = cut(block, size);
    let parsed = parallel::map_of(&texts, |piece| parse(piece, plan));
    let (mut pieces, mut start) = (Vec::new(), 0);
    for (text, mut piece) in texts.iter().zip(parsed) {
        let (bad, open) = (piece.bad.is_some(), piece.open.map(|open| start + open));
        start += text.len();
        match open {
            Some(open) if start < block.len() => {
                pieces.push(piece);
                let mut rest = parse(&block[open..], plan);
                rest.open = rest.open.map(|place| open + place);
                pieces.push(rest);
                break;
            }
            _ => piece.open = open,
        }
        pieces.push(piece);
        if bad {
            break;
        }
    }
    pieces
}

/// Cuts a text behind line ends into pieces of about `size` bytes. Line ends behind an odd number of quotes lie within
/// quotes, unless a field that is not quoted has one.
fn cut(mut text: &[u8], size: usize) -> Vec<&[u8]> {
    let quotes = memchr(b'"', text).is_some();
    let mut pieces = Vec::new();
    while text.len() > size {
        let mut open = quotes && memchr_iter(b'"', &text[..size]).count() % 2 == 1;
        let mut marks = memchr2_iter(b'\n', if quotes { b'"' } else { b'\n' }, &text[size..]);
        let end = marks.find(|&mark| {
            let quote = text[size + mark] == b'"';
            open ^= quote;
            !quote && !open
        });
        let Some(end) = end else { break };
        let (piece, rest) = text.split_at(size + end + 1);
        pieces.push(piece);
        text = rest;
    }
    if !text.is_empty() {
        pieces.push(text);
    }
    pieces
}

fn count_lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// Goes over a record; false if it goes on behind the text.
fn skip_record(cursor: &mut Cursor) -> bool {
    loop {
        match cursor.skip() {
            Err(Stop::Open) => return false,
            // Rows are looked for in files that could be read, which have no such record.
            Err(Stop::Behind) => return true,
            Ok(()) if cursor.pass() == Next::Record => return true,
            Ok(()) => {}
        }
    }
}

/// Where a row, counted from 0, stands: its line, counted from 1, or how many rows there are if there are fewer.
pub(in crate::files) fn find_row(
    mut text: Text,
    opening: &Opening,
    row: usize,
) -> Result<Result<u64, usize>, Error> {
    let before = usize::from(opening.has_header);
    let (mut lines, mut kept, mut passed) = (0, 0, 0);
    while let Some(block) = text.next_block()? {
        if kept == block.len() {
            break;
        }
        kept = 0;
        let mut cursor = Cursor::new(block, opening.separator);
        while cursor.next_record() {
            let start = cursor.at;
            if passed == row.saturating_add(before) {
                return Ok(Ok(lines + count_lines(&block[..start]) + 1));
            }
            if !skip_record(&mut cursor) {
                kept = block.len() - start;
                break;
            }
            passed += 1;
        }
        lines += count_lines(&block[..block.len() - kept]);
        text.keep(kept);
    }
    Ok(Err(passed.saturating_sub(before)))
}

#[cfg(test)]
mod tests;
