//! A bit for each entry, in an eighth of a byte.

use std::sync::Arc;

use crate::parallel;

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

    /// Adds so many bits, each by its place among them.
    pub(super) fn extend(&mut self, len: usize, bit: impl Fn(usize) -> bool + Sync) {
        // Whole words are made beside each other.
        let first = if self.len.is_multiple_of(64) { 0 } else { (64 - self.len % 64).min(len) };
        (0..first).for_each(|place| self.push(bit(place)));
        let word = |word: usize| {
            (0..64).fold(0, |bits, place| bits | u64::from(bit(first + 64 * word + place)) << place)
        };
        let words = (len - first) / 64;
        self.words.append(&mut parallel::numbers(words, word));
        self.len += 64 * words;
        (first + 64 * words..len).for_each(|place| self.push(bit(place)));
    }

    pub(super) fn get(&self, place: usize) -> bool {
        self.words[place / 64] >> (place % 64) & 1 == 1
    }

    /// How many are set.
    pub(super) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Which entries of a source are chosen.
pub(crate) struct Chosen {
    bits: Arc<Bits>,
    count: usize,
}

impl Chosen {
    pub(super) fn new(bits: Bits) -> Self {
        Chosen { count: bits.count(), bits: Arc::new(bits) }
    }

    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn bits(&self) -> Arc<Bits> {
        Arc::clone(&self.bits)
    }

    /// The numbers of those that are, or of the others, in ascending order.
    pub(crate) fn places(&self, is_chosen: bool) -> Vec<u32> {
        parallel::gather(self.bits.len, 1 << 16, |range, found| {
            found.extend(range.filter(|&place| self.bits.get(place) == is_chosen).map(|place| place as u32));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_same_however_they_are_added() {
        let bit = |place: usize| place.is_multiple_of(3) || place % 7 == 2;
        for lens in [vec![1000], vec![0, 5, 300, 64, 131], vec![63, 1, 64, 200], vec![64, 3, 2]] {
            let (mut one, mut all) = (Bits::default(), Bits::default());
            let mut first = 0;
            for len in lens {
                all.extend(len, |place| bit(first + place));
                (first..first + len).for_each(|place| one.push(bit(place)));
                first += len;
            }
            assert_eq!((all.len, &all.words), (one.len, &one.words));
        }
    }
}
