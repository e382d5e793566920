//! Items that are like others by who has them: the baseline of recommendations that needs no model.

use super::known::Seen;
use crate::parallel;

/// How many neighbours an item has at most.
const NEIGHBOURS: usize = 200;

/// For each item those that are most like it, by the cosine of who has them.
pub(super) struct Neighbours(Vec<Vec<(u32, f32)>>);

impl Neighbours {
    /// The neighbours of so many items, from what each of so many users has.
    pub(super) fn new(seen: &Seen, users: usize, items: usize) -> Self {
        let mut by_item: Vec<Vec<u32>> = vec![Vec::new(); items];
        for user in 0..users {
            distinct(seen.with(user)).for_each(|item| by_item[item as usize].push(user as u32));
        }
        let neighbours = |counts: &mut Vec<u32>, item: usize| {
            let own = &by_item[item];
            let mut touched = Vec::new();
            for &user in own {
                for other in distinct(seen.with(user as usize)) {
                    if counts[other as usize] == 0 {
                        touched.push(other);
                    }
                    counts[other as usize] += 1;
                }
            }
            let mut like: Vec<(u32, f32)> = touched
                .iter()
                .filter(|&&other| other as usize != item)
                .map(|&other| {
                    let sizes = own.len() as f32 * by_item[other as usize].len() as f32;
                    (other, counts[other as usize] as f32 / sizes.sqrt())
                })
                .collect();
            touched.iter().for_each(|&other| counts[other as usize] = 0);
            let nearest = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
            if like.len() > NEIGHBOURS {
                like.select_nth_unstable_by(NEIGHBOURS, nearest);
                like.truncate(NEIGHBOURS);
            }
            like
        };
        Neighbours(parallel::map_with(0..items, || vec![0; items], neighbours))
    }

    /// The best items for one who has some, the best first; what they have is left out.
    pub(super) fn best(&self, has: &[u32], top: usize) -> Vec<u32> {
        let mut scores = vec![0.0f32; self.0.len()];
        for item in distinct(has) {
            self.0[item as usize].iter().for_each(|&(other, like)| scores[other as usize] += like);
        }
        best_of(scores, has, top)
    }
}

/// The items with the largest scores above 0, the best first; what there is already is left out.
pub(super) fn best_of(mut scores: Vec<f32>, has: &[u32], top: usize) -> Vec<u32> {
    has.iter().for_each(|&item| scores[item as usize] = 0.0);
    let mut places: Vec<u32> = (0..scores.len() as u32).filter(|&item| scores[item as usize] > 0.0).collect();
    let order = |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b));
    places.sort_unstable_by(order);
    places.truncate(top);
    places
}

/// The items of a list in which equal ones are next to each other, each once.
pub(super) fn distinct(items: &[u32]) -> impl Iterator<Item = u32> + '_ {
    items.chunk_by(|a, b| a == b).map(|equal| equal[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_the_same_users_have_are_near() {
        // Users 0 and 1 have items 0 and 1, user 1 also 2; user 2 has 3 twice.
        let seen = Seen::from_lists(&[&[0, 1], &[0, 1, 2], &[3, 3]]);
        let neighbours = Neighbours::new(&seen, 3, 4);
        let of = |item: usize| {
            let mut like = neighbours.0[item].clone();
            like.sort_by_key(|(other, _)| *other);
            like
        };
        assert_eq!(of(0), [(1, 1.0), (2, 1.0 / 2f32.sqrt())]);
        assert_eq!(of(3), []);
        assert_eq!(neighbours.best(&[0], 5), [1, 2]);
        assert_eq!(neighbours.best(&[0, 1], 5), [2]);
        assert_eq!(neighbours.best(&[3], 5), [0u32; 0]);
    }
}
