//! What a machine can do at most, and how much of that the entries of an epoch ask for.

use std::hint::black_box;
use std::time::Instant;

use s3cmtf_kernels::{Level, multiply_adds};
use serde::Serialize;

use super::Sampler;
use super::core::STEPS;
use super::sums::inner_rank;
use crate::parallel;

/// Parts of a measurement for each thread, so that all end at about the same time.
const PARTS: usize = 8;
/// How long one is: about a millisecond.
const LINKS: usize = 1 << 18;
/// So many numbers are in no cache.
const NUMBERS: usize = 1 << 26;
/// The best of so many measurements counts.
const REPEATS: usize = 5;
/// An entry's place among the rows of its partner, and its value.
const PLACE: usize = 4;
const VALUE: usize = 1;

/// Arithmetic and traffic with the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Multiplications with an addition, of numbers of 32 bits.
    pub multiply_adds: f64,
    /// Bytes that are read.
    pub bytes: f64,
}

impl Work {
    /// What the threads of the pool that this is called in do in a second, of each when they do nothing else.
    pub(super) fn at_most(level: Level) -> Self {
        let parts = PARTS * rayon::current_num_threads();
        let numbers: Vec<u64> = parallel::numbers(NUMBERS, |place| place as u64);
        let read = |part: usize| {
            let numbers = &numbers[part * NUMBERS / parts..(part + 1) * NUMBERS / parts];
            let eights = numbers.as_chunks::<8>().0;
            black_box(
                eights.iter().fold([0u64; 8], |sums, eight| std::array::from_fn(|k| sums[k] ^ eight[k])),
            );
            std::mem::size_of_val(numbers) as f64
        };
        Work {
            multiply_adds: fastest(parts, &|_| multiply_adds(level, LINKS) as f64),
            bytes: fastest(parts, &read),
        }
    }

    fn add(&mut self, entries: f64, multiply_adds: usize, bytes: usize) {
        self.multiply_adds += entries * multiply_adds as f64;
        self.bytes += entries * bytes as f64;
    }
}

/// What parts come to in a second.
fn fastest(parts: usize, of: &(dyn Fn(usize) -> f64 + Sync)) -> f64 {
    let once = |_| {
        let began = Instant::now();
        let all: f64 = parallel::map(parts, of).iter().sum();
        all / began.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(once).fold(0.0, f64::max)
}

impl Sampler {
    /// What entries ask for in an epoch, if each reads the rows that it names from memory: what runs and rows do once is not in it, nor
    /// what fills vectors up.
    pub(super) fn work(&self) -> Work {
        let mut work = Work::default();
        for view in &self.views {
            // A design, and its products with itself and with the value.
            let (rank, inner) = (self.ranks[view.mode], inner_rank(view, &self.ranks));
            let products = rank * (rank + 1) / 2 + rank;
            work.add(view.entries as f64, inner * rank + products, PLACE + VALUE + 4 * inner);
        }
        let lead = &self.views[self.lead];
        let (entries, rank) = (lead.entries as f64, self.ranks[lead.partner]);
        // Errors are collected, products of a sample, and squares of all, if it is one.
        work.add(entries, 2 * rank, PLACE + VALUE + 4 * rank);
        let every = self.core.every(lead.entries);
        work.add(entries * STEPS as f64 / every as f64, 2 * rank, PLACE + 4 * rank);
        if every > 1 {
            work.add(entries, rank, PLACE + 4 * rank);
        }
        work
    }
}
