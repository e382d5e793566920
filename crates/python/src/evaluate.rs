//! How good a model is on entries that are known.

use pyo3::prelude::*;
use s3cmtf::discovery::{self, RankBy, RankingParams};
use s3cmtf::internal::input::known_entries;
use s3cmtf::{Algorithm, Error};
use serde_json::json;

use crate::convert;
use crate::error::detached;
use crate::run::Run;
use crate::table::Table;

/// What recommendations are measured by: to whom, what, how many at a time, from which value on, with how much
/// caution, by what, and whether item-kNN is measured too.
type Options =
    (Option<usize>, Option<usize>, Option<Vec<usize>>, Option<f64>, Option<f32>, Option<String>, bool);

/// How far predictions lie from the entries of a table, as JSON. With `more` also how good recommendations are, and errors by
/// segment; what cannot be measured and was not asked for is a note.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    run: &Run,
    entries: &Table,
    value: Option<&str>,
    clip: Option<bool>,
    more: Option<Options>,
) -> PyResult<String> {
    let (given, model, data) = (entries.0.clone(), &run.run.model, run.data.as_ref());
    let measured = detached(py, || {
        let entries = known_entries(&given, model.modes(), value.or(model.value()), &mut |_| ())?;
        let clip = clip.unwrap_or_else(|| model.clips());
        // A choice has no value to be predicted: how far its score is from 1 is measured.
        let is_choice = run.run.record.params.algorithm == Algorithm::Ials;
        let valued = if is_choice { &entries.chosen() } else { &entries };
        let errors = model.evaluate(valued, clip)?;
        let (mut rankings, mut segments) = (None, None);
        let mut notes: Vec<String> = errors.note(model.modes()).into_iter().collect();
        if let Some(more) = more {
            let asked = more != Options::default();
            let (mut params, lengths) = params(more)?;
            // Whatever was chosen is relevant.
            params.relevant = params.relevant.or(is_choice.then_some(f64::MIN));
            match discovery::rankings(model, data, &entries, params, &lengths) {
                // Nobody has asked: a test of what training has seen is one of errors.
                Err(Error::Problem(why)) if !asked => notes.push(why),
                Ok(_) if !asked && data.is_none() => {
                    notes.push(
                        "the training data are not with the model, so that recommendations are not measured"
                            .into(),
                    );
                }
                measured => rankings = Some(measured?),
            }
            segments = Some(discovery::segments(model, data, valued, &[params.by, params.items], clip)?);
        }
        Ok(json!({
            "errors": errors,
            "variance": entries.variance(),
            "rankings": rankings,
            "segments": segments,
            "notes": notes,
        }))
    })?;
    convert::json(&measured)
}

fn params(
    (by, items, k, relevant, caution, score, baselines): Options,
) -> Result<(RankingParams, Vec<usize>), Error> {
    let usual = RankingParams::new(by, items);
    let score = score.as_deref().map(RankBy::parse).transpose()?;
    let (k, caution) = (k.unwrap_or_else(|| vec![usual.k]), caution.unwrap_or(usual.caution));
    Ok((RankingParams { relevant, caution, score, baselines, ..usual }, k))
}
