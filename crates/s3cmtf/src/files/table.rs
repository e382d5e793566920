//! Tables of entries: `.tns` text.

use std::path::Path;

use super::limits::{Held, MOST_MODES};
use super::lines::{BadLine, Columns, Layout, count_columns, data_lines, wrong_count};
use super::source::Text;
use crate::{Cells, Entries, Error};

/// What to do about pairs without a value, as errors say it; whoever shows them may put its own words there.
pub const COUNT_PAIRS: &str = "format csv and modes 1,2 count such pairs";

/// Reads the entries of a tensor or a matrix: on each line the indices, counted from 1, and a value.
///
/// Without an `order` the first line decides how many indices there are. The file may be packed with gzip.
/// The entries are named by the path.
///
/// # Errors
/// If the file cannot be read or has no entries, or at the first line that is not `order` indices and a finite
/// value.
pub fn read_entries(path: &Path, order: Option<usize>) -> Result<Entries, Error> {
    read(path, |first| {
        let found = count_columns(first);
        match order {
            Some(order) if found.checked_sub(1) != Some(order) => {
                let expected = format!("{} columns ({order} indices and a value)", order.saturating_add(1));
                Err(wrong_count(&expected, first))
            }
            None if found == 2 => {
                let what = wrong_count("at least 3 columns (2 indices and a value)", first);
                Err(format!("{what} ({COUNT_PAIRS})"))
            }
            None if found < 3 => Err(wrong_count("at least 3 columns (2 indices and a value)", first)),
            _ if found - 1 > MOST_MODES => {
                Err(format!("{} indices, but a tensor has at most {MOST_MODES} modes", found - 1))
            }
            _ => Ok(Layout { indices: found - 1, columns: found, value: true }),
        }
    })
}

/// Reads cells without their values: on each line `order` indices, counted from 1; a column behind them is ignored.
///
/// The file may be packed with gzip. The cells are named by the path.
///
/// # Errors
/// If the file cannot be read or has no cells, or at the first line that is not `order` indices, or that has
/// another number of columns than the first one.
pub fn read_coordinates(path: &Path, order: usize) -> Result<Cells, Error> {
    let read = read(path, |first| {
        let columns = count_columns(first);
        if columns != order && columns != order.saturating_add(1) {
            let expected = format!("{order} columns ({order} indices), or one more (a value)");
            return Err(wrong_count(&expected, first));
        }
        Ok(Layout { indices: order, columns, value: false })
    })?;
    Ok(read.into())
}

/// Reads a table; `decide` makes a layout of the first line of data, or says what is wrong with it.
fn read(path: &Path, decide: impl Fn(&[u8]) -> Result<Layout, String>) -> Result<Entries, Error> {
    let bad = |line, what| Error::Line { path: path.to_path_buf(), line, what };
    let (mut text, mut lines, mut columns) = (Text::open(path)?, 0, Columns::default());
    let (mut layout, held) = (None, Held::new(path));
    while let Some(block) = text.next_block()? {
        if layout.is_none() {
            // Before anything is parsed, which reserves an array per index.
            if let Some((line, first)) = data_lines(block).next() {
                layout = Some(decide(first).map_err(|what| bad(lines + line, what))?);
            }
        }
        lines += match layout {
            Some(layout) => {
                columns.parse(block, layout).map_err(|BadLine { line, what }| bad(lines + line, what))?
            }
            None => block.iter().filter(|&&byte| byte == b'\n').count() as u64,
        };
        held.check(columns.bytes())?;
    }
    let Some(layout) = layout else {
        return Err(Error::file(path, "has no entries: nothing but blank lines and comments"));
    };
    if !layout.value {
        columns.values = vec![0.0; columns.ids.first().map_or(0, Vec::len)];
    }
    // The parser has checked each number, so a second look at all of them would be for nothing.
    Ok(Entries::from_rows(path.display().to_string(), columns.ids, columns.values))
}

