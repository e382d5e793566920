//! From text to columns of numbers: the parser behind every table.

use super::number::{BadIndex, LARGEST_INDEX, parse_id, parse_value};
use crate::parallel;

/// Text is parsed in pieces of about this size: small enough to keep all threads busy to the end of a file.
const PIECE: usize = 1 << 20;

/// What a line of data consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// How many indices it starts with.
    pub(super) indices: usize,
    /// How many columns it has.
    pub(super) columns: usize,
    /// Whether the column behind the indices is a value; other columns are not looked at.
    pub(super) value: bool,
}

/// A line that cannot be used.
#[derive(Debug)]
pub(super) struct BadLine {
    /// The line, counted from 1.
    pub(super) line: u64,
    /// What was found and what would be right.
    pub(super) what: String,
}

/// The numbers of a text: 0-based ids per mode, and values (none where the layout has none).
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) ids: Vec<Vec<u32>>,
    pub(super) values: Vec<f32>,
}

/// The columns of the line that a text starts with, up to its end or its comment. What they have not passed yet
/// is the rest of the text, so the parser goes over it once.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() && *byte != b'\n';
        let start = self.0.iter().position(|byte| !is_blank(byte))?;
        let rest = &self.0[start..];
        let end = rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'#');
        let (token, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.0 = rest;
        (!token.is_empty()).then_some(token)
    }
}

impl<'a> Tokens<'a> {
    /// The text behind the end of the line.
    fn next_line(self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == b'\n');
        end.map_or(&[], |end| &self.0[end + 1..])
    }
}

/// The lines of data with their numbers, counted from 1.
pub(super) fn data_lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    (1..).zip(text.split(|&byte| byte == b'\n')).filter(|(_, line)| count_columns(line) > 0)
}

/// The columns of a line.
pub(super) fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    Tokens(line)
}

/// The number of columns of a line; 0 for a blank line or a comment.
pub(super) fn count_columns(line: &[u8]) -> usize {
    Tokens(line).count()
}

impl Columns {
    pub(super) fn bytes(&self) -> u64 {
        let numbers = self.ids.iter().map(Vec::len).sum::<usize>() + self.values.len();
        4 * numbers as u64
    }

    /// Appends all lines of a text, in order, and returns how many line ends it has; of several bad lines the first is
    /// reported.
    pub(super) fn parse(&mut self, text: &[u8], layout: Layout) -> Result<u64, BadLine> {
        self.parse_pieces(text, layout, PIECE)
    }

    fn parse_pieces(&mut self, text: &[u8], layout: Layout, size: usize) -> Result<u64, BadLine> {
        // All pieces are finished even when one is bad: a parallel stop at the first error found would report
        // whichever line a thread came upon first.
        let pieces = parallel::map_of(split(text, size), |piece| parse_piece(piece, layout));
        let mut before = 0;
        self.ids.resize(layout.indices, Vec::new());
        for piece in pieces {
            if let Some(bad) = piece.bad {
                return Err(BadLine { line: before + bad.line, what: bad.what });
            }
            before += piece.lines;
            self.ids.iter_mut().zip(&piece.columns.ids).for_each(|(ids, part)| ids.extend_from_slice(part));
            self.values.extend_from_slice(&piece.columns.values);
        }
        Ok(before)
    }
}

