//! From tables to what is factorized: which columns are modes, what their values are called, and which ids those become.

mod attribute;
mod encode;
mod find;
mod guess;
mod matrix;
mod share;
mod spec;

pub(crate) use attribute::{Attribute, bins, filled, known_separator};
pub use find::{find_entity, find_mode};
pub(crate) use guess::is_index;
pub use matrix::{CoupledMatrix, MatrixSpec};
pub use share::LabelOrder;
pub use spec::ModeSpec;

use s3cmtf_kernels::zeros;

use crate::Error;
use crate::parallel;
use crate::problem::{Entries, Mode, Naming, UNKNOWN, first_place};
use crate::table::{Column, ColumnType, Data, Selector, Table, Want};

/// Which columns of a table are a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// A column for each mode.
    pub modes: Vec<ModeSpec>,
    /// The column of values; without one, each row counts 1.
    pub value: Option<Selector>,
}

/// A tensor made of a table: its entries, and what the ids of each mode are called.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The entries, by id.
    pub entries: Entries,
    /// One per mode.
    pub namings: Vec<Naming>,
    /// By what the labels of each mode are in order.
    pub orders: Vec<LabelOrder>,
}

impl Recipe {
    /// The columns to read: one for each mode, then the value.
    pub fn wants(&self) -> Vec<Want> {
        self.modes.iter().map(ModeSpec::want).chain(self.value.as_ref().map(want_value)).collect()
    }

    /// Makes a tensor of the table of those columns.
    ///
    /// # Errors
    /// If the table has no rows, or a value is too large for 32 bits.
    pub fn tensor(&self, table: Table) -> Result<Tensor, Error> {
        let Table { name, columns } = table;
        let mut columns: Vec<Option<Column>> = columns.into_iter().map(Some).collect();
        let rows = columns.first().and_then(Option::as_ref).map_or(0, |column| column.data.len());
        let broken = || Error::Problem(format!("{name}: a column is wanted that was not read"));
        self.tensor_by(&name, rows, |place, _| {
            columns.get_mut(place).and_then(Option::take).ok_or_else(broken)
        })
    }

    /// The same of columns that `fetch` gives by their places among the wanted ones: no two of them are needed at once.
    ///
    /// # Errors
    /// As [`Recipe::tensor`], and if a column cannot be fetched.
    pub fn tensor_by(
        &self,
        name: &str,
        rows: usize,
        mut fetch: impl FnMut(usize, &Want) -> Result<Column, Error>,
    ) -> Result<Tensor, Error> {
        if rows == 0 {
            return Err(Error::Problem(format!("{name}: there is no row of data")));
        }
        let value = self.value.as_ref().map(|value| fetch(self.modes.len(), &want_value(value)));
        let values = values_of(value.transpose()?.map(|column| column.data), rows, name)?;
        let (mut indices, mut namings, mut orders) = (Vec::new(), Vec::new(), Vec::new());
        for (place, spec) in self.modes.iter().enumerate() {
            let column = fetch(place, &spec.want())?;
            let binning = spec.bins.map(|bins| bins.settle(&column.data));
            orders.push(LabelOrder::of(&column.data, binning.as_ref()));
            let (ids, labels) = encode::encode(column.data, binning.as_ref());
            indices.push(ids);
            namings.push(Naming { column: column.name, binning, labels });
        }
        Ok(Tensor { entries: Entries::new(indices, values)?.named(name), namings, orders })
    }
}

/// The columns to read of a table whose rows are cells of a tensor with these modes: one for each mode, by the heading that
/// it has had or by `columns` in its place, then the value, if one is needed.
pub fn known_wants(modes: &[Mode], columns: Option<&[Selector]>, value: Option<&Selector>) -> Vec<Want> {
    let want = |(number, mode): (usize, &Mode)| {
        let kind =
            mode.naming().and_then(|naming| naming.binning.as_ref()).map_or(ColumnType::Id, |b| b.kind());
        let column = match (columns.and_then(|columns| columns.get(number)), mode.naming()) {
            (Some(column), _) => column.clone(),
            // A column without a heading goes by its number.
            (None, Some(naming)) => Selector::parse(&naming.column),
            (None, None) => Selector::Place(number),
        };
        Want { column, kind }
    };
    modes.iter().enumerate().map(want).chain(value.map(want_value)).collect()
}

