//! The default algorithm: draws from the distribution of all models that explain the data, and their mean.
//!
//! Every number of the model is drawn in turn given all others (Gibbs sampling): rows mode by mode, the columns of coupled
//! matrices, the core, and how much everything scatters, so that nothing has to be tuned. One pass over all of it is an
//! epoch. Every number is drawn from a generator of its own, so threads change nothing. docs/method.md has the model.

mod augmentation;
mod calibration;
mod conditional;
mod core;
mod coupled;
mod diagonal;
mod draws;
mod engine;
mod graph;
mod log_gamma;
mod mean;
mod noise;
mod pass;
mod posterior;
mod random;
mod rank;
mod regression;
mod rows;
mod state;
mod sums;
#[cfg(test)]
mod tests;

pub(super) use diagonal::concepts;
pub(super) use engine::BayesEngine;
pub(super) use noise::counted;
pub(super) use rank::{most, widest};

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use self::augmentation::Augmentation;
use self::calibration::Calibration;
use self::conditional::RowConditional;
use self::core::{CoreState, OFFSET};
use self::coupled::Matrix;
use self::mean::{Mean, NaturalParams};
use self::noise::Noise;
use self::pass::Pass;
use self::random::{Streams, gamma, normal};
use crate::Error;
use crate::layout::{Arranged, Arrangement, EntryStats, MemoryBudget, View};
use crate::likelihood::{self, Likelihood};
use crate::model::{Factor, Model, StdScale, average_row};
use crate::nodes::Nodes;
use crate::params::{BayesParams, CommonParams, Component, CoreKind};
use crate::problem::{EntrySource, Problem};

/// The core stays as it starts until the rows have found their places in it.
const CORE_FROM: u64 = 4;
/// The share of epochs before draws are typical and count.
const EARLY: f64 = 0.75;
/// What offsets start with, the variance of all interactions of two modes, and how random the rest is, which is the smaller
/// the more modes interact.
const OFFSETS: f32 = 0.5;
const PAIRS: f32 = 0.1;
const RANDOM: f32 = 0.03;
const SMALL: f32 = 0.1;

/// How many of so many epochs are over before draws count.
pub(super) fn early(epochs: usize) -> usize {
    (EARLY * epochs as f64) as usize
}

/// A problem and the state of its model.
pub(crate) struct Sampler {
    ranks: Vec<usize>,
    /// Whether concepts that are of no use may go.
    auto: bool,
    level: s3cmtf_kernels::Level,
    seed: u64,
    without: Vec<Component>,
    early: u64,
    /// What the tensor's values were centred by and divided by; their linear predictor, where the likelihood is not Gaussian.
    mean: f64,
    spread: f64,
    /// The likelihood, if it is not Gaussian.
    augmentation: Option<Augmentation>,
    views: Vec<View>,
    /// The view with the longest runs.
    lead: usize,
    factors: Vec<Vec<f32>>,
    core: CoreState,
    matrices: Vec<Matrix>,
    noise: Noise,
    average: Mean,
    /// What standard deviations are multiplied by, once that is known.
    scale: Option<StdScale>,
    /// As long as entries are held out: those, and all entries.
    calibration: Option<(Calibration, EntrySource)>,
    epoch: u64,
    /// The nodes that share the entries.
    nodes: Nodes,
    /// The model without its numbers.
    frame: Model,
}

/// Entries to evaluate on.
pub(crate) struct Evaluation(View);

