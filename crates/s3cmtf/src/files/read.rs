//! Tables of any format: which files, which columns.

use std::path::{Path, PathBuf};

use super::binary::{self, Raw};
use super::choose::choose;
use super::delimited::{Opening, Take, find_row, read, wrong_quotes};
use super::format::Format;
use super::guess::guess;
use super::source::{Text, is_read_once};
use crate::Error;
use crate::error::Reason;
use crate::table::time::DateOrder;
use crate::table::{Column, ColumnType, Data, Empty, Table, Want, is_empty_value};

/// Enough of a file to know its format.
const HEAD: usize = 1 << 16;
/// The values that are shown of a column.
const SHOWN: usize = 5;
/// The values of a column that are looked at.
const GUESSED: usize = 100;

/// One file or several that are one table, and what is known about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The files, in the order of their rows; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// Their format; found out, for each file, if it is `None`.
    pub format: Option<Format>,
    /// Whether the first line holds headings; found out, for each file, if it is `None`.
    pub header: Option<bool>,
    /// What becomes of rows in which a wanted value is empty.
    pub empty: Empty,
}

/// A column of a file, as its first rows show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledColumn {
    /// Its heading; `1`, `2` and so on where it has none.
    pub name: String,
    /// The first values, at most five.
    pub values: Vec<String>,
    /// What it probably holds.
    pub guess: ColumnType,
}

impl Source {
    /// The file at a path, or those whose paths match a pattern such as `part-*.csv`, sorted.
    ///
    /// # Errors
    /// If the pattern is wrong, or nothing matches it.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        let paths = match pattern {
            // A file may have such a name.
            Some(pattern) if !path.exists() => expand(path, pattern)?,
            _ => vec![path.to_path_buf()],
        };
        Ok(Source { paths, format: None, header: None, empty: Empty::Refuse })
    }

    /// What errors call it.
    pub fn name(&self) -> String {
        match self.paths.as_slice() {
            [] => "no file".to_owned(),
            [path] => path.display().to_string(),
            [path, more @ ..] => format!("{} and {} more", path.display(), more.len()),
        }
    }

    pub(super) fn no_rows(&self) -> Error {
        let path = self.paths.first().cloned().unwrap_or_default();
        let what = if self.paths.len() > 1 { "has no rows, nor have the other files" } else { "has no rows" };
        Error::file(&path, what)
    }

    fn no_whole_rows(&self, rows: usize) -> Error {
        let path = self.paths.first().cloned().unwrap_or_default();
        Error::file(
            &path,
            format!("has an empty cell in each of its {rows} rows, in the columns that are needed"),
        )
    }
}

fn expand(path: &Path, pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let wrong =
        |error: glob::PatternError| Error::file(path, Reason::new("is not a pattern of file names", error));
    let mut paths = Vec::new();
    for found in glob::glob(pattern).map_err(wrong)? {
        let found = found.map_err(|error| Error::io(&PathBuf::from(error.path()), error.into()))?;
        if !found.is_dir() {
            paths.push(found);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Error::file(path, "matches no file"));
    }
    Ok(paths)
}

/// A file of a source, opened.
pub(super) enum Opened {
    /// Text, and how it starts; none where there is nothing but blank lines.
    Text(Box<Text>, Option<Opening>),
    Binary(Format),
}

pub(super) fn open(
    source: &Source,
    path: &Path,
    wants: &[Want],
    earlier: Option<&[String]>,
) -> Result<Opened, Error> {
    open_text(Text::open(path)?, source, path, wants, earlier)
}

/// The same, to see what a file starts with; what can be read only once is still there for the next reader.
fn look(source: &Source, path: &Path) -> Result<Opened, Error> {
    open_text(Text::look(path)?, source, path, &[], None)
}

fn open_text(
    mut text: Text,
    source: &Source,
    path: &Path,
    wants: &[Want],
    earlier: Option<&[String]>,
) -> Result<Opened, Error> {
    match detect(&mut text, source, path)? {
        format @ (Format::Tns | Format::Csv) => {
            let blanks = format == Format::Tns;
            let opening = Opening::read(&mut text, path, blanks, source.header, wants, earlier)?;
            Ok(Opened::Text(Box::new(text), opening))
        }
        format if is_read_once(path) => Err(Error::file(
            path,
            format!("is {}, which cannot be read from standard input or a pipe", format.name()),
        )),
        // Its reader unpacks it, as it is text.
        Format::MatrixMarket => Ok(Opened::Binary(Format::MatrixMarket)),
        format => match text.packed() {
            Some(packed) => Err(Error::file(
                path,
                format!(
                    "is {} packed with {packed}: only text is read packed, so unpack it first",
                    format.name()
                ),
            )),
            None => Ok(Opened::Binary(format)),
        },
    }
}

/// What is known of the format, or what the content says.
fn detect(text: &mut Text, source: &Source, path: &Path) -> Result<Format, Error> {
    match source.format {
        Some(format) => Ok(format),
        None => {
            let (head, whole) = text.peek(HEAD)?;
            Ok(Format::detect(head, whole, path))
        }
    }
}

