//! A saved run: a folder with `model.safetensors` and `run.json`.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::atomic::{check_writable, replace_folder, write_new};
use super::kept::KeptData;
use super::model_file::{FORMAT, from_bytes, to_bytes};
use super::owned::{CHECKPOINT, DATA, MODEL, OWNED, RECORD, check_replaceable};
use super::problem_file::{content_check, load_problem};
use super::temporary::sweep;
use crate::error::Reason;
use crate::table::nearest;
use crate::{Absent, CoreKind, Error, Model, Problem, Record, Run, Stop};

/// What is written to `run.json`: the record, and what the model looks like for those who read it by eye.
#[derive(Serialize)]
struct RunFile<'a> {
    format: u64,
    model: ModelSummary<'a>,
    #[serde(flatten)]
    record: &'a Record,
}

#[derive(Serialize)]
struct ModelSummary<'a> {
    core: CoreKind,
    modes: Vec<ModeSummary<'a>>,
    coupled: Vec<CoupledSummary<'a>>,
}

#[derive(Serialize)]
struct ModeSummary<'a> {
    name: &'a str,
    size: u32,
    rank: usize,
}

#[derive(Serialize)]
struct CoupledSummary<'a> {
    name: &'a str,
    mode: &'a str,
    kind: Absent,
    weight: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<f32>,
    columns: u32,
}

impl<'a> ModelSummary<'a> {
    fn new(model: &'a Model) -> Self {
        let modes = model.modes().iter().zip(model.factors());
        let coupled = model.coupled().iter().map(|matrix| CoupledSummary {
            name: &matrix.name,
            mode: model.modes()[matrix.mode].name(),
            kind: matrix.kind,
            weight: matrix.weight,
            explained: matrix.effects.as_ref().map(|effects| effects.explained),
            columns: matrix.columns.size(),
        });
        ModelSummary {
            core: model.core_kind(),
            modes: modes
                .map(|(mode, factor)| ModeSummary {
                    name: mode.name(),
                    size: mode.size(),
                    rank: factor.rank(),
                })
                .collect(),
            coupled: coupled.collect(),
        }
    }
}

/// Saves a run as a folder, which appears whole or not at all.
///
/// A model folder that is there already is replaced: its own files are deleted once the new ones have its name,
/// other files in it are kept. See [`check_out`] for what is not replaced.
///
/// # Errors
/// If `folder` is something else than a model folder or an empty one, or cannot be written. What was there before
/// is then still there.
pub fn save(run: &Run, folder: &Path) -> Result<(), Error> {
    save_with(run, None, folder).map(drop)
}

/// Saves a run, and with it the data that it was trained on: they say what an entity has been seen with, and what marks a
/// cluster out. Where the data alone cannot be saved, the model is, and what comes back is why.
///
/// # Errors
/// As [`save`].
pub fn save_with(run: &Run, data: Option<&KeptData>, folder: &Path) -> Result<Option<Error>, Error> {
    check_replaceable(folder)?;
    let model = to_bytes(&run.model)
        .map_err(|error| Error::file(folder, Reason::new("the model cannot be written", error)))?;
    let mut record = run.record.clone();
    record.data.kept = data.and_then(KeptData::check);
    let file = RunFile { format: FORMAT, model: ModelSummary::new(&run.model), record: &record };
    let mut record = serde_json::to_vec_pretty(&file).map_err(|error| Error::io(folder, error.into()))?;
    record.push(b'\n');
    // A run that has ended is not resumed, but one that was interrupted may be.
    let ended = run.record.summary.stop != Stop::Interrupted;
    let owned = if ended { &OWNED[..] } else { &OWNED[..3] };
    let mut failed = None;
    replace_folder(folder, owned, |new| {
        write_new(&new.join(MODEL), &model)?;
        write_new(&new.join(RECORD), &record)?;
        let path = new.join(DATA);
        failed = data.and_then(|data| data.write(&path).err());
        // The model took hours, and what is left of its data is of no use.
        match &failed {
            Some(_) if path.exists() => fs::remove_file(&path).map_err(|source| Error::io(&path, source)),
            _ => Ok(()),
        }
    })?;
    // Checkpoints that killed runs had begun, also such as have just moved here out of a folder that one of them left.
    sweep(&folder.join(CHECKPOINT), &[]);
    Ok(failed)
}

