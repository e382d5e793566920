//! A whole problem in one file, which is read as fast as the disk: nothing is sorted, merged or looked up again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::atomic::write_atomically;
use super::model_file::{ModeHeader, NamingHeader};
use super::pieces::{self, Number};
use super::stored::StoredEntries;
use crate::error::Reason;
use crate::table::Labels;
use crate::{Absent, Coupled, Entries, Error, Mode, Naming, Problem, StoredProblem};

/// The version of the format.
const FORMAT: u64 = 1;
/// The keys of [`Header`], and of its own check, in the metadata of the file.
const KEY: &str = "s3cmtf-problem";
const CHECK: &str = "s3cmtf-problem-check";
/// The longest header: that of a safetensors file.
const LONGEST: u64 = 100_000_000;
/// The key of the metadata among the tensors.
const METADATA: &str = "__metadata__";

/// Everything about a problem that is not an array.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u64,
    /// What errors call the tensor.
    name: String,
    modes: Vec<ModeHeader>,
    coupled: Vec<CoupledHeader>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// The check of each array.
    checks: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct CoupledHeader {
    name: String,
    table: String,
    mode: usize,
    kind: Absent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<f32>,
    /// None for a graph.
    columns: Option<ModeHeader>,
}

/// What safetensors say about an array.
#[derive(Serialize, Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// An array to be written.
enum Array<'a> {
    U64(Vec<u64>),
    U32(&'a [u32]),
    Rows(Vec<u32>),
    F32(&'a [f32]),
    U8(&'a [u8]),
}

impl Array<'_> {
    /// The type, the bytes of a number, and how many there are.
    fn form(&self) -> (&'static str, u64, usize) {
        match self {
            Array::U64(numbers) => ("U64", 8, numbers.len()),
            Array::U32(numbers) => ("U32", 4, numbers.len()),
            Array::Rows(numbers) => ("U32", 4, numbers.len()),
            Array::F32(numbers) => ("F32", 4, numbers.len()),
            Array::U8(numbers) => ("U8", 1, numbers.len()),
        }
    }

    fn check(&self) -> String {
        match self {
            Array::U64(numbers) => pieces::check(numbers),
            Array::U32(numbers) => pieces::check(numbers),
            Array::Rows(numbers) => pieces::check(numbers),
            Array::F32(numbers) => pieces::check(numbers),
            Array::U8(numbers) => pieces::check(numbers),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Array::U64(numbers) => pieces::write(numbers, out),
            Array::U32(numbers) => pieces::write(numbers, out),
            Array::Rows(numbers) => pieces::write(numbers, out),
            Array::F32(numbers) => pieces::write(numbers, out),
            Array::U8(numbers) => pieces::write(numbers, out),
        }
    }
}

/// How many indices of a problem are rows of a mode: a mode without lists must not have more rows than these.
fn listed(mode: usize, entries: usize, coupled: &[Coupled]) -> usize {
    let matrix = |matrix: &&Coupled| matrix.mode() == mode;
    let indices =
        |matrix: &Coupled| matrix.entries().len() * if matrix.kind() == Absent::Graph { 2 } else { 1 };
    entries + coupled.iter().filter(matrix).map(indices).sum::<usize>()
}

fn add_mode<'a>(
    mode: &'a Mode,
    prefix: &str,
    number: usize,
    listed: usize,
    to: &mut Vec<(String, Array<'a>)>,
) {
    if let Some(ids) = mode.present() {
        to.push((format!("{prefix}present.{number}"), Array::U32(ids)));
    } else if mode.naming().is_none() && mode.rows() > listed {
        to.push((format!("{prefix}present.{number}"), Array::Rows((0..mode.size()).collect())));
    }
    if let Some(naming) = mode.naming() {
        let (text, ends) = naming.labels.parts();
        to.push((format!("{prefix}label.{number}"), Array::U8(text.as_bytes())));
        let ends = ends.iter().map(|&end| end as u64).collect();
        to.push((format!("{prefix}label_end.{number}"), Array::U64(ends)));
    }
}

/// Saves a problem as one file, which appears whole or not at all.
///
/// The notes of [`Problem::notes`] are not kept: they are about how it was built.
///
/// # Errors
/// If the file cannot be written; what was there before is then still there.
pub fn save_problem(problem: &Problem, path: &Path) -> Result<(), Error> {
    let file = Whole::new(problem).map_err(|what| Error::file(path, what))?;
    write_atomically(path, |out| file.write(out))
}

/// What the file of a problem holds.
pub(super) struct Whole<'a> {
    /// All before the arrays.
    head: String,
    arrays: Vec<(String, Array<'a>)>,
}

impl Whole<'_> {
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&(self.head.len() as u64).to_le_bytes())?;
        out.write_all(self.head.as_bytes())?;
        self.arrays.iter().try_for_each(|(_, array)| array.write(out))
    }
}

