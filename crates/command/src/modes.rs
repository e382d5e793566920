//! Which mode is meant by what was typed.

use s3cmtf::table::did_you_mean;

use crate::failure::usage;

/// The mode that goes by this name, or by this number from 1, among modes of these names; counted from 0. `what` is what
/// was typed, for the error.
pub(crate) fn find(wanted: &str, names: &[impl AsRef<str>], what: &str) -> anyhow::Result<usize> {
    let number = wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let place = number.filter(|&mode| mode < names.len());
    place.or_else(|| names.iter().position(|name| name.as_ref() == wanted)).ok_or_else(|| {
        let all: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        usage(format!(
            "{what}: there is no mode {wanted}{} (the modes are {}, or 1 to {})",
            did_you_mean(all.iter().copied(), wanted),
            all.join(", "),
            all.len()
        ))
    })
}