/// Cuts a text behind line ends into pieces of about `size` bytes.
fn split(mut text: &[u8], size: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while text.len() > size {
        let Some(end) = text[size..].iter().position(|&byte| byte == b'\n') else { break };
        let (piece, rest) = text.split_at(size + end + 1);
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

struct Piece {
    columns: Columns,
    /// How many line ends it has.
    lines: u64,
    bad: Option<BadLine>,
}

fn parse_piece(text: &[u8], layout: Layout) -> Piece {
    let columns = Columns { ids: vec![Vec::new(); layout.indices], values: Vec::new() };
    let mut piece = Piece { columns, lines: 0, bad: None };
    let mut rest = text;
    while !rest.is_empty() {
        piece.lines += 1;
        let mut tokens = Tokens(rest);
        if parse_line(&mut tokens, layout, &mut piece.columns).is_none() {
            piece.bad = Some(BadLine { line: piece.lines, what: explain(rest, layout) });
            break;
        }
        rest = tokens.next_line();
    }
    piece
}

/// Appends the numbers of a line, if it has any; `None` says that it is bad, and [`explain`] says why.
fn parse_line(tokens: &mut Tokens, layout: Layout, columns: &mut Columns) -> Option<()> {
    let mut token = tokens.next();
    if token.is_none() {
        return Some(());
    }
    for ids in &mut columns.ids {
        ids.push(parse_id(token?).ok()?);
        token = tokens.next();
    }
    let mut others = layout.columns - layout.indices;
    if layout.value {
        columns.values.push(parse_value(token?).filter(|value| value.is_finite())?);
        token = tokens.next();
        others -= 1;
    }
    for _ in 0..others {
        token?;
        token = tokens.next();
    }
    token.is_none().then_some(())
}

/// What is wrong with the bad line that a text starts with, and what would be right.
fn explain(text: &[u8], layout: Layout) -> String {
    let found = count_columns(text);
    if found != layout.columns {
        let what = match layout.columns - layout.indices {
            0 => format!("{} indices", layout.indices),
            _ => format!("{} indices and a value", layout.indices),
        };
        return wrong_count(&format!("{} columns ({what})", layout.columns), text);
    }
    for (number, token) in (1..=layout.indices).zip(Tokens(text)) {
        let shown = show(token);
        match parse_id(token) {
            Ok(_) => {}
            Err(BadIndex::Zero) => {
                return format!(
                    "index 0 in column {number}: indices count from 1 (the format csv takes ids as they are, from 0 or not)"
                );
            }
            Err(BadIndex::NotAnIndex) => {
                return format!(
                    "{shown} in column {number} is not an index (a whole number from 1 to {LARGEST_INDEX})"
                );
            }
        }
    }
    let token = Tokens(text).nth(layout.indices).unwrap_or_default();
    let what = match parse_value(token) {
        Some(value) if value.is_infinite() && token.iter().any(u8::is_ascii_digit) => {
            "not a finite number of 32 bits (at most 3.4e38)"
        }
        Some(_) => "not a finite number",
        None => "not a number",
    };
    format!("{} in column {} is {what}", show(token), layout.indices + 1)
}

/// Says that a line has another number of columns than `expected`.
pub(super) fn wrong_count(expected: &str, line: &[u8]) -> String {
    let commas = Tokens(line).any(|token| token.contains(&b','));
    let hint = if commas { " (columns are separated by white space, not by commas)" } else { "" };
    format!("expected {expected}, found {}{hint}", count_columns(line))
}

/// A token in quotes, shortened, and with something visible for what cannot be shown.
pub(super) fn show(token: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&token[..token.len().min(4 * LONGEST)]);
    let shown: String = text.chars().take(LONGEST).collect();
    let dots = if shown.len() < text.len() || token.len() > 4 * LONGEST { "..." } else { "" };
    // Control characters of a binary file would otherwise reach the terminal.
    let visible: String =
        shown.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    format!("\"{visible}{dots}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: Layout = Layout { indices: 2, columns: 3, value: true };

    #[test]
    fn pieces_of_any_size_give_the_same_numbers_and_the_same_bad_line() {
        let text: String = (1..200).map(|i| format!("{i} {}\t{}.5\r\n", 2 * i, i)).collect();
        let parse = |text: &str, size: usize| {
            let mut columns = Columns::default();
            columns.parse_pieces(text.as_bytes(), MATRIX, size).map(|lines| (lines, columns))
        };
        let (lines, whole) = parse(&text, PIECE).unwrap();
        assert_eq!(lines, 199);
        assert_eq!(whole.ids[1][198], 397);
        let bad = text.replace("\n100 ", "\nx ").replace("\n150 ", "\n0 ");
        for size in [1, 7, 64, 1000, 100_000] {
            let (_, pieces) = parse(&text, size).unwrap();
            assert_eq!((&pieces.ids, &pieces.values), (&whole.ids, &whole.values));
            assert_eq!(parse(&bad, size).unwrap_err().line, 100);
        }
    }

    #[test]
    fn what_is_shown_is_short_and_visible() {
        assert_eq!(show(b"a\xff\x07"), "\"a\u{fffd}\u{fffd}\"");
        assert_eq!(show(&[b'9'; 1000]), format!("\"{}...\"", "9".repeat(40)));
        assert_eq!(show(&[b'9'; 40]), format!("\"{}\"", "9".repeat(40)));
    }
}
