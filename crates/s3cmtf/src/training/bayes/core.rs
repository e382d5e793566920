//! Draws the core, given everything else.
//!
//! A prediction is linear in the core, whose numbers are many and each of which depends on all entries: no system of theirs
//! could be solved. But the product of that system with a core costs one pass over the entries, so a few steps of conjugate
//! gradients from where the core was solve it well enough, and with a random right side, the solution is a draw.

use std::sync::atomic::{AtomicU32, Ordering};

use s3cmtf_kernels::CHUNK;

use super::augmentation::{Augmentation, TELLING};
use super::pass::{Chunk, Group, Pass};
use super::random::{Generator, Streams, gamma, normal};
use super::sample::Sample;
use crate::Error;
use crate::likelihood::Likelihood;
use crate::params::Component;
use crate::training::checkpoint::StateArrays;

/// The product of X'WX, with precisions W, and a core: of a sample of the entries, as many times as there are more of them.
type Product<'a> = dyn Fn(&[f32], Sample) -> Result<Vec<f32>, Error> + 'a;

/// X'WX.
pub(super) struct System<'a> {
    pub(super) product: &'a Product<'a>,
    /// The product of that with the same core, of all entries.
    pub(super) curvature: &'a dyn Fn(&[f32]) -> Result<f64, Error>,
}

// A word of random bits has a sign for each entry of a chunk.
const _: () = assert!(CHUNK <= 64);

/// Steps of conjugate gradients.
pub(super) const STEPS: usize = 3;
/// Products are of a sample of so many entries for each number of the core, or more.
const PER_NUMBER: usize = 24;
/// And of so many at least,
const SAMPLED: usize = 1 << 16;
/// and of one in so many at least.
const MOST_EVERY: usize = 16;
/// The sets of eight modes.
const SETS: usize = 256;
/// The rate of the prior of precisions, whose shape is 1. The data have a variance of 1, so a rate of 1 would keep interactions
/// near that, whatever the data say; hardly any rate lets concepts of little use vanish before they have found one.
const RATE: f64 = 0.01;
/// The concept of each mode that is its offset.
pub(super) const OFFSET: usize = 1;
/// The variance of what each set adds to predictions, at first; the data have a variance of 1.
const PART: f64 = 0.1;

/// The core's numbers and their prior.
pub(super) struct CoreState {
    pub(super) values: Vec<f32>,
    ranks: Vec<usize>,
    /// Whether only like concepts of all modes interact.
    pub(super) diagonal: bool,
    /// For each mode the concept of each number.
    index: Vec<Vec<u16>>,
    /// The set of modes that each number makes interact: those in which its concept is not the first. Beyond eight modes, sets that
    /// differ in the later ones are one.
    set: Vec<u8>,
    /// Each set of modes has a precision of its own, so that offsets, pairs and higher interactions are as strong as the data want
    /// them.
    pub(super) sets: Vec<f64>,
    pub(super) one_set: bool,
    /// The same for each concept of each mode, so that concepts that are of no use fade away.
    pub(super) concepts: Vec<Vec<f64>>,
    all_relevant: bool,
    /// Which numbers are zero and stay so: the second concept of each mode is its offset and takes no part in interactions,
    /// unless there is no third, and all others take part in nothing else. Rows of a few entries, whose offsets can be told but nothing more, would
    /// have interactions for free if one number had to stand for both.
    pub(super) zero: Vec<bool>,
}

impl CoreState {
    pub(super) fn new(ranks: &[usize], values: Vec<f32>, diagonal: bool, without: &[Component]) -> Self {
        let mut state = CoreState {
            diagonal,
            index: Vec::new(),
            set: Vec::new(),
            ranks: ranks.to_vec(),
            sets: vec![1.0; SETS],
            one_set: without.contains(&Component::InteractionScales),
            concepts: ranks.iter().map(|&rank| vec![1.0; rank]).collect(),
            all_relevant: without.contains(&Component::Relevance),
            zero: Vec::new(),
            values,
        };
        state.find_places();
        state.clear();
        // Every set of modes starts with an equal part in the variance.
        let mut counts = vec![0.0; SETS];
        state.used().for_each(|(place, _)| counts[usize::from(state.set[place])] += 1.0);
        state.sets = counts.into_iter().map(|count: f64| count.max(1.0) / PART).collect();
        state
    }

    /// Finds out what each number stands for.
    fn find_places(&mut self) {
        let len = self.values.len();
        let mut inner = len;
        let index = self.ranks.iter().map(|&rank| {
            inner /= rank;
            (0..len).map(|place| (place / inner % rank) as u16).collect()
        });
        self.index = index.collect();
        self.set = vec![0; len];
        if !self.one_set {
            for (mode, concepts) in self.index.iter().take(8).enumerate() {
                let places = self.set.iter_mut().zip(concepts);
                places.for_each(|(set, &k)| *set |= u8::from(k > 0) << mode);
            }
        }
        self.zero = (0..len).map(|place| self.is_zero(place)).collect();
    }

