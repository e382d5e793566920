//! What coupled matrices are worth for finding groups: the paper's Figure 7, on a world whose groups are known.

use anyhow::ensure;
use s3cmtf::discovery::{self, ClusterParams, K, agreement};
use s3cmtf::internal::world::{self, THEMES, World, WorldParams};
use s3cmtf::{Params, Problem, Training};
use serde::Serialize;

use super::Scale;
use super::plot::{Line, Plot};
use super::report::Report;
use super::table::Table;
use super::units::count;

/// The mode whose groups are looked for, and the most clusters.
const MODE: usize = 1;
const MOST: usize = 12;
/// With fewer ratings there is nothing to find.
const LEAST: usize = 20_000;

#[derive(Serialize)]
struct Row {
    algorithm: &'static str,
    data: &'static str,
    /// The adjusted Rand index of as many clusters as there are groups, and the groups.
    agreement: f64,
    /// The gap statistic of so many clusters, its standard error, and the number that it picks.
    gap: f64,
    gap_error: f64,
    picked: usize,
    planted: usize,
}

/// Measures both algorithms with and without coupled matrices.
pub(super) fn run(scale: Scale, seed: u64, report: &mut Report<'_>) -> anyhow::Result<()> {
    let whole = WorldParams::default();
    let ratings = scale.scaled(whole.ratings).max(LEAST);
    // A small share has half as many users and businesses, too: with fewer, groups are found by chance.
    let some = |count: u32| (scale.scaled(count as usize) as u32).max(count / 2);
    let (users, businesses) = (some(whole.users), some(whole.businesses));
    let world = world::generate(&WorldParams { users, businesses, ratings, seed, ..whole });
    let coupled = world.problem()?;
    let plain = coupled.alone()?;
    let mut table =
        Table::new(&["algorithm", "data", "agreement", "gap at the planted number", "clusters picked"]);
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for (algorithm, params) in [
        ("bayes", Params::default()),
        ("sgd, non-negative", Params { nonnegative: true, epochs: 120, ..Params::sgd() }),
    ] {
        for (data, problem) in [("coupled", &coupled), ("tensor alone", &plain)] {
            report.progress(format_args!("discovery: {algorithm}, {data}"));
            let (row, line) = row((algorithm, data), problem, &params, &world, seed)?;
            report.row(&row)?;
            table.row([
                algorithm.to_owned(),
                data.to_owned(),
                format!("{:.3}", row.agreement),
                format!("{:.3} (+- {:.3})", row.gap, row.gap_error),
                format!("{} of {}", row.picked, row.planted),
            ]);
            lines.push(line);
            rows.push(row);
        }
    }
    for pair in rows.chunks(2) {
        // Gradient descent keeps what few ratings leave of a cluster, so its gap says little there. Gaps within their errors are the same.
        let error = pair[0].gap_error.hypot(pair[1].gap_error);
        let is_clearer = pair[0].gap > pair[1].gap - 2.0 * error || pair[0].algorithm != "bayes";
        ensure!(
            pair[0].agreement > pair[1].agreement && is_clearer,
            "{}: coupled matrices do not help to find groups",
            pair[0].algorithm
        );
    }
    let y_text = |value: f64| format!("{value:.1}");
    let plot = Plot::Lines { x: "clusters", x_text: count, y: "gap statistic", y_text, y_log: false, lines };
    report.finish("discovery", "Groups of businesses, with coupled matrices and without", &table, &plot)
}

fn row(
    (algorithm, data): (&'static str, &'static str),
    problem: &Problem,
    params: &Params,
    world: &World,
    seed: u64,
) -> anyhow::Result<(Row, Line)> {
    let run = Training::new(problem.clone(), Params { seed, ..params.clone() }).run()?;
    let mode = &run.model.modes()[MODE];
    let planted: Vec<u32> =
        (0..mode.rows()).map(|row| world.business_groups[mode.id(row) as usize]).collect();
    let groups = THEMES.len();
    let clusters = |k: K| {
        let params = ClusterParams { k, top: 0, seed, ..ClusterParams::default() };
        discovery::clusters(&run.model, None, MODE, params)
    };
    let (given, auto) = (clusters(K::Fixed(groups))?, clusters(K::Auto(MOST))?);
    let curve = auto.gap.unwrap_or_else(|| discovery::GapCurve { gaps: Vec::new(), k: 0 });
    let at = curve.gaps.get(groups - 1).copied();
    let points = curve.gaps.iter().map(|gap| (gap.k as f64, gap.gap)).collect();
    let row = Row {
        algorithm,
        data,
        agreement: agreement(&planted, &given.of_row),
        gap: at.map_or(0.0, |gap| gap.gap),
        gap_error: at.map_or(0.0, |gap| gap.error),
        picked: curve.k,
        planted: groups,
    };
    Ok((row, Line { name: format!("{algorithm}, {data}"), points }))
}
