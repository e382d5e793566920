//! What a file is, by its content and its name.

use std::path::Path;
use std::str::FromStr;

use super::guess::RECENT;
use super::lines::{data_lines, tokens};
use super::number::{is_infinite, parse_integer, parse_number};
use crate::table::did_you_mean;

/// What a table is stored as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Numbers separated by white space, the indices first, with comments.
    Tns,
    /// Text with commas, tabs, semicolons, pipes or `::` between fields.
    Csv,
    /// Matrix Market.
    MatrixMarket,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's file format, which is also Feather's.
    Arrow,
    /// NumPy's `.npz` and `.npy`.
    Numpy,
}

/// As many lines as decide between the two kinds of text.
const LINES: usize = 20;

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] =
        [Format::Tns, Format::Csv, Format::MatrixMarket, Format::Parquet, Format::Arrow, Format::Numpy];

    /// The name it has everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tns => "tns",
            Format::Csv => "csv",
            Format::MatrixMarket => "mtx",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Numpy => "npz",
        }
    }

    /// The format of a file that starts with `head`, unpacked; `whole` says that it also ends there.
    pub(super) fn detect(head: &[u8], whole: bool, path: &Path) -> Self {
        const MAGIC: [(&[u8], Format); 6] = [
            (b"PAR1", Format::Parquet),
            (b"ARROW1", Format::Arrow),
            // A stream of Arrow, which has no other mark.
            (b"\xff\xff\xff\xff", Format::Arrow),
            (b"%%MatrixMarket", Format::MatrixMarket),
            (b"PK\x03\x04", Format::Numpy),
            (b"\x93NUMPY", Format::Numpy),
        ];
        if let Some((_, format)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
            return *format;
        }
        let ending = ending(path);
        // Its reader says best what is wrong with it.
        if ending == "tns" {
            return Format::Tns;
        }
        // The last line may be cut off, and half a number or half a word says little.
        let end = if whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(0) };
        let mut lines = data_lines(&head[..end]).take(LINES).peekable();
        if lines.peek().is_none() {
            return Format::Csv;
        }
        let lines: Vec<&[u8]> = lines.map(|(_, line)| line).collect();
        // One that is infinite is named by its reader.
        let is_number = |token: &[u8]| parse_number(token).is_some() || is_infinite(token);
        let numbers = lines.iter().all(|line| tokens(line).all(is_number));
        // Numbers between tabs, and one number per line, are either; but nobody wants points in time to be predicted.
        let is_table =
            matches!(ending.as_str(), "csv" | "tsv" | "tab") || lines.iter().all(|line| ends_in_time(line));
        if numbers && !is_table { Format::Tns } else { Format::Csv }
    }
}

/// Whether a line is one of a log such as that of MovieLens 100K: numbers between tabs, of which the last is a recent unix time.
fn ends_in_time(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.trim_ascii().split(|&byte| byte == b'\t').collect();
    let is_time = |field: &&[u8]| parse_integer(field).is_some_and(|time| RECENT.contains(&time));
    fields.len() >= 3 && fields.last().is_some_and(is_time)
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = || Format::ALL.map(Format::name).join(", ");
        let format = Format::ALL.into_iter().find(|format| format.name() == name);
        let hint = || did_you_mean(Format::ALL.map(Format::name), name);
        format.ok_or_else(|| format!("\"{name}\" is not one of {}{}", names(), hint()))
    }
}

/// The ending of a file's name in lower case, without that of a packed one: `csv` for `a.CSV.gz`.
pub(super) fn ending(path: &Path) -> String {
    let lower = |path: &Path| path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match lower(path).as_str() {
        "gz" | "zst" | "zstd" => lower(Path::new(path.file_stem().unwrap_or_default())),
        ending => ending.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let error = "xlsx".parse::<Format>().unwrap_err();
        assert_eq!(error, "\"xlsx\" is not one of tns, csv, mtx, parquet, arrow, npz");
        let error = "paquet".parse::<Format>().unwrap_err();
        assert!(error.ends_with("npz, did you mean \"parquet\"?"), "{error}");
    }

    #[test]
    fn content_decides_and_the_name_where_it_does_not() {
        for (head, name, format) in [
            ("PAR1....", "a.csv", Format::Parquet),
            ("ARROW1\0\0", "a", Format::Arrow),
            ("%%MatrixMarket matrix coordinate real general\n", "a.tns", Format::MatrixMarket),
            ("PK\u{3}\u{4}", "a.npz", Format::Numpy),
            ("# c\n1 2 3.5\n", "a", Format::Tns),
            ("1 2 3.5\n", "a.dat", Format::Tns),
            ("1\t2\t3.5\n", "a.txt", Format::Tns),
            ("1\t2\t3.5\n", "a.tsv", Format::Csv),
            ("1\t2\t3.5\n", "a.TSV.gz", Format::Csv),
            ("1,2,3.5\n", "a.tns", Format::Tns),
            ("1,2,3.5\n", "a", Format::Csv),
            ("1::2::5::978300760\n", "ratings.dat", Format::Csv),
            ("user item\n1 2\n", "a.txt", Format::Csv),
            ("196\t242\t3\t881250949\n186\t302\t3\t891717742\n", "u.data", Format::Csv),
            ("196\t242\t3\t881250949\n186\t302\t3\t5\n", "u.data", Format::Tns),
            ("196\t242\t3\t881250949\n", "u.tns", Format::Tns),
            ("", "a.tns.zst", Format::Tns),
            ("", "a.csv", Format::Csv),
        ] {
            assert_eq!(Format::detect(head.as_bytes(), true, Path::new(name)), format, "{head:?} {name}");
        }
        assert_eq!(Format::detect(b"\x93NUMPY\x01", true, Path::new("a")), Format::Numpy);
        assert_eq!(Format::detect(b"\xff\xff\xff\xff\x10\0", true, Path::new("a")), Format::Arrow);
        assert_eq!(Format::detect(b"1 2 3\n4 5 -", false, Path::new("a")), Format::Tns);
    }
}
