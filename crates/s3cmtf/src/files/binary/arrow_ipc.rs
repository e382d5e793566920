//! Arrow IPC files and streams. A file is a stream between marks, with an index at its end that is not needed here.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{MessageHeader, MetadataVersion, root_as_message};
use arrow_schema::{ArrowError, Field, Schema};

use super::arrays::Growing;
use super::column;
use super::guard::guarded;
use super::{HEAD, Head};
use crate::Error;
use crate::files::choose::choose;
use crate::files::limits::Held;
use crate::parallel;
use crate::table::{Empty, Table, Want};

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The best that a packed buffer can do: zstd says 128 KiB of one byte in four.
const BEST_PACKING: u64 = 1 << 15;
/// No array has more values; sizes in bytes of so many do not overflow.
const MOST_VALUES: i64 = 1 << 48;

type Dictionaries = HashMap<i64, ArrayRef>;

/// Reads the wanted columns.
pub(in crate::files) fn read(
    path: &Path,
    wants: &[Want],
    empty: Empty,
) -> Result<(Table, Vec<usize>), Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    guarded(path, || read_bytes(path, bytes, wants, empty))
}

/// The headings of all columns, with the values of the first batch that has any.
pub(in crate::files) fn head(path: &Path) -> Result<Vec<Head>, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    guarded(path, || {
        let messages = Messages::find(&Buffer::from_vec(bytes)).map_err(|what| broken(path, &what))?;
        let fields = messages.schema.fields();
        let column = |(place, field): (usize, &Arc<Field>)| {
            let mut values = Growing::default();
            for found in &messages.batches {
                let batch = decode(found, &messages.schema, &[place]).ok();
                let some = batch.filter(|batch| batch.num_rows() > 0);
                if let Some(batch) = some {
                    let few = batch.column(0).slice(0, batch.num_rows().min(HEAD));
                    return (field.name().clone(), values.extend(&few).ok().map(|()| values.finish()));
                }
            }
            (field.name().clone(), None)
        };
        Ok(fields.iter().enumerate().map(column).collect())
    })
}

fn broken(path: &Path, what: &str) -> Error {
    Error::file(path, format!("is cut off or no Arrow file that can be read: {what}"))
}

/// A record batch with the dictionaries that were known when it came.
struct Found {
    header: Buffer,
    body: Buffer,
    dictionaries: Arc<Dictionaries>,
}

/// What the messages of a file hold, those of record batches not yet decoded.
struct Messages {
    schema: Arc<Schema>,
    batches: Vec<Found>,
}

fn read_bytes(
    path: &Path,
    bytes: Vec<u8>,
    wants: &[Want],
    empty: Empty,
) -> Result<(Table, Vec<usize>), Error> {
    let broken = |what: String| broken(path, &what);
    let messages = Messages::find(&Buffer::from_vec(bytes)).map_err(broken)?;
    let names: Vec<String> = messages.schema.fields().iter().map(|field| field.name().clone()).collect();
    let places = choose(path, &names, wants)?;
    let distinct = column::distinct(&places);
    Held::new(path).check(messages.rows().saturating_mul(8 * distinct.len() as u64))?;
    let decode = |found: &Found| decode(found, &messages.schema, &distinct);
    let batches = parallel::try_map_of(&messages.batches, decode).map_err(broken)?;
    let gather = |number: usize| {
        let mut values = Growing::default();
        for batch in &batches {
            let added = values.extend(batch.column(number));
            added.map_err(|fault| column::at(path, &names[distinct[number]], fault))?;
        }
        Ok(values.finish())
    };
    let raw = parallel::try_map_of(0..distinct.len(), gather)?;
    column::table(path, &names, (wants, empty), &places, &distinct, raw)
}

fn decode(found: &Found, schema: &Arc<Schema>, places: &[usize]) -> Result<RecordBatch, String> {
    let message = root_as_message(&found.header).map_err(|error| error.to_string())?;
    let batch = message.header_as_record_batch().ok_or("a message without its batch")?;
    let version = message.version();
    let decoder =
        RecordBatchDecoder::try_new(&found.body, batch, Arc::clone(schema), &found.dictionaries, &version);
    let batch = decoder.and_then(|decoder| decoder.with_projection(Some(places)).read_record_batch());
    batch.map_err(|error| error.to_string())
}

impl Messages {
    /// The rows that the batches say they have.
    fn rows(&self) -> u64 {
        let rows = |found: &Found| {
            let batch = root_as_message(&found.header).ok()?.header_as_record_batch()?;
            u64::try_from(batch.length()).ok()
        };
        self.batches.iter().filter_map(rows).fold(0, u64::saturating_add)
    }

