//! A made-up world whose truth is known, to try things out on.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use s3cmtf::Entries;
use s3cmtf::internal::world::{THEMES, WorldParams, generate};

use crate::error::detached;

/// Ids by mode, and values.
type Cells<'py> = (Vec<Bound<'py, PyArray1<u32>>>, Bound<'py, PyArray1<f32>>);

/// Ratings, test, friends, categories and cities; the names of users, businesses, months, categories, cities and themes; the
/// groups of users and businesses; ratings and test without noise; and the noise.
type Made<'py> =
    (Vec<Cells<'py>>, Vec<Vec<String>>, Vec<Bound<'py, PyArray1<u32>>>, Vec<Bound<'py, PyArray1<f32>>>, f64);

/// Makes a world; what is None is as usual.
#[pyfunction]
pub(crate) fn world(
    py: Python<'_>,
    users: Option<u32>,
    businesses: Option<u32>,
    months: Option<u32>,
    ratings: Option<usize>,
    noise: Option<f64>,
    seed: Option<u64>,
) -> PyResult<Made<'_>> {
    let usual = WorldParams::default();
    let params = WorldParams {
        users: users.unwrap_or(usual.users),
        businesses: businesses.unwrap_or(usual.businesses),
        months: months.unwrap_or(usual.months),
        ratings: ratings.unwrap_or(usual.ratings),
        noise: noise.unwrap_or(usual.noise),
        seed: seed.unwrap_or(usual.seed),
    };
    let made = detached(py, || Ok(generate(&params)))?;
    let cells = |entries: &Entries| {
        let ids = (0..entries.order()).map(|mode| entries.indices(mode).to_vec().into_pyarray(py)).collect();
        (ids, entries.values().to_vec().into_pyarray(py))
    };
    let tables = [&made.ratings, &made.test, &made.friends, &made.categories, &made.cities].map(cells).into();
    let themes = THEMES.map(String::from).into();
    let names = vec![
        made.user_names,
        made.business_names,
        made.month_names,
        made.category_names,
        made.city_names,
        themes,
    ];
    let groups = [made.user_groups, made.business_groups].map(|groups| groups.into_pyarray(py)).into();
    let truth = [made.truth, made.test_truth].map(|truth| truth.into_pyarray(py)).into();
    Ok((tables, names, groups, truth, made.noise))
}
