//! What is noticed on the way to a problem.

use std::fmt;

use crate::prepare::Recipe;

/// Something that whoever gave the data may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// Nothing was said about the columns of the tensor, and these were taken.
    Taken(Recipe),
    /// Entities that only a matrix has.
    Added {
        /// The matrix's table.
        table: String,
        /// How many they are.
        count: usize,
        /// The mode that they are of.
        mode: String,
    },
    /// Entities of the tensor that a matrix does not have.
    Absent {
        /// The matrix's table.
        table: String,
        /// How many they are.
        count: usize,
        /// How many the tensor has.
        of: usize,
        /// The mode that they are of.
        mode: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Taken(recipe) => {
                let modes: Vec<String> = recipe.modes.iter().map(ToString::to_string).collect();
                write!(f, "taken for: modes {}", modes.join(","))?;
                recipe.value.as_ref().map_or(Ok(()), |value| write!(f, ", value {value}"))
            }
            Note::Added { table, count, mode } => write!(
                f,
                "{table}: {count} of {mode} have no entry in the tensor; they are kept, known from it alone"
            ),
            Note::Absent { table, count, of, mode } => {
                write!(f, "{table}: {count} of the tensor's {of} of {mode} are not in it")
            }
        }
    }
}