impl<'a> Whole<'a> {
    pub(super) fn new(problem: &'a Problem) -> Result<Self, String> {
        let mut arrays = Vec::new();
        for (number, mode) in problem.modes().iter().enumerate() {
            arrays.push((format!("entry.{number}"), Array::U32(problem.entries().indices(number))));
            add_mode(
                mode,
                "",
                number,
                listed(number, problem.entries().len(), problem.coupled()),
                &mut arrays,
            );
        }
        arrays.push(("value".to_owned(), Array::F32(problem.entries().values())));
        let mut coupled = Vec::new();
        for (number, matrix) in problem.coupled().iter().enumerate() {
            let entries = matrix.entries();
            for side in 0..2 {
                arrays.push((format!("coupled_entry.{number}.{side}"), Array::U32(entries.indices(side))));
            }
            arrays.push((format!("coupled_value.{number}"), Array::F32(entries.values())));
            let graph = matrix.kind() == Absent::Graph;
            if !graph {
                add_mode(matrix.columns(), "coupled_", number, entries.len(), &mut arrays);
            }
            coupled.push(CoupledHeader {
                name: matrix.name().to_owned(),
                table: entries.name().to_owned(),
                mode: matrix.mode(),
                kind: matrix.kind(),
                weight: matrix.weight(),
                columns: (!graph).then(|| ModeHeader::from_mode(matrix.columns())),
            });
        }
        // Long numbers first: so each array starts where its numbers may lie.
        arrays.sort_by_key(|(_, array)| std::cmp::Reverse(array.form().1));

        let header = Header {
            format: FORMAT,
            name: problem.entries().name().to_owned(),
            modes: problem.modes().iter().map(ModeHeader::from_mode).collect(),
            coupled,
            value: problem.value().map(str::to_owned),
            checks: arrays.iter().map(|(name, array)| (name.clone(), array.check())).collect(),
        };
        let json = |error: serde_json::Error| error.to_string();
        let header = serde_json::to_string(&header).map_err(json)?;
        let metadata = serde_json::json!({ CHECK: text_check(&header), KEY: header });
        let mut file = serde_json::Map::from_iter([(METADATA.to_owned(), metadata)]);
        let mut end = 0;
        for (name, array) in &arrays {
            let ((dtype, bytes, len), start) = (array.form(), end);
            end += bytes * len as u64;
            let info = Info { dtype: dtype.into(), shape: vec![len as u64], data_offsets: [start, end] };
            file.insert(name.clone(), serde_json::to_value(info).map_err(json)?);
        }
        let mut file = serde_json::to_string(&file).map_err(json)?;
        // Blanks, so that the first array starts at a multiple of 8.
        file.extend(std::iter::repeat_n(' ', file.len().next_multiple_of(8) - file.len()));
        if file.len() as u64 > LONGEST {
            return Err("cannot be written: the names and bounds of its modes are too long".into());
        }
        Ok(Whole { head: file, arrays })
    }
}
fn text_check(header: &str) -> String {
    format!("{:016x}", xxh3_64(header.as_bytes()))
}

/// Whether a file is one that [`save_problem`] wrote, by its first bytes.
///
/// # Errors
/// If it cannot be read.
pub fn is_problem(path: &Path) -> Result<bool, Error> {
    let io = |source| Error::io(path, source);
    // What can be read only once, such as standard input or a pipe, is left alone.
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return Ok(false);
    }
    let mut head = Vec::new();
    let start = format!("{{\"{METADATA}\":{{\"{KEY}");
    let length = 8 + start.len() as u64;
    io::Read::read_to_end(&mut io::Read::take(File::open(path).map_err(io)?, length), &mut head)
        .map_err(io)?;
    Ok(head.get(8..) == Some(start.as_bytes()))
}

