//! Which files a table is, and whether it is one of numbered ids alone.

use std::path::{Path, PathBuf};

use s3cmtf::Error;
use s3cmtf::files::{self, Format, Source};
use s3cmtf::table::Want;

use crate::args::FileArgs;
use crate::failure::usage;

/// The files that were typed, of which each may be a pattern, as one source.
pub(crate) fn of(paths: &[PathBuf], file: &FileArgs) -> anyhow::Result<Source> {
    let mut source = Source { paths: Vec::new(), format: file.format, header: file.header };
    for path in paths {
        source.paths.extend(Source::new(path)?.paths);
    }
    // The verbs that take a whole problem have done so already.
    for path in &source.paths {
        if files::is_problem(path)? {
            return Err(usage(format!(
                "{}: is a whole problem, but a table is needed here: give that which it was made of",
                path.display()
            )));
        }
    }
    Ok(source)
}

/// The source of one path.
pub(crate) fn of_one(path: &Path, file: &FileArgs) -> anyhow::Result<Source> {
    of(&[path.to_path_buf()], file)
}

/// Whether a source is one file of indices that count from 1, which needs no words about its columns.
pub(crate) fn is_numbered(source: &Source) -> anyhow::Result<bool> {
    Ok(source.paths.len() == 1 && files::format(source)? == Format::Tns)
}

/// Turns an error about a row of a source into one that names its file and line.
pub(crate) fn with_line(error: Error, source: &Source, wants: &[Want]) -> anyhow::Error {
    let Error::Entry { table, entry, what } = error else { return error.into() };
    match files::line_of_row(source, wants, entry) {
        Ok(Some((path, line))) => Error::Line { path, line, what }.into(),
        _ => Error::Entry { table, entry, what }.into(),
    }
}