/// Makes entries of the table of those columns; ids that the modes do not have are unknown.
///
/// # Errors
/// If an id of a mode without names is no number from 1, or a value is too large for 32 bits.
pub fn known_entries<'a>(
    modes: impl ExactSizeIterator<Item = &'a Mode>,
    table: Table,
) -> Result<Entries, Error> {
    let Table { name, mut columns } = table;
    let values = columns.split_off(modes.len()).pop().map(|column| column.data);
    let rows = columns.first().map_or(0, |column| column.data.len());
    let values = values_of(values, rows, &name)?;
    let mut indices = Vec::new();
    for (mode, column) in modes.zip(columns) {
        indices.push(match mode.naming() {
            Some(naming) => encode::encode_known(column.data, naming.binning.as_ref(), &naming.labels),
            None => numbers_from_1(column.data, &name)?,
        });
    }
    Ok(Entries::from_rows(name, indices, values))
}

/// The same, where ids that are not there yet get names behind those that are; no naming is that of numbered ids.
///
/// # Errors
/// As [`known_entries`].
pub fn more_entries(namings: &mut [Option<Naming>], table: Table) -> Result<Entries, Error> {
    let Table { name, mut columns } = table;
    let values = columns.split_off(namings.len().min(columns.len())).pop().map(|column| column.data);
    let rows = columns.first().map_or(0, |column| column.data.len());
    let values = values_of(values, rows, &name)?;
    let mut indices = Vec::new();
    for (naming, column) in namings.iter_mut().zip(columns) {
        indices.push(match naming {
            Some(naming) => encode::encode_more(column.data, naming.binning.as_ref(), &mut naming.labels),
            None => numbers_from_1(column.data, &name)?,
        });
    }
    Ok(Entries::new(indices, values)?.named(name))
}

fn want_value(column: &Selector) -> Want {
    Want { column: column.clone(), kind: ColumnType::Number }
}

/// The values of a column of numbers; ones if there is none.
fn values_of(data: Option<Data>, rows: usize, table: &str) -> Result<Vec<f32>, Error> {
    let Some(Data::Numbers(numbers)) = data else { return Ok(vec![1.0; rows]) };
    let mut values = zeros(numbers.len());
    parallel::change(&mut values, |row, value| *value = numbers[row] as f32);
    if let Some(entry) = first_place(&values, |value| !value.is_finite()) {
        let what = format!("the value {} is not a finite number of 32 bits (at most 3.4e38)", numbers[entry]);
        return Err(Error::Entry { table: table.to_owned(), entry, what });
    }
    Ok(values)
}

/// Refuses a value that is no number for the ids of a mode whose entities go by number; empty ones are for others to refuse.
pub(crate) fn check_numbers(data: &Data, table: &str) -> Result<(), Error> {
    let Data::Texts { codes, labels } = data else {
        return numbers_from_1(data.clone(), table).map(|_| ());
    };
    let is_bad = |label: &str| !label.is_empty() && label.parse::<u32>().is_err();
    let Some(entry) = codes.iter().position(|&code| is_bad(labels.get(code))) else { return Ok(()) };
    Err(no_number(table, entry, labels.get(codes[entry])))
}

fn no_number(table: &str, entry: usize, found: &str) -> Error {
    let what = format!("{found:?} is not an index (a whole number from 1 to {UNKNOWN}), as the tensor's are");
    Error::Entry { table: table.to_owned(), entry, what }
}

