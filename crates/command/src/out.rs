//! The format of a table that a verb writes.

use std::path::Path;

use s3cmtf::files::{self, OutFormat};

use crate::failure::usage;

/// The format of a table that is to be written to this file, seen before anything is worked out.
///
/// # Errors
/// If the file could not be written, or its ending is that of something else.
pub(crate) fn format(path: &Path) -> anyhow::Result<OutFormat> {
    files::check_file(path)?;
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match (OutFormat::of(path), ending.as_deref()) {
        (Some(format @ (OutFormat::Csv | OutFormat::Parquet)), _) => Ok(format),
        (None, None | Some("txt")) => Ok(OutFormat::Csv),
        (_, ending) => {
            let ending = ending.unwrap_or_default();
            Err(usage(format!("--out: the table is csv or parquet, by its ending, but not {ending}")))
        }
    }
}
