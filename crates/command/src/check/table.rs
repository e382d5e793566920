//! What there is to know about a table before it is factorized.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use s3cmtf::{Params, Problem};
use serde::Serialize;

use super::bars::{self, Bar};
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

/// What an epoch will take, roughly.
#[derive(Serialize)]
struct Epoch {
    rank: usize,
    threads: usize,
    seconds: f64,
    bytes: f64,
}

/// The squares of concepts that a thread goes through in a second. Epochs of 20 thousand to a million entries at ranks of 12
/// and 24 took between half and twice as long.
const SPEED: f64 = 1e9;

impl Epoch {
    /// The default settings on a problem: each entry is looked at once per mode, for the square of what its row is multiplied
    /// with; the entries are kept once, and once more in the order of each mode, and each row has half a square.
    fn of(problem: &Problem) -> Self {
        let params = Params::default();
        let (ranks, threads) = (params.ranks_for(problem.order()), params.n_threads());
        let squares: usize = ranks.iter().map(|rank| rank * rank).sum();
        let (entries, order) = (problem.entries().len() as f64, problem.order() as f64);
        let rows: f64 =
            problem.modes().iter().zip(&ranks).map(|(mode, &rank)| (mode.rows() * rank * rank) as f64).sum();
        Epoch {
            rank: ranks.first().copied().unwrap_or(0),
            threads,
            seconds: entries * squares as f64 / SPEED / threads as f64,
            bytes: 4.0 * (entries * (order + 1.0) * (order + 1.0) + 0.5 * rows),
        }
    }
}

/// Reads a table as `fit` would.
pub(super) fn look(file: &Path, args: &CheckArgs) -> anyhow::Result<Contents> {
    let paths = [file.to_path_buf()];
    let is_kept = problem::kept(&paths)?.is_some();
    let mut data =
        DataArgs { modes: args.data.modes.clone(), value: args.data.value.clone(), ..others(args) };
    if !is_kept && data.modes.is_none() && !source::is_numbered(&source::of_one(file, &data.file)?)? {
        let recipe = problem::recipe(&source::of_one(file, &data.file)?, &data)?;
        (data.modes, data.value) = (Some(recipe.modes), recipe.value.map(|value| value.to_string()));
    }
    let (problem, given) = problem::read_counted(&paths, &data, None)?;
    for note in problem.notes() {
        print::note(note);
    }
    let mut contents = Contents::of(file, &problem, given, Values::of(problem.entries()));
    let bars =
        |mode: usize| (problem.modes()[mode].name().to_owned(), bars::by_powers(&problem.counts(mode)));
    contents.more = Some(More {
        problem: summary::described(&problem, problem.entries().len(), None),
        entries_per_id: (0..problem.order()).map(bars).collect(),
        value_counts: bars::of_values(problem.entries().values()),
        odd: oddities(&problem, given),
        epoch: Epoch::of(&problem),
        fit: fit_line(&paths, &data, &Params::default()),
    });
    Ok(contents)
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
        let Epoch { rank, threads, seconds, bytes } = &self.epoch;
        let (memory, plural) = (bytes / 1e9, if *threads == 1 { "" } else { "s" });
        writeln!(
            out,
            "  {:width$}  about {seconds:.2} s with {threads} thread{plural} at rank {rank}, and {memory:.2} GB",
            "epoch"
        )?;
        writeln!(out, "  {:width$}  {}", "fit", self.fit)
    }
}
