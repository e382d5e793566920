//! `s3cmtf evaluate`: how far predictions lie from known entries, of a saved model or by cross validation.

use std::path::Path;
use std::process::ExitCode;

use s3cmtf::{Params, files};

use crate::args::{DataArgs, EvaluateArgs};
use crate::failure::usage;
use crate::folds;
use crate::print::{self, short};

/// Runs the verb.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    match (&args.second, args.folds) {
        (None, Some(folds)) => folds::run(args, &args.first, folds),
        (Some(tensor), None) => evaluate(args, &args.first, tensor),
        _ => Err(usage("evaluate needs a MODEL and a TENSOR, or a TENSOR and --folds")),
    }
}

fn evaluate(args: &EvaluateArgs, model: &Path, tensor: &Path) -> anyhow::Result<ExitCode> {
    let DataArgs { couple, modes, sizes } = &args.data;
    let no_data = couple.is_empty() && modes.is_none() && sizes.is_none();
    if !no_data || args.settings.params(None)? != Params::default() {
        return Err(usage("a saved model has its data and settings; flags for others need --folds"));
    }
    let (model, _) = files::load(model)?;
    let entries = files::read_entries(tensor, Some(model.modes().len()))?;
    let errors = model.evaluate(&entries, args.clip)?;
    print::note_unknown(entries.name(), errors.unknown, errors.entries);
    if args.json {
        print::json(&errors)?;
    } else {
        print::table(&[
            ("entries", errors.entries.to_string()),
            ("unknown", errors.unknown.to_string()),
            ("RMSE", short(errors.rmse)),
            ("MAE", short(errors.mae)),
        ])?;
    }
    Ok(ExitCode::SUCCESS)
}
