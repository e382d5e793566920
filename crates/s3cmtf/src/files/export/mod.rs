//! Tables and models out, for other programs to read.

mod csv;
mod model;
mod npz;
#[cfg(feature = "arrow")]
mod parquet;
mod tensors;
mod values;

use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

pub use model::export_model;
pub use values::write_values;

use super::atomic::write_atomically;
use crate::Error;
use crate::error::Reason;
use crate::table::{Data, Labels, Table, did_you_mean};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutFormat {
    /// Text with a heading, separated by commas (RFC 4180).
    Csv,
    /// Apache Parquet.
    Parquet,
    /// An archive of NumPy arrays.
    Npz,
    /// Tensors with their texts in the metadata.
    Safetensors,
}

impl OutFormat {
    /// All of them.
    pub const ALL: [OutFormat; 4] =
        [OutFormat::Csv, OutFormat::Parquet, OutFormat::Npz, OutFormat::Safetensors];

    /// The name, which is also what names of files end in.
    pub fn name(self) -> &'static str {
        match self {
            OutFormat::Csv => "csv",
            OutFormat::Parquet => "parquet",
            OutFormat::Npz => "npz",
            OutFormat::Safetensors => "safetensors",
        }
    }

    /// The format that the name of a file ends in, if it is one.
    pub fn from_path(path: &Path) -> Option<Self> {
        path.extension()?.to_str()?.to_lowercase().parse().ok()
    }
}

impl FromStr for OutFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = OutFormat::ALL.into_iter().find(|format| format.name() == text);
        let names = OutFormat::ALL.map(OutFormat::name);
        let hint = || did_you_mean(names, text);
        found.ok_or_else(|| format!("{text:?} is not one of {}{}", names.join(", "), hint()))
    }
}

/// Values to be written under a name: a column, or an array of more dimensions where a format has such.
struct Out<'a> {
    name: String,
    /// The last index changes fastest; a column has one length.
    shape: Vec<usize>,
    values: Values<'a>,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    Integers(&'a [i64]),
    Texts(&'a [u32], &'a Labels),
    Numbers(&'a [f64]),
    /// The numbers of a model: written with the digits that 32 bits have.
    Singles(&'a [f32]),
    Times(&'a [i64]),
}

impl Values<'_> {
    fn len(&self) -> usize {
        match self {
            Values::Integers(values) | Values::Times(values) => values.len(),
            Values::Texts(codes, _) => codes.len(),
            Values::Numbers(values) => values.len(),
            Values::Singles(values) => values.len(),
        }
    }
}

impl<'a> Out<'a> {
    fn column(name: impl Into<String>, values: Values<'a>) -> Self {
        Out { name: name.into(), shape: vec![values.len()], values }
    }

    fn new(name: &str, data: &'a Data) -> Self {
        let values = match data {
            Data::Integers(values) => Values::Integers(values),
            Data::Texts { codes, labels } => Values::Texts(codes, labels),
            Data::Numbers(values) => Values::Numbers(values),
            Data::Times(values) => Values::Times(values),
        };
        Out::column(name, values)
    }
}

/// Writes a table, whole or not at all.
///
/// Times are ISO texts in csv, timestamps in Parquet, `datetime64[s]` in NumPy and seconds since 1970 in safetensors,
/// where texts are codes and their labels the metadata.
///
/// # Errors
/// If the file cannot be written, if columns differ in length or share a name, or if this build has no Parquet.
pub fn write_table(path: &Path, format: OutFormat, table: &Table) -> Result<(), Error> {
    write_columns(path, format, &outs(table))
}

/// Writes a table as csv, see [`write_table`].
///
/// # Errors
/// If nothing can be written.
pub fn write_csv(writer: &mut dyn Write, table: &Table) -> io::Result<()> {
    csv::write(writer, &outs(table))
}

/// Writes a table that comes in parts with the same columns, whole or not at all: only one part at a time is in memory.
///
/// # Errors
/// If a part is an error, if the file cannot be written, if columns of a part differ in length or share a name, if the format is an archive of
/// arrays, which has to be written at once, or if this build has no Parquet.
pub fn write_parts(
    path: &Path,
    format: OutFormat,
    parts: impl Iterator<Item = io::Result<Table>>,
) -> Result<(), Error> {
    match format {
        OutFormat::Csv => write_atomically(path, |writer| write_csv_parts(writer, parts)),
        OutFormat::Parquet => write_parquet_parts(path, parts),
        OutFormat::Npz | OutFormat::Safetensors => {
            let what = format!("is written in parts, which {} has not: use csv or parquet", format.name());
            Err(Error::file(path, what))
        }
    }
}

/// Writes a table that comes in parts as csv, see [`write_parts`].
///
/// # Errors
/// If a part is an error, if nothing can be written, or columns of a part differ in length or share a name.
pub fn write_csv_parts(
    writer: &mut dyn Write,
    parts: impl Iterator<Item = io::Result<Table>>,
) -> io::Result<()> {
    for (number, part) in parts.enumerate() {
        let part = part?;
        let columns = outs(&part);
        check_columns(&columns).map_err(io::Error::other)?;
        match number {
            0 => csv::write(writer, &columns)?,
            _ => csv::write_rows(writer, &columns)?,
        }
    }
    Ok(())
}

fn outs(table: &Table) -> Vec<Out<'_>> {
    table.columns.iter().map(|column| Out::new(&column.name, &column.data)).collect()
}

