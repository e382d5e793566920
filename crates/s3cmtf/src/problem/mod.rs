//! What is to be factorized: a sparse tensor and the matrices coupled to it, checked once and then immutable.

mod bits;
mod cells;
mod coarse;
mod coupled;
pub mod describe;
mod duplicates;
mod entries;
mod entry_source;
mod exact_sum;
mod fingerprint;
pub mod holdout;
mod less;
mod mix;
mod mode;
mod new_data;
mod packing;
mod restore;
mod rows;
mod scan;
mod shared;
mod split;
mod stored;

pub(crate) use bits::Chosen;
pub use cells::Cells;
pub(crate) use cells::UNKNOWN;
pub use coupled::{Absent, Coupled};
use duplicates::Duplicate;
pub use duplicates::Duplicates;
pub use entries::Entries;
pub(crate) use entry_source::EntrySource;
pub use entry_source::{Blocks, Visit};
pub(crate) use exact_sum::ExactSum;
pub use holdout::HoldOut;
pub use less::LeftOut;
pub(crate) use mix::mix;
pub use mode::{Mode, Naming};
pub use stored::StoredProblem;

use std::sync::Arc;

use crate::Error;
use crate::nodes::{Exchange, Nodes};
pub(crate) use packing::Packing;
pub(crate) use rows::count_unknown;
#[cfg(feature = "tables")]
pub(crate) use rows::mark;
use rows::present_rows;
#[cfg(feature = "tables")]
pub(crate) use scan::range;
pub(crate) use scan::{first_place, largest};

/// A sparse tensor and the matrices coupled to its modes.
#[derive(Clone, Debug)]
pub struct Problem {
    modes: Vec<Mode>,
    entries: Entries,
    coupled: Vec<Coupled>,
    value: Option<String>,
    notes: Vec<String>,
}

/// Collects the parts of a [`Problem`]; [`ProblemBuilder::build`] checks that they fit together.
#[derive(Clone, Debug)]
pub struct ProblemBuilder {
    entries: Entries,
    names: Option<Vec<String>>,
    sizes: Option<Vec<u32>>,
    namings: Vec<Option<Naming>>,
    duplicates: Duplicates,
    value: Option<String>,
    coupled: Vec<Coupled>,
    is_shared: bool,
}

impl Problem {
    /// Starts a problem from the observed entries of its tensor.
    pub fn builder(entries: Entries) -> ProblemBuilder {
        ProblemBuilder {
            entries,
            names: None,
            sizes: None,
            namings: Vec::new(),
            duplicates: Duplicates::default(),
            value: None,
            coupled: Vec::new(),
            is_shared: false,
        }
    }

    /// The modes of the tensor.
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.modes.len()
    }

    /// The observed entries of the tensor; their indices are rows (see [`Mode::id`]), not ids.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Takes the entries out, for a reader that needs their memory for something else.
    pub(crate) fn take_entries(&mut self) -> Entries {
        std::mem::take(&mut self.entries)
    }

    /// The coupled matrices.
    pub fn coupled(&self) -> &[Coupled] {
        &self.coupled
    }

    /// How many cells the coupled matrices have whose absent cells are zeros, those included; `None` if no number is large
    /// enough.
    pub(crate) fn zeros_cells(&self) -> Option<usize> {
        let zeros = self.coupled.iter().filter(|matrix| matrix.kind() == Absent::Zeros);
        zeros
            .map(|matrix| self.modes[matrix.mode()].rows().checked_mul(matrix.columns().rows()))
            .try_fold(0usize, |sum, cells| sum.checked_add(cells?))
    }

    /// What the values are called, if they have a name.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// What was changed or looked odd while the problem was built: merged duplicates, grown modes.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How many of the given entries, by ids, name an id that the problem has no row for.
    pub fn unknown(&self, cells: impl AsRef<Cells>) -> usize {
        count_unknown(&self.modes, cells.as_ref())
    }

    /// How many tensor entries each row of a mode has.
    pub fn counts(&self, mode: usize) -> Vec<u32> {
        let mut counts = vec![0; self.modes[mode].rows()];
        for &row in self.entries.indices(mode) {
            counts[row as usize] += 1;
        }
        counts
    }
}

impl ProblemBuilder {
    /// Names the modes; without it they are `mode1`, `mode2` and so on.
    #[must_use]
    pub fn names(mut self, names: Vec<String>) -> Self {
        self.names = Some(names);
        self
    }

    /// Declares the number of ids of each mode; without it the largest id in the data decides.
    #[must_use]
    pub fn sizes(mut self, sizes: Vec<u32>) -> Self {
        self.sizes = Some(sizes);
        self
    }

    /// Says what the ids of each mode are called, where they have names; a mode has as many ids as names.
    #[must_use]
    pub fn namings(mut self, namings: Vec<Option<Naming>>) -> Self {
        self.namings = namings;
        self
    }

    /// Says what becomes of entries of the tensor that are given more than once; without it their mean is taken.
    #[must_use]
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Says what the values are called, such as the heading of their column.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// Couples a matrix.
    #[must_use]
    pub fn couple(mut self, coupled: Coupled) -> Self {
        self.coupled.push(coupled);
        self
    }

