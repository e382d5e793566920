//! `s3cmtf fit`: from files to a saved model.

use std::process::ExitCode;

use s3cmtf::{Entries, Run, Stop, Training, files};

use crate::args::FitArgs;
use crate::failure::usage;
use crate::progress::Progress;
use crate::{interrupt, print, problem, summary};

/// Runs the verb.
pub(crate) fn run(args: &FitArgs) -> anyhow::Result<ExitCode> {
    if let Some(share) = args.holdout
        && !(share > 0.0 && share < 1.0)
    {
        return Err(usage(format!(
            "--holdout should be a share between 0 and 1, both excluded, but is {share}"
        )));
    }
    // Hours of training should not end in a folder that is refused.
    if let Some(folder) = &args.out {
        files::check_out(folder)?;
    }
    let init = args.init.as_deref().map(files::load).transpose()?;
    let params = args.settings.params(init.as_ref())?;
    let init = init.map(|(model, _)| model);
    let problem = problem::read(&args.tensor, &args.data, init.as_ref())?;
    params.check(&problem)?;
    let test =
        args.test.as_deref().map(|path| files::read_entries(path, Some(problem.order()))).transpose()?;

    for note in problem.notes() {
        print::note(note);
    }
    if let Some(test) = &test {
        print::note_unknown(test.name(), problem.unknown(test), test.len());
    }
    if !args.quiet && !args.json {
        summary::announce(&problem, &params, test.as_ref().map(Entries::len));
    }

    let mut progress = Progress::new(params.epochs, args.json, args.quiet);
    let mut training = Training::new(problem, params).interrupt(interrupt::flag()?);
    if let Some(test) = test {
        training = training.test(test);
    }
    if let Some(share) = args.holdout {
        training = training.holdout(share);
    }
    if let Some(model) = init {
        training = training.warm_start(model);
    }
    let run = training.run(|epoch| progress.observe(epoch));
    let followed = progress.finish();
    finish(args, &run?, followed)
}

/// Saves and tells of a run; what can still be saved or told is, whatever failed before.
fn finish(args: &FitArgs, run: &Run, followed: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    let saved = args.out.as_deref().map_or(Ok(()), |folder| files::save(run, folder));
    let place = match &args.out {
        Some(folder) if saved.is_ok() => folder.display().to_string(),
        Some(_) => "not saved".into(),
        None => "not saved; --out DIR saves it".into(),
    };
    let end = &run.record.summary;
    if run.record.halvings > 0 {
        let halvings = run.record.halvings;
        let times = if halvings == 1 { "once".into() } else { format!("{halvings} times") };
        print::note(format_args!(
            "steps were too long: what they spoiled was taken back, and the rate halved {times}"
        ));
    }
    let told = if args.json { print::json(end) } else { summary::print(end, place) };
    saved?;
    followed.and(told)?;
    Ok(match end.stop {
        Stop::Interrupted => ExitCode::from(interrupt::EXIT),
        // Nothing was learnt: a script must not take the start for a model.
        Stop::Diverged if end.epochs == 0 => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}
