//! Between objects of Python and plain values.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use s3cmtf::internal::{PartialParams, Preset};
use s3cmtf::{Factor, Params};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::exception;

/// The settings of which some were said, by name; those that are None were not. With `any_rank`, the number of modes, what
/// other ranks need is chosen by them.
pub(crate) fn said(
    settings: &Bound<'_, PyDict>,
    preset: Option<&str>,
    init: Option<&Params>,
    any_rank: Option<usize>,
) -> PyResult<Params> {
    let mut said = Map::new();
    for (name, setting) in settings.iter() {
        said.insert(name.extract()?, value(&setting)?);
    }
    let preset = preset.map_or(Ok(Preset::default()), Preset::parse).map_err(exception)?;
    let said = PartialParams::new(said);
    let said = any_rank.map_or(said.clone(), |order| said.with_any_rank(order));
    said.params(preset, init).map_err(exception)
}

fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        Ok(Value::Null)
    } else if object.is_instance_of::<PyBool>() {
        Ok(object.extract::<bool>()?.into())
    } else if object.is_instance_of::<PyString>() {
        Ok(object.extract::<String>()?.into())
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        object.try_iter()?.map(|item| value(&item?)).collect::<PyResult<Vec<Value>>>().map(Value::from)
    } else if object.hasattr("__index__")? {
        let number = object.extract::<i64>().map(Value::from);
        number.or_else(|_| object.extract::<u64>().map(Value::from)).map_err(|_| odd(object))
    } else if let Ok(flag) = object.extract::<bool>() {
        Ok(flag.into())
    } else {
        object.extract::<f64>().map(PartialParams::number).map_err(|_| odd(object))
    }
}

fn odd(object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{object:?} is no number, word or list that a setting could be"))
}

/// The same as JSON, for Python to read.
pub(crate) fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A factor as an array.
pub(crate) fn factor<'py>(py: Python<'py>, factor: &Factor) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let values: Bound<'py, PyArray1<f32>> = factor.values().to_vec().into_pyarray(py);
    values.reshape([factor.rows(), factor.rank()])
}
