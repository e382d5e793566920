//! `s3cmtf fold-in` and `s3cmtf update`: data that came after training go into a model.

use std::process::ExitCode;

use s3cmtf::internal::files;
use s3cmtf::internal::files::KeptData;
use s3cmtf::internal::input::NewData;
use s3cmtf::{FoldIn, Folded, Run};

use crate::args::{LaterArgs, typed_line};
use crate::couple::couples;
use crate::failure::usage;
use crate::{print, problem, saved, source};

/// Runs `fold-in`: rows for new ids, and nothing else changes.
pub(crate) fn fold_in(args: &LaterArgs) -> anyhow::Result<ExitCode> {
    run(args, |data| Ok(data.fold_in()?))
}

/// Runs `update`: rows for new ids, and better ones for those that have new entries.
pub(crate) fn update(args: &LaterArgs) -> anyhow::Result<ExitCode> {
    if args.tensor.is_none() {
        return Err(usage("update needs a TENSOR of new entries"));
    }
    run(args, |data| Ok(data.update()?))
}

fn run(
    args: &LaterArgs,
    take_in: impl FnOnce(FoldIn<'_>) -> anyhow::Result<Folded>,
) -> anyhow::Result<ExitCode> {
    if args.tensor.is_none() && args.couple.is_empty() {
        return Err(usage("fold-in needs a TENSOR of new entries, or --couple with rows of new ids"));
    }
    files::check_out(&args.out)?;
    let Run { model: known, mut record } = files::load(&args.model)?;
    let tensor = args.tensor.as_ref().map(|path| source::given(std::slice::from_ref(path), &args.file));
    let later = NewData::read(
        &known,
        tensor.as_ref(),
        &couples(&args.couple),
        args.value.as_deref(),
        &mut problem::tell,
    )?;
    let NewData { entries, coupled, namings, duplicates } = later;
    let before = saved::data(&args.model, &known, &record)?;
    let (later_entries, later_coupled) = (entries.clone(), coupled.clone());
    let mut data = FoldIn::new(&known, &record.params).namings(namings).duplicates(duplicates);
    if let Some(entries) = entries {
        data = data.entries(entries);
    }
    for matrix in coupled {
        data = data.couple(matrix);
    }
    let Folded { model, added, updated, entries, notes, .. } = take_in(data)?;
    for note in notes {
        print::note(note);
    }
    record.data.later_entries += entries;
    // One line does both again; of an older model only this much is known.
    let own = typed_line();
    record.command = Some(record.command.map_or(own.clone(), |before| format!("{before} && {own}")));
    let run = Run { model, record };
    // What was seen is not recommended, and the next to train has all of it.
    let had_data = before.is_some();
    let grown = before.map(|before| {
        before.with_later(run.model.modes(), later_entries.as_ref(), &later_coupled, duplicates)
    });
    let kept = grown.map(|grown| grown.and_then(|grown| KeptData::new(&grown, &args.out)));
    let kept = kept.and_then(|kept| {
        kept.inspect_err(|error| print::note(format_args!("the model is saved without data: {error:#}"))).ok()
    });
    let unsaved = files::save_with(&run, kept.as_ref(), &args.out)?;
    if let Some(error) = &unsaved {
        print::note(format_args!("the model is saved, but not its data: {error:#}"));
    }
    let list = |counts: &[usize]| {
        let mode = |(mode, count): (&s3cmtf::Mode, &usize)| format!("{} {count}", mode.name());
        run.model.modes().iter().zip(counts).map(mode).collect::<Vec<_>>().join(", ")
    };
    if args.json {
        let object = serde_json::json!({ "added": added, "updated": updated, "entries": entries });
        print::json(&object)?;
    } else {
        print::table(&[
            ("entries", entries.to_string()),
            ("new rows", list(&added)),
            ("updated rows", list(&updated)),
            ("model", args.out.display().to_string()),
        ])?;
    }
    // As in fit: a script must not take a model without its data for a whole one.
    let whole = unsaved.is_none() && kept.is_some() == had_data;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
