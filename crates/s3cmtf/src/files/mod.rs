//! The only place that opens files: tables in, models in and out. The formats are in `docs/format.md`.

mod fingerprint;
mod lines;
mod number;
mod source;
mod table;

pub use fingerprint::fingerprint;
pub use table::{line_of, read_coordinates, read_entries, with_line};