/// The line of a file, counted from 1, on which an entry, counted from 0, stands; `None` if it has fewer entries.
///
/// # Errors
/// If the file cannot be read.
pub fn line_of(path: &Path, entry: usize) -> Result<Option<u64>, Error> {
    let (mut text, mut lines, mut left) = (Text::open(path)?, 0, entry);
    while let Some(block) = text.next_block()? {
        if let Some((line, _)) = data_lines(block).nth(left) {
            return Ok(Some(lines + line));
        }
        left -= data_lines(block).count();
        lines += block.iter().filter(|&&byte| byte == b'\n').count() as u64;
    }
    Ok(None)
}

/// Turns an error about an entry of a file into one that names the line; any other error stays as it is.
///
/// Entries do not remember their lines, which would cost memory in every run for the sake of the few that fail;
/// the file is read once more instead.
#[must_use]
pub fn with_line(error: Error) -> Error {
    let Error::Entry { table, entry, what } = error else { return error };
    let path = Path::new(&table);
    // Only a plain file can be read twice.
    if path.is_file()
        && let Ok(Some(line)) = line_of(path, entry)
    {
        return Error::Line { path: path.to_path_buf(), line, what };
    }
    Error::Entry { table, entry, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;
    use std::path::PathBuf;

    fn file(folder: &tempfile::TempDir, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = folder.path().join("ratings.tns");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn message(text: impl AsRef<[u8]>, order: Option<usize>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let error = read_entries(&file(&folder, text), order).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    }

    #[test]
    fn white_space_comments_and_marks_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let text = "\u{feff}# user item month value\r\n1\t2  3 4.5\r\n\n  \t\n 4294967295 1 1 -2e-1 # last\n7 8 9 +1";
        let path = file(&folder, text);
        let entries = read_entries(&path, None).unwrap();
        assert_eq!(entries.name(), path.display().to_string());
        assert_eq!(entries.indices(0), [0, u32::MAX - 1, 6]);
        assert_eq!(entries.indices(1), [1, 0, 7]);
        assert_eq!(entries.indices(2), [2, 0, 8]);
        assert_eq!(entries.values(), [4.5, -0.2, 1.0]);
        assert_eq!(read_entries(&path, Some(3)).unwrap(), entries);
    }

    #[test]
    fn gzip_is_known_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = [packed("1 2 3\n4 "), packed("5 6\n")].concat();
        let entries = read_entries(&file(&folder, &bytes), None).unwrap();
        assert_eq!((entries.indices(0), entries.values()), ([0, 3].as_slice(), [3.0, 6.0].as_slice()));
        for end in 2..bytes.len() {
            let error = read_entries(&file(&folder, &bytes[..end]), None);
            assert!(matches!(error, Err(Error::File { .. })) || end == packed("1 2 3\n4 ").len(), "{end}");
        }
        assert!(message(&bytes[..20], None).contains("is a gzip file, but broken or cut off"));
    }

    #[test]
    fn messages_name_the_line_the_value_and_what_would_be_right() {
        let first = "# header\n1 1 1 1\n";
        for (line, what) in [
            ("1 2 3", "expected 4 columns (3 indices and a value), found 3"),
            ("1 2 3 4 5", "expected 4 columns (3 indices and a value), found 5"),
            (
                "1 0 3 4",
                "index 0 in column 2: indices count from 1 (the format csv takes ids as they are, from 0 or not)",
            ),
            ("x7 2 3 4", "\"x7\" in column 1 is not an index (a whole number from 1 to 4294967295)"),
            ("-7 2 3 4", "\"-7\" in column 1 is not an index (a whole number from 1 to 4294967295)"),
            (
                "1 2 4294967296 4",
                "\"4294967296\" in column 3 is not an index (a whole number from 1 to 4294967295)",
            ),
            ("1 2 3 nan", "\"nan\" in column 4 is not a finite number"),
            ("1 2 3 -inf", "\"-inf\" in column 4 is not a finite number"),
            ("1 2 3 1e39", "\"1e39\" in column 4 is not a finite number of 32 bits (at most 3.4e38)"),
            ("1 2 3 four", "\"four\" in column 4 is not a number"),
        ] {
            let text = format!("{first}{line}\n0 0 0 0\n");
            assert_eq!(message(&text, None), format!("ratings.tns:3: {what}"));
        }
        assert_eq!(
            message("1,2,3,4\n", None),
            "ratings.tns:1: expected at least 3 columns (2 indices and a value), found 1 \
             (columns are separated by white space, not by commas)"
        );
        assert_eq!(
            message("\n1 2 3 4\n", Some(2)),
            "ratings.tns:2: expected 3 columns (2 indices and a value), found 4"
        );
        assert_eq!(
            message(b"\xff\xfe 2 3\n", None),
            "ratings.tns:1: \"\u{fffd}\u{fffd}\" in column 1 is not an index (a whole number from 1 to 4294967295)"
        );
    }

    #[test]
    fn files_that_cannot_be_read_say_why() {
        for text in ["", "\n\n", "# nothing\n  # at all"] {
            assert_eq!(
                message(text, None),
                "ratings.tns: has no entries: nothing but blank lines and comments"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let missing = read_entries(&folder.path().join("none"), None).unwrap_err();
        assert!(
            matches!(&missing, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
        );
        let directory = read_entries(folder.path(), None).unwrap_err().to_string();
        assert!(directory.ends_with("is a folder, but a file of entries is needed"), "{directory}");
    }

    #[test]
    fn coordinates_come_with_or_without_a_column_that_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let cells = read_coordinates(&file(&folder, "1 2\n3 4\n"), 2).unwrap();
        assert_eq!(cells.indices(1), [1, 3]);
        let name = cells.name().to_owned();
        assert_eq!(read_coordinates(&file(&folder, "1 2 ?\n3 4 nan\n"), 2).unwrap().named(name), cells);
        for (text, what) in [
            ("1 2\n3 4 5\n", ":2: expected 2 columns (2 indices), found 3"),
            ("1 2 3\n3 4\n", ":2: expected 3 columns (2 indices and a value), found 2"),
            ("1\n", ":1: expected 2 columns (2 indices), or one more (a value), found 1"),
            (
                "1 2\n3 0\n",
                ":2: index 0 in column 2: indices count from 1 (the format csv takes ids as they are, from 0 or not)",
            ),
        ] {
            let error = read_coordinates(&file(&folder, text), 2).unwrap_err().to_string();
            assert!(error.ends_with(what), "{error}");
        }
    }

    #[test]
    fn an_error_about_an_entry_finds_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "# a\n1 1 1\n\n2 2 2\n3 9 3\n");
        assert_eq!(line_of(&path, 1).unwrap(), Some(4));
        assert_eq!(line_of(&path, 3).unwrap(), None);
        let entries = read_entries(&path, None).unwrap();
        let error = crate::Problem::builder(entries).sizes(vec![3, 3]).build().unwrap_err();
        let error = with_line(error).to_string();
        assert!(
            error.ends_with("ratings.tns:5: index 9 of mode 2 (mode2) is beyond its declared size 3"),
            "{error}"
        );
        let other = Error::Entry { table: "no such file".into(), entry: 0, what: String::new() };
        assert!(matches!(with_line(other), Error::Entry { .. }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_is_read(
            entries in prop::collection::vec((1..=u32::MAX, 1u32..50, prop::num::f32::NORMAL | prop::num::f32::ZERO), 1..50),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let text: String = entries.iter().map(|(i, j, value)| format!("{i} {j} {value}\n")).collect();
            let read = read_entries(&file(&folder, text), None).unwrap();
            for (place, &(i, j, value)) in entries.iter().enumerate() {
                prop_assert_eq!((read.indices(0)[place], read.indices(1)[place]), (i - 1, j - 1));
                prop_assert_eq!(read.values()[place].to_bits(), value.to_bits());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let folder = tempfile::tempdir().unwrap();
            let path = file(&folder, bytes);
            let _ = (read_entries(&path, None), read_coordinates(&path, 2), line_of(&path, 3));
        }
    }
}
