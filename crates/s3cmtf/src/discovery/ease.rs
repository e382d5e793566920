//! EASE (Steck, 2019), "embarrassingly shallow autoencoders": the regression of every item on all others, in closed form.
//!
//! With P the inverse of X'X + λ I, where X says which user has which item, the weight of item i for item j is -P_ij / P_jj. Where users are fewer
//! than items, P is (I - X'K X) / λ with K the inverse of X X' + λ I, and what a user's items come to is the row of K X.

use nalgebra::DMatrix;

use super::known::Seen;
use super::neighbours::{best_of, distinct};

/// Where both users and items are more than this, the inverse takes too long.
const MOST: usize = 2500;
/// The regulariser in units of the square root of the number of choices.
const RIDGE: f64 = 0.35;

/// The regression of items on each other.
pub(super) struct Ease {
    /// Of as many items as there are, or of users.
    inverse: DMatrix<f64>,
    /// For each item, P_jj.
    diagonal: Vec<f64>,
    /// For each item who has it, if the inverse is that of users.
    by_item: Option<Vec<Vec<u32>>>,
}

impl Ease {
    /// From what each of so many users has of so many items; nothing where there are too many of both.
    pub(super) fn new(seen: &Seen, users: usize, items: usize) -> Option<Self> {
        if users.min(items) > MOST {
            return None;
        }
        let choices: usize = (0..users).map(|user| distinct(seen.with(user)).count()).sum();
        let ridge = RIDGE * (choices.max(1) as f64).sqrt();
        let mut by_item: Vec<Vec<u32>> = vec![Vec::new(); items];
        for user in 0..users {
            distinct(seen.with(user)).for_each(|item| by_item[item as usize].push(user as u32));
        }
        if items <= users {
            let lists = (0..users).map(|user| distinct(seen.with(user)).collect());
            let inverse = inverse(items, lists, ridge)?;
            let diagonal = inverse.diagonal().iter().copied().collect();
            return Some(Ease { inverse, diagonal, by_item: None });
        }
        let inverse = inverse(users, by_item.iter().cloned(), ridge)?;
        let within = |having: &Vec<u32>| {
            let sums = having
                .iter()
                .map(|&a| having.iter().map(|&b| inverse[(a as usize, b as usize)]).sum::<f64>());
            (1.0 - sums.sum::<f64>()) / ridge
        };
        let diagonal = by_item.iter().map(within).collect();
        Some(Ease { inverse, diagonal, by_item: Some(by_item) })
    }

    /// The best items for a user who has some, the best first; what they have is left out.
    pub(super) fn best(&self, user: usize, has: &[u32], top: usize) -> Vec<u32> {
        let score = |item: usize| {
            let sum: f64 = match &self.by_item {
                Some(by_item) => {
                    by_item[item].iter().map(|&other| self.inverse[(user, other as usize)]).sum()
                }
                None => distinct(has).map(|other| self.inverse[(other as usize, item)]).sum(),
            };
            (-sum / self.diagonal[item]) as f32
        };
        let scores: Vec<f32> = (0..self.diagonal.len()).map(score).collect();
        best_of(scores, has, top)
    }
}

/// The inverse of the Gram matrix of lists of places, each of which counts 1 in its list, with a ridge.
fn inverse(size: usize, lists: impl Iterator<Item = Vec<u32>>, ridge: f64) -> Option<DMatrix<f64>> {
    let mut gram = DMatrix::from_diagonal_element(size, size, ridge);
    for list in lists {
        for &a in &list {
            list.iter().for_each(|&b| gram[(b as usize, a as usize)] += 1.0);
        }
    }
    Some(gram.cholesky()?.inverse())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    /// The scores of every user for every item, by the formula of the paper.
    fn by_formula(lists: &[&[u32]], items: usize) -> Vec<Vec<f64>> {
        let choices: usize = lists.iter().map(|list| list.len()).sum();
        let x = DMatrix::from_fn(lists.len(), items, |user, item| {
            f64::from(u8::from(lists[user].contains(&(item as u32))))
        });
        let ridge = DMatrix::from_diagonal_element(items, items, RIDGE * (choices as f64).sqrt());
        let p = (x.transpose() * &x + ridge).try_inverse().unwrap();
        let b = DMatrix::from_fn(items, items, |i, j| if i == j { 0.0 } else { -p[(i, j)] / p[(j, j)] });
        let scores = x * b;
        (0..lists.len()).map(|user| scores.row(user).iter().copied().collect()).collect()
    }

    #[test]
    fn lists_are_those_of_the_formula_with_more_users_and_with_more_items() {
        let few: Vec<&[u32]> = vec![&[0, 1, 4], &[1, 2], &[0, 3, 4, 5], &[5, 6]];
        let many: Vec<&[u32]> = vec![&[0, 1], &[1, 2], &[0, 2], &[0, 3], &[3], &[1, 3], &[0, 1]];
        for (lists, items) in [(few, 8), (many, 4)] {
            let ease = Ease::new(&Seen::from_lists(&lists), lists.len(), items).unwrap();
            assert_eq!(ease.by_item.is_some(), lists.len() < items);
            let expected = by_formula(&lists, items);
            for (user, has) in lists.iter().enumerate() {
                let mut order: Vec<u32> = (0..items as u32)
                    .filter(|item| !has.contains(item) && expected[user][*item as usize] > 1e-9)
                    .collect();
                order.sort_by(|&a, &b| {
                    let (a, b) = (expected[user][a as usize], expected[user][b as usize]);
                    b.total_cmp(&a)
                });
                let found = ease.best(user, has, 3);
                let scores = |items: &[u32]| -> Vec<i64> {
                    items.iter().map(|&item| (1e5 * expected[user][item as usize]).round() as i64).collect()
                };
                order.truncate(3);
                assert_eq!(scores(&found), scores(&order), "user {user}");
            }
        }
        assert!(Ease::new(&Seen::from_lists(&[]), MOST + 1, MOST + 1).is_none());
    }
}
