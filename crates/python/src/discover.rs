//! What a model says.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use s3cmtf::Error;
use s3cmtf::discovery::{
    self, ClusterParams, K, MOST_CLUSTERS, RankBy, Reasons, Recommender, SEED, Space, TOP, TOP_OF_CONCEPTS,
};
use s3cmtf::internal::files;
use s3cmtf::internal::prepare::find_entity;
use s3cmtf::report::{Known, Options, Report, render};

use crate::convert::json;
use crate::error::detached;
use crate::run::Run;

/// For each recommendation the row of whom it is for, its item's row, the predicted value and the reason.
type Recommended<'py> =
    (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f32>>, Vec<String>);

/// What to recommend of mode `items` to entities of mode `by`, or to all of them. `at` says which entities stand for other
/// modes, `having` which columns of coupled matrices items must have: of each matrix one of these. `clip` is as in predictions.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
pub(crate) fn recommend<'py>(
    py: Python<'py>,
    run: &Run,
    by: usize,
    entities: Option<Vec<String>>,
    items: usize,
    n: Option<usize>,
    at: Vec<(usize, String)>,
    having: Vec<(String, Vec<String>)>,
    include_seen: bool,
    caution: Option<f32>,
    score: Option<&str>,
    clip: Option<bool>,
) -> PyResult<Recommended<'py>> {
    let (whom, what, values, reasons) = detached(py, || {
        let recommender = recommender(run, (by, items), &at, &having, include_seen)?;
        let score = score.map(RankBy::parse).transpose()?;
        let recommender = recommender.cautious(caution.unwrap_or(0.0))?.ranked_by(score)?;
        let rows = rows(run, by, entities.as_deref())?;
        let reasons = Reasons::new(&recommender, run.data.as_ref(), 1)?;
        let best = recommender.best(&rows, n.unwrap_or(TOP));
        let why = reasons.explain(&rows, &best);
        let words =
            why.iter().flatten().map(|why| why.as_ref().map_or(String::new(), |why| reasons.words(why)));
        let whom: Vec<u32> =
            rows.iter().zip(&best).flat_map(|(&row, best)| best.iter().map(move |_| row)).collect();
        let shown = |value: f32| run.run.model.shown(value, clip);
        let (what, values) = best.iter().flatten().map(|best| (best.row, shown(best.value))).unzip();
        Ok::<(_, Vec<u32>, Vec<f32>, _), _>((whom, what, values, words.collect()))
    })?;
    Ok((whom.into_pyarray(py), what.into_pyarray(py), values.into_pyarray(py), reasons))
}

fn recommender<'a>(
    run: &'a Run,
    (by, items): (usize, usize),
    at: &[(usize, String)],
    having: &[(String, Vec<String>)],
    include_seen: bool,
) -> Result<Recommender<'a>, Error> {
    let model = &run.run.model;
    let at = at.iter().map(|(mode, name)| Ok((*mode, find_entity(&model.modes()[*mode], name)?)));
    let mut recommender = Recommender::new(model, by, items, &at.collect::<Result<Vec<_>, Error>>()?)?;
    if include_seen && having.is_empty() {
        return Ok(recommender);
    }
    let missing = || {
        let what = match include_seen {
            true => "where needs: fit again",
            false => "say what was seen: include_seen=True recommends that too, or fit again",
        };
        Error::Problem(format!("the training data are not with the model, which {what}"))
    };
    let data = run.data.as_ref().ok_or_else(missing)?;
    if !include_seen {
        recommender = recommender.without_seen(data)?;
    }
    having.iter().try_fold(recommender, |recommender, (matrix, columns)| {
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        recommender.having_any(data, matrix, &columns)
    })
}

/// The rows of the entities; of all, if none are named.
fn rows(run: &Run, mode: usize, entities: Option<&[String]>) -> Result<Vec<u32>, Error> {
    let mode = &run.run.model.modes()[mode];
    let row = |name: &String| {
        let id = find_entity(mode, name)?;
        mode.row(id).ok_or_else(|| Error::Unknown(format!("the model has no row for {name}")))
    };
    match entities {
        Some(entities) => entities.iter().map(row).collect(),
        None => Ok((0..mode.rows() as u32).collect()),
    }
}