/// Loads a problem that [`save_problem`] wrote.
///
/// # Errors
/// If the file cannot be read, is no such file, of another version, cut off or changed.
pub fn load_problem(path: &Path) -> Result<Problem, Error> {
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    load_open(&file, path)
}

/// The same of a file that is open; it goes by this path in errors.
pub(super) fn load_open(file: &File, path: &Path) -> Result<Problem, Error> {
    build(file).map_err(|what| Error::file(path, what))
}

fn build(file: &File) -> Result<Problem, Reason> {
    let Parts { name, modes, coupled, value, mut arrays } = Parts::read(file)?;
    let indices: Result<Vec<Vec<u32>>, Reason> =
        (0..modes.len()).map(|mode| arrays.take(&format!("entry.{mode}"), "U32")).collect();
    let entries = Entries::from_rows(name, indices?, arrays.take("value", "F32")?);
    Problem::restore(modes, entries, coupled, value).map_err(|error| error.to_string().into())
}

/// Opens a problem that [`save_problem`] wrote without taking its entries into memory, which are read when they are needed.
/// That the file is whole is seen now; it must not change as long as the problem is used.
///
/// # Errors
/// As [`load_problem`].
pub fn open_problem(path: &Path) -> Result<StoredProblem, Error> {
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    let wrong = |reason: Reason| Error::file(path, reason);
    let Parts { modes, coupled, value, arrays, .. } = Parts::read(&file).map_err(wrong)?;
    let entries = arrays.stored(modes.len(), path).map_err(wrong)?;
    // Errors of reading name the file, those of what was read do not.
    StoredProblem::new(modes, Arc::new(entries), coupled, value).map_err(|error| match error {
        error @ (Error::Io { .. } | Error::File { .. }) => error,
        error => wrong(error.to_string().into()),
    })
}

/// All of a problem but its entries, whose arrays have not been used yet.
struct Parts<'a> {
    name: String,
    modes: Vec<Mode>,
    coupled: Vec<Coupled>,
    value: Option<String>,
    arrays: Arrays<'a>,
}

impl<'a> Parts<'a> {
    fn read(file: &'a File) -> Result<Self, Reason> {
        let length = file.metadata().map_err(|error| Reason::new("cannot be read", error))?.len();
        let (header, arrays, start) = read_header(file, length)?;
        let mut arrays = Arrays { file, start, arrays, checks: header.checks };
        let (mut modes, mut unlisted) = (Vec::new(), Vec::new());
        for (number, mode) in header.modes.into_iter().enumerate() {
            let (mode, is_listed) = arrays.mode(mode, "", number)?;
            unlisted.extend((!is_listed).then_some(number));
            modes.push(mode);
        }
        let mut coupled = Vec::new();
        for (number, matrix) in header.coupled.into_iter().enumerate() {
            coupled.push(arrays.coupled(number, matrix)?);
        }
        let ours =
            |name: &str| name == "value" || (0..modes.len()).any(|mode| name == format!("entry.{mode}"));
        if let Some(name) = arrays.arrays.keys().find(|name| !ours(name)) {
            return Err(format!("has an array \"{name}\" that does not belong to its problem").into());
        }
        let entries = arrays.find("value", "F32")?.1 / 4;
        for mode in unlisted {
            check_rows(&modes[mode], listed(mode, entries, &coupled))?;
        }
        Ok(Parts { name: header.name, modes, coupled, value: header.value, arrays })
    }
}

/// Refuses a mode whose size nothing in the file bears out: its factor would take memory that no data asks for.
fn check_rows(mode: &Mode, most: usize) -> Result<(), String> {
    if mode.rows() > most {
        return Err(format!("mode {} has {} rows, but {most} entries name one", mode.name(), mode.rows()));
    }
    Ok(())
}

