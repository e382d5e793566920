//! `.npy` files, whose columns have places, and `.npz` files, whose columns have names.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::column::{self, Fault, Raw};
use super::npy::{Field, Header};
use super::{HEAD, Head};
use crate::Error;
use crate::error::Reason;
use crate::files::choose::choose;
use crate::files::limits::Held;
use crate::files::lines::show;
use crate::parallel;
use crate::table::{Empty, Table, Want};

/// The best that packing can do in an archive of NumPy.
const BEST_PACKING: u64 = 1032;
/// The most columns of a file that has fewer bytes than these.
const MOST_COLUMNS: usize = 1 << 16;

/// Reads the wanted columns of an `.npy` or `.npz` file.
pub(in crate::files) fn read(
    path: &Path,
    wants: &[Want],
    empty: Empty,
) -> Result<(Table, Vec<usize>), Error> {
    if is_archive(path)? { read_archive(path, wants, empty) } else { read_array(path, wants, empty) }
}

/// The headings of all columns, with their first values.
pub(in crate::files) fn head(path: &Path) -> Result<Vec<Head>, Error> {
    let fail = |what| Error::file(path, what);
    if !is_archive(path)? {
        let array = Array::read(&mut open(path)?, (HEAD, u64::MAX), &Held::new(path))?;
        return array.and_then(|array| array.head()).map_err(fail);
    }
    let (names, held) = (array_names(path)?, Held::new(path));
    if let Some(values) = coordinate_values(&names) {
        let (coords, numbers) = coordinates(path, values)?;
        let (names, _) = coords.columns().map_err(fail)?;
        // Ids whatever they look like: small ones would be taken for ratings.
        let mut head: Vec<Head> =
            names.into_iter().map(|name| (name, Some(Raw::Signed(Vec::new())))).collect();
        head.push((values.to_owned(), Some(numbers)));
        return Ok(head);
    }
    if let [only] = &names[..] {
        let array = read_entry(path, only, HEAD, &held)?;
        if array.is_table() {
            return array.head().map_err(fail);
        }
    }
    Ok(names.into_iter().map(|name| (name.clone(), read_column(path, &name, HEAD, &held).ok())).collect())
}

/// Which of the two a file is, its first bytes say.
fn is_archive(path: &Path) -> Result<bool, Error> {
    let mut start = Vec::new();
    open(path)?.take(2).read_to_end(&mut start).map_err(|source| Error::io(path, source))?;
    Ok(start == b"PK")
}

fn open(path: &Path) -> Result<BufReader<File>, Error> {
    let io = |source| Error::io(path, source);
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.is_dir() {
        return Err(Error::file(path, "is a folder, but a file of NumPy is needed"));
    }
    Ok(BufReader::with_capacity(1 << 17, file))
}

fn read_array(path: &Path, wants: &[Want], empty: Empty) -> Result<(Table, Vec<usize>), Error> {
    let length = std::fs::metadata(path).map_or(u64::MAX, |found| found.len());
    let array = Array::read(&mut open(path)?, (usize::MAX, length), &Held::new(path))?;
    let array = array.map_err(|what| Error::file(path, what))?;
    array.table(path, wants, empty)
}

/// An array with its bytes.
struct Array {
    header: Header,
    bytes: Vec<u8>,
}

/// One column within an array.
struct Slice<'a> {
    field: &'a Field,
    start: usize,
    stride: usize,
    count: usize,
}

impl Array {
    /// Reads an array, or about `most` rows of it. It is refused if it does not fit into memory, unless there are only
    /// `there` bytes of it, and what is wrong with it otherwise is said in words.
    fn read(
        reader: &mut dyn Read,
        (most, there): (usize, u64),
        held: &Held,
    ) -> Result<Result<Array, String>, Error> {
        let header = Header::read(reader).and_then(|mut header| {
            if let Some(rows) = header.shape.first_mut().filter(|_| !header.fortran) {
                *rows = most.min(*rows);
            }
            match header.size() {
                Some(size) => Ok((header, size)),
                None => Err(format!("has the impossible shape {:?}", header.shape)),
            }
        });
        match header {
            Err(what) => Ok(Err(what)),
            Ok((header, size)) => {
                held.add(there.min(size as u64))?;
                Ok(Array::behind(header, size, reader))
            }
        }
    }

