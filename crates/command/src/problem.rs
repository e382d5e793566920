//! From files to a problem.

use std::path::Path;

use s3cmtf::{Model, Problem, files};

use crate::args::DataArgs;
use crate::couple;

/// Reads the tensor and the coupled matrices; names that were not typed are those of the model to start from.
pub(crate) fn read(tensor: &Path, data: &DataArgs, init: Option<&Model>) -> anyhow::Result<Problem> {
    let known = data.modes.clone().or_else(|| init.map(mode_names));
    if let Some(names) = &known {
        // A mistyped mode should not wait for a large tensor to be read.
        couple::names(&data.couple, names)?;
    }
    let entries = files::read_entries(tensor, None)?;
    if let Some(model) = init
        && model.modes().len() != entries.order()
    {
        anyhow::bail!(
            "{}: {} indices per entry, but the model to start from has {} modes",
            tensor.display(),
            entries.order(),
            model.modes().len()
        );
    }
    let names = known.unwrap_or_else(|| (1..=entries.order()).map(|mode| format!("mode{mode}")).collect());
    let matrices = couple::names(&data.couple, &names)?;
    let mut builder = Problem::builder(entries).names(names.clone());
    if let Some(sizes) = &data.sizes {
        builder = builder.sizes(sizes.clone());
    }
    for (couple, name) in data.couple.iter().zip(&matrices) {
        builder = builder.couple(couple.read(&names, name)?);
    }
    Ok(builder.build()?)
}

fn mode_names(model: &Model) -> Vec<String> {
    model.modes().iter().map(|mode| mode.name().to_owned()).collect()
}
