//! `s3cmtf report`: a model and how it came about, as one page to read.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use s3cmtf::internal::files;
use s3cmtf::report::{Known, Options, Report, render};
use s3cmtf::{Model, Record, Run};

use crate::args::{DataArgs, ReportArgs, fit_line};
use crate::progress::waiting;
use crate::{print, problem, saved};

/// The data that a model was trained on, in its folder.
const DATA: &str = "data.s3cmtf";

/// Runs the verb.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    files::check_file(&args.out)?;
    let Run { model, record } = files::load(&args.model)?;
    let data = saved::data(&args.model, &model, &record)?;
    if data.is_none() {
        print::note(format_args!(
            "{}: no {DATA} in it; what is about single entries is left out",
            args.model.display()
        ));
    }
    let name = args.model.file_name().map_or("model".into(), |name| name.to_string_lossy().into_owned());
    let command = command(&record, data.is_some().then_some(args.model.as_path()));
    let options = Options { title: name, command };
    let test = args.test.as_deref();
    let test =
        test.map(|path| problem::read_more(path, model.modes(), model.value(), &args.file)).transpose()?;
    let known = Known { data: data.as_ref(), test: test.as_ref() };
    let size = waiting("gathering the report", false, || write(&model, &record, known, &options, &args.out))?;
    print::table(&[
        ("report", args.out.display().to_string()),
        ("size", format!("{} kB", size.div_ceil(1000))),
    ])?;
    Ok(ExitCode::SUCCESS)
}

/// What was typed for a run. Where its record does not say that, a line that does the same again if the data are in a folder;
/// of the data it cannot tell, otherwise.
pub(crate) fn command(record: &Record, folder: Option<&Path>) -> String {
    let rebuilt = || {
        let tensor = folder.map_or(PathBuf::from("TENSOR"), |folder| folder.join(DATA));
        fit_line(&[tensor], &DataArgs::default(), &record.params)
    };
    record.command.clone().unwrap_or_else(rebuilt)
}

/// Writes a report, whole or not at all, and says how many bytes it has.
pub(crate) fn write(
    model: &Model,
    record: &Record,
    known: Known<'_>,
    options: &Options,
    path: &Path,
) -> anyhow::Result<usize> {
    let page = render(&Report::new(model, record, known, options)?)?;
    files::write_atomically(path, |file| file.write_all(page.as_bytes()))?;
    Ok(page.len())
}
