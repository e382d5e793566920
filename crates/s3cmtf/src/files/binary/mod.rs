//! Tables in formats that are not lines of text: Parquet, Arrow, NumPy; and Matrix Market, whose columns are known too.

mod column;
mod literal;
pub(super) mod matrix_market;
mod npy;
pub(super) mod numpy;

#[cfg(feature = "arrow")]
mod arrays;
#[cfg(feature = "arrow")]
pub(super) mod arrow_ipc;
#[cfg(feature = "arrow")]
mod guard;
#[cfg(feature = "arrow")]
mod pages;
#[cfg(feature = "arrow")]
pub(super) mod parquet;

/// Stands in for the readers of a build without them.
#[cfg(not(feature = "arrow"))]
pub(super) mod parquet {
    pub(in crate::files) use super::{head_without_arrow as head, without_arrow as read};
}
#[cfg(not(feature = "arrow"))]
pub(super) mod arrow_ipc {
    pub(in crate::files) use super::{head_without_arrow as head, without_arrow as read};
}

use std::path::Path;

#[cfg(feature = "arrow")]
pub(super) use arrays::Growing;
pub use column::Raw;
pub(super) use column::{Fault, missing_in_any, settle, settle_with};
#[cfg(feature = "arrow")]
pub(super) use guard::guarded;

use super::format::Format;
use crate::Error;
use crate::table::{Empty, Table, Want};

/// The wanted columns of a file, in the order in which they are wanted.
///
/// # Errors
/// If the file cannot be read, has no such columns, or has values that cannot be read as what is wanted.
pub(super) fn read_rows(
    path: &Path,
    format: Format,
    wants: &[Want],
    empty: Empty,
) -> Result<(Table, Vec<usize>), Error> {
    match format {
        Format::MatrixMarket => matrix_market::read(path, wants, empty),
        Format::Parquet => parquet::read(path, wants, empty),
        Format::Arrow => arrow_ipc::read(path, wants, empty),
        Format::Numpy => numpy::read(path, wants, empty),
        Format::Tns | Format::Csv => Err(Error::file(path, "is text, which has a reader of its own")),
    }
}

/// The table alone, in which no value may be missing.
#[cfg(test)]
pub(super) fn read(path: &Path, format: Format, wants: &[Want]) -> Result<Table, Error> {
    read_rows(path, format, wants, Empty::Refuse).map(|(table, _)| table)
}

/// A column by its heading, with its first values; without any where these cannot be read.
pub(super) type Head = (String, Option<Raw>);

/// The rows that are enough to see what columns hold.
const HEAD: usize = 100;

/// All columns of a file, as its first rows have them, more than enough of these or none.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn head(path: &Path, format: Format) -> Result<Vec<Head>, Error> {
    match format {
        Format::MatrixMarket => Ok(matrix_market::head()),
        Format::Parquet => parquet::head(path),
        Format::Arrow => arrow_ipc::head(path),
        Format::Numpy => numpy::head(path),
        Format::Tns | Format::Csv => Err(Error::file(path, "is text, which has a reader of its own")),
    }
}

#[cfg(not(feature = "arrow"))]
pub(super) fn without_arrow(path: &Path, _: &[Want], _: Empty) -> Result<(Table, Vec<usize>), Error> {
    Err(Error::file(path, WITHOUT_ARROW))
}

#[cfg(not(feature = "arrow"))]
pub(super) fn head_without_arrow(path: &Path) -> Result<Vec<Head>, Error> {
    Err(Error::file(path, WITHOUT_ARROW))
}

/// What a build without the feature says.
#[cfg(not(feature = "arrow"))]
const WITHOUT_ARROW: &str = "is a Parquet or Arrow file, for which this s3cmtf was not built: build it \
                                        with `--features arrow`, or convert the file to csv";

#[cfg(test)]
mod tests;
