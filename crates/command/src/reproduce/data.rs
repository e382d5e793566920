//! The data of a cell: the original download, or data of its shape, the same in every process.

use std::path::{Path, PathBuf};

use anyhow::Context;
use s3cmtf::internal::files;
use s3cmtf::internal::synthetic::{MatrixShape, Shape};
use s3cmtf::internal::world::{self, WorldParams};
use s3cmtf::{Absent, Entries, Problem};

use super::cell::{Data, Facts, Job, Set};
use super::memory::Extent;

/// The paper's split, and the seed of it and of everything else.
const TEST: f64 = 0.2;
pub(super) const SEED: u64 = 1;
/// Modes and matrices are not made smaller than this by a scale, if they were not before.
const FEWEST: u32 = 100;

/// Data that can be trained on.
pub(super) struct Loaded {
    pub(super) train: Problem,
    /// By ids; none where nothing is tested.
    pub(super) test: Option<Entries>,
    pub(super) facts: Facts,
}

/// Reads or makes the data of a cell.
pub(super) fn load(job: &Job, graph: bool) -> anyhow::Result<Loaded> {
    let original = || {
        let path = job.file.as_deref().context("the converted download was not named")?;
        Ok::<Problem, anyhow::Error>(files::load_problem(path)?)
    };
    let (problem, coupled, tested) = match &job.cell.data {
        Data::Ratings { original: true, coupled, .. } => (original()?, *coupled, true),
        Data::Ratings { set, scale, coupled, .. } => {
            (ratings_shape(*set, *scale, graph).problem()?, *coupled, true)
        }
        Data::Made { size, entries } => (made_shape(*size, *entries).problem()?, true, false),
        Data::World { original: true, coupled, .. } => (original()?, *coupled, false),
        Data::World { ratings, coupled, .. } => (made_world(*ratings).problem()?, *coupled, false),
    };
    let problem = if coupled { problem } else { problem.alone()? };
    if !tested {
        let facts = facts(&problem, problem.entries());
        return Ok(Loaded { train: problem, test: None, facts });
    }
    let (train, test) = problem.hold_out(TEST, SEED)?;
    let test = by_ids(&train, &test)?;
    let facts = Facts { test_entries: test.len(), ..facts(&train, &test) };
    Ok(Loaded { train, test: Some(test), facts })
}

/// Entries on a problem's rows, by ids.
fn by_ids(problem: &Problem, entries: &Entries) -> anyhow::Result<Entries> {
    let ids = problem
        .modes()
        .iter()
        .enumerate()
        .map(|(place, mode)| entries.indices(place).iter().map(|&row| mode.id(row as usize)).collect());
    Ok(Entries::new(ids.collect(), entries.values().to_vec())?)
}

/// The data in numbers, and the errors of two predictions that need no model on the entries `tested`.
fn facts(train: &Problem, tested: &Entries) -> Facts {
    let mean = train.entries().mean();
    let rmse = |from: f64| {
        let squares: f64 = tested.values().iter().map(|&value| (f64::from(value) - from).powi(2)).sum();
        (squares / tested.len() as f64).sqrt()
    };
    Facts {
        sizes: train.modes().iter().map(|mode| mode.size()).collect(),
        entries: train.entries().len(),
        test_entries: 0,
        matrix_entries: train.coupled().iter().map(|matrix| matrix.entries().len()).sum(),
        mean,
        deviation: tested.variance().sqrt(),
        zero_rmse: rmse(0.0),
        mean_rmse: rmse(mean),
    }
}

/// A share of the shape of one of the paper's sets: as many entries for an id as it has, so fewer ids; but months, genres and the
/// like stay.
fn ratings_shape(set: Set, scale: f64, graph: bool) -> Shape {
    let share = |number: usize| ((number as f64 * scale).round() as usize).max(1);
    let size = |size: u32| (share(size as usize) as u32).max(size.min(FEWEST));
    let shape = Shape::named(set.shape()).unwrap_or_default();
    let matrix = |matrix: &MatrixShape| MatrixShape {
        kind: if matrix.kind == Absent::Graph && !graph { Absent::Missing } else { matrix.kind },
        columns: size(matrix.columns),
        entries: share(matrix.entries).max(FEWEST as usize),
        ..matrix.clone()
    };
    Shape {
        sizes: shape.sizes.iter().map(|&ids| size(ids)).collect(),
        entries: share(shape.entries).max(10 * FEWEST as usize),
        // Ratings are mostly who rates and what is rated, some taste, and noise.
        effect: 0.5,
        noise: 1.0,
        matrices: shape.matrices.iter().map(matrix).collect(),
        ..shape
    }
}

