//! The core's numbers in the order that a view goes through them.

/// For each element of a core, row after row, its place in an order in which other modes come last, the very last padded.
pub(crate) struct CoreOrder {
    places: Vec<u32>,
    len: usize,
}

impl CoreOrder {
    /// The order for modes in the given order.
    pub(crate) fn new(ranks: &[usize], order: &[usize], pad: usize) -> Self {
        let mut strides = vec![0usize; ranks.len()];
        let mut stride = 1;
        for (place, &mode) in order.iter().enumerate().rev() {
            strides[mode] = stride;
            stride *= if place + 1 == order.len() { pad } else { ranks[mode] };
        }
        let mut places = vec![0];
        for (&rank, &stride) in ranks.iter().zip(&strides) {
            let along = |place: u32| (0..rank).map(move |j| place + (j * stride) as u32);
            places = places.into_iter().flat_map(along).collect();
        }
        CoreOrder { places, len: stride }
    }

    /// The core in this order.
    pub(crate) fn pack(&self, core: &[f32]) -> Vec<f32> {
        let mut packed = vec![0.0; self.len];
        self.places.iter().zip(core).for_each(|(&place, &value)| packed[place as usize] = value);
        packed
    }

    /// The core back from this order.
    pub(crate) fn unpack(&self, packed: &[f32]) -> Vec<f32> {
        self.places.iter().map(|&place| packed[place as usize]).collect()
    }
}

/// The concepts of each element of a core, the last mode's changing fastest.
pub(crate) fn concepts(ranks: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..ranks.iter().product::<usize>()).map(move |place| {
        let mut rest = place;
        let mut index = vec![0; ranks.len()];
        for (j, &rank) in index.iter_mut().zip(ranks).rev() {
            (*j, rest) = (rest % rank, rest / rank);
        }
        index
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_puts_the_last_mode_in_rows_and_is_undone() {
        let core: Vec<f32> = (0..24).map(|value| value as f32 + 1.0).collect();
        let layout = CoreOrder::new(&[2, 3, 4], &[2, 0, 1], 5);
        let packed = layout.pack(&core);
        assert_eq!(packed.len(), 4 * 2 * 5);
        assert_eq!(layout.unpack(&packed), core);
        // Element (1, 2, 3) stands last of all, element (0, 1, 0) second.
        assert_eq!((packed[39 - 2], packed[1]), (core[23], core[4]));
        assert_eq!((packed[3], packed[4]), (0.0, 0.0));
    }
}