    /// Reads the bytes behind a header.
    fn behind(header: Header, size: usize, reader: &mut dyn Read) -> Result<Array, String> {
        // Memory follows what is there, never what is declared.
        let mut bytes = Vec::new();
        let limit = size as u64;
        reader
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("is cut off or broken: {error}"))?;
        if bytes.len() < size {
            return Err(format!(
                "is cut off: its array has {size} bytes, but only {} are there",
                bytes.len()
            ));
        }
        Ok(Array { header, bytes })
    }

    fn table(&self, path: &Path, wants: &[Want], empty: Empty) -> Result<(Table, Vec<usize>), Error> {
        let (names, slices) = self.columns().map_err(|what| Error::file(path, what))?;
        let places = choose(path, &names, wants)?;
        let distinct = column::distinct(&places);
        let raw = parallel::try_map_of(&distinct, |&place| {
            self.values(&slices[place]).map_err(|fault| column::at(path, &names[place], fault))
        })?;
        column::table(path, &names, (wants, empty), &places, &distinct, raw)
    }

    fn head(&self) -> Result<Vec<Head>, String> {
        let (names, slices) = self.columns()?;
        Ok(names.into_iter().zip(&slices).map(|(name, slice)| (name, self.values(slice).ok())).collect())
    }

    /// Whether it has several columns, and not the values of one.
    fn is_table(&self) -> bool {
        self.header.shape.len() > 1 || self.header.fields.len() > 1
    }

    fn values(&self, slice: &Slice) -> Result<Raw, Fault> {
        let Slice { field, start, stride, count } = *slice;
        field.values.read(&self.bytes, start, stride, count)
    }

    /// The columns of a list of rows: the second index, the fields of a structured array, or both.
    fn columns(&self) -> Result<(Vec<String>, Vec<Slice<'_>>), String> {
        let Header { fields, width, fortran, shape } = &self.header;
        let (rows, columns) = match shape[..] {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return Err(format!("has {} dimensions, but rows and columns are needed", shape.len())),
        };
        // Columns without rows and values without bytes cost nothing in a file, but would here.
        let many = columns.saturating_mul(fields.len()) > MOST_COLUMNS.max(self.bytes.len());
        if *width == 0 || many {
            return Err(format!("has the shape {shape:?}, but not as many values"));
        }
        let mut names = Vec::new();
        let mut slices = Vec::new();
        for column in 0..columns {
            let (start, stride) =
                if *fortran { (column * rows * width, *width) } else { (column * width, columns * width) };
            for field in fields {
                names.push(if field.name.is_empty() {
                    (names.len() + 1).to_string()
                } else {
                    field.name.clone()
                });
                slices.push(Slice { field, start: start + field.start, stride, count: rows });
            }
        }
        Ok((names, slices))
    }

    /// The first index taken as columns: what `coords` of the shape `[k, n]` needs.
    fn transpose(mut self) -> Array {
        self.header.shape.reverse();
        self.header.fortran = !self.header.fortran;
        self
    }
}

fn read_archive(path: &Path, wants: &[Want], empty: Empty) -> Result<(Table, Vec<usize>), Error> {
    let names = array_names(path)?;
    if let Some(values) = coordinate_values(&names) {
        return read_coordinates(path, values, wants, empty);
    }
    if let [only] = &names[..] {
        let array = read_entry(path, only, usize::MAX, &Held::new(path))?;
        if array.is_table() {
            return array.table(path, wants, empty);
        }
    }
    let places = choose(path, &names, wants)?;
    let distinct = column::distinct(&places);
    let held = Held::new(path);
    let raw = parallel::try_map_of(&distinct, |&place| read_column(path, &names[place], usize::MAX, &held))?;
    column::table(path, &names, (wants, empty), &places, &distinct, raw)
}

/// The array of values beside one that is called `coords`, if there are both.
fn coordinate_values(names: &[String]) -> Option<&'static str> {
    let has = |name: &str| names.iter().any(|other| other == name);
    ["values", "data"].into_iter().find(|values| has("coords") && has(values))
}

