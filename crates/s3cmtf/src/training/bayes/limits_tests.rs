//! What machines do at most, and what entries ask for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use s3cmtf_kernels::Level;

use super::{Sampler, Work};
use crate::nodes::ALONE;
use crate::params::{CheckedParams, Params};
use crate::problem::{Entries, EntrySource, Problem, mix};

#[test]
fn entries_ask_for_designs_their_products_and_passes() {
    // Each of 500 rows with each of 24.
    let indices = |of: fn(u32) -> u32| (0..12_000).map(of).collect();
    let indices =
        vec![indices(|entry| entry % 500), indices(|entry| entry / 500 * 11), indices(|entry| entry % 24)];
    let values: Vec<f32> = (0..12_000).map(|entry| (mix(entry) % 5) as f32).collect();
    let entries = Entries::new(indices, values).unwrap();
    let work = |ranks: [usize; 3]| {
        let problem = Problem::builder(entries.clone()).sizes(vec![500, 300, 24]);
        let mut problem = problem.build().unwrap();
        let entries = EntrySource::Memory(problem.take_entries());
        let params = Params { ranks: ranks.to_vec(), threads: 1, ..Params::default() };
        let CheckedParams::Bayes(params) = params.checked(&problem).unwrap() else { panic!("{params:?}") };
        let sampler = Sampler::new(&problem, entries, &params, None, None, &ALONE).unwrap();
        let (work, entries) = (sampler.work(), sampler.entries() as f64);
        assert!(sampler.entries() > 5_000);
        [work.multiply_adds / entries, work.bytes / entries]
    };
    // Designs of 8 x 8, 36 products and 8 more for each mode, and twice 8 for errors and each of three steps: so few entries are all
    // in the sample. Rows of 8 numbers, a place and most often a value.
    assert_eq!(work([8; 3]), [3.0 * 108.0 + 4.0 * 16.0, 4.0 * 37.0 + 3.0 * 36.0]);
    // Where months have few concepts, designs of the others are of 4 x 20; those of months are of 20 x 4.
    let [multiply_adds, _] = work([20, 20, 4]);
    let passes = multiply_adds - (2.0 * (80.0 + 230.0) + 80.0 + 14.0);
    assert!(passes == 4.0 * 40.0 || passes == 4.0 * 8.0, "{passes}");
}

#[test]
fn a_machine_does_something() {
    let limits = Work::at_most(Level::best());
    assert!(limits.multiply_adds > 1e6 && limits.bytes > 1e6, "{limits:?}");
}
