//! `s3cmtf evaluate --ablate`: what each coupled matrix and each mode of circumstances is worth.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use s3cmtf::internal::files;
use s3cmtf::internal::prepare::ModeSpec;
use s3cmtf::tune::{Ablated, AblationEffect, AblationEvent, Verdict};
use s3cmtf::{Ablation, LeftOut, Problem, Run};
use serde::Serialize;

use crate::args::{EvaluateArgs, quoted, typed_values};
use crate::columns::Columns;
use crate::print::{self, short};
use crate::progress::{Progress, waiting};
use crate::{interrupt, modes, saved, summary};

/// A line of JSON: what was left out, and what that comes to.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    worth: &'a AblationEffect,
    /// The verdict as a person reads it.
    words: String,
}

/// The last line of JSON.
#[derive(Serialize)]
struct End<'a> {
    held_out: usize,
    interrupted: bool,
    rmse: Option<f64>,
    /// What simple predictions come to on the same entries.
    mean_rmse: Option<f64>,
    offsets_rmse: Option<f64>,
    /// The names of what makes predictions worse.
    worse: Vec<&'a str>,
}

/// Runs the verb.
pub(super) fn run(args: &EvaluateArgs, folder: &Path) -> anyhow::Result<ExitCode> {
    let Run { model, record } = files::load(folder)?;
    let data =
        waiting("reading the training data", args.progress.quiet, || saved::data(folder, &model, &record))?;
    let Some(problem) = data else {
        bail!(
            "{}: the training data are not saved with the model, and nothing can be trained without them: fit again with --out and \
             without --no-data, or cross validate the tensor's file with and without a --couple (evaluate --folds)",
            folder.display()
        )
    };
    let parts = problem.parts();
    let quiet = args.progress.quiet || args.json;
    if !quiet {
        summary::announce(&problem, problem.entries().len(), &record.params, None);
        print::status(format_args!(
            "{} trainings, on nine tenths of the entries: with everything and without each of {}, twice",
            2 * (parts.len() + 1),
            parts.iter().map(LeftOut::name).collect::<Vec<_>>().join(", ")
        ));
    }
    let epochs = record.params.epochs;
    let mut table = Table::new(args, &problem, epochs);
    let couples = record.command.as_deref().map_or(Vec::new(), |line| typed_values(line, "--couple"));
    let ablation = Ablation::new(problem.clone(), record.params).interrupt(interrupt::flag()?);
    let ablated = ablation.observe(|event| table.observe(event)).run();
    table.finish()?;
    let ablated = ablated?;
    conclude(args, &ablated, &problem, &couples)?;
    Ok(if ablated.interrupted { ExitCode::from(interrupt::EXIT) } else { ExitCode::SUCCESS })
}

/// Says what the trainings come to together; `couples` are the matrices as they were typed for the model, if that is known.
fn conclude(
    args: &EvaluateArgs,
    ablated: &Ablated,
    problem: &Problem,
    couples: &[String],
) -> anyhow::Result<()> {
    ablated.note().iter().for_each(print::note);
    for worth in &ablated.parts {
        if let Some(note) = worth.note() {
            print::note(format_args!("{note}: {}", how(&worth.left_out, problem, couples)));
        }
    }
    let Ablated { rmse, simple, parts, held_out, interrupted, .. } = ablated;
    let (mean_rmse, offsets_rmse) =
        (simple.map(|simple| simple.mean_rmse), simple.map(|simple| simple.offsets_rmse));
    if args.json {
        let worse = parts.iter().filter(|worth| worth.verdict == Verdict::Worse);
        let worse = worse.map(|worth| worth.left_out.name()).collect();
        let (held_out, interrupted, rmse) = (*held_out, *interrupted, *rmse);
        return print::json(&End { held_out, interrupted, rmse, mean_rmse, offsets_rmse, worse });
    }
    if rmse.is_none() {
        return Ok(());
    }
    print::out(|out| writeln!(out))?;
    let entries = problem.entries().len();
    let mut rows = vec![("held out", format!("{held_out} of {entries} entries"))];
    rows.extend(summary::simple(mean_rmse, offsets_rmse));
    print::table(&rows)
}

