//! The fast method against the paper's `opt`.

use anyhow::ensure;
use s3cmtf::internal::synthetic::Shape;
use s3cmtf::{CoreKind, Method, Params, Problem, Training};
use serde::Serialize;

use super::Scale;
use super::measure::{Measured, measure, plain};
use super::plot::{Bar, Plot};
use super::report::Report;
use super::table::Table;
use super::units::{count, times};
use crate::failure::usage;

/// A shape to measure on.
struct Case {
    name: &'static str,
    shape: Shape,
    ranks: Vec<usize>,
    core: CoreKind,
    /// `opt` needs minutes for an epoch of some shapes, so it is measured on the first entries alone, and the fast
    /// method is held to the RMSE it reaches there.
    opt_entries: usize,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    sizes: Vec<u32>,
    entries: usize,
    ranks: Vec<usize>,
    core: &'static str,
    threads: usize,
    fast_entries_per_second: f64,
    opt_entries_per_second: f64,
    /// How many times as many entries per second the fast method steps through.
    ratio: f64,
    fast_rmse: f64,
    opt_rmse: f64,
}

fn cases() -> Vec<Case> {
    let case = |name, sizes: &[u32], entries, skew, ranks: &[usize], opt_entries| Case {
        name,
        shape: Shape { sizes: sizes.to_vec(), entries, skew, ..Shape::default() },
        ranks: ranks.to_vec(),
        core: CoreKind::Full,
        opt_entries,
    };
    let movielens: &[u32] = &[71_567, 10_681, 157];
    let mut cases = vec![
        case("movielens-10m", movielens, 10_000_000, 1.0, &[12], 1_000_000),
        case("nothing repeats", &[10_000_000; 3], 10_000_000, 0.0, &[12], 1_000_000),
        case("order 4, rank 8", &[20_000, 10_000, 100, 24], 2_000_000, 1.0, &[8], 50_000),
        case("order 5, rank 8", &[20_000, 10_000, 50, 24, 7], 2_000_000, 1.0, &[8], 5_000),
        case("rank 4", movielens, 2_000_000, 1.0, &[4], 1_000_000),
        case("rank 8", movielens, 2_000_000, 1.0, &[8], 300_000),
        case("rank 16", movielens, 2_000_000, 1.0, &[16], 100_000),
        case("rank 32", movielens, 2_000_000, 1.0, &[32], 10_000),
        case("rank 64", movielens, 1_000_000, 1.0, &[64], 2_000),
        case("ranks 20, 12, 6", movielens, 2_000_000, 1.0, &[20, 12, 6], 100_000),
    ];
    let diagonal = case("diagonal core, rank 12", movielens, 10_000_000, 1.0, &[12], 1_000_000);
    cases.push(Case { core: CoreKind::Diagonal, ..diagonal });
    cases
}

/// Measures every case whose name has the word in it.
pub(super) fn run(only: &str, threads: usize, scale: Scale, report: &mut Report<'_>) -> anyhow::Result<()> {
    let mut table =
        Table::new(&["shape", "entries", "core", "fast", "opt", "ratio", "RMSE fast", "RMSE opt"]);
    let mut bars = Vec::new();
    let threads = Params { threads, ..Params::sgd() }.n_threads();
    for case in cases().into_iter().filter(|case| case.name.contains(only)) {
        let row = compare(case, threads, scale, report)?;
        report.row(&row)?;
        table.row([
            row.name.into(),
            count(row.entries as f64),
            row.core.into(),
            format!("{} entries/s", count(row.fast_entries_per_second)),
            format!("{} entries/s", count(row.opt_entries_per_second)),
            times(row.ratio),
            format!("{:.5}", row.fast_rmse),
            format!("{:.5}", row.opt_rmse),
        ]);
        bars.push(Bar { name: row.name.into(), value: row.ratio, text: times(row.ratio) });
    }
    if bars.is_empty() {
        return Err(usage(format!("--only: no shape has {only:?} in its name")));
    }
    let plural = if threads == 1 { "" } else { "s" };
    let title = format!("The fast method against the paper's opt, {threads} thread{plural}");
    let axis = "entries per second of fast over those of opt";
    report.finish("methods", &title, &table, &Plot::Bars { axis, axis_text: count, log: true, bars })
}

/// Measures the methods in turns, so that a machine that is slow for a while is so for both.
fn compare(case: Case, threads: usize, scale: Scale, report: &Report<'_>) -> anyhow::Result<Row> {
    let params = Params { ranks: case.ranks.clone(), core: case.core, threads, epochs: 3, ..plain() };
    let with = |problem: &Problem, method: Method| -> anyhow::Result<Measured> {
        report.progress(format_args!(
            "methods: {}, {}, {} entries",
            case.name,
            method.name(),
            count(problem.entries().len() as f64)
        ));
        measure(Training::new(problem.clone(), Params { method, ..params.clone() }), || {})
    };
    let shape = Shape { entries: scale.scaled(case.shape.entries), ..case.shape };
    report.progress(format_args!("methods: {}, making {} entries", case.name, count(shape.entries as f64)));
    let whole = shape.problem()?;
    let part = Shape { entries: scale.scaled(case.opt_entries), ..shape.clone() }.problem()?;
    let before = with(&whole, Method::Fast)?;
    let opt = with(&part, Method::Opt)?;
    let held = with(&part, Method::Fast)?;
    let after = with(&whole, Method::Fast)?;
    for (epoch, (fast, opt)) in held.rmse.iter().zip(&opt.rmse).enumerate() {
        ensure!(
            (fast - opt).abs() <= 0.01 * opt,
            "{}: the fast method reaches an RMSE of {fast} in epoch {} where opt reaches {opt}",
            case.name,
            epoch + 1
        );
    }
    let fast_speed = whole.entries().len() as f64 / before.best().min(after.best());
    let opt_speed = part.entries().len() as f64 / opt.best();
    Ok(Row {
        name: case.name,
        sizes: shape.sizes,
        entries: whole.entries().len(),
        ranks: case.ranks,
        core: case.core.name(),
        threads,
        fast_entries_per_second: fast_speed,
        opt_entries_per_second: opt_speed,
        ratio: fast_speed / opt_speed,
        fast_rmse: held.last_rmse(),
        opt_rmse: opt.last_rmse(),
    })
}
