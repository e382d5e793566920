//! A saved model, and the data that it was trained on.

use std::path::Path;

use s3cmtf::{Model, Problem, files};

use crate::{modes, print};

/// What a model folder holds.
pub(crate) struct Saved {
    pub(crate) model: Model,
    pub(crate) data: Option<Problem>,
}

impl Saved {
    pub(crate) fn load(folder: &Path) -> anyhow::Result<Self> {
        let (model, _) = files::load(folder)?;
        let data = data(folder, &model)?;
        Ok(Saved { model, data })
    }

    /// The mode that was typed after a flag.
    pub(crate) fn mode(&self, wanted: &str) -> anyhow::Result<usize> {
        let names: Vec<&str> = self.model.modes().iter().map(|mode| mode.name()).collect();
        modes::find(wanted, &names, &format!("--mode {wanted}"))
    }
}

/// The data that a model was trained on, if they are in its folder and are its own.
pub(crate) fn data(folder: &Path, model: &Model) -> anyhow::Result<Option<Problem>> {
    let data = files::load_data(folder)?;
    if data.as_ref().is_some_and(|data| data.modes() != model.modes()) {
        print::note(format_args!(
            "{}: its data are those of another model, and are left alone",
            folder.display()
        ));
        return Ok(None);
    }
    Ok(data)
}
