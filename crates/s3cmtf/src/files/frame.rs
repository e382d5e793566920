//! A table that is in memory, in someone else's: columns are fetched one by one, when they are needed.

use super::binary::{Fault, Raw, missing_in_any, settle_with};
use super::choose::place;
use super::read::{SampledColumn, sampled};
use crate::Error;
use crate::table::{Column, Empty, Table, Want};

/// Enough rows to see what a column holds.
const HEAD: usize = 100;

/// Gives the values of a column: at most so many of the first, or all of them.
pub type Fetch = Box<dyn Fn(Option<usize>) -> Result<Raw, Error> + Send + Sync>;

/// Columns of equal length, by name, that are fetched when they are needed.
pub struct Frame {
    name: String,
    rows: usize,
    columns: Vec<(String, Fetch)>,
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Frame")
            .field("name", &self.name)
            .field("rows", &self.rows)
            .field("columns", &names)
            .finish()
    }
}

impl Frame {
    /// A table of `rows` rows; `name` is what errors call it. A column's code that has no label, and the smallest time, are
    /// values that are missing.
    pub fn new(name: impl Into<String>, rows: usize, columns: Vec<(String, Fetch)>) -> Self {
        Frame { name: name.into(), rows, columns }
    }

    /// The table of record batches that all have the columns of the first.
    ///
    /// # Errors
    /// If they have not.
    #[cfg(feature = "arrow")]
    pub fn of_batches(
        name: impl Into<String>,
        names: Vec<String>,
        batches: &[arrow_array::RecordBatch],
    ) -> Result<Self, Error> {
        let name = name.into();
        if batches.iter().any(|batch| batch.num_columns() != names.len()) {
            return Err(Error::Problem(format!("{name}: not all batches have {} columns", names.len())));
        }
        let rows = batches.iter().map(arrow_array::RecordBatch::num_rows).sum();
        let column = |(number, heading): (usize, String)| {
            let arrays = batches.iter().map(|batch| batch.column(number).clone()).collect();
            let fetch = of_arrays(name.clone(), heading.clone(), arrays);
            (heading, fetch)
        };
        let columns = names.into_iter().enumerate().map(column).collect();
        Ok(Frame { name, rows, columns })
    }

    /// What errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, with their first values.
    ///
    /// # Errors
    /// If a column cannot be fetched.
    pub fn columns(&self) -> Result<Vec<SampledColumn>, Error> {
        let column = |(name, fetch): &(String, Fetch)| {
            // An empty cell says nothing about the others.
            let values = fetch(Some(HEAD))?;
            let missing = values.missing();
            Ok(sampled(name.clone(), Some(values.without(&missing))))
        };
        self.columns.iter().map(column).collect()
    }

    /// The wanted columns.
    ///
    /// # Errors
    /// If there is no such column, or at the first value that is missing or not of the wanted kind.
    pub fn read(&self, wants: &[Want]) -> Result<Table, Error> {
        self.read_rows(wants, Empty::Refuse).map(|(table, _)| table)
    }

    /// The same with what is said about empty values, and the rows that were left out, counted from 0.
    ///
    /// # Errors
    /// As [`Frame::read`].
    pub fn read_rows(&self, wants: &[Want], empty: Empty) -> Result<(Table, Vec<usize>), Error> {
        let name = self.name.clone();
        if empty != Empty::Skip {
            let columns = wants.iter().map(|want| self.read_with(want, empty)).collect::<Result<_, _>>()?;
            return Ok((Table { name, columns }, Vec::new()));
        }
        let fetched = wants.iter().map(|want| self.fetch(want)).collect::<Result<Vec<_>, _>>()?;
        let (names, values): (Vec<String>, Vec<Raw>) = fetched.into_iter().unzip();
        let skipped = missing_in_any(&values);
        if skipped.len() == self.rows && self.rows > 0 {
            let what = "there is an empty cell in each row, in the columns that are needed";
            return Err(Error::Problem(format!("{name}: {what}")));
        }
        let column = |((want, heading), values): ((&Want, String), Raw)| {
            let data = settle_with(values.without(&skipped), want.kind, empty);
            let data = data.map_err(|fault| at(&name, &heading, fault))?;
            Ok(Column { name: heading, data })
        };
        let columns = wants.iter().zip(names).zip(values).map(column).collect::<Result<_, Error>>()?;
        Ok((Table { name: name.clone(), columns }, skipped))
    }

    /// One column.
    ///
    /// # Errors
    /// As [`Frame::read`].
    pub fn read_column(&self, want: &Want) -> Result<Column, Error> {
        self.read_with(want, Empty::Refuse)
    }

    fn read_with(&self, want: &Want, empty: Empty) -> Result<Column, Error> {
        let (name, values) = self.fetch(want)?;
        let data = settle_with(values, want.kind, empty).map_err(|fault| at(&self.name, &name, fault))?;
        Ok(Column { name, data })
    }

