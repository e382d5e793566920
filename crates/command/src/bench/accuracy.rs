//! What each part of the default algorithm is worth, in the RMSE on entries that training has not seen.

use std::collections::BTreeMap;

use anyhow::ensure;
use s3cmtf::internal::files;
use s3cmtf::internal::input::SideMatrix;
use s3cmtf::internal::world::{WorldParams, generate};
use s3cmtf::{Absent, Component, Coupled, Entries, Params, Problem, Start, Training};
use serde::Serialize;

use super::Scale;
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use crate::args::OwnData;
use crate::couple::couples;
use crate::problem;

const RANK: usize = 12;
/// Fewer ratings tell nothing.
const LEAST: usize = 4_000;
/// An RMSE may be larger than another by this share of it and still be called as good: seeds differ by nearly as much where
/// data are thin.
const ROOM: f64 = 0.01;
/// The same for the best of several ranks, which has the luck of all their seeds.
const RANK_ROOM: f64 = 0.02;

/// Ratings to learn from, others to test on, and coupled matrices.
struct Set {
    name: String,
    train: Entries,
    test: Entries,
    coupled: Vec<Coupled>,
}

/// What a model is given.
#[derive(Clone, Copy)]
enum Variant {
    All,
    TensorAlone,
    /// All, and a matrix that has nothing to do with anything.
    Noise,
    /// All but the last mode.
    FewerModes,
    /// All, and a graph that connects each id of the last mode with the next.
    Neighbours,
}

#[derive(Serialize)]
struct Row<'a> {
    data: &'a str,
    what: &'a str,
    test_rmse: f64,
    /// How much larger that is than the RMSE of the defaults.
    over_default: f64,
    seconds: f64,
}

/// Measures the made-up sets, and the user's own if there is one.
pub(super) fn run(
    own: &OwnData,
    only: &str,
    threads: usize,
    scale: Scale,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let mut sets = vec![world("world", 60_000, scale)?];
    // A small share of either would be the same few ratings.
    if scale.scaled(60_000) > LEAST {
        sets.push(world("thin world", 8_000, scale)?);
    }
    sets.extend(own_set(own)?);
    let mut table = Table::new(&["data", "what", "test RMSE", "over the default", "seconds"]);
    let (mut bars, mut held) = (Vec::new(), Ok(()));
    for set in &sets {
        let rows = measure(set, only, threads, report)?;
        held = held.and(hold(&set.name, &rows));
        let default = rows[DEFAULT].test_rmse;
        for mut row in rows {
            row.over_default = row.test_rmse - default;
            report.row(&row)?;
            let rmse = format!("{:.4}", row.test_rmse);
            table.row([
                row.data.to_owned(),
                row.what.to_owned(),
                rmse.clone(),
                format!("{:+.4}", row.over_default),
                format!("{:.1}", row.seconds),
            ]);
            bars.push(Bar { name: format!("{}: {}", row.data, row.what), value: row.test_rmse, text: rmse });
        }
    }
    let title = "Accuracy: the default algorithm, its parts, and what they are worth, rank 12";
    let axis_text = |value: f64| format!("{value:.2}");
    report.finish(
        "accuracy",
        title,
        &table,
        &Plot::Bars { axis: "test RMSE", axis_text, log: false, bars },
    )?;
    held
}

/// The place of the defaults among what is measured.
const DEFAULT: usize = 1;

