//! A part of the page: a figure of the paper, ours beside it, and what is said of both.

use super::cell::{Cell, Data, Experiment, Outcome, State};
use super::methods::{self, Form};
use super::verdict::Verdict;
use crate::bench::plot::{Line, Plot};
use crate::bench::table::Table;
use crate::bench::units::{count, digits};

/// A figure or table of the paper.
pub(super) struct Section {
    /// As `--only` has it, and the start of the names of its plots.
    pub(super) key: &'static str,
    pub(super) title: String,
    /// What the paper says.
    pub(super) paper: String,
    pub(super) rows: Vec<Row>,
    pub(super) plots: Vec<Picture>,
    pub(super) tables: Vec<(String, Table)>,
    /// Doubts and remarks.
    pub(super) notes: Vec<String>,
}

/// A number of the paper beside ours.
pub(super) struct Row {
    pub(super) what: String,
    pub(super) paper: String,
    pub(super) ours: String,
    /// Ours over the paper's, where both are numbers.
    pub(super) ratio: Option<f64>,
    pub(super) verdict: Verdict,
}

impl Row {
    /// Two numbers, written with three digits.
    pub(super) fn numbers(what: impl Into<String>, paper: f64, ours: f64, verdict: Verdict) -> Self {
        let ratio = Some(ours / paper);
        Row { what: what.into(), paper: digits(paper), ours: digits(ours), ratio, verdict }
    }

    /// Words.
    pub(super) fn words(
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        Row { what: what.into(), paper: paper.into(), ours: ours.into(), ratio: None, verdict }
    }

    /// A number of the paper for which there is none of ours.
    pub(super) fn lacking(what: impl Into<String>, paper: impl Into<String>, why: impl Into<String>) -> Self {
        Row::words(what, paper, "-", Verdict::NotComparable(why.into()))
    }
}

/// A plot with its title, and what the name of its file ends in.
pub(super) struct Picture {
    pub(super) part: String,
    pub(super) title: String,
    pub(super) plot: Plot,
}

/// What data are called.
pub(super) fn data_name(data: &Data) -> String {
    match data {
        Data::Ratings { set, original: true, .. } => format!("{} (the download)", set.name()),
        Data::Ratings { set, scale, .. } => {
            format!("shape of {}, made up{}", set.name(), share(*scale))
        }
        Data::Made { size, entries } => {
            format!("synthetic, {} entries, modes of {}", count(*entries as f64), count(f64::from(*size)))
        }
        Data::World { original: true, coupled, .. } => format!("Yelp (the download){}", coupling(*coupled)),
        Data::World { ratings, coupled, .. } => {
            format!("made-up world of {} ratings{}", count(*ratings as f64), coupling(*coupled))
        }
    }
}

fn coupling(coupled: bool) -> &'static str {
    if coupled { ", coupled" } else { ", not coupled" }
}

fn share(scale: f64) -> String {
    if scale < 1.0 { format!(", {} %", percent(scale)) } else { String::new() }
}

/// A share in percent, without zeros at its end.
pub(super) fn percent(share: f64) -> String {
    ((1e6 * share).round() / 1e4).to_string()
}

/// The form of a method in words.
pub(super) fn form_name(key: &str) -> &'static str {
    match methods::find(key).map(|method| method.form) {
        Some(Form::Published) => "as published",
        Some(Form::Best) => "at its best",
        _ => "ours",
    }
}

/// The outcomes of an experiment.
pub(super) fn of(outcomes: &[Outcome], experiment: Experiment) -> Vec<&Outcome> {
    outcomes.iter().filter(|outcome| outcome.cell.experiment == experiment).collect()
}

/// A line for each method and number of threads, in the order of the cells.
pub(super) fn lines<'a>(
    outcomes: &[&'a Outcome],
    point: impl Fn(&'a Outcome) -> Option<(f64, f64)>,
) -> Vec<(Cell, Line)> {
    let mut lines: Vec<(Cell, Line)> = Vec::new();
    for &outcome in outcomes {
        let Some(point) = point(outcome) else { continue };
        let same = |(cell, _): &&mut (Cell, Line)| {
            cell.method == outcome.cell.method && cell.threads == outcome.cell.threads
        };
        match lines.iter_mut().find(same) {
            Some((_, line)) => line.points.push(point),
            None => {
                let name = methods::shown(&outcome.cell.method, outcome.cell.threads);
                lines.push((outcome.cell.clone(), Line { name, points: vec![point] }));
            }
        }
    }
    lines
}

/// What is to be known about cells before their numbers are read: which came to nothing, were cut short, or were timed beside other
/// work.
pub(super) fn remarks(outcomes: &[&Outcome]) -> Vec<String> {
    let mut remarks = troubles(outcomes);
    let cut = outcomes.iter().filter(|outcome| outcome.cut_short).map(|outcome| {
        let Cell { method, threads, epochs, data, .. } = &outcome.cell;
        format!(
            "{} ({}) after {} of {epochs}",
            methods::shown(method, *threads),
            data_name(data),
            outcome.epochs.len()
        )
    });
    let cut: Vec<String> = cut.collect();
    if !cut.is_empty() {
        remarks.push(format!("Ended by the budget before their epochs were: {}.", cut.join("; ")));
    }
    let parts = outcomes.iter().filter_map(|outcome| {
        let name = methods::shown(&outcome.cell.method, outcome.cell.threads);
        Some(format!("{name} ({}) on {:.1} %", data_name(&outcome.cell.data), 100.0 * outcome.part?))
    });
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        let parts = parts.join("; ");
        remarks.push(format!("Times measured on a part of the entries and scaled up to all: {parts}."));
    }
    let most = outcomes.iter().map(|outcome| outcome.cell.threads).max().unwrap_or(1) as f64;
    let busy = outcomes.iter().filter(|outcome| outcome.load.is_some_and(|load| load > most + 1.0)).count();
    if busy > 0 {
        remarks.push(format!(
            "Other work was on the machine before {busy} of {} cells: their times, and slopes and ratios of them, are not to be relied on.",
            outcomes.len()
        ));
    }
    remarks
}

/// What kept cells from coming to anything, each reason once.
fn troubles(outcomes: &[&Outcome]) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for outcome in outcomes {
        let Some(mut trouble) = outcome.trouble() else { continue };
        if outcome.state != State::Failed {
            trouble = format!("{} ({})", trouble, data_name(&outcome.cell.data));
        }
        let name = methods::shown(&outcome.cell.method, outcome.cell.threads);
        match all.iter_mut().find(|(known, _)| *known == trouble) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => all.push((trouble, vec![name])),
        }
    }
    all.into_iter().map(|(trouble, names)| format!("{}: {trouble}", names.join(", "))).collect()
}
