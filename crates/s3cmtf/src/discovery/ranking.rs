//! How good recommendations are: whether what people turned out to like is among them.

use hashbrown::{HashMap, HashSet};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use super::ease::Ease;
use super::neighbours::Neighbours;
use super::recommend::{RankBy, Recommender};
use super::{SEED, TOP, known};
use crate::parallel;
use crate::problem::UNKNOWN;
use crate::{Entries, Error, Model, Problem};

/// Of more than this many a random choice is measured where nobody says.
const MOST: usize = 10_000;
/// Rows that are dealt with before their lists are let go.
const TOGETHER: usize = 8192;

/// What to rank for whom, and what counts as right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankingParams {
    /// The mode of those to whom items are recommended.
    pub by: usize,
    /// The mode of the items.
    pub items: usize,
    /// How many items are recommended.
    pub k: usize,
    /// Items with a value of this or more are relevant; none is the mean of the values in training of the one they are
    /// recommended to, or in the test where training has none or is not known.
    pub relevant: Option<f64>,
    /// Of more than this many that could be recommended something, a random choice of them is measured.
    pub most: usize,
    /// The seed of that choice.
    pub seed: u64,
    /// See [`Recommender::cautious`].
    pub caution: f32,
    /// See [`Recommender::ranked_by`].
    pub score: Option<RankBy>,
    /// Whether item-kNN, the items that are most like those that were seen, by who has them, and EASE are measured too.
    pub baselines: bool,
}

impl RankingParams {
    /// What is usual for these modes: the first and the second if none is said, and for one that is said the first other.
    pub fn new(by: Option<usize>, items: Option<usize>) -> Self {
        let by = by.unwrap_or(usize::from(items == Some(0)));
        let items = items.unwrap_or(usize::from(by == 0));
        RankingParams {
            by,
            items,
            k: TOP,
            relevant: None,
            most: MOST,
            seed: SEED,
            caution: 0.0,
            score: None,
            baselines: false,
        }
    }
}

/// How good recommendations are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ranking {
    /// The mode of those to whom items are recommended.
    pub rank_by: String,
    /// The mode of the items.
    pub items: String,
    /// What they are ranked by.
    pub score: RankBy,
    /// How many items are recommended.
    pub k: usize,
    /// What was measured: those that the model knows and that have something relevant in the test.
    pub measured: usize,
    /// How many such there are.
    pub of: usize,
    /// Whether what training has seen was left out.
    pub without_seen: bool,
    /// How good they are.
    #[serde(flatten)]
    pub measures: Measures,
    /// The same if everybody is recommended what has the most entries in training; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub popular: Option<Measures>,
    /// The same of item-kNN, if that was asked for and what was seen is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_knn: Option<Measures>,
    /// The same of EASE, a regression of every item on all others, where there are not too many of both users and items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ease: Option<Measures>,
}

/// The measures of recommendations; all but coverage are means over those who were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Measures {
    /// The share of the relevant items that are among the k recommended.
    pub recall: f64,
    /// The normalised discounted cumulative gain: a relevant item at place r counts 1 / log2(r + 1), over what the best order would
    /// have.
    pub ndcg: f64,
    /// Half the width of the 95 % confidence interval of `ndcg`.
    pub ndcg_interval: f64,
    /// The average precision: the mean over relevant items, at most k, of the precision at each one's place.
    pub map: f64,
    /// The share of those who have a relevant item among the k.
    pub hit_rate: f64,
    /// The share of all items that are recommended to anybody who was measured.
    pub coverage: f64,
    /// How rare what is recommended is: the mean of -log2 of the share of training entries' users that have the item; none where training
    /// is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub novelty: Option<f64>,
}

