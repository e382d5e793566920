//! The rows of a mode with the highest predictions, for each row of another.
//!
//! All modes but these two are fixed, which leaves of the core a matrix. For a block of users the rows of their factor
//! times that matrix are queries, and a prediction is a query times an item's row. Items lie in panels of some of them side
//! by side, so that predictions of several users and items come about at once; of each user only as many are kept as are
//! asked for. Memory grows with users and with items, never with their product.
//!
//! How little is known of a prediction is such a product too, of other queries and other rows (see `variance.rs`), and so is how likely
//! it is chosen.

use super::known::Seen;
use crate::likelihood::Likelihood;
use crate::parallel;

/// Items side by side in a panel, and users that are dealt with at once: their sums stay in registers.
const LANES: usize = 8;
const TOGETHER: usize = 4;
/// Users of a task, and items that are gone through for all of them before the next: they stay in the fast memory.
const USERS: usize = 64;
const PANELS: usize = 128;

/// A row and its predicted value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Best {
    /// The row of the item's mode.
    pub row: u32,
    /// What is predicted.
    pub value: f32,
    /// What it is ranked by: what is predicted, less what is to be on the safe side, or how likely it is chosen and liked.
    pub rank_by: f32,
}

/// What a second product has to do with the rank of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Second {
    /// It is the variance of the prediction: so many standard deviations are taken off.
    Variance(f32),
    /// It alone decides.
    Score,
    /// It is multiplied by what the prediction, the mean of a likelihood, is above this.
    Times(Likelihood, f32),
}

impl Second {
    fn key(self, prediction: f32, second: f32) -> f32 {
        match self {
            Second::Variance(caution) => prediction - caution * second.max(0.0).sqrt(),
            Second::Score => second,
            Second::Times(likelihood, low) => {
                let mean = likelihood.mean(prediction, [f32::NEG_INFINITY, f32::INFINITY]);
                second * (mean - low).max(0.0)
            }
        }
    }
}

/// The rows of a factor, ready to be searched.
pub(super) struct Panels {
    rank: usize,
    rows: usize,
    /// Panel after panel, of each the first numbers of its rows, then the second ones, and so on.
    values: Vec<f32>,
}

/// Queries and the rows that they are multiplied with.
pub(super) struct Search<'a, Q> {
    pub(super) panels: &'a Panels,
    /// Fills in what the rows are multiplied with for a user.
    pub(super) query: Q,
}

/// What may be among the best.
#[derive(Clone, Copy)]
pub(super) struct Open<'a> {
    pub(super) seen: Option<&'a Seen>,
    pub(super) allowed: Option<&'a [bool]>,
}

