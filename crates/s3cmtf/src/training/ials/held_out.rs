//! How far up choices that were held out are in the ranking.

use super::choices::Choices;
use super::sweep::{Scores, State, dot};
use crate::model::average_row;
use crate::parallel;
use crate::problem::Entries;
use crate::training::view::View;

/// No more users than this are looked at: they say enough.
const MOST: usize = 2000;

/// Places that count: what comes after is not looked at by those to whom it is recommended, and settings that are good there are others.
const TOP: f64 = 20.0;

/// Choices that were held out.
pub(super) struct HeldOut {
    /// By users, and by circumstances but `times`.
    view: View,
    users: Vec<usize>,
    times: Vec<usize>,
}

impl HeldOut {
    /// Takes up entries that are not among the given choices. Modes of `times` are at their average row, as they are in a list: it
    /// is made later than all of them, and what is chosen in a month says how that one was.
    pub(super) fn new(entries: &Entries, choices: &Choices, times: Vec<usize>) -> Self {
        let mut modes = choices.views[choices.users].modes.clone();
        modes.retain(|mode| !times.contains(mode));
        let view = View::ordered(entries, modes, &choices.rows);
        let known = |&user: &usize| {
            !view.places(user).is_empty() && !choices.views[choices.users].places(user).is_empty()
        };
        let users: Vec<usize> = (0..view.rows()).filter(known).collect();
        let step = users.len().div_ceil(MOST).max(1);
        HeldOut { users: users.into_iter().step_by(step).collect(), view, times }
    }

    /// How many users have some.
    pub(super) fn users(&self) -> usize {
        self.users.len()
    }

    /// For each user the normalised discounted cumulative gain of the first [`TOP`], without what they chose before.
    pub(super) fn gains(&self, choices: &Choices, state: &State, rank: usize) -> Vec<f64> {
        let items = self.items(choices, state, rank);
        let before = &choices.views[choices.users];
        let one = |(scores, shared): &mut (Vec<f32>, Scores<'_>), &user: &usize| {
            let (mut gain, mut ideal) = (0.0, 0.0);
            for run in self.view.row_runs(user..user + 1) {
                let head = shared.shared(state, &run);
                scores.clear();
                scores.extend(items.chunks_exact(rank).map(|item| dot(head, item)));
                for run in before.row_runs(user..user + 1) {
                    run.last.iter().for_each(|&seen| scores[seen as usize] = f32::NEG_INFINITY);
                }
                // What was chosen at several times is there more than once, one beside the other.
                for (place, item) in run.last.chunk_by(|a, b| a == b).map(|same| same[0]).enumerate() {
                    let own = scores[item as usize];
                    let above = scores.iter().filter(|&&score| score > own).count() as f64;
                    // Of equal ones, half come first.
                    let equal = scores.iter().filter(|&&score| score == own).count() as f64;
                    gain += discount(above + 0.5 * (equal - 1.0));
                    ideal += discount(place as f64);
                }
            }
            gain / ideal
        };
        parallel::map_with(&self.users, || (Vec::new(), Scores::new(&self.view, rank)), one)
    }

    /// The rows of items, times the average rows of modes of times.
    fn items(&self, choices: &Choices, state: &State, rank: usize) -> Vec<f32> {
        let mut items = state.factors[choices.items].clone();
        for &mode in &self.times {
            let average = average_row(&choices.filled(mode, &state.factors[mode], rank), rank);
            for item in items.chunks_exact_mut(rank) {
                item.iter_mut().zip(&average).for_each(|(value, average)| *value *= average);
            }
        }
        items
    }
}

/// Whether some gains are better than others of the same users, by more than chance: by one standard error of the mean difference.
pub(super) fn is_better(gains: &[f64], than: &[f64]) -> bool {
    let count = gains.len() as f64;
    let differences = || gains.iter().zip(than).map(|(gain, than)| gain - than);
    let mean = differences().sum::<f64>() / count;
    let variance = differences().map(|difference| (difference - mean).powi(2)).sum::<f64>() / count;
    mean > 0.0 && mean >= (variance / count).sqrt()
}

/// What an item counts that so many are before.
fn discount(before: f64) -> f64 {
    if before < TOP { 1.0 / (before + 2.0).log2() } else { 0.0 }
}
