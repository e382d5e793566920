//! The default algorithm: draws from the distribution of all models that explain the data, and their mean.
//!
//! Every number of the model is drawn in turn given all others (Gibbs sampling): rows mode by mode, the columns of coupled
//! matrices, the core, and how much everything scatters, so that nothing has to be tuned. One pass over all of it is an
//! epoch. Every number is drawn from a generator of its own, so threads change nothing. docs/method.md has the model.

mod augmentation;
mod calibration;
#[cfg(feature = "cuda")]
mod choose;
mod clock;
mod conditional;
mod core;
mod coupled;
#[cfg(feature = "cuda")]
mod device;
mod diagonal;
mod draws;
mod engine;
mod graph;
#[cfg(not(feature = "cuda"))]
mod host;
mod limits;
#[cfg(test)]
mod limits_tests;
mod log_gamma;
mod mean;
mod noise;
mod parts;
mod pass;
mod posterior;
mod random;
mod rank;
mod regression;
mod rows;
mod sample;
#[cfg(test)]
mod sample_tests;
mod schedule;
mod settled;
mod start;
mod state;
mod sums;
#[cfg(test)]
mod sums_tests;
#[cfg(test)]
mod tests;
mod zeros;

#[cfg(feature = "cuda")]
pub(super) use choose::engine;
pub(super) use diagonal::concepts;
#[cfg(not(feature = "cuda"))]
pub(super) use host::engine;
pub use limits::Work;
pub(super) use noise::counted;
pub use parts::{EpochParts, epoch_parts};
pub(super) use rank::{most, widest};
pub(super) use schedule::early;

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use s3cmtf_kernels::Aligned;

use self::augmentation::Augmentation;
use self::calibration::Calibration;
use self::clock::RowClock;
use self::conditional::RowConditional;
use self::core::{CoreState, OFFSET};
use self::coupled::Matrix;
use self::mean::Mean;
use self::noise::Noise;
use self::pass::Pass;
use self::random::{Streams, gamma};
use self::schedule::Schedule;
use self::settled::Watched;
use self::start::Prepared;
use self::sums::Workspace;
use self::zeros::Zeros;
use crate::Error;
use crate::layout::{Arrangement, MemoryBudget, View};
use crate::likelihood::{self, Likelihood};
use crate::model::{Model, StdScale, average_row};
use crate::nodes::Nodes;
use crate::parallel;
use crate::params::{BayesParams, Component};
use crate::problem::{EntrySource, Problem};

/// The core stays as it starts until the rows have found their places in it.
const CORE_FROM: u64 = 4;

