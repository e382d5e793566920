//! A matrix that shares a mode with a tensor, made of a table.

use super::spec::ModeSpec;
use super::{encode, numbers_from_1, values_of, want_value};
use crate::Error;
use crate::problem::{Absent, Coupled, Entries, Naming};
use crate::table::{self, Binning, Data, Labels, Selector, Table, Want};

/// Which columns of a table are a coupled matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixSpec {
    /// The column of the entities that the matrix shares with the tensor.
    pub row: Selector,
    /// The column of what is known about them; in a graph, of the entities that they are connected with.
    pub column: ModeSpec,
    /// Whether that column holds numbers: they are then the values of the only column of the matrix, which is called as theirs.
    pub number: bool,
    /// The column of values; without one, each cell that is there is 1.
    pub value: Option<Selector>,
    /// What separates several columns in one field, such as `|` in `Comedy|Drama`.
    pub split: Option<String>,
    /// What absent cells mean.
    pub kind: Absent,
}

/// A coupled matrix, and what was noticed about its rows.
#[derive(Debug)]
pub struct CoupledMatrix {
    /// The matrix.
    pub coupled: Coupled,
    /// Entities that the tensor does not have; they are kept, known from this matrix alone.
    pub added: usize,
    /// Entities of the tensor that this matrix says nothing about.
    pub absent: usize,
}

impl MatrixSpec {
    /// The columns to read of a matrix that is coupled to a mode: its rows, its columns, its values. Rows are read as the
    /// mode's were.
    pub fn wants(&self, naming: Option<&Naming>) -> Vec<Want> {
        let kind =
            naming.and_then(|naming| naming.binning.as_ref()).map_or(table::ColumnType::Id, |b| b.kind());
        let row = Want { column: self.row.clone(), kind };
        let mut column = self.column.want();
        if self.number {
            column.kind = table::ColumnType::Number;
        }
        if self.kind == Absent::Graph {
            column.kind = kind;
        }
        [row, column].into_iter().chain(self.value.as_ref().map(want_value)).collect()
    }

    /// Makes a matrix, coupled to a mode, of the table of those columns. `naming` says what the mode's ids are called, and
    /// takes up those that only the matrix has; without it they are numbers from 1, and `known` is their number. Where the
    /// matrix was known before, `before` is what its columns were put together by.
    ///
    /// # Errors
    /// If the table has no rows, if rows are not what the mode's ids are, or if a value is out of range.
    pub fn matrix(
        &self,
        table: Table,
        mode: usize,
        naming: Option<&mut Naming>,
        known: usize,
        before: Option<&Binning>,
    ) -> Result<CoupledMatrix, Error> {
        let Table { name, columns } = table;
        let mut columns = columns.into_iter();
        let (Some(row), Some(column)) = (columns.next(), columns.next()) else {
            return Err(Error::Problem(format!(
                "{name}: a matrix needs a column of rows and one of columns"
            )));
        };
        let rows = row.data.len();
        let (mut row_data, mut column_data) = (row.data, column.data);
        let mut values = Vec::new();
        let mut standard = None;
        if self.number {
            let Data::Numbers(numbers) = &column_data else {
                return Err(Error::Problem(format!("{name}: column {:?} has no numbers", column.name)));
            };
            let binning = before.cloned().unwrap_or_else(|| Binning::standard(numbers));
            if let Binning::Standard { mean, std } = binning {
                values = numbers.iter().map(|number| ((number - mean) / std) as f32).collect();
            }
            column_data =
                Data::Texts { codes: vec![0; rows], labels: [column.name.as_str()].iter().collect() };
            standard = Some(binning);
        }
        if values.is_empty() {
            values = values_of(columns.next().map(|column| column.data), rows, &name)?;
        }
        if let Some(separator) = &self.split {
            let (places, split) = split_lists(column_data, separator);
            row_data = select(&row_data, &places);
            values = places.iter().map(|&place| values[place as usize]).collect();
            column_data = split;
        }
        let mut naming = naming;
        let mut ids = |data: Data| match &mut naming {
            Some(naming) => Ok(encode::encode_more(data, naming.binning.as_ref(), &mut naming.labels)),
            None => numbers_from_1(data, &name),
        };
        let row_ids = ids(row_data)?;
        let (column_ids, column_naming) = if self.kind == Absent::Graph {
            (ids(column_data)?, None)
        } else {
            let settled =
                || self.column.bins.map(|bins| before.cloned().unwrap_or_else(|| bins.settle(&column_data)));
            let binning = if standard.is_some() { None } else { settled() };
            let (ids, labels) = encode::encode(column_data, binning.as_ref());
            (ids, Some(Naming { column: column.name, binning: binning.or(standard), labels }))
        };

        let size = naming.map_or_else(
            || row_ids.iter().max().map_or(0, |&id| id as usize + 1).max(known),
            |naming| naming.labels.len(),
        );
        let mut seen = vec![false; size];
        row_ids.iter().for_each(|&id| seen[id as usize] = true);
        if self.kind == Absent::Graph {
            column_ids.iter().filter(|id| (**id as usize) < size).for_each(|&id| seen[id as usize] = true);
        }
        let absent = seen[..known.min(size)].iter().filter(|&&seen| !seen).count();
        let added = seen[known.min(size)..].iter().filter(|&&seen| seen).count();

        let entries = Entries::new(vec![row_ids, column_ids], values)?.named(name);
        let mut coupled = Coupled::new(mode, self.kind, entries)?;
        if let Some(naming) = column_naming {
            coupled = coupled.columns_named(naming).expect("every column comes from these names");
        }
        Ok(CoupledMatrix { coupled, added, absent })
    }
}

