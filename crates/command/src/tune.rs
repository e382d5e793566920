//! `s3cmtf tune`: a search for settings, as a table that grows, and the command line of the best.

mod changes;

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use s3cmtf::tune::{Change, End, Event, Skip, Trial, Tuned, Why};
use s3cmtf::{Algorithm, Duplicates, Mode, Params, SimpleErrors, Tuning};
use serde::Serialize;

use crate::args::{TuneArgs, fit_line};
use crate::columns::Columns;
use crate::failure::usage;
use crate::print::{self, short};
use crate::progress::Progress;
use crate::{interrupt, problem, summary};
use changes::{Typed, changed};

/// The last line of JSON.
#[derive(Serialize)]
struct Chosen<'a> {
    end: End,
    trials: usize,
    skips: usize,
    held_out: usize,
    seconds: f64,
    /// Whether the settings are better than the baseline by more than noise; else they are the baseline.
    better: bool,
    rmse: f64,
    /// What simple predictions come to on the same entries.
    mean_rmse: Option<f64>,
    offsets_rmse: Option<f64>,
    params: &'a Params,
    /// What is to be changed about the coupled matrices.
    changes: &'a [Change],
    command: &'a str,
}

/// Runs the verb.
pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let budget =
        Duration::try_from_secs_f64(args.budget).ok().filter(|budget| !budget.is_zero()).ok_or_else(
            || usage(format!("--budget should be a number of seconds above 0, but is {}", args.budget)),
        )?;
    let share = args.holdout;
    if !(share > 0.0 && share < 1.0) {
        return Err(usage(format!(
            "--holdout should be a share between 0 and 1, both excluded, but is {share}"
        )));
    }
    let base = args.settings.params(None)?;
    let problem = problem::read(&args.tensor, &args.data, None)?;
    base.check(&problem)?;
    for note in problem.notes() {
        print::note(note);
    }
    if !args.progress.quiet && !args.json {
        summary::announce(&problem, problem.entries().len(), &base, None);
    }
    let entries = problem.entries().len();
    // Where matrices are in the file of a whole problem, no flag leaves one out.
    let matrices = problem.coupled().len() == args.data.couple.len();
    let obvious = Typed::new(&problem);
    // What is counted or added up is another value in a longer time.
    let bins = obvious.is_some()
        && args.data.duplicates.is_none_or(|how| how == Duplicates::Mean)
        && problem::kept(&args.tensor)?.is_none();
    let changes = !args.data.couple.is_empty() || bins && problem.modes().iter().any(Mode::is_time);
    let mut table = Table::new(args, &base, changes);
    let mut tuning =
        Tuning::new(problem, base.clone()).budget(budget).holdout(share).interrupt(interrupt::flag()?);
    tuning = tuning.matrices(matrices).bins(bins);
    if args.settings.has_algorithm() {
        tuning = tuning.algorithms(vec![base.algorithm]);
    }
    let tuned = tuning.observe(|event| table.observe(event)).run();
    table.finish()?;
    let tuned = tuned?;
    conclude(args, &tuned, entries, obvious.unwrap_or_default())?;
    Ok(match tuned.end {
        End::Interrupted => ExitCode::from(interrupt::EXIT),
        _ => ExitCode::SUCCESS,
    })
}

/// Says what the search comes to.
fn conclude(args: &TuneArgs, tuned: &Tuned, entries: usize, obvious: Typed) -> anyhow::Result<()> {
    let Some(chosen) = tuned.recommended() else { return Ok(()) };
    let command = fit_line(&args.tensor, &changed(&args.data, &chosen.changes, obvious), &chosen.params);
    tuned.note().iter().for_each(print::note);
    if args.json {
        return print::json(&Chosen {
            end: tuned.end,
            trials: tuned.trials.len(),
            skips: tuned.skips.len(),
            held_out: tuned.held_out,
            seconds: tuned.seconds,
            better: chosen.is_better(),
            rmse: chosen.rmse,
            mean_rmse: tuned.simple.map(|simple| simple.mean_rmse),
            offsets_rmse: tuned.simple.map(|simple| simple.offsets_rmse),
            params: &chosen.params,
            changes: &chosen.changes,
            command: &command,
        });
    }
    let why = match tuned.end {
        End::Searched => "nothing is left to try",
        End::Budget => "the rest would take more than is left",
        _ => "interrupted",
    };
    let spent = format!("{:.1} of {} seconds", tuned.seconds, args.budget);
    let counts = format!("{} tried, {} skipped in {spent}: {why}", tuned.trials.len(), tuned.skips.len());
    let verdict = if chosen.is_better() {
        let share = -100.0 * chosen.difference / (chosen.rmse - chosen.difference);
        let noise = short(chosen.noise);
        format!(
            "{}: better than the baseline by {share:.1} %, more than noise (sd {noise})",
            name(&chosen.params, &chosen.changes)
        )
    } else if tuned.trials.len() == 1 {
        "the baseline, as nothing else was tried".to_owned()
    } else {
        "the baseline: nothing is better by more than noise".to_owned()
    };
    print::out(|out| writeln!(out))?;
    let mut rows = vec![
        ("settings", counts),
        ("held out", format!("{} of {entries} entries; * marks the lowest RMSE so far", tuned.held_out)),
    ];
    if let Some(SimpleErrors { mean_rmse, offsets_rmse }) = tuned.simple {
        rows.extend(summary::simple(Some(mean_rmse), Some(offsets_rmse)));
    }
    rows.extend([("best", verdict), ("next", command)]);
    print::table(&rows)
}

