//! NEON vectors.

use std::arch::aarch64::*;

use crate::vector::Vector;

/// Four numbers.
#[derive(Clone, Copy)]
pub(crate) struct Quad(float32x4_t);

// SAFETY: each method is the instruction that the trait describes; parts go through a local array of four.
unsafe impl Vector for Quad {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: every aarch64 machine has NEON; so everywhere below.
        Quad(unsafe { vdupq_n_f32(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for the memory.
        Quad(unsafe { vld1q_f32(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller vouches for the memory.
        unsafe { vst1q_f32(to, self.0) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        let mut lanes = [0.0; 4];
        // SAFETY: the caller vouches for `n` numbers at `from`.
        lanes[..n].copy_from_slice(unsafe { std::slice::from_raw_parts(from, n) });
        // SAFETY: four numbers are there.
        Quad(unsafe { vld1q_f32(lanes.as_ptr()) })
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        let mut lanes = [0.0; 4];
        // SAFETY: room for four numbers; the caller vouches for `n` numbers at `to`.
        unsafe {
            vst1q_f32(lanes.as_mut_ptr(), self.0);
            std::slice::from_raw_parts_mut(to, n).copy_from_slice(&lanes[..n]);
        }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see splat.
        Quad(unsafe { vfmaq_f32(addend.0, self.0, factor.0) })
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: see splat.
        Quad(unsafe { vmulq_f32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see splat.
        Quad(unsafe { vaddq_f32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: see splat.
        Quad(unsafe { vsubq_f32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: see splat.
        Quad(unsafe { vmaxq_f32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: see splat.
        unsafe { vaddvq_f32(self.0) }
    }
}
