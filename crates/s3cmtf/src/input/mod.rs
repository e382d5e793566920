//! From tables, in files or in memory, to a problem: what the command and Python have in common.

mod attributes;
mod couple;
mod given;
mod later;
mod note;
mod tensor;

pub use couple::{Couple, SideMatrix};
pub use given::Given;
pub use later::{Cells, Later, known_cells, known_entries};
pub use note::Note;
pub use tensor::{Input, plain_names, whole_problem};
