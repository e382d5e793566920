//! The rows of a mode with the highest predictions, for each row of another.
//!
//! All modes but these two are fixed, which leaves of the core a matrix. For a block of users the rows of their factor
//! times that matrix are queries, and a prediction is a query times an item's row. Items lie in panels of some of them side
//! by side, so that predictions of several users and items come about at once; of each user only as many are kept as are
//! asked for. Memory grows with users and with items, never with their product.

use rayon::prelude::*;

use super::known::Seen;

/// Items side by side in a panel, and users that are dealt with at once: their sums stay in registers.
const LANES: usize = 8;
const TOGETHER: usize = 4;
/// Users of a task, and items that are gone through for all of them before the next: they stay in the fast memory.
const USERS: usize = 64;
const PANELS: usize = 128;

/// A row and its predicted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The row of the item's mode.
    pub row: u32,
    /// What is predicted.
    pub value: f32,
}

/// The rows of a factor, ready to be searched.
pub(super) struct Panels {
    rank: usize,
    rows: usize,
    /// Panel after panel, of each the first numbers of its rows, then the second ones, and so on.
    values: Vec<f32>,
}

/// What may be among the best.
#[derive(Clone, Copy)]
pub(super) struct Open<'a> {
    pub(super) seen: Option<&'a Seen>,
    pub(super) allowed: Option<&'a [bool]>,
}

impl Panels {
    pub(super) fn of(rank: usize, factor: &[f32]) -> Self {
        let rows = factor.len() / rank;
        let mut values = vec![0.0; rows.div_ceil(LANES) * LANES * rank];
        for (row, numbers) in factor.chunks_exact(rank).enumerate() {
            let start = row / LANES * LANES * rank + row % LANES;
            for (k, &number) in numbers.iter().enumerate() {
                values[start + k * LANES] = number;
            }
        }
        Panels { rank, rows, values }
    }

    /// The `top` best of each user, the best first, equal ones in their order; `query` fills in what a user's row is
    /// multiplied with.
    pub(super) fn best(
        &self,
        users: &[u32],
        top: usize,
        open: Open<'_>,
        query: impl Fn(u32, &mut [f32]) + Sync,
    ) -> Vec<Vec<Best>> {
        users.par_chunks(USERS).flat_map_iter(|users| self.best_of(users, top, open, &query)).collect()
    }

    fn best_of(
        &self,
        users: &[u32],
        top: usize,
        open: Open<'_>,
        query: &impl Fn(u32, &mut [f32]),
    ) -> Vec<Vec<Best>> {
        let rank = self.rank;
        // As the panels: several queries side by side.
        let mut queries = vec![0.0; users.len().div_ceil(TOGETHER) * TOGETHER * rank];
        let mut one = vec![0.0; rank];
        for (place, &user) in users.iter().enumerate() {
            query(user, &mut one);
            let start = place / TOGETHER * TOGETHER * rank + place % TOGETHER;
            one.iter().enumerate().for_each(|(k, &value)| queries[start + k * TOGETHER] = value);
        }
        let mut kept: Vec<Kept> = users.iter().map(|_| Kept::new(top.min(self.rows))).collect();
        for (part, panels) in self.values.chunks(PANELS * LANES * rank).enumerate() {
            for (group, query) in queries.chunks_exact(TOGETHER * rank).enumerate() {
                for (panel, numbers) in panels.chunks_exact(LANES * rank).enumerate() {
                    let first = (part * PANELS + panel) * LANES;
                    let sums = products(query, numbers);
                    let some = kept.iter_mut().zip(users).skip(group * TOGETHER).zip(&sums);
                    for ((kept, &user), sums) in some {
                        kept.offer(first, sums, self.rows, |item| open.has(user, item));
                    }
                }
            }
        }
        kept.into_iter().map(Kept::finish).collect()
    }
}

