//! From tables, in files or in memory, to a problem: what the command and Python have in common.

mod attributes;
pub(crate) mod couple;
mod matrices;
mod new_data;
mod note;
mod source;
pub(crate) mod tensor;

pub use couple::Couple;
pub use new_data::{CellTable, NewData, known_cells, known_entries};
pub use note::Note;
pub use source::TableSource;
pub use tensor::Input;

pub use crate::prepare::{ModeSpec, Recipe};
