//! From tables, in files or in memory, to a problem: what the command and Python have in common.

mod attributes;
mod couple;
mod matrices;
mod new_data;
mod note;
mod source;
mod tensor;

pub use couple::{Couple, SideMatrix};
pub use new_data::{Cells, NewData, known_cells, known_entries};
pub use note::Note;
pub use source::TableSource;
pub use tensor::{Input, plain_names, whole_problem};
