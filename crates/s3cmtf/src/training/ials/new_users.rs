//! Rows of users who came after training, given the rows of the items that they chose.

use s3cmtf_kernels::Level;

use super::choices::Choices;
use super::setting::Setting;
use super::sweep::{Objective, State};
use crate::model::{Choice, ChoiceWeights};
use crate::problem::Entries;

/// What rows of others can be found by.
pub(super) fn weights(choices: &Choices, setting: Setting, confidence: f32) -> ChoiceWeights {
    ChoiceWeights { lambda: setting.lambda, absent: setting.absent, confidence, mean: choices.mean() }
}

/// The rows that fit the choices of `users` new users best (docs/method.md eq. I2). `others` has the rows of all modes but theirs,
/// in order.
pub(in crate::training) fn rows_of_new_users(
    weights: ChoiceWeights,
    entries: &Entries,
    users: usize,
    others: Vec<Vec<f32>>,
    rank: usize,
) -> Vec<f32> {
    let [mode, items] = Choice::MODES;
    let mut factors = others;
    factors.insert(mode, vec![0.0; users * rank]);
    let rows: Vec<usize> = factors.iter().map(|factor| factor.len() / rank).collect();
    let choices = Choices::new(entries, &rows, mode, items, weights.confidence).weighed_by(weights.mean);
    // How strongly rows of contexts are held matters to these rows alone, but for whether they are 1.
    let fixed = factors.iter().skip(Choice::MODES.len()).flatten().all(|&value| value == 1.0);
    let context = if fixed { f64::INFINITY } else { 1.0 };
    let setting = Setting { lambda: weights.lambda, absent: weights.absent, context, couple: 0.0 };
    let choices = choices.under(setting);
    let objective = Objective { choices, matrices: &[], setting, rank, level: Level::best() };
    objective.solve_rows(&State { factors, columns: Vec::new() }, mode)
}