/// Measures the recommendations of a model by test entries, given by ids. `data`, which it was trained on, say what was
/// seen: that is neither recommended nor relevant.
///
/// # Errors
/// If there are no such modes, k is 0, the data or entries have other modes, or nothing relevant is in the test.
pub fn ranking(
    model: &Model,
    data: Option<&Problem>,
    test: &Entries,
    params: RankingParams,
) -> Result<Ranking, Error> {
    let mut measured = rankings(model, data, test, params, &[params.k])?;
    // One of each length that was asked for.
    measured.pop().ok_or_else(|| Error::param("k", "1 or more", 0))
}

/// The same for several lengths of lists, in their order, which are measured at once: items are ranked for the longest, and
/// shorter ones are where it begins. They are in place of `params.k`.
///
/// # Errors
/// If there is no length, and as [`ranking`].
pub fn rankings(
    model: &Model,
    data: Option<&Problem>,
    test: &Entries,
    params: RankingParams,
    lengths: &[usize],
) -> Result<Vec<Ranking>, Error> {
    let RankingParams { by, items, .. } = params;
    let k = lengths.iter().copied().max().unwrap_or(0);
    if lengths.is_empty() || lengths.contains(&0) || params.most == 0 {
        return Err(Error::param("k", "1 or more", 0));
    }
    let mut recommender =
        Recommender::new(model, by, items, &[])?.cautious(params.caution)?.ranked_by(params.score)?;
    if let Some(data) = data {
        recommender = recommender.without_seen(data)?;
    }
    let wanted = relevant(model, data, test, &recommender, params)?;
    let of = wanted.len();
    if of == 0 {
        let name = model.modes()[by].name();
        return Err(Error::Problem(format!(
            "{}: nothing to rank by: no {name} that the model knows has a relevant entry that training does not have",
            test.name()
        )));
    }
    let wanted = choose(wanted, params.most, params.seed);

    let all = model.modes()[items].rows();
    let counts = data.map(|data| known::counts(model, data, items)).transpose()?;
    let users = model.modes()[by].rows();
    let rarity: Option<Vec<f64>> = counts.as_ref().map(|counts| {
        let share = |&count: &u32| (f64::from(count.max(1)) / users as f64).min(1.0);
        counts.iter().map(|count| -share(count).log2()).collect()
    });
    let mut own = Tallies::new(lengths);
    for some in wanted.chunks(TOGETHER) {
        let rows: Vec<u32> = some.iter().map(|(row, _)| *row).collect();
        for (best, (_, relevant)) in recommender.best(&rows, k).iter().zip(some) {
            own.add(best.iter().map(|best| best.row), relevant);
        }
    }
    let popular = counts.map(|counts| {
        let mut places: Vec<(u32, u32)> = counts.into_iter().zip(0..).collect();
        places.sort_unstable_by_key(|&(count, row)| (std::cmp::Reverse(count), row));
        let mut tallies = Tallies::new(lengths);
        for (row, relevant) in &wanted {
            let unseen = places.iter().map(|(_, item)| *item);
            tallies.add(unseen.filter(|item| !recommender.has_seen(*row, *item)).take(k), relevant);
        }
        tallies.measures(all, rarity.as_deref())
    });
    let knn = recommender.all_seen().filter(|_| params.baselines).map(|seen| {
        let neighbours = Neighbours::new(seen, users, all);
        let mut tallies = Tallies::new(lengths);
        for (row, relevant) in &wanted {
            tallies.add(neighbours.best(seen.with(*row as usize), k).into_iter(), relevant);
        }
        tallies.measures(all, rarity.as_deref())
    });
    let ease = recommender.all_seen().filter(|_| params.baselines).and_then(|seen| {
        let ease = Ease::new(seen, users, all)?;
        let lists: Vec<Vec<u32>> =
            parallel::map_of(&wanted, |(row, _)| ease.best(*row as usize, seen.with(*row as usize), k));
        let mut tallies = Tallies::new(lengths);
        let both = lists.into_iter().zip(&wanted);
        both.for_each(|(list, (_, relevant))| tallies.add(list.into_iter(), relevant));
        Some(tallies.measures(all, rarity.as_deref()))
    });
    let own = own.measures(all, rarity.as_deref());
    let at = |measures: &Option<Vec<Measures>>, place: usize| measures.as_ref().map(|all| all[place]);
    let one = |(place, (&k, measures)): (usize, (&usize, Measures))| Ranking {
        rank_by: model.modes()[by].name().to_owned(),
        items: model.modes()[items].name().to_owned(),
        score: recommender.rank_by(),
        k,
        measured: wanted.len(),
        of,
        without_seen: data.is_some(),
        measures,
        popular: at(&popular, place),
        item_knn: at(&knn, place),
        ease: at(&ease, place),
    };
    Ok(lengths.iter().zip(own).enumerate().map(one).collect())
}

