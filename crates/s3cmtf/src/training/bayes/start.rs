//! A model before its first draw.

use super::augmentation::{self, Augmentation};
use super::core::{CoreState, OFFSET};
use super::coupled::Matrix;
use super::mean::Mean;
use super::noise::Noise;
use super::random::{Streams, normal};
use super::schedule::Schedule;
use super::sums::Workspace;
use super::zeros::Zeros;
use super::{Sampler, calibration, diagonal, posterior, widest};
use crate::Error;
use crate::layout::EntryStats;
use crate::model::{Factor, Model};
use crate::nodes::Nodes;
use crate::parallel;
use crate::params::{BayesParams, CommonParams, CoreKind};
use crate::problem::{Chosen, EntrySource, Problem};

/// What offsets start with, the variance of all interactions of two modes, and how random the rest is, which is the smaller
/// the more modes interact.
const OFFSETS: f32 = 0.5;
const PAIRS: f32 = 0.1;
const RANDOM: f32 = 0.03;
const SMALL: f32 = 0.1;

/// A sampler that has no entries yet.
pub(super) struct Prepared {
    pub(super) sampler: Sampler,
    /// Which entries are held out at first, see [`calibration`].
    pub(super) held: Option<Chosen>,
}

impl Prepared {
    pub(super) fn new(
        problem: &Problem,
        entries: &EntrySource,
        params: &BayesParams,
        warm: Option<&Model>,
        nodes: &Nodes,
    ) -> Result<Self, Error> {
        let order = problem.order();
        let rows: Vec<usize> = problem.modes().iter().map(|mode| mode.rows()).collect();
        let EntryStats { counts, range, mean, spread, .. } = EntryStats::new(entries, &rows, nodes)?;
        let BayesParams { common, without, likelihood, .. } = params;
        let augmentation = match entries {
            EntrySource::Memory(entries) => Augmentation::new(*likelihood, entries.values()),
            // Those of another likelihood are in memory: the settings are checked for it.
            EntrySource::Stored(_) => None,
        };
        let zeros = params.absent_weight.map(|weight| Zeros::new(weight.into(), &rows));
        // Values as they are, where it is their linear predictor that is centred; zeros stay zeros.
        let (mean, spread, unit) = match (&augmentation, zeros) {
            (Some(own), _) => (own.mean, own.spread, 1.0),
            (None, Some(zeros)) => {
                let unit = zeros.spread(mean * mean + spread * spread, entries.len() as f64);
                (0.0, unit, unit)
            }
            (None, None) => (mean, spread, spread),
        };
        let range = if zeros.is_some() { [range[0].min(0.0), range[1].max(0.0)] } else { range };
        let CommonParams { epochs, seed, level, .. } = *common;
        let auto = common.is_auto() && warm.is_none();
        let diagonal = common.core == CoreKind::Diagonal;
        let ranks: Vec<usize> = match warm {
            _ if auto => widest(&counts, diagonal, augmentation::information(*likelihood)),
            Some(model) if common.is_auto() => model.factors().iter().map(Factor::rank).collect(),
            _ => common.ranks.clone(),
        };
        let inner = |rank: usize| if diagonal && !auto { diagonal::concepts(order, rank) } else { rank };
        let ranks: Vec<usize> = ranks.into_iter().map(inner).collect();
        let schedule = Schedule::fixed(epochs);
        // An entry that is held out would be a zero.
        let held = match zeros {
            None => calibration::choose(entries, &schedule, seed, nodes)?,
            Some(_) => None,
        };
        let settles = params.tolerance > 0.0 && held.is_some();
        let schedule = if settles { Schedule::settling(epochs, params.tolerance) } else { schedule };
        let matrices = problem.coupled().iter().zip(0..).map(|(matrix, number)| {
            let mode = matrix.mode();
            Matrix::new(matrix, number, rows[mode], ranks[mode], unit)
        });
        let factors = (0..order).map(|mode| start_rows(rows[mode], ranks[mode], seed, mode)).collect();
        let mut sampler = Sampler {
            auto,
            level,
            seed,
            without: without.clone(),
            schedule,
            mean,
            spread,
            augmentation,
            zeros,
            views: Vec::new(),
            lead: 0,
            factors,
            core: CoreState::new(&ranks, start_core(&ranks, diagonal, seed), diagonal, without),
            matrices: matrices.collect(),
            average: Mean::new(&ranks, rows.iter().map(|_| 0), without),
            noise: Noise::new(counts),
            scale: None,
            calibration: None,
            watched: None,
            epoch: 0,
            workspace: Workspace::default(),
            nodes: nodes.clone(),
            parts: None,
            frame: Model {
                absent_weight: params.absent_weight,
                ..posterior::frame(problem, &ranks, range, *likelihood)
            },
            ranks,
        };
        if let Some(warm) = warm {
            sampler.take_over(warm)?;
        }
        Ok(Prepared { sampler, held })
    }
}

/// Random rows: the first concept is 1, the others are normal.
fn start_rows(rows: usize, rank: usize, seed: u64, mode: usize) -> Vec<f32> {
    let start = Streams { seed, epoch: 0 };
    let mut values = vec![1.0; rows * rank];
    parallel::chunks_mut(&mut values, rank, |row, values| {
        let mut generator = start.row(mode, row);
        values[1..].iter_mut().for_each(|value| *value = normal(&mut generator) as f32);
    });
    values
}

/// A core in which the second concept of each mode is its offset and like concepts of two modes interact; the rest is random
/// and weak, so that concepts differ from the start. Where the core is diagonal, like concepts of all modes interact.
fn start_core(ranks: &[usize], diagonal: bool, seed: u64) -> Vec<f32> {
    let mut generator = Streams { seed, epoch: 0 }.start_core();
    let pairs = ranks.iter().map(|&rank| rank.saturating_sub(1)).min().unwrap_or(1).max(1);
    let pair = (PAIRS / pairs as f32).sqrt();
    let together = if diagonal { ranks.len() } else { 2 };
    let value = |index: Vec<usize>| {
        let active: Vec<usize> = index.into_iter().filter(|&j| j > 0).collect();
        match active.as_slice() {
            [] => 0.0,
            [OFFSET] => OFFSETS,
            [a, rest @ ..] if rest.len() + 1 == together && rest.iter().all(|b| a == b) => pair,
            _ => RANDOM * SMALL.powi(active.len() as i32) * normal(&mut generator) as f32,
        }
    };
    crate::layout::concepts(ranks).map(value).collect()
}