    /// The heading and the values of a column.
    fn fetch(&self, want: &Want) -> Result<(String, Raw), Error> {
        let headings: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let place = place(&headings, &want.column)
            .map_err(|what| Error::Unknown(format!("{}: {what}", self.name)))?;
        let (name, fetch) = &self.columns[place];
        let values = fetch(None)?;
        if values.len() != self.rows {
            let (found, rows) = (values.len(), self.rows);
            let what = format!("column {name:?} has {found} values, but there are {rows} rows");
            return Err(Error::Problem(format!("{}: {what}", self.name)));
        }
        Ok((name.clone(), values))
    }
}

/// The error of a value that cannot be used.
fn at(table: &str, column: &str, fault: Fault) -> Error {
    let what = format!("column {column:?}: {}", fault.what);
    Error::Entry { table: table.to_owned(), entry: fault.row, what }
}

#[cfg(feature = "arrow")]
fn of_arrays(table: String, column: String, arrays: Vec<arrow_array::ArrayRef>) -> Fetch {
    use std::path::Path;

    use super::binary::{Growing, guarded};

    Box::new(move |most| {
        // What another library has put together may break the promises of Arrow.
        guarded(Path::new(&table), || {
            let (mut values, mut left) = (Growing::default(), most.unwrap_or(usize::MAX));
            for array in arrays.iter().filter(|array| !array.is_empty()) {
                let count = array.len().min(left);
                let added = if count < array.len() {
                    values.extend(&array.slice(0, count))
                } else {
                    values.extend(array)
                };
                added.map_err(|fault| at(&table, &column, fault))?;
                left -= count;
                if left == 0 {
                    break;
                }
            }
            Ok(values.finish())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ColumnType, Data, Labels, Selector};

    fn frame() -> Frame {
        let fixed = |values: Raw| -> Fetch { Box::new(move |_| Ok(values.clone())) };
        let labels: Labels = ["ann", "bob"].iter().collect();
        let columns = vec![
            ("user".to_owned(), fixed(Raw::Texts { codes: vec![1, 0, 1], labels: labels.clone() })),
            ("stars".to_owned(), fixed(Raw::Numbers(vec![1.0, 2.5, f64::NAN]))),
            ("when".to_owned(), fixed(Raw::Times(vec![0, i64::MIN, 5]))),
            ("hole".to_owned(), fixed(Raw::Texts { codes: vec![0, 7, 1], labels })),
            ("short".to_owned(), fixed(Raw::Signed(vec![1]))),
        ];
        Frame::new("ratings", 3, columns)
    }

    fn read(column: &str, kind: ColumnType) -> Result<Data, String> {
        let want = Want { column: Selector::Name(column.into()), kind };
        frame().read_column(&want).map(|column| column.data).map_err(|error| error.to_string())
    }

    #[test]
    fn columns_are_read_as_those_of_files_are() {
        let Data::Texts { codes, labels } = read("user", ColumnType::Id).unwrap() else { panic!("texts") };
        assert_eq!((codes, labels.get(0)), (vec![1, 0, 1], "ann"));
        let guesses: Vec<ColumnType> = frame().columns().unwrap().iter().map(|column| column.guess).collect();
        assert_eq!(guesses[..2], [ColumnType::Id, ColumnType::Number]);
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_row() {
        for (column, kind, what) in [
            (
                "stars",
                ColumnType::Number,
                "ratings: entry 3: column \"stars\": the value is missing, as in 1 of 3 rows (skip-empty leaves",
            ),
            ("when", ColumnType::Time, "ratings: entry 2: column \"when\": the value is missing"),
            ("hole", ColumnType::Id, "ratings: entry 2: column \"hole\": the value is missing"),
            ("short", ColumnType::Id, "ratings: column \"short\" has 1 values, but there are 3 rows"),
            (
                "usr",
                ColumnType::Id,
                "ratings: has no column \"usr\", did you mean \"user\"? (its columns are user, stars, ",
            ),
        ] {
            let error = read(column, kind).unwrap_err();
            assert!(error.starts_with(what), "{error}");
        }
    }

    #[cfg(feature = "arrow")]
    #[test]
    fn batches_are_one_table() {
        use std::sync::Arc;

        use arrow_array::{Int64Array, RecordBatch, StringArray};

        let batch = |ids: Vec<i64>, names: Vec<Option<&str>>| {
            let names = StringArray::from(names);
            let ids = Int64Array::from(ids);
            RecordBatch::try_from_iter([
                ("id", Arc::new(ids) as arrow_array::ArrayRef),
                ("name", Arc::new(names) as arrow_array::ArrayRef),
            ])
            .unwrap()
        };
        let batches = [batch(vec![1, 2], vec![Some("a"), Some("b")]), batch(vec![3], vec![None])];
        let frame = Frame::of_batches("t", vec!["id".into(), "name".into()], &batches).unwrap();
        let want = |name: &str| Want { column: Selector::Name(name.into()), kind: ColumnType::Id };
        assert_eq!(frame.read_column(&want("id")).unwrap().data, Data::Integers(vec![1, 2, 3]));
        let error = frame.read_column(&want("name")).unwrap_err().to_string();
        assert!(
            error.starts_with("t: entry 3: column \"name\": the value is missing, as in 1 of 3 rows"),
            "{error}"
        );
        assert!(Frame::of_batches("t", vec!["id".into()], &batches).is_err());
    }
}