/// What is to be typed to leave a part out.
fn how(part: &LeftOut, problem: &Problem, couples: &[String]) -> String {
    match part {
        // Matrices are in the order in which they were typed.
        LeftOut::Matrix { place, .. } if couples.len() == problem.coupled().len() => {
            format!("fit without --couple {}", quoted(&couples[*place]))
        }
        LeftOut::Matrix { .. } => "fit without its --couple".to_owned(),
        LeftOut::Mode { place, .. } => {
            let others = problem.modes().iter().enumerate().filter(|(other, _)| other != place);
            let specs: Option<Vec<ModeSpec>> = others.map(|(_, mode)| modes::spec(mode)).collect();
            match specs {
                Some(specs) => {
                    let words: Vec<String> = specs.iter().map(ToString::to_string).collect();
                    format!("fit with --modes {}", words.join(","))
                }
                // A file of indices has a mode for each of its columns.
                None => "fit without its column of indices".to_owned(),
            }
        }
    }
}

/// Who is told of each training, and why they could not be told of everything.
struct Table<'a> {
    args: &'a EvaluateArgs,
    epochs: usize,
    columns: Columns,
    headings: Vec<String>,
    progress: Option<Progress>,
    failure: Option<anyhow::Error>,
}

impl<'a> Table<'a> {
    fn new(args: &'a EvaluateArgs, problem: &Problem, epochs: usize) -> Self {
        let longest = problem.parts().iter().map(|part| part.name().chars().count()).max().unwrap_or(0);
        let headings = [("left out", longest), ("RMSE", 9), ("difference", 0), ("sd", 7), ("the part", 0)];
        Table {
            args,
            epochs,
            columns: Columns::new(&headings),
            headings: headings.iter().map(|(heading, _)| (*heading).to_owned()).collect(),
            progress: None,
            failure: None,
        }
    }

    fn observe(&mut self, event: AblationEvent<'_>) -> ControlFlow<()> {
        match event {
            AblationEvent::Start(part, again) => {
                let what = part.map_or("everything".to_owned(), |part| format!("without {}", part.name()));
                let label = if again > 0 { format!("{what}, again") } else { what };
                let quiet = self.args.progress.quiet || self.args.json;
                self.progress = Some(Progress::of_many(&label, self.epochs, quiet));
            }
            AblationEvent::Epoch(epoch) => {
                return self
                    .progress
                    .as_mut()
                    .map_or(ControlFlow::Continue(()), |progress| progress.observe(epoch));
            }
            AblationEvent::Whole(rmse) => self.tell(|table| table.whole(rmse)),
            AblationEvent::Effect(worth) => self.tell(|table| table.worth(worth)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// A stdout that fails must not end the comparison: it goes on, and the failure is told at its end.
    fn tell(&mut self, print: impl FnOnce(&Self) -> anyhow::Result<()>) {
        let finished = self.progress.take().map_or(Ok(()), Progress::finish);
        if self.failure.is_none() {
            self.failure = finished.and_then(|()| print(self)).err();
        }
    }

    fn whole(&self, rmse: f64) -> anyhow::Result<()> {
        if self.args.json {
            return Ok(());
        }
        self.columns.print_headings(&self.headings)?;
        self.columns.print(&["nothing".to_owned(), short(rmse)])
    }

    fn worth(&self, worth: &AblationEffect) -> anyhow::Result<()> {
        let words = words(worth);
        if self.args.json {
            return print::json(&Told { worth, words });
        }
        let share = |share: f64| format!("{:.2} %", 100.0 * share);
        self.columns.print(&[
            worth.left_out.name().to_owned(),
            short(worth.rmse),
            format!("{:+.2} %", 100.0 * worth.difference),
            share(worth.noise),
            words,
        ])
    }

    /// Ends the table.
    ///
    /// # Errors
    /// If stdout could not be written.
    fn finish(mut self) -> anyhow::Result<()> {
        self.tell(|_| Ok(()));
        self.failure.map_or(Ok(()), Err)
    }
}

/// The verdict on a part, and what to do about it.
fn words(worth: &AblationEffect) -> String {
    let words = worth.verdict.words();
    match worth.verdict {
        Verdict::Worse => format!("{words}: leave it out"),
        Verdict::Helps | Verdict::NoDifference => words.to_owned(),
    }
}
