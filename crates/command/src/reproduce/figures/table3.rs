//! Table 3: time and memory of an iteration by formula, held against exponents and bytes that were measured.

use crate::bench::plot::{Line, Plot};
use crate::bench::table::Table;
use crate::bench::units::{bytes, count, digits, seconds};
use crate::reproduce::cell::{Experiment, Outcome};
use crate::reproduce::memory::{Extent, auxiliary};
use crate::reproduce::methods;
use crate::reproduce::published::COMPLEXITY;
use crate::reproduce::section::{Picture, Row, Section, lines, of, remarks};
use crate::reproduce::slope::{Slope, time_slope};
use crate::reproduce::verdict::of_slope;

use super::scaling::{by_threads, extent};

/// How far the exponent of the rank may be from that of the leading term: at small ranks the others count, too.
const RANK_ROOM: f64 = 0.5;

/// The times of a method on so many threads, or on any, by something.
fn times(
    all: &[&Outcome],
    method: &str,
    threads: Option<usize>,
    by: impl Fn(&Outcome) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let own = all.iter().filter(|outcome| {
        outcome.cell.method == method && threads.is_none_or(|threads| outcome.cell.threads == threads)
    });
    own.filter_map(|outcome| Some((by(outcome)?, outcome.epoch_seconds()?))).collect()
}

/// Table 3.
pub(super) fn section(outcomes: &[Outcome]) -> Section {
    let all = |experiment| of(outcomes, experiment);
    let (sizes, entries) = (all(Experiment::Sizes), all(Experiment::Entries));
    let (ranks, cores) = (all(Experiment::Ranks), all(Experiment::Cores));
    let by_rank = |outcome: &Outcome| outcome.cell.rank.map(|rank| rank as f64);
    let text = |found: Option<Slope>| found.map_or("-".to_owned(), |found| found.text());
    let mut table = Table::new(&[
        "method",
        "time by the paper",
        "measured: entries",
        "size of modes",
        "rank",
        "cores",
        "memory by the paper",
    ]);
    let mut rows = Vec::new();
    for (key, time, memory, exponent) in COMPLEXITY {
        let name = methods::find(key).map_or(key, |method| method.name);
        // On one thread, where there are such cells, so that what is divided among threads does not matter.
        let alone = if ["naive", "opt"].contains(&key) { Some(1) } else { None };
        let of_rank = time_slope(&times(&ranks, key, alone, by_rank));
        table.row([
            name.to_owned(),
            time.to_owned(),
            text(time_slope(&times(&entries, key, alone, |outcome| Some(extent(outcome)?.1)))),
            text(time_slope(&times(&sizes, key, alone, |outcome| Some(extent(outcome)?.0)))),
            text(of_rank),
            text(time_slope(&by_threads(&cores, key))),
            memory.to_owned(),
        ]);
        let otherwise = if of_rank.is_some_and(|found| found.slope < exponent) {
            "perhaps terms of lower order, and vector instructions that are better used by longer rows"
        } else {
            "perhaps longer rows no longer fit into the caches"
        };
        rows.push(Row::words(
            format!("{name}: slope of time against the rank, three modes"),
            format!("{exponent} (+- {RANK_ROOM})"),
            text(of_rank),
            of_slope(of_rank, exponent, RANK_ROOM, otherwise),
        ));
    }
    let found = lines(&ranks, |outcome| Some((by_rank(outcome)?, outcome.epoch_seconds()?)));
    let found: Vec<Line> = found.into_iter().map(|(_, line)| line).collect();
    Section {
        key: "table3",
        title: "Table 3: time and memory of an iteration".into(),
        paper: "By its formulas S3CMTF-opt takes least time, and S3CMTF-naive least memory beside data and model. nnz(X) are the tensor's \
                entries, nnz(Y) those of the matrix, N modes of size I and rank J, K columns, P cores."
            .into(),
        rows,
        plots: vec![Picture {
            part: String::new(),
            title: "Time against the rank: modes of 10 K".into(),
            plot: Plot::Lines { x: "rank", x_text: count, y: "time of an epoch", y_text: seconds, y_log: true, lines: found },
        }],
        tables: vec![
            ("Exponents of time, by least squares on logarithms".into(), table),
            ("Memory: temporary numbers by formula, and all that a process held".into(), memory_table(&ranks)),
        ],
        notes: [
            "The paper's CMTF-OPT and CMTF-Tucker-ALS have terms with I^(N-1): those of dense data. Here nothing of the size of the tensor \
             is formed, so that neither time nor memory has them."
                .to_owned(),
        ]
        .into_iter()
        .chain(remarks(&ranks))
        .collect(),
    }
}

fn memory_table(all: &[&Outcome]) -> Table {
    let mut table = Table::new(&[
        "method",
        "rank",
        "threads",
        "temporary numbers",
        "computed, in all",
        "peak of the process",
        "peak over computed",
    ]);
    for outcome in all.iter().filter(|outcome| outcome.is_done()) {
        let Some(method) = methods::find(&outcome.cell.method) else { continue };
        let (Some((size, entries)), Some(rank)) = (extent(outcome), outcome.cell.rank) else { continue };
        let extent = Extent {
            rows: vec![size.min(entries); 3],
            entries,
            matrix_entries: entries / 10.0,
            matrix_columns: size.min(entries / 10.0),
        };
        let ratio = outcome
            .computed_bytes
            .zip(outcome.peak_bytes)
            .map(|(computed, peak)| peak as f64 / computed as f64);
        table.row([
            methods::shown(&outcome.cell.method, outcome.cell.threads),
            rank.to_string(),
            outcome.cell.threads.to_string(),
            bytes(Some(auxiliary(method.kind, &extent, rank as f64, outcome.cell.threads))),
            bytes(outcome.computed_bytes.map(|all| all as f64)),
            bytes(outcome.peak_bytes.map(|all| all as f64)),
            ratio.map_or("-".into(), digits),
        ]);
    }
    table
}
