//! A problem with less in it: without one of its matrices or modes, so that one can see what these are worth.

use serde::Serialize;

use super::coupled::Absent;
use super::duplicates::{self, Duplicates};
use super::mode::Mode;
use super::rows::present_rows;
use super::{Entries, Problem};
use crate::Error;

/// A part of a problem that can be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LeftOut {
    /// A coupled matrix.
    Matrix {
        /// Its place among the problem's matrices.
        #[serde(skip)]
        place: usize,
        /// Its name.
        name: String,
    },
    /// A mode of the tensor, and with it what is coupled to it.
    Mode {
        /// Its place among the problem's modes.
        #[serde(skip)]
        place: usize,
        /// Its name.
        name: String,
    },
}

impl LeftOut {
    /// The name of what is left out.
    pub fn name(&self) -> &str {
        match self {
            LeftOut::Matrix { name, .. } | LeftOut::Mode { name, .. } => name,
        }
    }
}

impl Problem {
    /// What can be left out: each coupled matrix, and each mode that says in which circumstances something was observed: those
    /// of times, and those behind the first two. Two modes stay whatever they are.
    pub fn parts(&self) -> Vec<LeftOut> {
        let matrices = self.coupled.iter().enumerate();
        let matrices =
            matrices.map(|(place, matrix)| LeftOut::Matrix { place, name: matrix.name().to_owned() });
        let is_context = |(place, mode): &(usize, &Mode)| *place >= 2 || mode.is_time();
        let modes = self.modes.iter().enumerate().filter(is_context).filter(|_| self.order() > 2);
        let modes = modes.map(|(place, mode)| LeftOut::Mode { place, name: mode.name().to_owned() });
        matrices.chain(modes).collect()
    }

    /// The problem without a part of it.
    ///
    /// Without a matrix, ids that nothing else has, have no row any more. Without a mode, entries that differ in nothing else
    /// become one, of their mean.
    ///
    /// # Errors
    /// If there is no such part, or fewer than two modes would be left.
    pub fn without(&self, part: &LeftOut) -> Result<Problem, Error> {
        let missing = || Error::Problem(format!("{} cannot be left out", part.name()));
        match *part {
            LeftOut::Matrix { place, .. } if place < self.coupled.len() => self.without_matrix(place),
            LeftOut::Mode { place, .. } if place < self.order() && self.order() > 2 => {
                Ok(self.without_mode(place))
            }
            _ => Err(missing()),
        }
    }

    /// The problem with another weight, or none, for the matrix at a place.
    pub(crate) fn with_weight(mut self, place: usize, weight: Option<f32>) -> Problem {
        self.coupled.get_mut(place).into_iter().for_each(|matrix| matrix.weight = weight);
        self
    }

    fn without_matrix(&self, place: usize) -> Result<Problem, Error> {
        let mut less = self.clone();
        let at = less.coupled.remove(place).mode;
        let old = &self.modes[at];
        let mut lists = vec![self.entries.indices(at)];
        for matrix in less.coupled.iter().filter(|matrix| matrix.mode == at) {
            lists.push(matrix.entries.indices(0));
            lists.extend((matrix.kind == Absent::Graph).then(|| matrix.entries.indices(1)));
        }
        // The rows that are left, as if rows were ids.
        let kept = present_rows(old.name(), old.rows() as u32, &lists);
        if kept.rows() == old.rows() {
            return Ok(less);
        }
        let ids = (0..kept.rows()).map(|row| old.id(kept.id(row) as usize)).collect();
        let mode = Mode::with_present(old.name(), old.size(), ids);
        let mode = mode.and_then(|mode| match old.naming() {
            Some(naming) => mode.named(naming.clone()),
            None => Some(mode),
        });
        let none = || Error::Problem(format!("{}: no row is left", old.name()));
        less.modes[at] = mode.ok_or_else(none)?;
        less.entries = relocated(&less.entries, &[at], &kept);
        for matrix in less.coupled.iter_mut().filter(|matrix| matrix.mode == at) {
            let lists: &[usize] = if matrix.kind == Absent::Graph { &[0, 1] } else { &[0] };
            matrix.entries = relocated(&matrix.entries, lists, &kept);
        }
        Ok(less)
    }

    fn without_mode(&self, place: usize) -> Problem {
        let mut less = Problem { entries: Entries::default(), ..self.clone() };
        less.modes.remove(place);
        less.coupled.retain(|matrix| matrix.mode != place);
        for matrix in less.coupled.iter_mut().filter(|matrix| matrix.mode > place) {
            matrix.mode -= 1;
        }
        less.entries = self.entries.without_mode(place).merged();
        less
    }
}

impl Entries {
    /// The same entries without their indices along a mode.
    pub(crate) fn without_mode(&self, place: usize) -> Entries {
        let others = (0..self.order()).filter(|&mode| mode != place);
        let indices = others.map(|mode| self.indices(mode).to_vec()).collect();
        Entries::from_rows(self.name().to_owned(), indices, self.values().to_vec())
    }

