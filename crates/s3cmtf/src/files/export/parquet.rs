//! Parquet, packed with zstd.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{Out, Values};

/// The rows of a row group: readers share the work by them.
const GROUP: usize = 1 << 20;

/// The bytes of a file. They are made in memory, since the writer wants to own what it writes to.
pub(super) fn to_bytes(columns: &[Out]) -> Result<Vec<u8>, ParquetError> {
    let mut writer = writer(columns, Vec::new())?;
    add(&mut writer, columns)?;
    writer.into_inner()
}

/// A file of which the bytes come as they are ready, so that no more than a row group of it is in memory.
pub(super) struct Parts {
    writer: ArrowWriter<Ready>,
    ready: Ready,
}

/// The bytes that are ready; the writer has one end of it.
#[derive(Clone, Default)]
struct Ready(Arc<Mutex<Vec<u8>>>);

impl Ready {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        // Bytes are never left half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Ready {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Parts {
    /// A file of such columns.
    pub(super) fn new(columns: &[Out]) -> Result<Self, ParquetError> {
        let ready = Ready::default();
        Ok(Parts { writer: writer(columns, ready.clone())?, ready })
    }

    /// Adds rows; returns what is ready to be written.
    pub(super) fn add(&mut self, columns: &[Out]) -> Result<Vec<u8>, ParquetError> {
        add(&mut self.writer, columns)?;
        Ok(std::mem::take(&mut *self.ready.bytes()))
    }

    /// The rest of the file.
    pub(super) fn finish(self) -> Result<Vec<u8>, ParquetError> {
        self.writer.close()?;
        Ok(std::mem::take(&mut *self.ready.bytes()))
    }
}

fn writer<W: Write + Send>(columns: &[Out], to: W) -> Result<ArrowWriter<W>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(GROUP))
        .build();
    ArrowWriter::try_new(to, schema(columns), Some(properties))
}

fn add<W: Write + Send>(writer: &mut ArrowWriter<W>, columns: &[Out]) -> Result<(), ParquetError> {
    let schema = schema(columns);
    let rows = columns.first().map_or(0, |column| column.values.len());
    for start in (0..rows).step_by(GROUP) {
        let range = start..rows.min(start + GROUP);
        let arrays = columns.iter().map(|column| array(column.values, range.clone()));
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), arrays.collect::<Result<_, _>>()?)?)?;
    }
    Ok(())
}

fn schema(columns: &[Out]) -> Arc<Schema> {
    let field = |column: &Out| Field::new(&column.name, data_type(column.values), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<Field>>()))
}

fn data_type(values: Values) -> DataType {
    match values {
        Values::Integers(_) => DataType::Int64,
        Values::Texts(..) => DataType::Utf8,
        Values::Numbers(_) => DataType::Float64,
        Values::Singles(_) => DataType::Float32,
        // Parquet has no seconds.
        Values::Times(_) => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
    }
}

fn array(values: Values, range: std::ops::Range<usize>) -> Result<ArrayRef, ParquetError> {
    Ok(match values {
        Values::Integers(values) => Arc::new(Int64Array::from_iter_values(values[range].iter().copied())),
        Values::Texts(codes, labels) => {
            Arc::new(StringArray::from_iter_values(codes[range].iter().map(|&code| labels.get(code))))
        }
        Values::Numbers(values) => Arc::new(Float64Array::from_iter_values(values[range].iter().copied())),
        Values::Singles(values) => Arc::new(Float32Array::from_iter_values(values[range].iter().copied())),
        Values::Times(values) => {
            let far = || ParquetError::General("a time is too far from 1970 for Parquet".into());
            let milliseconds = values[range].iter().map(|value| value.checked_mul(1000).ok_or_else(far));
            let milliseconds = milliseconds.collect::<Result<Vec<i64>, _>>()?;
            Arc::new(TimestampMillisecondArray::from(milliseconds).with_timezone("UTC"))
        }
    })
}
