//! What is to be factorized.

use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use s3cmtf::internal::files;
use s3cmtf::internal::input::{Input, Note};
use s3cmtf::internal::prepare::ModeSpec;
use s3cmtf::internal::table::Selector;
use s3cmtf::{Absent, Coupled, Duplicates, Entries, Error};

use crate::error::{detached, exception};
use crate::table::{Couple, Table, couples};

/// A tensor and the matrices coupled to it, checked.
#[pyclass(frozen, module = "s3cmtf._s3cmtf")]
pub(crate) struct Problem(pub(crate) s3cmtf::Problem);

/// A coupled matrix by indices: mode, kind, rows, columns, values, weight, name.
type Indexed<'py> = (
    usize,
    String,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f32>,
    Option<f32>,
    String,
);

#[pymethods]
impl Problem {
    /// Reads tables, and says what was noticed. Modes that are numbers are places of columns, counted from 0.
    /// With `zeros`, absent cells will be zeros; with `exchange`, the table is the part of a node, see `s3cmtf.cluster`.
    #[staticmethod]
    #[pyo3(signature = (tensor, modes, value, couple, duplicates, zeros = false, exchange = None))]
    #[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
    fn read(
        py: Python<'_>,
        tensor: &Table,
        modes: Option<Vec<Bound<'_, PyAny>>>,
        value: Option<String>,
        couple: Vec<PyRef<'_, Couple>>,
        duplicates: Option<&str>,
        zeros: bool,
        exchange: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let modes = modes.map(|modes| modes.iter().map(mode).collect::<PyResult<Vec<_>>>()).transpose()?;
        let duplicates = duplicates.map(Duplicates::parse).transpose().map_err(exception)?;
        let (tensor, couple) = (tensor.0.clone(), couples(&couple));
        let exchange = exchange.map(crate::exchange::exchange).transpose()?;
        let input = Input { modes, value, couple, duplicates, zeros, exchange, ..Input::new(tensor) };
        let mut notes = Vec::new();
        let read = detached(py, || input.read(None, &mut |note: Note| notes.push(note.to_string())))?;
        notes.extend_from_slice(read.0.notes());
        Ok((Problem(read.0), notes))
    }

    /// A problem of indices, counted from 0: an array for each mode.
    #[staticmethod]
    fn of_indices(
        py: Python<'_>,
        indices: Vec<PyReadonlyArray1<'_, u32>>,
        values: PyReadonlyArray1<'_, f32>,
        sizes: Option<Vec<u32>>,
        couple: Vec<Indexed<'_>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let indices = indices.iter().map(|ids| Ok(ids.as_slice()?.to_vec())).collect::<PyResult<_>>()?;
        let values = values.as_slice()?.to_vec();
        let couple = couple.iter().map(matrix).collect::<PyResult<Vec<Matrix>>>()?;
        let problem = detached(py, || {
            let mut builder = s3cmtf::Problem::builder(Entries::new(indices, values)?);
            for matrix in couple {
                builder = builder.couple(matrix.coupled()?);
            }
            match sizes {
                Some(sizes) => builder.sizes(sizes).build(),
                None => builder.build(),
            }
        })?;
        let mut notes = problem.notes().to_vec();
        notes.extend(Note::constant(&problem).map(|note| note.to_string()));
        Ok((Problem(problem), notes))
    }

    /// Writes the whole problem as one file, which is read as it is.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || {
            files::check_file(&path)?;
            files::save_problem(&self.0, &path)
        })
    }

    /// The number of entries.
    fn __len__(&self) -> usize {
        self.0.entries().len()
    }

    /// How many ids occur in each mode.
    fn rows(&self) -> Vec<usize> {
        self.0.modes().iter().map(|mode| mode.rows()).collect()
    }

    /// The names of the modes.
    fn modes(&self) -> Vec<String> {
        self.0.modes().iter().map(|mode| mode.name().to_owned()).collect()
    }
}

fn mode(spec: &Bound<'_, PyAny>) -> PyResult<ModeSpec> {
    if let Ok(place) = spec.extract::<usize>() {
        return Ok(ModeSpec { name: None, column: Selector::Place(place), bins: None });
    }
    spec.extract::<String>()?.parse().map_err(PyValueError::new_err)
}

/// A coupled matrix by indices, of which Python knows nothing more.
struct Matrix {
    mode: usize,
    kind: Absent,
    indices: Vec<Vec<u32>>,
    values: Vec<f32>,
    weight: Option<f32>,
    name: String,
}

impl Matrix {
    fn coupled(self) -> Result<Coupled, Error> {
        let entries = Entries::new(self.indices, self.values)?;
        let matrix = Coupled::new(self.mode, self.kind, entries)?.named(&self.name);
        Ok(match self.weight {
            Some(weight) => matrix.weighted(weight),
            None => matrix,
        })
    }
}

fn matrix((mode, kind, rows, columns, values, weight, name): &Indexed<'_>) -> PyResult<Matrix> {
    Ok(Matrix {
        mode: *mode,
        kind: Absent::parse(kind).map_err(exception)?,
        indices: vec![rows.as_slice()?.to_vec(), columns.as_slice()?.to_vec()],
        values: values.as_slice()?.to_vec(),
        weight: *weight,
        name: name.clone(),
    })
}
