//! Which files a table is, and whether it is one of numbered ids alone.

use std::path::{Path, PathBuf};

use s3cmtf::internal::files::{self, Source};
use s3cmtf::internal::input::TableSource;
use s3cmtf::internal::table::Empty;

use crate::args::FileArgs;

/// The table that was typed.
pub(crate) fn given(paths: &[PathBuf], file: &FileArgs) -> TableSource {
    let empty = if file.skip_empty { Empty::Skip } else { Empty::Refuse };
    TableSource::Files { paths: paths.to_vec(), format: file.format, header: file.header, empty }
}

/// The files that were typed, of which each may be a pattern, as one source.
pub(crate) fn open(paths: &[PathBuf], file: &FileArgs) -> anyhow::Result<Source> {
    Ok(given(paths, file).source()?)
}

/// The source of one path.
pub(crate) fn of_one(path: &Path, file: &FileArgs) -> anyhow::Result<Source> {
    open(&[path.to_path_buf()], file)
}

/// Whether a source is one file of indices that count from 1, which needs no words about its columns.
pub(crate) fn is_numbered(source: &Source) -> anyhow::Result<bool> {
    Ok(files::is_numbered(source)?)
}