    /// Takes the entries for some of those that nodes share: they are dealt out so that all that are given for a cell come
    /// together, and every id has a row, whether or not it occurs here. Each mode must have names, or a declared size.
    ///
    /// # Errors
    /// If other nodes cannot be reached.
    pub fn share(mut self, exchange: &Arc<dyn Exchange>) -> Result<Self, Error> {
        self.entries = self.entries.dealt_by_cell(&Nodes::new(Arc::clone(exchange)))?;
        self.is_shared = true;
        Ok(self)
    }

    /// Checks the parts and puts them together.
    ///
    /// # Errors
    /// If there is no entry or fewer than two modes, if names or sizes do not match the modes, if an index lies
    /// beyond its mode, or if a matrix is coupled to a mode that does not exist or that its rows do not fit.
    pub fn build(self) -> Result<Problem, Error> {
        let ProblemBuilder {
            entries,
            names,
            mut sizes,
            mut namings,
            duplicates,
            value,
            mut coupled,
            is_shared,
        } = self;
        let order = entries.order();
        if order < 2 {
            return Err(Error::Problem(format!(
                "{}: a tensor has 2 or more modes, but this has {order}",
                entries.name()
            )));
        }
        if is_shared && sizes.is_none() && !(namings.len() == order && namings.iter().all(Option::is_some)) {
            let what = "a node does not see all ids: declare the size of each mode, or name its ids";
            return Err(Error::Problem(what.into()));
        }
        if is_shared && duplicates == Duplicates::Last {
            let expected = "mean, sum or error, where nodes share the entries: those have no order";
            return Err(Error::param("duplicates", expected, duplicates.name()));
        }
        if entries.is_empty() && !is_shared {
            return Err(Error::Problem(format!("{}: there is no entry to learn from", entries.name())));
        }
        let names = checked_names(names, order)?;
        if let Some(sizes) = &sizes
            && sizes.len() != order
        {
            return Err(Error::param(
                "sizes",
                format!("{order} numbers, one per mode"),
                format!("{sizes:?}"),
            ));
        }
        namings.resize(order, None);
        if namings.iter().any(Option::is_some) {
            let declared = sizes.take();
            let size = |(mode, naming): (usize, &Option<Naming>)| match (naming, &declared) {
                (Some(naming), _) => naming.labels.len() as u32,
                (None, Some(sizes)) => sizes[mode],
                (None, None) => largest(entries.indices(mode)).map_or(0, |id| id + 1),
            };
            sizes = Some(namings.iter().enumerate().map(size).collect());
        }
        for matrix in &coupled {
            if matrix.mode >= order {
                return Err(Error::Problem(format!(
                    "{}: coupled to mode {}, but the tensor has {order} modes",
                    matrix.name,
                    matrix.mode + 1
                )));
            }
            if let Some(weight) = matrix.weight
                && !(weight.is_finite() && weight >= 0.0)
            {
                return Err(Error::param("weight", "0 or more and finite", weight));
            }
        }

        let mut notes = Vec::new();
        let mut modes = Vec::with_capacity(order);
        for (mode, name) in names.iter().enumerate() {
            let declared = sizes.as_ref().map(|sizes| sizes[mode]);
            let size = mode_size(mode, name, &entries, &coupled, declared, &mut notes)?;
            let mut lists = vec![entries.indices(mode)];
            for matrix in coupled.iter().filter(|matrix| matrix.mode == mode) {
                lists.push(matrix.entries.indices(0));
                if matrix.kind == Absent::Graph {
                    lists.push(matrix.entries.indices(1));
                }
            }
            let mode = if is_shared { Mode::new(name, size) } else { present_rows(name, size, &lists) };
            modes.push(match namings[modes.len()].take() {
                Some(naming) => mode.named(naming).expect("as many ids as names, as the size is set above"),
                None => mode,
            });
        }

        let name = entries.name().to_owned();
        let (mut indices, mut values) = entries.into_parts();
        for (mode, array) in modes.iter().zip(&mut indices) {
            mode.locate(array);
        }
        let merged = merge_entries(&name, &mut indices, &mut values, duplicates)?;
        if merged > 0 && duplicates != Duplicates::Sum {
            notes.push(merged_note(&name, merged, duplicates));
        }
        let entries = Entries::from_rows(name, indices, values);
        for matrix in &mut coupled {
            settle_matrix(matrix, &modes[matrix.mode], &mut notes)?;
        }
        Ok(Problem { modes, entries, coupled, value, notes })
    }
}

fn checked_names(names: Option<Vec<String>>, order: usize) -> Result<Vec<String>, Error> {
    let Some(names) = names else { return Ok((1..=order).map(|mode| format!("mode{mode}")).collect()) };
    let list = || names.join(",");
    if names.len() != order {
        return Err(Error::param("modes", format!("{order} names, one per mode of the tensor"), list()));
    }
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() || name.parse::<u64>().is_ok() || names[..place].contains(name) {
            return Err(Error::param("modes", "distinct names that are not numbers", list()));
        }
    }
    Ok(names)
}

