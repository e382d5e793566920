//! The only place that opens files: tables in, problems and models in and out. The formats are in `docs/format.md`.

mod apart;
mod atomic;
mod binary;
mod checkpoint;
mod choose;
mod delimited;
mod divide;
mod export;
mod folder;
mod format;
mod frame;
mod guess;
mod import;
mod kept;
mod limits;
mod lines;
mod model_file;
mod number;
mod owned;
mod pieces;
mod problem_file;
mod read;
mod seal;
mod similar;
mod source;
mod stored;
mod table;
mod temporary;

pub use apart::check_apart;
pub use atomic::{check_file, make_folder, write_atomically};
pub use binary::Raw;
pub use checkpoint::{load_checkpoint, save_checkpoint};
pub use divide::{count_text_rows, divide_text};
pub use export::{OutFormat, export_model, write_csv, write_csv_parts, write_parts, write_table};
pub use folder::{check_out, is_own_data, load, load_data, save, save_with};
pub use format::Format;
pub use frame::{Fetch, Frame};
pub use import::{Coupling, Dataset, Imported, import};
pub use kept::KeptData;
pub use limits::{RAISE_MEMORY, limit_memory};
pub use problem_file::{is_problem, load_problem, open_problem, save_problem};
pub use read::{
    SampledColumn, Source, columns, format, is_numbered, kinds, line_of_row, read_rows, read_table,
    with_row_line,
};
pub use similar::similar;
pub use stored::scratch;
pub use table::{COUNT_PAIRS, line_of, read_coordinates, read_entries, with_line};
