//! How much memory a run takes.

use super::bayes;
use crate::params::{Algorithm, CoreKind, OptimizerKind, Params, Shuffle, ZerosUpdate};
use crate::problem::Problem;

/// Bytes that a run takes, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What cannot be anywhere else: rows, the core, coupled matrices.
    pub model: usize,
    /// The tensor's entries, unless they are stored: see [`Training::stored`](crate::Training::stored).
    pub entries: usize,
}

impl Memory {
    /// What a run on a problem with so many entries takes; those that the problem itself has do not count.
    pub fn estimate(problem: &Problem, entries: usize, params: &Params) -> Self {
        let order = problem.order();
        let rows = problem.modes().iter().map(|mode| mode.rows());
        let ranks = if params.is_auto() {
            vec![bayes::most(rows.clone().sum(), entries); order]
        } else {
            params.ranks_for(order)
        };
        let coupled: usize = problem.coupled().iter().map(|matrix| matrix.entries().len()).sum();
        // Numbers of 4 bytes each.
        let (model, entries) = match params.algorithm {
            Algorithm::Bayes => {
                // Half a square for the distribution of its mean, and the row itself in some places.
                let row = |rank: usize| rank * (rank + 1) / 2 + 8 * rank;
                let rows: usize = rows.zip(&ranks).map(|(rows, &rank)| rows * row(rank)).sum();
                // As they came, those of them that are not held out, and in the order of each mode: a value and a row, and
                // what runs and the sort need.
                (rows + 12 * coupled, entries * ((order + 1) * (order + 2)))
            }
            Algorithm::Sgd => {
                let rows: usize = rows.zip(&ranks).map(|(rows, &rank)| rows * 3 * (rank + 1)).sum();
                let zeros = match params.zeros_update {
                    ZerosUpdate::Implicit => 0,
                    ZerosUpdate::PerCell => problem.zeros_cells().unwrap_or(usize::MAX / 64),
                };
                // An order of its own for each epoch, and each entry's chunk.
                let order_of = if params.shuffle == Shuffle::EveryEpoch { 2 } else { 0 };
                (rows + 6 * (coupled + zeros), entries * (order + 4 + order_of))
            }
            Algorithm::Als => {
                // Numbers of 8 bytes: a state, the best one, and one that is being solved for.
                let rows: usize = rows.zip(&ranks).map(|(rows, &rank)| rows * 6 * rank).sum();
                // As they came, and in the order of each mode.
                (rows + 6 * coupled, entries * (order + 1) * (order + 1))
            }
            Algorithm::Ials => {
                // A state, the best one, and one that is being solved for.
                let rows: usize = rows.zip(&ranks).map(|(rows, &rank)| rows * 3 * rank).sum();
                // Where there are circumstances, choices without them, too.
                let pairs = if order > 2 { 7 } else { 0 };
                (rows + 6 * coupled, entries * ((order + 1) * 2 + 2 * order + pairs))
            }
            Algorithm::CmtfOpt | Algorithm::CmtfAls | Algorithm::Sals | Algorithm::TuckerAls => {
                // Numbers of 8 bytes: states, gradients and steps that are remembered; what is summed up for a row.
                let row = |mode: usize| match (params.algorithm, params.optimizer) {
                    (Algorithm::CmtfOpt, OptimizerKind::Lbfgs) => 28 * ranks[mode],
                    (Algorithm::TuckerAls, _) => {
                        let others = ranks.iter().enumerate().filter(|&(other, _)| other != mode);
                        others
                            .fold(1usize, |size, (_, &rank)| size.saturating_mul(rank))
                            .saturating_add(6 * ranks[mode])
                    }
                    _ => 8 * ranks[mode],
                };
                let wide: Vec<usize> =
                    rows.clone().enumerate().map(|(mode, rows)| rows.saturating_mul(row(mode))).collect();
                // Only one mode at a time is that wide in tucker-als.
                let numbers = if params.algorithm == Algorithm::TuckerAls {
                    wide.into_iter().max().unwrap_or(0)
                } else {
                    wide.into_iter().fold(0, usize::saturating_add)
                };
                let residuals = if params.algorithm == Algorithm::Sals { order } else { 0 };
                // As they came, and in the order of each mode.
                (numbers.saturating_mul(2) + 6 * coupled, entries * ((order + 1) * (order + 1) + residuals))
            }
        };
        // Ranks that are found are bounded by their core, too.
        let core: usize = match (params.core, params.algorithm) {
            _ if params.is_auto() => 0,
            // That of draws, which have fewer concepts in each mode than the model has columns.
            (CoreKind::Diagonal, Algorithm::Bayes) => {
                bayes::concepts(order, ranks[0]).saturating_pow(order as u32)
            }
            (CoreKind::Diagonal, _) => ranks[0],
            (CoreKind::Full, _) => ranks.iter().product(),
        };
        Memory {
            model: core.saturating_mul(80).saturating_add(model).saturating_mul(4),
            entries: 4 * entries,
        }
    }
}