/// The ids of a mode whose entities go by number.
fn numbers_from_1(data: Data, table: &str) -> Result<Vec<u32>, Error> {
    let bad = |entry: usize, found: &str| no_number(table, entry, found);
    let id = |(entry, value): (usize, i64)| {
        let id = value.checked_sub(1).and_then(|id| u32::try_from(id).ok()).filter(|&id| id != UNKNOWN);
        id.ok_or_else(|| bad(entry, &value.to_string()))
    };
    match data {
        Data::Integers(values) => values.into_iter().enumerate().map(id).collect(),
        Data::Texts { codes, labels } => {
            // Some text among them is no number.
            let entry = codes.iter().position(|&code| labels.get(code).parse::<u32>().is_err()).unwrap_or(0);
            Err(bad(entry, codes.get(entry).map_or("", |&code| labels.get(code))))
        }
        Data::Numbers(_) | Data::Times(_) => Err(bad(0, "a number or a time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn table() -> Table {
        let column = |name: &str, data| Column { name: name.into(), data };
        Table {
            name: "ratings.csv".into(),
            columns: vec![
                column(
                    "userId",
                    Data::Texts { codes: vec![0, 1, 0], labels: ["bob", "ann"].iter().collect() },
                ),
                column("timestamp", Data::Times(vec![0, 1_488_585_600, 86_400])),
                column("rating", Data::Numbers(vec![4.0, 3.5, 1.0])),
            ],
        }
    }

    fn recipe() -> Recipe {
        let modes = ["userId", "time=timestamp:month"].map(|text| text.parse().unwrap()).into();
        Recipe { modes, value: Some(Selector::Name("rating".into())) }
    }

    #[test]
    fn a_table_becomes_a_tensor_with_names() {
        let wants = recipe().wants();
        assert_eq!(
            wants.iter().map(|want| want.kind).collect::<Vec<_>>(),
            [ColumnType::Id, ColumnType::Time, ColumnType::Number]
        );
        let Tensor { entries, namings, .. } = recipe().tensor(table()).unwrap();
        assert_eq!((entries.indices(0), entries.indices(1)), (&[1, 0, 1][..], &[0, 1, 0][..]));
        assert_eq!(entries.values(), [4.0, 3.5, 1.0]);
        assert_eq!(namings[1].labels.iter().collect::<Vec<_>>(), ["1970-01", "2017-03"]);

        let counted = Recipe { value: None, ..recipe() };
        let mut two = table();
        two.columns.pop();
        assert_eq!(counted.tensor(two).unwrap().entries.values(), [1.0; 3]);
    }

    #[test]
    fn a_later_table_finds_the_same_ids() {
        let Tensor { namings, .. } = recipe().tensor(table()).unwrap();
        let modes: Vec<Mode> = ["user", "time"]
            .into_iter()
            .zip(namings)
            .map(|(name, naming)| Mode::new(name, naming.labels.len() as u32).named(naming).unwrap())
            .collect();
        let wants = known_wants(&modes, None, None);
        assert_eq!(wants[1], Want { column: Selector::Name("timestamp".into()), kind: ColumnType::Time });
        let mut later = table();
        later.columns.pop();
        later.columns[0].data = Data::Texts { codes: vec![0, 1, 1], labels: ["ann", "zoe"].iter().collect() };
        let entries = known_entries(modes.iter(), later).unwrap();
        assert_eq!(entries.indices(0), [0, UNKNOWN, UNKNOWN]);
        assert_eq!(entries.indices(1), [0, 1, 0]);
    }

    #[test]
    fn modes_without_names_go_by_number() {
        let modes = [Mode::new("user", 5), Mode::new("item", 5)];
        let columns = |first: Data| Table {
            name: "cells".into(),
            columns: vec![
                Column { name: "1".into(), data: first },
                Column { name: "2".into(), data: Data::Integers(vec![3, 1]) },
            ],
        };
        let entries = known_entries(modes.iter(), columns(Data::Integers(vec![1, 5]))).unwrap();
        assert_eq!(entries.indices(0), [0, 4]);
        let error = known_entries(modes.iter(), columns(Data::Integers(vec![1, 0]))).unwrap_err().to_string();
        assert!(error.contains("cells: entry 2: \"0\" is not an index"), "{error}");
        let texts = Data::Texts { codes: vec![0, 1], labels: ["7", "ann"].iter().collect() };
        let error = known_entries(modes.iter(), columns(texts)).unwrap_err().to_string();
        assert!(error.contains("cells: entry 2: \"ann\""), "{error}");
    }

    #[test]
    fn tables_that_are_no_tensors_say_so() {
        let mut empty = table();
        empty.columns[0].data = Data::Integers(Vec::new());
        assert!(recipe().tensor(empty).unwrap_err().to_string().contains("no row of data"));
        let mut large = table();
        large.columns[2].data = Data::Numbers(vec![1.0, 1e300, 1.0]);
        let error = recipe().tensor(large).unwrap_err().to_string();
        assert!(error.contains("entry 2") && error.contains("1000"), "{error}");
    }
}
