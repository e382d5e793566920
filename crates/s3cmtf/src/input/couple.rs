//! A coupled matrix, from what was said about it.

use super::note::Note;
use super::source::{Opened, TableSource};
use crate::Error;
use crate::files::{self, SampledColumn};
use crate::model::Model;
use crate::prepare::{CoupledMatrix, MatrixSpec, find_mode, is_index};
use crate::problem::{Absent, Coupled, Naming};
use crate::table::{Binning, ColumnType, Empty, Selector, Table};

/// A matrix that is to be coupled to a mode.
#[derive(Clone, Debug)]
pub struct Couple {
    /// The mode, by name or by number from 1.
    pub mode: String,
    /// The matrix's table.
    pub table: TableSource,
    /// The columns of the table that were named: of what is known, or of rows and that, and perhaps of values.
    pub columns: Vec<String>,
    /// What separates several columns in one field.
    pub split: Option<String>,
    /// What absent cells mean, if that was said. Otherwise those of a matrix with values are unknown, and the others zeros.
    pub kind: Option<Absent>,
    /// How much a squared error counts, if that was said.
    pub weight: Option<f32>,
    /// What the matrix is called behind the name of its mode, if not by its column or file.
    pub name: Option<String>,
    /// What errors about its mode call it.
    #[doc(hidden)]
    pub label: String,
    /// What other errors call it.
    #[doc(hidden)]
    pub words: String,
    /// How its columns could be named; `{row}` and `{column}` stand for headings.
    #[doc(hidden)]
    pub example: String,
}

impl Couple {
    /// The matrix of a table, coupled to a mode by name: of its columns, what is obvious is taken, see [`Couple::columns`].
    pub fn new(mode: impl Into<String>, table: TableSource) -> Self {
        let mode = mode.into();
        let words = format!("couple {mode}");
        Couple {
            mode,
            table,
            columns: Vec::new(),
            split: None,
            kind: None,
            weight: None,
            name: None,
            label: words.clone(),
            words,
            example: "columns {row}, {column}".into(),
        }
    }

    /// The columns of the table, by heading or number from 1: of the mode's names, of what is known of them, and perhaps of values.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// What separates several columns of the matrix in one field, such as `|` in `War|Drama`.
    #[must_use]
    pub fn split(mut self, separator: impl Into<String>) -> Self {
        self.split = Some(separator.into());
        self
    }

    /// What absent cells mean.
    #[must_use]
    pub fn absent(mut self, absent: Absent) -> Self {
        self.kind = Some(absent);
        self
    }

    /// Explains the matrix together with the tensor: how much a squared error counts.
    #[must_use]
    pub fn weighted(mut self, weight: f32) -> Self {
        self.weight = Some(weight);
        self
    }

    /// Which mode is meant, counted from 0, among modes of these names.
    ///
    /// # Errors
    /// If there is no such mode.
    pub fn mode(&self, names: &[String]) -> Result<usize, Error> {
        find_mode(&self.mode, names, &self.label)
    }

    /// The matrix's name among modes of these names: `MODE/STEM`.
    pub(super) fn name(&self, names: &[String]) -> Result<String, Error> {
        let mode = &names[self.mode(names)?];
        if let Some(name) = &self.name {
            return Ok(format!("{mode}/{name}"));
        }
        // A column says more about what is in it than a file.
        if let [_, column, ..] = &self.columns[..]
            && self.kind != Some(Absent::Graph)
        {
            let column = column.split(':').next().unwrap_or(column);
            return Ok(format!("{mode}/{column}"));
        }
        Ok(format!("{mode}/{}", self.stem(mode)?))
    }

    /// The name of one of several matrices of its table, by the heading of its column.
    pub(super) fn name_of(&self, heading: &str, mode: &str) -> String {
        match &self.name {
            Some(name) => format!("{mode}/{name} {heading}"),
            None => format!("{mode}/{heading}"),
        }
    }

    /// What a matrix is called that nobody has given a name: as its file without its endings, or as its column.
    fn stem(&self, mode: &str) -> Result<String, Error> {
        let TableSource::Files { paths, .. } = &self.table else { return self.heading(mode) };
        let Some(path) = paths.first() else { return Ok("matrix".into()) };
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let mut stem = &file[..];
        for ending in [".gz", ".zst", ".tns", ".csv", ".tsv", ".dat", ".txt", ".parquet", ".mtx"] {
            stem = stem.strip_suffix(ending).unwrap_or(stem);
        }
        Ok(if stem.is_empty() { file.into_owned() } else { stem.to_owned() })
    }