/// How far ids that a mode's own entries do not have may lie beyond those that they have, before they are taken
/// for a mistake (the wrong mode, swapped columns): a tenth. A few late ids are ordinary in a split of real data.
pub(crate) fn grown_limit(size: u32) -> u32 {
    size.saturating_add(size / 10)
}

/// The size of a mode: as declared, or the largest id of the tensor, grown a little by its coupled matrices.
fn mode_size(
    mode: usize,
    name: &str,
    entries: &Entries,
    coupled: &[Coupled],
    declared: Option<u32>,
    notes: &mut Vec<String>,
) -> Result<u32, Error> {
    let end = |ids: &[u32]| largest(ids).map_or(0, |id| id + 1);
    let own = end(entries.indices(mode));
    let beyond = |ids: &[u32], limit: u32| first_place(ids, |&id| id >= limit);
    let label = format!("mode {} ({name})", mode + 1);
    if let Some(size) = declared
        && let Some(entry) = beyond(entries.indices(mode), size)
    {
        let id = entries.indices(mode)[entry];
        let what = format!("index {} of {label} is beyond its declared size {size}", id + 1);
        return Err(Error::Entry { table: entries.name().to_owned(), entry, what });
    }
    let mut size = declared.unwrap_or(own);
    let limit = declared.unwrap_or_else(|| grown_limit(own));
    for matrix in coupled.iter().filter(|matrix| matrix.mode == mode) {
        let columns = if matrix.kind == Absent::Graph { 2 } else { 1 };
        for ids in (0..columns).map(|column| matrix.entries.indices(column)) {
            if let Some(entry) = beyond(ids, limit) {
                let what = match declared {
                    Some(size) => {
                        format!("row {} is beyond the declared size {size} of {label}", ids[entry] + 1)
                    }
                    None => format!(
                        "row {} does not fit {label}, which has {own} rows in {}: couple it to another mode, \
                         or declare the mode's size",
                        ids[entry] + 1,
                        entries.name()
                    ),
                };
                return Err(Error::Entry { table: matrix.entries.name().to_owned(), entry, what });
            }
            if end(ids) > size {
                size = end(ids);
                notes.push(format!(
                    "{}: {label} grows from {own} to {size} rows, the last ones known from this matrix alone",
                    matrix.entries.name()
                ));
            }
        }
    }
    Ok(size)
}

/// Puts a matrix's entries on rows, makes a graph undirected, and merges duplicates.
fn settle_matrix(matrix: &mut Coupled, mode: &Mode, notes: &mut Vec<String>) -> Result<(), Error> {
    let table = matrix.entries.name().to_owned();
    let (mut indices, mut values) = std::mem::take(&mut matrix.entries).into_parts();
    mode.locate(&mut indices[0]);
    if matrix.kind == Absent::Graph {
        mode.locate(&mut indices[1]);
        let before = values.len();
        let edges: Vec<(u32, u32, f32)> = (0..before)
            .map(|place| (indices[0][place], indices[1][place], values[place]))
            .filter(|(a, b, _)| a != b)
            .map(|(a, b, weight)| (a.min(b), a.max(b), weight))
            .collect();
        if edges.len() < before {
            notes.push(format!(
                "{table}: dropped {} from a row to itself",
                counted(before - edges.len(), "edge")
            ));
        }
        if edges.is_empty() {
            return Err(Error::Problem(format!("{table}: the graph connects no two different rows")));
        }
        indices = vec![edges.iter().map(|edge| edge.0).collect(), edges.iter().map(|edge| edge.1).collect()];
        values = edges.iter().map(|edge| edge.2).collect();
    }
    let mean = Duplicates::Mean;
    let merged = duplicates::merge(&mut indices, &mut values, mean).unwrap_or_default();
    if merged > 0 && matrix.kind == Absent::Graph {
        notes.push(format!(
            "{table}: merged {} given more than once (a-b and b-a are the same edge)",
            counted(merged, "edge")
        ));
    } else if merged > 0 {
        notes.push(merged_note(&table, merged, mean));
    }
    matrix.entries = Entries::from_rows(table, indices, values);
    Ok(())
}

/// Makes one of entries of the same rows; returns how many were merged away.
pub(crate) fn merge_entries(
    name: &str,
    indices: &mut [Vec<u32>],
    values: &mut Vec<f32>,
    duplicates: Duplicates,
) -> Result<usize, Error> {
    duplicates::merge(indices, values, duplicates).map_err(|Duplicate { first, again }| {
        let what = format!("the same as entry {}, and duplicates are an error here", first + 1);
        Error::Entry { table: name.to_owned(), entry: again, what }
    })
}

fn merged_note(table: &str, merged: usize, into: Duplicates) -> String {
    let what = if merged == 1 { "duplicate entry was" } else { "duplicate entries were" };
    let into = match into {
        Duplicates::Last => "the last of the values",
        Duplicates::Sum => "the sum of the values",
        Duplicates::Mean | Duplicates::Error => "the mean of the values",
    };
    format!("{table}: {merged} {what} merged into {into}")
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
