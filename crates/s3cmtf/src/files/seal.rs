//! A checksum over every byte of a safetensors file, inside its own header.
//!
//! The header that is our own text in the file's metadata begins with a field for it. It is summed up as if that were empty.

use xxhash_rust::xxh3::Xxh3;

/// What a header's field for the checksum has until it is known.
pub(super) const EMPTY: &str = "0000000000000000";
/// What the header begins with, as it stands in the text around it.
const BEGIN: &[u8] = br#"{\"checksum\":\""#;

/// Fills in the checksum of a file whose header has an empty one.
pub(super) fn seal(bytes: &mut [u8]) {
    if let (Some(place), Some(sum)) = (place(bytes), sum(bytes)) {
        bytes[place..place + EMPTY.len()].copy_from_slice(sum.as_bytes());
    }
}

/// Refuses a file in which any bit has changed since it was written.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let found = place(bytes).and_then(|place| bytes.get(place..place + EMPTY.len()));
    // Fuzzing is to find what lies behind this.
    if cfg!(fuzzing) || (found.is_some() && found == sum(bytes).as_deref().map(str::as_bytes)) {
        return Ok(());
    }
    Err("is damaged: its checksum is not that of its content, so that it was changed since it was written"
        .into())
}

fn place(bytes: &[u8]) -> Option<usize> {
    let begin = bytes.windows(BEGIN.len()).position(|window| window == BEGIN)? + BEGIN.len();
    (begin + EMPTY.len() <= bytes.len()).then_some(begin)
}

fn sum(bytes: &[u8]) -> Option<String> {
    let place = place(bytes)?;
    let mut hash = Xxh3::new();
    hash.update(&bytes[..place]);
    hash.update(EMPTY.as_bytes());
    hash.update(&bytes[place + EMPTY.len()..]);
    Some(format!("{:016x}", hash.digest()))
}
