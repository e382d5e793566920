//! The data that a saved model was trained on.

use std::path::Path;

use s3cmtf::internal::files;
use s3cmtf::{Model, Problem, Record};

use crate::print;

/// The data that a model was trained on, if they are in its folder and are its own.
pub(crate) fn data(folder: &Path, model: &Model, record: &Record) -> anyhow::Result<Option<Problem>> {
    let data = files::load_data(folder)?;
    let is_own = |data: &Problem| data.modes() == model.modes() && files::is_own_data(folder, record);
    if data.as_ref().is_some_and(|data| !is_own(data)) {
        print::note(format_args!(
            "{}: its data.s3cmtf is not what was saved with the model, and is left alone",
            folder.display()
        ));
        return Ok(None);
    }
    Ok(data)
}
