//! `s3cmtf evaluate`: how far predictions lie from known entries, of a saved model or by cross validation.

mod ablate;
mod more;

use std::path::Path;
use std::process::ExitCode;

use s3cmtf::discovery::{Ranking, Segments};
use s3cmtf::internal::files;
use s3cmtf::{Algorithm, Errors, Params, Run, Scores};
use serde::Serialize;

use crate::args::{DataArgs, EvaluateArgs};
use crate::failure::usage;
use crate::print::{self, short};
use crate::progress::waiting;
use crate::{folds, problem, summary, unknown};

#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    errors: Errors,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<Ranking>,
    /// In its place where several lengths were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    rankings: Option<Vec<Ranking>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<Vec<Segments>>,
}

/// Runs the verb.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    if args.ablate {
        refuse_others(args)?;
        return ablate::run(args, &args.first);
    }
    match (&args.second, args.folds) {
        (None, Some(folds)) => folds::run(args, &args.first, folds),
        (Some(tensor), None) => evaluate(args, &args.first, tensor),
        _ => Err(usage("evaluate needs a MODEL and a TENSOR, or a TENSOR and --folds")),
    }
}

/// Refuses flags that say what a saved model has said already.
fn refuse_others(args: &EvaluateArgs) -> anyhow::Result<()> {
    let DataArgs { couple, modes, sizes, duplicates, .. } = &args.data;
    let no_data = couple.is_empty() && modes.is_none() && sizes.is_none() && duplicates.is_none();
    if !no_data || args.settings.params(None)? != Params::default() {
        return Err(usage("a saved model has its data and settings; flags for others need --folds"));
    }
    Ok(())
}

fn evaluate(args: &EvaluateArgs, folder: &Path, tensor: &Path) -> anyhow::Result<ExitCode> {
    refuse_others(args)?;
    let DataArgs { value, file, .. } = &args.data;
    let Run { model, record } = files::load(folder)?;
    let value = value.as_deref().or(model.value());
    let entries = problem::read_more(tensor, model.modes(), value, file)?;
    // A choice has no value to be predicted: how far its score is from 1 is measured.
    let is_choice = record.params.algorithm == Algorithm::Ials;
    let valued = if is_choice { &entries.chosen() } else { &entries };
    let errors =
        waiting("measuring errors", args.progress.quiet, || model.evaluate(valued, args.clip.clips(&model)))?;
    let names = unknown::named(model.modes(), entries.cells(), None);
    print::note_unknown(entries.name(), errors.unknown, errors.entries, &names);
    errors.note(model.modes()).iter().for_each(print::note);
    let more = more::measure(args, folder, (&model, &record), &entries)?;
    if args.json {
        let more::More { mut rankings, segments } = more;
        let ranking = if rankings.len() == 1 { rankings.pop() } else { None };
        let rankings = Some(rankings).filter(|rankings| !rankings.is_empty());
        print::json(&Measured { errors, ranking, rankings, segments })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![
        ("entries", errors.entries.to_string()),
        ("unknown", errors.unknown.to_string()),
        ("RMSE", short(errors.rmse)),
    ];
    rows.extend(summary::simple(errors.mean_rmse, errors.offsets_rmse));
    rows.push(("MAE", short(errors.mae)));
    let shares = [("within std", errors.within_std), ("within 2 std", errors.within_two_std)];
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    rows.extend(shares.into_iter().filter_map(|(name, share)| share.map(|share| (name, percent(share)))));
    rows.extend(errors.scores.map_or(Vec::new(), scores));
    print::table(&rows)?;
    more.print()?;
    Ok(ExitCode::SUCCESS)
}

/// The measures of probabilities and of counts, as rows of the table.
fn scores(scores: Scores) -> Vec<(&'static str, String)> {
    let number = |(name, value): (&'static str, Option<f64>)| value.map(|value| (name, short(value)));
    let rows = match scores {
        Scores::Logistic { log_loss, mean_log_loss, auc, calibration_error, .. } => vec![
            ("log loss", Some(log_loss)),
            ("log loss of the mean", mean_log_loss),
            ("AUC", auc),
            ("calibration error", Some(calibration_error)),
        ],
        Scores::Counts { deviance, mean_deviance, .. } => {
            vec![("Poisson deviance", Some(deviance)), ("deviance of the mean", mean_deviance)]
        }
        _ => Vec::new(),
    };
    rows.into_iter().filter_map(number).collect()
}
