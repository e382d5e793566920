//! A finished run: the model, how it came about, and perhaps its data.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use s3cmtf::internal::files::{self, KeptData};
use s3cmtf::internal::input::{TableSource, known_cells};
use s3cmtf::internal::prepare::{find_entity, find_mode};
use s3cmtf::{Cells, Core, Error, Mode, Model};

use crate::convert::{factor, json};
use crate::error::{detached, exception};
use crate::table::Table;

/// A model, its record, and the data that it was trained on and tested with, if they are known.
#[pyclass(frozen, module = "s3cmtf._s3cmtf")]
pub(crate) struct Run {
    pub(crate) run: s3cmtf::Run,
    pub(crate) data: Option<s3cmtf::Problem>,
    pub(crate) test: Option<s3cmtf::Entries>,
}

/// A coupled matrix: name, mode, kind, weight, what it explains, names of columns, factor.
type Coupled<'py> = (String, usize, &'static str, f32, Option<f32>, Vec<String>, Bound<'py, PyArray2<f32>>);

/// Predictions, their standard deviations, and how many cells name an id that is not known.
type Predictions<'py> = (Bound<'py, PyArray1<f32>>, Option<Bound<'py, PyArray1<f32>>>, usize);

/// The lower and upper bounds of intervals, and how many cells name an id that is not known.
type Intervals<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, usize);

/// A factor, and the mean of its rows.
type FactorAndAverage<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>);

#[pymethods]
impl Run {
    /// The names of the modes.
    fn modes(&self) -> Vec<String> {
        self.run.model.modes().iter().map(|mode| mode.name().to_owned()).collect()
    }

    /// For each mode the heading of its column, if it has one, and what its values were put together by.
    fn columns(&self) -> Vec<Option<(String, bool)>> {
        let column =
            |mode: &Mode| mode.naming().map(|naming| (naming.column.clone(), naming.binning.is_some()));
        self.run.model.modes().iter().map(column).collect()
    }

    /// What the values are called.
    fn value(&self) -> Option<&str> {
        self.run.model.value()
    }

    /// The mode of this name or number from 1.
    fn mode(&self, name: &str) -> PyResult<usize> {
        find_mode(name, &self.modes(), "mode").map_err(exception)
    }

    /// The entities of a mode in the order of its factor's rows.
    fn names(&self, mode: usize) -> Vec<String> {
        let mode = &self.run.model.modes()[mode];
        (0..mode.rows()).map(|row| mode.label(mode.id(row)).into_owned()).collect()
    }

    /// The ids of a mode in the order of its factor's rows, and how many ids there are.
    fn ids<'py>(&self, py: Python<'py>, mode: usize) -> (Bound<'py, PyArray1<u32>>, u32) {
        let mode = &self.run.model.modes()[mode];
        let ids: Vec<u32> = (0..mode.rows()).map(|row| mode.id(row)).collect();
        (ids.into_pyarray(py), mode.size())
    }

    /// The factor of a mode, and its average row.
    fn factor<'py>(&self, py: Python<'py>, mode: usize) -> PyResult<FactorAndAverage<'py>> {
        let known = &self.run.model.factors()[mode];
        Ok((factor(py, known)?, known.average().into_pyarray(py)))
    }

    /// The core: all of it, or its diagonal.
    fn core<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let core = self.run.model.core();
        let shape = match core {
            Core::Full { ranks, .. } => ranks.clone(),
            Core::Diagonal(values) => vec![values.len()],
        };
        core.values().to_vec().into_pyarray(py).reshape(shape)
    }

    /// The coupled matrices.
    fn coupled<'py>(&self, py: Python<'py>) -> PyResult<Vec<Coupled<'py>>> {
        let columns =
            |mode: &Mode| (0..mode.rows()).map(|row| mode.label(mode.id(row)).into_owned()).collect();
        let matrices = self.run.model.coupled().iter().map(|matrix| {
            let (name, kind, factor) = (matrix.name.clone(), matrix.kind.name(), factor(py, &matrix.factor)?);
            let explained = matrix.effects.as_ref().map(|effects| effects.explained);
            Ok((name, matrix.mode, kind, matrix.weight, explained, columns(&matrix.columns), factor))
        });
        matrices.collect()
    }

    /// The record, as JSON.
    fn record(&self) -> PyResult<String> {
        json(&self.run.record)
    }

    /// Whether the data of training are known.
    fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// The predicted value of each cell of a table, and its standard deviation if asked for.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        cells: &Table,
        at: Vec<(usize, String)>,
        clip: Option<bool>,
        std: bool,
    ) -> PyResult<Predictions<'py>> {
        let (given, model) = (cells.0.clone(), &self.run.model);
        let (values, stds, unknown) = detached(py, || {
            let cells = find_cells(model, &given, &at)?;
            let stds = std.then(|| model.std(&cells)).transpose()?;
            let clip = clip.unwrap_or_else(|| model.clips());
            Ok((model.predict(&cells, clip)?, stds, model.unknown(&cells)))
        })?;
        Ok((values.into_pyarray(py), stds.map(|stds| stds.into_pyarray(py)), unknown))
    }

    /// The interval of each cell of a table.
    fn interval<'py>(
        &self,
        py: Python<'py>,
        cells: &Table,
        at: Vec<(usize, String)>,
        clip: Option<bool>,
        level: f64,
    ) -> PyResult<Intervals<'py>> {
        let (given, model) = (cells.0.clone(), &self.run.model);
        let (bounds, unknown) = detached(py, || {
            let cells = find_cells(model, &given, &at)?;
            let clip = clip.unwrap_or_else(|| model.clips());
            Ok((model.interval(&cells, level, clip)?, model.unknown(&cells)))
        })?;
        let (low, high): (Vec<f32>, Vec<f32>) = bounds.into_iter().map(|[low, high]| (low, high)).unzip();
        Ok((low.into_pyarray(py), high.into_pyarray(py), unknown))
    }

    /// Writes core and factors with their names as files of a folder, and says which.
    fn export(&self, py: Python<'_>, folder: PathBuf, format: &str) -> PyResult<Vec<PathBuf>> {
        let format = format.parse().map_err(PyValueError::new_err)?;
        detached(py, || files::export_model(&self.run.model, format, &folder))
    }

    /// Saves the run as a folder, with its data if they are known.
    fn save(&self, py: Python<'_>, folder: PathBuf, data: bool) -> PyResult<()> {
        let data = self.data.as_ref().filter(|_| data);
        detached(py, || {
            files::check_out(&folder)?;
            let kept = data.map(|data| KeptData::new(data, &folder)).transpose()?;
            // Here everything is still in memory, and a second try costs nothing.
            files::save_with(&self.run, kept.as_ref(), &folder)?.map_or(Ok(()), Err)
        })
    }
}

/// The cells of a table, with the entities of modes that it has no column for.
fn find_cells(model: &Model, given: &TableSource, at: &[(usize, String)]) -> Result<Cells, Error> {
    let at = at.iter().map(|(mode, name)| Ok((*mode, find_entity(&model.modes()[*mode], name)?)));
    let at = at.collect::<Result<Vec<_>, Error>>()?;
    Ok(known_cells(given, model.modes(), &at, &mut |_| ())?.cells)
}

/// Loads a saved run.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, folder: PathBuf) -> PyResult<Run> {
    detached(py, || {
        let run = files::load(&folder)?;
        // Those of another model say nothing about this one.
        let data = files::load_data(&folder)?
            .filter(|data| data.modes() == run.model.modes() && files::is_own_data(&folder, &run.record));
        Ok(Run { run, data, test: None })
    })
}
