//! What the targets share: files to read from, and what must hold of whatever is read.

pub mod made;

use std::path::PathBuf;
use std::sync::OnceLock;

use s3cmtf::internal::files::{self, Format, OutFormat, Source};
use s3cmtf::internal::table::{Data, Empty, ColumnType, Selector, Table, Want};
use tempfile::TempDir;

/// As many columns as are looked at.
const COLUMNS: usize = 16;
/// What a guess of the separator could be led astray by.
const SEPARATORS: [&str; 4] = ["\t", ";", "|", "::"];
/// The times between which a year has four digits.
const FOUR_DIGITS: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// The path of a file in a folder that is deleted at the end.
pub fn path(name: &str) -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder for temporary files")).path().join(name)
}

/// A file with this content.
pub fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = path(name);
    std::fs::write(&path, content).expect("a file that can be written");
    path
}

/// Lets panics of the crates that read Parquet and Arrow pass, which the library turns into errors; one of its own ends
/// the process, as any does otherwise.
pub fn let_others_panic() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // Files of this crate are named from its folder, those of others from the root.
        let own = info
            .location()
            .is_none_or(|place| !place.file().starts_with('/') || place.file().contains("s3cmtf"));
        if own {
            abort(info);
        }
    }));
}

/// A number that is the same whenever the bytes are.
pub fn hash(bytes: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed)
}

/// Reads all columns, alone and together, and writes and reads again what was read. What a column is read as depends on
/// the bytes alone, but on all of them.
pub fn check_source(source: &Source, bytes: &[u8]) -> Option<Table> {
    let _ = files::format(source);
    let _ = files::columns(source);
    let _ = files::kinds(source);
    let (mut wants, mut alone) = (Vec::new(), Vec::new());
    for place in 0..COLUMNS {
        let kind = [ColumnType::Id, ColumnType::Number, ColumnType::Time][(hash(bytes, place as u64) % 3) as usize];
        let want = Want { column: Selector::Place(place), kind };
        match files::read_table(source, std::slice::from_ref(&want)) {
            Ok(mut table) => {
                assert_eq!(table.columns.len(), 1);
                alone.extend(table.columns.pop());
                wants.push(want);
            }
            Err(error) if error.to_string().contains(&format!("has no column {}:", place + 1)) => break,
            Err(_) => {}
        }
    }
    // Columns of a broken file may differ in length: then each can be read, but not all of them.
    let table = files::read_table(source, &wants).ok().filter(|_| !wants.is_empty())?;
    for (together, alone) in table.columns.iter().zip(&alone) {
        assert_eq!(rows(&together.data), rows(&alone.data), "a column depends on those read with it");
        if let Data::Numbers(numbers) = &together.data {
            assert!(numbers.iter().all(|number| number.is_finite()));
        }
    }
    check_written(&table, &wants, hash(bytes, COLUMNS as u64) as usize);
    Some(table)
}

/// The values of a column as texts that are the same if they are.
pub fn rows(data: &Data) -> Vec<String> {
    match data {
        Data::Integers(values) | Data::Times(values) => values.iter().map(i64::to_string).collect(),
        Data::Texts { codes, labels } => codes.iter().map(|&code| labels.get(code).to_owned()).collect(),
        Data::Numbers(values) => values.iter().map(|value| format!("{:x}", value.to_bits())).collect(),
    }
}

