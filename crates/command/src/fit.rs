//! `s3cmtf fit`: from files to a saved model.

use std::process::ExitCode;

use s3cmtf::{Entries, Model, Problem, Run, Stop, Training, files};

use crate::args::FitArgs;
use crate::failure::usage;
use crate::progress::Progress;
use crate::{couple, interrupt, print, summary};

/// Runs the verb.
pub(crate) fn run(args: &FitArgs) -> anyhow::Result<ExitCode> {
    if args.patience.is_some() && args.test.is_none() && args.holdout.is_none() {
        return Err(usage("--patience needs entries to watch: give --test FILE or --holdout SHARE too"));
    }
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
    let init = args.init.as_deref().map(files::load).transpose()?.map(|(model, _)| model);
    let params = args.params(init.as_ref());
    let problem = read_problem(args, init.as_ref())?;
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

/// Reads the tensor and the coupled matrices.
fn read_problem(args: &FitArgs, init: Option<&Model>) -> anyhow::Result<Problem> {
    let known = args.modes.clone().or_else(|| init.map(mode_names));
    if let Some(names) = &known {
        // A mistyped mode should not wait for a large tensor to be read.
        couple::names(&args.couple, names)?;
    }
    let entries = files::read_entries(&args.tensor, None)?;
    if let Some(model) = init
        && model.modes().len() != entries.order()
    {
        anyhow::bail!(
            "{}: {} indices per entry, but the model to start from has {} modes",
            args.tensor.display(),
            entries.order(),
            model.modes().len()
        );
    }
    let names = known.unwrap_or_else(|| (1..=entries.order()).map(|mode| format!("mode{mode}")).collect());
    let matrices = couple::names(&args.couple, &names)?;
    let mut builder = Problem::builder(entries).names(names.clone());
    if let Some(sizes) = &args.sizes {
        builder = builder.sizes(sizes.clone());
    }
    for (couple, name) in args.couple.iter().zip(&matrices) {
        builder = builder.couple(couple.read(&names, name)?);
    }
    Ok(builder.build()?)
}

fn mode_names(model: &Model) -> Vec<String> {
    model.modes().iter().map(|mode| mode.name().to_owned()).collect()
}