    /// Entries without duplicates along their first modes, so many of them; those that then coincide become one, of their mean.
    pub(crate) fn of_first_modes(&self, count: usize) -> Entries {
        if count == self.order() {
            return self.clone();
        }
        let indices = (0..count).map(|mode| self.indices(mode).to_vec()).collect();
        Entries::from_rows(self.name().to_owned(), indices, self.values().to_vec()).merged()
    }

    fn merged(self) -> Entries {
        let name = self.name().to_owned();
        let (mut indices, mut values) = self.into_parts();
        // Nothing is wrong with entries that coincide, so that this cannot fail.
        let _ = duplicates::merge(&mut indices, &mut values, Duplicates::Mean);
        Entries::from_rows(name, indices, values)
    }
}

/// Entries some of whose lists are rows, of which these are kept.
fn relocated(entries: &Entries, lists: &[usize], kept: &Mode) -> Entries {
    let (mut indices, values) = entries.clone().into_parts();
    lists.iter().for_each(|&list| kept.locate(&mut indices[list]));
    Entries::from_rows(entries.name().to_owned(), indices, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Coupled, Naming};
    use crate::table::Binning;
    use crate::table::time::Bin;

    /// Users by films by months; a graph of users, of whom 9 rates nothing, and genres of films and of months.
    fn problem() -> Problem {
        let indices = vec![vec![1, 1, 5], vec![0, 0, 2], vec![0, 1, 1]];
        let matrix = |mode, kind, ids: [Vec<u32>; 2], name: &str| {
            let values = vec![1.0; ids[0].len()];
            Coupled::new(mode, kind, Entries::new(ids.into(), values).unwrap()).unwrap().named(name)
        };
        Problem::builder(Entries::new(indices, vec![1.0, 3.0, 5.0]).unwrap())
            .names(["user", "film", "month"].map(Into::into).into())
            .sizes(vec![20, 3, 2])
            .couple(matrix(0, Absent::Graph, [vec![1, 0], vec![9, 5]], "friends"))
            .couple(matrix(0, Absent::Zeros, [vec![5], vec![0]], "ages"))
            .couple(matrix(2, Absent::Zeros, [vec![0], vec![0]], "season"))
            .build()
            .unwrap()
    }

    fn find(problem: &Problem, name: &str) -> LeftOut {
        problem.parts().into_iter().find(|part| part.name() == name).unwrap()
    }

    #[test]
    fn matrices_and_what_is_behind_the_first_two_modes_can_be_left_out() {
        let names = |problem: &Problem| -> Vec<String> {
            problem.parts().iter().map(|part| part.name().to_owned()).collect()
        };
        let problem = problem();
        assert_eq!(names(&problem), ["friends", "ages", "season", "month"]);
        let two = problem.without(&find(&problem, "month")).unwrap();
        assert_eq!(names(&two), ["friends", "ages"]);
    }

    #[test]
    fn a_mode_of_times_can_be_left_out_wherever_it_is() {
        let binning = Some(Binning::Time(Bin::Year));
        let naming = Naming { column: "year".into(), binning, labels: ["2017"].iter().collect() };
        let entries = Entries::new(vec![vec![0], vec![0], vec![0]], vec![1.0]).unwrap();
        let problem = Problem::builder(entries).namings(vec![Some(naming), None, None]).build().unwrap();
        let names: Vec<String> = problem.parts().iter().map(|part| part.name().to_owned()).collect();
        assert_eq!(names, ["mode1", "mode3"]);
    }

    #[test]
    fn without_a_matrix_what_only_it_knows_has_no_row() {
        let problem = problem();
        let ids = |problem: &Problem| -> Vec<u32> {
            let mode = &problem.modes()[0];
            (0..mode.rows()).map(|row| mode.id(row)).collect()
        };
        assert_eq!(ids(&problem), [0, 1, 5, 9]);
        let less = problem.without(&find(&problem, "friends")).unwrap();
        assert_eq!(ids(&less), [1, 5]);
        assert_eq!((less.coupled().len(), less.coupled()[0].name()), (2, "ages"));
        assert_eq!(less.entries().indices(0), [0, 0, 1]);
        assert_eq!(less.coupled()[0].entries().indices(0), [1]);
        assert_eq!(less.with_ids(less.entries().clone()), problem.with_ids(problem.entries().clone()));
        // Everyone is still known from elsewhere.
        let less = problem.without(&find(&problem, "ages")).unwrap();
        assert_eq!(less.modes(), problem.modes());
    }

    #[test]
    fn without_a_mode_entries_that_coincide_are_one() {
        let problem = problem();
        let less = problem.without(&find(&problem, "month")).unwrap();
        assert_eq!((less.order(), less.coupled().len()), (2, 2));
        assert_eq!(less.entries().values(), [2.0, 5.0]);
        assert_eq!(less.entries().indices(0), [1, 2]);
        assert!(less.without(&find(&problem, "month")).is_err());
        let none = LeftOut::Matrix { place: 7, name: "none".into() };
        assert_eq!(problem.without(&none).unwrap_err().to_string(), "none cannot be left out");
    }
}
