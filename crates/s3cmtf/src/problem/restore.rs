//! A problem that was built before and kept: its parts are on rows and merged already, but still have to fit together.

use super::coupled::{Absent, Coupled};
use super::entries::Entries;
use super::mode::Mode;
use super::scan::{first_place, largest};
use super::{Problem, checked_names};
use crate::Error;
use crate::parallel;

impl Problem {
    /// The problem with these parts, whose entries are on rows and each there once, which is not looked for again.
    ///
    /// # Errors
    /// If the parts are none of a problem: an index that is no row, a value that is not finite, a wrong name.
    pub(crate) fn restore(
        modes: Vec<Mode>,
        entries: Entries,
        coupled: Vec<Coupled>,
        value: Option<String>,
    ) -> Result<Problem, Error> {
        check_entries("the tensor", &entries, &modes.iter().collect::<Vec<_>>())?;
        Ok(Problem::restore_frame(modes, entries.len(), coupled, value)?.with_entries(entries))
    }

    /// The same without its entries, of which there are so many, and which are checked elsewhere.
    pub(super) fn restore_frame(
        modes: Vec<Mode>,
        entries: usize,
        coupled: Vec<Coupled>,
        value: Option<String>,
    ) -> Result<Problem, Error> {
        let wrong = |what: String| Err(Error::Problem(what));
        if modes.len() < 2 {
            return wrong(format!("a tensor has 2 or more modes, but this has {}", modes.len()));
        }
        if entries == 0 {
            return wrong("there is no entry to learn from".into());
        }
        if entries >= u32::MAX as usize {
            return wrong("the tensor: more than 2^32 - 2 entries".into());
        }
        checked_names(Some(modes.iter().map(|mode| mode.name().to_owned()).collect()), modes.len())?;
        for matrix in &coupled {
            let Some(rows) = modes.get(matrix.mode) else {
                let what = format!("coupled to mode {}, of {}", matrix.mode + 1, modes.len());
                return wrong(format!("{}: {what}", matrix.name));
            };
            let graph = matrix.kind == Absent::Graph;
            check_entries(
                &matrix.name,
                &matrix.entries,
                &[rows, if graph { rows } else { &matrix.columns }],
            )?;
            if let Some(weight) = matrix.weight
                && !(weight.is_finite() && weight >= 0.0)
            {
                return Err(Error::param("weight", "0 or more and finite", weight));
            }
            if matrix.entries.is_empty() {
                return wrong(format!("{}: a coupled matrix needs at least one entry", matrix.name));
            }
            let [from, to] = [0, 1].map(|side| matrix.entries.indices(side));
            let weights = matrix.entries.values();
            let is_edge = |place: usize| from[place] < to[place] && weights[place] >= 0.0;
            if graph && !parallel::all(weights.len(), is_edge) {
                let what = "edges lead from a row to a later one, and weigh 0 or more, but one does not";
                return wrong(format!("{}: {what}", matrix.name));
            }
        }
        Ok(Problem { modes, entries: Entries::default(), coupled, value, notes: Vec::new() })
    }
}

impl Coupled {
    /// A matrix whose entries are on rows already; [`Problem::restore`] checks it.
    pub(crate) fn restore(
        name: String,
        mode: usize,
        kind: Absent,
        weight: Option<f32>,
        columns: Mode,
        entries: Entries,
    ) -> Self {
        Coupled { name, mode, kind, weight, columns, entries }
    }
}

fn check_entries(name: &str, entries: &Entries, modes: &[&Mode]) -> Result<(), Error> {
    if entries.order() != modes.len() {
        let what = format!("{} indices per entry, but there are {} modes", entries.order(), modes.len());
        return Err(Error::Problem(format!("{name}: {what}")));
    }
    if entries.len() >= u32::MAX as usize {
        return Err(Error::Problem(format!("{name}: more than 2^32 - 2 entries")));
    }
    let lists: Vec<&[u32]> = (0..entries.order()).map(|mode| entries.indices(mode)).collect();
    check_block(name, &lists, entries.values(), modes)
}

/// Whether some entries lie on rows of the modes and have values.
pub(super) fn check_block(
    name: &str,
    lists: &[&[u32]],
    values: &[f32],
    modes: &[&Mode],
) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::Problem(format!("{name}: {what}")));
    for (&indices, mode) in lists.iter().zip(modes) {
        let rows = mode.rows();
        if indices.len() != values.len() {
            return wrong(format!("{} indices, but {} values", indices.len(), values.len()));
        }
        if let Some(row) = largest(indices)
            && row as usize >= rows
        {
            return wrong(format!("row {row} of {}, which has {rows} rows", mode.name()));
        }
    }
    if first_place(values, |value| !value.is_finite()).is_some() {
        return wrong("a value is not finite".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restore(rows: [Vec<u32>; 2], values: Vec<f32>, coupled: Vec<Coupled>) -> Result<Problem, String> {
        let modes = vec![Mode::new("user", 3), Mode::with_present("item", 9, vec![2, 7]).unwrap()];
        let entries = Entries::from_rows("kept".into(), rows.into(), values);
        Problem::restore(modes, entries, coupled, None).map_err(|error| error.to_string())
    }

    fn graph(mode: usize, edge: (u32, u32), weight: f32) -> Vec<Coupled> {
        let entries = Entries::from_rows("g".into(), vec![vec![edge.0], vec![edge.1]], vec![weight]);
        vec![Coupled::restore("g".into(), mode, Absent::Graph, None, Mode::new("", 0), entries)]
    }

    #[test]
    fn parts_that_fit_are_a_problem_and_others_are_not() {
        let problem = restore([vec![0, 2], vec![1, 0]], vec![1.0, 2.0], graph(0, (0, 2), 1.0)).unwrap();
        assert_eq!((problem.order(), problem.counts(1)), (2, vec![1, 1]));
        for (rows, values, coupled, what) in [
            ([vec![0, 3], vec![1, 0]], vec![1.0, 2.0], vec![], "row 3 of user, which has 3 rows"),
            ([vec![0, 2], vec![1, 2]], vec![1.0, 2.0], vec![], "row 2 of item, which has 2 rows"),
            ([vec![0], vec![1, 0]], vec![1.0, 2.0], vec![], "1 indices, but 2 values"),
            ([vec![0, 2], vec![1, 0]], vec![1.0, f32::NAN], vec![], "a value is not finite"),
            ([vec![], vec![]], vec![], vec![], "no entry"),
            ([vec![0], vec![0]], vec![1.0], graph(2, (0, 1), 1.0), "coupled to mode 3, of 2"),
            ([vec![0], vec![0]], vec![1.0], graph(0, (1, 1), 1.0), "edges lead"),
            ([vec![0], vec![0]], vec![1.0], graph(0, (0, 1), -1.0), "edges lead"),
            ([vec![0], vec![0]], vec![1.0], graph(1, (0, 2), 1.0), "row 2 of item"),
        ] {
            let error = restore(rows, values, coupled).unwrap_err();
            assert!(error.contains(what), "{error} does not say {what}");
        }
    }
}
