//! The sampler: what is on the device, and the order in which it is drawn.

use rayon::prelude::*;

use crate::Error;
use crate::arrange::{Arranged, Entries, MOST_NUMBERS};
use crate::chain::{Chain, Frame, MOST_MODES, Model, THREADS, Tables};
use crate::core::Core;
use crate::device::{Array, Device, Module, launch, pad};
use crate::rows::RowWork;
use crate::state::{State, natural_len};
use crate::tuples::{Tuples, are_worth};

/// The core stays as it starts, and shares stay 1, until the rows have found their places.
const CORE_FROM: u32 = 4;
/// Blocks of sums over rows.
const BLOCKS: usize = 264;
/// Rows with so many entries tell how much rows differ, if there are at least so many of them, and one of so many entries is
/// theirs; about so many of them do.
const TELLING: u32 = 20;
const FEWEST: usize = 20;
const MOST_OF: u64 = 3;
const ROWS: usize = 2048;

/// How sums over entries are computed; all give the same up to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// What is likely to be faster.
    #[default]
    Auto,
    /// Entry by entry, for each mode.
    Entries,
    /// Where entries share their rows in all modes but one: over those first. Only for three modes, and padded ranks up to 64. The
    /// mode with the most rows is drawn first. Squared errors are differences of sums here: where the noise is
    /// below about a thousandth of the values, [`Form::Entries`] tells it better.
    Tuples,
}

/// What a sampler is made for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// How many rows each mode has.
    pub rows: &'a [usize],
    /// How many concepts each mode has, at least 2.
    pub ranks: &'a [usize],
    /// The entries, whose values are centred and have a variance of about 1.
    pub entries: Entries<'a>,
    /// The seed of all draws.
    pub seed: u64,
    /// Which numbers of the core stay zero, see [`zeros`](crate::zeros).
    pub zero: &'a [bool],
    /// The concepts of so many modes have a precision of their own in the prior of the core: all, or none, or the first, if
    /// only like concepts interact.
    pub relevant: usize,
    /// Whether sets of modes have one.
    pub by_set: bool,
    /// Whether rows have shares in the precision of entries.
    pub row_noise: bool,
    /// How sums are computed.
    pub form: Form,
}

impl<'a> Setup<'a> {
    /// A full core with everything that the model has.
    #[must_use]
    pub fn new(
        rows: &'a [usize],
        ranks: &'a [usize],
        entries: Entries<'a>,
        zero: &'a [bool],
        seed: u64,
    ) -> Self {
        let relevant = ranks.len();
        Setup { rows, ranks, entries, seed, zero, relevant, by_set: true, row_noise: true, form: Form::Auto }
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::Problem(why));
        let order = self.rows.len();
        if !(2..=MOST_MODES).contains(&order) || self.ranks.len() != order {
            return wrong(format!("from 2 to {MOST_MODES} modes with a rank each, not {order}"));
        }
        if let Some(rank) = self.ranks.iter().find(|&&rank| !(2..=1 << 10).contains(&rank)) {
            return wrong(format!("ranks are from 2 to 1024, not {rank}"));
        }
        let len = self.ranks.iter().try_fold(1usize, |len, &rank| len.checked_mul(pad(rank)));
        if len.is_none_or(|len| len >= u32::MAX as usize) || self.zero.len() != self.ranks.iter().product() {
            return wrong("the core has another form, or is too large".to_owned());
        }
        if self.rows.iter().any(|&rows| rows >= u32::MAX as usize) {
            return wrong("a mode has more rows than can be counted here".to_owned());
        }
        if self.form == Form::Tuples && order != 3 {
            return wrong(format!("sums over tuples are for three modes, not {order}"));
        }
        self.entries.check(self.rows)
    }
}

/// The mean of draws.
pub(crate) struct Mean<D: Device> {
    pub(crate) natural: Vec<Array<D, f32>>,
    pub(crate) shares: Vec<Array<D, f32>>,
}

