//! Entries and matrices that come after a model: its ids are known, and new ones may come to them.

use super::couple::{Couple, SideMatrix};
use super::note::Note;
use super::source::TableSource;
use crate::Error;
use crate::files;
use crate::model::Model;
use crate::prepare;
use crate::problem::{Cells, Coupled, Duplicates, Entries, Mode, Naming, UNKNOWN};
use crate::table::{Selector, Table, Want};

/// Cells of a model by their ids.
pub struct CellTable {
    /// The cells.
    pub cells: Cells,
    /// What they were made of, and the mode of each column. None where they came from a file of indices.
    pub table: Option<(Table, Vec<usize>)>,
}

/// Reads cells without their values. `at` are modes that stand at one id, so that they need no column. A mode of times of which
/// there is no column is at its average.
///
/// # Errors
/// If the table cannot be read, or an id cannot be one of its mode.
pub fn known_cells(
    given: &TableSource,
    modes: &[Mode],
    at: &[(usize, u32)],
    tell: &mut dyn FnMut(Note),
) -> Result<CellTable, Error> {
    let opened = given.open()?;
    let named = modes.iter().any(|mode| mode.naming().is_some());
    if let Some(path) = opened.numbered()?.filter(|_| !named && at.is_empty()) {
        return Ok(CellTable { cells: files::read_coordinates(path, modes.len())?, table: None });
    }
    let headings: Vec<String> = opened.columns()?.into_iter().map(|column| column.name).collect();
    let mut fixed: Vec<Option<u32>> = vec![None; modes.len()];
    for &(mode, id) in at {
        fixed[mode] = Some(id);
    }
    for (mode, fixed) in modes.iter().zip(&mut fixed) {
        let column = mode.naming().map_or("", |naming| &naming.column);
        // A column without a heading goes by its number.
        if fixed.is_none()
            && mode.is_time()
            && !headings.iter().any(|heading| heading == column)
            && matches!(Selector::parse(column), Selector::Name(_))
        {
            tell(Note::Average { table: opened.first(), mode: mode.name().to_owned() });
            *fixed = Some(UNKNOWN);
        }
    }
    let given: Vec<usize> = (0..modes.len()).filter(|&mode| fixed[mode].is_none()).collect();
    let wants = prepare::known_wants(modes, None, None);
    let wants: Vec<Want> = given.iter().map(|&mode| wants[mode].clone()).collect();
    let (table, skipped) = opened.read(&wants)?;
    let entries = prepare::known_entries(given.iter().map(|&mode| &modes[mode]), table.clone());
    let entries = entries.map_err(|error| opened.explain(error, &wants, &skipped))?;
    opened.tell_skipped(&skipped, entries.len(), tell);
    let (name, len, (read, _)) = (entries.name().to_owned(), entries.len(), entries.into_parts());
    let mut read = read.into_iter();
    let of_mode = |fixed: &Option<u32>| match fixed {
        Some(id) => vec![*id; len],
        None => read.next().unwrap_or_default(),
    };
    let indices = fixed.iter().map(of_mode).collect();
    Ok(CellTable { cells: Cells::from_rows(name, indices), table: Some((table, given)) })
}

/// Reads entries of a tensor whose modes are known; `value` is the heading of their values, if they have any.
///
/// # Errors
/// As [`known_cells`].
pub fn known_entries(
    given: &TableSource,
    modes: &[Mode],
    value: Option<&str>,
    tell: &mut dyn FnMut(Note),
) -> Result<Entries, Error> {
    let opened = given.open()?;
    let named = modes.iter().any(|mode| mode.naming().is_some());
    if let Some(path) = opened.numbered()?.filter(|_| !named) {
        return files::read_entries(path, Some(modes.len()));
    }
    let value = value_of(value, named, modes.len());
    let wants = prepare::known_wants(modes, None, value.as_ref());
    let (table, skipped) = opened.read(&wants)?;
    let entries = prepare::known_entries(modes.iter(), table);
    let entries = entries.map_err(|error| opened.explain(error, &wants, &skipped))?;
    opened.tell_skipped(&skipped, entries.len(), tell);
    Ok(entries)
}

/// The column of values: as said; the value of a table without words about it stands behind the modes.
fn value_of(value: Option<&str>, named: bool, order: usize) -> Option<Selector> {
    match value {
        Some(value) => Some(Selector::parse(value)),
        None => (!named).then_some(Selector::Place(order)),
    }
}

/// Data that came after a model, with names behind its own for what it does not have.
pub struct NewData {
    /// The new entries, if there are any.
    pub entries: Option<Entries>,
    /// The matrices that tell of new ids, each of the kind that it has in the model.
    pub coupled: Vec<Coupled>,
    /// What the ids of each mode are called.
    pub namings: Vec<Option<Naming>>,
    /// What becomes of entries given more than once.
    pub duplicates: Duplicates,
}

impl NewData {
    /// Reads new entries and matrices for a model. `value` is the column of values, if it is not the model's.
    ///
    /// # Errors
    /// If a table cannot be read, or does not fit the model.
    pub fn read(
        model: &Model,
        tensor: Option<&TableSource>,
        couple: &[Couple],
        value: Option<&str>,
        tell: &mut dyn FnMut(Note),
    ) -> Result<Self, Error> {
        let mut namings: Vec<Option<Naming>> =
            model.modes().iter().map(|mode| mode.naming().cloned()).collect();
        let value = value.or(model.value());
        let entries =
            tensor.map(|given| more_entries(given, model, value, &mut namings, tell)).transpose()?;
        let coupled = more_coupled(model, couple, &mut namings, tell)?;
        // Rows without a value are events to be counted, as they were in training.
        let counted = namings.iter().any(Option::is_some) && value.is_none();
        let duplicates = if counted { Duplicates::Sum } else { Duplicates::Mean };
        Ok(NewData { entries, coupled, namings, duplicates })
    }
}

/// Reads new entries; names that the model does not have go behind its own.
fn more_entries(
    given: &TableSource,
    model: &Model,
    value: Option<&str>,
    namings: &mut [Option<Naming>],
    tell: &mut dyn FnMut(Note),
) -> Result<Entries, Error> {
    let (modes, opened) = (model.modes(), given.open()?);
    let named = namings.iter().any(Option::is_some);
    if let Some(path) = opened.numbered()?.filter(|_| !named) {
        return files::read_entries(path, Some(modes.len()));
    }
    let value = value_of(value, named, modes.len());
    let wants = prepare::known_wants(modes, None, value.as_ref());
    let (table, skipped) = opened.read(&wants)?;
    let entries = prepare::more_entries(namings, table);
    let entries = entries.map_err(|error| opened.explain(error, &wants, &skipped))?;
    opened.tell_skipped(&skipped, entries.len(), tell);
    Ok(entries)
}

fn more_coupled(
    model: &Model,
    couple: &[Couple],
    namings: &mut [Option<Naming>],
    tell: &mut dyn FnMut(Note),
) -> Result<Vec<Coupled>, Error> {
    let names: Vec<String> = model.modes().iter().map(|mode| mode.name().to_owned()).collect();
    let known: Vec<usize> = model.modes().iter().map(|mode| mode.size() as usize).collect();
    let mut coupled = Vec::new();
    for matrix in SideMatrix::all(couple, &names, namings, Some(model), tell)? {
        coupled.push(matrix.read(&names, namings, &known, Some(model), None)?);
    }
    Ok(coupled)
}
