//! Parquet, packed with zstd.

use std::sync::Arc;

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
    let fields: Vec<Field> =
        columns.iter().map(|column| Field::new(&column.name, data_type(column.values), false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(GROUP))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties))?;
    let rows = columns.first().map_or(0, |column| column.values.len());
    for start in (0..rows).step_by(GROUP) {
        let range = start..rows.min(start + GROUP);
        let arrays = columns.iter().map(|column| array(column.values, range.clone()));
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), arrays.collect::<Result<_, _>>()?)?)?;
    }
    writer.into_inner()
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
