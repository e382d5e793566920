//! `s3cmtf fold-in` and `s3cmtf update`: data that came after training go into a model.

use std::process::ExitCode;

use s3cmtf::prepare;
use s3cmtf::table::Selector;
use s3cmtf::{Coupled, Duplicates, Entries, FoldIn, Folded, Model, Naming, Run, files};

use crate::args::{LaterArgs, typed_line};
use crate::failure::usage;
use crate::{couple, print, source};

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
    let (model, mut record) = files::load(&args.model)?;
    let mut namings: Vec<Option<Naming>> = model.modes().iter().map(|mode| mode.naming().cloned()).collect();
    let entries = read_entries(args, &model, &mut namings)?;
    let coupled = read_coupled(args, &model, &mut namings)?;
    let counted = namings.iter().any(Option::is_some) && args.value.as_deref().or(model.value()).is_none();
    let mut data = FoldIn::new(&model, &record.params).namings(namings);
    if let Some(entries) = entries {
        // Rows without a value are events to be counted, as they were in training.
        data = data.entries(entries).duplicates(if counted { Duplicates::Sum } else { Duplicates::Mean });
    }
    for matrix in coupled {
        data = data.couple(matrix);
    }
    let Folded { model, added, updated, entries, notes } = take_in(data)?;
    for note in notes {
        print::note(note);
    }
    record.data.later_entries += entries;
    // One line does both again; of an older model only this much is known.
    let own = typed_line();
    record.command = Some(record.command.map_or(own.clone(), |before| format!("{before} && {own}")));
    let run = Run { model, record };
    files::save(&run, &args.out)?;
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
    Ok(ExitCode::SUCCESS)
}

/// Reads the new entries; names that the model does not have go behind its own.
fn read_entries(
    args: &LaterArgs,
    model: &Model,
    namings: &mut [Option<Naming>],
) -> anyhow::Result<Option<Entries>> {
    let Some(path) = &args.tensor else { return Ok(None) };
    let modes = model.modes();
    let source = source::of_one(path, &args.file)?;
    let named = namings.iter().any(Option::is_some);
    if !named && source::is_numbered(&source)? {
        return Ok(Some(files::read_entries(path, Some(modes.len()))?));
    }
    let value = match args.value.as_deref().or(model.value()) {
        Some(value) => Some(Selector::of(value)),
        None => (!named).then_some(Selector::Place(modes.len())),
    };
    let wants = prepare::known_wants(modes, None, value.as_ref());
    let table = files::read_table(&source, &wants)?;
    let entries = prepare::more_entries(namings, table);
    Ok(Some(entries.map_err(|error| source::with_line(error, &source, &wants))?))
}

/// Reads coupled matrices, each of the kind that it has in the model.
fn read_coupled(
    args: &LaterArgs,
    model: &Model,
    namings: &mut [Option<Naming>],
) -> anyhow::Result<Vec<Coupled>> {
    let names: Vec<String> = model.modes().iter().map(|mode| mode.name().to_owned()).collect();
    let known: Vec<usize> = model.modes().iter().map(|mode| mode.size() as usize).collect();
    let matrices = couple::names(&args.couple, &names)?;
    let mut coupled = Vec::new();
    for (couple, name) in args.couple.iter().zip(&matrices) {
        let kind = model.coupled_like(name, couple.mode(&names)?).map(|matrix| matrix.kind);
        let couple = couple.like(kind);
        coupled.push(couple.read(&names, name, namings, &known, false)?);
    }
    Ok(coupled)
}