    /// Keeps some concepts of each mode.
    pub(super) fn keep(&mut self, kept: &[Vec<usize>]) {
        let is_kept: Vec<Vec<bool>> = self
            .ranks
            .iter()
            .zip(kept)
            .map(|(&rank, kept)| (0..rank).map(|k| kept.contains(&k)).collect())
            .collect();
        let places = (0..self.values.len())
            .filter(|&place| self.index(place).zip(&is_kept).all(|(k, is_kept)| is_kept[k]));
        self.values = places.map(|place| self.values[place]).collect();
        for (concepts, kept) in self.concepts.iter_mut().zip(kept) {
            *concepts = kept.iter().map(|&k| concepts[k]).collect();
        }
        self.ranks = kept.iter().map(Vec::len).collect();
        self.find_places();
    }

    /// The concepts of a number, mode by mode.
    fn index(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        self.index.iter().map(move |concepts| usize::from(concepts[place]))
    }

    fn is_zero(&self, place: usize) -> bool {
        let concepts = self.index(place).zip(&self.ranks);
        let active: Vec<(usize, usize)> =
            concepts.map(|(k, &rank)| (k, rank)).filter(|(k, _)| *k > 0).collect();
        match active.as_slice() {
            [] => false,
            [(one, _)] => *one != OFFSET,
            [(one, _), rest @ ..] if self.diagonal => {
                *one == OFFSET || active.len() < self.ranks.len() || rest.iter().any(|(k, _)| k != one)
            }
            // A mode of two concepts has no other one to interact with.
            several => several.iter().any(|&(k, rank)| k == OFFSET && rank > 2),
        }
    }

    /// The numbers that are not always zero, and their places.
    fn used(&self) -> impl Iterator<Item = (usize, &f32)> {
        self.values.iter().enumerate().filter(|(place, _)| !self.zero[*place])
    }

    /// The core without interactions.
    pub(super) fn calm(&self) -> Vec<f32> {
        let interacts = |place: usize| self.index(place).filter(|&k| k > 0).count() > 1;
        let values = self.values.iter().enumerate();
        values.map(|(place, &value)| if interacts(place) { 0.0 } else { value }).collect()
    }

    /// The variance of predictions in which each concept of a mode has a hand: rows have a variance of 1.
    pub(super) fn parts(&self, mode: usize) -> Vec<f64> {
        let mut parts = vec![0.0; self.ranks[mode]];
        for (place, &value) in self.used() {
            parts[usize::from(self.index[mode][place])] += f64::from(value).powi(2);
        }
        parts
    }

    /// Makes zero what stays so.
    pub(super) fn clear(&mut self) {
        self.values.iter_mut().zip(&self.zero).filter(|(_, zero)| **zero).for_each(|(value, _)| *value = 0.0);
    }

    /// The part of each number's precision that comes of its concepts.
    fn relevance(&self) -> Vec<f64> {
        let mut all = vec![1.0; self.values.len()];
        for (concepts, precisions) in self.index.iter().zip(&self.concepts) {
            all.iter_mut().zip(concepts).for_each(|(product, &k)| *product *= precisions[usize::from(k)]);
        }
        all
    }

    /// The part that comes of its set of modes.
    fn of_set(&self, place: usize) -> f64 {
        self.sets[usize::from(self.set[place])]
    }

    /// Draws the core and its prior, if `all`; returns the sum of squared errors before that, each times its rows' shares.
    pub(super) fn draw(
        &mut self,
        pass: &Pass<'_>,
        tau: f64,
        all: bool,
        streams: Streams,
    ) -> Result<f64, Error> {
        let layout = pass.layout();
        let scatter = (1.0 / tau).sqrt() as f32;
        let (squares, gradient) = pass.residuals(&layout.pack(&self.values), scatter, streams)?;
        if all {
            let product = |direction: &[f32], sample: Sample| {
                Ok(layout.unpack(&pass.product(&layout.pack(direction), sample)?))
            };
            let curvature = |direction: &[f32]| pass.curvature(&layout.pack(direction));
            let system = System { product: &product, curvature: &curvature };
            self.step(&system, tau, &layout.unpack(&gradient), self.sample(pass, streams), streams)?;
        }
        Ok(squares)
    }

