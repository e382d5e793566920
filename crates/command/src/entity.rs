//! Which entity is meant by what was typed: `user=Tyler`.

use s3cmtf::internal::table::{Binning, did_you_mean_any, time};
use s3cmtf::{Mode, Model};

use crate::failure::usage;
use crate::modes;

/// The mode of `MODE=NAME` and the entity's id, or of `MODE` alone. `flag` is what it was typed for.
pub(crate) fn find(model: &Model, text: &str, flag: &str) -> anyhow::Result<(usize, Option<u32>)> {
    let Some((mode, name)) = text.split_once('=') else {
        return match self::mode(model, text, flag) {
            Ok(mode) => Ok((mode, None)),
            // The name alone, of which the mode can be told.
            Err(error) => {
                let knows = |mode: &&Mode| mode.naming().is_some() && id(mode, text).is_some();
                Err(match model.modes().iter().find(knows) {
                    Some(mode) => {
                        usage(format!("{flag}: should be MODE=NAME, did you mean {}={text}?", mode.name()))
                    }
                    None => error,
                })
            }
        };
    };
    let mode = self::mode(model, mode, flag)?;
    let known = &model.modes()[mode];
    if name.is_empty() {
        return Err(usage(format!("{flag}: which {0}? say {0}=NAME", known.name())));
    }
    match id(known, name) {
        Some(id) => Ok((mode, Some(id))),
        None => {
            let rule = others(known, name, flag);
            Err(usage(format!("{flag}: the model knows no {} {name}{rule}", known.name())))
        }
    }
}

/// The id of a name that has a row; a time is one of those that it lies in.
fn id(mode: &Mode, name: &str) -> Option<u32> {
    let label = || match mode.naming()?.binning {
        Some(Binning::Time(bin)) => mode.find(&bin.label(bin.number(time::parse(name.as_bytes())?))),
        _ => None,
    };
    mode.find(name).or_else(label).filter(|&id| mode.row(id).is_some())
}

/// What a name that is not there may have been meant for.
fn others(mode: &Mode, name: &str, flag: &str) -> String {
    if flag == "--for" && (name == "*" || name == "all" || name.contains(',')) {
        return format!(" ({flag} {} without a name is for all of them)", mode.name());
    }
    let label = |row: usize| mode.label(mode.id(row)).into_owned();
    match mode.naming() {
        // The nearest of times by their letters may be years away.
        Some(naming) if naming.binning.is_some() && mode.rows() > 0 => {
            format!(" (they go from {} to {})", label(0), label(mode.rows() - 1))
        }
        Some(naming) => did_you_mean_any(naming.labels.iter(), name),
        None => format!(" (they are numbers from 1 to {}, of which some may not occur)", mode.size()),
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
    match wanted.split_once('=') {
        Some((mode, _)) if names.contains(&mode) => {
            Err(usage(format!("{flag}: should be a mode alone, such as {mode}, but is {wanted}")))
        }
        _ => modes::find(wanted, &names, flag),
    }
}
