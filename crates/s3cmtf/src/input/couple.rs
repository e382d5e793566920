//! A coupled matrix, from what was said about it.

use super::given::{Given, Opened};
use super::note::Note;
use crate::Error;
use crate::files;
use crate::prepare::{Matrix, MatrixSpec, ModeSpec, find_mode};
use crate::problem::{Coupled, Kind, Naming};
use crate::table::{Kind as ColumnKind, Selector};

/// A matrix that is to be coupled to a mode.
#[derive(Clone, Debug)]
pub struct Couple {
    /// The mode, by name or by number from 1.
    pub mode: String,
    /// The matrix's table.
    pub table: Given,
    /// The columns of the table that were named: of what is known, or of rows and that, and perhaps of values.
    pub columns: Vec<String>,
    /// What separates several columns in one field.
    pub split: Option<String>,
    /// What absent cells mean.
    pub kind: Kind,
    /// How much a squared error counts, if that was said.
    pub weight: Option<f32>,
    /// What the matrix is called behind the name of its mode, if not by its column or file.
    pub name: Option<String>,
    /// What errors about its mode call it.
    pub label: String,
    /// What other errors call it.
    pub words: String,
    /// How its columns could be named; `{row}` and `{column}` stand for headings.
    pub example: String,
}

impl Couple {
    /// Which mode is meant, counted from 0, among modes of these names.
    ///
    /// # Errors
    /// If there is no such mode.
    pub fn mode(&self, names: &[String]) -> Result<usize, Error> {
        find_mode(&self.mode, names, &self.label)
    }

    /// The matrix's name among modes of these names: `MODE/STEM`.
    fn name(&self, names: &[String]) -> Result<String, Error> {
        let mode = &names[self.mode(names)?];
        if let Some(name) = &self.name {
            return Ok(format!("{mode}/{name}"));
        }
        // A column says more about what is in it than a file.
        if let [_, column, ..] = &self.columns[..]
            && self.kind != Kind::Graph
        {
            let column = column.split(':').next().unwrap_or(column);
            return Ok(format!("{mode}/{column}"));
        }
        Ok(format!("{mode}/{}", self.stem(mode)?))
    }

