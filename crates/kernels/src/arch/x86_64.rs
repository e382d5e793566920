//! AVX2 and AVX-512 vectors.

use std::arch::x86_64::*;

use crate::vector::Vector;

/// Eight numbers.
#[derive(Clone, Copy)]
pub(crate) struct Ymm(__m256);

/// Sixteen numbers.
#[derive(Clone, Copy)]
pub(crate) struct Zmm(__m512);

/// A window into this gives a mask of the first `n` lanes.
static MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// The mask of the first `n <= 8` lanes.
///
/// # Safety
/// The machine must have AVX2, and `n` be at most 8.
#[inline(always)]
unsafe fn mask8(n: usize) -> __m256i {
    debug_assert!(n <= 8);
    // SAFETY: `8 - n .. 16 - n` lies inside the table.
    unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(8 - n).cast()) }
}

// SAFETY: each method is the instruction that the trait describes; masked loads and stores touch no memory in
// lanes that are masked out.
unsafe impl Vector for Ymm {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: the caller has AVX2.
        Ymm(unsafe { _mm256_set1_ps(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller has AVX2 and vouches for the memory.
        Ymm(unsafe { _mm256_loadu_ps(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller has AVX2 and vouches for the memory.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        // SAFETY: the caller has AVX2 and vouches for `n` numbers.
        Ymm(unsafe { _mm256_maskload_ps(from, mask8(n)) })
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        // SAFETY: the caller has AVX2 and vouches for `n` numbers.
        unsafe { _mm256_maskstore_ps(to, mask8(n), self.0) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: the caller has FMA.
        Ymm(unsafe { _mm256_fmadd_ps(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the caller has AVX2.
        Ymm(unsafe { _mm256_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has AVX2.
        Ymm(unsafe { _mm256_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the caller has AVX2.
        Ymm(unsafe { _mm256_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: the caller has AVX2.
        Ymm(unsafe { _mm256_max_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: the caller has AVX2.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
}

// SAFETY: each method is the instruction that the trait describes; masked loads and stores touch no memory in
// lanes that are masked out.
unsafe impl Vector for Zmm {
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: the caller has AVX-512.
        Zmm(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller has AVX-512 and vouches for the memory.
        Zmm(unsafe { _mm512_loadu_ps(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller has AVX-512 and vouches for the memory.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        // SAFETY: the caller has AVX-512 and vouches for `n` numbers.
        Zmm(unsafe { _mm512_maskz_loadu_ps((1u16 << n) - 1, from) })
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        // SAFETY: the caller has AVX-512 and vouches for `n` numbers.
        unsafe { _mm512_mask_storeu_ps(to, (1u16 << n) - 1, self.0) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: the caller has AVX-512.
        Zmm(unsafe { _mm512_fmadd_ps(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the caller has AVX-512.
        Zmm(unsafe { _mm512_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has AVX-512.
        Zmm(unsafe { _mm512_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the caller has AVX-512.
        Zmm(unsafe { _mm512_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: the caller has AVX-512.
        Zmm(unsafe { _mm512_max_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
}
