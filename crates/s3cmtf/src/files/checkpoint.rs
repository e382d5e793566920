//! `checkpoint.safetensors`: what a run needs to go on, in the folder that its model will be in.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::atomic::write_whole;
use super::model_file::check_offsets;
use super::owned::{CHECKPOINT, CHECKPOINT_KEY as KEY, check_replaceable};
use super::seal;
use crate::error::Reason;
use crate::{Checkpoint, CheckpointMeta, Error, StateArrays};

/// The version of the format; a checkpoint is for the version of s3cmtf that wrote it, so no other is read.
const FORMAT: u64 = 3;

#[derive(Serialize, Deserialize)]
struct Header {
    /// That of the whole file, see [`seal`]. It comes first.
    checksum: String,
    format: u64,
    version: String,
    #[serde(flatten)]
    about: CheckpointMeta,
}

/// Saves a checkpoint in a folder, which is created if it is not there. It appears whole or not at all, and the one before
/// is there until then.
///
/// # Errors
/// If `folder` is something else than a model folder or an empty one, or cannot be written.
pub fn save_checkpoint(checkpoint: &Checkpoint, folder: &Path) -> Result<(), Error> {
    check_replaceable(folder)?;
    match fs::create_dir(folder) {
        Err(source) if source.kind() != ErrorKind::AlreadyExists => return Err(Error::io(folder, source)),
        _ => {}
    }
    let path = folder.join(CHECKPOINT);
    let bytes = to_bytes(checkpoint).map_err(|what| Error::file(&path, what))?;
    write_whole(&path, |out| out.write_all(&bytes))
}

/// Loads the checkpoint of a folder.
///
/// # Errors
/// If there is none, or it is cut off, broken or of another version.
pub fn load_checkpoint(folder: &Path) -> Result<Checkpoint, Error> {
    let path = folder.join(CHECKPOINT);
    let bytes = fs::read(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound if folder.is_dir() => {
            let what =
                format!("has no {CHECKPOINT} in it: no run has kept one there, as checkpoint-every does");
            Error::file(folder, what)
        }
        _ => Error::io(&path, source),
    })?;
    from_bytes(&bytes).map_err(|what| Error::file(&path, what))
}

fn to_bytes(checkpoint: &Checkpoint) -> Result<Vec<u8>, Reason> {
    let broken = |error: Box<dyn std::error::Error + Send + Sync>| Reason::new("cannot be written", error);
    let StateArrays { singles, doubles } = &checkpoint.numbers;
    let singles = singles.iter().map(|(name, values)| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        (name, Dtype::F32, values.len(), bytes)
    });
    let doubles = doubles.iter().map(|(name, values)| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        (name, Dtype::F64, values.len(), bytes)
    });
    let lists: Vec<_> = singles.chain(doubles).collect();
    let tensor = |(name, dtype, len, bytes): &'_ (&String, Dtype, usize, Vec<u8>)| {
        // A list of 64 bits may have the name of one of 32.
        let name = format!("{name}:{}", if *dtype == Dtype::F32 { 32 } else { 64 });
        (name, *dtype, *len, bytes.len())
    };
    let names: Vec<_> = lists.iter().map(tensor).collect();
    let mut tensors = Vec::new();
    for ((name, dtype, len, _), (.., bytes)) in names.into_iter().zip(&lists) {
        tensors.push((name, TensorView::new(dtype, vec![len], bytes).map_err(|error| broken(error.into()))?));
    }
    let header = Header {
        checksum: seal::EMPTY.to_owned(),
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        about: checkpoint.about.clone(),
    };
    let header = serde_json::to_string(&header).map_err(|error| broken(error.into()))?;
    let mut bytes = safetensors::serialize(tensors, Some(HashMap::from([(KEY.to_owned(), header)])))
        .map_err(|error| broken(error.into()))?;
    seal::seal(&mut bytes);
    Ok(bytes)
}

fn from_bytes(bytes: &[u8]) -> Result<Checkpoint, Reason> {
    check_offsets(bytes)?;
    let broken =
        |error: Box<dyn std::error::Error + Send + Sync>| Reason::new("is no whole checkpoint", error);
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| broken(error.into()))?;
    let text = metadata.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let text = text.ok_or_else(|| format!("is no checkpoint of s3cmtf: no \"{KEY}\" in its metadata"))?;
    let header: Header = serde_json::from_str(text).map_err(|error| broken(error.into()))?;
    let version = env!("CARGO_PKG_VERSION");
    if header.format != FORMAT || header.version != version {
        let what =
            format!("is of s3cmtf {}, and can be resumed by that alone; this is {version}", header.version);
        return Err(what.into());
    }
    seal::check(bytes)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| broken(error.into()))?;
    let mut numbers = StateArrays::default();
    for (name, tensor) in tensors.tensors() {
        let data = tensor.data();
        match (name.rsplit_once(':'), tensor.dtype()) {
            (Some((name, "32")), Dtype::F32) => {
                let values = data.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
                numbers.singles.insert(name.to_owned(), values);
            }
            (Some((name, "64")), Dtype::F64) => {
                let values = data.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
                numbers.doubles.insert(name.to_owned(), values);
            }
            _ => return Err(format!("has a tensor \"{name}\" that does not belong to it").into()),
        }
    }
    Ok(Checkpoint { about: header.about, numbers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Problem, Training};
    use std::sync::Mutex;
    use std::time::Duration;

    fn checkpoint() -> Checkpoint {
        let ids: Vec<u32> = (0..60).map(|i| i * 7 % 10).collect();
        let entries =
            crate::Entries::new(vec![ids.clone(), (0..60).map(|i| i % 8).collect()], vec![1.5; 60]).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        let kept = Mutex::new(None);
        let params = Params { ranks: vec![3], epochs: 5, ..Params::default() };
        Training::new(problem, params)
            .checkpoints(Duration::ZERO, |checkpoint| *kept.lock().unwrap() = Some(checkpoint))
            .run()
            .unwrap();
        kept.into_inner().unwrap().unwrap()
    }

    #[test]
    fn what_is_saved_is_loaded_and_what_is_cut_off_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("run");
        let checkpoint = checkpoint();
        save_checkpoint(&checkpoint, &place).unwrap();
        save_checkpoint(&checkpoint, &place).unwrap();
        assert_eq!(load_checkpoint(&place).unwrap(), checkpoint);
        let bytes = fs::read(place.join(CHECKPOINT)).unwrap();
        for end in (0..bytes.len()).step_by(7) {
            assert!(from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        assert!(load_checkpoint(&other).unwrap_err().to_string().contains("checkpoint-every"));
        // What a run left that was killed while it wrote its first checkpoint is in nobody's way.
        fs::write(other.join(format!(".{CHECKPOINT}.tmp-77")), "half").unwrap();
        save_checkpoint(&checkpoint, &other).unwrap();
        fs::remove_file(other.join(CHECKPOINT)).unwrap();
        fs::write(other.join("thesis.tex"), "precious").unwrap();
        assert!(save_checkpoint(&checkpoint, &other).unwrap_err().to_string().contains("other things"));
    }
}