impl Sampler {
    /// Takes up a problem and its entries; those that are not in memory are put in the room that there is.
    ///
    /// # Errors
    /// If the model to start from has not the form of those that come out here, or entries cannot be read.
    pub(crate) fn new(
        problem: &Problem,
        entries: EntrySource,
        params: &BayesParams,
        warm: Option<&Model>,
        budget: Option<&MemoryBudget>,
        nodes: &Nodes,
    ) -> Result<Self, Error> {
        let order = problem.order();
        let rows: Vec<usize> = problem.modes().iter().map(|mode| mode.rows()).collect();
        let EntryStats { counts, range, mean, spread, .. } = EntryStats::new(&entries, &rows, nodes)?;
        let BayesParams { common, without, likelihood } = params;
        let augmentation = match &entries {
            EntrySource::Memory(entries) => Augmentation::new(*likelihood, entries.values()),
            // Those of another likelihood are in memory: the settings are checked for it.
            EntrySource::Stored(_) => None,
        };
        // Values as they are, where it is their linear predictor that is centred.
        let (mean, spread, scale) = match &augmentation {
            Some(own) => (own.mean, own.spread, (0.0, 1.0)),
            None => (mean, spread, (mean, spread)),
        };
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
        let (kept, held) = calibration::split(&entries, epochs, seed, nodes)?.unzip();
        let first = kept.as_ref().unwrap_or(&entries);
        let arrangement = Arrangement { rows: &rows, ranks: &ranks, level, scale, budget, nodes };
        let Arranged { views, lead, counts } = arrangement.all(first)?;
        drop(kept);
        let matrices = problem.coupled().iter().zip(0..).map(|(matrix, number)| {
            let mode = matrix.mode();
            Matrix::new(matrix, number, counts[mode].len(), ranks[mode], scale.1)
        });
        let factors: Vec<Vec<f32>> =
            (0..order).map(|mode| start_rows(counts[mode].len(), ranks[mode], seed, mode)).collect();
        let mut sampler = Sampler {
            auto,
            level,
            seed,
            without: without.clone(),
            early: early(epochs) as u64,
            mean,
            spread,
            augmentation,
            lead,
            factors,
            core: CoreState::new(&ranks, start_core(&ranks, diagonal, seed), diagonal, without),
            matrices: matrices.collect(),
            average: Mean::new(&ranks, views.iter().map(|view| view.own_rows.len()), without),
            noise: Noise::new(counts),
            scale: None,
            calibration: None,
            epoch: 0,
            nodes: nodes.clone(),
            views,
            frame: posterior::frame(problem, &ranks, range, *likelihood),
            ranks,
        };
        if let Some(warm) = warm {
            sampler.take_over(warm)?;
        }
        if let Some(held) = held {
            let arranged = sampler.arrange(held.clone(), budget)?;
            // An answer does not say how certain its probability is; draws do.
            let spreads = *likelihood == Likelihood::Logistic;
            let calibration = Calibration::new(arranged, held, epochs, spreads);
            sampler.calibration = Some((calibration, entries));
        }
        Ok(sampler)
    }

