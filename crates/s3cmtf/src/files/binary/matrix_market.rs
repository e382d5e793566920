//! Coordinate files of the Matrix Market: a heading that says what they hold, a line of sizes, a line per entry.

use std::path::Path;

use super::Head;
use super::column::{self, Raw};
use crate::Error;
use crate::files::choose::choose;
use crate::files::limits::Held;
use crate::files::source::Text;
use crate::parallel;
use crate::table::{Empty, Table, Want};

const BANNER: &str = "%%MatrixMarket";
/// Text is parsed in pieces of about this size.
const PIECE: usize = 1 << 20;

/// What the heading says of the entries.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Heading {
    /// Whether entries have no value, which then is 1.
    pattern: bool,
    /// What an entry says of the one across the diagonal: its value times this.
    mirror: Option<f64>,
}

#[derive(Clone, Copy)]
struct Sizes {
    rows: i64,
    columns: i64,
    entries: u64,
}

#[derive(Default)]
struct Entries {
    rows: Vec<i64>,
    columns: Vec<i64>,
    values: Vec<f64>,
    /// How many were in the file, mirrored ones not counted.
    count: u64,
}

/// A line that cannot be used, counted from 1 in its piece, and why.
type BadLine = (u64, String);

const NAMES: [&str; 3] = ["row", "column", "value"];

/// The columns, which are the same in all files.
pub(in crate::files) fn head() -> Vec<Head> {
    let none = [Raw::Signed(Vec::new()), Raw::Signed(Vec::new()), Raw::Numbers(Vec::new())];
    NAMES.into_iter().zip(none).map(|(name, raw)| (name.to_owned(), Some(raw))).collect()
}

/// Reads the wanted ones of the columns `row`, `column` and `value`.
pub(in crate::files) fn read(
    path: &Path,
    wants: &[Want],
    empty: Empty,
) -> Result<(Table, Vec<usize>), Error> {
    let bad = |line, what| Error::Line { path: path.to_path_buf(), line, what };
    let mut text = Text::open(path)?;
    let (mut entries, held) = (Entries::default(), Held::new(path));
    let (mut heading, mut sizes, mut line) = (None, None, 0);
    while let Some(mut block) = text.next_block()? {
        while sizes.is_none() && !block.is_empty() {
            let end = block.iter().position(|&byte| byte == b'\n').map_or(block.len(), |end| end + 1);
            let (first, rest) = block.split_at(end);
            block = rest;
            line += 1;
            let first = String::from_utf8_lossy(first);
            if heading.is_none() {
                heading = Some(read_heading(&first).map_err(|what| bad(line, what))?);
            } else if !first.starts_with('%') && !first.trim().is_empty() {
                sizes = Some(read_sizes(&first).map_err(|what| bad(line, what))?);
            }
        }
        if let (Some(heading), Some(sizes)) = (heading, sizes) {
            for piece in parse(block, heading, sizes) {
                match piece {
                    Ok((part, lines)) => {
                        line += lines;
                        entries.append(part);
                        held.check(24 * entries.rows.len() as u64)?;
                    }
                    Err((at, what)) => return Err(bad(line + at, what)),
                }
            }
        }
    }
    let Some(sizes) = sizes else {
        return Err(Error::file(
            path,
            format!("is cut off or no Matrix Market file, which starts with {BANNER}"),
        ));
    };
    if entries.count != sizes.entries {
        return Err(Error::file(
            path,
            format!("should have {} entries, but has {}: is it cut off?", sizes.entries, entries.count),
        ));
    }
    let names = NAMES.map(str::to_owned);
    let places = choose(path, &names, wants)?;
    let distinct = column::distinct(&places);
    let Entries { rows, columns, values, .. } = entries;
    let mut raw = [Some(Raw::Signed(rows)), Some(Raw::Signed(columns)), Some(Raw::Numbers(values))];
    let raw = distinct.iter().filter_map(|&place| raw[place].take()).collect();
    column::table(path, &names, (wants, empty), &places, &distinct, raw)
}

