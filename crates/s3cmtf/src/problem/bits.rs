//! A bit for each entry, in an eighth of a byte.

/// A bit for each entry.
#[derive(Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    pub(super) fn push(&mut self, bit: bool) {
        let (word, place) = (self.len / 64, self.len % 64);
        if place == 0 {
            self.words.push(0);
        }
        self.words[word] |= u64::from(bit) << place;
        self.len += 1;
    }

    pub(super) fn get(&self, place: usize) -> bool {
        self.words[place / 64] >> (place % 64) & 1 == 1
    }

    /// How many are set.
    pub(super) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
}
