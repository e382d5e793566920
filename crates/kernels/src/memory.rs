//! Large arrays.

/// Below this many bytes small pages do as well.
#[cfg(target_os = "linux")]
const WORTH_IT: usize = 8 << 20;

/// An array of so many zeros, on huge pages where it is large and the system has them.
///
/// Where rows are visited at random, finding a page of 4 KiB costs more than the row; and each page costs microseconds when it
/// is touched for the first time, which is longer than it takes to fill it.
pub fn zeros<T: Copy + Default>(len: usize) -> Vec<T> {
    let mut numbers = vec![T::default(); len];
    advise_huge_pages(&mut numbers);
    numbers
}

/// Asks for huge pages under numbers that have not been touched yet. It is only advice: a system that does not take it loses
/// time and nothing else.
pub(crate) fn advise_huge_pages<T>(numbers: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes = size_of_val(numbers);
        if bytes < WORTH_IT {
            return;
        }
        let start = numbers.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        if skip < bytes {
            // SAFETY: the range lies within memory that is ours alone for the call, and this advice changes neither
            // what is in it nor who may use it; it only says how it is mapped.
            unsafe { libc::madvise(start.add(skip).cast(), bytes - skip, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = numbers;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_arrays_are_zeros() {
        for len in [0, 1, 1000, (16 << 20) + 5] {
            assert_eq!(zeros::<u8>(len).len(), len);
            assert!(zeros::<f32>(len).iter().all(|&value| value == 0.0));
        }
    }
}
