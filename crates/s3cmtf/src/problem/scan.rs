//! Looking through long arrays with all threads.

use crate::parallel;

/// So many values are looked at by a plain loop: threads that take them one by one need several times as long.
const TOGETHER: usize = 1 << 15;

/// The largest number.
pub(crate) fn largest(numbers: &[u32]) -> Option<u32> {
    parallel::map_of(numbers.chunks(TOGETHER), |some| some.iter().copied().max()).into_iter().flatten().max()
}

/// The smallest and the largest number.
#[cfg(any(feature = "tables", test))]
pub(crate) fn range(numbers: &[i64]) -> Option<(i64, i64)> {
    let own = |some: &[i64]| some.iter().copied().min().zip(some.iter().copied().max());
    let both = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
    parallel::map_of(numbers.chunks(TOGETHER), own).into_iter().flatten().reduce(both)
}

/// The place of the first value of which this is true.
pub(crate) fn first_place<T: Sync>(values: &[T], is_so: impl Fn(&T) -> bool + Sync) -> Option<usize> {
    // What is looked for is the first error: after it nothing is looked at.
    let own = |(number, some): (usize, &[T])| match some.iter().position(&is_so) {
        Some(place) => Err(number * TOGETHER + place),
        None => Ok(()),
    };
    parallel::try_map_of(values.chunks(TOGETHER).enumerate(), own).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_what_a_loop_finds() {
        for len in [0, 1, TOGETHER, 5 * TOGETHER + 3] {
            let numbers: Vec<u32> = (0..len as u32).map(|place| place.wrapping_mul(2_654_435_761)).collect();
            let signed: Vec<i64> = numbers.iter().map(|&number| i64::from(number) - (1 << 31)).collect();
            assert_eq!(largest(&numbers), numbers.iter().copied().max());
            assert_eq!(range(&signed), signed.iter().copied().min().zip(signed.iter().copied().max()));
            for rare in [1, 1000, 200_000] {
                let is_so = |number: &u32| number % rare == rare - 1;
                assert_eq!(first_place(&numbers, is_so), numbers.iter().position(is_so));
            }
        }
    }
}
