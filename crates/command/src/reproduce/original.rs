//! Downloads: read once by the readers of `import`, and kept as converted files that every cell loads.

use std::path::Path;

use s3cmtf::internal::files::{self, Dataset, OutFormat};

use super::cell::Set;
use super::data;
use crate::args::DataArgs;
use crate::couple::CoupleArg;
use crate::{print, problem};

fn dataset(set: Set) -> Dataset {
    match set {
        Set::MovieLens => Dataset::MovieLens,
        Set::Netflix => Dataset::Netflix,
        Set::Yelp => Dataset::Yelp,
    }
}

/// Converts a download, unless it was converted before.
pub(super) fn convert(out: &Path, set: Set, download: &Path) -> anyhow::Result<()> {
    // Friends of users come in two forms, as a matrix and as a graph.
    let forms: &[bool] = if set == Set::Yelp { &[false, true] } else { &[false] };
    if forms.iter().all(|&graph| data::file(out, set, graph).is_file()) {
        return Ok(());
    }
    let imported = files::import(dataset(set), download)?;
    imported.notes.iter().for_each(print::note);
    let folder = out.join("data").join(format!("{}-tables", set.shape()));
    files::make_folder(&folder)?;
    let at = |table: &str| folder.join(format!("{table}.csv"));
    for table in &imported.tables {
        files::write_table(&at(&table.name), OutFormat::Csv, table)?;
    }
    let tensor = imported.tables.first().map_or("", |table| table.name.as_str());
    let wrong = |what: String| anyhow::anyhow!(what);
    for &graph in forms {
        let couple =
            imported.couplings.iter().filter(|coupling| !coupling.words.is_empty()).map(|coupling| {
                let words = if graph {
                    coupling.words.to_owned()
                } else {
                    coupling.words.replace("graph", "missing")
                };
                let said = format!("{}={}{words}", coupling.mode, at(coupling.table).display());
                said.parse::<CoupleArg>().map_err(wrong)
            });
        let modes = imported.modes.split(',').map(|mode| mode.parse().map_err(wrong));
        let args = DataArgs {
            modes: Some(modes.collect::<anyhow::Result<_>>()?),
            value: Some(imported.value.to_owned()),
            couple: couple.collect::<anyhow::Result<_>>()?,
            ..DataArgs::default()
        };
        let read = problem::read(&[at(tensor)], &args, None)?;
        files::save_problem(&read, &data::file(out, set, graph))?;
    }
    // They can be had again, and are larger than all the rest.
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