/// One array per column.
fn read_column(path: &Path, name: &str, most: usize, held: &Held) -> Result<Raw, Error> {
    let array = read_entry(path, name, most, held)?;
    let (_, slices) = array.columns().map_err(|what| Error::file(path, format!("array {name:?} {what}")))?;
    match &slices[..] {
        [slice] => array.values(slice).map_err(|fault| column::at(path, name, fault)),
        _ => Err(Error::file(
            path,
            format!("array {name:?} has the shape {:?}, but one value per row is needed", array.header.shape),
        )),
    }
}

/// An array `coords` with all ids, a row per value, and another with the values.
fn coordinates(path: &Path, values: &str) -> Result<(Array, Raw), Error> {
    let held = Held::new(path);
    let (coords, numbers) = parallel::both(
        || read_entry(path, "coords", usize::MAX, &held),
        || read_column(path, values, usize::MAX, &held),
    );
    let (coords, numbers) = (coords?, numbers?);
    // Where both fit, rows come first, as in a table.
    let coords = match coords.header.shape[..] {
        [rows, _] if rows == numbers.len() => coords,
        [_, rows] if rows == numbers.len() => coords.transpose(),
        ref shape => {
            let what = format!("has the shape {shape:?}, but there are {} values", numbers.len());
            return Err(Error::file(path, format!("array \"coords\" {what}")));
        }
    };
    Ok((coords, numbers))
}

fn read_coordinates(
    path: &Path,
    values: &str,
    wants: &[Want],
    empty: Empty,
) -> Result<(Table, Vec<usize>), Error> {
    let (coords, numbers) = coordinates(path, values)?;
    let fail = |what| Error::file(path, format!("array \"coords\" {what}"));
    let (mut names, slices) = coords.columns().map_err(fail)?;
    names.push(values.to_owned());
    let places = choose(path, &names, wants)?;
    let distinct = column::distinct(&places);
    let read = |&place: &usize| match slices.get(place) {
        Some(slice) => coords.values(slice).map_err(|fault| column::at(path, &names[place], fault)),
        None => Ok(numbers.clone()),
    };
    let raw = parallel::try_map_of(&distinct, read)?;
    column::table(path, &names, (wants, empty), &places, &distinct, raw)
}

fn broken(path: &Path, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) if source.kind() == std::io::ErrorKind::NotFound => Error::io(path, source),
        error => Error::file(path, Reason::new("is cut off or no archive of NumPy", error)),
    }
}

/// The arrays of an archive, by the names that NumPy gives them.
fn array_names(path: &Path) -> Result<Vec<String>, Error> {
    let archive = ZipArchive::new(open(path)?).map_err(|error| broken(path, error))?;
    let (mut names, mut arrays) = (Vec::new(), 0);
    for name in archive.file_names() {
        let name = name.map_err(|error| broken(path, error))?;
        arrays += usize::from(name.ends_with(".npy"));
        names.push(name.strip_suffix(".npy").unwrap_or(&name).to_owned());
    }
    match names.first() {
        Some(first) if arrays == 0 => Err(Error::file(
            path,
            format!(
                "is a .zip file without an array of NumPy: unpack it first, it holds {}",
                show(first.as_bytes())
            ),
        )),
        _ => Ok(names),
    }
}

/// An array of an archive, or about `most` rows of it. Each call opens the file anew, so that several threads can read from it.
fn read_entry(path: &Path, name: &str, most: usize, held: &Held) -> Result<Array, Error> {
    let mut archive = ZipArchive::new(open(path)?).map_err(|error| broken(path, error))?;
    let with_ending = format!("{name}.npy");
    let entry = match archive.index_for_name(&with_ending) {
        Some(_) => archive.by_name(&with_ending),
        None => archive.by_name(name),
    };
    let mut entry = entry.map_err(|error| broken(path, error))?;
    let there = entry.compressed_size().saturating_mul(BEST_PACKING);
    let array = Array::read(&mut entry, (most, there), held)?;
    let array = array.map_err(|what| Error::file(path, format!("array {name:?} {what}")))?;
    if most < usize::MAX {
        return Ok(array);
    }
    // The checksum is compared where an entry ends.
    let mut behind = [0];
    match entry.read(&mut behind) {
        Ok(0) => Ok(array),
        Ok(_) => Err(Error::file(path, format!("array {name:?} has more bytes than its shape says"))),
        Err(error) => Err(Error::file(path, Reason::new(format!("array {name:?} is broken"), error))),
    }
}
