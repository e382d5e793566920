//! Choices in the order that each mode needs them, and what each counts.

use std::ops::Range;

use super::setting::Setting;
use crate::Error;
use crate::layout::{Share, routed};
use crate::nodes::{ALONE, Nodes};
use crate::problem::{Entries, EntrySource};
use crate::training::frame::narrow;
use crate::training::view::{Run, View};

/// A user's choices count less, the more there are: by this power of their number, so that those who choose everything do not
/// decide for all others.
const USER_POWER: f64 = -0.5;
/// The rows of items that are chosen often are regularised more, by this power of how often.
const ITEM_POWER: f64 = 0.5;
/// The part of what chance comes to that the usual regulariser is.
const CHANCE: f64 = 0.7;

/// The choices of a problem.
pub(super) struct Choices {
    /// The mode of those who choose, and of what they choose from.
    pub(super) users: usize,
    pub(super) items: usize,
    pub(super) rows: Vec<usize>,
    /// By the rows of each mode: the items come last, in their own view the users do. Values are what choices count. Where nodes
    /// share the choices, a view has those of the node's own rows.
    pub(super) views: Vec<View>,
    /// For each mode the rows that are solved for here, which are all of them unless nodes share the choices.
    pub(super) own: Vec<Range<usize>>,
    pub(super) nodes: Nodes,
    /// In the order of the items' view, the share of the user's choices that were made in the context; empty if there is no
    /// other mode.
    shares: Vec<f32>,
    /// For each user what their choices count.
    weights: Vec<f32>,
    /// For each mode how many choices each row has, those of all nodes.
    pub(super) counts: Vec<Vec<u32>>,
    /// The mean over choices of [`USER_POWER`], which `weights` are divided by.
    mean: f64,
    /// For each mode what its rows' regulariser is multiplied by; empty if that is 1.
    ridges: Vec<Vec<f64>>,
    /// Where there are other modes, the same without them: each user's choices, in whatever circumstances they were made.
    pairs: Option<Box<Choices>>,
}

impl Choices {
    /// Takes up entries; a choice of value v counts 1 + `confidence` v.
    pub(super) fn new(
        entries: &Entries,
        rows: &[usize],
        users: usize,
        items: usize,
        confidence: f32,
    ) -> Self {
        let order = rows.len();
        let weight = |value: f32| 1.0 + confidence * value.max(0.0);
        let modes = |mode: usize| {
            let last = if mode == items { users } else { items };
            let mut between: Vec<usize> =
                (0..order).filter(|&other| other != mode && other != last).collect();
            between.sort_by_key(|&other| rows[other]);
            [vec![mode], between, vec![last]].concat()
        };
        let views: Vec<View> =
            (0..order).map(|mode| View::weighted(entries, modes(mode), rows, weight)).collect();
        let counts: Vec<Vec<u32>> = (0..order).map(|mode| count(entries, mode, rows[mode])).collect();
        let mut shares = Vec::new();
        if order > 2 {
            // Runs of the users' view are contexts; each entry is given the size of its own, and then sorted as the items need it.
            let (mut by_user, mut values) = (vec![Vec::new(); order], Vec::new());
            for run in views[users].runs(0..views[users].len()) {
                let share = run.last.len() as f32 / counts[users][run.head[0] as usize] as f32;
                for &item in run.last {
                    for (&mode, &row) in views[users].modes.iter().zip(run.head.iter().chain([&item])) {
                        by_user[mode].push(row);
                    }
                    values.push(share);
                }
            }
            let shared = Entries::from_rows(String::new(), by_user, values);
            let view = View::ordered(&shared, modes(items), rows);
            shares = view.runs(0..view.len()).flat_map(|run| run.values.to_vec()).collect();
        }
        let pairs = (order > 2).then(|| {
            let pairs = entries.of_first_modes(2);
            Choices::new(&pairs, &rows[..2], users, items, confidence).into()
        });
        let own = rows.iter().map(|&rows| 0..rows).collect();
        Choices { shares, pairs, ..Choices::of_views(views, counts, (users, items), own) }
    }

    /// Takes up pairs of a user and an item, of which nodes may share those of all, for rows of this rank.
    pub(super) fn of_pairs(
        pairs: Entries,
        rows: [usize; 2],
        rank: usize,
        nodes: &Nodes,
    ) -> Result<Self, Error> {
        if !nodes.is_shared() {
            return Ok(Choices::new(&pairs, &rows, 0, 1, 0.0));
        }
        let counts = [0, 1].map(|mode| nodes.add_counts(count(&pairs, mode, rows[mode])));
        let counts: Vec<Vec<u32>> = counts.into_iter().collect::<Result<_, Error>>()?;
        let pairs = EntrySource::Memory(pairs);
        let (mut views, mut own) = (Vec::new(), Vec::new());
        for (mode, counts) in counts.iter().enumerate() {
            let shares = Share::of_rows(counts, nodes.count(), rank);
            let entries = routed(&pairs, mode, &shares, nodes)?;
            views.push(View::ordered(&entries, vec![mode, 1 - mode], &rows));
            own.push(shares[nodes.own()].rows.clone());
        }
        Ok(Choices { nodes: nodes.clone(), ..Choices::of_views(views, counts, (0, 1), own) })
    }

    /// No choices of no one.
    pub(super) fn none() -> Self {
        Choices::of_views(Vec::new(), vec![Vec::new(); 2], (0, 1), Vec::new())
    }

