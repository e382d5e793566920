//! What marks some entities of a mode out among all of them, by the matrices that are coupled to it.

use serde::Serialize;

use crate::{Kind, Problem};

/// A column is a mark only if so many of the entities have it.
const FEWEST: usize = 3;

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
pub struct Mark {
    /// The column.
    pub name: String,
    /// The share of them that have it.
    pub share: f64,
    /// That share over the share of all entities that have it.
    pub lift: f64,
}

/// Which columns each row has, matrix by matrix, of those that are coupled to a mode and are no graphs.
pub(super) struct Having<'a> {
    matrices: Vec<(&'a crate::Coupled, Vec<(u32, u32)>)>,
    rows: usize,
}

impl<'a> Having<'a> {
    pub(super) fn of(data: &'a Problem, mode: usize) -> Self {
        let matrices =
            data.coupled().iter().filter(|matrix| matrix.mode() == mode && matrix.kind() != Kind::Graph);
        let cells = |matrix: &crate::Coupled| -> Vec<(u32, u32)> {
            let entries = matrix.entries();
            let all = entries.indices(0).iter().zip(entries.indices(1)).zip(entries.values());
            all.filter(|(_, value)| **value > 0.0).map(|((&row, &column), _)| (row, column)).collect()
        };
        Having {
            matrices: matrices.map(|matrix| (matrix, cells(matrix))).collect(),
            rows: data.modes()[mode].rows(),
        }
    }

    /// What marks out the rows for which `chosen` says so.
    pub(super) fn marks(&self, chosen: &[bool], top: usize) -> Vec<Marks> {
        let size = chosen.iter().filter(|chosen| **chosen).count();
        let of_matrix = |(matrix, cells): &(&crate::Coupled, Vec<(u32, u32)>)| {
            let columns = matrix.columns();
            let (mut own, mut all) = (vec![0usize; columns.rows()], vec![0usize; columns.rows()]);
            for &(row, column) in cells {
                all[column as usize] += 1;
                own[column as usize] += usize::from(chosen.get(row as usize).is_some_and(|chosen| *chosen));
            }
            let mark = |column: usize| {
                let share = own[column] as f64 / size.max(1) as f64;
                let lift = share / (all[column] as f64 / self.rows as f64);
                Mark { name: columns.label(columns.id(column)).into_owned(), share, lift }
            };
            let common = |column: &usize| own[*column] >= FEWEST.min(size).max(1);
            let marks = (0..columns.rows()).filter(common).map(mark).filter(|mark| mark.lift > 1.2);
            let mut marks: Vec<Mark> = marks.collect();
            let telling = |mark: &Mark| mark.share * mark.lift.ln();
            marks.sort_by(|a, b| telling(b).total_cmp(&telling(a)));
            marks.truncate(top);
            Marks { matrix: matrix.name().to_owned(), columns: marks }
        };
        self.matrices.iter().map(of_matrix).collect()
    }
}
