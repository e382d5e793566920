//! Which files of a model folder are ours, and what may be replaced therefore.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::model_file::{is_model, own_text};
use crate::Error;

pub(super) const MODEL: &str = "model.safetensors";
pub(super) const RECORD: &str = "run.json";
pub(super) const DATA: &str = "data.s3cmtf";
pub(super) const CHECKPOINT: &str = "checkpoint.safetensors";
/// The files of a model folder that are ours.
pub(super) const OWNED: [&str; 4] = [MODEL, RECORD, DATA, CHECKPOINT];
/// The key of a checkpoint's metadata, by which it says that it is one.
pub(super) const CHECKPOINT_KEY: &str = "s3cmtf-checkpoint";

/// Whether a folder has a model or a checkpoint in it that says so itself: others have files of these names, too.
fn is_ours(folder: &Path) -> bool {
    is_model(&folder.join(MODEL))
        || own_text(&folder.join(CHECKPOINT), CHECKPOINT_KEY).is_some()
        || is_record(&folder.join(RECORD))
}

/// Whether a file is the record of a run, whose model may be damaged.
fn is_record(path: &Path) -> bool {
    let read = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    read.is_some_and(|record| {
        ["format", "model", "params", "history"].iter().all(|key| record.get(key).is_some())
    })
}

/// Refuses a file that is a part of a model folder, for outputs of other kinds.
pub(super) fn check_not_owned(path: &Path) -> Result<(), Error> {
    let owned = path.file_name().is_some_and(|name| OWNED.iter().any(|owned| name == *owned));
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if owned && path.exists() && is_ours(folder) {
        return Err(Error::file(path, "is a part of a model, and is not written over: name another file"));
    }
    Ok(())
}

/// Whether a file is a checkpoint that a killed run had begun to write.
fn is_unfinished(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(&format!(".{CHECKPOINT}.tmp-")))
}

/// Refuses to replace anything but a model folder or an empty one.
pub(super) fn check_replaceable(folder: &Path) -> Result<(), Error> {
    let io = |source| Error::io(folder, source);
    let found = match fs::metadata(folder) {
        Ok(found) => found,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(io(source)),
    };
    if !found.is_dir() {
        return Err(Error::file(folder, "is a file and will not be replaced by a model folder"));
    }
    if is_ours(folder)
        || fs::read_dir(folder)
            .map_err(io)?
            .all(|entry| entry.is_ok_and(|entry| is_unfinished(&entry.file_name())))
    {
        return Ok(());
    }
    let what = format!("is a folder with other things in it (no {MODEL} of s3cmtf) and will not be replaced");
    Err(Error::file(folder, what))
}