fn read_heading(line: &str) -> Result<Heading, String> {
    let words: Vec<String> = line.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [banner, "matrix", format, field, symmetry] = words[..] else {
        return Err(format!("expected a heading such as \"{BANNER} matrix coordinate real general\""));
    };
    if banner != BANNER.to_ascii_lowercase() {
        return Err(format!("expected {BANNER} at the start of the file"));
    }
    if format != "coordinate" {
        return Err(format!("{format:?} is not a format that is read: only \"coordinate\" is"));
    }
    let pattern = match field {
        "real" | "double" | "integer" => false,
        "pattern" => true,
        _ => return Err(format!("{field:?} values are not read: only real, integer and pattern are")),
    };
    let mirror = match symmetry {
        "general" => None,
        "symmetric" => Some(1.0),
        "skew-symmetric" if !pattern => Some(-1.0),
        _ => {
            return Err(format!(
                "{symmetry:?} {field} matrices are not read: only general, symmetric and skew-symmetric ones are"
            ));
        }
    };
    Ok(Heading { pattern, mirror })
}

fn read_sizes(line: &str) -> Result<Sizes, String> {
    let expected = || "expected three sizes: rows, columns and entries".to_owned();
    let numbers: Option<Vec<i64>> =
        line.split_ascii_whitespace().map(|word| word.parse().ok().filter(|&size| size >= 0)).collect();
    match numbers.ok_or_else(expected)?[..] {
        [rows, columns, entries] => Ok(Sizes { rows, columns, entries: entries.cast_unsigned() }),
        _ => Err(expected()),
    }
}

impl Entries {
    fn append(&mut self, next: Entries) {
        self.rows.extend(next.rows);
        self.columns.extend(next.columns);
        self.values.extend(next.values);
        self.count += next.count;
    }
}

/// The entries and the number of lines of each piece, in order.
fn parse(block: &[u8], heading: Heading, sizes: Sizes) -> Vec<Result<(Entries, u64), BadLine>> {
    let mut pieces = Vec::new();
    let mut rest = block;
    while !rest.is_empty() {
        let end =
            rest.iter().skip(PIECE).position(|&byte| byte == b'\n').map_or(rest.len(), |end| PIECE + end + 1);
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    parallel::map_of(pieces, |piece| parse_piece(piece, heading, sizes))
}

fn parse_piece(piece: &[u8], heading: Heading, sizes: Sizes) -> Result<(Entries, u64), BadLine> {
    let mut entries = Entries::default();
    let mut lines = 0;
    for line in piece.split_inclusive(|&byte| byte == b'\n') {
        lines += 1;
        let bad = |what: String| (lines, what);
        let line = std::str::from_utf8(line).map_err(|_| bad("is not text".into()))?.trim_ascii();
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        let mut index = |what: &str, size: i64| {
            let word = words.next().unwrap_or_default();
            word.parse()
                .ok()
                .filter(|index| (1..=size).contains(index))
                .ok_or_else(|| bad(format!("{:?} is not a {what} from 1 to {size}", shortened(word))))
        };
        let (row, column) = (index("row", sizes.rows)?, index("column", sizes.columns)?);
        let value = if heading.pattern {
            1.0
        } else {
            let word = words.next().unwrap_or_default();
            let value = word.parse().ok().filter(|value: &f64| value.is_finite());
            value.ok_or_else(|| bad(format!("{:?} is not a finite number", shortened(word))))?
        };
        if words.next().is_some() {
            return Err(bad(format!("expected {} numbers", if heading.pattern { 2 } else { 3 })));
        }
        entries.push(row, column, value);
        entries.count += 1;
        if let Some(sign) = heading.mirror.filter(|_| row != column) {
            entries.push(column, row, sign * value);
        }
    }
    Ok((entries, lines))
}

impl Entries {
    fn push(&mut self, row: i64, column: i64, value: f64) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }
}

