//! From files to a problem.

use std::path::{Path, PathBuf};

use s3cmtf::files::{self, Source};
use s3cmtf::prepare::{self, ModeSpec, Recipe, Tensor};
use s3cmtf::table::Selector;
use s3cmtf::{Duplicates, Entries, Mode, Model, Naming, Problem};

use crate::args::{DataArgs, FileArgs};
use crate::failure::usage;
use crate::{couple, print, source};

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
    if let Some(path) = kept(tensor)? {
        refuse_flags(path, data)?;
        let problem = files::load_problem(path)?;
        let given = problem.entries().len();
        return Ok((problem, given));
    }
    if let Some(names) = data.modes.as_ref().and_then(|modes| typed_names(modes)) {
        // A mistyped mode should not wait for a large tensor to be read.
        couple::names(&data.couple, &names)?;
    }
    let source = source::of(tensor, &data.file)?;
    let plain = data.value.is_none() && plain_names(data.modes.as_deref()).is_some();
    if plain && source::is_numbered(&source)? {
        read_numbered(&source.paths[0], data, init)
    } else {
        read_named(&source, data)
    }
}

/// The file of a problem that `convert` wrote, if the tensor is one.
pub(crate) fn kept(tensor: &[PathBuf]) -> anyhow::Result<Option<&Path>> {
    for path in tensor {
        if files::is_problem(path)? {
            if tensor.len() > 1 {
                return Err(usage(format!(
                    "{}: is a whole problem, which cannot be put together with other files",
                    path.display()
                )));
            }
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Refuses flags that say what the file of a problem has said already.
pub(crate) fn refuse_flags(path: &Path, data: &DataArgs) -> anyhow::Result<()> {
    let DataArgs { modes, value, couple, duplicates, sizes, file } = data;
    let typed = [
        ("--modes", modes.is_some()),
        ("--value", value.is_some()),
        ("--couple", !couple.is_empty()),
        ("--duplicates", duplicates.is_some()),
        ("--sizes", sizes.is_some()),
        ("--format", file.format.is_some()),
        ("--header", file.header.is_some()),
    ];
    match typed.iter().find(|(_, is_typed)| *is_typed) {
        Some((flag, _)) => Err(usage(format!(
            "{}: is a whole problem with its modes, values and matrices, so {flag} is not for it: give it to convert",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// The names that modes will have, as far as that can be said before their columns are known.
fn typed_names(modes: &[ModeSpec]) -> Option<Vec<String>> {
    let name = |spec: &ModeSpec| match (&spec.name, &spec.column) {
        (Some(name), _) | (None, Selector::Name(name)) => Some(name.clone()),
        (None, Selector::Place(_)) => None,
    };
    modes.iter().map(name).collect()
}

/// The names of modes, if what was typed is nothing else; no names if nothing was typed.
pub(crate) fn plain_names(modes: Option<&[ModeSpec]>) -> Option<Option<Vec<String>>> {
    let plain = |spec: &ModeSpec| match (&spec.name, &spec.column, spec.bins) {
        (None, Selector::Name(name), None) => Some(name.clone()),
        _ => None,
    };
    match modes {
        None => Some(None),
        Some(specs) => specs.iter().map(plain).collect::<Option<Vec<_>>>().map(Some),
    }
}

/// A tensor whose ids are numbers, counted from 1, in the first columns of a file.
fn read_numbered(path: &Path, data: &DataArgs, init: Option<&Model>) -> anyhow::Result<(Problem, usize)> {
    let known = plain_names(data.modes.as_deref()).flatten().or_else(|| init.map(mode_names));
    let entries = files::read_entries(path, None)?;
    if let Some(model) = init
        && model.modes().len() != entries.order()
    {
        anyhow::bail!(
            "{}: {} indices per entry, but the model to start from has {} modes",
            path.display(),
            entries.order(),
            model.modes().len()
        );
    }
    let names = known.unwrap_or_else(|| (1..=entries.order()).map(|mode| format!("mode{mode}")).collect());
    build(entries, names, Vec::new(), data, None)
}

/// A tensor whose ids have names, in columns of a table.
fn read_named(source: &Source, data: &DataArgs) -> anyhow::Result<(Problem, usize)> {
    let recipe = recipe(source, data)?;
    if data.sizes.is_some() {
        return Err(usage("--sizes is for files of indices: a mode of names has as many ids as names"));
    }
    let wants = recipe.wants();
    let table = files::read_table(source, &wants)?;
    let tensor = recipe.tensor(table).map_err(|error| source::with_line(error, source, &wants))?;
    let Tensor { entries, namings } = tensor;
    let name = |(spec, naming): (&ModeSpec, &Naming)| match &spec.name {
        Some(name) => name.clone(),
        None if naming.column.parse::<u64>().is_ok() => format!("mode{}", naming.column),
        None => naming.column.clone(),
    };
    let names: Vec<String> = recipe.modes.iter().zip(&namings).map(name).collect();
    let value = recipe.value.as_ref().map(ToString::to_string);
    let problem = build(entries, names, namings, data, value);
    problem.map_err(|error| match error.downcast::<s3cmtf::Error>() {
        Ok(error) => source::with_line(error, source, &wants),
        Err(error) => error,
    })
}

/// Which columns are the tensor: those that were typed, or those that are obvious.
pub(crate) fn recipe(source: &Source, data: &DataArgs) -> anyhow::Result<Recipe> {
    let value = data.value.as_deref().map(Selector::of);
    if let Some(modes) = &data.modes {
        return Ok(Recipe { modes: modes.clone(), value });
    }
    let columns = files::columns(source)?;
    let kinds: Vec<_> = columns.iter().map(|column| (column.name.clone(), column.guess)).collect();
    let Some(mut recipe) = Recipe::guess(&kinds) else {
        let shown = columns.iter().map(|column| match &column.values[..] {
            [] => column.name.clone(),
            values => format!("{} ({})", column.name, values.join(", ")),
        });
        let shown: Vec<String> = shown.collect();
        return Err(usage(format!(
            "{}: --modes should say which columns are the modes, and --value which is the value; there are: {}",
            source.paths[0].display(),
            shown.join("; ")
        )));
    };
    recipe.value = value.or(recipe.value);
    recipe.modes.retain(|mode| Some(&mode.column) != recipe.value.as_ref());
    print::note(format_args!("taken for: {}", flags(&recipe)));
    Ok(recipe)
}

/// What would be typed for a recipe.
pub(crate) fn flags(recipe: &Recipe) -> String {
    let modes: Vec<String> = recipe.modes.iter().map(ToString::to_string).collect();
    let value = recipe.value.as_ref().map_or(String::new(), |value| format!(" --value {value}"));
    format!("--modes {}{value}", modes.join(","))
}

/// Puts the tensor and its coupled matrices together; no namings are those of numbered ids.
fn build(
    entries: Entries,
    names: Vec<String>,
    namings: Vec<Naming>,
    data: &DataArgs,
    value: Option<String>,
) -> anyhow::Result<(Problem, usize)> {
    let given = entries.len();
    let duplicates = match data.duplicates {
        Some(duplicates) => duplicates,
        // Rows without a value are events to be counted.
        None if !namings.is_empty() && value.is_none() => Duplicates::Sum,
        None => Duplicates::default(),
    };
    let matrices = couple::names(&data.couple, &names)?;
    let mut namings: Vec<Option<Naming>> = namings.into_iter().map(Some).collect();
    namings.resize(names.len(), None);
    let known: Vec<usize> = (0..names.len())
        .map(|mode| match &namings[mode] {
            Some(naming) => naming.labels.len(),
            None => entries.indices(mode).iter().max().map_or(0, |&id| id as usize + 1),
        })
        .collect();
    let mut coupled = Vec::new();
    for (couple, name) in data.couple.iter().zip(&matrices) {
        coupled.push(couple.read(&names, name, &mut namings, &known, true)?);
    }
    let mut builder = Problem::builder(entries).names(names).namings(namings).duplicates(duplicates);
    if let Some(sizes) = &data.sizes {
        builder = builder.sizes(sizes.clone());
    }
    if let Some(value) = value {
        builder = builder.value(value);
    }
    for matrix in coupled {
        builder = builder.couple(matrix);
    }
    Ok((builder.build()?, given))
}

fn mode_names(model: &Model) -> Vec<String> {
    model.modes().iter().map(|mode| mode.name().to_owned()).collect()
}

/// Reads entries of a tensor whose modes are known; `value` is the heading of their values, if they have any.
pub(crate) fn read_more(
    path: &Path,
    modes: &[Mode],
    value: Option<&str>,
    file: &FileArgs,
) -> anyhow::Result<Entries> {
    let source = source::of_one(path, file)?;
    let named = modes.iter().any(|mode| mode.naming().is_some());
    if !named && source::is_numbered(&source)? {
        return Ok(files::read_entries(path, Some(modes.len()))?);
    }
    let value = match value {
        Some(value) => Some(Selector::of(value)),
        // The value of a table without words about it stands behind the modes.
        None => (!named).then_some(Selector::Place(modes.len())),
    };
    let wants = prepare::known_wants(modes, None, value.as_ref());
    let table = files::read_table(&source, &wants)?;
    prepare::known_entries(modes, table).map_err(|error| source::with_line(error, &source, &wants))
}
