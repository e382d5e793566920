//! The indices of an entry as one number.

use std::ops::Range;

/// How the indices of an entry are packed into one number: in some order of the modes, the first in the highest bits.
pub(crate) struct Packing {
    /// Each mode, where its bits start, from the last on, and how many they are.
    modes: Vec<(usize, u32, u32)>,
    bits: u32,
}

impl Packing {
    /// That of the modes in this order, of which each has no larger index than this; nothing if a number has too few bits for
    /// them.
    pub(crate) fn new(largest: &[u32], order: &[usize]) -> Option<Self> {
        let (mut modes, mut bits) = (Vec::new(), 0);
        for &mode in order.iter().rev() {
            let own = 32 - largest[mode].leading_zeros();
            modes.push((mode, bits, own));
            bits += own;
        }
        modes.reverse();
        (bits <= u64::BITS).then_some(Packing { modes, bits })
    }

    /// The numbers of some entries. Mode by mode, since a loop over one list is a few instructions for many entries.
    pub(crate) fn pack(&self, lists: &[&[u32]], entries: Range<usize>, keys: &mut Vec<u64>) {
        keys.clear();
        keys.resize(entries.len(), 0);
        // A mode without bits has nothing to add, and may start behind the last bit.
        for &(mode, start, _) in self.modes.iter().filter(|(_, _, bits)| *bits > 0) {
            for (key, &index) in keys.iter_mut().zip(&lists[mode][entries.clone()]) {
                *key |= u64::from(index) << start;
            }
        }
    }

    /// The index that a number has in the mode at a place of the order.
    pub(crate) fn index(&self, key: u64, place: usize) -> u32 {
        let (_, start, bits) = self.modes[place];
        (key.checked_shr(start).unwrap_or(0) & ((1 << bits) - 1)) as u32
    }

    /// How many bits there are.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// How many the last mode of the order has.
    pub(crate) fn last_bits(&self) -> u32 {
        self.modes.last().map_or(0, |&(_, _, bits)| bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_indices_and_their_order() {
        let lists: [&[u32]; 3] = [&[3, 0, 3], &[7, 7, 6], &[0, 900, 1]];
        let order = [1, 2, 0];
        let packing = Packing::new(&[3, 7, 900], &order).unwrap();
        let mut keys = Vec::new();
        packing.pack(&lists, 0..3, &mut keys);
        for (entry, &key) in keys.iter().enumerate() {
            for (place, &mode) in order.iter().enumerate() {
                assert_eq!(packing.index(key, place), lists[mode][entry]);
            }
        }
        assert!(keys[2] < keys[0] && keys[0] < keys[1]);
        assert_eq!((packing.bits(), packing.last_bits()), (3 + 10 + 2, 2));
        packing.pack(&lists, 1..2, &mut keys);
        assert_eq!(packing.index(keys[0], 1), 900);
    }

    #[test]
    fn indices_may_take_all_bits_but_no_more() {
        let full = [u32::MAX - 1, 3];
        let lists: [&[u32]; 3] = [&full, &full, &[0, 0]];
        let largest = [u32::MAX - 1, u32::MAX - 1, 0, 1];
        let mut keys = Vec::new();
        let packing = Packing::new(&largest, &[2, 1, 0]).unwrap();
        packing.pack(&lists, 0..1, &mut keys);
        let indices: Vec<u32> = (0..3).map(|place| packing.index(keys[0], place)).collect();
        assert_eq!(indices, [0, u32::MAX - 1, u32::MAX - 1]);
        assert!(Packing::new(&largest, &[0, 1, 2, 3]).is_none());
    }
}
