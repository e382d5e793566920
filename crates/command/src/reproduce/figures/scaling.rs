//! Figure 5: time against the size of modes, the number of entries, and cores.

use crate::bench::plot::{Line, Plot};
use crate::bench::table::Table;
use crate::bench::units::{bytes, count, digits, seconds};
use crate::reproduce::cell::{Cell, Data, Experiment, Outcome};
use crate::reproduce::methods::{self, Form};
use crate::reproduce::published::{CMTF_OPT_SIZE, TUCKER_SIZE};
use crate::reproduce::section::{Picture, Row, Section, lines, of, remarks};
use crate::reproduce::slope::{slope, time_slope};
use crate::reproduce::verdict::{SLOPE_ROOM, Verdict, of_claim, of_slope};

/// Speed-ups that differ by less than this share were not told apart.
const TIE: f64 = 0.05;

/// The size of modes and the number of entries of a cell.
pub(super) fn extent(outcome: &Outcome) -> Option<(f64, f64)> {
    match outcome.cell.data {
        Data::Made { size, entries } => Some((f64::from(size), entries as f64)),
        _ => None,
    }
}

fn is_ours(cell: &Cell) -> bool {
    ["naive", "opt"].contains(&cell.method.as_str())
}

/// A line of a table for each cell that has a time.
fn cells_table(all: &[&Outcome]) -> Table {
    let mut table = Table::new(&[
        "method",
        "settings",
        "size of modes",
        "entries",
        "threads",
        "an epoch",
        "computed memory",
        "peak memory",
    ]);
    for outcome in all {
        let (size, entries) = extent(outcome).unwrap_or_default();
        let time = outcome.epoch_seconds().map(seconds);
        let trouble =
            || outcome.trouble().unwrap_or_default().split(':').next().unwrap_or_default().to_owned();
        let memory = |held: Option<u64>| held.map_or("-".to_owned(), |held| bytes(Some(held as f64)));
        table.row([
            methods::find(&outcome.cell.method).map_or("", |method| method.name).to_owned(),
            crate::reproduce::section::form_name(&outcome.cell.method).to_owned(),
            count(size),
            count(entries),
            outcome.cell.threads.to_string(),
            if outcome.is_done() { time.unwrap_or_default() } else { trouble() },
            memory(outcome.computed_bytes),
            memory(outcome.peak_bytes),
        ]);
    }
    table
}

fn plain(lines: Vec<(Cell, Line)>) -> Vec<Line> {
    lines.into_iter().map(|(_, line)| line).collect()
}

fn picture(title: &str, x: &'static str, lines: Vec<Line>) -> Picture {
    let plot = Plot::Lines { x, x_text: count, y: "time of an epoch", y_text: seconds, y_log: true, lines };
    Picture { part: String::new(), title: title.to_owned(), plot }
}

/// Rows of slopes: those of S3CMTF against what the paper says, the others for comparison.
fn slope_rows(
    found: &[(Cell, Line)],
    against: &str,
    expected: f64,
    otherwise: &str,
    theirs: &str,
) -> Vec<Row> {
    let row = |(cell, line): &(Cell, Line)| {
        let found = time_slope(&line.points);
        let ours = found.map_or("-".to_owned(), |found| found.text());
        let what = format!("{}: slope of time against {against}", line.name);
        if is_ours(cell) {
            let verdict = of_slope(found, expected, SLOPE_ROOM, otherwise);
            return Row::words(what, format!("{expected} (+- {SLOPE_ROOM})"), ours, verdict);
        }
        let opponent = methods::find(&cell.method).is_some_and(|method| method.form != Form::Ours);
        let reported = opponent && (cell.method.starts_with("cmtf-opt") || cell.method.starts_with("tucker"));
        let (paper, why) = if reported { (theirs, "see below") } else { ("-", "the paper does not have it") };
        Row::words(what, paper, ours, Verdict::NotComparable(why.into()))
    };
    found.iter().map(row).collect()
}

/// Figure 5a.
pub(super) fn sizes(outcomes: &[Outcome]) -> Section {
    let all = of(outcomes, Experiment::Sizes);
    let found = lines(&all, |outcome| Some((extent(outcome)?.0, outcome.epoch_seconds()?)));
    let otherwise = "perhaps more ids that occur mean more rows, and rows that lie further apart in memory: caches, not arithmetic";
    let mut rows = slope_rows(&found, "the size of modes", 0.0, otherwise, "grows");
    let at = |method: &str, size: u32| {
        all.iter().find(|outcome| {
            outcome.cell.method == method
                && matches!(outcome.cell.data, Data::Made { size: other, .. } if other == size)
        })
    };
    for (method, size, reported, otherwise) in [
        (
            "tucker-als",
            TUCKER_SIZE,
            "O.O.M.",
            "only ids that occur have rows here; with a row for every id it would be size x J^(N-1) numbers, 8 GB at rank 10, which \
             the paper's machine had",
        ),
        (
            "cmtf-opt",
            CMTF_OPT_SIZE,
            "O.O.T.",
            "only ids that occur have rows here, and nothing of the size of the tensor is formed",
        ),
    ] {
        let name = methods::find(method).map_or(method, |method| method.name);
        let what = format!("{name} at modes of {}", count(f64::from(size)));
        rows.push(match at(method, size) {
            Some(outcome) if outcome.is_done() => {
                let time = outcome.epoch_seconds().map_or("-".into(), seconds);
                let peak = bytes(outcome.peak_bytes.map(|peak| peak as f64));
                Row::words(what, reported, format!("{time}, {peak}"), Verdict::Differs(otherwise.into()))
            }
            Some(outcome) => {
                let trouble = outcome.trouble().unwrap_or_default();
                match trouble.starts_with(reported) {
                    true => Row::words(what, reported, trouble, Verdict::Agrees(String::new())),
                    false => Row::lacking(what, reported, trouble),
                }
            }
            None => Row::lacking(what, reported, "it was not run"),
        });
    }
    let entries = all.first().and_then(|outcome| extent(outcome)).map_or(String::new(), |(_, entries)| {
        format!("{} entries and a coupled matrix of a tenth, rank 10", count(entries))
    });
    Section {
        key: "fig5a",
        title: "Figure 5a: time against the size of modes".into(),
        paper: "With 1 M entries and a matrix of 100 K, the time of S3CMTF is constant from modes of 1 K to 100 M; CMTF-Tucker-ALS runs out \
                of memory from 10 M on, CMTF-OPT out of time at 100 M."
            .into(),
        rows,
        plots: vec![picture(&format!("Time against the size of modes: {entries}"), "size of each mode", plain(found))],
        tables: vec![("Cells".into(), cells_table(&all))],
        notes: remarks(&all),
    }
}

