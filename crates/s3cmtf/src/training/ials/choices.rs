//! Choices in the order that each mode needs them, and what each counts.

use crate::problem::Entries;
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
    /// By the rows of each mode: the items come last, in their own view the users do. Values are what choices count.
    pub(super) views: Vec<View>,
    /// In the order of the items' view, the share of the user's choices that were made in the context; empty if there is no
    /// other mode.
    shares: Vec<f32>,
    /// For each user what their choices count, and how many there are.
    weights: Vec<f32>,
    counts: Vec<f32>,
    /// The mean over choices of [`USER_POWER`], which `weights` are divided by.
    mean: f64,
    /// For each mode what its rows' regulariser is multiplied by; empty if that is 1.
    ridges: Vec<Vec<f64>>,
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
        let counts: Vec<f32> = (0..rows[users]).map(|row| views[users].places(row).len() as f32).collect();
        let mut shares = Vec::new();
        if order > 2 {
            // Runs of the users' view are contexts; each entry is given the size of its own, and then sorted as the items need it.
            let (mut by_user, mut values) = (vec![Vec::new(); order], Vec::new());
            for run in views[users].runs(0..views[users].len()) {
                let share = run.last.len() as f32 / counts[run.head[0] as usize];
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
        let mut ridges = vec![Vec::new(); order];
        ridges[items] = scaled((0..rows[items]).map(|row| views[items].places(row).len()), ITEM_POWER);
        let mean = mean_power((0..rows[users]).map(|row| views[users].places(row).len()), USER_POWER);
        let choices = Choices {
            users,
            items,
            rows: rows.to_vec(),
            views,
            shares,
            weights: Vec::new(),
            counts,
            mean,
            ridges,
        };
        choices.weighed_by(mean)
    }

    /// The same with what users count by a mean over other choices.
    pub(super) fn weighed_by(mut self, mean: f64) -> Self {
        let users = &self.views[self.users];
        let weight = |row: usize| (power(users.places(row).len(), USER_POWER) / mean) as f32;
        self.weights = (0..users.rows()).map(weight).collect();
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
        let known = |row: usize| !self.views[mode].places(row).is_empty();
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
        self.views[0].len()
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
        run.last.len() as f32 / self.counts[user as usize]
    }

    /// The share of the user's choices that were made in the same context as the one at a place of the items' view.
    pub(super) fn share_at(&self, place: usize) -> f32 {
        self.shares.get(place).copied().unwrap_or(1.0)
    }

    /// What the regulariser of a row is multiplied by.
    pub(super) fn ridge(&self, mode: usize, row: usize) -> f64 {
        self.ridges[mode].get(row).copied().unwrap_or(1.0)
    }

    /// A regulariser about as strong as chance: of as many choices made at random, the largest singular value but the first is about
    /// `sqrt(p) (sqrt(users) + sqrt(items))`, where p is the share of cells that are chosen.
    pub(super) fn usual_lambda(&self) -> f64 {
        let used = |mode: usize| {
            let view = &self.views[mode];
            (0..view.rows()).filter(|&row| !view.places(row).is_empty()).count() as f64
        };
        let (users, items) = (used(self.users).max(1.0), used(self.items).max(1.0));
        CHANCE * (self.len() as f64 / (users * items)).sqrt() * (users.sqrt() + items.sqrt())
    }
}

/// A power of counts, such that its mean over all that is counted is 1.
fn scaled(counts: impl Iterator<Item = usize> + Clone, exponent: f64) -> Vec<f64> {
    let mean = mean_power(counts.clone(), exponent);
    counts.map(|count| power(count, exponent) / mean).collect()
}

/// The mean of a power of counts over all that is counted.
fn mean_power(counts: impl Iterator<Item = usize>, exponent: f64) -> f64 {
    let (all, sum) = counts.fold((0.0, 0.0), |(all, sum), count| {
        let each = count as f64;
        (all + each, sum + each * power(count, exponent))
    });
    if sum > 0.0 { sum / all } else { 1.0 }
}

fn power(count: usize, exponent: f64) -> f64 {
    (count.max(1) as f64).powf(exponent)
}