/// The header, where the arrays lie, and where the first starts; all of it within the file.
fn read_header(file: &File, length: u64) -> Result<(Header, BTreeMap<String, Info>, u64), Reason> {
    let none = |what: &str| format!("is no problem of s3cmtf, or cut off: {what}");
    let read = |bytes: &mut [u8], offset| {
        pieces::read_at(file, bytes, offset)
            .map_err(|error| Reason::new("is no problem of s3cmtf, or cut off", error))
    };
    let mut size = [0; 8];
    read(&mut size, 0)?;
    let size = u64::from_le_bytes(size);
    if size > LONGEST || size > length.saturating_sub(8) {
        return Err(none("its header is longer than the file").into());
    }
    let mut bytes = vec![0; size as usize];
    read(&mut bytes, 8)?;
    let unreadable = |error: serde_json::Error| Reason::new(none("its header cannot be read"), error);
    let mut all: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&bytes).map_err(unreadable)?;
    let metadata = all.remove(METADATA).unwrap_or_default();
    let text = |key: &str| metadata.get(key).and_then(|text| text.as_str());
    let header = text(KEY).ok_or_else(|| none(&format!("no \"{KEY}\" in its metadata")))?;

    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let Version { format } = serde_json::from_str(header).map_err(unreadable)?;
    if format != FORMAT {
        let what = format!("has format version {format}, but this version of s3cmtf reads {FORMAT}");
        return Err(what.into());
    }
    if text(CHECK) != Some(text_check(header).as_str()) {
        return Err("is damaged: its header is not what was written".into());
    }
    let header = serde_json::from_str(header).map_err(unreadable)?;
    let mut arrays = BTreeMap::new();
    for (name, value) in all {
        let info: Info = serde_json::from_value(value).map_err(unreadable)?;
        arrays.insert(name, info);
    }
    let start = 8 + size;
    check_places(&arrays, length - start)?;
    Ok((header, arrays, start))
}

/// What tells the content of a file from that of others: the check of its header, which has those of all arrays.
pub(super) fn content_check(file: &File) -> Option<String> {
    let mut size = [0; 8];
    pieces::read_at(file, &mut size, 0).ok()?;
    let size = u64::from_le_bytes(size).min(file.metadata().ok()?.len()).min(LONGEST);
    let mut bytes = vec![0; size as usize];
    pieces::read_at(file, &mut bytes, 8).ok()?;
    let all: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&bytes).ok()?;
    all.get(METADATA)?.get(CHECK)?.as_str().map(str::to_owned)
}

/// Whether the arrays lie one behind the other, from the first byte of `room` to the last, each as long as its shape.
fn check_places(arrays: &BTreeMap<String, Info>, room: u64) -> Result<(), String> {
    let mut places: Vec<(&String, &Info)> = arrays.iter().collect();
    places.sort_by_key(|(_, info)| info.data_offsets);
    let mut end = 0;
    for (name, info) in places {
        let bytes: u64 = match info.dtype.as_str() {
            "U64" => 8,
            "U32" | "F32" => 4,
            "U8" => 1,
            other => return Err(format!("array \"{name}\" is of type {other}, which no problem has")),
        };
        let length = match info.shape[..] {
            [len] => bytes.checked_mul(len),
            _ => None,
        };
        let next = length.and_then(|length| length.checked_add(end));
        if info.data_offsets[0] != end || next != Some(info.data_offsets[1]) || next > Some(room) {
            return Err(format!("is cut off or damaged: array \"{name}\" does not lie where it should"));
        }
        end = info.data_offsets[1];
    }
    if end != room {
        return Err(format!("is cut off or damaged: it has {room} bytes of arrays, but should have {end}"));
    }
    Ok(())
}

/// The arrays that have not been used yet.
struct Arrays<'a> {
    file: &'a File,
    start: u64,
    arrays: BTreeMap<String, Info>,
    checks: BTreeMap<String, String>,
}