    /// The heading of the first column that is not that of the mode.
    fn heading(&self, mode: &str) -> Result<String, Error> {
        if let [column] = &self.columns[..] {
            return Ok(column.split(':').next().unwrap_or(column).to_owned());
        }
        let table = self.table.open()?;
        let headings: Vec<String> = table.columns()?.into_iter().map(|column| column.name).collect();
        let row = headings.iter().position(|heading| heading == mode).unwrap_or(0);
        let other = headings.into_iter().enumerate().find(|(place, _)| *place != row);
        let other = other.map(|(_, heading)| heading).filter(|heading| heading.parse::<u64>().is_err());
        Ok(other.unwrap_or_else(|| table.first()))
    }

    /// Which columns are meant, where some were named or the matrix is a graph.
    fn spec(&self, table: &Opened<'_>, naming: Option<&Naming>) -> Result<MatrixSpec, Error> {
        let form = |row: Selector, column: &str, value: Option<Selector>| {
            let (column, number) = match column.strip_suffix(":number") {
                Some(column) => (column, true),
                None => (column, false),
            };
            let column = column.parse().map_err(|what| Error::Request(format!("{}: {what}", self.words)))?;
            // Cells that are all 1 tell nothing unless those that are not there are 0.
            let usual = if number || value.is_some() { Absent::Missing } else { Absent::Zeros };
            let kind = self.kind.filter(|&kind| kind != Absent::Missing).unwrap_or(usual);
            Ok(MatrixSpec { row, column, number, value, split: self.split.clone(), kind })
        };
        match &self.columns[..] {
            [row, column] => return form(Selector::parse(row), column, None),
            [row, column, value, ..] => {
                return form(Selector::parse(row), column, Some(Selector::parse(value)));
            }
            _ => {}
        }
        let columns = table.columns()?;
        let headings: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let row = row_of(&columns, naming);
        let others: Vec<usize> = others_of(&columns, row);
        match (&self.columns[..], &others[..]) {
            ([column], _) => form(choose(&headings, row), column, None),
            ([], &[column]) => {
                let column = choose(&headings, column).to_string();
                form(choose(&headings, row), &column, None)
            }
            _ => Err(self.ask(&headings, row, others.first().copied())),
        }
    }

    /// Asks which columns are meant.
    pub(super) fn ask(&self, headings: &[&str], row: usize, column: Option<usize>) -> Error {
        let column = column.map_or("2", |place| headings[place]);
        let example = self.example.replace("{row}", headings.get(row).unwrap_or(&"1"));
        Error::Request(format!(
            "{}: say which columns are the matrix, as in {}; there are {}",
            self.words,
            example.replace("{column}", column),
            headings.join(", ")
        ))
    }
}

/// The column of a table that its rows go by: that of the mode, or the first that is no index of pandas.
pub(super) fn row_of(columns: &[SampledColumn], naming: Option<&Naming>) -> usize {
    let named = naming.and_then(|naming| columns.iter().position(|column| column.name == naming.column));
    named.unwrap_or_else(|| usize::from(columns.len() > 1 && has_index(columns)))
}

/// The columns that are not that, nor an index of pandas.
pub(super) fn others_of(columns: &[SampledColumn], row: usize) -> Vec<usize> {
    let first = usize::from(row > 0 && has_index(columns));
    (first..columns.len()).filter(|&place| place != row).collect()
}

fn has_index(columns: &[SampledColumn]) -> bool {
    let kinds: Vec<(usize, &str, ColumnType)> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| (place, column.name.as_str(), column.guess))
        .collect();
    is_index(&kinds)
}

/// By name where there is one, which also says that the first line holds names.
pub(super) fn choose(headings: &[&str], place: usize) -> Selector {
    match headings[place].parse::<u64>() {
        Ok(_) => Selector::Place(place),
        Err(_) => Selector::Name(headings[place].to_owned()),
    }
}

/// A matrix that is meant, and where it is.
#[derive(Debug)]
pub struct SideMatrix {
    pub(super) couple: Couple,
    pub(super) name: String,
    pub(super) form: Form,
}

/// Where a matrix is.
#[derive(Debug)]
pub(super) enum Form {
    /// In a file of indices.
    Numbered,
    /// In columns of a table that were said, or are all it has.
    Named,
    /// In these columns, which were read already.
    Read(Box<(MatrixSpec, Table)>),
}

