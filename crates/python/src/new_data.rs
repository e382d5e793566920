//! Data that came after training.

use pyo3::prelude::*;
use s3cmtf::internal::input::{NewData, Note};
use s3cmtf::{Error, FoldIn, Folded, Problem};

use crate::error::detached;
use crate::run::Run;
use crate::table::{Couple, Table, couples};

/// What became of a model: the new run, and for each mode how many rows are new and how many have changed; then what did not
/// count.
type Taken = (Run, Vec<usize>, Vec<usize>, Vec<String>);

/// Takes in new entries and matrices: rows for new ids, and with `update` better ones for those that have new entries. They come to
/// the data of training, if those are there.
#[pyfunction]
pub(crate) fn take_in(
    py: Python<'_>,
    run: &Run,
    tensor: Option<&Table>,
    couple: Vec<PyRef<'_, Couple>>,
    value: Option<String>,
    update: bool,
) -> PyResult<Taken> {
    let (tensor, couple) = (tensor.map(|table| table.0.clone()), couples(&couple));
    let (run, before, test) = (&run.run, run.data.as_ref(), run.test.clone());
    let mut told = Vec::new();
    let (Folded { model, added, updated, entries, notes, .. }, data) = detached(py, || {
        let mut tell = |note: Note| told.push(note.to_string());
        let later = NewData::read(&run.model, tensor.as_ref(), &couple, value.as_deref(), &mut tell)?;
        let NewData { entries, coupled, namings, duplicates } = later;
        let fold = FoldIn::new(&run.model, &run.record.params).namings(namings).duplicates(duplicates);
        let fold = entries.clone().into_iter().fold(fold, FoldIn::entries);
        let fold = coupled.iter().cloned().fold(fold, FoldIn::couple);
        let folded = if update { fold.update() } else { fold.fold_in() }.map_err(in_python)?;
        let grown = |before: &Problem| {
            before.with_later(folded.model.modes(), entries.as_ref(), &coupled, duplicates)
        };
        let data = before.map(grown).transpose()?;
        Ok((folded, data))
    })?;
    let mut record = run.record.clone();
    record.data.later_entries += entries;
    told.extend(notes.iter().map(|note| renamed(note)));
    Ok((Run { run: s3cmtf::Run { model, record }, data, test }, added, updated, told))
}

fn in_python(error: Error) -> Error {
    match error {
        Error::Problem(what) => Error::Problem(renamed(&what)),
        other => other,
    }
}

/// What the library and the command call `update` goes by scikit-learn's name.
fn renamed(words: &str) -> String {
    words.replace("update takes", "partial_fit takes")
}
