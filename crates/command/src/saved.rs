//! The data that a saved model was trained on.

use std::path::Path;

use s3cmtf::{Model, Problem, files};

use crate::print;

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