    /// One pass over everything; `false` if it was interrupted on the way.
    ///
    /// # Errors
    /// If entries cannot be read.
    pub(crate) fn epoch(&mut self, interrupt: &AtomicBool) -> Result<bool, Error> {
        self.epoch += 1;
        let epoch = self.epoch;
        let streams = self.streams();
        self.rescale();
        for number in 0..self.matrices.len() {
            let mode = self.matrices[number].mode;
            let means = self.prior_means(mode);
            self.matrices[number].draw(&self.factors[mode], &means, self.noise.tau, streams);
        }
        let rehearses =
            self.calibration.as_ref().is_some_and(|(calibration, _)| calibration.rehearses(epoch));
        let share = (epoch > self.early || rehearses).then(|| self.average.begin());
        for mode in 0..self.ranks.len() {
            let means = self.prior_means(mode);
            let factors: Vec<&[f32]> = self.factors.iter().map(Vec::as_slice).collect();
            let drawn = RowConditional {
                view: &self.views[mode],
                ranks: &self.ranks,
                factors: &factors,
                core: &self.core.values,
                noise: &self.noise,
                augmentation: self.augmentation.as_ref(),
                matrices: &self.matrices,
                means: &means,
                streams,
                without: &self.without,
                nodes: &self.nodes,
                interrupt,
            }
            .draw(share.map(|share| (&mut self.average.natural_params[mode], share)))?;
            let Some(drawn) = drawn else { return Ok(false) };
            self.factors[mode] = drawn.rows;
            let has_noise = self.augmentation.is_none() && !self.without.contains(&Component::RowNoise);
            if epoch >= CORE_FROM && has_noise {
                let levels = self.factors[mode].iter().skip(OFFSET).step_by(self.ranks[mode]);
                let levels: Vec<f32> = levels.copied().collect();
                self.noise.draw_shares(mode, &drawn.squares, &levels, streams);
            }
        }
        let factors: Vec<&[f32]> = self.factors.iter().map(Vec::as_slice).collect();
        let nodes = &self.nodes;
        let roots = self.augmentation.is_none().then_some(&self.noise.roots[..]);
        let pass = Pass::new(&self.views[self.lead], (&self.ranks, &factors), roots, nodes);
        match &mut self.augmentation {
            None => {
                let squares = self.core.draw(&pass, self.noise.tau, epoch >= CORE_FROM, streams)?;
                self.noise.draw_tau(squares, self.entries(), streams);
            }
            Some(augmentation) if epoch >= CORE_FROM => {
                self.core.draw_augmented(&pass, augmentation, streams)?;
            }
            Some(_) => {}
        }
        self.calibrate()?;
        if let Some(share) = share {
            let (tau, (_, spread)) = (self.noise.tau, self.value_scale());
            let matrices = self.matrices.iter().map(|matrix| (matrix.columns(), matrix.weight(tau, spread)));
            self.average.end(share, &self.core.values, matrices, &self.noise);
        }
        Ok(true)
    }

    fn streams(&self) -> Streams {
        Streams { seed: self.seed, epoch: self.epoch }
    }

    /// Makes the prior of interactions as tight as the entries held out ask for.
    fn calibrate(&mut self) -> Result<(), Error> {
        if let Some((calibration, _)) = &mut self.calibration {
            let factors: Vec<&[f32]> = self.factors.iter().map(Vec::as_slice).collect();
            let augmentation = self.augmentation.as_ref();
            let given = (&self.ranks[..], &factors[..], &self.nodes);
            self.noise.hurdle = calibration.precision(self.epoch, given, &self.core, augmentation)?;
        }
        Ok(())
    }

    /// Lets entries take part that were held out so far, if it is time to.
    ///
    /// # Errors
    /// If entries cannot be read.
    pub(super) fn join(&mut self, budget: Option<&MemoryBudget>) -> Result<(), Error> {
        let Some((calibration, entries)) =
            self.calibration.take_if(|(calibration, _)| calibration.is_over(self.epoch))
        else {
            return Ok(());
        };
        let rows: Vec<usize> = self.noise.counts.iter().map(Vec::len).collect();
        if self.average.draws > 0 {
            self.scale = calibration.std_scale(&self.model_so_far(true)?, &self.nodes)?;
            if self.augmentation.is_some() {
                let (factors, core) = self.current(true)?;
                let factors: Vec<&[f32]> = factors.iter().map(Vec::as_slice).collect();
                let pass = Pass::new(calibration.held(), (&self.ranks, &factors), None, &self.nodes);
                let held = pass.each(core, |value, sampled| [value, sampled])?;
                self.augmentation.iter_mut().for_each(|augmentation| augmentation.calibrate(&held));
                if let Some(augmentation) = &self.augmentation {
                    self.scale = calibration.linear_scale(&self.model_so_far(true)?, &held, augmentation)?;
                }
            }
        }
        let counted = self.average.draws > 0;
        // There may be no room for both.
        self.views.clear();
        let scale = self.value_scale();
        let (ranks, level, nodes) = (&self.ranks, self.level, &self.nodes);
        let arranged = Arrangement { rows: &rows, ranks, level, scale, budget, nodes }.all(&entries)?;
        (self.views, self.lead, self.noise.counts) = (arranged.views, arranged.lead, arranged.counts);
        // Draws begin to count anew, and nodes have other rows.
        if counted || self.nodes.is_shared() {
            let rows = self.views.iter().map(|view| view.own_rows.len());
            self.average = Mean::new(&self.ranks, rows, &self.without);
        }
        Ok(())
    }

