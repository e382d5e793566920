//! Multiplications and additions that wait for nothing but each other.

use crate::vector::Vector;

/// Chains beside each other: enough for two at once that take four cycles each, and few enough for registers.
pub(crate) const CHAINS: usize = 12;

/// Runs so many links of each chain, and returns what they come to.
///
/// # Safety
/// The machine must have `V`'s instructions.
#[inline(always)]
pub(crate) unsafe fn chains<V: Vector>(links: usize, factor: f32) -> f32 {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut chains: [V; CHAINS] = std::array::from_fn(|chain| V::splat(chain as f32));
        let (factor, addend) = (V::splat(factor), V::splat(1.0));
        for _ in 0..links {
            chains.iter_mut().for_each(|chain| *chain = chain.mul_add(factor, addend));
        }
        chains.iter().map(|chain| chain.sum()).sum()
    }
}