/// Says what is wrong with columns: two of a name, or of different lengths.
fn check_columns(columns: &[Out]) -> Result<(), String> {
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("cannot be written: two columns have the name {:?}", pair[0]));
    }
    if let Some(other) = columns.iter().find(|column| column.shape != columns[0].shape) {
        return Err(format!(
            "cannot be written: column {:?} has {} values, but column {:?} has {}",
            columns[0].name,
            columns[0].values.len(),
            other.name,
            other.values.len()
        ));
    }
    Ok(())
}

fn write_columns(path: &Path, format: OutFormat, columns: &[Out]) -> Result<(), Error> {
    check_columns(columns).map_err(|what| Error::file(path, what))?;
    match format {
        OutFormat::Csv => write_atomically(path, |writer| csv::write(writer, columns)),
        OutFormat::Parquet => write_parquet(path, columns),
        OutFormat::Npz | OutFormat::Safetensors => write_arrays(path, format, columns),
    }
}

/// Arrays of any shape, for the formats that have such.
fn write_arrays(path: &Path, format: OutFormat, arrays: &[Out]) -> Result<(), Error> {
    match format {
        OutFormat::Npz => write_atomically(path, |writer| npz::write(writer, arrays)),
        _ => {
            let bytes = tensors::to_bytes(arrays);
            let bytes = bytes.map_err(|error| Error::file(path, Reason::new("cannot be written", error)))?;
            write_atomically(path, |writer| writer.write_all(&bytes))
        }
    }
}

#[cfg(feature = "arrow")]
fn write_parquet(path: &Path, columns: &[Out]) -> Result<(), Error> {
    let bytes = parquet::to_bytes(columns);
    let bytes = bytes.map_err(|error| Error::file(path, Reason::new("cannot be written", error)))?;
    write_atomically(path, |writer| writer.write_all(&bytes))
}

#[cfg(feature = "arrow")]
fn write_parquet_parts(path: &Path, mut parts: impl Iterator<Item = io::Result<Table>>) -> Result<(), Error> {
    let broken = |error: ::parquet::errors::ParquetError| io::Error::other(error);
    let Some(first) = parts.next() else { return write_parquet(path, &[]) };
    let mut part = first.map_err(|source| Error::io(path, source))?;
    write_atomically(path, |writer| {
        let mut file = parquet::Parts::new(&outs(&part)).map_err(broken)?;
        loop {
            let columns = outs(&part);
            check_columns(&columns).map_err(io::Error::other)?;
            writer.write_all(&file.add(&columns).map_err(broken)?)?;
            match parts.next() {
                Some(next) => part = next?,
                None => return writer.write_all(&file.finish().map_err(broken)?),
            }
        }
    })
}

#[cfg(not(feature = "arrow"))]
fn write_parquet_parts(path: &Path, _: impl Iterator<Item = io::Result<Table>>) -> Result<(), Error> {
    write_parquet(path, &[])
}

#[cfg(not(feature = "arrow"))]
fn write_parquet(path: &Path, _: &[Out]) -> Result<(), Error> {
    let what = "cannot be written: this s3cmtf was built without Parquet: build it with `--features arrow`";
    Err(Error::file(path, what))
}

#[cfg(test)]
mod tests;