/// The format of the first file. Standard input and pipes can still be read from their start.
///
/// # Errors
/// If it cannot be read.
pub fn format(source: &Source) -> Result<Format, Error> {
    match source.paths.first() {
        Some(path) => detect(&mut Text::look(path)?, source, path),
        None => Ok(source.format.unwrap_or(Format::Tns)),
    }
}

/// Reads the wanted columns of all files, as one table in the order of the files.
///
/// Files may be packed with gzip or zstd. A column that is wanted by name may be at another place in each file, if they
/// have headings.
///
/// # Errors
/// If a file cannot be read, if it has no such column, at the first value that is empty, unless the source says otherwise,
/// or not of the wanted kind, at a record with another number of fields, or if there is no row.
pub fn read_table(source: &Source, wants: &[Want]) -> Result<Table, Error> {
    read_rows(source, wants).map(|(table, _)| table)
}

/// The same, and which rows of the files were left out, counted from 0 over all of them.
///
/// # Errors
/// As [`read_table`].
pub fn read_rows(source: &Source, wants: &[Want]) -> Result<(Table, Vec<usize>), Error> {
    let mut headings: Option<Vec<String>> = None;
    let mut data: Vec<Data> = wants.iter().map(|want| empty(want.kind)).collect();
    let mut names: Vec<String> = Vec::new();
    let (mut rows, mut skipped) = (0, Vec::new());
    let orders = date_orders(source, wants)?;
    for path in &source.paths {
        let before = rows + skipped.len();
        match open(source, path, wants, headings.as_deref())? {
            Opened::Text(_, None) => {}
            Opened::Text(text, Some(opening)) => {
                let places = choose(path, &opening.headings, wants)?;
                let takes = places.iter().zip(wants).zip(&orders);
                let takes: Vec<Take> =
                    takes.map(|((&place, want), &order)| Take { place, kind: want.kind, order }).collect();
                let read = read(*text, path, &opening, (&takes, source.empty), &mut data)?;
                rows += read.rows;
                skipped.extend(read.skipped.iter().map(|row| before + row));
                if names.is_empty() {
                    names = places.iter().map(|&place| opening.headings[place].clone()).collect();
                }
                headings.get_or_insert(opening.headings);
            }
            Opened::Binary(format) => {
                let (table, left_out) = binary::read_rows(path, format, wants, source.empty)?;
                skipped.extend(left_out.iter().map(|row| before + row));
                rows += table.columns.first().map_or(0, |column| column.data.len());
                if names.is_empty() {
                    names = table.columns.iter().map(|column| column.name.clone()).collect();
                }
                data.iter_mut().zip(table.columns).for_each(|(data, column)| data.append(column.data));
            }
        }
    }
    if rows == 0 {
        return Err(if skipped.is_empty() { source.no_rows() } else { source.no_whole_rows(skipped.len()) });
    }
    let columns = names.into_iter().zip(data).map(|(name, data)| Column { name, data }).collect();
    Ok((Table { name: source.name(), columns }, skipped))
}

/// Which number of dates with slashes comes first in each wanted column that is read as times. Files are one table: one may say
/// what another does not.
fn date_orders(source: &Source, wants: &[Want]) -> Result<Vec<Option<DateOrder>>, Error> {
    let mut values: Vec<Vec<String>> = vec![Vec::new(); wants.len()];
    let mut headings: Option<Vec<String>> = None;
    let paths = if wants.iter().any(|want| want.kind == ColumnType::Time) { &source.paths[..] } else { &[] };
    for path in paths {
        let opened = open_text(Text::look(path)?, source, path, wants, headings.as_deref())?;
        let Opened::Text(_, Some(opening)) = opened else { continue };
        let places = choose(path, &opening.headings, wants)?;
        for ((place, want), values) in places.into_iter().zip(wants).zip(&mut values) {
            if want.kind == ColumnType::Time {
                let column = opening.rows.iter().filter_map(|row| row.get(place));
                values.extend(column.cloned());
            }
        }
        headings.get_or_insert(opening.headings);
    }
    Ok(values.iter().map(|values| DateOrder::infer(values.iter().map(String::as_str))).collect())
}

fn empty(kind: ColumnType) -> Data {
    match kind {
        ColumnType::Id => Data::Integers(Vec::new()),
        ColumnType::Number => Data::Numbers(Vec::new()),
        ColumnType::Time => Data::Times(Vec::new()),
    }
}

/// The columns of the first file that has any, with their first values. Standard input and pipes can still be read from their start.
///
/// # Errors
/// If the files cannot be read or have no rows.
pub fn columns(source: &Source) -> Result<Vec<SampledColumn>, Error> {
    for path in &source.paths {
        match look(source, path)? {
            Opened::Text(_, None) => {}
            Opened::Text(_, Some(opening)) => {
                let broken = opening.broken.map(|line| wrong_quotes(path, line));
                return broken.map_or_else(|| Ok(sample(&opening)), Err);
            }
            Opened::Binary(format) => return sample_binary(path, format),
        }
    }
    Err(source.no_rows())
}