fn measure<'a>(
    set: &'a Set,
    only: &str,
    threads: usize,
    report: &Report<'_>,
) -> anyhow::Result<Vec<Row<'a>>> {
    let bayes = Params { threads, ..Params::default() };
    let sgd = Params { ranks: vec![RANK], threads, ..Params::sgd() };
    let without = |part: Component| Params { without: vec![part], ..bayes.clone() };
    let cases: Vec<(&'static str, Variant, Params)> = vec![
        ("bayes, the default", Variant::All, bayes.clone()),
        ("seed 2", Variant::All, Params { seed: 2, ..bayes.clone() }),
        ("seed 3", Variant::All, Params { seed: 3, ..bayes.clone() }),
        ("one thread", Variant::All, Params { threads: 1, ..bayes.clone() }),
        ("rank 3", Variant::All, Params { ranks: vec![3], ..bayes.clone() }),
        ("rank 6", Variant::All, Params { ranks: vec![6], ..bayes.clone() }),
        ("rank 12", Variant::All, Params { ranks: vec![RANK], ..bayes.clone() }),
        ("rank 24", Variant::All, Params { ranks: vec![2 * RANK], ..bayes.clone() }),
        ("without the last mode", Variant::FewerModes, bayes.clone()),
        ("without coupled matrices", Variant::TensorAlone, bayes.clone()),
        ("with a matrix of noise", Variant::Noise, bayes.clone()),
        ("without row-noise: all rows equally predictable", Variant::All, without(Component::RowNoise)),
        ("without relevance: all concepts alike", Variant::All, without(Component::Relevance)),
        (
            "without interaction-scales: offsets, pairs and more alike",
            Variant::All,
            without(Component::InteractionScales),
        ),
        ("without rao-blackwell: the mean of rows", Variant::All, without(Component::RaoBlackwell)),
        ("without averaging: the last draw", Variant::All, without(Component::Averaging)),
        ("months pulled to their neighbours", Variant::Neighbours, bayes.clone()),
        ("half the epochs", Variant::All, Params { epochs: bayes.epochs / 2, ..bayes.clone() }),
        ("twice the epochs", Variant::All, Params { epochs: bayes.epochs * 2, ..bayes.clone() }),
        ("sgd", Variant::All, sgd.clone()),
        ("sgd without coupled matrices", Variant::TensorAlone, sgd.clone()),
        (
            "sgd from a random start, without offsets",
            Variant::All,
            Params { start: Start::Random, ..sgd.clone() },
        ),
        ("sgd, one rate for all: 0.001", Variant::All, Params { rate: Some(0.001), ..sgd.clone() }),
        ("sgd, hardly regularised", Variant::All, Params { lambda_reg: 0.1, ..sgd.clone() }),
        (
            "sgd, regularised twice as much",
            Variant::All,
            Params { lambda_reg: 2.0 * sgd.lambda_reg, ..sgd.clone() },
        ),
        (
            "sgd, coupled a tenth as much",
            Variant::All,
            Params { lambda_couple: 0.1 * sgd.lambda_couple, ..sgd.clone() },
        ),
        ("sgd, the paper's settings", Variant::All, Params { ranks: vec![RANK], threads, ..Params::paper() }),
    ];
    let mean = set.train.mean();
    let squares = set.test.values().iter().map(|&value| (f64::from(value) - mean).powi(2));
    let mean_rmse = (squares.sum::<f64>() / set.test.len() as f64).sqrt();
    let row = |what, test_rmse, seconds| Row { data: &set.name, what, test_rmse, over_default: 0.0, seconds };
    let mut rows = vec![row("the mean for all", mean_rmse, 0.0)];
    for (place, (what, given, params)) in cases.into_iter().enumerate() {
        if place > 0 && !what.contains(only) {
            continue;
        }
        report.progress(format_args!("accuracy: {}, {what}", set.name));
        let test = set.test(given)?;
        let end = Training::new(set.problem(given)?, params).test(test).run()?.record.summary;
        rows.push(row(what, end.test_rmse.unwrap_or(f64::NAN), end.seconds));
    }
    Ok(rows)
}