/// Changes to the data in a few words.
fn words(changes: &[Change]) -> String {
    changes.iter().map(Change::words).collect::<Vec<_>>().join(", ")
}

/// Settings, and changes to the data, in a few words.
fn name(params: &Params, changes: &[Change]) -> String {
    let settings = format!("{}, rank {}", params.algorithm.name(), params.ranks_word());
    if changes.is_empty() { settings } else { format!("{settings}, {}", words(changes)) }
}

/// Who is told of the search, and why they could not be told of everything.
struct Table<'a> {
    args: &'a TuneArgs,
    columns: Columns,
    headings: Vec<String>,
    /// The least RMSE so far; none before the baseline.
    least: Option<f64>,
    progress: Option<Progress>,
    failure: Option<anyhow::Error>,
}

impl<'a> Table<'a> {
    fn new(args: &'a TuneArgs, base: &Params, changes: bool) -> Self {
        let ranks = base.ranks_word().len() + 1;
        let all = [
            ("", 1),
            ("algorithm", 0),
            ("rank", ranks),
            ("epochs", 0),
            ("lambda-reg", 0),
            ("lambda-couple", 0),
            ("RMSE", 9),
            ("difference", 0),
            ("seconds", 0),
            ("change", 0),
        ];
        let is_shown = |heading: &str| match heading {
            "lambda-couple" => !args.data.couple.is_empty(),
            "change" => changes,
            _ => true,
        };
        let shown: Vec<(&str, usize)> = all.into_iter().filter(|(heading, _)| is_shown(heading)).collect();
        Table {
            args,
            columns: Columns::new(&shown),
            headings: shown.iter().map(|(heading, _)| (*heading).to_owned()).collect(),
            least: None,
            progress: None,
            failure: None,
        }
    }

    fn observe(&mut self, event: Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Start(params, changes) => {
                let quiet = self.args.progress.quiet || self.args.json;
                self.progress = Some(Progress::of_many(&name(params, changes), params.epochs, quiet));
            }
            Event::Epoch(epoch) => {
                return self
                    .progress
                    .as_mut()
                    .map_or(ControlFlow::Continue(()), |progress| progress.observe(epoch));
            }
            Event::Trial(trial) => self.tell(|table| table.trial(trial)),
            Event::Skip(skip) => self.tell(|table| table.skip(skip)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// A stdout that fails must not end the search: it goes on, and the failure is told at its end.
    fn tell(&mut self, print: impl FnOnce(&mut Self) -> anyhow::Result<()>) {
        let finished = self.progress.take().map_or(Ok(()), Progress::finish);
        if self.failure.is_none() {
            self.failure = finished.and_then(|()| print(self)).err();
        }
    }

    fn trial(&mut self, trial: &Trial) -> anyhow::Result<()> {
        if self.args.json {
            return print::json(trial);
        }
        let is_first = self.least.is_none();
        if is_first {
            self.columns.print_headings(&self.headings)?;
        }
        let is_least = self.least.is_none_or(|least| trial.rmse < least);
        self.least = Some(self.least.map_or(trial.rmse, |least| least.min(trial.rmse)));
        let mut row = self.settings(if is_least { "*" } else { "" }, &trial.params);
        let rmse = short(trial.rmse);
        let difference = if is_first { "baseline".to_owned() } else { signed(trial.difference, &rmse) };
        row.extend([rmse, difference, format!("{:.2}", trial.seconds), words(&trial.changes)]);
        self.columns.print(&row)
    }

    fn skip(&mut self, skip: &Skip) -> anyhow::Result<()> {
        if self.args.json {
            return print::json(skip);
        }
        let mut row = self.settings("", &skip.params);
        let changes =
            if skip.changes.is_empty() { String::new() } else { format!("{}: ", words(&skip.changes)) };
        row.push(
            changes
                + &match &skip.why {
                    Why::Predicted { seconds, left } => {
                        format!("skipped: takes about {seconds:.1} s, {left:.1} s are left")
                    }
                    Why::Stopped { seconds } => format!("given up after {seconds:.1} s: the budget is spent"),
                    Why::Failed(reason) => format!("failed: {reason}"),
                },
        );
        self.columns.print(&row)
    }

    fn settings(&self, mark: &str, params: &Params) -> Vec<String> {
        let weight = |weight: f32| match params.algorithm {
            Algorithm::Bayes => "-".to_owned(),
            _ => weight.to_string(),
        };
        let mut row = vec![
            mark.to_owned(),
            params.algorithm.name().to_owned(),
            params.ranks_word(),
            params.epochs.to_string(),
        ];
        row.push(weight(params.lambda_reg));
        if !self.args.data.couple.is_empty() {
            row.push(weight(params.lambda_couple));
        }
        row
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

/// A difference with its sign, and as many decimals as what it is of.
fn signed(difference: f64, of: &str) -> String {
    match of.split_once('.') {
        Some((_, decimals)) if decimals.chars().all(|digit| digit.is_ascii_digit()) => {
            let decimals = decimals.len();
            format!("{difference:+.decimals$}")
        }
        _ => format!("{difference:+.4e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn differences_have_the_decimals_of_what_they_are_of() {
        assert_eq!(signed(-0.00065472, "0.42138"), "-0.00065");
        assert_eq!(signed(0.25, "1.2346"), "+0.2500");
        assert_eq!(signed(1.5e12, "1.2346e13"), "+1.5000e12");
        assert_eq!(signed(-3.0, "123456"), "-3.0000e0");
        assert_eq!(signed(f64::NAN, "NaN"), "NaN");
    }
}