    /// Whether draws have begun to count for the model that comes out.
    pub(crate) fn is_typical(&self) -> bool {
        self.epoch > self.early && self.average.draws > 0
    }

    /// The means that all matrices give the rows of a mode; empty if none does.
    fn prior_means(&self, mode: usize) -> Vec<f32> {
        let mut sums: Vec<f32> = Vec::new();
        let matrices = self.matrices.iter().filter(|matrix| matrix.mode == mode);
        for means in matrices.filter_map(Matrix::means) {
            if sums.is_empty() {
                sums = means.to_vec();
            } else {
                sums.iter_mut().zip(means).for_each(|(sum, mean)| *sum += mean);
            }
        }
        sums
    }

    /// Brings each concept back to a prior of precision 1; the core and coupled columns take up the difference, and so does the
    /// mean of all of them.
    fn rescale(&mut self) {
        for mode in 0..self.ranks.len() {
            let rank = self.ranks[mode];
            let rows = self.factors[mode].len() / rank;
            let mut generator = self.streams().scales(mode);
            let means = self.prior_means(mode);
            let squares = if means.is_empty() {
                squares(&self.factors[mode], rank)
            } else {
                let rest: Vec<f32> =
                    self.factors[mode].iter().zip(&means).map(|(row, mean)| row - mean).collect();
                squares(&rest, rank)
            };
            let by: Vec<f32> = squares
                .iter()
                .map(|&sum| gamma(&mut generator, 1.0 + 0.5 * rows as f64, 0.5 + 0.5 * sum).sqrt() as f32)
                .collect();
            self.factors[mode].par_chunks_exact_mut(rank).for_each(|row| {
                row.iter_mut().zip(&by).skip(1).for_each(|(value, by)| *value *= by);
            });
            self.average.rescale(mode, &by, &self.ranks, &self.matrices);
            for (k, &by) in by.iter().enumerate().skip(1) {
                self.core.rescale(mode, k, by);
                let coupled = self.matrices.iter_mut().filter(|matrix| matrix.mode == mode);
                coupled.for_each(|matrix| matrix.rescale(k, by));
            }
        }
    }

    /// How many tensor entries an epoch goes through.
    pub(crate) fn entries(&self) -> usize {
        self.views[0].entries
    }

    /// Arranges entries, given by the problem's rows, for [`Sampler::rmse`].
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn arrange(
        &self,
        entries: EntrySource,
        budget: Option<&MemoryBudget>,
    ) -> Result<Evaluation, Error> {
        let rows: Vec<usize> =
            self.factors.iter().zip(&self.ranks).map(|(factor, rank)| factor.len() / rank).collect();
        // Those that are not in memory come of the problem itself and have no unknown id.
        let entries = match entries {
            EntrySource::Memory(entries) => EntrySource::Memory(entries.known_or(&rows)),
            there => there,
        };
        let with_average: Vec<usize> = rows.iter().map(|rows| rows + 1).collect();
        let (lead, scale) = (&self.views[self.lead], self.value_scale());
        let (rows, ranks, level, nodes) = (&with_average, &self.ranks, self.level, &self.nodes);
        let arrangement = Arrangement { rows, ranks, level, scale, budget, nodes };
        arrangement.one(&entries, (lead.mode, lead.partner)).map(Evaluation)
    }

