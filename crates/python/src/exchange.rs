//! How nodes reach each other, where that is done in Python.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use s3cmtf::{Error, Exchange};

/// An object with the methods `all_gather` and `all_to_all`, of bytes.
struct InPython {
    node: usize,
    nodes: usize,
    object: Py<PyAny>,
}

/// The exchange that an object is, whose `node` and `nodes` say which of how many it is for.
pub(crate) fn exchange(object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Exchange>> {
    let (node, nodes) = (object.getattr("node")?.extract()?, object.getattr("nodes")?.extract()?);
    Ok(Arc::new(InPython { node, nodes, object: object.clone().unbind() }))
}

impl InPython {
    fn call(
        &self,
        method: &str,
        argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let answer = Python::attach(|py| {
            let answer = self.object.bind(py).call_method1(method, (argument(py)?,))?;
            // Buffers of any kind, such as those of an object store, which are only copied once.
            answer.try_iter()?.map(|part| Ok(part?.extract::<Buffer>()?.0)).collect::<PyResult<_>>()
        });
        answer.map_err(|error| Error::Problem(format!("nodes cannot reach each other: {error}")))
    }
}

/// The bytes of an object.
struct Buffer(Vec<u8>);

impl<'py> FromPyObject<'_, 'py> for Buffer {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Buffer(bytes.as_bytes().to_vec()));
        }
        let array: numpy::PyReadonlyArray1<'_, u8> = object.extract()?;
        Ok(Buffer(array.as_slice()?.to_vec()))
    }
}

impl Exchange for InPython {
    fn node(&self) -> usize {
        self.node
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn all_gather(&self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        self.call("all_gather", |py| Ok(PyBytes::new(py, &message).into_any()))
    }

    fn all_to_all(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        self.call("all_to_all", |py| {
            let messages = messages.iter().map(|message| PyBytes::new(py, message));
            Ok(PyList::new(py, messages.collect::<Vec<_>>())?.into_any())
        })
    }
}
