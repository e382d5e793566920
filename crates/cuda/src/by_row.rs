//! What belongs to the rows of a mode.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::arrange::PIECE;

/// Whose each element is, given where everybody's start and the end of the last; all have at least one.
pub(crate) fn owners(starts: &[u32], len: usize) -> Vec<u32> {
    let mut owners = vec![0; len];
    owners.par_chunks_mut(PIECE).enumerate().for_each(|(piece, owners)| {
        let first = (piece * PIECE) as u32;
        let mut owner = starts.partition_point(|&start| start <= first) - 1;
        for (place, to) in (first..).zip(owners) {
            if starts[owner + 1] <= place {
                owner += 1;
            }
            *to = owner as u32;
        }
    });
    owners
}

/// What belongs to the rows of a mode, in the order of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByRow<T> {
    /// Where each row's starts, and the end of the last.
    pub(crate) starts: Vec<u32>,
    pub(crate) ids: Vec<u32>,
    pub(crate) values: Vec<T>,
    /// The places of those that are held out.
    pub(crate) held: Vec<u32>,
}

impl<T: Send> ByRow<T> {
    /// Elements of these rows: those of a row stay in their order. `element` says what is in a place, and `held` which places are
    /// held out.
    pub(crate) fn new(
        rows: usize,
        of: &[u32],
        held: &[u32],
        element: impl Fn(usize) -> (u32, T) + Sync,
    ) -> Self {
        let (starts, places) = by_counting(rows, of);
        let place = |&held: &u32| {
            let row = of[held as usize] as usize;
            let first = starts[row];
            let own = &places[first as usize..starts[row + 1] as usize];
            first + own.partition_point(|place| place.load(Ordering::Relaxed) < held) as u32
        };
        let held = held.par_iter().map(place).collect();
        let (ids, values) = places.into_par_iter().map(|place| element(place.into_inner() as usize)).unzip();
        ByRow { starts, ids, values, held }
    }
}

/// Where the elements of each row start, and the places of all in the order of rows.
pub(crate) fn places_by_row(rows: usize, of: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (starts, places) = by_counting(rows, of);
    (starts, places.into_par_iter().map(AtomicU32::into_inner).collect())
}

/// Elements are counted in at most so many parts beside each other.
const PARTS: usize = 64;

/// Where the elements of each row start, and the places of all in the order of rows, and as they were within a row.
fn by_counting(rows: usize, of: &[u32]) -> (Vec<u32>, Vec<AtomicU32>) {
    // Counts of a part are as many as there are rows, and should be fewer than its elements.
    let parts = (of.len() / rows.max(PIECE)).clamp(1, PARTS);
    let len = of.len().div_ceil(parts).max(1);
    let count = |part: &[u32]| {
        let mut counts = vec![0u32; rows];
        part.iter().for_each(|&row| counts[row as usize] += 1);
        counts
    };
    let mut next: Vec<Vec<u32>> = of.par_chunks(len).map(count).collect();
    let mut starts = vec![0; rows + 1];
    for row in 0..rows {
        let mut at = starts[row];
        for next in &mut next {
            at += std::mem::replace(&mut next[row], at);
        }
        starts[row + 1] = at;
    }
    // Every place is written once, by whoever has it: in which order does not matter.
    let places: Vec<AtomicU32> = (0..of.len()).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    of.par_chunks(len).zip(&mut next).enumerate().for_each(|(part, (of, next))| {
        for (place, &row) in (part * len..).zip(of) {
            let to = &mut next[row as usize];
            places[*to as usize].store(place as u32, Ordering::Relaxed);
            *to += 1;
        }
    });
    (starts, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_in_the_order_of_rows_however_many_parts_count_them() {
        for (len, rows) in [(0, 0), (0, 3), (7, 10), (PIECE * 3, 5), (PIECE * 70 + 11, 1000)] {
            let of: Vec<u32> = (0..len).map(|place| (place * 7919 % 1009 % rows) as u32).collect();
            let mut expected: Vec<(u32, usize)> = of.iter().copied().zip(0..).collect();
            expected.sort();
            let by_row = ByRow::new(rows, &of, &[], |place| (of[place], place));
            let found: Vec<(u32, usize)> = by_row.ids.into_iter().zip(by_row.values).collect();
            assert_eq!(found, expected);
            let start = |row: usize| expected.partition_point(|&(own, _)| (own as usize) < row) as u32;
            assert_eq!(by_row.starts, (0..=rows).map(start).collect::<Vec<_>>());
        }
    }
}
