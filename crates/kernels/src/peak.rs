//! As many multiplications with an addition as a thread can do: what kernels are measured against.

use std::hint::black_box;

use crate::generic::CHAINS;
use crate::{Level, arch};

/// Multiplies and adds for a while, and returns how many times.
///
/// # Panics
/// If the machine cannot run the level.
pub fn multiply_adds(level: Level, links: usize) -> u64 {
    assert!(Level::available().contains(&level), "this machine cannot run {}", level.name());
    black_box(arch::chains(level, links, black_box(0.5)));
    (links * CHAINS * level.lanes()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_come_to_what_each_of_their_links_does() {
        for level in Level::available() {
            assert_eq!(multiply_adds(level, 7), (7 * CHAINS * level.lanes()) as u64);
            // From 0 to 11, halved and increased by one, twice; in every lane.
            let expected: f32 = (0..CHAINS).map(|chain| 1.5 + chain as f32 / 4.0).sum();
            assert_eq!(arch::chains(level, 2, 0.5), expected * level.lanes() as f32, "{level:?}");
        }
    }
}
