//! The data of a model with those that came later.

use super::coupled::{Absent, Coupled};
use super::duplicates::Duplicates;
use super::entries::Entries;
use super::mode::Mode;
use super::{Problem, UNKNOWN, merge_entries};
use crate::Error;

impl Problem {
    /// These data on the rows of a model that has grown, and with them entries and cells of matrices that came later, by ids. A
    /// matrix that is not among those of the data, and columns that they do not have, are left out, as they are of the model.
    ///
    /// # Errors
    /// If the modes are not those of these data, grown.
    pub fn with_later(
        &self,
        modes: &[Mode],
        entries: Option<&Entries>,
        coupled: &[Coupled],
        duplicates: Duplicates,
    ) -> Result<Problem, Error> {
        let other = || Error::Problem("the data are those of another model".into());
        if modes.len() != self.modes.len() || entries.is_some_and(|entries| entries.order() != modes.len()) {
            return Err(other());
        }
        let rows: Option<Vec<Vec<u32>>> =
            self.modes.iter().zip(modes).map(|(old, new)| moved(old, new)).collect();
        let rows = rows.ok_or_else(other)?;
        let mut indices: Vec<Vec<u32>> = (0..modes.len())
            .map(|mode| self.entries.indices(mode).iter().map(|&row| rows[mode][row as usize]).collect())
            .collect();
        let mut values = self.entries.values().to_vec();
        if let Some(later) = entries {
            for ((indices, mode), number) in indices.iter_mut().zip(modes).zip(0..) {
                let mut ids = later.indices(number).to_vec();
                mode.locate(&mut ids);
                if ids.contains(&UNKNOWN) {
                    return Err(other());
                }
                indices.extend(ids);
            }
            values.extend_from_slice(later.values());
            merge_entries(later.name(), &mut indices, &mut values, duplicates)?;
        }
        let matrix = |matrix: &Coupled| {
            let like = |later: &&Coupled| later.mode == matrix.mode && later.kind == matrix.kind;
            let named = coupled.iter().filter(like).find(|later| later.name == matrix.name);
            // The only one of a mode is meant, whatever it is called.
            let of_mode =
                |matrices: &[Coupled]| matrices.iter().filter(|other| other.mode == matrix.mode).count();
            let only =
                coupled.iter().find(like).filter(|_| of_mode(coupled) == 1 && of_mode(&self.coupled) == 1);
            with_cells(matrix, &rows[matrix.mode], named.or(only), &modes[matrix.mode])
        };
        let coupled: Result<Vec<Coupled>, Error> = self.coupled.iter().map(matrix).collect();
        let entries = Entries::from_rows(self.entries.name().to_owned(), indices, values);
        Problem::restore(modes.to_vec(), entries, coupled?, self.value.clone())
    }
}

/// The row that each row of a mode has become, which has grown; `None` if one is not there any more, or is called otherwise.
fn moved(old: &Mode, new: &Mode) -> Option<Vec<u32>> {
    let same = |id: u32| id < new.size() && old.label(id) == new.label(id);
    (0..old.rows()).map(|row| new.row(old.id(row)).filter(|_| same(old.id(row)))).collect()
}