impl Panels {
    pub(super) fn new(rank: usize, factor: &[f32]) -> Self {
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

    fn panel(&self, number: usize) -> &[f32] {
        &self.values[number * LANES * self.rank..(number + 1) * LANES * self.rank]
    }
}

/// The `top` best of each user, the best first, equal ones in their order; `second` has a part in their rank.
pub(super) fn best<Q: Fn(u32, &mut [f32]) + Sync, D: Fn(u32, &mut [f32]) + Sync>(
    users: &[u32],
    top: usize,
    open: Open<'_>,
    values: &Search<'_, Q>,
    second: Option<(Second, &Search<'_, D>)>,
) -> Vec<Vec<Best>> {
    let of_some = |users: &[u32]| best_of(users, top, open, values, second);
    parallel::map_of(users.chunks(USERS), of_some).into_iter().flatten().collect()
}

fn best_of<Q: Fn(u32, &mut [f32]), D: Fn(u32, &mut [f32])>(
    users: &[u32],
    top: usize,
    open: Open<'_>,
    values: &Search<'_, Q>,
    second: Option<(Second, &Search<'_, D>)>,
) -> Vec<Vec<Best>> {
    let rows = values.panels.rows;
    let queries = values.queries(users);
    let second = second.map(|(how, search)| (how, search.panels, search.queries(users)));
    let mut kept: Vec<Kept> = users.iter().map(|_| Kept::new(top.min(rows))).collect();
    let panels = rows.div_ceil(LANES);
    for start in (0..panels).step_by(PANELS) {
        for group in 0..users.len().div_ceil(TOGETHER) {
            let query = queries.group(group);
            for panel in start..(start + PANELS).min(panels) {
                let sums = products(query, values.panels.panel(panel));
                let mut keys = sums;
                if let Some((how, panels, queries)) = &second {
                    let others = products(queries.group(group), panels.panel(panel));
                    for (key, other) in keys.iter_mut().flatten().zip(others.iter().flatten()) {
                        *key = how.key(*key, *other);
                    }
                }
                let some = kept.iter_mut().zip(users).skip(group * TOGETHER).zip(sums.iter().zip(&keys));
                for ((kept, &user), (sums, keys)) in some {
                    kept.offer(panel * LANES, sums, keys, rows, |item| open.has(user, item));
                }
            }
        }
    }
    kept.into_iter().map(Kept::finish).collect()
}

/// As the panels: several queries side by side.
struct Queries {
    rank: usize,
    values: Vec<f32>,
}

impl Queries {
    fn group(&self, number: usize) -> &[f32] {
        &self.values[number * TOGETHER * self.rank..(number + 1) * TOGETHER * self.rank]
    }
}

impl<Q: Fn(u32, &mut [f32])> Search<'_, Q> {
    fn queries(&self, users: &[u32]) -> Queries {
        let rank = self.panels.rank;
        let mut values = vec![0.0; users.len().div_ceil(TOGETHER) * TOGETHER * rank];
        let mut one = vec![0.0; rank];
        for (place, &user) in users.iter().enumerate() {
            (self.query)(user, &mut one);
            let start = place / TOGETHER * TOGETHER * rank + place % TOGETHER;
            one.iter().enumerate().for_each(|(k, &value)| values[start + k * TOGETHER] = value);
        }
        Queries { rank, values }
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
    fn offer(
        &mut self,
        first: usize,
        values: &[f32; LANES],
        keys: &[f32; LANES],
        rows: usize,
        open: impl Fn(u32) -> bool,
    ) {
        let above = keys.iter().fold(false, |above, &key| above | (key > self.least));
        if !above {
            return;
        }
        for ((row, &value), &rank_by) in (first..rows).zip(values).zip(keys) {
            if rank_by > self.least && open(row as u32) {
                self.found.push(Best { row: row as u32, value, rank_by });
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
            self.least = self.found[self.top - 1].rank_by;
        }
    }

    fn finish(mut self) -> Vec<Best> {
        self.cut();
        self.found.sort_unstable_by(order);
        self.found
    }
}

fn order(a: &Best, b: &Best) -> std::cmp::Ordering {
    b.rank_by.total_cmp(&a.rank_by).then(a.row.cmp(&b.row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(seed: usize) -> f32 {
        ((seed * 7919 + 13) % 101) as f32 / 50.0 - 1.0
    }

    type NoQuery = fn(u32, &mut [f32]);

    #[test]
    fn they_are_those_of_a_full_sort_for_any_rank_and_number_cautious_or_not() {
        for (rank, items, users, top) in [(1, 1, 1, 1), (3, 7, 5, 3), (10, 1500, 70, 10), (5, 40, 9, 100)] {
            let factor: Vec<f32> = (0..items * rank).map(|place| number(place * place + 3)).collect();
            let rows: Vec<f32> = (0..users * rank).map(|place| number(place + 7)).collect();
            let squares: Vec<f32> = factor.iter().map(|value| value * value).collect();
            let allowed: Vec<bool> = (0..items).map(|item| items < 3 || item % 3 != 1).collect();
            let open = Open { seen: None, allowed: Some(&allowed) };
            let own = |user: u32| &rows[user as usize * rank..(user as usize + 1) * rank];
            let names: Vec<u32> = (0..users as u32).collect();
            let panels = Panels::new(rank, &factor);
            let of_squares = Panels::new(rank, &squares);
            let values =
                Search { panels: &panels, query: |user, to: &mut [f32]| to.copy_from_slice(own(user)) };
            let square = |user, to: &mut [f32]| {
                to.iter_mut().zip(own(user)).for_each(|(to, value)| *to = value * value);
            };
            let variances = Search { panels: &of_squares, query: square };
            for caution in [0.0, 0.7] {
                let found = best(&names, top, open, &values, Some((Second::Variance(caution), &variances)));
                for (user, found) in names.iter().zip(&found) {
                    let dot = |item: &[f32]| own(*user).iter().zip(item).map(|(a, b)| a * b).sum::<f32>();
                    let doubt =
                        |item: &[f32]| own(*user).iter().zip(item).map(|(a, b)| a * a * (b * b)).sum::<f32>();
                    let mut all: Vec<Best> = factor
                        .chunks_exact(rank)
                        .enumerate()
                        .filter(|(row, _)| allowed[*row])
                        .map(|(row, item)| {
                            let (value, row) = (dot(item), row as u32);
                            Best { row, value, rank_by: value - caution * doubt(item).sqrt() }
                        })
                        .collect();
                    all.sort_by(order);
                    all.truncate(top);
                    assert_eq!(found, &all, "rank {rank}, {items} items");
                }
                if caution == 0.0 {
                    let plain = best(&names, top, open, &values, None::<(Second, &Search<'_, NoQuery>)>);
                    assert_eq!(plain, found);
                }
            }
        }
    }

    #[test]
    fn a_second_product_decides_alone_or_together_with_the_prediction() {
        // Predictions 1, 2 and 3; scores 5, 4 and 1.
        let (panels, scores) = (Panels::new(1, &[1.0, 2.0, 3.0]), Panels::new(1, &[5.0, 4.0, 1.0]));
        let values = Search { panels: &panels, query: |_, to: &mut [f32]| to[0] = 1.0 };
        let other = Search { panels: &scores, query: |_, to: &mut [f32]| to[0] = 1.0 };
        let open = Open { seen: None, allowed: None };
        let order = |how: Second| -> Vec<(u32, f32)> {
            let found = best(&[0], 3, open, &values, Some((how, &other)));
            found[0].iter().map(|best| (best.row, best.rank_by)).collect()
        };
        let times = |low: f32| Second::Times(Likelihood::Gaussian, low);
        assert_eq!(order(Second::Score), [(0, 5.0), (1, 4.0), (2, 1.0)]);
        assert_eq!(order(times(0.0)), [(1, 8.0), (0, 5.0), (2, 3.0)]);
        assert_eq!(order(times(1.0)), [(1, 4.0), (2, 2.0), (0, 0.0)]);
        // An answer that is likely no is still the better, the more likely it is yes.
        let key = |log_odds: f32| Second::Times(Likelihood::Logistic, 0.0).key(log_odds, 2.0);
        assert!(key(-1.0) > key(-2.0) && key(-2.0) > 0.0);
        assert!((key(0.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn of_equal_ones_the_first_are_kept() {
        let panels = Panels::new(1, &[1.0; 100]);
        let values = Search { panels: &panels, query: |_, to: &mut [f32]| to[0] = 2.0 };
        let open = Open { seen: None, allowed: None };
        let found = best(&[0], 4, open, &values, None::<(Second, &Search<'_, NoQuery>)>);
        let rows: Vec<u32> = found[0].iter().map(|best| best.row).collect();
        assert_eq!(rows, [0, 1, 2, 3]);
    }
}
