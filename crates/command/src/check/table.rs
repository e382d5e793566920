//! What there is to know about a table before it is factorized.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use s3cmtf::internal::describe::{Bar, by_powers, by_values};
use s3cmtf::{Params, Problem};
use serde::Serialize;

use super::bars;
use super::estimate::Epoch;
use super::odd::oddities;
use super::{Contents, Values};
use crate::args::{CheckArgs, DataArgs, fit_line};
use crate::{print, problem, source, summary};

/// What is said of a table beside what is said of every file.
#[derive(Serialize)]
pub(super) struct More {
    pub(super) problem: String,
    /// For each mode, how many ids have how many entries.
    pub(super) entries_per_id: BTreeMap<String, Vec<Bar>>,
    value_counts: Vec<Bar>,
    odd: Vec<String>,
    epoch: Epoch,
    fit: String,
}

/// Reads a table as `fit` would.
pub(super) fn look(file: &Path, args: &CheckArgs) -> anyhow::Result<Contents> {
    let paths = [file.to_path_buf()];
    let is_kept = problem::kept(&paths)?.is_some();
    let mut data =
        DataArgs { modes: args.data.modes.clone(), value: args.data.value.clone(), ..others(args) };
    if !is_kept && data.modes.is_none() && !source::is_numbered(&source::of_one(file, &data.file)?)? {
        let recipe = problem::recipe(&paths, &data)?;
        (data.modes, data.value) = (Some(recipe.modes), recipe.value.map(|value| value.to_string()));
    }
    let (problem, given) = problem::read_counted(&paths, &data, None)?;
    for note in problem.notes() {
        print::note(note);
    }
    let mut contents = Contents::new(file, &problem, given, Values::new(problem.entries()));
    contents.more = Some(More::new(&problem, given, fit_line(&paths, &data, &Params::default())));
    Ok(contents)
}

impl More {
    /// What there is to say of a problem that `fit` would be given with this line.
    pub(super) fn new(problem: &Problem, given: usize, fit: String) -> Self {
        let bars = |mode: usize| (problem.modes()[mode].name().to_owned(), by_powers(&problem.counts(mode)));
        More {
            problem: summary::described(problem, problem.entries().len(), None),
            entries_per_id: (0..problem.order()).map(bars).collect(),
            value_counts: by_values(problem.entries().values()),
            odd: oddities(problem, given),
            epoch: Epoch::new(problem),
            fit,
        }
    }
}

fn others(args: &CheckArgs) -> DataArgs {
    let DataArgs { couple, duplicates, sizes, file, .. } = &args.data;
    let (duplicates, sizes) = (*duplicates, sizes.clone());
    DataArgs { modes: None, value: None, couple: couple.clone(), duplicates, sizes, file: file.clone() }
}

impl More {
    pub(super) fn write(&self, out: &mut dyn Write, width: usize) -> io::Result<()> {
        bars::write(out, &self.value_counts)?;
        for odd in &self.odd {
            writeln!(out, "  {:width$}  {odd}", "odd")?;
        }
        let Epoch { ranks, threads, seconds, bytes } = &self.epoch;
        let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
        let plural = if *threads == 1 { "" } else { "s" };
        let memory = match bytes / 1e6 {
            megabytes if megabytes < 1e3 => format!("{megabytes:.0} MB"),
            megabytes => format!("{:.1} GB", megabytes / 1e3),
        };
        let time = match *seconds {
            seconds if seconds < 0.01 => "less than 0.01 s".to_owned(),
            seconds => format!("about {seconds:.2} s"),
        };
        writeln!(
            out,
            "  {:width$}  {time} with {threads} thread{plural} at ranks {}, and {memory} of memory",
            "epoch",
            ranks.join(" x ")
        )?;
        writeln!(out, "  {:width$}  {}", "fit", self.fit)
    }
}
