//! What marks some entities of a mode out among all of them, by the matrices that are coupled to it.

use serde::Serialize;

use super::observed::{Observed, ObservedMatrix};

/// A column is a mark only if so many of the entities have it.
const FEWEST: usize = 3;
/// The lift of a column that is a mark, at least; with so many entities added that are like all.
const LEAST: f64 = 1.2;
const MORE: f64 = 5.0;

/// What marks some entities out in one matrix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Marks {
    /// The matrix.
    pub matrix: String,
    /// Its columns that they have clearly more often than all entities do, the most telling first.
    pub columns: Vec<Mark>,
}

/// A column that some entities have more often than others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Mark {
    /// The column.
    pub name: String,
    /// The share of them that have it.
    pub share: f64,
    /// That share over the share of all entities that have it.
    pub lift: f64,
}

/// What marks out the rows for which `chosen` says so.
pub(super) fn marks(observed: &Observed, chosen: &[bool], top: usize) -> Vec<Marks> {
    let size = chosen.iter().filter(|chosen| **chosen).count();
    let of_matrix = |matrix: &ObservedMatrix| {
        let mut own = vec![0usize; matrix.counts().count()];
        for (row, _) in chosen.iter().enumerate().filter(|(_, chosen)| **chosen) {
            matrix.of_row(row).iter().for_each(|&which| own[which as usize] += 1);
        }
        let mut marks: Vec<(f64, Mark)> = Vec::new();
        for (which, (own, all)) in own.into_iter().zip(matrix.counts()).enumerate() {
            let usual = all as f64 / chosen.len().max(1) as f64;
            let share = own as f64 / size.max(1) as f64;
            // As if some more entities were chosen that are like all: a few lucky ones do not mark a cluster.
            let sure = (own as f64 + MORE * usual) / (size as f64 + MORE) / usual;
            if own >= FEWEST.min(size).max(1) && sure > LEAST {
                let mark = Mark { name: matrix.name(which).to_owned(), share, lift: share / usual };
                marks.push((share * sure.ln(), mark));
            }
        }
        marks.sort_by(|a, b| b.0.total_cmp(&a.0));
        marks.truncate(top);
        let columns = marks.into_iter().map(|(_, mark)| mark).collect();
        Marks { matrix: matrix.name.clone(), columns }
    };
    observed.matrices.iter().map(of_matrix).collect()
}