/// Figure 5b.
pub(super) fn entries(outcomes: &[Outcome]) -> Section {
    let all = of(outcomes, Experiment::Entries);
    let found = lines(&all, |outcome| Some((extent(outcome)?.1, outcome.epoch_seconds()?)));
    let otherwise = "perhaps what does not grow with entries (threads, rows, the core) is still a part of the time of few, and caches are of many";
    Section {
        key: "fig5b",
        title: "Figure 5b: time against the number of entries".into(),
        paper: "In modes of 10 K, the time of S3CMTF is linear from 10 K to 100 M entries, and that of CMTF-OPT nearly; CMTF-Tucker-ALS runs \
                out of memory at 100 M."
            .into(),
        rows: slope_rows(&found, "entries", 1.0, otherwise, "about 1"),
        plots: vec![picture("Time against entries: modes of 10 K, rank 10", "entries", plain(found))],
        tables: vec![("Cells".into(), cells_table(&all))],
        notes: remarks(&all),
    }
}

/// The times of a method by threads.
pub(super) fn by_threads(all: &[&Outcome], method: &str) -> Vec<(f64, f64)> {
    let own = all.iter().filter(|outcome| outcome.cell.method == method);
    own.filter_map(|outcome| Some((outcome.cell.threads as f64, outcome.epoch_seconds()?))).collect()
}

/// Figure 5c.
pub(super) fn cores(outcomes: &[Outcome]) -> Section {
    let all = of(outcomes, Experiment::Cores);
    let speed_up = |method: &str| -> Vec<(f64, f64)> {
        let times = by_threads(&all, method);
        let base = times.iter().find(|point| point.0 <= 1.0).map_or(f64::NAN, |point| point.1);
        times.into_iter().map(|(threads, time)| (threads, base / time)).collect()
    };
    let methods: Vec<(&str, String)> = ["naive", "opt", "default"]
        .into_iter()
        .filter_map(|key| Some((key, methods::find(key)?.name.to_owned())))
        .collect();
    let mut rows = Vec::new();
    for (key, name) in &methods {
        let points = speed_up(key);
        let found = slope(&points);
        let ours = found.map_or("-".to_owned(), |found| found.text());
        let what = format!("{name}: slope of the speed-up against cores");
        let otherwise =
            "perhaps the core, which is one for all threads, shared memory, or other work on the machine";
        rows.push(match *key {
            "default" => {
                Row::words(what, "-", ours, Verdict::NotComparable("the paper does not have it".into()))
            }
            _ => Row::words(
                what,
                format!("1 (+- {SLOPE_ROOM})"),
                ours,
                of_slope(found, 1.0, SLOPE_ROOM, otherwise),
            ),
        });
    }
    let last = |method: &str| speed_up(method).last().copied();
    let what = "speed-up of S3CMTF-opt above that of S3CMTF-naive";
    rows.push(match (last("opt"), last("naive")) {
        (Some((threads, opt)), Some((_, naive))) if threads > 1.0 => {
            let ours = format!("{} and {} on {threads} threads", digits(opt), digits(naive));
            let otherwise = "perhaps naive, which computes more for what it reads, waits less for memory";
            let verdict = match (opt / naive).ln().abs() < TIE {
                true => Verdict::NotComparable("one measurement each cannot tell them apart".into()),
                false => of_claim(opt > naive, otherwise),
            };
            Row::words(what, "higher", ours, verdict)
        }
        _ => Row::lacking(what, "higher", "there is one thread"),
    });
    let line = |(key, name): (&str, String)| Line { name, points: speed_up(key) };
    let lines = methods.into_iter().map(line).filter(|line| !line.points.is_empty()).collect();
    Section {
        key: "fig5c",
        title: "Figure 5c: speed-up by cores".into(),
        paper: "The speed-up of S3CMTF-naive and S3CMTF-opt is linear in the number of cores, that of opt higher.".into(),
        rows,
        plots: vec![Picture {
            part: String::new(),
            title: "Speed-up: the time on one thread over that on more".into(),
            plot: Plot::Lines { x: "threads", x_text: count, y: "speed-up", y_text: digits, y_log: true, lines },
        }],
        tables: vec![("Cells".into(), cells_table(&all))],
        notes: remarks(&all),
    }
}
