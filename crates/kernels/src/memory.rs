//! Advice to the operating system.

/// Below this many bytes small pages do as well.
#[cfg(target_os = "linux")]
const WORTH_IT: usize = 8 << 20;

/// Asks for huge pages under numbers that have not been touched yet.
///
/// Rows of a large factor are visited at random, and with pages of 4 KiB finding the page costs more than the row.
/// It is only advice: a system that does not take it loses time and nothing else.
pub fn advise_huge_pages(numbers: &mut [f32]) {
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
