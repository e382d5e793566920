//! From the bytes of a field to text.

use std::borrow::Cow;

/// What Windows-1252 has at 0x80 to 0x9f; the five places that it leaves empty keep their numbers.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of a field. Bytes that are not UTF-8 are read as Windows-1252, which contains Latin-1 and the one encoding
/// that old files of ratings are still found in; it gives a character for every byte.
pub(in crate::files) fn decode(field: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(field) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => field
            .iter()
            .map(|&byte| match byte {
                0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
                byte => char::from(byte),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_windows_1252() {
        assert_eq!(decode("Amélie €5".as_bytes()), "Amélie €5");
        assert_eq!(decode(b"Am\xe9lie \x805"), "Amélie €5");
        assert_eq!(decode(b"\x93q\x94 \x81"), "“q” \u{81}");
    }
}