/// The relevant items of each row that has any, by row; an item that the model does not know is one that it misses.
fn relevant(
    model: &Model,
    data: Option<&Problem>,
    test: &Entries,
    recommender: &Recommender<'_>,
    params: RankingParams,
) -> Result<Vec<(u32, HashSet<u32>)>, Error> {
    let RankingParams { by, items, .. } = params;
    let located = model.locate(test)?;
    let rows = located.indices(by);
    let trained = match data {
        Some(data) if params.relevant.is_none() => known::means(model, data, by),
        _ => HashMap::new(),
    };
    let mut tested: HashMap<u32, (f64, f64)> = HashMap::new();
    for (&row, &value) in rows.iter().zip(test.values()) {
        let (sum, count) = tested.entry(row).or_default();
        *sum += f64::from(value);
        *count += 1.0;
    }
    let least = |row: u32| {
        let of_test = || tested.get(&row).map_or(f64::INFINITY, |(sum, count)| sum / count);
        params.relevant.or_else(|| trained.get(&row).copied()).unwrap_or_else(of_test)
    };
    let mut wanted: HashMap<u32, HashSet<u32>> = HashMap::new();
    for (place, (&row, &value)) in rows.iter().zip(test.values()).enumerate() {
        let item = located.indices(items)[place];
        if row == UNKNOWN || f64::from(value) < least(row) {
            continue;
        }
        // Items that the model does not know differ by their ids, and have none of its rows.
        let item = if item == UNKNOWN { UNKNOWN - test.indices(items)[place].min(UNKNOWN / 2) } else { item };
        if !recommender.has_seen(row, item) {
            wanted.entry(row).or_default().insert(item);
        }
    }
    let mut wanted: Vec<(u32, HashSet<u32>)> = wanted.into_iter().collect();
    wanted.sort_unstable_by_key(|(row, _)| *row);
    Ok(wanted)
}

/// A random choice, in the order that was.
fn choose<T>(all: Vec<T>, most: usize, seed: u64) -> Vec<T> {
    let (mut left, mut wanted) = (all.len(), most.min(all.len()));
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7261_6e6b_696e_6721);
    let chosen = |_: &T| {
        let chosen = generator.random_range(0..left) < wanted;
        left -= 1;
        wanted -= usize::from(chosen);
        chosen
    };
    all.into_iter().filter(chosen).collect()
}

/// One for each length of lists.
struct Tallies(Vec<(usize, Tally)>);

impl Tallies {
    fn new(lengths: &[usize]) -> Self {
        Tallies(lengths.iter().map(|&k| (k, Tally::default())).collect())
    }

    /// Adds a list of the longest.
    fn add(&mut self, list: impl Iterator<Item = u32>, relevant: &HashSet<u32>) {
        let list: Vec<u32> = list.collect();
        for (k, tally) in &mut self.0 {
            tally.add(list.iter().copied().take(*k), relevant, *k);
        }
    }

    fn measures(&self, items: usize, rarity: Option<&[f64]>) -> Vec<Measures> {
        self.0.iter().map(|(_, tally)| tally.measures(items, rarity)).collect()
    }
}

#[derive(Default)]
struct Tally {
    count: usize,
    recall: f64,
    ndcg: f64,
    squared_ndcg: f64,
    map: f64,
    hits: usize,
    /// How often each item was recommended.
    shown: HashMap<u32, usize>,
}