/// Loads a saved run.
///
/// # Errors
/// If `folder` is no model folder, or a file in it is missing, cut off, broken or of another version.
pub fn load(folder: &Path) -> Result<Run, Error> {
    check_there(folder)?;
    let not_there = |source: std::io::Error, path: &Path, what: String| match source.kind() {
        ErrorKind::NotFound => Error::file(folder, what),
        _ => Error::io(path, source),
    };
    let path = folder.join(MODEL);
    let bytes = fs::read(&path).map_err(|source| {
        let inside = models(folder);
        let meant = near(inside.first().filter(|_| inside.len() == 1));
        not_there(source, &path, format!("is not a model folder: no {MODEL} in it{meant}"))
    })?;
    let model = from_bytes(&path, &bytes)?;
    drop(bytes);

    let path = folder.join(RECORD);
    let what = format!("is not a whole model folder: no {RECORD} in it");
    let bytes = fs::read(&path).map_err(|source| not_there(source, &path, what))?;
    let record = serde_json::from_slice(&bytes)
        .map_err(|error| Error::file(&path, Reason::new("is not the record of a run", error)))?;
    Ok(Run { model, record })
}

/// Without this a folder that does not exist would be called one without a model.
fn check_there(folder: &Path) -> Result<(), Error> {
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Error::file(folder, format!("is a file, but a model is a folder with a {MODEL} in it"))),
        Err(source) if source.kind() == ErrorKind::NotFound => {
            let place = folder.parent().unwrap_or(Path::new(""));
            let others = models(place);
            let names = || others.iter().filter_map(|path| path.file_name()?.to_str());
            let wanted = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let meant = nearest(names(), wanted).map(|name| place.join(name));
            // Where there is but one, it may well be meant, whatever it is called.
            let meant = meant.or_else(|| others.first().filter(|_| others.len() == 1).cloned());
            let rule = format!("a model is a folder with a {MODEL} in it");
            let what = format!("there is no such folder{} ({rule})", near(meant.as_ref()));
            Err(Error::file(folder, what))
        }
        Err(source) => Err(Error::io(folder, source)),
    }
}

fn near(folder: Option<&PathBuf>) -> String {
    folder.map_or(String::new(), |folder| format!(", did you mean {}?", folder.display()))
}

/// The models in a folder, by name.
fn models(folder: &Path) -> Vec<PathBuf> {
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(found) = fs::read_dir(listed) else { return Vec::new() };
    let paths = found.flatten().map(|found| folder.join(found.file_name()));
    let mut models: Vec<PathBuf> = paths.filter(|path| path.join(MODEL).is_file()).collect();
    models.sort();
    models
}

/// Loads the data that a saved run was trained on, if they were saved with it.
///
/// # Errors
/// If they are there, but not whole.
pub fn load_data(folder: &Path) -> Result<Option<Problem>, Error> {
    let path = folder.join(DATA);
    path.exists().then(|| load_problem(&path)).transpose()
}

/// Whether the data in the folder of a model are those that were saved with it, and not others that were copied over them. Of a
/// model that does not say what was saved with it, as of older versions, any may be.
pub fn is_own_data(folder: &Path, record: &Record) -> bool {
    let found = || content_check(&fs::File::open(folder.join(DATA)).ok()?);
    record.data.kept.is_none() || record.data.kept == found()
}

/// Tells before a long run whether [`save`] would be refused.
///
/// # Errors
/// If `folder` is something else than a model folder or an empty one, or if the folder it is to be in does not exist
/// or cannot be written to.
pub fn check_out(folder: &Path) -> Result<(), Error> {
    check_replaceable(folder)?;
    check_writable(folder)
}

#[cfg(test)]
mod tests;
