//! Places evenly out of many.

/// At most `most` of `count` places, the first and the last among them.
pub(super) fn places(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let last = most.max(2) - 1;
    (0..=last).map(|place| (place as u128 * (count as u128 - 1) / last as u128) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn few_are_all_and_many_are_even_with_both_ends() {
        assert_eq!(places(0, 5), Vec::<usize>::new());
        assert_eq!(places(3, 5), [0, 1, 2]);
        assert_eq!(places(101, 5), [0, 25, 50, 75, 100]);
        assert_eq!(places(usize::MAX, 2), [0, usize::MAX - 1]);
    }
}
