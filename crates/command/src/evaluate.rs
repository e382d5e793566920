//! `s3cmtf evaluate`: how far a model's predictions lie from known entries.

use std::process::ExitCode;

use s3cmtf::files;

use crate::args::EvaluateArgs;
use crate::print::{self, short};

/// Runs the verb.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let (model, _) = files::load(&args.model)?;
    let entries = files::read_entries(&args.tensor, Some(model.modes().len()))?;
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