    /// Draws the core, its prior and the dispersion, where the likelihood is not Gaussian.
    pub(super) fn draw_augmented(
        &mut self,
        pass: &Pass<'_>,
        augmentation: &mut Augmentation,
        streams: Streams,
    ) -> Result<(), Error> {
        let layout = pass.layout();
        // Every step needs the precisions that were drawn in the first pass.
        let precisions: Vec<AtomicU32> = (0..pass.view.entries).map(|_| AtomicU32::new(0)).collect();
        let mode = pass.view.mode;
        let augmented = |(first, values, predictions): Chunk<'_>| {
            let mut signs = streams.signs(first);
            let mut generator = streams.entries(mode, true, first);
            for ((slot, &value), kept) in predictions.iter_mut().zip(values).zip(&precisions[first..]) {
                let (root, scaled) = augmentation.draw(value, *slot, &mut generator);
                let sign = if signs & 1 == 0 { 1.0 } else { -1.0 };
                signs >>= 1;
                *slot = root * (scaled - root * *slot + sign);
                kept.store((root * root).to_bits(), Ordering::Relaxed);
            }
            0.0
        };
        let visit = |group: &Group<'_>, predictions: &mut [f32]| group.each_chunk(predictions, augmented);
        let (_, gradient) = pass.go(&layout.pack(&self.values), true, &visit)?;
        let weigh = |first: usize, predictions: &mut [f32]| {
            for (slot, kept) in predictions.iter_mut().zip(&precisions[first..]) {
                *slot *= f32::from_bits(kept.load(Ordering::Relaxed));
            }
        };
        let product = |direction: &[f32], sample: Sample| {
            Ok(layout.unpack(&pass.weighed_product(&layout.pack(direction), sample, &weigh)?))
        };
        let curvature = |direction: &[f32]| pass.weighed_curvature(&layout.pack(direction), &weigh);
        let system = System { product: &product, curvature: &curvature };
        self.step(&system, 1.0, &layout.unpack(&gradient), self.sample(pass, streams), streams)?;
        if augmentation.likelihood == Likelihood::Counts {
            let every = (pass.view.entries / TELLING).max(1) as u64;
            let entries = pass.some(&self.values, every, |value, sampled| [value, sampled])?;
            augmentation.draw_dispersion(&entries, &mut streams.dispersion());
        }
        Ok(())
    }

    /// The entries that products are of.
    pub(super) fn sample(&self, pass: &Pass<'_>, streams: Streams) -> Sample {
        Sample { every: self.every(pass.view.entries) as u64, seed: streams.sample() }
    }

    /// Of how many entries, or windows of these, one is in it.
    pub(super) fn every(&self, entries: usize) -> usize {
        let least = (PER_NUMBER * self.used().count()).max(SAMPLED);
        (entries / least).clamp(1, MOST_EVERY)
    }

    /// Draws the core and its prior, with a system whose precisions are in units of `tau`.
    pub(super) fn step(
        &mut self,
        system: &System<'_>,
        tau: f64,
        gradient: &[f32],
        sample: Sample,
        streams: Streams,
    ) -> Result<(), Error> {
        let mut generator = streams.core();
        let mut precisions = self.relevance();
        (0..).zip(&mut precisions).for_each(|(place, precision)| *precision *= self.of_set(place));
        // What is solved is `tau X'WX + Lambda`; the residual of the core as it is, with its random part.
        let mut residual: Vec<f64> = gradient
            .iter()
            .zip(&self.values)
            .zip(&precisions)
            .map(|((&gradient, &value), &precision)| {
                tau * f64::from(gradient) - precision * f64::from(value)
                    + precision.sqrt() * normal(&mut generator)
            })
            .collect();
        let clear = |values: &mut [f64]| {
            let zeros = values.iter_mut().zip(&self.zero).filter(|(_, zero)| **zero);
            zeros.for_each(|(value, _)| *value = 0.0);
        };
        clear(&mut residual);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let narrow = |wide: &[f64]| wide.iter().map(|&value| value as f32).collect::<Vec<f32>>();
        let product = |direction: &[f64]| {
            let product = (system.product)(&narrow(direction), sample)?;
            let both = product.iter().zip(direction).zip(&precisions);
            let mut product: Vec<f64> = both
                .map(|((&product, direction), precision)| tau * f64::from(product) + precision * direction)
                .collect();
            clear(&mut product);
            Ok::<_, Error>(product)
        };
        let pull = residual.clone();
        let mut change = vec![0.0; residual.len()];
        let mut direction = residual.clone();
        let mut length = dot(&residual, &residual);
        for _ in 0..STEPS {
            let product = product(&direction)?;
            let curvature = dot(&direction, &product);
            if !(curvature > 0.0 && length > 0.0) {
                break;
            }
            let step = length / curvature;
            change.iter_mut().zip(&direction).for_each(|(change, direction)| *change += step * direction);
            residual.iter_mut().zip(&product).for_each(|(residual, product)| *residual -= step * product);
            let next = dot(&residual, &residual);
            let keep = next / length;
            length = next;
            direction.iter_mut().zip(&residual).for_each(|(d, residual)| *d = residual + keep * *d);
        }
        // The way was found with a sample; how far to go on it is for all entries to say, so that no draw is further from where the
        // core belongs than the one before, whatever the sample.
        if !sample.is_all() {
            let prior = change.iter().zip(&precisions).map(|(change, precision)| precision * change * change);
            let curvature = tau * (system.curvature)(&narrow(&change))? + prior.sum::<f64>();
            let far = if curvature > 0.0 { dot(&change, &pull) / curvature } else { 0.0 };
            change.iter_mut().for_each(|change| *change *= far);
        }
        let values = self.values.iter_mut().zip(&change);
        values.for_each(|(value, change)| *value = (f64::from(*value) + change) as f32);
        self.draw_prior(&mut generator);
        Ok(())
    }

    /// The concepts of so many modes, the first, have precisions of their own.
    pub(super) fn relevant_modes(&self) -> usize {
        match () {
            () if self.all_relevant => 0,
            // A concept is the same one in all modes.
            () if self.diagonal => 1,
            () => self.ranks.len(),
        }
    }

    /// Draws the precisions of sets of modes and of concepts.
    fn draw_prior(&mut self, generator: &mut Generator) {
        for mode in 0..self.relevant_modes() {
            let (mut counts, mut squares) = (vec![0.0; self.ranks[mode]], vec![0.0; self.ranks[mode]]);
            let relevance = self.relevance();
            for (place, &value) in self.used() {
                let k = usize::from(self.index[mode][place]);
                let others = self.of_set(place) * relevance[place] / self.concepts[mode][k];
                counts[k] += 1.0;
                squares[k] += others * f64::from(value).powi(2);
            }
            // An offset is a set of its own.
            let sums = counts.into_iter().zip(squares).enumerate().skip(OFFSET + 1);
            for (k, (count, squares)) in sums {
                self.concepts[mode][k] = gamma(generator, 1.0 + 0.5 * count, RATE + 0.5 * squares);
            }
        }
        let (mut counts, mut squares) = (vec![0.0; SETS], vec![0.0; SETS]);
        let relevance = self.relevance();
        for (place, &value) in self.used() {
            let set = usize::from(self.set[place]);
            counts[set] += 1.0;
            squares[set] += relevance[place] * f64::from(value).powi(2);
        }
        for ((precision, count), squares) in self.sets.iter_mut().zip(counts).zip(squares) {
            if count > 0.0 {
                *precision = gamma(generator, 1.0 + 0.5 * count, RATE + 0.5 * squares);
            }
        }
    }

    /// Puts what the next draw depends on among numbers.
    pub(super) fn put(&self, numbers: &mut StateArrays) {
        numbers.put("core", &self.values);
        numbers.put_doubles("core.sets", &self.sets);
        for (mode, concepts) in self.concepts.iter().enumerate() {
            numbers.put_doubles(format!("core.concepts.{mode}"), concepts);
        }
    }

    /// Takes it back.
    pub(super) fn get(&mut self, numbers: &mut StateArrays) -> Result<(), Error> {
        numbers.get("core", &mut self.values)?;
        numbers.get_doubles("core.sets", &mut self.sets)?;
        for (mode, concepts) in self.concepts.iter_mut().enumerate() {
            numbers.get_doubles(&format!("core.concepts.{mode}"), concepts)?;
        }
        Ok(())
    }

    /// Follows a change of scale: concept `k` of a mode was multiplied with `by` in all rows.
    pub(super) fn rescale(&mut self, mode: usize, k: usize, by: f32) {
        rescale(&mut self.values, &self.ranks, mode, k, by);
    }
}

/// The second moments of what the rows of a mode are multiplied with, where the rows of other modes have a variance of 1 and no
/// correlations: the products of the core's slices.
pub(super) fn moments(core: &[f32], ranks: &[usize], mode: usize) -> Vec<f64> {
    let (rank, inner) = (ranks[mode], ranks[mode + 1..].iter().product::<usize>());
    let mut moments = vec![0.0; rank * rank];
    for slices in core.chunks_exact(rank * inner) {
        for k in 0..rank {
            for l in 0..=k {
                let both = slices[k * inner..][..inner].iter().zip(&slices[l * inner..][..inner]);
                moments[k * rank + l] += both.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            }
        }
    }
    moments
}

/// Divides what a core has of concept `k` of a mode.
pub(super) fn rescale(core: &mut [f32], ranks: &[usize], mode: usize, k: usize, by: f32) {
    let inner: usize = ranks[mode + 1..].iter().product();
    let slices = core.chunks_exact_mut(inner).skip(k).step_by(ranks[mode]);
    slices.flatten().for_each(|value| *value /= by);
}
