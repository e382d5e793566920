//! The distinct values of entries, where they are few.

use crate::parallel;

/// The most there are: the place of a value among them is a byte.
const MOST: usize = 256;
/// So many values are looked at by one thread.
const TOGETHER: usize = 1 << 15;
/// A few times as many slots as values, so that most are found where they are looked for first.
const SLOTS: usize = 4 * MOST;

/// The distinct values of ratings, counts and the like. An entry's value can then be kept as its place among them, a quarter
/// of the memory.
pub(crate) struct Distinct {
    values: Vec<f32>,
    /// For some bits of a value its place, from 1, or that of another with these bits, and then the next slot; 0 is empty.
    slots: Vec<u16>,
}

impl Distinct {
    /// The distinct ones of these; nothing if they are many.
    pub(crate) fn collect(values: &[f32]) -> Option<Self> {
        let own = |values: &[f32]| Distinct::empty().with(values).ok_or(());
        let pieces = parallel::try_map_of(values.chunks(TOGETHER), own).ok()?;
        pieces.into_iter().try_fold(Distinct::empty(), |all, more| all.with(&more.values))
    }

    fn empty() -> Self {
        Distinct { values: Vec::new(), slots: vec![0; SLOTS] }
    }

    /// These and more.
    fn with(mut self, values: &[f32]) -> Option<Self> {
        for &value in values {
            if let Err(slot) = self.find(value) {
                if self.values.len() == MOST {
                    return None;
                }
                self.values.push(value);
                self.slots[slot] = self.values.len() as u16;
            }
        }
        Some(self)
    }

    /// The place of a value, or the slot where it would be noted.
    fn find(&self, value: f32) -> Result<u8, usize> {
        let bits = value.to_bits();
        let mut slot = (bits.wrapping_mul(0x9e37_79b9) >> 22) as usize % SLOTS;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                place if self.values[place as usize - 1].to_bits() == bits => return Ok((place - 1) as u8),
                // There are more slots than values, so there is an end.
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }

    /// The place of a value, which is one of them.
    pub(crate) fn place(&self, value: f32) -> u8 {
        self.find(value).unwrap_or_default()
    }

    /// All of them.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_places() {
        for many in [1u32, 10, 256] {
            let values: Vec<f32> = (0..100_000u32).map(|i| (i * 7919 % many) as f32 / 3.0 - 1.0).collect();
            let distinct = Distinct::collect(&values).unwrap();
            assert_eq!(distinct.values().len(), many as usize);
            assert!(values.iter().all(|&value| distinct.values()[distinct.place(value) as usize] == value));
        }
        // A zero with a sign is another value.
        assert_eq!(Distinct::collect(&[0.0, -0.0, 0.0]).unwrap().values().len(), 2);
        assert_eq!(Distinct::collect(&[]).unwrap().values().len(), 0);
    }

    #[test]
    fn many_values_have_none() {
        assert!(Distinct::collect(&(0..257u16).map(f32::from).collect::<Vec<_>>()).is_none());
        // Each part has few, all together have many.
        let values: Vec<f32> = (0..100_000u32).map(|i| (i / 300) as f32).collect();
        assert!(Distinct::collect(&values).is_none());
    }
}
