//! What stands in files for a value that is not there.

/// What to do about an empty value where one is needed, as errors say it; whoever shows them may put its own words there.
pub const SKIP_EMPTY: &str = "skip-empty leaves such rows out";

/// What databases and spreadsheets write; none of them is a likely id.
const MARKS: [&[u8]; 8] = [b"NULL", b"null", b"\\N", b"NaN", b"nan", b"<NA>", b"#N/A", b"N/A"];

/// What may be an id, but is no number and no time: Namibia is `NA`.
const WORDS: [&[u8]; 6] = [b"NA", b"na", b"n/a", b"None", b"none", b"-"];

/// Whether a field stands for no id.
pub(crate) fn is_empty_id(field: &[u8]) -> bool {
    // Hardly any field is that short, and this is asked about each.
    field.len() <= 4 && (field.is_empty() || MARKS.contains(&field))
}

/// Whether a field stands for no number and no time.
pub(crate) fn is_empty_value(field: &[u8]) -> bool {
    is_empty_id(field) || WORDS.contains(&field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_databases_write_is_empty_and_countries_are_not() {
        for field in ["", "NULL", "\\N", "NaN", "#N/A"] {
            assert!(is_empty_id(field.as_bytes()) && is_empty_value(field.as_bytes()), "{field}");
        }
        for field in ["NA", "None", "-"] {
            assert!(!is_empty_id(field.as_bytes()) && is_empty_value(field.as_bytes()), "{field}");
        }
        assert!(!is_empty_value(b"0") && !is_empty_value(b"Nulla") && !is_empty_value(b"0.0"));
    }
}