    fn find(bytes: &Buffer) -> Result<Messages, String> {
        let mut rest = if bytes.starts_with(MAGIC) {
            stream_of_file(bytes).ok_or("its end is not that of an Arrow file")?
        } else {
            bytes.clone()
        };
        let mut schema: Option<Arc<Schema>> = None;
        let mut dictionaries = Arc::new(Dictionaries::new());
        let mut batches = Vec::new();
        while let Some(header) = next_header(&mut rest)? {
            let message = root_as_message(&header).map_err(|error| error.to_string())?;
            let version = message.version();
            if !matches!(version, MetadataVersion::V4 | MetadataVersion::V5) {
                return Err(format!("it has version {version:?} of the format, but only V4 and V5 are read"));
            }
            let body = take(&mut rest, u64::try_from(message.bodyLength()).unwrap_or(u64::MAX));
            let body = body.ok_or("a message is longer than the file")?;
            match (message.header_type(), &schema) {
                (MessageHeader::Schema, None) => {
                    let found = message.header_as_schema().ok_or("a message without its schema")?;
                    let found = try_fb_to_schema(found).map_err(|error: ArrowError| error.to_string())?;
                    schema = Some(Arc::new(found));
                }
                (MessageHeader::DictionaryBatch, Some(schema)) => {
                    let found =
                        message.header_as_dictionary_batch().ok_or("a message without its dictionary")?;
                    check(found.data().ok_or("a dictionary without data")?, &body)?;
                    let read =
                        read_dictionary(&body, found, schema, Arc::make_mut(&mut dictionaries), &version);
                    read.map_err(|error| error.to_string())?;
                }
                (MessageHeader::RecordBatch, Some(_)) => {
                    check(message.header_as_record_batch().ok_or("a message without its batch")?, &body)?;
                    batches.push(Found { header, body, dictionaries: Arc::clone(&dictionaries) });
                }
                (other, _) => return Err(format!("a message of type {other:?} where none is expected")),
            }
        }
        // A stream may end without a mark, but not before its schema.
        let schema = schema.ok_or("it has no schema")?;
        Ok(Messages { schema, batches })
    }
}

/// What lies between the marks and before the index of a file.
fn stream_of_file(bytes: &Buffer) -> Option<Buffer> {
    let (start, rest) = bytes.split_at_checked(8)?;
    let (rest, end) = rest.split_at_checked(rest.len().checked_sub(10)?)?;
    let (length, magic) = end.split_first_chunk::<4>()?;
    let index = usize::try_from(i32::from_le_bytes(*length)).ok()?;
    let length = rest.len().checked_sub(index)?;
    (magic == MAGIC).then(|| bytes.slice_with_length(start.len(), length))
}

/// Takes bytes from the front, if there are so many.
fn take(rest: &mut Buffer, count: u64) -> Option<Buffer> {
    let count = usize::try_from(count).ok().filter(|&count| count <= rest.len())?;
    let taken = rest.slice_with_length(0, count);
    rest.advance(count);
    Some(taken)
}

/// The next message without its body; nothing at the end of the stream.
fn next_header(rest: &mut Buffer) -> Result<Option<Buffer>, String> {
    let length = |rest: &mut Buffer| {
        let bytes = take(rest, 4)?;
        bytes.first_chunk::<4>().copied()
    };
    if rest.is_empty() {
        return Ok(None);
    }
    let cut = "it ends within a message";
    let mut bytes = length(rest).ok_or(cut)?;
    if bytes == CONTINUATION {
        bytes = length(rest).ok_or(cut)?;
    }
    match u32::from_le_bytes(bytes) {
        0 => Ok(None),
        count => take(rest, count.into()).map(Some).ok_or_else(|| cut.to_owned()),
    }
}

/// Sees to it that the buffers of a batch lie within its body and that what they are unpacked to is no more than they
/// can hold: the decoder relies on the first and takes memory for the second.
fn check(batch: arrow_ipc::RecordBatch, body: &Buffer) -> Result<(), String> {
    let count = |count: i64| (0..MOST_VALUES).contains(&count);
    let nodes = batch.nodes().into_iter().flatten();
    let counted = nodes
        .into_iter()
        .all(|node| count(node.length()) && (0..=node.length()).contains(&node.null_count()));
    if !count(batch.length()) || !counted {
        return Err("a batch has an impossible number of values".into());
    }
    if batch
        .variadicBufferCounts()
        .is_some_and(|counts| counts.iter().any(|number| !(0..1 << 32).contains(&number)))
    {
        return Err("a column has an impossible number of buffers".into());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let length = usize::try_from(buffer.length()).ok();
        let bytes = start.zip(length).and_then(|(start, length)| body.get(start..start.checked_add(length)?));
        let bytes = bytes.ok_or("a buffer does not lie within its batch")?;
        let packed = batch.compression().is_some() && !bytes.is_empty();
        if packed {
            let (size, packed) = bytes.split_first_chunk::<8>().ok_or("a buffer is too short")?;
            let size = i64::from_le_bytes(*size);
            let most = (packed.len() as u64).saturating_mul(BEST_PACKING);
            if size < -1 || u64::try_from(size).is_ok_and(|size| size > most) {
                return Err(format!("a buffer of {} bytes cannot be unpacked to {size}", packed.len()));
            }
        }
    }
    Ok(())
}
