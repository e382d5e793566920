//! Texts in messages: a cell may hold a whole review.

/// The characters of a text that a message shows.
const LONGEST: usize = 40;

/// A text of a file as a message shows it: the start of it, if it is long.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("Heat"), "Heat");
        assert_eq!(shortened(&"é".repeat(40)), "é".repeat(40));
        assert_eq!(shortened(&"é".repeat(41)), format!("{}..", "é".repeat(40)));
    }
}
