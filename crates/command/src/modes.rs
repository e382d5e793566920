//! Which mode is meant by what was typed, and what is typed for a mode.

use s3cmtf::Mode;
use s3cmtf::internal::prepare::{self, ModeSpec};
use s3cmtf::internal::table::{Binning, Bins, Selector};

/// The mode that goes by this name, or by this number from 1, among modes of these names; counted from 0. `what` is what
/// was typed, for the error.
pub(crate) fn find(wanted: &str, names: &[impl AsRef<str>], what: &str) -> anyhow::Result<usize> {
    Ok(prepare::find_mode(wanted, names, what)?)
}

/// What is typed for a mode, if it came from a column with a heading.
pub(crate) fn spec(mode: &Mode) -> Option<ModeSpec> {
    let naming = mode.naming()?;
    let bins = naming.binning.as_ref().and_then(|binning| match binning {
        Binning::Time(bin) => Some(Bins::Time(*bin)),
        // Which of the two it was is not known any more.
        Binning::Bounds(bounds) => Some(Bins::Width(bounds.len() + 1)),
        Binning::Standard { .. } => None,
    });
    let name = (mode.name() != naming.column).then(|| mode.name().to_owned());
    Some(ModeSpec { name, column: Selector::parse(&naming.column), bins })
}