/// A problem and the state of its model, on a device.
pub struct Sampler<D: Device> {
    pub(crate) device: D,
    pub(crate) rows: Vec<usize>,
    pub(crate) ranks: Vec<usize>,
    pub(crate) pads: Vec<usize>,
    pub(crate) seed: u64,
    row_noise: bool,
    pub(crate) draw: Model<D>,
    /// Rows and core of the mean; rows are computed when they are asked for.
    pub(crate) mean_model: Model<D>,
    pub(crate) mean: Option<Mean<D>>,
    pub(crate) roots: Vec<Array<D, f32>>,
    pub(crate) scalars: Array<D, f64>,
    pub(crate) core: Core<D>,
    pub(crate) tables: Tables<D>,
    /// The chain whose entries the core is drawn from.
    pub(crate) lead: Chain<D>,
    /// For each mode the entries of its rows; none where sums over tuples take their place.
    pub(crate) work: Vec<Option<RowWork<D>>>,
    pub(crate) tuples: Option<Tuples<D>>,
    pub(crate) sums: Array<D, f32>,
    pub(crate) squares: Array<D, f32>,
    pub(crate) errors: Array<D, f64>,
    /// Sums of blocks.
    pub(crate) parts: Array<D, f64>,
    /// The sum of squared errors of each task of a pass.
    pub(crate) pass_squares: Array<D, f64>,
    scales: Vec<Array<D, f32>>,
    all_scales: Array<D, f32>,
    counts: Vec<Array<D, u32>>,
    /// For each mode some rows that tell how much shares differ; empty if they are all 1.
    telling: Vec<Array<D, u32>>,
    logs: Array<D, f64>,
    means: Vec<Option<Array<D, f32>>>,
}

impl<D: Device> Sampler<D> {
    /// Puts a problem and a model to start from on a device.
    ///
    /// # Errors
    /// If the problem has another form than the device can compute, or there is no room for it.
    pub fn new(device: D, setup: &Setup<'_>, start: &State) -> Result<Self, Error> {
        setup.check()?;
        let Setup { rows, ranks, entries, .. } = *setup;
        let order = rows.len();
        let pads: Vec<usize> = ranks.iter().map(|&rank| pad(rank)).collect();
        let empty = || -> Result<Model<D>, Error> {
            let factors = rows.iter().zip(&pads).map(|(rows, pad)| Array::zeros(&device, (rows + 1) * pad));
            let core = Array::zeros(&device, ranks.iter().product())?;
            Ok(Model { factors: factors.collect::<Result<_, _>>()?, core })
        };
        let (draw, mean_model) = (empty()?, empty()?);
        let roots: Vec<Array<D, f32>> =
            rows.iter().map(|rows| Array::new(&device, &vec![1.0; rows + 1])).collect::<Result<_, _>>()?;
        let frame = Frame { device: &device, ranks, models: [&draw, &mean_model], roots: &roots };
        let wide = |leaf: usize| -> Vec<usize> {
            (0..order).map(|mode| if mode == leaf { pads[mode] } else { ranks[mode] }).collect()
        };
        let arrange = |leaf: usize| Arranged::new(&entries, rows, &wide(leaf), leaf, MOST_NUMBERS);
        // The mode with the most rows has the fewest combinations of all others.
        let lead = (0..order).max_by_key(|&mode| (rows[mode], std::cmp::Reverse(mode))).unwrap_or(0);
        let mut tables = Tables::new(&device)?;
        let arranged = arrange(lead);
        let chain = Chain::new(&frame, &arranged)?;
        tables.fit(&device, &chain)?;
        let slots = chain.leaves.slots;
        let (possible, worth) = are_worth(&arranged, &pads);
        let tuples = match setup.form {
            Form::Tuples if !possible => {
                return Err(Error::Problem(
                    "there are too many tuples, or concepts, for sums over tuples".to_owned(),
                ));
            }
            Form::Tuples => true,
            Form::Auto => possible && worth,
            Form::Entries => false,
        };
        let tuples = tuples.then(|| Tuples::new(&frame, &arranged, rows, &pads, slots)).transpose()?;
        let mut work: Vec<Option<RowWork<D>>> = (0..order).map(|_| None).collect();
        work[lead] = Some(RowWork::new(&device, None, &arranged.by_row(rows[lead]))?);
        drop(arranged);
        for mode in (0..order).filter(|&mode| mode != lead && tuples.is_none()) {
            let arranged = arrange(mode);
            let chain = Chain::new(&frame, &arranged)?;
            tables.fit(&device, &chain)?;
            let chain = Some(chain.without_entries(&device)?);
            work[mode] = Some(RowWork::new(&device, chain, &arranged.by_row(rows[mode]))?);
        }
        let counts: Vec<Vec<u32>> =
            (0..order).into_par_iter().map(|mode| counted(entries.indices[mode], rows[mode])).collect();
        let lead = chain;
        let row_slots = |mode: usize| {
            let of_tuples = tuples.as_ref().map_or(0, |tuples| tuples.slots(mode));
            work[mode].as_ref().map_or(of_tuples, RowWork::slots)
        };
        let telling = counts.iter().map(|counts| telling(counts, setup.row_noise));
        let telling = telling.map(|rows| Array::new(&device, &rows)).collect::<Result<_, _>>()?;
        let most = |of: &dyn Fn(usize) -> usize| (0..order).map(of).max().unwrap_or(0);
        let mut sampler = Sampler {
            core: Core::new(&device, setup)?,
            row_noise: setup.row_noise,
            rows: rows.to_vec(),
            ranks: ranks.to_vec(),
            seed: setup.seed,
            mean: None,
            scalars: Array::zeros(&device, 6 + MOST_MODES)?,
            sums: Array::zeros(&device, most(&|mode| row_slots(mode) * (pads[mode] * (pads[mode] + 3) / 2)))?,
            squares: Array::zeros(&device, most(&row_slots))?,
            errors: Array::zeros(&device, most(&|mode| rows[mode]))?,
            parts: Array::zeros(&device, BLOCKS * most(&|mode| pads[mode]).max(8))?,
            pass_squares: Array::zeros(&device, lead.leaves.slots)?,
            scales: ranks.iter().map(|&rank| Array::zeros(&device, rank)).collect::<Result<_, _>>()?,
            all_scales: Array::zeros(&device, ranks.iter().sum())?,
            counts: counts.iter().map(|counts| Array::new(&device, counts)).collect::<Result<_, _>>()?,
            telling,
            logs: Array::zeros(&device, 22)?,
            means: (0..order).map(|_| None).collect(),
            pads,
            draw,
            mean_model,
            roots,
            tables,
            lead,
            work,
            tuples,
            device,
        };
        sampler.restore(start)?;
        Ok(sampler)
    }