/// A matrix on rows that have moved, and with the cells that came later.
fn with_cells(
    matrix: &Coupled,
    rows: &[u32],
    later: Option<&Coupled>,
    mode: &Mode,
) -> Result<Coupled, Error> {
    let graph = matrix.kind == Absent::Graph;
    let mut cells: Vec<(u32, u32, f32)> = Vec::new();
    let old = matrix.entries.indices(0).iter().zip(matrix.entries.indices(1)).zip(matrix.entries.values());
    cells.extend(old.map(|((&row, &column), &value)| {
        (rows[row as usize], if graph { rows[column as usize] } else { column }, value)
    }));
    if let Some(later) = later {
        let new = later.entries.indices(0).iter().zip(later.entries.indices(1)).zip(later.entries.values());
        for ((&id, &column), &value) in new {
            // A graph's entries are ids on both sides, those of others rows of their own columns.
            let column = match graph {
                true => mode.row(column),
                false => later.columns.row_in(&matrix.columns, column as usize),
            };
            let (Some(row), Some(column)) = (mode.row(id), column) else { continue };
            match graph {
                true if row == column => {}
                true => cells.push((row.min(column), row.max(column), value)),
                false => cells.push((row, column, value)),
            }
        }
    }
    let mut indices =
        vec![cells.iter().map(|cell| cell.0).collect(), cells.iter().map(|cell| cell.1).collect()];
    let mut values = cells.iter().map(|cell| cell.2).collect();
    merge_entries(&matrix.name, &mut indices, &mut values, Duplicates::Last)?;
    let entries = Entries::from_rows(matrix.entries.name().to_owned(), indices, values);
    Ok(Coupled { entries, ..matrix.clone() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    fn entries(cells: &[(u32, u32, f32)]) -> Entries {
        let indices =
            vec![cells.iter().map(|cell| cell.0).collect(), cells.iter().map(|cell| cell.1).collect()];
        Entries::new(indices, cells.iter().map(|cell| cell.2).collect()).unwrap()
    }

    #[test]
    fn later_data_come_to_what_all_at_once_would_be() {
        // Ids 3 of the first mode and 1 of the second are new: rows behind and between those of before.
        let (first, second) =
            ([(0, 0, 1.0), (1, 2, 2.0), (2, 0, 3.0)], [(3, 1, 4.0), (0, 2, 5.0), (2, 0, 5.0)]);
        let graph = |edges: &[(u32, u32, f32)]| {
            Coupled::new(0, Absent::Graph, entries(edges)).unwrap().named("friends")
        };
        let table = |cells: &[(u32, u32, f32)]| {
            Coupled::new(1, Absent::Zeros, entries(cells)).unwrap().named("genre")
        };
        let old = Problem::builder(entries(&first))
            .couple(graph(&[(0, 1, 1.0)]))
            .couple(table(&[(0, 0, 1.0), (2, 1, 1.0)]))
            .build()
            .unwrap();
        let all: Vec<_> = first.iter().chain(&second).copied().collect();
        let whole = Problem::builder(entries(&all))
            .couple(graph(&[(0, 1, 1.0), (3, 1, 2.0)]))
            .couple(table(&[(0, 0, 1.0), (2, 1, 1.0), (1, 1, 1.0)]))
            .build()
            .unwrap();
        // The second column of the later table is one that the data do not have.
        let (edges, cells) = (graph(&[(3, 1, 2.0)]), table(&[(1, 1, 1.0), (1, 7, 1.0)]));
        let grown = old
            .with_later(whole.modes(), Some(&entries(&second)), &[edges, cells], Duplicates::Mean)
            .unwrap();
        assert_eq!(grown.modes(), whole.modes());
        let sorted = |entries: &Entries| {
            let mut cells: Vec<(u32, u32, u32)> = (0..entries.len())
                .map(|place| {
                    (entries.indices(0)[place], entries.indices(1)[place], entries.values()[place].to_bits())
                })
                .collect();
            cells.sort_unstable();
            cells
        };
        assert_eq!(sorted(grown.entries()), sorted(whole.entries()));
        for (grown, whole) in grown.coupled().iter().zip(whole.coupled()) {
            assert_eq!(sorted(grown.entries()), sorted(whole.entries()), "{}", whole.name());
        }
        // Modes that are not those of before, and entries that the modes do not have.
        assert!(whole.with_later(old.modes(), None, &[], Duplicates::Mean).is_err());
        assert!(old.with_later(old.modes(), Some(&entries(&second)), &[], Duplicates::Mean).is_err());
        let alone = old.with_later(whole.modes(), None, &[], Duplicates::Mean).unwrap();
        assert_eq!(alone.entries().len(), 3);
    }
}