    /// The RMSE of the model so far over the training entries, and over other sets.
    ///
    /// # Errors
    /// If entries cannot be read.
    pub(crate) fn rmse(&self, sets: &[Option<&Evaluation>]) -> Result<(f64, Vec<Option<f64>>), Error> {
        let (factors, core) = self.current(self.is_typical())?;
        let with_average = |(mut values, &rank): (Vec<f32>, &usize)| {
            values.extend(average_row(&values, rank));
            values
        };
        let factors: Vec<Vec<f32>> = factors.into_iter().zip(&self.ranks).map(with_average).collect();
        let factors: Vec<&[f32]> = factors.iter().map(Vec::as_slice).collect();
        let (range, largest, averaged) = (self.allowed(), self.frame.range[1], self.is_typical());
        let squares = |view: &View| {
            let pass = Pass::new(view, (&self.ranks, &factors), None, &self.nodes);
            match &self.augmentation {
                None => pass.squared_error(core, &|sampled| likelihood::mean(sampled, range)),
                Some(augmentation) => {
                    pass.squared_error(core, &|sampled| augmentation.mean(sampled, averaged, largest))
                }
            }
        };
        let (_, unit) = self.value_scale();
        let rmse = |squares: f64, entries: usize| unit * (squares / entries as f64).sqrt();
        let one = |Evaluation(view): &Evaluation| Ok(rmse(squares(view)?, view.entries));
        let sets = sets.iter().map(|set| set.map(one).transpose());
        let sets: Result<Vec<Option<f64>>, Error> = sets.collect();
        let lead = &self.views[self.lead];
        let (mut sum, mut entries) = (squares(lead)?, lead.entries);
        // Those that are held out for now are training entries, too.
        if let Some((calibration, _)) = &self.calibration {
            sum += squares(calibration.held())?;
            entries += calibration.held().entries;
        }
        Ok((rmse(sum, entries), sets?))
    }

    /// What the values in views were centred by and divided by.
    fn value_scale(&self) -> (f64, f64) {
        if self.augmentation.is_some() { (0.0, 1.0) } else { (self.mean, self.spread) }
    }

    /// Where predictions may lie, in the units of draws, see [`Model::clips`].
    fn allowed(&self) -> [f32; 2] {
        let variance = if self.is_typical() { self.average.variance } else { 1.0 / self.noise.tau };
        if likelihood::is_noisy(variance * self.spread * self.spread, self.frame.range) {
            self.frame.range.map(|value| ((f64::from(value) - self.mean) / self.spread) as f32)
        } else {
            [f32::NEG_INFINITY, f32::INFINITY]
        }
    }

    /// The rows and the core of the mean of draws, or of the draw itself.
    fn current(&self, mean: bool) -> Result<(Vec<Vec<f32>>, &[f32]), Error> {
        if mean {
            let own = self.average.natural_params.iter().map(NaturalParams::rows);
            let rows = own.map(|rows| self.nodes.gather(rows)).collect::<Result<_, Error>>()?;
            Ok((rows, &self.average.core))
        } else {
            Ok((self.factors.clone(), &self.core.values))
        }
    }
}

/// The sum of squares of each concept, in pieces of a fixed size, so that it does not depend on the threads.
fn squares(values: &[f32], rank: usize) -> Vec<f64> {
    const PIECE: usize = 4096;
    let pieces: Vec<Vec<f64>> = values
        .par_chunks(PIECE * rank)
        .map(|piece| {
            let mut sums = vec![0.0; rank];
            for row in piece.chunks_exact(rank) {
                sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value).powi(2));
            }
            sums
        })
        .collect();
    (0..rank).map(|k| pieces.iter().map(|piece| piece[k]).sum()).collect()
}

/// Random rows: the first concept is 1, the others are normal.
fn start_rows(rows: usize, rank: usize, seed: u64, mode: usize) -> Vec<f32> {
    let start = Streams { seed, epoch: 0 };
    let mut values = vec![1.0; rows * rank];
    values.par_chunks_exact_mut(rank).enumerate().for_each(|(row, values)| {
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
