//! What lies between fields.

use crate::files::number::{parse_number, parse_with_comma};

/// What lies between fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::files) enum Separator {
    /// One byte; fields may be in quotes.
    Byte(u8),
    /// `::`, between fields that are never in quotes: titles that start with one are found in such files.
    Colons,
    /// White space; `#` starts a comment.
    Blanks,
}

impl Separator {
    /// A finite number in a field. Who separates fields by semicolons does it because decimals follow a comma.
    pub(in crate::files) fn number(self, field: &[u8]) -> Option<f64> {
        if self == Separator::Byte(b';') { parse_with_comma(field) } else { parse_number(field) }
    }

    /// What messages call it.
    pub(super) fn name(self) -> String {
        match self {
            Separator::Byte(b'\t') => "tabs".to_owned(),
            Separator::Byte(b',') => "commas".to_owned(),
            Separator::Byte(b';') => "semicolons".to_owned(),
            Separator::Byte(byte) => format!("\"{}\"", char::from(byte)),
            Separator::Colons => "\"::\"".to_owned(),
            Separator::Blanks => "white space".to_owned(),
        }
    }
}