/// Splits each field into its parts: for each part the row that it comes from, and the parts. Empty ones are none.
fn split_lists(data: Data, separator: &str) -> (Vec<u32>, Data) {
    let mut data = data;
    data.make_texts();
    let Data::Texts { codes, labels } = data else { return ((0..data.len() as u32).collect(), data) };
    // Each distinct list is split once.
    let mut parts = Labels::new();
    let split = |list: &str, parts: &mut Labels| -> Vec<u32> {
        list.split(separator)
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| parts.id(part))
            .collect()
    };
    let lists: Vec<Vec<u32>> = labels.iter().map(|list| split(list, &mut parts)).collect();
    let (mut places, mut split) = (Vec::new(), Vec::new());
    for (place, &code) in (0..).zip(&codes) {
        let list = &lists[code as usize];
        places.extend(list.iter().map(|_| place));
        split.extend_from_slice(list);
    }
    (places, Data::Texts { codes: split, labels: parts })
}

/// The rows at the given places.
pub(super) fn select(data: &Data, places: &[u32]) -> Data {
    fn pick<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
        places.iter().map(|&place| values[place as usize]).collect()
    }
    match data {
        Data::Integers(values) => Data::Integers(pick(values, places)),
        Data::Times(values) => Data::Times(pick(values, places)),
        Data::Numbers(values) => Data::Numbers(pick(values, places)),
        Data::Texts { codes, labels } => Data::Texts { codes: pick(codes, places), labels: labels.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn movies() -> Table {
        let genres = ["Comedy|Drama", "", "Drama"].iter().collect();
        Table {
            name: "movies.csv".into(),
            columns: vec![
                Column { name: "movieId".into(), data: Data::Integers(vec![7, 8, 99]) },
                Column { name: "genres".into(), data: Data::Texts { codes: vec![0, 1, 2], labels: genres } },
            ],
        }
    }

    fn spec(kind: Absent, split: Option<&str>) -> MatrixSpec {
        MatrixSpec {
            row: Selector::Place(0),
            column: "genres".parse().unwrap(),
            number: false,
            value: None,
            split: split.map(str::to_owned),
            kind,
        }
    }

    #[test]
    fn lists_are_split_and_ids_that_only_the_matrix_has_are_added() {
        let labels = ["3", "7", "8"].iter().collect();
        let mut naming = Naming { column: "movieId".into(), binning: None, labels };
        let spec = spec(Absent::Zeros, Some("|"));
        let CoupledMatrix { coupled, added, absent } =
            spec.matrix(movies(), 1, Some(&mut naming), 3, None).unwrap();
        // Movie 8 has no genre, 3 is not in the file, 99 is not in the tensor.
        assert_eq!((added, absent), (1, 2));
        assert_eq!(naming.labels.get(3), "99");
        assert_eq!(coupled.entries().indices(0), [1, 1, 3]);
        let columns = coupled.columns();
        let genres: Vec<_> =
            coupled.entries().indices(1).iter().map(|&row| columns.label(columns.id(row as usize))).collect();
        assert_eq!(genres, ["Comedy", "Drama", "Drama"]);
        assert_eq!(coupled.entries().values(), [1.0; 3]);
    }

    #[test]
    fn modes_without_names_are_coupled_by_number() {
        let spec = spec(Absent::Missing, None);
        let matrix = spec.matrix(movies(), 0, None, 50, None).unwrap();
        assert_eq!(matrix.coupled.entries().indices(0), [6, 7, 98]);
        assert_eq!((matrix.added, matrix.absent), (1, 48));
    }

    #[test]
    fn numbers_are_the_values_of_one_column_in_the_units_of_training() {
        let ages = |ids: Vec<i64>, ages: Vec<f64>| Table {
            name: "users.csv".into(),
            columns: vec![
                Column { name: "user".into(), data: Data::Integers(ids) },
                Column { name: "age".into(), data: Data::Numbers(ages) },
            ],
        };
        let spec = MatrixSpec { number: true, ..spec(Absent::Missing, None) };
        let matrix = spec.matrix(ages(vec![1, 2], vec![20.0, 40.0]), 0, None, 2, None).unwrap().coupled;
        assert_eq!(matrix.entries().values(), [-1.0, 1.0]);
        let columns = matrix.columns();
        assert_eq!((columns.rows(), columns.label(columns.id(0))), (1, "age".into()));
        // A later table is not centred on itself.
        let binning = columns.naming().unwrap().binning.clone();
        let later = spec.matrix(ages(vec![3], vec![50.0]), 0, None, 2, binning.as_ref()).unwrap().coupled;
        assert_eq!(later.entries().values(), [2.0]);
    }

    #[test]
    fn both_columns_of_a_graph_are_of_the_mode() {
        let mut table = movies();
        table.columns[1].data = Data::Integers(vec![8, 7, 5]);
        let mut naming =
            Naming { column: "movieId".into(), binning: None, labels: ["7", "8"].iter().collect() };
        let matrix = spec(Absent::Graph, None).matrix(table, 0, Some(&mut naming), 2, None).unwrap();
        assert_eq!((matrix.added, matrix.absent), (2, 0));
        assert_eq!(naming.labels.iter().collect::<Vec<_>>(), ["7", "8", "99", "5"]);
    }
}