impl Tally {
    fn add(&mut self, list: impl Iterator<Item = u32>, relevant: &HashSet<u32>, k: usize) {
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let (mut hits, mut gained, mut precisions) = (0usize, 0.0, 0.0);
        for (place, item) in list.enumerate() {
            *self.shown.entry(item).or_default() += 1;
            if relevant.contains(&item) {
                hits += 1;
                gained += gain(place);
                precisions += hits as f64 / (place + 1) as f64;
            }
        }
        let count = relevant.len().clamp(1, k.max(1));
        let most: f64 = (0..count).map(gain).sum();
        let ndcg = gained / most.max(f64::MIN_POSITIVE);
        self.count += 1;
        self.recall += hits as f64 / relevant.len().max(1) as f64;
        self.ndcg += ndcg;
        self.squared_ndcg += ndcg * ndcg;
        self.map += precisions / count as f64;
        self.hits += usize::from(hits > 0);
    }

    /// The measures over so many items; `rarity` is each item's.
    fn measures(&self, items: usize, rarity: Option<&[f64]>) -> Measures {
        let count = self.count.max(1) as f64;
        let ndcg = self.ndcg / count;
        let variance = (self.squared_ndcg / count - ndcg * ndcg).max(0.0);
        let shown: usize = self.shown.values().sum();
        let novelty = rarity.map(|rarity| {
            let mut known: Vec<(&u32, &usize)> = self.shown.iter().collect();
            // In one order, so that the sum is the same again.
            known.sort_unstable();
            let sum: f64 =
                known.into_iter().map(|(&item, &times)| times as f64 * rarity[item as usize]).sum();
            sum / shown.max(1) as f64
        });
        Measures {
            recall: self.recall / count,
            ndcg,
            ndcg_interval: 1.96 * (variance / count).sqrt(),
            map: self.map / count,
            hit_rate: self.hits as f64 / count,
            coverage: self.shown.len() as f64 / items.max(1) as f64,
            novelty,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_those_worked_out_by_hand() {
        let set = |items: &[u32]| items.iter().copied().collect::<HashSet<u32>>();
        let mut tally = Tally::default();
        // Hits at places 1 and 3 of 3 relevant ones: recall 2/3; gain 1 + 1/2 of 1 + 1/log2(3) + 1/2.
        tally.add([7, 8, 9].into_iter(), &set(&[7, 9, 5]), 3);
        let first = 1.5 / (1.5 + 1.0 / 3f64.log2());
        // Nothing found.
        tally.add([7, 8, 1].into_iter(), &set(&[2]), 3);
        let found = tally.measures(10, Some(&[0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]));
        assert!((found.recall - 1.0 / 3.0).abs() < 1e-12, "{found:?}");
        assert!((found.ndcg - first / 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.coverage - 0.4).abs() < 1e-12, "{found:?}");
        // Precisions of 1 and 2/3 over three relevant ones, and none; one of two is hit; 7 and 8 were shown twice, 9 and 1 once.
        assert!((found.map - (1.0 + 2.0 / 3.0) / 6.0).abs() < 1e-12, "{found:?}");
        assert!((found.hit_rate - 0.5).abs() < 1e-12, "{found:?}");
        assert!((found.novelty.unwrap() - (2.0 + 4.0 + 3.0 + 4.0) / 6.0).abs() < 1e-12, "{found:?}");
        // Two values, that and 0: the standard error of their mean is a half of the first over the root of two.
        assert!((found.ndcg_interval - 1.96 * 0.5 * first / 2f64.sqrt()).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_choice_has_as_many_as_asked_for_and_is_the_same_again() {
        let all: Vec<u32> = (0..100).collect();
        let some = choose(all.clone(), 10, 1);
        assert_eq!(some.len(), 10);
        assert!(some.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(some, choose(all.clone(), 10, 1));
        assert_ne!(some, choose(all.clone(), 10, 2));
        assert_eq!(choose(all.clone(), 1000, 1), all);
    }
}
