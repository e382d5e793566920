//! `s3cmtf convert`: from files to one file of a checked problem.

use std::process::ExitCode;

use s3cmtf::internal::files;

use crate::args::ConvertArgs;
use crate::{out, print, problem, summary};

/// Runs the verb.
pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    // Minutes of reading should not end in a file that is refused.
    files::check_file(&args.out)?;
    out::check_apart(&args.out, &args.tensor, &args.data.couple, None)?;
    let problem = problem::read(&args.tensor, &args.data, None)?;
    for note in problem.notes() {
        print::note(note);
    }
    files::save_problem(&problem, &args.out)?;
    if !args.quiet {
        let bytes = std::fs::metadata(&args.out).map_or(0, |found| found.len());
        print::table(&[
            ("problem", summary::described(&problem, problem.entries().len(), None)),
            ("file", format!("{}, {:.1} MB", args.out.display(), bytes as f64 / 1e6)),
        ])?;
    }
    Ok(ExitCode::SUCCESS)
}
