//! Data that came after training.

use pyo3::prelude::*;
use s3cmtf::input::Later;
use s3cmtf::{FoldIn, Folded};

use crate::error::detached;
use crate::run::Run;
use crate::table::{Couple, Table, couples};

/// What became of a model: the new run, and for each mode how many rows are new and how many have changed; then what did not
/// count.
type Taken = (Run, Vec<usize>, Vec<usize>, Vec<String>);

/// Takes in new entries and matrices: rows for new ids, and with `update` better ones for those that have new entries. The
/// data of training are no longer those of the model.
#[pyfunction]
pub(crate) fn take_in(
    py: Python<'_>,
    run: &Run,
    tensor: Option<&Table>,
    couple: Vec<PyRef<'_, Couple>>,
    value: Option<String>,
    update: bool,
) -> PyResult<Taken> {
    let (tensor, couple, run) = (tensor.map(|table| table.0.clone()), couples(&couple), &run.run);
    let Folded { model, added, updated, entries, notes } = detached(py, || {
        let later = Later::read(&run.model, tensor.as_ref(), &couple, value.as_deref())?;
        let Later { entries, coupled, namings, duplicates } = later;
        let data = FoldIn::new(&run.model, &run.record.params).namings(namings).duplicates(duplicates);
        let data = entries.into_iter().fold(data, FoldIn::entries);
        let data = coupled.into_iter().fold(data, FoldIn::couple);
        if update { data.update() } else { data.fold_in() }
    })?;
    let mut record = run.record.clone();
    record.data.later_entries += entries;
    Ok((Run { run: s3cmtf::Run { model, record }, data: None }, added, updated, notes))
}