    /// What a matrix is called that nobody has given a name: as its file without its endings, or as its column.
    fn stem(&self, mode: &str) -> Result<String, Error> {
        let Given::Files { paths, .. } = &self.table else { return self.heading(mode) };
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

    /// The same for a matrix of a known kind, unless another one was said.
    #[must_use]
    pub fn like(&self, kind: Option<Kind>) -> Couple {
        // Missing is also what nothing said means.
        let kind = kind.filter(|_| self.kind == Kind::Missing).unwrap_or(self.kind);
        Couple { kind, ..self.clone() }
    }

    /// Reads the matrix. `namings` say what the ids of each mode are called, and take up those that only the matrix has;
    /// `known` is how many ids each mode has without it. `tell` is told of ids that are only on one side.
    ///
    /// # Errors
    /// If the table cannot be read, if it is not obvious which columns are meant, at a value that cannot be used, or if there
    /// is someone to tell and no row is one of the tensor's.
    pub fn read(
        &self,
        modes: &[String],
        name: &str,
        namings: &mut [Option<Naming>],
        known: &[usize],
        tell: Option<&mut dyn FnMut(Note)>,
    ) -> Result<Coupled, Error> {
        let mode = self.mode(modes)?;
        let table = self.table.open()?;
        let plain = self.columns.is_empty() && self.split.is_none() && namings[mode].is_none();
        let matrix = match table.numbered()?.filter(|_| plain) {
            Some(path) => Coupled::new(mode, self.kind, files::read_entries(path, Some(2))?)?,
            None => {
                self.check_headings(&table, mode, modes, namings)?;
                self.read_table(&table, mode, &modes[mode], &mut namings[mode], known[mode], tell)?
            }
        };
        let matrix = matrix.named(name);
        Ok(match self.weight {
            Some(weight) => matrix.weighted(weight),
            None => matrix,
        })
    }

    /// Refuses a table whose headings, if nobody has said which are meant, say that its rows are those of another mode.
    fn check_headings(
        &self,
        table: &Opened<'_>,
        mode: usize,
        modes: &[String],
        namings: &[Option<Naming>],
    ) -> Result<(), Error> {
        let Some(own) = namings[mode].as_ref().filter(|_| self.columns.len() < 2) else { return Ok(()) };
        let headings: Vec<String> = table.columns()?.into_iter().map(|column| column.name).collect();
        let other = |heading: &&String| {
            let is =
                |naming: &Option<Naming>| naming.as_ref().is_some_and(|naming| naming.column == **heading);
            namings.iter().position(is).filter(|&other| other != mode && own.column != **heading)
        };
        // The columns of a graph are entities of its mode as well.
        let rows = if headings.contains(&own.column) { None } else { headings.first() };
        let columns = headings.iter().filter(|_| self.kind == Kind::Graph);
        let Some((heading, other)) =
            rows.into_iter().chain(columns).find_map(|name| Some((name, other(&name)?)))
        else {
            return Ok(());
        };
        let example = self.example.replace("{row}", &own.column).replace("{column}", heading);
        Err(Error::Asked(format!(
            "{}: its column {heading} is that of mode {}, but it is coupled to {}: couple it to {} instead, or say which columns are \
             meant, as in {example}",
            self.words, modes[other], modes[mode], modes[other]
        )))
    }

    fn read_table(
        &self,
        table: &Opened<'_>,
        mode: usize,
        mode_name: &str,
        naming: &mut Option<Naming>,
        known: usize,
        tell: Option<&mut dyn FnMut(Note)>,
    ) -> Result<Coupled, Error> {
        let spec = self.spec(table, naming.as_ref())?;
        let wants = spec.wants(naming.as_ref());
        let read = table.read(&wants)?;
        let name = read.name.clone();
        let matrix = spec.matrix(read, mode, naming.as_mut(), known);
        let Matrix { coupled, added, absent } = matrix.map_err(|error| table.explain(error, &wants))?;
        let Some(tell) = tell else { return Ok(coupled) };
        if let (Some(naming), true) = (naming, absent == known && added > 0) {
            // Nothing could be learnt from it: another column is meant, or places are where names should be.
            let (own, other) = (naming.labels.get(known as u32), naming.labels.get(0));
            return Err(Error::Problem(format!(
                "{name}: none of its rows is a {mode_name} of the tensor: it has {own:?}, the tensor {other:?} and the like"
            )));
        }
        let mode = mode_name.to_owned();
        if added > 0 {
            tell(Note::Added { table: name.clone(), count: added, mode: mode.clone() });
        }
        if absent > 0 {
            tell(Note::Absent { table: name, count: absent, of: known, mode });
        }
        Ok(coupled)
    }

    /// Which columns are meant: those that were named, or those that are obvious.
    fn spec(&self, table: &Opened<'_>, naming: Option<&Naming>) -> Result<MatrixSpec, Error> {
        let form = |row: Selector, column: &str, value: Option<Selector>| {
            let column = column.parse().map_err(|what| Error::Asked(format!("{}: {what}", self.words)))?;
            Ok(MatrixSpec { row, column, value, split: self.split.clone(), kind: self.kind })
        };
        match &self.columns[..] {
            [row, column] => return form(Selector::of(row), column, None),
            [row, column, value, ..] => return form(Selector::of(row), column, Some(Selector::of(value))),
            _ => {}
        }
        let columns = table.columns()?;
        let headings: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let shared = naming.and_then(|naming| headings.iter().position(|&name| name == naming.column));
        let row = shared.unwrap_or(0);
        let others: Vec<usize> = (0..columns.len()).filter(|&place| place != row).collect();
        let is_number = |place: usize| columns[place].guess == ColumnKind::Number;
        // By name where there is one, which also says that the first line holds names.
        let choose = |place: usize| match headings[place].parse::<u64>() {
            Ok(_) => Selector::Place(place),
            Err(_) => Selector::Name(headings[place].to_owned()),
        };
        let obvious = |column: usize, value: Option<usize>| {
            let column = ModeSpec { name: None, column: choose(column), bins: None };
            let (row, value) = (choose(row), value.map(choose));
            Ok(MatrixSpec { row, column, value, split: self.split.clone(), kind: self.kind })
        };
        match (&self.columns[..], &others[..]) {
            ([column], _) => form(choose(row), column, None),
            ([], &[column]) => obvious(column, None),
            ([], &[column, value]) if is_number(value) => obvious(column, Some(value)),
            _ => {
                let column = others.first().map_or("2", |&place| headings[place]);
                let example = self.example.replace("{row}", headings.get(row).unwrap_or(&"1"));
                Err(Error::Asked(format!(
                    "{}: say which columns are the matrix, as in {}; there are {}",
                    self.words,
                    example.replace("{column}", column),
                    headings.join(", ")
                )))
            }
        }
    }
}

/// The name of each matrix, among modes of these names; the second `user/friends` is `user/friends#2`.
///
/// # Errors
/// If one is coupled to a mode that there is not.
pub fn matrix_names(couples: &[Couple], modes: &[String]) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for couple in couples {
        let name = couple.name(modes)?;
        let mut numbered = (2..).map(|number| format!("{name}#{number}"));
        let free = std::iter::once(name.clone()).chain(&mut numbered).find(|name| !names.contains(name));
        names.push(free.unwrap_or(name));
    }
    Ok(names)
}
