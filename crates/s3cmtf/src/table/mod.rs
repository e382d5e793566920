//! Tables as people have them: named columns of ids, numbers and times, one row per observation.
//!
//! Whatever a file's format, it becomes a [`Table`] first; what its columns mean for a factorization is said by others.

mod append;
mod bins;
pub(crate) mod empty;
mod labels;
pub(crate) mod nearest;
pub(crate) mod shortened;
pub mod time;

pub use bins::{Binning, Bins};
pub(crate) use empty::{SKIP_EMPTY, is_empty_id, is_empty_value};
pub use labels::Labels;
pub(crate) use nearest::{did_you_mean, did_you_mean_any, nearest};
pub(crate) use shortened::shortened;

/// Columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What errors call it: the path of its file.
    pub name: String,
    /// The columns, in the order in which they were wanted.
    pub columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its heading; `1`, `2` and so on, counted in the file, where it has none.
    pub name: String,
    /// One value per row.
    pub data: Data,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Ids that are whole numbers, written as such numbers are: `7`, never `007` or `+7`.
    Integers(Vec<i64>),
    /// Ids that are texts: for each row the id of its text.
    Texts {
        /// One per row.
        codes: Vec<u32>,
        /// The distinct texts.
        labels: Labels,
    },
    /// Finite numbers.
    Numbers(Vec<f64>),
    /// Points in time, in seconds since 1970 (UTC).
    Times(Vec<i64>),
}

/// Which column of a file is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// By its heading.
    Name(String),
    /// By its place, counted from 0.
    Place(usize),
}

impl Selector {
    /// The column that someone means: a number is its place, counted from 1, and anything else its heading.
    pub fn parse(text: &str) -> Self {
        let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        number.map_or_else(|| Selector::Name(text.to_owned()), Selector::Place)
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Selector::Name(name) => f.write_str(name),
            Selector::Place(place) => write!(f, "{}", place + 1),
        }
    }
}

/// What the values of a column are read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// Ids: [`Data::Integers`] if all of them are whole numbers, otherwise [`Data::Texts`].
    Id,
    /// [`Data::Numbers`].
    Number,
    /// [`Data::Times`].
    Time,
}

/// What becomes of a row in which a wanted value is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Empty {
    /// It is an error.
    #[default]
    Refuse,
    /// The row is left out.
    Skip,
    /// The value is the empty text; only for ids.
    Keep,
}

/// A column that is needed, and what its values are read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// Which one.
    pub column: Selector,
    /// What its values are.
    pub kind: ColumnType,
}

impl Data {
    /// Numbers with the digits that 32 bits have.
    pub fn from_singles(values: &[f32]) -> Self {
        Data::Numbers(values.iter().map(|value| value.to_string().parse().unwrap_or(f64::NAN)).collect())
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Data::Integers(values) | Data::Times(values) => values.len(),
            Data::Texts { codes, .. } => codes.len(),
            Data::Numbers(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