fn shortened(word: &str) -> String {
    word.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ColumnType, Data, Selector};

    fn wants() -> Vec<Want> {
        let want = |name: &str, kind| Want { column: Selector::Name(name.into()), kind };
        vec![want("row", ColumnType::Id), want("column", ColumnType::Id), want("value", ColumnType::Number)]
    }

    fn try_read(text: &str) -> Result<Vec<Data>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.mtx");
        std::fs::write(&path, text).unwrap();
        let (table, _) = read(&path, &wants(), Empty::Refuse).map_err(|error| {
            error.to_string().rsplit_once("m.mtx").map_or(String::new(), |(_, what)| what.to_owned())
        })?;
        Ok(table.columns.into_iter().map(|column| column.data).collect())
    }

    fn data(rows: &[i64], columns: &[i64], values: &[f64]) -> Vec<Data> {
        vec![Data::Integers(rows.to_vec()), Data::Integers(columns.to_vec()), Data::Numbers(values.to_vec())]
    }

    #[test]
    fn entries_of_each_kind_of_matrix() {
        let general = "%%MatrixMarket matrix coordinate real general\n% why\n\n2 3 2\n1 3 -1.5e1\n2 1 4\n";
        assert_eq!(try_read(general).unwrap(), data(&[1, 2], &[3, 1], &[-15.0, 4.0]));
        let symmetric = "%%matrixmarket MATRIX coordinate integer symmetric\r\n3 3 2\r\n2 2 7\r\n3 1 4\r\n";
        assert_eq!(try_read(symmetric).unwrap(), data(&[2, 3, 1], &[2, 1, 3], &[7.0, 4.0, 4.0]));
        let skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4";
        assert_eq!(try_read(skew).unwrap(), data(&[2, 1], &[1, 2], &[4.0, -4.0]));
        let pattern = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n";
        assert_eq!(try_read(pattern).unwrap(), data(&[2], &[1], &[1.0]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let head = "%%MatrixMarket matrix coordinate real general\n2 3 2\n";
        for (text, said) in [
            (format!("{head}1 3 1\n"), ": should have 2 entries, but has 1: is it cut off?"),
            (format!("{head}1 3 1\n3 1 1\n"), ":4: \"3\" is not a row from 1 to 2"),
            (format!("{head}1 0 1\n"), ":3: \"0\" is not a column from 1 to 3"),
            (format!("{head}1 1 inf\n"), ":3: \"inf\" is not a finite number"),
            (format!("{head}1 1\n"), ":3: \"\" is not a finite number"),
            (format!("{head}1 1 1 1\n"), ":3: expected 3 numbers"),
            (
                "1 2 3\n".into(),
                ":1: expected a heading such as \"%%MatrixMarket matrix coordinate real general\"",
            ),
            (
                "%%MatrixMarket matrix array real general\n".into(),
                ":1: \"array\" is not a format that is read: only \"coordinate\" is",
            ),
            ("".into(), ": is cut off or no Matrix Market file, which starts with %%MatrixMarket"),
        ] {
            assert_eq!(try_read(&text).unwrap_err(), said, "{text}");
        }
        let huge = "%%MatrixMarket matrix coordinate real general\n9 9 9223372036854775807\n";
        assert!(try_read(huge).unwrap_err().contains("but has 0"));
    }

    #[test]
    fn a_packed_file_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.mtx.gz");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let text = b"%%MatrixMarket matrix coordinate pattern symmetric\n9 9 1\n9 2\n";
        std::io::Write::write_all(&mut packed, text).unwrap();
        std::fs::write(&path, packed.finish().unwrap()).unwrap();
        let (table, _) = read(&path, &wants(), Empty::Refuse).unwrap();
        let found: Vec<Data> = table.columns.into_iter().map(|column| column.data).collect();
        assert_eq!(found, data(&[9, 2], &[2, 9], &[1.0, 1.0]));
    }
}
