//! `s3cmtf export`: a model's numbers as files that other programs read.

use std::process::ExitCode;

use s3cmtf::internal::files;

use crate::args::ExportArgs;
use crate::print;

/// Runs the verb.
pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let model = files::load(&args.model)?.model;
    let files = files::export_model(&model, args.to, &args.out)?;
    print::out(|out| files.iter().try_for_each(|file| writeln!(out, "{}", file.display())))?;
    Ok(ExitCode::SUCCESS)
}
