//! `s3cmtf check`: what is in data files, and what is wrong with them.

mod bars;
mod estimate;
mod odd;
mod table;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use s3cmtf::internal::files;
use s3cmtf::internal::input::plain_names;
use s3cmtf::{Entries, Error, Params, Problem};
use serde::Serialize;

use crate::args::{CheckArgs, fit_line};
use crate::failure::{is_usage, told, usage};
use crate::print::{self, short};
use crate::source;

/// What a file holds.
#[derive(Serialize)]
struct Contents {
    file: String,
    entries: usize,
    /// Entries whose cell an earlier one has already given.
    duplicates: usize,
    /// The share of the cells that are given.
    density: f64,
    modes: Vec<ModeContents>,
    values: Values,
    /// What more there is to say, for a person.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    more: Option<table::More>,
}

/// One mode of a file.
#[derive(Serialize)]
struct ModeContents {
    name: String,
    size: u32,
    /// How many ids occur.
    ids: usize,
    /// Entries per id that occurs.
    min: u32,
    median: f64,
    max: u32,
}

/// The values of a file.
#[derive(Serialize)]
struct Values {
    min: f32,
    mean: f64,
    max: f32,
    sd: f64,
}

/// Runs the verb: all files are looked at, whatever is wrong with some.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    if let (Some(modes), Some(sizes)) = (&args.data.modes, &args.data.sizes)
        && modes.len() != sizes.len()
    {
        return Err(usage(format!(
            "--modes has {} names, but --sizes has {} numbers; both have one per mode",
            modes.len(),
            sizes.len()
        )));
    }
    let mut code = ExitCode::SUCCESS;
    for file in &args.files {
        let contents = if is_table(file, args)? { table::look(file, args) } else { numbered(file, args) };
        match contents {
            Ok(contents) if args.json => print::json(&contents)?,
            Ok(contents) => print::styled(|out| contents.write(out))?,
            // What was typed is wrong, for every file.
            Err(error) if is_usage(&error) => return Err(error),
            Err(error) => {
                let error = told(error);
                print::error(&error);
                if args.json {
                    let file = file.display().to_string();
                    print::json(&serde_json::json!({ "file": file, "error": error }))?;
                }
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Whether a file is something else than indices with names for their columns. What cannot be read is not: its reader says
/// best what is wrong.
fn is_table(file: &Path, args: &CheckArgs) -> anyhow::Result<bool> {
    if files::is_problem(file).unwrap_or(false) {
        return Ok(true);
    }
    let plain = args.data.value.is_none() && plain_names(args.data.modes.as_deref()).is_some();
    let source = source::of_one(file, &args.data.file)?;
    Ok(!plain || source::is_numbered(&source).is_ok_and(|numbered| !numbered))
}

fn numbered(file: &Path, args: &CheckArgs) -> anyhow::Result<Contents> {
    look(file, args).map_err(|error| files::with_line(error).into())
}

/// Reads a file and builds a problem of it, as `fit` would.
fn look(file: &Path, args: &CheckArgs) -> Result<Contents, Error> {
    let entries = files::read_entries(file, None)?;
    let (given, values) = (entries.len(), Values::new(&entries));
    let problem = build(file, entries, args)?;
    let fit = fit_line(&[file.to_path_buf()], &args.data, &Params::default());
    let mut contents = Contents::new(file, &problem, given, values);
    let mut more = table::More::new(&problem, given, fit);
    more.problem = format!("{} indices per entry, {}", problem.order(), more.problem);
    contents.more = Some(more);
    Ok(contents)
}

fn build(file: &Path, entries: Entries, args: &CheckArgs) -> Result<Problem, Error> {
    let order = entries.order();
    let modes = plain_names(args.data.modes.as_deref()).flatten();
    let sizes = args.data.sizes.as_ref();
    let described = [modes.as_ref().map(Vec::len), sizes.map(Vec::len)];
    let described = described.into_iter().flatten().next();
    let mut builder = Problem::builder(entries);
    if described == Some(order) {
        if let Some(modes) = modes {
            builder = builder.names(modes);
        }
        if let Some(sizes) = sizes {
            builder = builder.sizes(sizes.clone());
        }
    } else if order == 2 {
        builder = builder.names(vec!["row".into(), "column".into()]);
    } else if let Some(described) = described {
        let what = format!("{order} indices per entry, but {described} modes were given");
        return Err(Error::File { path: file.to_path_buf(), what, source: None });
    }
    builder.build()
}

impl ModeContents {
    fn new(problem: &Problem, number: usize) -> Self {
        let mode = &problem.modes()[number];
        let mut counts = problem.counts(number);
        counts.sort_unstable();
        let at = |place: usize| counts.get(place).copied().unwrap_or(0);
        let last = counts.len().saturating_sub(1);
        ModeContents {
            name: mode.name().to_owned(),
            size: mode.size(),
            ids: mode.rows(),
            min: at(0),
            median: (f64::from(at(last / 2)) + f64::from(at(last.div_ceil(2)))) / 2.0,
            max: at(last),
        }
    }
}

impl Values {
    fn new(entries: &Entries) -> Self {
        let [min, max] = entries.range();
        Values { min, mean: entries.mean(), max, sd: entries.variance().sqrt() }
    }
}

impl Contents {
    fn new(file: &Path, problem: &Problem, given: usize, values: Values) -> Self {
        let cells: f64 = problem.modes().iter().map(|mode| f64::from(mode.size())).product();
        let distinct = problem.entries().len();
        Contents {
            file: file.display().to_string(),
            entries: given,
            duplicates: given - distinct,
            density: distinct as f64 / cells,
            modes: (0..problem.order()).map(|mode| ModeContents::new(problem, mode)).collect(),
            values,
            more: None,
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = self.modes.iter().map(|mode| mode.name.chars().count()).max().unwrap_or(0).max(7);
        match &self.more {
            Some(more) => writeln!(out, "{}: {}", self.file, more.problem)?,
            None => writeln!(out, "{}: {} indices per entry", self.file, self.modes.len())?,
        }
        let duplicates = match self.duplicates {
            0 => "no duplicates".to_owned(),
            some => format!("{some} duplicates"),
        };
        writeln!(
            out,
            "  {:width$}  {}, {duplicates}, density {}",
            "entries",
            self.entries,
            short(self.density)
        )?;
        for mode in &self.modes {
            writeln!(
                out,
                "  {:width$}  size {}, {} ids occur, entries per id: min {}, median {}, max {}",
                mode.name, mode.size, mode.ids, mode.min, mode.median, mode.max
            )?;
            if let Some(bars) = self.more.as_ref().and_then(|more| more.entries_per_id.get(&mode.name)) {
                bars::write(out, bars)?;
            }
        }
        let Values { min, mean, max, sd } = &self.values;
        let (mean, sd) = (short(*mean), short(*sd));
        writeln!(out, "  {:width$}  min {min}, mean {mean}, max {max}, sd {sd}", "values")?;
        self.more.as_ref().map_or(Ok(()), |more| more.write(out, width))
    }
}
