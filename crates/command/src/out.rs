//! What a verb writes: a table's format, and that it is nothing that is read.

use std::path::{Path, PathBuf};

use s3cmtf::internal::files::{self, OutFormat};

use crate::couple::CoupleArg;
use crate::failure::usage;

/// Refuses to write over what is read: the files of a tensor, of matrices, and others.
pub(crate) fn check_apart(
    out: &Path,
    tensor: &[PathBuf],
    couple: &[CoupleArg],
    other: Option<&Path>,
) -> anyhow::Result<()> {
    let tensor = tensor.iter().map(PathBuf::as_path);
    let read = tensor.chain(couple.iter().map(CoupleArg::file)).chain(other);
    Ok(files::check_apart(out, read)?)
}

/// The format of a table that is to be written to this file, seen before anything is worked out.
///
/// # Errors
/// If the file could not be written, or its ending is that of something else.
pub(crate) fn format(path: &Path) -> anyhow::Result<OutFormat> {
    files::check_file(path)?;
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match (OutFormat::from_path(path), ending.as_deref()) {
        (Some(format @ (OutFormat::Csv | OutFormat::Parquet)), _) => Ok(format),
        (None, None | Some("txt")) => Ok(OutFormat::Csv),
        (_, ending) => {
            let ending = ending.unwrap_or_default();
            Err(usage(format!("--out: the table is csv or parquet, by its ending, but not {ending}")))
        }
    }
}
