//! A model as tables: the factor of each mode and each coupled matrix, and the core.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Out, OutFormat, Values, write_arrays, write_columns};
use crate::files::atomic::make_folder;
use crate::files::binary::{Raw, settle};
use crate::params::MAX_CORE;
use crate::table::Labels;
use crate::table::{ColumnType, Data};
use crate::{Core, Error, Factor, Mode, Model};

/// Writes a model into a folder, which is made where there is none, and returns the files.
///
/// In csv and Parquet there is a file `factor.MODE` per mode and `coupled.MATRIX` per coupled matrix, with the id of a
/// row and `concept1`, `concept2` and so on, and a file `core` with a concept per mode and a value. In npz and
/// safetensors all of it is in `factors`: arrays `factor.MODE` and `id.MODE`, `coupled.MATRIX` and
/// `id.coupled.MATRIX`, and the dense `core`.
///
/// # Errors
/// If the folder or a file cannot be written.
pub fn export_model(model: &Model, format: OutFormat, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    make_folder(folder)?;
    match format {
        OutFormat::Csv | OutFormat::Parquet => export_tables(model, format, folder),
        OutFormat::Npz | OutFormat::Safetensors => export_arrays(model, format, folder),
    }
}

/// A factor with the ids of its rows.
struct NamedFactor<'a> {
    /// `factor.MODE` or `coupled.MATRIX`; no two are the same.
    name: String,
    /// The heading of its ids.
    ids: String,
    mode: &'a Mode,
    factor: &'a Factor,
}

fn parts(model: &Model) -> Vec<NamedFactor<'_>> {
    let mut names = Names::default();
    let mut parts = Vec::new();
    for (mode, factor) in model.modes().iter().zip(model.factors()) {
        let name = names.unique(&format!("factor.{}", safe(mode.name())));
        parts.push(NamedFactor { name, ids: mode.name().to_owned(), mode, factor });
    }
    // A graph has no factor of its own.
    for matrix in model.coupled().iter().filter(|matrix| matrix.factor.rows() > 0) {
        let name = names.unique(&format!("coupled.{}", safe(&matrix.name)));
        let columns = matrix.columns.name();
        let ids = if columns.is_empty() { matrix.name.clone() } else { columns.to_owned() };
        parts.push(NamedFactor { name, ids, mode: &matrix.columns, factor: &matrix.factor });
    }
    parts
}

fn export_tables(model: &Model, format: OutFormat, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for part in parts(model) {
        let path = folder.join(format!("{}.{}", part.name, format.name()));
        let ids = ids(part.mode);
        let rank = part.factor.rank();
        let concept = |j: usize| part.factor.values().iter().skip(j).step_by(rank).copied().collect();
        let concepts: Vec<Vec<f32>> = (0..rank).map(concept).collect();
        let mut names = Names::default();
        let mut columns: Vec<Out> = Vec::with_capacity(rank + 1);
        for (j, concept) in concepts.iter().enumerate() {
            columns.push(Out::column(names.unique(&format!("concept{}", j + 1)), Values::Singles(concept)));
        }
        // Named last, so that a mode called concept1 is what gets another name.
        columns.insert(0, Out::new(&names.unique(&part.ids), &ids));
        write_columns(&path, format, &columns)?;
        files.push(path);
    }
    files.push(export_core(model, format, folder)?);
    Ok(files)
}

