//! Tables: files, what has Arrow's interface, and columns of NumPy.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_pyarrow::PyArrowType;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use s3cmtf::internal::files::{Fetch, Frame, Raw};
use s3cmtf::internal::input::{self, TableSource};
use s3cmtf::internal::table::Empty;
use s3cmtf::{Absent, Error};

use crate::error::exception;

/// A table, of which nothing has been read yet.
#[pyclass(frozen, module = "s3cmtf._s3cmtf")]
pub(crate) struct Table(pub(crate) TableSource);

#[pymethods]
impl Table {
    /// Files that are one table; each a path or a pattern.
    #[staticmethod]
    fn files(paths: Vec<PathBuf>, format: Option<&str>, header: Option<bool>) -> PyResult<Self> {
        let format = format.map(str::parse).transpose().map_err(PyValueError::new_err)?;
        Ok(Table(TableSource::Files { paths, format, header, empty: Empty::Refuse }))
    }

    /// Whatever has `__arrow_c_stream__`.
    #[staticmethod]
    fn arrow(name: &str, stream: PyArrowType<RecordBatchStreamReader>) -> PyResult<Self> {
        let names = stream.0.schema().fields().iter().map(|field| field.name().clone()).collect();
        let batches: Result<Vec<RecordBatch>, _> = stream.0.collect();
        let batches = batches.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?;
        let frame = Frame::of_batches(name, names, &batches).map_err(exception)?;
        Ok(Table(TableSource::Frame(Arc::new(frame), Empty::Refuse)))
    }

    /// The same table, whose rows with an empty value are left out, or refused.
    fn skipping(&self, skip_empty: bool) -> Self {
        let rule = if skip_empty { Empty::Skip } else { Empty::Refuse };
        let mut table = self.0.clone();
        match &mut table {
            TableSource::Files { empty, .. } | TableSource::Frame(_, empty) => *empty = rule,
        }
        Table(table)
    }

    /// Columns by name; each has a method `fetch`, see the stubs.
    #[staticmethod]
    fn columns(name: &str, rows: usize, columns: Vec<(String, Py<PyAny>)>) -> Self {
        let columns = columns.into_iter().map(|(heading, column)| (heading, fetch(column)));
        Table(TableSource::Frame(Arc::new(Frame::new(name, rows, columns.collect())), Empty::Refuse))
    }
}

/// Asks Python for a column when it is needed.
fn fetch(column: Py<PyAny>) -> Fetch {
    Box::new(move |most| {
        Python::attach(|py| {
            let column = column.bind(py).call_method1("fetch", (most,))?;
            let (kind, array, labels): (String, Bound<'_, PyAny>, Option<Vec<String>>) = column.extract()?;
            raw(&kind, &array, labels)
        })
        .map_err(|error: PyErr| Error::Request(error.to_string()))
    })
}

fn raw(kind: &str, array: &Bound<'_, PyAny>, labels: Option<Vec<String>>) -> PyResult<Raw> {
    match (kind, labels) {
        ("signed", None) => Ok(Raw::of_signed(array.extract::<PyReadonlyArray1<'_, i64>>()?.as_slice()?)),
        ("times", None) => Ok(Raw::of_times(array.extract::<PyReadonlyArray1<'_, i64>>()?.as_slice()?)),
        ("unsigned", None) => {
            Ok(Raw::Unsigned(array.extract::<PyReadonlyArray1<'_, u64>>()?.as_slice()?.to_vec()))
        }
        ("numbers", None) => Ok(Raw::of_numbers(array.extract::<PyReadonlyArray1<'_, f64>>()?.as_slice()?)),
        ("texts", Some(labels)) => {
            let codes = array.extract::<PyReadonlyArray1<'_, u32>>()?.as_slice()?.to_vec();
            Raw::of_texts(codes, &labels).ok_or_else(|| PyValueError::new_err("two labels are the same"))
        }
        _ => Err(PyValueError::new_err(format!("there is no column of {kind}"))),
    }
}

/// A matrix that is to be coupled.
#[pyclass(frozen, module = "s3cmtf._s3cmtf")]
pub(crate) struct Couple(pub(crate) input::Couple);

#[pymethods]
impl Couple {
    #[new]
    fn new(
        mode: String,
        table: &Table,
        columns: Vec<String>,
        split: Option<String>,
        absent: Option<&str>,
        weight: Option<f32>,
        name: Option<String>,
    ) -> PyResult<Self> {
        let kind = absent.map(Absent::parse).transpose().map_err(exception)?;
        let words = format!("couple {mode}");
        let (table, label) = (table.0.clone(), words.clone());
        let example = "columns=[\"{row}\", \"{column}\"]".into();
        Ok(Couple(input::Couple { mode, table, columns, split, kind, weight, name, label, words, example }))
    }
}

/// What the library is asked for by all of them.
pub(crate) fn couples(couple: &[PyRef<'_, Couple>]) -> Vec<input::Couple> {
    couple.iter().map(|couple| couple.0.clone()).collect()
}
