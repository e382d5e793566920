//! A file of rows into two, each row as it stands.

use std::io::{self, Write};
use std::path::Path;

use super::atomic::write_atomically;
use super::delimited::{Opening, each_record};
use super::read::{Opened, Source, open};
use super::source::is_read_once;
use crate::Error;

/// The number of rows of text files, which may be packed; `None` if one of them is not text, or has other columns or
/// another separator than the first, so that their rows cannot be copied into one file.
///
/// # Errors
/// If a file cannot be read, or is standard input or a pipe, which could not be read again.
pub fn count_text_rows(source: &Source) -> Result<Option<usize>, Error> {
    let mut rows = 0;
    let is_text = each_row(source, |_, heading| {
        rows += usize::from(!heading);
        Ok(())
    })?;
    Ok(is_text.then_some(rows))
}

/// Writes the rows of text files, see [`count_text_rows`], into two others: those that are `held`, and the rest. They are
/// copied byte by byte, below the same headings if there are any; what is packed is unpacked.
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

/// Does something with each row, and with the headings of the first file; false if the files are not text of one form.
fn each_row(source: &Source, mut work: impl FnMut(&[u8], bool) -> Result<(), Error>) -> Result<bool, Error> {
    let mut first: Option<Opening> = None;
    for path in &source.paths {
        if is_read_once(path) {
            return Err(Error::file(path, "is standard input or a pipe, which cannot be read twice"));
        }
        let earlier = first.as_ref().map(|first| first.headings.as_slice());
        let (text, opening) = match open(source, path, &[], earlier)? {
            Opened::Binary(_) => return Ok(false),
            Opened::Text(_, None) => continue,
            Opened::Text(text, Some(opening)) => (text, opening),
        };
        if first.as_ref().is_some_and(|first| !alike(first, &opening)) {
            return Ok(false);
        }
        let mut heading = opening.has_header;
        let repeated = first.is_some();
        each_record(*text, path, &opening, |record| match std::mem::take(&mut heading) {
            true if repeated => Ok(()),
            heading => work(record, heading),
        })?;
        first.get_or_insert(opening);
    }
    if first.is_some() { Ok(true) } else { Err(source.no_rows()) }
}

/// Whether rows of one file can stand among those of the other.
fn alike(first: &Opening, next: &Opening) -> bool {
    let width = next.rows.first().map_or(next.headings.len(), Vec::len);
    first.separator == next.separator && first.headings == next.headings && width == first.headings.len()
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
    fn several_files_are_one_if_their_columns_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let mut paths = vec![write("a.csv", "user,stars\na,1\nb,2\n"), write("b.csv", "user,stars\nc,3\n")];
        paths.push(write("c.csv", "d,4"));
        let mut source = Source { paths, format: None, header: None, empty: crate::table::Empty::Refuse };
        assert_eq!(count_text_rows(&source).unwrap(), Some(4));
        let [rest, held] = ["rest", "held"].map(|name| folder.path().join(name));
        divide_text(&source, &[false, true, true, false], &rest, &held).unwrap();
        assert_eq!(fs::read_to_string(rest).unwrap(), "user,stars\na,1\nd,4\n");
        assert_eq!(fs::read_to_string(held).unwrap(), "user,stars\nb,2\nc,3\n");
        for other in ["stars,user\n5,e\n", "user;stars\ne;5\n", "e,5,x\n"] {
            source.paths[2] = write("c.csv", other);
            assert_eq!(count_text_rows(&source).unwrap(), None, "{other}");
        }
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