/// What is most like an entity, as JSON.
#[pyfunction]
pub(crate) fn similar(
    py: Python<'_>,
    run: &Run,
    mode: usize,
    entity: &str,
    n: Option<usize>,
    level: bool,
) -> PyResult<String> {
    let model = &run.run.model;
    let found = detached(py, || {
        let id = find_entity(&model.modes()[mode], entity)?;
        discovery::similar(model, mode, id, level, n.unwrap_or(TOP))
    })?;
    json(&found)
}

/// What the concepts of mode `items` are worth to an entity of mode `by`, as JSON, with `n` names of each.
#[pyfunction]
pub(crate) fn profile(
    py: Python<'_>,
    run: &Run,
    by: usize,
    entity: String,
    items: usize,
    at: Vec<(usize, String)>,
    n: Option<usize>,
) -> PyResult<String> {
    let found = detached(py, || {
        let recommender = recommender(run, (by, items), &at, &[], true)?;
        let rows = rows(run, by, Some(&[entity]))?;
        Ok(Reasons::new(&recommender, run.data.as_ref(), n.unwrap_or(TOP))?.profile(rows[0]))
    })?;
    json(&found)
}

/// Clusters as JSON, the cluster of each row counted from 0, and where each row lies on a flat map.
type Clustered<'py> = (String, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<f32>>);

/// The clusters of a mode. Without `k` the gap statistic picks, up to `most`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
pub(crate) fn clusters<'py>(
    py: Python<'py>,
    run: &Run,
    mode: usize,
    k: Option<usize>,
    most: Option<usize>,
    n: Option<usize>,
    seed: Option<u64>,
    level: bool,
) -> PyResult<Clustered<'py>> {
    let (model, data) = (&run.run.model, run.data.as_ref());
    let rows = model.modes()[mode].rows();
    let k = k.map_or(K::Auto(most.unwrap_or(MOST_CLUSTERS).min(rows)), K::Fixed);
    let params = ClusterParams { k, level, top: n.unwrap_or(TOP), seed: seed.unwrap_or(SEED) };
    let (found, map) = detached(py, || {
        Ok((discovery::clusters(model, data, mode, params)?, Space::new(model, mode, level).map()))
    })?;
    let map = map.concat().into_pyarray(py).reshape([rows, 2])?;
    Ok((json(&found)?, found.of_row.into_pyarray(py), map))
}

/// What concepts mean, as JSON, for each mode how much of each concept each of its rows has, and the core of concepts, in
/// which the mean entity comes first in modes that have one.
type Described<'py> = (String, Vec<Bound<'py, PyArray2<f32>>>, Bound<'py, PyArrayDyn<f32>>);

/// All concepts, with `n` of everything.
#[pyfunction]
pub(crate) fn concepts<'py>(py: Python<'py>, run: &Run, n: Option<usize>) -> PyResult<Described<'py>> {
    let model = &run.run.model;
    let found = detached(py, || discovery::concepts(model, run.data.as_ref(), n.unwrap_or(TOP_OF_CONCEPTS)))?;
    let text = json(&found)?;
    let of_mode = |(scores, factor): (Vec<f32>, &s3cmtf::Factor)| {
        let columns = scores.len() / factor.rows().max(1);
        scores.into_pyarray(py).reshape([factor.rows(), columns])
    };
    let scores = found.scores.into_iter().zip(model.factors()).map(of_mode).collect::<PyResult<Vec<_>>>()?;
    let core = found.core.into_pyarray(py).reshape(found.core_sizes)?;
    Ok((text, scores, core))
}

/// Writes a page about the run.
#[pyfunction]
pub(crate) fn write_report(py: Python<'_>, run: &Run, path: PathBuf, title: String) -> PyResult<()> {
    let command = String::new();
    detached(py, || {
        files::check_file(&path)?;
        let known = Known { data: run.data.as_ref(), test: run.test.as_ref() };
        let report = Report::new(&run.run.model, &run.run.record, known, &Options { title, command })?;
        let page = render(&report)?;
        files::write_atomically(&path, |file| file.write_all(page.as_bytes()))
    })
}
