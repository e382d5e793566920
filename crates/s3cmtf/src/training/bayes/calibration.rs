//! Interactions earn their place, on entries that were held out.
//!
//! Noise that differs from row to row looks like interactions, and where rows have few entries, the model takes it for
//! those: its own posterior is too sure of them. So a part of the entries is left out in the first half of a run, and what
//! interactions predict there is held against what is there. If the best factor of those predictions is below 1, they are
//! too large, and the prior of rows gets tighter; where they say nothing, it is tight enough for them to fade away.

use s3cmtf_kernels::Aligned;

use super::Evaluation;
use super::augmentation::Augmentation;
use super::core::CoreState;
use super::pass::Pass;
use super::schedule::{FROM, Schedule};
use crate::Error;
use crate::layout::View;
use crate::likelihood::Likelihood;
use crate::model::{Model, StdScale};
use crate::nodes::Nodes;
use crate::problem::{Chosen, Entries, EntrySource, HoldOut};
use crate::training::checkpoint::StateArrays;

/// The share of entries that are held out; more where those would be fewer than this, but never beyond the second share.
const SHARE: f64 = 0.1;
const ENOUGH: f64 = 2500.0;
const LARGEST: f64 = 0.25;
/// The most and the fewest that are; fewer would say nothing.
const MOST: f64 = 100_000.0;
const FEWEST: f64 = 50.0;
/// So that others who hold out entries with the same seed have others.
const OWN: u64 = 0x6361_6c69_6272_6174;
/// The logarithm of the prior's precision where interactions say nothing.
const STEEP: f64 = 0.4;
/// Steps to the most likely factor.
const SCORING: usize = 4;
/// What is kept of the mean prediction, and of the precision, when a new draw comes.
const KEEP: f32 = 0.8;

/// How much of what interactions predict is there.
pub(super) struct Calibration {
    held: Evaluation,
    /// The same, as they came.
    entries: EntrySource,
    /// For each entry held out, the mean of what interactions predict.
    mean: Vec<f32>,
    /// The logarithm of the precision of the prior of concepts that interact.
    log: f64,
    /// Sums over draws of what is predicted of each entry held out, and of its square; empty where `spreads` was not asked for.
    draws: Vec<[f32; 2]>,
    /// Kept from epoch to epoch.
    memory: Aligned,
}

/// Which entries are held out to calibrate by. None if they or the others are too few, or there is no time.
pub(super) fn choose(
    entries: &EntrySource,
    schedule: &Schedule,
    seed: u64,
    nodes: &Nodes,
) -> Result<Option<Chosen>, Error> {
    let count = nodes.add(entries.len() as u64)?.max(1) as f64;
    let share = (ENOUGH / count).clamp(SHARE, LARGEST).min(MOST / count);
    if share * count < FEWEST || !schedule.has_time() {
        return Ok(None);
    }
    entries.choose(HoldOut::Random(share), seed ^ OWN, nodes).map(Some)
}

/// The best factor of what interactions predict, from 0 to 1, given values and the predictions without interactions.
fn least_squares(interactions: &[f32], rest: &[[f32; 2]]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for (&mean, &[value, calm]) in interactions.iter().zip(rest) {
        products += f64::from(mean) * f64::from(value - calm);
        squares += f64::from(mean).powi(2);
    }
    if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 1.0 }
}

/// The same where the likelihood is not Gaussian: a few steps of Fisher's scoring.
fn most_likely(interactions: &[f32], rest: &[[f32; 2]], augmentation: &Augmentation) -> f64 {
    let mut factor = 1.0;
    for _ in 0..SCORING {
        let (mut slope, mut information) = (0.0, 0.0);
        for (&mean, &[value, calm]) in interactions.iter().zip(rest) {
            let (score, own) = augmentation.score(value, calm + factor as f32 * mean);
            slope += f64::from(mean) * score;
            information += f64::from(mean).powi(2) * own;
        }
        if information > 0.0 {
            factor = (factor + slope / information).clamp(0.0, 1.0);
        }
    }
    factor
}

impl Calibration {
    pub(super) fn new(held: Evaluation, entries: EntrySource, spreads: bool) -> Self {
        let mean = vec![0.0; held.0.entries];
        let draws = vec![[0.0; 2]; if spreads { mean.len() } else { 0 }];
        Calibration { held, entries, mean, log: 0.0, draws, memory: Aligned::default() }
    }

    /// The entries that are held out.
    pub(super) fn held(&self) -> &View {
        &self.held.0
    }

    pub(super) fn held_mut(&mut self) -> &mut View {
        &mut self.held.0
    }

    /// The entries that are held out, those of all nodes, in an order of their own.
    ///
    /// # Errors
    /// If they cannot be read, or other nodes cannot be reached.
    pub(super) fn entries(&self, nodes: &Nodes) -> Result<Entries, Error> {
        Ok(self.entries.clone().into_entries()?.gathered(nodes)?.sorted())
    }