impl Arrays<'_> {
    /// Where an array starts in the file, and how many bytes it has.
    fn find(&self, name: &str, dtype: &str) -> Result<(u64, usize), String> {
        let info = self.arrays.get(name).ok_or_else(|| format!("has no array \"{name}\""))?;
        if info.dtype != dtype {
            return Err(format!("array \"{name}\" should be {dtype}, but is {}", info.dtype));
        }
        let [start, end] = info.data_offsets;
        let bytes = usize::try_from(end - start).map_err(|_| format!("array \"{name}\" is too long"))?;
        Ok((self.start + start, bytes))
    }

    /// Compares an array's check with that of the header.
    fn compare(&self, name: &str, check: &str) -> Result<(), String> {
        if self.checks.get(name).is_none_or(|known| known != check) {
            return Err(format!("is damaged: array \"{name}\" is not what was written"));
        }
        Ok(())
    }

    /// The entries of a tensor of so many modes, left in the file once their arrays have been seen to be whole.
    fn stored(&self, order: usize, path: &Path) -> Result<StoredEntries, Reason> {
        let len = self.find("value", "F32")?.1 / 4;
        let mut starts = Vec::new();
        let modes = (0..order).map(|mode| (format!("entry.{mode}"), "U32"));
        for (name, dtype) in modes.chain([("value".to_owned(), "F32")]) {
            let (start, bytes) = self.find(&name, dtype)?;
            if bytes / 4 != len {
                let what = format!("array \"{name}\" has {} numbers, but there are {len} values", bytes / 4);
                return Err(what.into());
            }
            let check = pieces::check_in_file(self.file, start, bytes)
                .map_err(|error| Reason::new(format!("array \"{name}\" cannot be read"), error))?;
            self.compare(&name, &check)?;
            starts.push(start);
        }
        let file = self.file.try_clone().map_err(|error| Reason::new("cannot be opened again", error))?;
        Ok(StoredEntries::new(path, file, starts, len))
    }

    fn take<T: Number>(&mut self, name: &str, dtype: &str) -> Result<Vec<T>, Reason> {
        let (start, bytes) = self.find(name, dtype)?;
        let (numbers, check) = pieces::read(self.file, start, bytes / T::BYTES)
            .map_err(|error| Reason::new(format!("array \"{name}\" cannot be read"), error))?;
        self.compare(name, &check)?;
        self.arrays.remove(name);
        Ok(numbers)
    }

    /// A mode, and whether the file lists its rows or their names.
    fn mode(&mut self, header: ModeHeader, prefix: &str, number: usize) -> Result<(Mode, bool), Reason> {
        let ModeHeader { name, size, naming } = header;
        let present = format!("{prefix}present.{number}");
        let is_listed = naming.is_some() || self.arrays.contains_key(&present);
        let mode = if self.arrays.contains_key(&present) {
            let ids = self.take::<u32>(&present, "U32")?;
            let wrong =
                || format!("array \"{present}\" should be ascending numbers below {size}, but is not");
            Mode::with_present(name, size, ids).ok_or_else(wrong)?
        } else {
            Mode::new(name, size)
        };
        let Some(NamingHeader { column, binning }) = naming else { return Ok((mode, is_listed)) };
        let (text, ends) = (format!("{prefix}label.{number}"), format!("{prefix}label_end.{number}"));
        let (bytes, numbers) = (self.take::<u8>(&text, "U8")?, self.take::<u64>(&ends, "U64")?);
        let labels = String::from_utf8(bytes).ok().and_then(|text| Labels::from_parts(&text, &numbers));
        let named = labels.and_then(|labels| mode.named(Naming { column, binning, labels }));
        let wrong =
            || format!("arrays \"{text}\" and \"{ends}\" should hold {size} distinct names, but do not");
        Ok((named.ok_or_else(wrong)?, is_listed))
    }

    fn coupled(&mut self, number: usize, header: CoupledHeader) -> Result<Coupled, Reason> {
        let CoupledHeader { name, table, mode, kind, weight, columns } = header;
        let mut indices = Vec::new();
        for side in 0..2 {
            indices.push(self.take::<u32>(&format!("coupled_entry.{number}.{side}"), "U32")?);
        }
        let values = self.take::<f32>(&format!("coupled_value.{number}"), "F32")?;
        let columns = match (kind, columns) {
            (Absent::Graph, None) => Mode::new("", 0),
            (Absent::Missing | Absent::Zeros, Some(columns)) => {
                let (columns, is_listed) = self.mode(columns, "coupled_", number)?;
                if !is_listed {
                    check_rows(&columns, values.len())?;
                }
                columns
            }
            _ => return Err(format!("matrix {name} has columns where it should have none, or none").into()),
        };
        let entries = Entries::from_rows(table, indices, values);
        Ok(Coupled::restore(name, mode, kind, weight, columns, entries))
    }
}

#[cfg(test)]
mod tests;
