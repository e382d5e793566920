//! Which entity is meant by what was typed: `user=Tyler`.

use s3cmtf::Model;
use s3cmtf::table::did_you_mean;

use crate::failure::usage;
use crate::modes;

/// The mode of `MODE=NAME` and the entity's id, or of `MODE` alone. `flag` is what it was typed for.
pub(crate) fn find(model: &Model, text: &str, flag: &str) -> anyhow::Result<(usize, Option<u32>)> {
    let Some((mode, name)) = text.split_once('=') else { return Ok((self::mode(model, text, flag)?, None)) };
    let mode = self::mode(model, mode, flag)?;
    let known = &model.modes()[mode];
    match known.find(name).filter(|&id| known.row(id).is_some()) {
        Some(id) => Ok((mode, Some(id))),
        None => {
            let rule = match known.naming() {
                Some(naming) => did_you_mean(naming.labels.iter(), name),
                None => {
                    format!(" (they are numbers from 1 to {}, of which some may not occur)", known.size())
                }
            };
            Err(usage(format!("{flag}: the model knows no {} {name}{rule}", known.name())))
        }
    }
}

/// The same where an entity must be named.
pub(crate) fn one(model: &Model, text: &str, flag: &str) -> anyhow::Result<(usize, u32)> {
    match find(model, text, flag)? {
        (mode, Some(id)) => Ok((mode, id)),
        (mode, None) => {
            let name = model.modes()[mode].name();
            Err(usage(format!("{flag}: which {name}? say {name}=NAME")))
        }
    }
}

/// The mode of this name or number.
pub(crate) fn mode(model: &Model, wanted: &str, flag: &str) -> anyhow::Result<usize> {
    let names: Vec<&str> = model.modes().iter().map(|mode| mode.name()).collect();
    modes::find(wanted, &names, flag)
}
