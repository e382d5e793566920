//! Holding out a part of the tensor's entries.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Entries, Problem};
use crate::Error;

impl Problem {
    /// Moves a random `fraction` of the tensor's entries out of the problem; both parts keep at least one entry.
    ///
    /// The entries that come back are on the problem's rows.
    ///
    /// # Errors
    /// If `fraction` is not strictly between 0 and 1, or there is only one entry.
    pub fn hold_out(mut self, fraction: f64, seed: u64) -> Result<(Problem, Entries), Error> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(Error::param("holdout", "between 0 and 1, both excluded", fraction));
        }
        let len = self.entries.len();
        if len < 2 {
            return Err(Error::Problem(
                "one entry cannot be split into a training and a held-out part".into(),
            ));
        }
        let out = ((len as f64 * fraction).round() as usize).clamp(1, len - 1);
        let mut places: Vec<u32> = (0..len as u32).collect();
        // A stream of its own, so that the start of the factors does not depend on whether there is a holdout.
        places.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x686f_6c64_6f75_7421));
        let (held, kept) = places.split_at_mut(out);
        held.sort_unstable();
        kept.sort_unstable();
        let held = self.entries.select(held);
        self.entries = self.entries.select(kept);
        Ok((self, held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_loses_nothing_and_depends_on_the_seed_alone() {
        let ids: Vec<u32> = (0..100).collect();
        let entries = Entries::new(vec![ids.clone(), ids], (0..100).map(|v| v as f32).collect()).unwrap();
        let problem = Problem::builder(entries).build().unwrap();
        let (kept, held) = problem.clone().hold_out(0.2, 7).unwrap();
        assert_eq!((kept.entries().len(), held.len()), (80, 20));
        let mut all: Vec<f32> = kept.entries().values().iter().chain(held.values()).copied().collect();
        all.sort_by(f32::total_cmp);
        assert_eq!(all, problem.entries().values());
        let (_, again) = problem.clone().hold_out(0.2, 7).unwrap();
        assert_eq!(held, again);
        assert_ne!(held, problem.hold_out(0.2, 8).unwrap().1);
    }
}
