//! Which mode is meant by what was typed.

use s3cmtf::prepare;

/// The mode that goes by this name, or by this number from 1, among modes of these names; counted from 0. `what` is what
/// was typed, for the error.
pub(crate) fn find(wanted: &str, names: &[impl AsRef<str>], what: &str) -> anyhow::Result<usize> {
    Ok(prepare::find_mode(wanted, names, what)?)
}
