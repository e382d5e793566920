//! The names of a mode's ids.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Distinct texts, numbered from 0 in the order in which they came; the number is the *id* that a text is the label of.
///
/// Texts lie one behind the other, so a million of them is two allocations and not a million.
#[derive(Clone, Default)]
pub struct Labels {
    text: String,
    /// Where each text ends.
    ends: Vec<usize>,
    /// The ids by the hash of their texts.
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Labels {
    /// No labels yet.
    pub fn new() -> Self {
        Labels::default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes that they take, about.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + 16 * self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The label of an id.
    ///
    /// # Panics
    /// If `id` is not below [`Labels::len`].
    pub fn get(&self, id: u32) -> &str {
        label(&self.text, &self.ends, id)
    }

    /// All labels, by id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|id| self.get(id as u32))
    }

    /// The id of a label, if it is one.
    pub fn find(&self, text: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(text);
        self.index.find(hash, |&id| self.get(id) == text).copied()
    }

    /// The id of a label, which is a new one if it has not been there.
    pub fn id(&mut self, text: &str) -> u32 {
        let hash = self.hasher.hash_one(text);
        let Labels { text: all, ends, index, hasher } = self;
        if let Some(&id) = index.find(hash, |&id| label(all, ends, id) == text) {
            return id;
        }
        let id = u32::try_from(ends.len()).expect("fewer than 2^32 labels");
        all.push_str(text);
        ends.push(all.len());
        index.insert_unique(hash, id, |&id| hasher.hash_one(label(all, ends, id)));
        id
    }

    /// All texts, one behind the other, and where each ends.
    pub(crate) fn parts(&self) -> (&str, &[usize]) {
        (&self.text, &self.ends)
    }

    /// The labels of such parts; `None` if they are none, or two labels are the same.
    pub(crate) fn from_parts(text: &str, ends: &[u64]) -> Option<Self> {
        let mut labels = Labels::new();
        let mut start = 0;
        for (number, &end) in ends.iter().enumerate() {
            let end = usize::try_from(end).ok()?;
            if labels.id(text.get(start..end)?) as usize != number {
                return None;
            }
            start = end;
        }
        (start == text.len()).then_some(labels)
    }
}

fn label<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &text[start..ends[id]]
}

impl<T: AsRef<str>> FromIterator<T> for Labels {
    /// Texts that come again keep their first id.
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut labels = Labels::new();
        texts.into_iter().for_each(|text| _ = labels.id(text.as_ref()));
        labels
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for Labels {}

impl std::fmt::Debug for Labels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().take(10)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_id_and_an_id_one_text() {
        let mut labels = Labels::new();
        for round in 0..2 {
            for number in 0..5000u32 {
                let text = if number == 7 { String::new() } else { format!("user {number}") };
                assert_eq!(labels.id(&text), number, "round {round}");
                assert_eq!(labels.find(&text), Some(number));
                assert_eq!(labels.get(number), text);
            }
        }
        assert_eq!((labels.len(), labels.find("user")), (5000, None));
        assert_eq!(labels.iter().nth(4999), Some("user 4999"));
        assert_eq!(labels, labels.iter().collect());
    }

    #[test]
    fn parts_that_are_no_labels_are_refused() {
        let parts = |text: &str, ends: &[u64]| Labels::from_parts(text, ends);
        assert_eq!(parts("annbob", &[3, 6]).unwrap().find("bob"), Some(1));
        for (text, ends) in [
            ("annbob", &[3][..]),
            ("annbob", &[3, 7]),
            ("annbob", &[6, 3]),
            ("annann", &[3, 6]),
            ("\u{e9}", &[1, 2]),
            ("", &[u64::MAX]),
        ] {
            assert!(parts(text, ends).is_none(), "{text} {ends:?}");
        }
    }
}
