//! AVX2 and AVX-512 vectors.

use std::arch::asm;
use std::arch::x86_64::*;
use std::sync::atomic::AtomicU32;

use crate::vector::{MOST_LANES, Vector};

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

/// The mask of the first `n <= 16` lanes.
#[inline(always)]
fn mask16(n: usize) -> u16 {
    ((1u32 << n) - 1) as u16
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

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load_shared(numbers: &[AtomicU32]) -> Self {
        debug_assert!(numbers.len() <= 8);
        let vector: __m256;
        // SAFETY: reads the first `numbers.len()` elements and no more; stands for a relaxed load of each, see
        // `SharedRows`.
        unsafe {
            asm!(
                "vmaskmovps {vector}, {mask}, [{from}]",
                vector = out(ymm_reg) vector,
                mask = in(ymm_reg) mask8(numbers.len()),
                from = in(reg) numbers.as_ptr(),
                options(nostack, preserves_flags, readonly),
            );
        }
        Ymm(vector)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store_shared(self, numbers: &[AtomicU32]) {
        debug_assert!(numbers.len() <= 8);
        // SAFETY: writes the first `numbers.len()` elements and no more; stands for a relaxed store of each, see
        // `SharedRows`.
        unsafe {
            asm!(
                "vmaskmovps [{to}], {mask}, {vector}",
                vector = in(ymm_reg) self.0,
                mask = in(ymm_reg) mask8(numbers.len()),
                to = in(reg) numbers.as_ptr(),
                options(nostack, preserves_flags),
            );
        }
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

    #[inline(always)]
    unsafe fn store_four(self, to: &mut [f32; 4]) {
        // SAFETY: the caller has AVX2, and there is room for four numbers. Not under a mask: what is stored under one is not
        // forwarded to loads, and these are loaded at once.
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), _mm256_castps256_ps128(self.0)) }
    }

    #[inline(always)]
    unsafe fn sums<const N: usize>(vectors: &[Self; N]) -> Self {
        debug_assert!(N == 4 || N == 8);
        // SAFETY: the caller has AVX2.
        unsafe {
            let (low, high) = (four8(vectors, 0), four8(vectors, 4));
            Ymm(_mm256_add_ps(
                _mm256_permute2f128_ps::<0x20>(low, high),
                _mm256_permute2f128_ps::<0x31>(low, high),
            ))
        }
    }

    const PICKS: bool = true;

    #[inline(always)]
    unsafe fn pick(self, places: *const i32) -> Self {
        // SAFETY: the caller has AVX2 and vouches for the places.
        Ymm(unsafe { _mm256_permutevar8x32_ps(self.0, _mm256_loadu_si256(places.cast())) })
    }

    #[inline(always)]
    unsafe fn transpose(vectors: &mut [Self; MOST_LANES]) {
        // SAFETY: the caller has AVX2.
        unsafe {
            // Within each half of the lanes four by four, then the halves.
            let low = quarters8([vectors[0], vectors[1], vectors[2], vectors[3]]);
            let high = quarters8([vectors[4], vectors[5], vectors[6], vectors[7]]);
            for place in 0..4 {
                vectors[place] = Ymm(_mm256_permute2f128_ps::<0x20>(low[place], high[place]));
                vectors[place + 4] = Ymm(_mm256_permute2f128_ps::<0x31>(low[place], high[place]));
            }
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
        Zmm(unsafe { _mm512_maskz_loadu_ps(mask16(n), from) })
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        // SAFETY: the caller has AVX-512 and vouches for `n` numbers.
        unsafe { _mm512_mask_storeu_ps(to, mask16(n), self.0) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load_shared(numbers: &[AtomicU32]) -> Self {
        debug_assert!(numbers.len() <= 16);
        let vector: __m512;
        // SAFETY: reads the first `numbers.len()` elements and no more; stands for a relaxed load of each, see
        // `SharedRows`.
        unsafe {
            asm!(
                "vmovups {vector}{{{mask}}}{{z}}, [{from}]",
                vector = out(zmm_reg) vector,
                mask = in(kreg) mask16(numbers.len()),
                from = in(reg) numbers.as_ptr(),
                options(nostack, preserves_flags, readonly),
            );
        }
        Zmm(vector)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store_shared(self, numbers: &[AtomicU32]) {
        debug_assert!(numbers.len() <= 16);
        // SAFETY: writes the first `numbers.len()` elements and no more; stands for a relaxed store of each, see
        // `SharedRows`.
        unsafe {
            asm!(
                "vmovups [{to}]{{{mask}}}, {vector}",
                vector = in(zmm_reg) self.0,
                mask = in(kreg) mask16(numbers.len()),
                to = in(reg) numbers.as_ptr(),
                options(nostack, preserves_flags),
            );
        }
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

    #[inline(always)]
    unsafe fn store_four(self, to: &mut [f32; 4]) {
        // SAFETY: the caller has AVX-512, and there is room for four numbers. Not under a mask: what is stored under one is not
        // forwarded to loads, and these are loaded at once.
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), _mm512_castps512_ps128(self.0)) }
    }

    #[inline(always)]
    unsafe fn sums<const N: usize>(vectors: &[Self; N]) -> Self {
        debug_assert!(N.is_multiple_of(4) && N <= 16);
        // SAFETY: the caller has AVX-512.
        unsafe {
            let low = halve16(four16(vectors, 0), four16(vectors, 4));
            let high = halve16(four16(vectors, 8), four16(vectors, 12));
            Zmm(halve16(low, high))
        }
    }

    const PICKS: bool = true;

    #[inline(always)]
    unsafe fn pick(self, places: *const i32) -> Self {
        // SAFETY: the caller has AVX-512 and vouches for the places.
        Zmm(unsafe { _mm512_permutexvar_ps(_mm512_loadu_si512(places.cast()), self.0) })
    }

    #[inline(always)]
    unsafe fn transpose(vectors: &mut [Self; MOST_LANES]) {
        // SAFETY: the caller has AVX-512.
        unsafe {
            // Within each quarter of the lanes four by four, then the quarters.
            let mut fours = [[_mm512_setzero_ps(); 4]; 4];
            for (four, vectors) in fours.iter_mut().zip(vectors.as_chunks::<4>().0) {
                *four = quarters16(*vectors);
            }
            let [a, b, c, d] = fours;
            for place in 0..4 {
                let low = _mm512_shuffle_f32x4::<0b10_00_10_00>(a[place], b[place]);
                let low_odd = _mm512_shuffle_f32x4::<0b11_01_11_01>(a[place], b[place]);
                let high = _mm512_shuffle_f32x4::<0b10_00_10_00>(c[place], d[place]);
                let high_odd = _mm512_shuffle_f32x4::<0b11_01_11_01>(c[place], d[place]);
                vectors[place] = Zmm(_mm512_shuffle_f32x4::<0b10_00_10_00>(low, high));
                vectors[place + 4] = Zmm(_mm512_shuffle_f32x4::<0b10_00_10_00>(low_odd, high_odd));
                vectors[place + 8] = Zmm(_mm512_shuffle_f32x4::<0b11_01_11_01>(low, high));
                vectors[place + 12] = Zmm(_mm512_shuffle_f32x4::<0b11_01_11_01>(low_odd, high_odd));
            }
        }
    }
}

/// In each half of the lanes four by four, rows as columns.
///
/// # Safety
/// The machine must have AVX2.
#[inline(always)]
unsafe fn quarters8([a, b, c, d]: [Ymm; 4]) -> [__m256; 4] {
    // SAFETY: as the caller vouches.
    unsafe {
        let (ab, cd) = (_mm256_unpacklo_ps(a.0, b.0), _mm256_unpacklo_ps(c.0, d.0));
        let (ab_high, cd_high) = (_mm256_unpackhi_ps(a.0, b.0), _mm256_unpackhi_ps(c.0, d.0));
        [
            _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
            _mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
        ]
    }
}

/// In each quarter of the lanes four by four, rows as columns.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
unsafe fn quarters16([a, b, c, d]: [Zmm; 4]) -> [__m512; 4] {
    // SAFETY: as the caller vouches.
    unsafe {
        let (ab, cd) = (_mm512_unpacklo_ps(a.0, b.0), _mm512_unpacklo_ps(c.0, d.0));
        let (ab_high, cd_high) = (_mm512_unpackhi_ps(a.0, b.0), _mm512_unpackhi_ps(c.0, d.0));
        [
            _mm512_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm512_shuffle_ps::<0b11_10_11_10>(ab, cd),
            _mm512_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
            _mm512_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
        ]
    }
}

/// In each half of the lanes the sums over that half, of four vectors from `first` on; zeros if there are none.
///
/// # Safety
/// The machine must have AVX2.
#[inline(always)]
unsafe fn four8(vectors: &[Ymm], first: usize) -> __m256 {
    // SAFETY: as the caller vouches.
    unsafe {
        match vectors.get(first..first + 4) {
            Some(&[a, b, c, d]) => _mm256_hadd_ps(_mm256_hadd_ps(a.0, b.0), _mm256_hadd_ps(c.0, d.0)),
            _ => _mm256_setzero_ps(),
        }
    }
}

/// In each quarter of the lanes the sums over that quarter, of four vectors from `first` on; zeros if there are none.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
unsafe fn four16(vectors: &[Zmm], first: usize) -> __m512 {
    // SAFETY: as the caller vouches.
    unsafe {
        let Some(&[a, b, c, d]) = vectors.get(first..first + 4) else { return _mm512_setzero_ps() };
        let ab = _mm512_add_ps(_mm512_unpacklo_ps(a.0, b.0), _mm512_unpackhi_ps(a.0, b.0));
        let cd = _mm512_add_ps(_mm512_unpacklo_ps(c.0, d.0), _mm512_unpackhi_ps(c.0, d.0));
        let (ab, cd) = (_mm512_castps_pd(ab), _mm512_castps_pd(cd));
        let (low, high) = (_mm512_unpacklo_pd(ab, cd), _mm512_unpackhi_pd(ab, cd));
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    }
}

/// The even and the odd quarters of two vectors, added.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
unsafe fn halve16(low: __m512, high: __m512) -> __m512 {
    // SAFETY: as the caller vouches.
    unsafe {
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0b10_00_10_00>(low, high),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(low, high),
        )
    }
}
