//! Parquet files: the wanted columns of each row group, side by side.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

use super::arrays::Growing;
use super::column::{self, Fault, Raw};
use super::guard::guarded;
use super::pages;
use super::{HEAD, Head};
use crate::Error;
use crate::error::Reason;
use crate::files::choose::choose;
use crate::files::limits::Held;
use crate::parallel;
use crate::table::{Empty, Table, Want};

/// Rows that are decoded at a time: their values fit into a cache.
const BATCH: usize = 1 << 15;

/// Reads the wanted columns.
pub(in crate::files) fn read(
    path: &Path,
    wants: &[Want],
    empty: Empty,
) -> Result<(Table, Vec<usize>), Error> {
    guarded(path, || read_columns(path, wants, empty))
}

/// The headings of all columns, with their first values.
pub(in crate::files) fn head(path: &Path) -> Result<Vec<Head>, Error> {
    guarded(path, || {
        let metadata = load(path, &open(path)?)?;
        let filled = metadata.metadata().row_groups().iter().position(|group| group.num_rows() > 0);
        let column = |(place, field): (usize, &Arc<Field>)| {
            let values = filled.and_then(|group| read_part(path, &metadata, place, group, HEAD).ok());
            (field.name().clone(), values)
        };
        Ok(metadata.schema().fields().iter().enumerate().map(column).collect())
    })
}

fn broken(path: &Path, error: ParquetError) -> Error {
    Error::file(path, Reason::new("is cut off or no Parquet file that can be read", error))
}

fn open(path: &Path) -> Result<File, Error> {
    let io = |source| Error::io(path, source);
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.is_dir() {
        return Err(Error::file(path, "is a folder, but a Parquet file is needed"));
    }
    Ok(file)
}

/// What a file says of its columns, all of which lie within it.
fn load(path: &Path, file: &File) -> Result<ArrowReaderMetadata, Error> {
    let metadata = ArrowReaderMetadata::load(file, ArrowReaderOptions::new());
    let metadata = metadata.map_err(|error| broken(path, error))?;
    let length = file.metadata().map_err(|source| Error::io(path, source))?.len();
    check_places(&metadata, length)
        .ok_or_else(|| Error::file(path, "is cut off or broken: a column does not lie within the file"))?;
    Ok(metadata)
}

fn read_columns(path: &Path, wants: &[Want], empty: Empty) -> Result<(Table, Vec<usize>), Error> {
    let metadata = load(path, &open(path)?)?;
    let names: Vec<String> = metadata.schema().fields().iter().map(|field| field.name().clone()).collect();
    let places = choose(path, &names, wants)?;
    let distinct = column::distinct(&places);
    let rows = metadata.metadata().row_groups().iter().map(|group| group.num_rows().max(0).cast_unsigned());
    let rows = rows.fold(0, u64::saturating_add);
    // A page may say of one value that it comes a billion times.
    Held::new(path).check(rows.saturating_mul(8 * distinct.len() as u64))?;
    let metadata = with_dictionaries(metadata, &distinct);

    let groups = metadata.metadata().num_row_groups();
    let tasks: Vec<(usize, usize)> =
        distinct.iter().flat_map(|&place| (0..groups).map(move |group| (place, group))).collect();
    // Collected before any is looked at, so that of several faults the first is told.
    let parts =
        parallel::map_of(tasks, |(place, group)| read_part(path, &metadata, place, group, usize::MAX));
    let mut parts = parts.into_iter();
    let mut raw = Vec::with_capacity(distinct.len());
    for &place in &distinct {
        let fault = |row, what| column::at(path, &names[place], Fault { row, what });
        let mut whole: Option<Raw> = None;
        for part in parts.by_ref().take(groups) {
            let before = whole.as_ref().map_or(0, Raw::len);
            let part = part.map_err(|problem| match problem {
                Problem::Value(Fault { row, what }) => fault(before + row, what),
                Problem::File(error) => error,
            })?;
            whole = Some(match whole {
                // An empty group has no type.
                Some(whole) if part.len() == 0 => whole,
                Some(mut whole) if before > 0 => {
                    if !whole.append(part) {
                        return Err(fault(before, "the type changes here".into()));
                    }
                    whole
                }
                _ => part,
            });
        }
        raw.push(whole.unwrap_or(Raw::Signed(Vec::new())));
    }
    column::table(path, &names, (wants, empty), &places, &distinct, raw)
}

/// Whether all columns lie within the file, which their reader takes for granted.
fn check_places(metadata: &ArrowReaderMetadata, length: u64) -> Option<()> {
    for chunk in metadata.metadata().row_groups().iter().flat_map(|group| group.columns()) {
        let start = chunk.dictionary_page_offset().unwrap_or(i64::MAX).min(chunk.data_page_offset());
        let end = u64::try_from(start).ok()?.checked_add(u64::try_from(chunk.compressed_size()).ok()?)?;
        if chunk.data_page_offset() < 0 || end > length {
            return None;
        }
    }
    Some(())
}

/// Refuses pages that say more of their size than can be true: their reader takes so much memory.
fn check_pages(
    path: &Path,
    file: &File,
    metadata: &ArrowReaderMetadata,
    place: usize,
    group: usize,
) -> Result<(), Error> {
    let schema = metadata.parquet_schema();
    let leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == place);
    for leaf in leaves {
        let (start, length) = metadata.metadata().row_group(group).column(leaf).byte_range();
        let found = pages::impossible(file, start, length).map_err(|source| Error::io(path, source))?;
        if let Some(what) = found {
            return Err(Error::file(path, format!("is broken: {what}")));
        }
    }
    Ok(())
}

/// Why a part could not be read.
enum Problem {
    Value(Fault),
    File(Error),
}

/// Has the wanted texts read by their dictionaries, as they lie in the file: then each distinct text is looked up once
/// and not in each row.
fn with_dictionaries(metadata: ArrowReaderMetadata, places: &[usize]) -> ArrowReaderMetadata {
    let schema = metadata.schema();
    let hint = |(place, field): (usize, &Arc<Field>)| {
        let text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        if !text || !places.contains(&place) {
            return Arc::clone(field);
        }
        let keyed = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        Arc::new(field.as_ref().clone().with_data_type(keyed))
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().enumerate().map(hint).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    // A file for which this does not work is read row by row.
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options).unwrap_or(metadata)
}

/// One column of one row group, `most` rows of it. It opens the file anew, since threads that share one also share its position.
fn read_part(
    path: &Path,
    metadata: &ArrowReaderMetadata,
    place: usize,
    group: usize,
    most: usize,
) -> Result<Raw, Problem> {
    let failed = |error: ParquetError| Problem::File(broken(path, error));
    let file = open(path).map_err(Problem::File)?;
    check_pages(path, &file, metadata, place, group).map_err(Problem::File)?;
    let mask = ProjectionMask::roots(metadata.parquet_schema(), [place]);
    let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
        .with_row_groups(vec![group])
        .with_projection(mask)
        .with_batch_size(BATCH)
        .with_limit(most)
        .build()
        .map_err(failed)?;
    let mut values = Growing::default();
    for batch in batches {
        let batch = batch.map_err(|error| failed(error.into()))?;
        values.extend(batch.column(0)).map_err(Problem::Value)?;
    }
    Ok(values.finish())
}
