//! What is noticed on the way to a problem.

use std::fmt;

use crate::Problem;
use crate::prepare::Recipe;

/// Something that whoever gave the data may want to know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// Nothing was said about the columns of the tensor, and these were taken.
    Taken(Recipe),
    /// A table of cells has no column for a mode of times.
    Average {
        /// The table.
        table: String,
        /// The mode.
        mode: String,
    },
    /// Rows that were left out, because a value is empty that is needed.
    Skipped {
        /// The table.
        table: String,
        /// How many they are.
        count: usize,
        /// How many rows the table has.
        of: usize,
        /// Where the first of them is.
        first: String,
    },
    /// What the columns of a table of attributes were taken for.
    Attributes {
        /// The table.
        table: String,
        /// The mode that it is about.
        mode: String,
        /// What its columns were taken for.
        taken: Vec<String>,
        /// The columns that were left out, and why.
        left_out: Vec<(String, &'static str)>,
    },
    /// Of a matrix whose cells are all alike, those that are not there are taken for zeros, not for unknown.
    Zeros {
        /// The matrix's table.
        table: String,
    },
    /// Lists that nobody has taken apart.
    Lists {
        /// The matrix's table.
        table: String,
        /// Its column.
        column: String,
    },
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
    /// All values of the tensor are the same.
    Constant {
        /// What the values are called; none where rows were counted.
        name: Option<String>,
        /// What all of them are.
        value: f32,
    },
}

impl Note {
    /// That all values of a problem are the same, if they are, so that a model has nothing to tell cells apart by.
    pub fn constant(problem: &Problem) -> Option<Note> {
        let (&value, rest) = problem.entries().values().split_first()?;
        let is_constant = !rest.is_empty() && rest.iter().all(|&other| other == value);
        is_constant.then(|| Note::Constant { name: problem.value().map(str::to_owned), value })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Taken(recipe) => {
                let modes: Vec<String> = recipe.modes.iter().map(ToString::to_string).collect();
                write!(f, "inferred: modes {}", modes.join(","))?;
                recipe.value.as_ref().map_or(Ok(()), |value| write!(f, ", value {value}"))
            }
            Note::Average { table, mode } => {
                write!(f, "{table}: has no column {mode}; predictions are for the average {mode}")
            }
            Note::Skipped { table, count, of, first } => write!(
                f,
                "{table}: {count} of {of} rows have an empty cell and are left out, the first is {first}"
            ),
            Note::Attributes { table, mode, taken, left_out } => {
                write!(f, "{table}: attributes of {mode}: {}", taken.join("; "))?;
                let left: Vec<String> =
                    left_out.iter().map(|(name, why)| format!("{name} ({why})")).collect();
                if left.is_empty() { Ok(()) } else { write!(f, "; left out: {}", left.join(", ")) }
            }
            Note::Zeros { table } => write!(
                f,
                "{table}: its cells are all alike, so absent cells are taken as zeros: as missing ones they would carry no information"
            ),
            Note::Lists { table, column } => {
                write!(f, "{table}: column {column} looks like lists: split=| splits them")
            }
            Note::Added { table, count, mode } => write!(
                f,
                "{table}: {count} {mode} ids have no entry in the tensor; they are kept, known from this table alone"
            ),
            Note::Absent { table, count, of, mode } => {
                write!(f, "{count} of {of} {mode} ids do not occur in {table}")
            }
            Note::Constant { name, value } => {
                match name {
                    Some(name) => write!(
                        f,
                        "every value of {name} is {value}, so that a model of values predicts {value} everywhere"
                    )?,
                    None => write!(
                        f,
                        "every value is {value}, so that a model of values predicts {value} everywhere"
                    )?,
                }
                match value {
                    // What people have who know what was chosen, and nothing else.
                    1.0 => f.write_str(
                        ": there are no negative examples; with absent zeros, what was not chosen is one, or give counts or \
                         amounts as values",
                    ),
                    _ => f.write_str(": there is nothing to learn from them"),
                }
            }
        }
    }
}