impl SideMatrix {
    /// Its name: `MODE/COLUMN` or `MODE/FILE`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the matrix. `namings` say what the ids of each mode are called, and take up those that only the matrix has;
    /// `known` is how many ids each mode has without it. `tell` is told of ids that are only on one side. What the columns of
    /// a matrix were put together by that a `model` has stays.
    ///
    /// # Errors
    /// If the table cannot be read, at a value that cannot be used, or if there is someone to tell and no row is one of the
    /// tensor's.
    pub fn read(
        self,
        modes: &[String],
        namings: &mut [Option<Naming>],
        known: &[usize],
        model: Option<&Model>,
        tell: Option<&mut dyn FnMut(Note)>,
    ) -> Result<Coupled, Error> {
        let SideMatrix { couple, name, form } = self;
        let mode = couple.mode(modes)?;
        let like = model.and_then(|model| model.coupled_like(&name, mode));
        let before = like.and_then(|matrix| matrix.columns.naming()?.binning.as_ref());
        let opened = couple.table.open()?.with(Empty::Skip);
        let mut place =
            Place { mode, name: &modes[mode], naming: &mut namings[mode], known: known[mode], before };
        let matrix = match form {
            Form::Numbered => {
                let path = opened.numbered()?.cloned().unwrap_or_default();
                let entries = files::read_entries(&path, Some(2))?;
                let said = couple.kind.or(like.map(|matrix| matrix.kind)).unwrap_or(Absent::Missing);
                let values = entries.values();
                let tells_nothing = like.is_none() && values.iter().all(|value| *value == values[0]);
                let kind = if said == Absent::Missing && tells_nothing { Absent::Zeros } else { said };
                if let (true, Some(tell)) = (kind != said, tell) {
                    tell(Note::Zeros { table: opened.first() });
                }
                Coupled::new(mode, kind, entries)?
            }
            Form::Named => {
                let mut spec = couple.spec(&opened, place.naming.as_ref())?;
                if let (None, Some(like)) = (couple.kind, like) {
                    spec.kind = like.kind;
                }
                let wants = spec.wants(place.naming.as_ref());
                let (table, skipped) = opened.read(&wants)?;
                let rows = table.columns.first().map_or(0, |column| column.data.len());
                let read = place.matrix(&spec, table, tell, |tell| {
                    opened.tell_skipped(&skipped, rows, tell);
                    couple.tell_of_cells(&spec, &opened, tell);
                });
                read.map_err(|error| opened.explain(error, &wants, &skipped))?
            }
            Form::Read(read) => place.matrix(&read.0, read.1, tell, |_| ())?,
        };
        let matrix = matrix.named(name);
        Ok(match couple.weight {
            Some(weight) => matrix.weighted(weight),
            None => matrix,
        })
    }
}

impl Couple {
    /// Tells that what was said of absent cells was not done.
    fn tell_of_cells(&self, spec: &MatrixSpec, table: &Opened<'_>, tell: &mut dyn FnMut(Note)) {
        if self.kind == Some(Absent::Missing) && spec.kind == Absent::Zeros {
            tell(Note::Zeros { table: table.first() });
        }
    }
}

/// The mode that a matrix is coupled to.
struct Place<'a> {
    mode: usize,
    name: &'a str,
    naming: &'a mut Option<Naming>,
    known: usize,
    /// What the columns of the matrix were put together by before.
    before: Option<&'a Binning>,
}

impl Place<'_> {
    fn matrix(
        &mut self,
        spec: &MatrixSpec,
        table: Table,
        tell: Option<&mut dyn FnMut(Note)>,
        tell_more: impl FnOnce(&mut dyn FnMut(Note)),
    ) -> Result<Coupled, Error> {
        let (name, known) = (table.name.clone(), self.known);
        let matrix = spec.matrix(table, self.mode, self.naming.as_mut(), known, self.before)?;
        let CoupledMatrix { coupled, added, absent } = matrix;
        let Some(tell) = tell else { return Ok(coupled) };
        if let (Some(naming), true) = (&self.naming, absent == known && added > 0) {
            // Nothing could be learnt from it: another column is meant, or places are where names should be.
            let (own, other) = (naming.labels.get(known as u32), naming.labels.get(0));
            return Err(Error::Problem(format!(
                "{name}: none of its rows is a {} of the tensor: it has {own:?}, the tensor {other:?} and the like",
                self.name
            )));
        }
        tell_more(tell);
        if spec.split.is_none() && spec.kind == Absent::Zeros && has_lists(&coupled) {
            tell(Note::Lists { table: name.clone(), column: spec.column.column.to_string() });
        }
        let mode = self.name.to_owned();
        if added > 0 {
            tell(Note::Added { table: name.clone(), count: added, mode: mode.clone() });
        }
        if absent > 0 {
            tell(Note::Absent { table: name, count: absent, of: known, mode });
        }
        Ok(coupled)
    }
}

/// Whether many columns of a matrix look like lists that nobody has taken apart.
fn has_lists(matrix: &Coupled) -> bool {
    let Some(naming) = matrix.columns().naming() else { return false };
    let lists = naming.labels.iter().filter(|label| label.contains('|')).count();
    lists * 10 > naming.labels.len()
}

/// Refuses a matrix that is coupled to a mode that there is not.
///
/// # Errors
/// If there is one.
pub(super) fn check_modes(couples: &[Couple], modes: &[String]) -> Result<(), Error> {
    couples.iter().try_for_each(|couple| couple.mode(modes).map(drop))
}