/// Holds what the defaults promise.
fn hold(name: &str, rows: &[Row<'_>]) -> anyhow::Result<()> {
    let of: BTreeMap<&str, f64> = rows.iter().map(|row| (row.what, row.test_rmse)).collect();
    let default = rows[DEFAULT].test_rmse;
    let as_good = |better: f64, worse: f64| better <= (1.0 + ROOM) * worse;
    let ranks =
        ["rank 3", "rank 6", "rank 12", "rank 24"].map(|rank| of.get(rank).copied().unwrap_or(default));
    let best = ranks.into_iter().fold(f64::MAX, f64::min);
    ensure!(
        default <= (1.0 + RANK_ROOM) * best,
        "{name}: {default} by default, but {best} for the best rank"
    );
    for what in [
        "the mean for all",
        "sgd",
        "sgd, the paper's settings",
        "without coupled matrices",
        "without the last mode",
    ] {
        let other = of.get(what).copied().unwrap_or(default);
        ensure!(as_good(default, other), "{name}: {default} by default, but {other} for {what}");
    }
    for what in ["one thread", "with a matrix of noise"] {
        let other = of.get(what).copied().unwrap_or(default);
        ensure!(as_good(other, default), "{name}: {default} by default, but {other} for {what}");
    }
    Ok(())
}

impl Set {
    fn modes(&self, given: Variant) -> usize {
        self.train.order() - usize::from(matches!(given, Variant::FewerModes))
    }

    /// Sizes that hold all ids of the entries and of the coupled matrices.
    fn sizes(&self, modes: usize) -> Vec<u32> {
        let most = |ids: &[u32]| ids.iter().max().map_or(1, |&most| most + 1);
        let size = |mode: usize| {
            let own = most(self.train.indices(mode)).max(most(self.test.indices(mode)));
            let of = |matrix: &&Coupled| matrix.mode() == mode;
            let rows = self.coupled.iter().filter(of).map(|matrix| {
                let graph = matrix.kind() == Absent::Graph;
                most(matrix.entries().indices(0)).max(if graph {
                    most(matrix.entries().indices(1))
                } else {
                    1
                })
            });
            rows.fold(own, u32::max)
        };
        (0..modes).map(size).collect()
    }

    fn test(&self, given: Variant) -> anyhow::Result<Entries> {
        first_modes(&self.test, self.modes(given))
    }

    fn problem(&self, given: Variant) -> anyhow::Result<Problem> {
        let modes = self.modes(given);
        let mut builder = Problem::builder(first_modes(&self.train, modes)?).sizes(self.sizes(modes));
        let coupled = self.coupled.iter().filter(|matrix| matrix.mode() < modes);
        if !matches!(given, Variant::TensorAlone) {
            for matrix in coupled {
                builder = builder.couple(matrix.clone());
            }
        }
        if matches!(given, Variant::Neighbours) {
            builder = builder.couple(neighbours(&self.train)?);
        }
        if matches!(given, Variant::Noise) {
            builder = builder.couple(noise(&self.train)?);
        }
        Ok(builder.build()?)
    }
}

/// The same entries by fewer modes.
fn first_modes(entries: &Entries, modes: usize) -> anyhow::Result<Entries> {
    let indices = (0..modes).map(|mode| entries.indices(mode).to_vec()).collect();
    Ok(Entries::new(indices, entries.values().to_vec())?)
}

/// A graph of the last mode in which each id is connected with the next.
fn neighbours(entries: &Entries) -> anyhow::Result<Coupled> {
    let mode = entries.order() - 1;
    let size = entries.indices(mode).iter().max().map_or(2, |&most| most.max(1) + 1);
    let indices = vec![(0..size - 1).collect(), (1..size).collect()];
    let edges = Entries::new(indices, vec![1.0; size as usize - 1])?;
    Ok(Coupled::new(mode, Absent::Graph, edges)?.named("neighbours"))
}

/// A matrix of ones and zeros at random, coupled to the second mode.
fn noise(entries: &Entries) -> anyhow::Result<Coupled> {
    const COLUMNS: u32 = 20;
    let rows = entries.indices(1).iter().max().map_or(1, |&most| most + 1);
    let (mut ids, mut columns) = (Vec::new(), Vec::new());
    let mut state = 1u64;
    for row in 0..rows {
        for column in 0..COLUMNS {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33).is_multiple_of(10) || (row, column) == (0, 0) {
                ids.push(row);
                columns.push(column);
            }
        }
    }
    let values = vec![1.0; ids.len()];
    Ok(Coupled::new(1, Absent::Zeros, Entries::new(vec![ids, columns], values)?)?.named("noise"))
}

/// The planted world of the demo, with more or fewer ratings; a small share of it has fewer users and businesses, too.
fn world(name: &str, ratings: usize, scale: Scale) -> anyhow::Result<Set> {
    let whole = WorldParams::default();
    let some = |count: u32| (scale.scaled(count as usize) as u32).max(count / 5);
    let world = generate(&WorldParams {
        users: some(whole.users),
        businesses: some(whole.businesses),
        ratings: scale.scaled(ratings).max(LEAST),
        ..whole
    });
    let coupled = vec![
        Coupled::new(0, Absent::Graph, world.friends.clone())?.named("user/friends"),
        Coupled::new(1, Absent::Zeros, world.categories.clone())?.named("business/category"),
        Coupled::new(1, Absent::Zeros, world.cities.clone())?.named("business/city"),
    ];
    Ok(Set { name: name.to_owned(), train: world.ratings, test: world.test, coupled })
}

/// The user's own data, as a problem and its test entries.
pub(super) fn own_problem(own: &OwnData) -> anyhow::Result<Option<(Problem, Entries)>> {
    own_set(own)?.map(|set| Ok((set.problem(Variant::All)?, set.test))).transpose()
}

/// The user's own data.
fn own_set(own: &OwnData) -> anyhow::Result<Option<Set>> {
    let (Some(train), Some(test)) = (&own.train, &own.test) else { return Ok(None) };
    let entries = files::read_entries(train, None)?;
    let names: Vec<String> = (1..=entries.order()).map(|mode| format!("mode{mode}")).collect();
    let couples = couples(&own.couple);
    let (mut namings, known) = (vec![None; names.len()], vec![0; names.len()]);
    let matrices = SideMatrix::all(&couples, &names, &namings, None, &mut problem::tell)?;
    let coupled = matrices
        .into_iter()
        .map(|matrix| matrix.read(&names, &mut namings, &known, None, Some(&mut problem::tell)));
    let coupled = coupled.collect::<Result<Vec<Coupled>, _>>()?;
    let test = files::read_entries(test, Some(entries.order()))?;
    Ok(Some(Set { name: own.name.clone(), train: entries, test, coupled }))
}
