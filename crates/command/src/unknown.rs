//! The ids of cells that a model has no row for, by name.

use std::collections::BTreeSet;

use s3cmtf::internal::table::{Binning, Data, Table};
use s3cmtf::{Cells, Mode};

/// More names than this are only counted.
const NAMED: usize = 3;

/// What to say behind a count of cells with unknown ids: a few of them by name, and how many more there are; nothing if
/// they have no names here. `table` is what the cells were made of: a column per mode.
pub(crate) fn named(modes: &[Mode], cells: &Cells, table: Option<&Table>) -> String {
    let (mut seen, mut names) = (BTreeSet::new(), Vec::new());
    for place in 0..cells.len() {
        for (number, mode) in modes.iter().enumerate() {
            let id = cells.indices(number)[place];
            if mode.row(id).is_some() {
                continue;
            }
            let column = table.and_then(|table| table.columns.get(number)).map(|column| &column.data);
            let binning = mode.naming().and_then(|naming| naming.binning.as_ref());
            let name = match column.and_then(|data| text(data, binning, place)) {
                Some(name) => name,
                None if mode.naming().is_none() => (u64::from(id) + 1).to_string(),
                None => continue,
            };
            let name = format!("{} {name}", mode.name());
            if seen.insert(name.clone()) && names.len() < NAMED {
                names.push(name);
            }
        }
    }
    match seen.len() - names.len() {
        0 if names.is_empty() => String::new(),
        0 => format!(" ({})", names.join(", ")),
        more => format!(" ({} and {more} more)", names.join(", ")),
    }
}

/// What a row of a column says.
fn text(data: &Data, binning: Option<&Binning>, row: usize) -> Option<String> {
    match (data, binning) {
        (Data::Times(values), Some(Binning::Time(bin))) => {
            values.get(row).map(|&value| bin.label(bin.number(value)))
        }
        (Data::Integers(values) | Data::Times(values), _) => values.get(row).map(ToString::to_string),
        (Data::Numbers(values), _) => values.get(row).map(ToString::to_string),
        (Data::Texts { codes, labels }, _) => codes.get(row).map(|&code| labels.get(code).to_owned()),
    }
}