/// The core as a table: for a diagonal one only the diagonal, since the rest are zeros.
fn export_core(model: &Model, format: OutFormat, folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(format!("core.{}", format.name()));
    let order = model.modes().len();
    let values = model.core().values();
    let ranks = model.core().ranks(order);
    let concept = |mode: usize| -> Vec<i64> {
        let of = |number: usize| match model.core() {
            Core::Diagonal(_) => number,
            // The last mode's concept changes fastest.
            Core::Full { .. } => number / ranks[mode + 1..].iter().product::<usize>() % ranks[mode],
        };
        (0..values.len()).map(|number| of(number) as i64 + 1).collect()
    };
    let concepts: Vec<Vec<i64>> = (0..order).map(concept).collect();
    let mut names = Names::default();
    let value = Out::column(names.unique("value"), Values::Singles(values));
    let mut columns: Vec<Out> = model
        .modes()
        .iter()
        .zip(&concepts)
        .map(|(mode, concepts)| Out::column(names.unique(mode.name()), Values::Integers(concepts)))
        .collect();
    columns.push(value);
    write_columns(&path, format, &columns)?;
    Ok(path)
}

fn export_arrays(model: &Model, format: OutFormat, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = folder.join(format!("factors.{}", format.name()));
    let order = model.modes().len();
    let numbers = model.core().ranks(order).into_iter().try_fold(1, usize::checked_mul);
    if numbers.is_none_or(|numbers| numbers > MAX_CORE) {
        let what = format!(
            "cannot be written: a dense core of {order} modes of rank {} would have more than {MAX_CORE} numbers; csv \
             and Parquet hold its diagonal alone",
            model.core().values().len()
        );
        return Err(Error::file(&path, what));
    }
    let core = model.core().to_full(order);
    let parts = parts(model);
    let ids: Vec<Data> = parts.iter().map(|part| ids(part.mode)).collect();
    let mut arrays = Vec::with_capacity(2 * parts.len() + 1);
    let mut names = Names::default();
    for (part, ids) in parts.iter().zip(&ids) {
        let of = part.name.strip_prefix("factor.").unwrap_or(&part.name);
        arrays.push(Out::new(&names.unique(&format!("id.{of}")), ids));
        let shape = vec![part.factor.rows(), part.factor.rank()];
        arrays.push(Out { name: part.name.clone(), shape, values: Values::Singles(part.factor.values()) });
    }
    arrays.push(Out {
        name: "core".into(),
        shape: core.ranks(order),
        values: Values::Singles(core.values()),
    });
    write_arrays(&path, format, &arrays)?;
    Ok(vec![path])
}

/// What a row of a mode is called.
fn label_of(mode: &Mode, row: usize) -> Cow<'_, str> {
    mode.label(mode.id(row))
}

/// The names of all rows of a mode, as numbers if all of them are.
fn ids(mode: &Mode) -> Data {
    let mut labels = Labels::new();
    let codes = (0..mode.rows()).map(|row| labels.id(&label_of(mode, row))).collect();
    let texts = Raw::Texts { codes, labels };
    // Texts are always ids.
    settle(texts, ColumnType::Id).unwrap_or(Data::Integers(Vec::new()))
}

/// A name that can be that of a file anywhere: no separators, nothing that a shell or another system takes amiss, no
/// dot in front.
fn safe(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_. ".contains(c) { c } else { '_' };
    let name: String = name.trim().chars().map(plain).take(100).collect();
    let name = name.trim_start_matches('.').trim_end_matches(['.', ' ']);
    if name.is_empty() { "unnamed".into() } else { name.to_owned() }
}

/// Names that were given out.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    /// The name itself, or with a number behind it where it was given out before. Case does not tell names apart, since
    /// on some systems it does not tell files apart.
    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        for number in 2.. {
            if self.0.insert(unique.to_lowercase()) {
                break;
            }
            unique = format!("{name}.{number}");
        }
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_unique() {
        for (name, expected) in [
            ("user", "user"),
            ("../../etc/passwd", "_.._etc_passwd"),
            (".hidden", "hidden"),
            ("a\\b:c", "a_b_c"),
            ("", "unnamed"),
            ("..", "unnamed"),
            ("Größe in m", "Größe in m"),
        ] {
            assert_eq!(safe(name), expected);
        }
        let mut names = Names::default();
        assert_eq!(["a", "A", "a", "a.2"].map(|name| names.unique(name)), ["a", "A.2", "a.3", "a.2.2"]);
    }
}
