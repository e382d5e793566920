//! `s3cmtf fit`: from files to a saved model.

use std::path::Path;
use std::process::ExitCode;

use s3cmtf::internal::files;
use s3cmtf::internal::files::KeptData;
use s3cmtf::report::{Known, Options};
use s3cmtf::{Algorithm, CoreKind, Entries, HoldOut, Problem, Run, Stop};

use crate::args::{FitArgs, typed_line};
use crate::failure::usage;
use crate::memory::Data;
use crate::progress::{Progress, waiting};
use crate::{interrupt, modes, out, print, problem, report, summary, unknown};

/// The share of the latest entries that are held out unless told otherwise.
const LAST: f64 = 0.1;

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
    if let Some(file) = &args.report {
        files::check_file(file)?;
        out::check_apart(file, &args.tensor, &args.data.couple, args.test.as_deref())?;
    }
    let init = args.init.as_deref().map(files::load).transpose()?;
    let resume = args.resume.as_deref().map(files::load_checkpoint).transpose()?;
    let mut params = args.settings.params(init.as_ref())?;
    if let Some(checkpoint) = &resume {
        params = checkpoint.params(&params)?;
    }
    let init = init.map(|run| run.model);
    let data = Data::read(args, &params, init.as_ref())?;
    let problem = data.frame();
    params.check(problem)?;
    let holdout = holdout(args, problem)?;
    let more = |path| problem::read_more(path, problem.modes(), problem.value(), &args.data.file);
    let test = args.test.as_deref().map(more).transpose()?;

    for note in problem.notes() {
        print::note(note);
    }
    let core: usize = params.ranks_for(problem.order()).iter().product();
    if params.algorithm == Algorithm::Bayes
        && params.core == CoreKind::Full
        && !params.is_auto()
        && core > data.count()
    {
        print::note(format_args!(
            "the core has {core} numbers, more than there are entries ({}): a lower rank predicts better",
            data.count()
        ));
    }
    if let Some(test) = &test {
        let names = unknown::named(problem.modes(), test.cells(), None);
        print::note_unknown(test.name(), problem.unknown(test), test.len(), &names);
        print::note_shared(test.name(), data.shared(test)?, test.len());
    }
    if !args.progress.quiet && !args.json {
        summary::announce(problem, data.count(), &params, test.as_ref().map(Entries::len));
    }

    // Training takes the data. The model's folder has them afterwards, and a report reads them once more.
    let place = args.out.as_ref().filter(|_| !args.no_data).or(args.report.as_ref());
    let kept = place.and_then(|place| {
        // A disk that has no room for them may still have room for the model.
        let kept = data.keep(&args.tensor, place);
        kept.inspect_err(|error| print::note(format_args!("the data cannot be put aside: {error:#}"))).ok()
    });
    let again = data.again(&params);
    let shown = test.clone().filter(|_| args.report.is_some());
    let mut progress = Progress::new(params.epochs, args.json, args.progress.quiet);
    let mut training = data.training(params).command(typed_line()).interrupt(interrupt::flag()?);
    if let Some(test) = test {
        training = training.test(test);
    }
    if let Some(how) = holdout {
        training = training.holdout_by(how);
    }
    if let Some(model) = init {
        training = training.warm_start(model);
    }
    if let Some(checkpoint) = resume {
        training = training.resume(checkpoint);
    }
    if let (Some(every), Some(folder)) = (args.checkpoint_every, &args.out) {
        let mut told = false;
        training = training.checkpoints(every, move |checkpoint| {
            // A full disk is no reason to end a long run, nor to say so again and again.
            if let Err(error) = files::save_checkpoint(&checkpoint, folder)
                && !std::mem::replace(&mut told, true)
            {
                print::note(format_args!("no checkpoint: {error:#}"));
            }
        });
    }
    let run = training.observe(|epoch| progress.observe(epoch)).run();
    let followed = progress.finish();
    finish(args, &run?, kept.as_ref(), (shown.as_ref(), again), followed)
}

/// Which entries are held out, if any are.
fn holdout(args: &FitArgs, problem: &Problem) -> anyhow::Result<Option<HoldOut>> {
    let names: Vec<&str> = problem.modes().iter().map(|mode| mode.name()).collect();
    if let Some(leave) = &args.holdout_leave {
        let mode = modes::find(&leave.mode, &names, &format!("--holdout-leave {leave}"))?;
        return Ok(Some(HoldOut::Leave { mode, count: leave.count }));
    }
    let Some(name) = &args.holdout_last else { return Ok(args.holdout.map(HoldOut::Random)) };
    let mode = modes::find(name, &names, &format!("--holdout-last {name}"))?;
    Ok(Some(HoldOut::Last { mode, share: args.holdout.unwrap_or(LAST) }))
}

/// The data once more, for the report; it is written without them where they cannot be had.
fn read_again(kept: &KeptData, run: &Run, bytes: u64, most: Option<u64>) -> Option<Problem> {
    let without = "what is about single entries is left out of the report";
    if let Some(most) = most.filter(|&most| most < bytes) {
        print::note(format_args!(
            "--memory {}: about {} are needed to read the data again; {without}",
            print::bytes(most),
            print::bytes(bytes)
        ));
        return None;
    }
    match kept.load() {
        Ok(data) if data.modes() == run.model.modes() => return Some(data),
        Ok(_) => print::note(format_args!("the data have changed; {without}")),
        Err(error) => print::note(format_args!("{error:#}; {without}")),
    }
    None
}

/// Saves and tells of a run; what can still be saved or told is, whatever failed before.
fn finish(
    args: &FitArgs,
    run: &Run,
    kept: Option<&KeptData>,
    (test, again): (Option<&Entries>, u64),
    followed: anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let with_data = kept.filter(|_| !args.no_data);
    // Nothing was learnt: neither a script nor the model of before must take the start for a model.
    let failed = run.record.summary.stop == Stop::Diverged && run.record.summary.epochs == 0;
    let folder = args.out.as_deref().filter(|_| !failed);
    let saved = folder.map_or(Ok(None), |folder| files::save_with(run, with_data, folder));
    if let Ok(Some(error)) = &saved {
        print::note(format_args!("the model is saved, but not its data: {error:#}"));
    }
    let place = match &args.out {
        Some(folder) if saved.is_ok() && !failed => folder.display().to_string(),
        Some(_) => "not saved".into(),
        None => "not saved; --out DIR saves it".into(),
    };
    let end = &run.record.summary;
    if run.record.halvings > 0 {
        let halvings = run.record.halvings;
        let times = if halvings == 1 { "once".into() } else { format!("{halvings} times") };
        print::note(format_args!(
            "training diverged: the epochs in question were undone, and the step size halved {times}"
        ));
    }
    for note in run.notes() {
        print::note(note);
    }
    let reported = args.report.as_deref().map_or(Ok(0), |file| {
        let name = args.out.as_deref().and_then(Path::file_name);
        let title = name.map_or("model".into(), |name| name.to_string_lossy().into_owned());
        let command = report::command(&run.record, None);
        let data = kept.and_then(|kept| read_again(kept, run, again, args.data.file.memory));
        let options = Options { title, command };
        waiting("gathering the report", args.progress.quiet, || {
            report::write(&run.model, &run.record, Known { data: data.as_ref(), test }, &options, file)
        })
    });
    let told = if args.json { print::json(end) } else { summary::print(end, place) };
    let without_data = saved?.is_some();
    reported?;
    followed.and(told)?;
    Ok(match end.stop {
        Stop::Interrupted => ExitCode::from(interrupt::EXIT),
        _ if failed || without_data => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}
