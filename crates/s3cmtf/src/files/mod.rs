//! The only place that opens files: tables in, models in and out. The formats are in `docs/format.md`.

mod atomic;
mod folder;
mod lines;
mod model_file;
mod number;
mod source;
mod table;

pub use atomic::write_atomically;
pub use folder::{check_out, load, save};
pub use table::{line_of, read_coordinates, read_entries, with_line};
