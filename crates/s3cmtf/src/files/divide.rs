//! A file of rows into two, each row as it stands.

use std::io::{self, Write};
use std::path::Path;

use super::atomic::write_atomically;
use super::delimited::each_record;
use super::read::{Opened, Source, open};
use super::source::is_read_once;
use crate::Error;

/// The number of rows of a text file, which may be packed; `None` if it is not text.
///
/// # Errors
/// If it cannot be read, is not one file, or is standard input, which could not be read again.
pub fn count_text_rows(source: &Source) -> Result<Option<usize>, Error> {
    let mut rows = 0;
    let is_text = each_row(source, |_, heading| {
        rows += usize::from(!heading);
        Ok(())
    })?;
    Ok(is_text.then_some(rows))
}

/// Writes the rows of a text file into two others: those that are `held`, and the rest. They are copied byte by byte,
/// below the same headings if there are any; what is packed is unpacked.
///
/// # Errors
/// If a file cannot be read or written, or has another number of rows than `held`.
pub fn divide_text(source: &Source, held: &[bool], rest_path: &Path, held_path: &Path) -> Result<(), Error> {
    for (path, side) in [(rest_path, false), (held_path, true)] {
        // The reader's errors and the writer's go different ways.
        let mut failed = None;
        write_atomically(path, |writer| {
            let (mut row, mut wrong) = (0, None);
            let read = each_row(source, |record, heading| {
                let wanted = heading || held.get(row) == Some(&side);
                row += usize::from(!heading);
                if wanted && wrong.is_none() {
                    wrong = write_line(writer, record).err();
                }
                Ok(())
            });
            match (wrong, read) {
                (Some(error), _) => return Err(error),
                (None, Err(error)) => failed = Some(error),
                (None, Ok(_)) if row != held.len() => {
                    failed =
                        source.paths.first().map(|path| Error::file(path, "has changed while it was read"));
                }
                _ => return Ok(()),
            }
            Err(io::Error::other("what is to be written cannot be read"))
        })
        .map_err(|error| failed.unwrap_or(error))?;
    }
    Ok(())
}

fn write_line(writer: &mut dyn Write, record: &[u8]) -> io::Result<()> {
    writer.write_all(record)?;
    if record.ends_with(b"\n") { Ok(()) } else { writer.write_all(b"\n") }
}

/// Does something with each row, and with the headings; false if the file is not text.
fn each_row(source: &Source, mut work: impl FnMut(&[u8], bool) -> Result<(), Error>) -> Result<bool, Error> {
    let [path] = &source.paths[..] else {
        let path = source.paths.first().cloned().unwrap_or_default();
        return Err(Error::file(&path, "and others are several files, but one is needed"));
    };
    if is_read_once(path) {
        return Err(Error::file(path, "is standard input or a pipe, which cannot be read twice"));
    }
    match open(source, path, &[], None)? {
        Opened::Binary(_) => Ok(false),
        Opened::Text(_, None) => Err(Error::file(path, "has no rows")),
        Opened::Text(text, Some(opening)) => {
            let mut heading = opening.has_header;
            each_record(*text, path, &opening, |record| work(record, std::mem::take(&mut heading)))?;
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn divided(text: &str, held: &[bool]) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let [path, rest, test] = ["in.csv", "rest.csv", "test.csv"].map(|name| folder.path().join(name));
        fs::write(&path, text).unwrap();
        let source = Source::new(&path).unwrap();
        assert_eq!(count_text_rows(&source).unwrap(), Some(held.len()));
        divide_text(&source, held, &rest, &test).unwrap();
        (fs::read_to_string(rest).unwrap(), fs::read_to_string(test).unwrap())
    }

    #[test]
    fn rows_are_copied_as_they_stand() {
        let text = "user,note,stars\r\na,\"two\nlines, \"\"x\"\"\",4.0\r\n\r\nb,,3\r\nc,z,5";
        let (rest, held) = divided(text, &[true, false, true]);
        assert_eq!(rest, "user,note,stars\r\nb,,3\r\n");
        assert_eq!(held, "user,note,stars\r\na,\"two\nlines, \"\"x\"\"\",4.0\r\nc,z,5\n");
        let (rest, held) = divided("1::2::3.50\n4::5::6\n", &[false, true]);
        assert_eq!((rest.as_str(), held.as_str()), ("1::2::3.50\n", "4::5::6\n"));
    }

    #[test]
    fn broken_files_are_refused_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [path, rest, test] = ["in.csv", "rest.csv", "test.csv"].map(|name| folder.path().join(name));
        let error = |text: &str| {
            fs::write(&path, text).unwrap();
            let source = Source::new(&path).unwrap();
            let error = divide_text(&source, &[true, false], &rest, &test).unwrap_err().to_string();
            assert!(!rest.exists() && !test.exists());
            error
        };
        assert!(error("a,b\n1,2\n3,\"4\n").contains("in.csv:3: a quote is opened here and not closed"));
        assert!(error("a,b\n1,2\n3,\"4\"5\n").contains("in.csv:3: a field goes on behind"));
        assert!(error("a,b\n1,2\n").contains("has changed"));
    }
}
