//! Prefetches into the first-level cache, on machines where that helps.

/// Prefetches the number at `index`; an out-of-range index is allowed.
#[inline]
pub fn prefetch(numbers: &[f32], index: usize) {
    prefetch_line(numbers.as_ptr().wrapping_add(index));
}

/// Prefetches the cache line at `address`. Any address will do: a prefetch never faults.
#[inline(always)]
pub(crate) fn prefetch_line(address: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 machine has SSE, and a prefetch has no effect that the language could see.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