    /// Whether interactions are judged after an epoch.
    #[cfg(feature = "cuda")]
    pub(super) fn judges(&self, epoch: u64) -> bool {
        epoch >= FROM
    }

    /// What makes the standard deviations of linear predictors those of draws, on the entries held out: how far these lie from what
    /// the model says, over what it says of that. A row's own variance is the one given all other rows, and so too small.
    ///
    /// # Errors
    /// If entries cannot be read.
    pub(super) fn linear_scale(
        &self,
        model: &Model,
        averaged: &[[f32; 2]],
        (augmentation, schedule): (&Augmentation, &Schedule),
    ) -> Result<Option<StdScale>, Error> {
        if model.uncertainty().is_none() || self.draws.is_empty() {
            return Ok(None);
        }
        let count = schedule.spread().count() as f64;
        let apart = self.draws.iter().zip(averaged).map(|(&[sum, squares], &[_, averaged])| {
            let mean = f64::from(sum) / count;
            let variance = (f64::from(squares) / count - mean * mean).max(0.0);
            let [drawn, said] = [(mean as f32, false), (averaged, true)]
                .map(|(sampled, is_mean)| augmentation.predictor(sampled, is_mean));
            variance * augmentation.spread.powi(2) + (drawn - said).powi(2)
        });
        let entries = self.entries.clone().into_entries()?.sorted();
        let said: f64 = model.linear_variances(&entries)?.iter().sum();
        Ok(StdScale::constant((apart.sum::<f64>() / said).sqrt()))
    }

    /// What makes the standard deviations of a model right on entries held out, if it has any.
    pub(super) fn std_scale(&self, model: &Model, nodes: &Nodes) -> Result<Option<StdScale>, Error> {
        // The scatter of answers and counts follows from their mean.
        if model.uncertainty().is_none() || model.likelihood() != Likelihood::Gaussian {
            return Ok(None);
        }
        let entries = self.entries(nodes)?;
        let (predictions, stds) =
            (model.predict_located(entries.clone(), true), model.std_located(&entries)?);
        Ok(StdScale::fit(&predictions, &stds, entries.values()))
    }

    /// The precision of the prior of concepts that interact, given what an epoch has drawn; tells `schedule` how far off predictions are.
    pub(super) fn precision(
        &mut self,
        (epoch, schedule): (u64, &mut Schedule),
        (ranks, factors, nodes): (&[usize], &[&[f32]], &Nodes),
        core: &CoreState,
        augmentation: Option<&Augmentation>,
    ) -> Result<f64, Error> {
        if epoch >= FROM {
            let pass = Pass::new(&self.held.0, (ranks, factors), None, nodes, &mut self.memory);
            let all = pass.each(&core.values, |_, prediction| prediction)?;
            if schedule.spread().contains(&epoch) {
                for ([sum, squares], &drawn) in self.draws.iter_mut().zip(&all) {
                    (*sum, *squares) = (*sum + drawn, *squares + drawn * drawn);
                }
            }
            let rest = pass.each(&core.calm(), |value, prediction| [value, prediction])?;
            let keep = if epoch == FROM { 0.0 } else { KEEP };
            for ((mean, all), [_, calm]) in self.mean.iter_mut().zip(all).zip(&rest) {
                *mean = keep * *mean + (1.0 - keep) * (all - calm);
            }
            let factor = match augmentation {
                None => least_squares(&self.mean, &rest),
                Some(augmentation) => most_likely(&self.mean, &rest, augmentation),
            };
            let errors =
                self.mean.iter().zip(&rest).map(|(mean, [value, calm])| f64::from(value - calm - mean));
            let squares: f64 = errors.map(|error| error * error).sum();
            let keep = f64::from(KEEP);
            self.log = keep * self.log + (1.0 - keep) * STEEP * (1.0 - factor).powi(2);
            schedule.judge(epoch, (squares / self.mean.len() as f64).sqrt(), self.log);
        }
        Ok(self.log.exp())
    }

    /// Puts what the next draw depends on among numbers.
    pub(super) fn put(&self, numbers: &mut StateArrays) {
        numbers.put("calibration.mean", &self.mean);
        numbers.put_doubles("calibration", &[self.log]);
        if !self.draws.is_empty() {
            numbers.put("calibration.draws", self.draws.as_flattened());
        }
    }

    /// Takes it back.
    pub(super) fn get(&mut self, numbers: &mut StateArrays) -> Result<(), Error> {
        numbers.get("calibration.mean", &mut self.mean)?;
        numbers.get_doubles("calibration", std::slice::from_mut(&mut self.log))?;
        match self.draws.as_flattened_mut() {
            [] => Ok(()),
            draws => numbers.get("calibration.draws", draws),
        }
    }
}
