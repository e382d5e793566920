//! Holding out a part of the tensor's entries: once, or each part in turn.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Entries, HoldOut, Problem};
use crate::Error;

impl Problem {
    /// Moves a random `fraction` of the tensor's entries out of the problem; both parts keep at least one entry.
    ///
    /// The entries that come back are on the problem's rows.
    ///
    /// # Errors
    /// If `fraction` is not strictly between 0 and 1, or there is only one entry.
    pub fn hold_out(self, fraction: f64, seed: u64) -> Result<(Problem, Entries), Error> {
        self.hold_out_by(HoldOut::Random(fraction), seed)
    }

    /// Deals the tensor's entries into `k` random folds of the same size, give or take one, for cross validation. For
    /// each fold come the problem without its entries, and its entries.
    ///
    /// Every entry is in exactly one fold. The problems keep all rows and all coupled matrices. The entries of a fold are
    /// by ids, as [`Model::evaluate`](crate::Model::evaluate) takes them.
    ///
    /// # Errors
    /// If `k` is below 2 or above the number of entries.
    pub fn folds(
        &self,
        k: usize,
        seed: u64,
    ) -> Result<impl ExactSizeIterator<Item = (Problem, Entries)> + '_, Error> {
        let len = self.entries.len();
        if k < 2 || k > len {
            return Err(Error::param("folds", format!("from 2 to {len}, the number of entries"), k));
        }
        let mut places: Vec<u32> = (0..len as u32).collect();
        places.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x666f_6c64_666f_6c64));
        let mut fold_of = vec![0usize; len];
        for (turn, &place) in places.iter().enumerate() {
            fold_of[place as usize] = turn % k;
        }
        Ok((0..k).map(move |fold| {
            let (held, kept): (Vec<u32>, Vec<u32>) =
                (0..len as u32).partition(|&place| fold_of[place as usize] == fold);
            let rest = Problem { entries: self.entries.select(&kept), ..self.without_entries() };
            (rest, self.with_ids(self.entries.select(&held)))
        }))
    }

    /// The tensor alone, with its names: what it comes to without its coupled matrices can be compared. Ids that only these
    /// have, have no row any more.
    ///
    /// # Errors
    /// None that a problem could lead to: it is checked again.
    pub fn alone(&self) -> Result<Problem, Error> {
        let mut builder = Problem::builder(self.with_ids(self.entries.clone()))
            .names(self.modes.iter().map(|mode| mode.name().to_owned()).collect())
            .sizes(self.modes.iter().map(|mode| mode.size()).collect())
            .namings(self.modes.iter().map(|mode| mode.naming().cloned()).collect());
        if let Some(value) = &self.value {
            builder = builder.value(value);
        }
        builder.build()
    }

    /// All of the problem but its entries, which may be most of its memory.
    fn without_entries(&self) -> Problem {
        Problem {
            modes: self.modes.clone(),
            entries: Entries::default(),
            coupled: self.coupled.clone(),
            value: self.value.clone(),
            notes: self.notes.clone(),
        }
    }

    /// Entries on the problem's rows, by ids.
    pub(crate) fn with_ids(&self, entries: Entries) -> Entries {
        let name = entries.name().to_owned();
        let (mut indices, values) = entries.into_parts();
        for (mode, array) in self.modes.iter().zip(&mut indices) {
            array.iter_mut().for_each(|row| *row = mode.id(*row as usize));
        }
        Entries::from_rows(name, indices, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Absent, Coupled};

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

    /// 23 entries on ids with gaps, and a matrix.
    fn gappy() -> Problem {
        let ids: Vec<u32> = (0..23).map(|place| 3 * place + 1).collect();
        let entries = Entries::new(vec![ids.clone(), ids], (0..23).map(|v| v as f32).collect()).unwrap();
        let matrix = Entries::new(vec![vec![1, 4], vec![0, 1]], vec![1.0, 1.0]).unwrap();
        let matrix = Coupled::new(1, Absent::Zeros, matrix).unwrap();
        Problem::builder(entries).sizes(vec![100, 100]).couple(matrix).build().unwrap()
    }

    #[test]
    fn every_entry_is_in_one_fold_and_the_rest_stays_as_it_is() {
        let problem = gappy();
        for k in [2, 5, 23] {
            let mut seen = Vec::new();
            for (rest, fold) in problem.folds(k, 7).unwrap() {
                assert!(fold.len() == 23 / k || fold.len() == 23 / k + 1, "{k} folds: {}", fold.len());
                assert_eq!(rest.entries().len() + fold.len(), 23);
                assert_eq!(rest.modes(), problem.modes());
                assert_eq!(rest.coupled()[0].entries(), problem.coupled()[0].entries());
                let all = rest.entries().values().iter().chain(fold.values());
                assert_eq!(all.map(|&value| value as u32).sum::<u32>(), 253);
                for (&id, &value) in fold.indices(1).iter().zip(fold.values()) {
                    assert_eq!(id, 3 * value as u32 + 1, "an id, not a row");
                    seen.push(value as u32);
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..23).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn alone_a_tensor_has_its_names_and_sizes_and_no_matrix() {
        let entries = Entries::new(vec![vec![0, 2], vec![1, 1]], vec![1.0, 2.0]).unwrap();
        let labels = ["ann", "bob", "eve", "zoe"].iter().collect();
        let naming = crate::Naming { column: "user".into(), binning: None, labels };
        let friends = Entries::new(vec![vec![0], vec![3]], vec![1.0]).unwrap();
        let problem = Problem::builder(entries)
            .names(vec!["user".into(), "film".into()])
            .namings(vec![Some(naming), None])
            .value("stars")
            .couple(Coupled::new(0, Absent::Graph, friends).unwrap())
            .build()
            .unwrap();
        assert_eq!((problem.modes()[0].rows(), problem.modes()[0].size()), (3, 4));
        let alone = problem.alone().unwrap();
        assert!(alone.coupled().is_empty() && alone.notes().is_empty());
        // Zoe was known from the graph alone.
        assert_eq!((alone.modes()[0].rows(), alone.modes()[0].size()), (2, 4));
        assert_eq!(alone.modes()[0].naming(), problem.modes()[0].naming());
        assert_eq!((alone.value(), alone.modes()[1].name()), (Some("stars"), "film"));
        assert_eq!(alone.with_ids(alone.entries().clone()), problem.with_ids(problem.entries().clone()));
    }

    #[test]
    fn folds_depend_on_the_seed_alone() {
        let problem = gappy();
        let first = |seed: u64| problem.folds(4, seed).unwrap().next().unwrap().1;
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
    }

    #[test]
    fn as_many_folds_as_there_are_entries_and_no_fewer_than_two() {
        for k in [0, 1, 24] {
            let error = gappy().folds(k, 1).err().unwrap().to_string();
            assert_eq!(error, format!("folds should be from 2 to 23, the number of entries, but is {k}"));
        }
    }
}