/// A problem and the state of its model.
pub(crate) struct Sampler {
    ranks: Vec<usize>,
    /// Whether concepts that are of no use may go.
    auto: bool,
    level: s3cmtf_kernels::Level,
    seed: u64,
    without: Vec<Component>,
    schedule: Schedule,
    /// What the tensor's values were centred by and divided by; their linear predictor, where the likelihood is not Gaussian.
    mean: f64,
    spread: f64,
    /// The likelihood, if it is not Gaussian.
    augmentation: Option<Augmentation>,
    /// Whether absent cells are zeros.
    zeros: Option<Zeros>,
    /// Entries as seen from each mode; none where a device has them.
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
    /// After that, where the run ends once predictions no longer change: some of these.
    watched: Option<Watched>,
    epoch: u64,
    workspace: Workspace,
    /// The nodes that share the entries.
    nodes: Nodes,
    /// The time that parts of an epoch take, if that is measured.
    parts: Option<EpochParts>,
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
        let Prepared { mut sampler, held } = Prepared::new(problem, &entries, params, warm, nodes)?;
        match &held {
            Some(held) => sampler.arrange_all(&entries.part(held, false), budget)?,
            None => sampler.arrange_all(&entries, budget)?,
        }
        sampler.average = sampler.no_mean();
        if let Some(held) = held {
            sampler.hold_out(entries.part(&held, true), entries, budget)?;
        }
        Ok(sampler)
    }

    /// Arranges the entries that are drawn from, as seen from each mode.
    fn arrange_all(&mut self, entries: &EntrySource, budget: Option<&MemoryBudget>) -> Result<(), Error> {
        let (rows, scale) = (self.rows(), self.value_scale());
        let (ranks, level, nodes) = (&self.ranks, self.level, &self.nodes);
        let arranged = Arrangement { rows: &rows, ranks, level, scale, budget, nodes }.all(entries)?;
        (self.views, self.lead) = (arranged.views, arranged.lead);
        self.noise.count(arranged.counts);
        Ok(())
    }

    /// Lets entries judge interactions before they take part, see [`calibration`]; `entries` are all of them.
    fn hold_out(
        &mut self,
        held: EntrySource,
        entries: EntrySource,
        budget: Option<&MemoryBudget>,
    ) -> Result<(), Error> {
        let arranged = self.arrange(held.clone(), budget)?;
        // An answer does not say how certain its probability is; draws do.
        let spreads = self.frame.likelihood == Likelihood::Logistic;
        let calibration = Calibration::new(arranged, held, spreads);
        self.calibration = Some((calibration, entries));
        Ok(())
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
        let began = Instant::now();
        self.draw_matrices(|_| true);
        self.took(began, |parts, spent| parts.matrices = spent.as_secs_f64());
        let share = self.share();
        let mut zeros = self.zeros.map(|zeros| zeros.given(&self.ranks, &self.factors));
        for mode in 0..self.ranks.len() {
            let means = self.prior_means(mode);
            let factors: Vec<&[f32]> = self.factors.iter().map(Vec::as_slice).collect();
            let row_zeros = zeros.as_ref().map(|zeros| zeros.of_rows(&self.core.values, mode));
            let clock = self.parts.as_ref().map(|_| RowClock::default());
            let began = Instant::now();
            let drawn = RowConditional {
                view: &self.views[mode],
                ranks: &self.ranks,
                factors: &factors,
                core: &self.core.values,
                noise: &self.noise,
                augmentation: self.augmentation.as_ref(),
                zeros: row_zeros.as_ref(),
                matrices: &self.matrices,
                means: &means,
                streams,
                without: &self.without,
                nodes: &self.nodes,
                interrupt,
                clock: clock.as_ref(),
            }
            .draw(&mut self.workspace, share.map(|share| (&mut self.average.natural_params[mode], share)))?;
            let Some(drawn) = drawn else { return Ok(false) };
            if let Some(clock) = clock {
                self.took(began, |parts, spent| {
                    let [sums, draws] = clock.split(spent);
                    parts.sums.push(sums);
                    parts.draws.push(draws);
                });
            }
            let replaced = std::mem::replace(&mut self.factors[mode], drawn.rows);
            self.workspace.keep(mode, replaced);
            if let Some(zeros) = &mut zeros {
                zeros.update(mode, &self.factors[mode], self.ranks[mode]);
            }
            if epoch >= CORE_FROM && self.has_row_noise() {
                let (rows, rank) = (&self.factors[mode], self.ranks[mode]);
                let level_of = |row: usize| rows[row * rank + OFFSET];
                self.noise.draw_shares(mode, &drawn.squares, &level_of, streams);
            }
        }
        let began = Instant::now();
        let factors: Vec<&[f32]> = self.factors.iter().map(Vec::as_slice).collect();
        let nodes = &self.nodes;
        let roots = (self.augmentation.is_none() && zeros.is_none()).then_some(&self.noise.roots[..]);
        let memory = &mut self.workspace.named;
        let pass = Pass::new(&self.views[self.lead], (&self.ranks, &factors), roots, nodes, memory);
        match &mut self.augmentation {
            None => {
                let (tau, all) = (self.noise.tau, epoch >= CORE_FROM);
                let squares = match &zeros {
                    Some(zeros) => self.core.draw_with_zeros(&pass, zeros, tau, all, streams)?,
                    None => self.core.draw(&pass, tau, all, streams)?,
                };
                self.noise.draw_tau(squares, self.observations(), streams);
            }
            Some(augmentation) if epoch >= CORE_FROM => {
                self.core.draw_augmented(&pass, augmentation, streams)?;
            }
            Some(_) => {}
        }
        self.took(began, |parts, spent| parts.core = spent.as_secs_f64());
        self.calibrate()?;
        if let Some(share) = share {
            let (tau, (_, spread)) = (self.noise.tau, self.value_scale());
            let matrices = self.matrices.iter().map(|matrix| (matrix.columns(), matrix.weight(tau, spread)));
            self.average.end(share, &self.core.values, matrices, &self.noise);
        }
        Ok(true)
    }

    /// Notes how long a part of the epoch took, if that is measured.
    fn took(&mut self, began: Instant, note: impl FnOnce(&mut EpochParts, Duration)) {
        if let Some(parts) = &mut self.parts {
            note(parts, began.elapsed());
        }
    }

    /// Draws those coupled matrices that are asked for, given rows.
    fn draw_matrices(&mut self, which: impl Fn(&Matrix) -> bool) {
        let streams = self.streams();
        for number in 0..self.matrices.len() {
            if !which(&self.matrices[number]) {
                continue;
            }
            let mode = self.matrices[number].mode;
            let means = self.prior_means(mode);
            self.matrices[number].draw(&self.factors[mode], &means, self.noise.tau, streams);
        }
    }

    /// The share that the draw of this epoch has in the mean, if it counts.
    fn share(&self) -> Option<f32> {
        let rehearses = self.calibration.is_some() && self.schedule.rehearses(self.epoch);
        (self.schedule.counts(self.epoch) || rehearses).then(|| self.average.begin())
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
            self.noise.hurdle =
                calibration.precision((self.epoch, &mut self.schedule), given, &self.core, augmentation)?;
        }
        Ok(())
    }

    /// Lets entries take part that were held out so far, if it is time to.
    ///
    /// # Errors
    /// If entries cannot be read.
    pub(super) fn join(&mut self, budget: Option<&MemoryBudget>) -> Result<(), Error> {
        let Some(entries) = self.end_calibration()? else { return Ok(()) };
        // There may be no room for both.
        self.views.clear();
        self.workspace = Workspace::default();
        self.arrange_all(&entries, budget)?;
        // Draws begin to count anew, and nodes have other rows.
        if self.average.draws > 0 || self.nodes.is_shared() {
            self.average = self.no_mean();
        }
        Ok(())
    }

    /// Whether interactions are judged after this epoch, for which rows and core are needed.
    #[cfg(feature = "cuda")]
    fn is_judged(&self) -> bool {
        self.calibration.as_ref().is_some_and(|(calibration, _)| calibration.judges(self.epoch))
    }

    /// Whether it is time to let entries take part that were held out so far.
    #[cfg(feature = "cuda")]
    fn calibration_ends(&self) -> bool {
        self.calibration.is_some() && self.schedule.joins(self.epoch)
    }

    /// All entries, as long as some of them are held out.
    #[cfg(feature = "cuda")]
    fn all_entries(&self) -> Option<&EntrySource> {
        self.calibration.as_ref().map(|(_, entries)| entries)
    }

    /// If it is time to: no entries are held out any more, and what they had to say about errors is known; returns all entries.
    fn end_calibration(&mut self) -> Result<Option<EntrySource>, Error> {
        let Some((calibration, entries)) = self.calibration.take_if(|_| self.schedule.joins(self.epoch))
        else {
            return Ok(None);
        };
        if self.average.draws > 0 {
            self.scale = calibration.std_scale(&self.model_so_far(true)?, &self.nodes)?;
            if self.augmentation.is_some() {
                let (factors, core) = self.current(true)?;
                let factors: Vec<&[f32]> = factors.iter().map(Vec::as_slice).collect();
                let mut memory = Aligned::default();
                let given = (&self.ranks[..], &factors[..]);
                let pass = Pass::new(calibration.held(), given, None, &self.nodes, &mut memory);
                let held = pass.each(core, |value, sampled| [value, sampled])?;
                self.augmentation.iter_mut().for_each(|augmentation| augmentation.calibrate(&held));
                if let Some(augmentation) = &self.augmentation {
                    self.scale = calibration.linear_scale(
                        &self.model_so_far(true)?,
                        &held,
                        (augmentation, &self.schedule),
                    )?;
                }
            }
        }
        if self.schedule.tolerance > 0.0 {
            self.watched = Some(Watched::new(&calibration.entries(&self.nodes)?));
        }
        Ok(Some(entries))
    }

    /// A mean of no draws.
    fn no_mean(&self) -> Mean {
        let rows = (0..self.ranks.len()).map(|mode| self.own_rows(mode).len());
        Mean::new(&self.ranks, rows, &self.without)
    }

    /// The rows of a mode that are drawn here.
    fn own_rows(&self, mode: usize) -> Range<usize> {
        self.views.get(mode).map_or(0..self.noise.counts[mode].len(), |view| view.own_rows.clone())
    }

    /// How many rows each mode has.
    fn rows(&self) -> Vec<usize> {
        self.noise.counts.iter().map(Vec::len).collect()
    }

    /// Whether draws have begun to count for the model that comes out.
    pub(crate) fn is_typical(&self) -> bool {
        self.schedule.counts(self.epoch) && self.average.draws > 0
    }

    /// The means that all matrices give the rows of a mode; empty if none does.
    fn prior_means(&self, mode: usize) -> Vec<f32> {
        let mut sums: Vec<f32> = Vec::new();
        let matrices = self.matrices.iter().filter(|matrix| matrix.mode == mode);
        for means in matrices.filter_map(Matrix::means) {
            if sums.is_empty() {
                sums = parallel::numbers_of(means, |mean| *mean);
            } else {
                parallel::change(&mut sums, |place, sum| *sum += means[place]);
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
                let rows = &self.factors[mode];
                squares(&parallel::numbers(rows.len(), |place| rows[place] - means[place]), rank)
            };
            let by: Vec<f32> = squares
                .iter()
                .map(|&sum| gamma(&mut generator, 1.0 + 0.5 * rows as f64, 0.5 + 0.5 * sum).sqrt() as f32)
                .collect();
            parallel::rows_mut(&mut self.factors[mode], rank, |_, row| {
                row.iter_mut().zip(&by).skip(1).for_each(|(value, by)| *value *= by);
            });
            self.average.rescale(mode, &by, &self.ranks, &self.matrices);
            by.iter().enumerate().skip(1).for_each(|(k, &by)| self.core.rescale(mode, k, by));
            let coupled = self.matrices.iter_mut().filter(|matrix| matrix.mode == mode);
            coupled.for_each(|matrix| matrix.rescale(&by));
        }
    }

    /// How many tensor entries an epoch goes through.
    pub(crate) fn entries(&self) -> usize {
        let counted = || self.noise.counts[0].iter().map(|&count| count as usize).sum();
        self.views.first().map_or_else(counted, |view| view.entries)
    }

    /// As how many observations entries count, with absent cells where those are zeros.
    fn observations(&self) -> f64 {
        let entries = self.entries() as f64;
        self.zeros.map_or(entries, |zeros| zeros.count(entries))
    }

    /// Whether rows differ in how much their entries scatter.
    fn has_row_noise(&self) -> bool {
        self.augmentation.is_none() && self.zeros.is_none() && !self.without.contains(&Component::RowNoise)
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
        let rows = self.rows();
        // Those that are not in memory come of the problem itself and have no unknown id.
        let entries = match entries {
            EntrySource::Memory(entries) => EntrySource::Memory(entries.known_or(&rows)),
            there => there,
        };
        let with_average: Vec<usize> = rows.iter().map(|rows| rows + 1).collect();
        let scale = self.value_scale();
        let lead = self.views.get(self.lead).map(|lead| (lead.mode, lead.partner));
        let (rows, ranks, level, nodes) = (&with_average, &self.ranks, self.level, &self.nodes);
        let arrangement = Arrangement { rows, ranks, level, scale, budget, nodes };
        arrangement.one(&entries, lead.unwrap_or((0, 1))).map(Evaluation)
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
            let mut memory = Aligned::default();
            let pass = Pass::new(view, (&self.ranks, &factors), None, &self.nodes, &mut memory);
            pass.squared_error(core, &|sampled| match &self.augmentation {
                None => sampled.iter_mut().for_each(|value| *value = likelihood::mean(*value, range)),
                Some(augmentation) => {
                    sampled
                        .iter_mut()
                        .for_each(|value| *value = augmentation.mean(*value, averaged, largest));
                }
            })
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
            let own = self.average.natural_params.iter().map(|params| params.rows(self.level));
            let rows = own.map(|rows| self.nodes.gather(rows)).collect::<Result<_, Error>>()?;
            Ok((rows, &self.average.core))
        } else {
            Ok((self.factors.clone(), &self.core.values))
        }
    }
}

/// The sum of squares of each concept, in pieces of a fixed size, so that it does not depend on the threads.
fn squares(values: &[f32], rank: usize) -> Vec<f64> {
    const PIECE: usize = 1024;
    let pieces = parallel::map_of(values.chunks(PIECE * rank), |piece| {
        let mut sums = vec![0.0; rank];
        for row in piece.chunks_exact(rank) {
            sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value).powi(2));
        }
        sums
    });
    (0..rank).map(|k| pieces.iter().map(|piece| piece[k]).sum()).collect()
}