/// The paper's synthetic data.
fn made_shape(size: u32, entries: usize) -> Shape {
    let base = Shape::named("synthetic").unwrap_or_default();
    let matrix = |matrix: &MatrixShape| MatrixShape {
        columns: size,
        entries: (entries / 10).max(1),
        ..matrix.clone()
    };
    Shape {
        sizes: vec![size; 3],
        entries,
        effect: 1.0,
        matrices: base.matrices.iter().map(matrix).collect(),
        ..base
    }
}

/// The world that stands for Yelp where what a model says is looked at; one with fewer ratings than usual is smaller, and not only
/// thinner.
pub(super) fn made_world(ratings: usize) -> world::World {
    world::generate(&world_params(ratings))
}

fn world_params(ratings: usize) -> WorldParams {
    let usual = WorldParams::default();
    let share = (ratings as f64 / usual.ratings as f64).sqrt().min(1.0);
    let part = |number: u32| (f64::from(number) * share).round() as u32;
    WorldParams { users: part(usual.users), businesses: part(usual.businesses), ratings, seed: SEED, ..usual }
}

/// How large the data of a cell are, before any of them is made or read.
pub(super) fn extent(job: &Job, graph: bool) -> anyhow::Result<Extent> {
    let of_shape = |shape: &Shape, coupled: bool| {
        let matrices = || shape.matrices.iter().filter(|_| coupled);
        Extent {
            rows: shape.sizes.iter().map(|&size| f64::from(size).min(shape.entries as f64)).collect(),
            entries: shape.entries as f64,
            matrix_entries: matrices().map(|matrix| matrix.entries as f64).sum(),
            matrix_columns: matrices()
                .map(|matrix| f64::from(matrix.columns).min(matrix.entries as f64))
                .sum(),
        }
    };
    Ok(match &job.cell.data {
        Data::Ratings { original: true, coupled, .. } | Data::World { original: true, coupled, .. } => {
            stored_extent(job.file.as_deref().context("the converted download was not named")?, *coupled)?
        }
        Data::Ratings { set, scale, coupled, .. } => of_shape(&ratings_shape(*set, *scale, graph), *coupled),
        Data::Made { size, entries } => of_shape(&made_shape(*size, *entries), true),
        Data::World { ratings, .. } => {
            let WorldParams { users, businesses, months, .. } = world_params(*ratings);
            let shape =
                Shape { sizes: vec![users, businesses, months], entries: *ratings, ..Shape::default() };
            of_shape(&shape, false)
        }
    })
}

fn stored_extent(path: &Path, coupled: bool) -> anyhow::Result<Extent> {
    let stored = files::open_problem(path)?;
    let matrices = || stored.frame().coupled().iter().filter(|_| coupled);
    Ok(Extent {
        rows: stored.frame().modes().iter().map(|mode| mode.rows() as f64).collect(),
        entries: stored.count() as f64,
        matrix_entries: matrices().map(|matrix| matrix.entries().len() as f64).sum(),
        matrix_columns: matrices().map(|matrix| matrix.columns().rows() as f64).sum(),
    })
}

/// Where a converted download lies in the folder of results.
pub(super) fn file(out: &Path, set: Set, graph: bool) -> PathBuf {
    let form = if set == Set::Yelp && graph { "-graph" } else { "" };
    out.join("data").join(format!("{}{form}.s3cmtf", set.shape()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_set_keeps_its_months_and_is_within_its_extent() {
        let shape = ratings_shape(Set::MovieLens, 0.01, false);
        assert_eq!((&shape.sizes[..], shape.entries), (&[716, 107, 100][..], 100_000));
        let yelp = ratings_shape(Set::Yelp, 0.0001, false);
        assert!(yelp.matrices.iter().all(|matrix| matrix.kind != Absent::Graph));
        let friends = &ratings_shape(Set::Yelp, 0.0001, true).matrices[0];
        assert_eq!((friends.kind, friends.columns), (Absent::Graph, 100));
        let problem = yelp.problem().unwrap();
        assert_eq!(problem.coupled().len(), 3);
    }

    #[test]
    fn predicting_nothing_errs_by_the_size_of_the_values() {
        let entries = Entries::new(vec![vec![0, 1, 2], vec![0, 1, 2]], vec![3.0, 4.0, 5.0]).unwrap();
        let problem = Problem::builder(entries.clone()).build().unwrap();
        let facts = facts(&problem, &entries);
        assert!((facts.zero_rmse - (50.0f64 / 3.0).sqrt()).abs() < 1e-9);
        assert!((facts.mean_rmse - (2.0f64 / 3.0).sqrt()).abs() < 1e-9);
    }
}