/// What is written is read back as it was. A number chooses the format, or none: writing takes longer than all the rest.
fn check_written(table: &Table, wants: &[Want], number: usize) {
    let all = |test: &dyn Fn(&str) -> bool| table.columns.iter().all(|column| texts(&column.data).all(test));
    let near = |column: &Data| match column {
        Data::Times(times) => times.iter().all(|time| FOUR_DIGITS.contains(time)),
        _ => true,
    };
    let names = |test: &dyn Fn(&str) -> bool| table.columns.iter().all(|column| test(&column.name));
    // What has bytes of value 0 is not taken for text.
    let plain = |text: &str| {
        !text.is_empty()
            && !text.contains('\0')
            && !SEPARATORS.iter().any(|separator| text.contains(separator))
    };
    let csv = table.columns.len() > 1
        && all(&plain)
        && names(&plain)
        && table.columns.iter().all(|column| near(&column.data));
    // NumPy fills texts up with zeros, and names of an archive are those of files.
    let npz = all(&|text| !text.ends_with('\0')) && names(&|name| name.chars().all(char::is_alphanumeric));
    let is_array = |name: &str| matches!(name, "coords" | "values" | "data");
    let npz = npz && !names(&is_array);
    let formats = [
        (OutFormat::Csv, Format::Csv, csv),
        (OutFormat::Parquet, Format::Parquet, true),
        (OutFormat::Npz, Format::Numpy, npz),
    ];
    let Some(&(format, read, is_same)) = formats.get(number % 8) else { return };
    let path = path(&format!("written.{}", format.name()));
    // Columns that share a name cannot be written.
    if files::write_table(&path, format, table).is_err() {
        return;
    }
    let source = Source { paths: vec![path], format: Some(read), header: Some(true), empty: Empty::Refuse };
    let want = |(place, want): (usize, &Want)| Want { column: Selector::Place(place), kind: want.kind };
    let wants: Vec<Want> = wants.iter().enumerate().map(want).collect();
    let back = files::read_table(&source, &wants);
    if !is_same {
        return;
    }
    let back = back.unwrap_or_else(|error| panic!("what was written cannot be read: {error}\n{table:?}"));
    for (old, new) in table.columns.iter().zip(&back.columns) {
        assert_eq!((&old.name, rows(&old.data)), (&new.name, rows(&new.data)), "{}", format.name());
    }
}

fn texts(data: &Data) -> impl Iterator<Item = &str> {
    let labels = match data {
        Data::Texts { labels, .. } => Some(labels),
        _ => None,
    };
    labels.into_iter().flat_map(|labels| labels.iter())
}

/// A table in a binary format.
pub fn check_binary(format: Format, bytes: &[u8]) {
    let paths = vec![file("table", bytes)];
    let source = Source { paths, format: Some(format), header: None, empty: Empty::Refuse };
    check_source(&source, bytes);
}

/// The parts of a file of tensors: what the format calls metadata, the list of tensors, and their numbers. In a file the
/// first is a text within the second, where a change seldom leaves a file that can be read; an input that starts with `{`
/// has a line for each of the two and then the numbers.
pub struct Parts<'a> {
    pub metadata: &'a str,
    pub tensors: serde_json::Map<String, serde_json::Value>,
    pub numbers: &'a [u8],
}

impl<'a> Parts<'a> {
    /// None where the bytes are a file as it is.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut lines = bytes.splitn(3, |&byte| byte == b'\n');
        let metadata = std::str::from_utf8(lines.next().filter(|line| line.starts_with(b"{"))?).ok()?;
        let tensors = serde_json::from_slice(lines.next()?).ok()?;
        Some(Parts { metadata, tensors, numbers: lines.next()? })
    }

    /// The input that such a file would be made from.
    pub fn input(file: &[u8], key: &str) -> Vec<u8> {
        let (length, rest) = file.split_first_chunk::<8>().expect("a length");
        let (header, numbers) = rest.split_at(u64::from_le_bytes(*length) as usize);
        let mut tensors: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(header).expect("a header");
        let metadata = tensors.remove("__metadata__").expect("metadata");
        let metadata = metadata[key].as_str().expect("a text");
        let tensors = serde_json::to_string(&tensors).expect("a list of tensors");
        [metadata.as_bytes(), b"\n", tensors.as_bytes(), b"\n", numbers].concat()
    }

    /// The file, with this metadata.
    pub fn file(mut self, metadata: serde_json::Value) -> Vec<u8> {
        self.tensors.insert("__metadata__".into(), metadata);
        let header = serde_json::to_vec(&self.tensors).expect("texts and numbers");
        [&(header.len() as u64).to_le_bytes()[..], &header, self.numbers].concat()
    }
}

/// The file of tensors that an input stands for.
pub fn tensor_file(bytes: &[u8], key: &str) -> Vec<u8> {
    match Parts::of(bytes) {
        Some(parts) => {
            let metadata = serde_json::json!({ key: parts.metadata });
            parts.file(metadata)
        }
        None => bytes.to_vec(),
    }
}

/// A folder of this name with these files in it and no others.
pub fn folder(name: &str, content: &[(&str, &[u8])]) -> PathBuf {
    let folder = path(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("a folder");
    for (name, bytes) in content {
        std::fs::write(folder.join(name), bytes).expect("a file that can be written");
    }
    folder
}
