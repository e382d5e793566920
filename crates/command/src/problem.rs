//! From what was typed to a problem.

use std::path::{Path, PathBuf};

use s3cmtf::internal::input::{self, Input, Note};
use s3cmtf::internal::prepare::Recipe;
use s3cmtf::{Absent, Entries, Mode, Model, Params, Problem};

use crate::args::{DataArgs, FileArgs};
use crate::{print, source};

/// Reads the tensor and the coupled matrices; names that were not typed are those of the model to start from.
pub(crate) fn read(tensor: &[PathBuf], data: &DataArgs, init: Option<&Model>) -> anyhow::Result<Problem> {
    read_counted(tensor, data, init).map(|(problem, _)| problem)
}

/// The same, and how many entries there were before any were merged.
pub(crate) fn read_counted(
    tensor: &[PathBuf],
    data: &DataArgs,
    init: Option<&Model>,
) -> anyhow::Result<(Problem, usize)> {
    Ok(input(tensor, data).read(init, &mut tell)?)
}

/// The same for settings in which absent cells may be zeros.
pub(crate) fn read_for(
    params: &Params,
    tensor: &[PathBuf],
    data: &DataArgs,
    init: Option<&Model>,
) -> anyhow::Result<Problem> {
    let zeros = params.absent == Absent::Zeros;
    Ok(Input { zeros, ..input(tensor, data) }.read(init, &mut tell)?.0)
}

/// What was typed about a problem.
fn input(tensor: &[PathBuf], data: &DataArgs) -> Input {
    Input {
        modes: data.modes.clone(),
        value: data.value.clone(),
        couple: data.couple.iter().map(|couple| couple.couple()).collect(),
        duplicates: data.duplicates,
        sizes: data.sizes.clone(),
        prefix: "--",
        ..Input::new(source::given(tensor, &data.file))
    }
}

/// Tells of what was noticed.
pub(crate) fn tell(note: Note) {
    match note {
        Note::Taken(recipe) => print::note(format_args!("inferred: {}", flags(&recipe))),
        Note::Average { ref mode, .. } => {
            print::note(format_args!("{note} (--at {mode}=NAME says for which)"))
        }
        other => print::note(other),
    }
}

/// The file of a problem that `convert` wrote, if the tensor is one.
pub(crate) fn kept(tensor: &[PathBuf]) -> anyhow::Result<Option<&Path>> {
    Ok(input::whole_problem(tensor)?)
}

/// Refuses flags that say what the file of a problem has said already.
pub(crate) fn refuse_flags(path: &Path, data: &DataArgs) -> anyhow::Result<()> {
    Ok(input(&[path.to_path_buf()], data).refuse_words(path)?)
}

/// Which columns are the tensor: those that were typed, or those that are obvious.
pub(crate) fn recipe(tensor: &[PathBuf], data: &DataArgs) -> anyhow::Result<Recipe> {
    Ok(input(tensor, data).recipe(&mut tell)?)
}

/// What would be typed for a recipe.
fn flags(recipe: &Recipe) -> String {
    let modes: Vec<String> = recipe.modes.iter().map(ToString::to_string).collect();
    let value = recipe.value.as_ref().map_or(String::new(), |value| format!(" --value {value}"));
    format!("--modes {}{value}", modes.join(","))
}

/// Reads entries of a tensor whose modes are known; `value` is the heading of their values, if they have any.
pub(crate) fn read_more(
    path: &Path,
    modes: &[Mode],
    value: Option<&str>,
    file: &FileArgs,
) -> anyhow::Result<Entries> {
    Ok(input::known_entries(&source::given(&[path.to_path_buf()], file), modes, value, &mut tell)?)
}