/// The products of some queries and the rows of a panel.
fn products(queries: &[f32], panel: &[f32]) -> [[f32; LANES]; TOGETHER] {
    let mut sums = [[0.0; LANES]; TOGETHER];
    let (queries, _) = queries.as_chunks::<TOGETHER>();
    let (panel, _) = panel.as_chunks::<LANES>();
    for (queries, items) in queries.iter().zip(panel) {
        for (sums, query) in sums.iter_mut().zip(queries) {
            for (sum, item) in sums.iter_mut().zip(items) {
                *sum += query * item;
            }
        }
    }
    sums
}

impl Open<'_> {
    fn has(&self, user: u32, item: u32) -> bool {
        self.allowed.is_none_or(|allowed| allowed[item as usize])
            && self.seen.is_none_or(|seen| seen.with(user as usize).binary_search(&item).is_err())
    }
}

/// The best so far, and some that were.
struct Kept {
    top: usize,
    room: usize,
    /// What is not above it is not among the best.
    least: f32,
    found: Vec<Best>,
}

impl Kept {
    fn new(top: usize) -> Self {
        let least = if top == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Kept { top, room: (2 * top).max(32), least, found: Vec::new() }
    }

    /// Takes the items of a panel that are good enough. Items come in their order, so of equal ones the first stays.
    fn offer(&mut self, first: usize, values: &[f32; LANES], rows: usize, open: impl Fn(u32) -> bool) {
        let above = values.iter().fold(false, |above, &value| above | (value > self.least));
        if !above {
            return;
        }
        for (row, &value) in (first..rows).zip(values) {
            if value > self.least && open(row as u32) {
                self.found.push(Best { row: row as u32, value });
                if self.found.len() == self.room {
                    self.cut();
                }
            }
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.top && self.top > 0 {
            self.found.select_nth_unstable_by(self.top - 1, order);
            self.found.truncate(self.top);
            self.least = self.found[self.top - 1].value;
        }
    }

    fn finish(mut self) -> Vec<Best> {
        self.cut();
        self.found.sort_unstable_by(order);
        self.found
    }
}

fn order(a: &Best, b: &Best) -> std::cmp::Ordering {
    b.value.total_cmp(&a.value).then(a.row.cmp(&b.row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(seed: usize) -> f32 {
        ((seed * 7919 + 13) % 101) as f32 / 50.0 - 1.0
    }

    #[test]
    fn they_are_those_of_a_full_sort_for_any_rank_and_number() {
        for (rank, items, users, top) in [(1, 1, 1, 1), (3, 7, 5, 3), (10, 1500, 70, 10), (5, 40, 9, 100)] {
            let factor: Vec<f32> = (0..items * rank).map(|place| number(place * place + 3)).collect();
            let rows: Vec<f32> = (0..users * rank).map(|place| number(place + 7)).collect();
            let allowed: Vec<bool> = (0..items).map(|item| items < 3 || item % 3 != 1).collect();
            let open = Open { seen: None, allowed: Some(&allowed) };
            let own = |user: u32| &rows[user as usize * rank..(user as usize + 1) * rank];
            let names: Vec<u32> = (0..users as u32).collect();
            let found =
                Panels::of(rank, &factor).best(&names, top, open, |user, to| to.copy_from_slice(own(user)));
            for (user, found) in names.iter().zip(found) {
                let dot = |item: &[f32]| own(*user).iter().zip(item).map(|(a, b)| a * b).sum::<f32>();
                let mut all: Vec<Best> = factor
                    .chunks_exact(rank)
                    .enumerate()
                    .filter(|(row, _)| allowed[*row])
                    .map(|(row, item)| Best { row: row as u32, value: dot(item) })
                    .collect();
                all.sort_by(order);
                all.truncate(top);
                assert_eq!(found, all, "rank {rank}, {items} items");
            }
        }
    }

    #[test]
    fn of_equal_ones_the_first_are_kept() {
        let found =
            Panels::of(1, &[1.0; 100]).best(&[0], 4, Open { seen: None, allowed: None }, |_, to| to[0] = 2.0);
        let rows: Vec<u32> = found[0].iter().map(|best| best.row).collect();
        assert_eq!(rows, [0, 1, 2, 3]);
    }
}