    /// The device, to wait for it.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, and nothing on it any more.
    #[must_use]
    pub fn into_device(self) -> D {
        self.device
    }

    /// Gives rows of a mode means in their prior, or takes them away: a number for each row and concept.
    ///
    /// # Errors
    /// If the device fails.
    pub fn set_prior_means(&mut self, mode: usize, means: Option<&[f32]>) -> Result<(), Error> {
        self.means[mode] = means.map(|means| Array::new(&self.device, means)).transpose()?;
        Ok(())
    }

    /// Sets the precision of the prior of concepts that interact.
    ///
    /// # Errors
    /// If the device fails.
    pub fn set_hurdle(&mut self, hurdle: f64) -> Result<(), Error> {
        let mut scalars = self.scalars.get(&self.device)?;
        scalars[1] = hurdle;
        self.scalars.put(&self.device, &scalars)
    }

    /// One pass over everything, in the order of the host's sampler. With a share, the mean of draws is moved by it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn epoch(&mut self, epoch: u32, share: Option<f32>) -> Result<(), Error> {
        self.rescale(epoch)?;
        for mode in self.modes() {
            self.draw_rows(mode, epoch, share)?;
            if epoch >= CORE_FROM {
                self.draw_shares(mode, epoch)?;
            }
        }
        self.draw_core(epoch, epoch >= CORE_FROM)?;
        if let Some(share) = share {
            self.average(share)?;
        }
        Ok(())
    }

    /// The modes in the order in which their rows are drawn.
    #[must_use]
    pub fn modes(&self) -> Vec<usize> {
        // Sums over tuples are those of the lead's rows.
        let first = self.tuples.as_ref().map(|_| self.lead.leaf);
        first.into_iter().chain((0..self.rows.len()).filter(|&mode| Some(mode) != first)).collect()
    }

    /// Brings each concept back to a prior of precision 1; the core takes up the difference, and so does the mean.
    ///
    /// # Errors
    /// If the device fails.
    pub fn rescale(&mut self, epoch: u32) -> Result<(), Error> {
        self.outdate(self.lead.leaf);
        let device = &self.device;
        for mode in 0..self.rows.len() {
            let (rows, rank, pad) = (self.rows[mode], self.ranks[mode], self.pads[mode]);
            let factor = &self.draw.factors[mode];
            let means = self.means[mode].as_ref();
            let blocks = self.column_parts(factor, mode, false, means)?;
            let (modes, own, scales) = (mode as u32, rows as u32, &self.scales[mode]);
            let grid = [rank.div_ceil(64), 1];
            launch!(
                device,
                Module::Common,
                "draw_scales",
                grid,
                64,
                0,
                modes,
                own,
                rank as u32,
                blocks as u32,
                &self.parts,
                self.seed,
                epoch,
                scales
            )?;
            let grid = [(rows * pad).div_ceil(THREADS), 1];
            let (ranks, pads) = (rank as u32, pad as u32);
            launch!(
                device,
                Module::Common,
                "scale_rows",
                grid,
                THREADS,
                0,
                own,
                ranks,
                pads,
                scales,
                factor
            )?;
            if let Some(mean) = &self.mean {
                let grid = [(rows * natural_len(rank)).div_ceil(THREADS), 1];
                let natural = &mean.natural[mode];
                launch!(
                    device,
                    Module::Common,
                    "scale_natural",
                    grid,
                    THREADS,
                    0,
                    own,
                    ranks,
                    scales,
                    natural
                )?;
            }
            let first = self.core.first(mode) as u32;
            let grid = [1, 1];
            launch!(
                device,
                Module::Common,
                "put_scales",
                grid,
                32,
                0,
                ranks,
                first,
                scales,
                &self.all_scales
            )?;
        }
        let len = self.draw.core.len();
        let grid = [len.div_ceil(THREADS), 1];
        let mean = self.mean.as_ref().map(|_| &self.mean_model.core);
        for core in [Some(&self.draw.core), mean].into_iter().flatten() {
            let shape = &self.core.shape;
            launch!(device, Module::Common, "scale_core", grid, THREADS, 0, shape, &self.all_scales, core)?;
        }
        Ok(())
    }

    /// What the last [`Sampler::rescale`] multiplied the concepts of a mode with.
    ///
    /// # Errors
    /// If the device fails.
    pub fn scales(&self, mode: usize) -> Result<Vec<f32>, Error> {
        self.scales[mode].get(&self.device)
    }

    /// Sums over the rows of a factor in blocks, and how many blocks there are.
    pub(crate) fn column_parts(
        &self,
        factor: &Array<D, f32>,
        mode: usize,
        plain: bool,
        means: Option<&Array<D, f32>>,
    ) -> Result<usize, Error> {
        let (rows, rank, pad) = (self.rows[mode], self.ranks[mode], self.pads[mode]);
        let threads = pad.next_multiple_of(32).max(THREADS);
        let blocks = rows.div_ceil(threads / pad).clamp(1, BLOCKS);
        launch!(
            &self.device,
            Module::Common,
            "column_parts",
            [blocks, 1],
            threads,
            8 * threads,
            rows as u32,
            rank as u32,
            pad as u32,
            u32::from(plain),
            factor,
            means,
            &self.parts,
        )?;
        Ok(blocks)
    }

    /// Draws the rows of a mode. With a share, the mean of their distributions is moved by it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn draw_rows(&mut self, mode: usize, epoch: u32, share: Option<f32>) -> Result<(), Error> {
        if share.is_some() && self.mean.is_none() {
            self.mean = Some(self.no_mean()?);
        }
        self.sum_rows(mode, epoch)?;
        self.outdate(mode);
        self.draw_summed_rows(mode, epoch, share, self.means[mode].as_ref())
    }

    /// Forgets the mean: the next draw that counts is the first.
    pub fn forget_mean(&mut self) {
        self.mean = None;
    }

    /// Sums up the entries of a mode's rows, as [`Sampler::draw_rows`] does first.
    ///
    /// # Errors
    /// If the device fails.
    pub fn sum(&mut self, mode: usize, epoch: u32) -> Result<(), Error> {
        self.sum_rows(mode, epoch)
    }

    /// Says that the rows or the shares of a mode are about to change.
    pub(crate) fn outdate(&mut self, mode: usize) {
        if mode == self.lead.leaf {
            self.tuples.iter_mut().for_each(Tuples::outdate);
        }
    }

    pub(crate) fn no_mean(&self) -> Result<Mean<D>, Error> {
        let device = &self.device;
        let natural = self.rows.iter().zip(&self.ranks);
        let natural = natural.map(|(rows, &rank)| Array::zeros(device, rows * natural_len(rank)));
        let shares = self.rows.iter().map(|&rows| Array::new(device, &vec![1.0; rows]));
        Ok(Mean { natural: natural.collect::<Result<_, _>>()?, shares: shares.collect::<Result<_, _>>()? })
    }

    /// Draws the shares of a mode's rows in the precision of entries, given what [`Sampler::draw_rows`] has left of them.
    ///
    /// # Errors
    /// If the device fails.
    pub fn draw_shares(&mut self, mode: usize, epoch: u32) -> Result<(), Error> {
        self.outdate(mode);
        let (device, rows, pad) = (&self.device, self.rows[mode], self.pads[mode]);
        let telling = &self.telling[mode];
        if !self.row_noise || telling.len() == 0 {
            return Ok(());
        }
        let (counts, errors, scalars) = (&self.counts[mode], &self.errors, &self.scalars);
        let (own, seed, number, pads) = (rows as u32, self.seed, mode as u32, pad as u32);
        let (roots, factor) = (&self.roots[mode], &self.draw.factors[mode]);
        let some = telling.len() as u32;
        let (room, logs) = (8 * THREADS, &self.logs);
        launch!(
            device,
            Module::Common,
            "weigh_nu",
            [22, 1],
            THREADS,
            room,
            telling,
            some,
            counts,
            errors,
            scalars,
            logs
        )?;
        launch!(device, Module::Common, "pick_nu", [1, 1], 32, 0, number, logs, seed, epoch, scalars)?;
        let grid = [rows.div_ceil(THREADS), 1];
        let modes = self.rows.len() as u32;
        launch!(
            device,
            Module::Common,
            "draw_shares",
            grid,
            THREADS,
            0,
            number,
            modes,
            own,
            counts,
            errors,
            scalars,
            seed,
            epoch,
            roots
        )?;
        let blocks = rows.div_ceil(THREADS).min(BLOCKS);
        let parts = &self.parts;
        let grid_of_parts = [blocks, 1];
        launch!(
            device,
            Module::Common,
            "level_parts",
            grid_of_parts,
            THREADS,
            room,
            own,
            pads,
            counts,
            roots,
            factor,
            parts
        )?;
        let blocks = blocks as u32;
        launch!(
            device,
            Module::Common,
            "level_shares",
            grid,
            THREADS,
            64,
            own,
            pads,
            blocks,
            parts,
            factor,
            roots
        )
    }

    /// Takes the rest of a draw into the mean: the core and the noise.
    ///
    /// # Errors
    /// If the device fails.
    pub fn average(&mut self, share: f32) -> Result<(), Error> {
        let device = &self.device;
        let len = self.draw.core.len();
        let grid = [len.div_ceil(THREADS), 1];
        let (core, mean_core, scalars) = (&self.draw.core, &self.mean_model.core, &self.scalars);
        launch!(
            device,
            Module::Common,
            "mean_core",
            grid,
            THREADS,
            0,
            len as u32,
            share,
            core,
            mean_core,
            scalars
        )?;
        for (mode, &rows) in self.rows.iter().enumerate() {
            let Some(mean) = &self.mean else { continue };
            let grid = [rows.div_ceil(THREADS), 1];
            let (roots, shares) = (&self.roots[mode], &mean.shares[mode]);
            launch!(
                device,
                Module::Common,
                "mean_shares",
                grid,
                THREADS,
                0,
                rows as u32,
                share,
                roots,
                shares
            )?;
        }
        Ok(())
    }
}

/// Some rows that tell how much rows differ; none if they are too few, or their entries are.
fn telling(counts: &[u32], row_noise: bool) -> Vec<u32> {
    let telling: Vec<u32> =
        (0..).zip(counts).filter(|(_, count)| **count >= TELLING).map(|(row, _)| row).collect();
    let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let theirs: u64 = telling.iter().map(|&row| u64::from(counts[row as usize])).sum();
    if !row_noise || telling.len() < FEWEST || MOST_OF * theirs < all {
        return Vec::new();
    }
    let step = telling.len().div_ceil(ROWS);
    telling.into_iter().step_by(step).collect()
}

/// How many entries each row of a mode has.
fn counted(of: &[u32], rows: usize) -> Vec<u32> {
    let mut counts = vec![0; rows];
    of.iter().for_each(|&row| counts[row as usize] += 1);
    counts
}
