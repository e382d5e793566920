//! A matrix that shares a mode with the tensor.

use serde::{Deserialize, Serialize};

use super::entries::Entries;
use super::mode::{Mode, Naming};
use super::rows::present_rows;
use crate::Error;
use crate::table::did_you_mean;

/// What an absent cell of a coupled matrix means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Absent {
    /// Absent cells are unknown (the paper's sparse case).
    Missing,
    /// Absent cells are zeros: the matrix is fully observed (movie-genre).
    Zeros,
    /// Rows and columns are the same entities (friends); connected rows are pulled together.
    Graph,
}

impl Absent {
    /// All of them.
    pub const ALL: [Absent; 3] = [Absent::Missing, Absent::Zeros, Absent::Graph];

    /// The kind of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Absent::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let hint = did_you_mean(Absent::ALL.map(Absent::name), name);
            Error::Request(format!(
                "absent cells should be missing, zeros or a graph, but are {name:?}{hint}"
            ))
        })
    }

    /// The kind's name in the command, in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Absent::Missing => "missing",
            Absent::Zeros => "zeros",
            Absent::Graph => "graph",
        }
    }
}

/// A matrix whose rows are the entities of one mode of the tensor.
#[derive(Clone, Debug)]
pub struct Coupled {
    pub(super) name: String,
    pub(super) mode: usize,
    pub(super) kind: Absent,
    pub(super) weight: Option<f32>,
    pub(super) columns: Mode,
    pub(super) entries: Entries,
}

impl Coupled {
    /// A matrix coupled to a mode (counted from 0): `entries` have the mode's id, then the column's id.
    ///
    /// # Errors
    /// If `entries` are not those of a matrix, or are none; or, for a graph, if a weight is negative.
    pub fn new(mode: usize, kind: Absent, entries: Entries) -> Result<Self, Error> {
        if entries.order() != 2 {
            return Err(Error::Problem(format!(
                "{}: a coupled matrix has 2 indices per entry, but this has {}",
                entries.name(),
                entries.order()
            )));
        }
        if entries.is_empty() {
            return Err(Error::Problem(format!(
                "{}: a coupled matrix needs at least one entry",
                entries.name()
            )));
        }
        let name = entries.name().to_owned();
        if kind == Absent::Graph {
            if let Some(entry) = entries.values().iter().position(|&value| value < 0.0) {
                let what =
                    format!("a graph's weights are 0 or more, but this is {}", entries.values()[entry]);
                return Err(Error::Entry { table: name, entry, what });
            }
            // A graph has no columns of its own: both indices are entities of the mode.
            return Ok(Coupled { name, mode, kind, weight: None, columns: Mode::new("", 0), entries });
        }
        let ids = entries.indices(1);
        let size = ids.iter().max().map_or(0, |&id| id + 1);
        let columns = present_rows("column", size, &[ids]);
        let (mut indices, values) = entries.into_parts();
        columns.locate(&mut indices[1]);
        let entries = Entries::from_rows(name.clone(), indices, values);
        Ok(Coupled { name, mode, kind, weight: None, columns, entries })
    }

    /// The same matrix whose columns have names; `None` if there is not one for each.
    #[must_use]
    pub fn columns_named(mut self, naming: Naming) -> Option<Self> {
        let columns = std::mem::replace(&mut self.columns, Mode::new("", 0));
        self.columns = columns.grown(naming.labels.len() as u32)?.named(naming)?;
        Some(self)
    }

    /// The same matrix with a name of its own, such as `movie/genre`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same matrix with a weight of its own in place of [`crate::Params::lambda_couple`].
    #[must_use]
    pub fn weighted(mut self, weight: f32) -> Self {
        self.weight = Some(weight);
        self
    }

    /// The matrix's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mode of the tensor that its rows are, counted from 0.
    pub fn mode(&self) -> usize {
        self.mode
    }

    /// What an absent cell means.
    pub fn kind(&self) -> Absent {
        self.kind
    }

    /// Its own weight, if it has one.
    pub fn weight(&self) -> Option<f32> {
        self.weight
    }

    /// Its columns; none for a graph.
    pub fn columns(&self) -> &Mode {
        &self.columns
    }

    /// Its entries; inside a [`crate::Problem`] both indices are rows, not ids.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }
}