/// The columns of a file that says what they hold, but not what whole numbers and texts mean: those are guessed as in text.
fn sample_binary(path: &Path, format: Format) -> Result<Vec<SampledColumn>, Error> {
    Ok(binary::head(path, format)?.into_iter().map(|(name, values)| sampled(name, values)).collect())
}

/// A column as its first values show it.
pub(super) fn sampled(name: String, values: Option<Raw>) -> SampledColumn {
    let shown = values.as_ref().map_or(Vec::new(), |values| values.shown(GUESSED));
    // A place in the stead of a name.
    let heading = Some(name.as_str()).filter(|name| name.parse::<u64>().is_err());
    let guess = match values {
        Some(Raw::Times(_)) => ColumnType::Time,
        Some(Raw::Numbers(_)) if heading.is_some() => ColumnType::Number,
        _ => guess(heading, &shown.iter().map(String::as_str).collect::<Vec<_>>()),
    };
    SampledColumn { guess, values: shown.into_iter().take(SHOWN).collect(), name }
}

/// The columns of the first file that has any, and what they are to be read as to keep all they hold: what their types
/// say, and what text looks like.
///
/// # Errors
/// If the files cannot be read or have no rows.
pub fn kinds(source: &Source) -> Result<Vec<(String, ColumnType)>, Error> {
    for path in &source.paths {
        match look(source, path)? {
            Opened::Text(_, None) => {}
            Opened::Text(_, Some(opening)) => {
                return Ok(sample(&opening).into_iter().map(|column| (column.name, column.guess)).collect());
            }
            Opened::Binary(format) => {
                let kind = |values: &Option<Raw>| match values {
                    Some(Raw::Times(_)) => ColumnType::Time,
                    Some(Raw::Numbers(_)) => ColumnType::Number,
                    _ => ColumnType::Id,
                };
                let head = binary::head(path, format)?.into_iter();
                return Ok(head.map(|(name, values)| (name, kind(&values))).collect());
            }
        }
    }
    Err(source.no_rows())
}

fn sample(opening: &Opening) -> Vec<SampledColumn> {
    let column = |(place, name): (usize, &String)| {
        let given: Vec<&str> =
            opening.rows.iter().filter_map(|row| row.get(place).map(String::as_str)).collect();
        // An empty cell says nothing about the others.
        let there = given.iter().filter(|value| !is_empty_value(value.as_bytes()));
        // Where decimals follow a comma, they are guessed at as if it were a point.
        let plain = there.map(|value| match opening.separator.number(value.as_bytes()) {
            Some(_) => value.replace(',', "."),
            None => (*value).to_owned(),
        });
        let plain: Vec<String> = plain.collect();
        let values: Vec<&str> = plain.iter().map(String::as_str).collect();
        let is_value = opening.is_tns() && place + 1 == opening.headings.len();
        SampledColumn {
            name: name.clone(),
            guess: match opening.has_header {
                _ if is_value => ColumnType::Number,
                true => guess(Some(name), &values),
                false => guess(None, &values),
            },
            values: given.iter().take(SHOWN).map(|&value| value.to_owned()).collect(),
        }
    };
    opening.headings.iter().enumerate().map(column).collect()
}

/// The file and the line, counted from 1, on which a row of the table, counted from 0, starts; `None` if that cannot be
/// said: the file is not text, or can be read only once, or there are fewer rows.
///
/// Tables do not remember their lines, which would cost memory in every run for the sake of the few that fail; the files
/// are read once more instead.
///
/// # Errors
/// If a file cannot be read.
pub fn line_of_row(source: &Source, wants: &[Want], row: usize) -> Result<Option<(PathBuf, u64)>, Error> {
    let (mut headings, mut left) = (None, row);
    for path in &source.paths {
        if is_read_once(path) {
            return Ok(None);
        }
        match open(source, path, wants, headings.as_deref())? {
            Opened::Text(_, None) => {}
            Opened::Text(text, Some(opening)) => match find_row(*text, &opening, left)? {
                Ok(line) => return Ok(Some((path.clone(), line))),
                Err(rows) => {
                    left -= rows;
                    headings.get_or_insert(opening.headings);
                }
            },
            Opened::Binary(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// Whether a source is one file of indices that count from 1, which needs no words about its columns.
///
/// # Errors
/// If it cannot be read.
pub fn is_numbered(source: &Source) -> Result<bool, Error> {
    Ok(source.paths.len() == 1 && format(source)? == Format::Tns)
}

/// Turns an error about a row of a source into one that names its file and line.
pub fn with_row_line(error: Error, source: &Source, wants: &[Want]) -> Error {
    let Error::Entry { table, entry, what } = error else { return error };
    match line_of_row(source, wants, entry) {
        Ok(Some((path, line))) => Error::Line { path, line, what },
        _ => Error::Entry { table, entry, what },
    }
}

#[cfg(test)]
mod tests;
