//! What a search may change about the data: matrices that are left out or count otherwise, and times put together by more.

use serde::Serialize;

use crate::Error;
use crate::params::{Algorithm, Params};
use crate::problem::{Entries, LeftOut, Problem};
use crate::table::time::Bin;

/// The weights that a matrix is tried with which predicts rows otherwise.
const WEIGHTS: [f32; 2] = [1.0, 10.0];

/// A coupled matrix or a mode that is not as it was given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its place among the matrices, or the modes, that were given.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// What becomes of it.
    pub to: Becomes,
}

/// What becomes of a matrix or a mode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Becomes {
    /// The matrix is left out.
    LeftOut,
    /// The matrix has this weight.
    Weight(f32),
    /// The matrix has no weight of its own.
    NoWeight,
    /// The times of the mode are put together by this.
    Bins(Bin),
}

impl Change {
    /// The change in a few words.
    pub fn words(&self) -> String {
        match self.to {
            Becomes::LeftOut => format!("without {}", self.name),
            Becomes::Weight(weight) => format!("{} with weight {weight}", self.name),
            Becomes::NoWeight => format!("{} without a weight", self.name),
            Becomes::Bins(bin) => format!("{} by {}", self.name, bin.name()),
        }
    }

    fn is_of_mode(&self) -> bool {
        matches!(self.to, Becomes::Bins(_))
    }
}

/// What may be changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub(super) matrices: bool,
    pub(super) bins: bool,
}

/// What can be tried next, one change more than those that were made: nothing is changed twice.
pub(super) fn candidates(
    problem: &Problem,
    params: &Params,
    allowed: Allowed,
    made: &[Change],
) -> Vec<Change> {
    let is_open = |of_mode: bool, place| {
        made.iter().all(|change| (change.is_of_mode(), change.place) != (of_mode, place))
    };
    let matrices = problem.coupled().iter().enumerate().filter(|_| allowed.matrices);
    let matrices = matrices.filter(|(place, _)| is_open(false, *place)).flat_map(|(place, matrix)| {
        // Without one of its own it has the weight of all, except where it predicts rows.
        let now = matrix.weight().or((params.algorithm != Algorithm::Bayes).then_some(params.lambda_couple));
        let weights = WEIGHTS.into_iter().filter(move |&weight| now != Some(weight)).map(Becomes::Weight);
        let weights = weights.filter(move |_| matrix.weight().is_none());
        let none = matrix.weight().map(|_| Becomes::NoWeight);
        let to = std::iter::once(Becomes::LeftOut).chain(weights).chain(none);
        to.map(move |to| Change { place, name: matrix.name().to_owned(), to })
    });
    let modes = problem.modes().iter().enumerate().filter(|_| allowed.bins);
    let bins = modes.filter(|(place, _)| is_open(true, *place)).flat_map(|(place, mode)| {
        let bins = problem.coarser_bins(place).into_iter().map(Becomes::Bins);
        bins.map(move |to| Change { place, name: mode.name().to_owned(), to })
    });
    matrices.chain(bins).collect()
}

/// A problem and held-out entries, by ids, with these changes; `None` if one of them cannot be made.
pub(super) fn changed(
    problem: &Problem,
    held: &Entries,
    changes: &[Change],
) -> Result<Option<(Problem, Entries)>, Error> {
    let (mut problem, mut held) = (problem.clone(), held.clone());
    for change in changes {
        match change.to {
            Becomes::LeftOut => {}
            Becomes::Weight(weight) => problem = problem.with_weight(change.place, Some(weight)),
            Becomes::NoWeight => problem = problem.with_weight(change.place, None),
            Becomes::Bins(bin) => {
                let Some((coarse, ids)) = problem.coarser(change.place, bin) else { return Ok(None) };
                (problem, held) = (coarse, held.renumbered(change.place, &ids));
            }
        }
    }
    // From the last on, so that the places of the others stay what they are.
    let mut left_out: Vec<&Change> = changes.iter().filter(|change| change.to == Becomes::LeftOut).collect();
    left_out.sort_by_key(|change| std::cmp::Reverse(change.place));
    for Change { place, name, .. } in left_out {
        problem = problem.without(&LeftOut::Matrix { place: *place, name: name.clone() })?;
    }
    Ok(Some((problem, held)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Absent, Coupled};

    /// A matrix without a weight, and one with.
    fn problem() -> Problem {
        let matrix = |name: &str| {
            let entries = Entries::new(vec![vec![0, 1], vec![0, 1]], vec![1.0, 1.0]).unwrap();
            Coupled::new(0, Absent::Zeros, entries).unwrap().named(name)
        };
        Problem::builder(Entries::new(vec![vec![0, 1], vec![0, 1]], vec![1.0, 2.0]).unwrap())
            .couple(matrix("a"))
            .couple(matrix("b").weighted(3.0))
            .build()
            .unwrap()
    }

    fn words(params: &Params, made: &[Change]) -> Vec<String> {
        let allowed = Allowed { matrices: true, bins: true };
        candidates(&problem(), params, allowed, made).iter().map(Change::words).collect()
    }

    #[test]
    fn each_matrix_is_left_out_and_counts_otherwise() {
        let all = ["without a", "a with weight 1", "a with weight 10", "without b", "b without a weight"];
        assert_eq!(words(&Params::default(), &[]), all);
        // Ten is what it has there already.
        assert_eq!(words(&Params::sgd(), &[])[..3], ["without a", "a with weight 1", "without b"]);
        let made = Change { place: 0, name: "a".into(), to: Becomes::Weight(1.0) };
        assert_eq!(words(&Params::default(), &[made]), all[3..]);
    }

    #[test]
    fn changes_are_made_to_the_matrices_that_they_name() {
        let change = |place, to| Change { place, name: String::new(), to };
        let changed = |changes: &[Change]| changed(&problem(), &Entries::default(), changes).unwrap();
        let (found, _) = changed(&[change(0, Becomes::LeftOut), change(1, Becomes::NoWeight)]).unwrap();
        assert_eq!((found.coupled().len(), found.coupled()[0].name()), (1, "b"));
        assert_eq!(found.coupled()[0].weight(), None);
        let (found, _) = changed(&[change(0, Becomes::Weight(10.0))]).unwrap();
        assert_eq!((found.coupled()[0].weight(), found.coupled()[1].weight()), (Some(10.0), Some(3.0)));
        let (none, _) = changed(&[change(0, Becomes::LeftOut), change(1, Becomes::LeftOut)]).unwrap();
        assert!(none.coupled().is_empty());
        assert!(changed(&[change(0, Becomes::Bins(Bin::Year))]).is_none());
    }
}
