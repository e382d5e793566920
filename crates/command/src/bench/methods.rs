//! The fast method against the paper's `opt`.

use anyhow::ensure;
use s3cmtf::synthetic::Shape;
use s3cmtf::{CoreKind, Method, Params};
use serde::Serialize;

use super::measure;
use crate::print;

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
        case("nothing repeats", &[10_000_000; 3], 10_000_000, 0.0, &[12], 300_000),
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
pub(super) fn run(only: &str, threads: usize) -> anyhow::Result<()> {
    for case in cases().into_iter().filter(|case| case.name.contains(only)) {
        let params =
            Params { ranks: case.ranks.clone(), core: case.core, threads, epochs: 3, ..Params::paper() };
        let with = |method: Method| Params { method, ..params.clone() };
        let part =
            Shape { entries: case.opt_entries.min(case.shape.entries), ..case.shape.clone() }.problem()?;
        let opt = measure(&part, with(Method::Opt))?;
        let held = measure(&part, with(Method::Fast))?;
        ensure!(
            (held.rmse - opt.rmse).abs() <= 0.01 * opt.rmse,
            "{}: the fast method reaches an RMSE of {} where opt reaches {}",
            case.name,
            held.rmse,
            opt.rmse
        );
        let opt_speed = part.entries().len() as f64 / opt.seconds;
        drop(part);
        let whole = case.shape.problem()?;
        let fast_speed = whole.entries().len() as f64 / measure(&whole, with(Method::Fast))?.seconds;
        print::json(&Row {
            name: case.name,
            sizes: case.shape.sizes,
            entries: whole.entries().len(),
            ranks: case.ranks,
            core: case.core.name(),
            threads,
            fast_entries_per_second: fast_speed,
            opt_entries_per_second: opt_speed,
            ratio: fast_speed / opt_speed,
            fast_rmse: held.rmse,
            opt_rmse: opt.rmse,
        })?;
    }
    Ok(())
}
