//! The only place that opens files: tables in, problems and models in and out. The formats are in `docs/format.md`.

#[cfg(feature = "tables")]
pub(crate) mod apart;
pub(crate) mod atomic;
#[cfg(feature = "tables")]
mod binary;
mod checkpoint;
#[cfg(feature = "tables")]
mod choose;
#[cfg(feature = "tables")]
mod delimited;
#[cfg(feature = "tables")]
pub(crate) mod divide;
#[cfg(feature = "tables")]
pub(crate) mod export;
mod folder;
#[cfg(feature = "tables")]
mod format;
#[cfg(feature = "tables")]
mod frame;
#[cfg(feature = "tables")]
mod guess;
#[cfg(feature = "tables")]
pub(crate) mod import;
mod kept;
#[cfg(feature = "tables")]
pub(crate) mod limits;
#[cfg(feature = "tables")]
mod lines;
mod model_file;
#[cfg(feature = "tables")]
mod number;
mod owned;
mod pieces;
mod problem_file;
#[cfg(feature = "tables")]
pub(crate) mod read;
mod seal;
#[cfg(feature = "tables")]
pub(crate) mod similar;
#[cfg(feature = "tables")]
mod source;
mod stored;
#[cfg(feature = "tables")]
pub(crate) mod table;
mod temporary;

#[cfg(feature = "tables")]
pub use binary::Raw;
pub use checkpoint::{load_checkpoint, save_checkpoint};
#[cfg(feature = "tables")]
pub use export::{OutFormat, export_model};
pub use folder::{check_out, is_own_data, load, load_data, save, save_with};
#[cfg(feature = "tables")]
pub use format::Format;
#[cfg(feature = "tables")]
pub use frame::{Fetch, Frame};
pub use kept::KeptData;
pub use problem_file::{is_problem, load_problem, open_problem, save_problem};
#[cfg(feature = "tables")]
pub(crate) use read::{SampledColumn, Source, columns, is_numbered, line_of_row, read_rows, with_row_line};
pub use stored::scratch;
#[cfg(feature = "tables")]
pub(crate) use table::{read_coordinates, read_entries};