    fn of_views(
        views: Vec<View>,
        counts: Vec<Vec<u32>>,
        (users, items): (usize, usize),
        own: Vec<Range<usize>>,
    ) -> Self {
        let mut ridges = vec![Vec::new(); counts.len()];
        ridges[items] = scaled(&counts[items], ITEM_POWER);
        let mean = mean_power(&counts[users], USER_POWER);
        let choices = Choices {
            users,
            items,
            rows: counts.iter().map(Vec::len).collect(),
            views,
            own,
            nodes: ALONE.clone(),
            shares: Vec::new(),
            weights: Vec::new(),
            counts,
            mean,
            ridges,
            pairs: None,
        };
        choices.weighed_by(mean)
    }

    /// The choices that an objective is about: where rows of circumstances are 1, which choice was made in which makes no
    /// difference, and one that was made in some of them is no zero in the others.
    pub(super) fn under(&self, setting: Setting) -> &Self {
        self.pairs.as_deref().filter(|_| setting.context.is_infinite()).unwrap_or(self)
    }

    /// The same with what users count by a mean over other choices.
    pub(super) fn weighed_by(mut self, mean: f64) -> Self {
        let weight = |&count: &u32| (power(count, USER_POWER) / mean) as f32;
        self.pairs = self.pairs.map(|pairs| pairs.weighed_by(mean).into());
        self.weights = self.counts[self.users].iter().map(weight).collect();
        self.mean = mean;
        self
    }

    /// The mean over choices that users are weighed by.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// The rows of a mode, of which those that nothing is known of are the average of the others: new users are offered what most choose.
    /// Items that nobody has chosen stay at the end of every list.
    pub(super) fn filled(&self, mode: usize, values: &[f32], rank: usize) -> Vec<f32> {
        let mut values = values.to_vec();
        let known = |row: usize| self.counts[mode][row] > 0;
        let rows: Vec<usize> = (0..self.rows[mode]).filter(|&row| known(row)).collect();
        if mode == self.items || rows.is_empty() {
            return values;
        }
        let mut average = vec![0.0f64; rank];
        for &row in &rows {
            let row = &values[row * rank..][..rank];
            average
                .iter_mut()
                .zip(row)
                .for_each(|(sum, &value)| *sum += f64::from(value) / rows.len() as f64);
        }
        for row in (0..self.rows[mode]).filter(|&row| !known(row)) {
            let row = &mut values[row * rank..][..rank];
            row.iter_mut().zip(&average).for_each(|(value, &average)| *value = narrow(average));
        }
        values
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.counts[0].iter().map(|&count| count as usize).sum()
    }

    /// The modes beside users and items.
    pub(super) fn contexts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows.len()).filter(|&mode| mode != self.users && mode != self.items)
    }

    /// What a user's cells count.
    pub(super) fn weight(&self, user: u32) -> f32 {
        self.weights[user as usize]
    }

    /// The user of a run of any view but that of the items.
    pub(super) fn user(&self, view: &View, run: &Run<'_>) -> u32 {
        let place = view.modes.iter().position(|&mode| mode == self.users).unwrap_or(0);
        run.head[place]
    }

    /// The share of the user's choices that are in a run, which is a context.
    pub(super) fn share(&self, user: u32, run: &Run<'_>) -> f32 {
        run.last.len() as f32 / self.counts[self.users][user as usize] as f32
    }

    /// The share of the user's choices that were made in the same context as the one at a place of the items' view.
    pub(super) fn share_at(&self, place: usize) -> f32 {
        self.shares.get(place).copied().unwrap_or(1.0)
    }

    /// What the regulariser of a row is multiplied by.
    pub(super) fn ridge(&self, mode: usize, row: usize) -> f64 {
        self.ridges[mode].get(row).copied().unwrap_or(1.0)
    }

    /// The usual regulariser of these choices.
    pub(super) fn usual_lambda(&self) -> f64 {
        let counts = [self.users, self.items].map(|mode| &self.counts[mode]);
        usual_lambda(&counts, self.pairs.as_deref().unwrap_or(self).len())
    }
}

/// A regulariser about as strong as chance: of as many choices made at random, the largest singular value but the first is about
/// `sqrt(p) (sqrt(users) + sqrt(items))`, where p is the share of pairs that are chosen. Given how often users choose and items are
/// chosen, and the number of such pairs.
pub(super) fn usual_lambda(counts: &[impl AsRef<[u32]>; 2], pairs: usize) -> f64 {
    let used = counts.each_ref().map(|counts| counts.as_ref().iter().filter(|&&count| count > 0).count());
    let [users, items] = used.map(|used| (used as f64).max(1.0));
    CHANCE * (pairs as f64 / (users * items)).sqrt() * (users.sqrt() + items.sqrt())
}

/// How many entries each row of a mode has.
pub(super) fn count(entries: &Entries, mode: usize, rows: usize) -> Vec<u32> {
    let mut counts = vec![0; rows];
    entries.indices(mode).iter().for_each(|&row| counts[row as usize] += 1);
    counts
}

/// A power of counts, such that its mean over all that is counted is 1.
fn scaled(counts: &[u32], exponent: f64) -> Vec<f64> {
    let mean = mean_power(counts, exponent);
    counts.iter().map(|&count| power(count, exponent) / mean).collect()
}

/// The mean of a power of counts over all that is counted.
fn mean_power(counts: &[u32], exponent: f64) -> f64 {
    let (all, sum) = counts.iter().fold((0.0, 0.0), |(all, sum), &count| {
        let each = f64::from(count);
        (all + each, sum + each * power(count, exponent))
    });
    if sum > 0.0 { sum / all } else { 1.0 }
}

fn power(count: u32, exponent: f64) -> f64 {
    f64::from(count.max(1)).powf(exponent)
}
