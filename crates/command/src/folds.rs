//! `s3cmtf evaluate --folds`: cross validation, each fold measured with a model of all others.

use std::path::Path;
use std::process::ExitCode;

use s3cmtf::{Errors, Mode, Stop, Training};
use serde::Serialize;

use crate::args::EvaluateArgs;
use crate::columns::Columns;
use crate::print::{self, short};
use crate::progress::Progress;
use crate::{interrupt, problem, summary};

const HEADINGS: [(&str, usize); 7] = [
    ("fold", 0),
    ("entries", 0),
    ("RMSE", 9),
    ("MAE", 9),
    ("mean RMSE", 0),
    ("offsets RMSE", 0),
    ("seconds", 0),
];

/// What one fold came to.
#[derive(Serialize)]
struct Fold {
    fold: usize,
    entries: usize,
    rmse: f64,
    mae: f64,
    /// What simple predictions come to.
    mean_rmse: f64,
    offsets_rmse: f64,
    seconds: f64,
}

/// What all folds came to.
#[derive(Serialize)]
struct All {
    folds: usize,
    rmse: Spread,
    mae: Spread,
    mean_rmse: Spread,
    offsets_rmse: Spread,
}

/// Numbers in two.
#[derive(Serialize)]
struct Spread {
    mean: f64,
    sd: f64,
}

impl Spread {
    /// The mean and the standard deviation of two or more numbers.
    fn new(numbers: &[f64]) -> Self {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Spread { mean, sd: (squares / (count - 1.0)).sqrt() }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &EvaluateArgs, tensor: &Path, count: usize) -> anyhow::Result<ExitCode> {
    let params = args.settings.params(None)?;
    let problem = problem::read_for(&params, &[tensor.to_path_buf()], &args.data, None)?;
    params.check(&problem)?;
    let folds = problem.folds(count, params.seed)?;
    for note in problem.notes() {
        print::note(note);
    }
    if !args.progress.quiet && !args.json {
        summary::announce(&problem, problem.entries().len(), &params, None);
    }
    let flag = interrupt::flag()?;
    let columns = Columns::new(&HEADINGS);
    if !args.json {
        columns.print_headings(&HEADINGS.map(|(heading, _)| heading.to_owned()))?;
    }
    let mut done: Vec<Fold> = Vec::new();
    for (number, (rest, held)) in (1..).zip(folds) {
        let label = format!("fold {number}/{count}");
        let mut progress = Progress::of_many(&label, params.epochs, args.progress.quiet || args.json);
        let training = Training::new(rest, params.clone()).interrupt(flag);
        let run = training.observe(|epoch| progress.observe(epoch)).run();
        progress.finish()?;
        let run = run?;
        let end = &run.record.summary;
        match end.stop {
            Stop::Interrupted => return Ok(ExitCode::from(interrupt::EXIT)),
            Stop::Diverged if end.epochs == 0 => anyhow::bail!("{label}: {}", end.stop.reason()),
            _ => {}
        }
        let errors = run.model.evaluate(&held, args.clip.clips(&run.model))?;
        let fold = Fold {
            fold: number,
            entries: errors.entries,
            rmse: errors.rmse,
            mae: errors.mae,
            mean_rmse: errors.mean_rmse.unwrap_or(f64::NAN),
            offsets_rmse: errors.offsets_rmse.unwrap_or(f64::NAN),
            seconds: end.seconds,
        };
        if args.json {
            print::json(&fold)?;
        } else {
            let mut row = vec![fold.fold.to_string(), fold.entries.to_string()];
            row.extend([fold.rmse, fold.mae, fold.mean_rmse, fold.offsets_rmse].map(short));
            row.push(format!("{:.2}", fold.seconds));
            columns.print(&row)?;
        }
        done.push(fold);
    }
    finish(args, &columns, &done, problem.modes())
}

/// Tells what the folds have in common.
fn finish(
    args: &EvaluateArgs,
    columns: &Columns,
    folds: &[Fold],
    modes: &[Mode],
) -> anyhow::Result<ExitCode> {
    let of = |error: fn(&Fold) -> f64| Spread::new(&folds.iter().map(error).collect::<Vec<_>>());
    let all = All {
        folds: folds.len(),
        rmse: of(|fold| fold.rmse),
        mae: of(|fold| fold.mae),
        mean_rmse: of(|fold| fold.mean_rmse),
        offsets_rmse: of(|fold| fold.offsets_rmse),
    };
    let mut errors = Errors::default();
    (errors.rmse, errors.offsets_rmse) = (all.rmse.mean, Some(all.offsets_rmse.mean));
    errors.note(modes).iter().for_each(print::note);
    if args.json {
        print::json(&all)?;
    } else {
        let spreads = [&all.rmse, &all.mae, &all.mean_rmse, &all.offsets_rmse];
        let row = |name: &str, number: fn(&Spread) -> f64| {
            let numbers = spreads.iter().map(|spread| short(number(spread)));
            [name.to_owned(), String::new()].into_iter().chain(numbers).collect::<Vec<_>>()
        };
        columns.print(&row("mean", |spread| spread.mean))?;
        columns.print(&row("sd", |spread| spread.sd))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn a_spread_is_that_of_a_sample() {
        let Spread { mean, sd } = Spread::new(&[1.0, 2.0, 3.0, 4.0]);
        assert!((mean - 2.5).abs() < 1e-12 && (sd - (5.0f64 / 3.0).sqrt()).abs() < 1e-12, "{mean} {sd}");
    }
}
