//! The sampler: what is on the device, and the order in which it is drawn.

use std::sync::Arc;

use crate::Error;
use crate::chain::{BEHIND, Frame, Model, THREADS};
use crate::core::Core;
use crate::device::{Array, Device, Module, launch, pad, stride};
use crate::graph::Graphs;
use crate::held::{Held, counted};
use crate::lists::{Lists, lead, part};
use crate::parts::Parts;
use crate::rows::{RowWork, scratch};
use crate::scalars;
use crate::setup::Setup;
use crate::shares::telling;
use crate::state::{State, natural_len};
use crate::tables::Tables;
use crate::terms::Terms;
use crate::transfer::check_state;
use crate::tuples::Tuples;

/// The core stays as it starts, and shares stay 1, until the rows have found their places.
const CORE_FROM: u32 = 4;
/// Blocks of sums over rows.
pub(crate) const BLOCKS: usize = 264;

/// The mean of draws.
pub(crate) struct Mean<D: Device> {
    pub(crate) natural: Vec<Array<D, f32>>,
    pub(crate) shares: Vec<Array<D, f32>>,
}

impl<D: Device> Mean<D> {
    /// That of no draws.
    pub(crate) fn new(device: &D, rows: &[usize], ranks: &[usize]) -> Result<Self, Error> {
        let natural = rows.iter().zip(ranks);
        let natural = natural.map(|(rows, &rank)| Array::zeros(device, rows * natural_len(rank)));
        let shares = rows.iter().map(|&rows| Array::new(device, &vec![1.0; rows]));
        Ok(Mean { natural: natural.collect::<Result<_, _>>()?, shares: shares.collect::<Result<_, _>>()? })
    }
}

/// A problem and the state of its model, on a device.
pub struct Sampler<D: Device> {
    pub(crate) device: D,
    /// Who this is: evaluations have addresses of its memory, and are for nobody else.
    pub(crate) identity: Arc<()>,
    /// Whether all of the state is that of one moment: not if the device failed while it was changed.
    pub(crate) whole: bool,
    /// Whether the device failed while ranks were changed, and nothing is left.
    pub(crate) lost: bool,
    pub(crate) rows: Vec<usize>,
    pub(crate) ranks: Vec<usize>,
    pub(crate) pads: Vec<usize>,
    pub(crate) seed: u64,
    pub(crate) row_noise: bool,
    /// Whether sums of large ranks are on tensor cores.
    pub(crate) tensor: bool,
    /// The model: chains and evaluations have addresses of its rows and of `roots`, which stay where they are.
    pub(crate) draw: Model<D>,
    /// Rows and core of the mean; rows are computed when they are asked for.
    pub(crate) mean_model: Model<D>,
    pub(crate) mean: Option<Mean<D>>,
    pub(crate) roots: Vec<Array<D, f32>>,
    pub(crate) scalars: Array<D, f64>,
    pub(crate) core: Core<D>,
    pub(crate) tables: Tables<D>,
    /// The entries that the core is drawn from.
    pub(crate) lead: Parts<D>,
    /// A sample of them, if they are many.
    pub(crate) sample: Option<Parts<D>>,
    /// How many a part has of those that stay on the host.
    pub(crate) part: usize,
    /// How many bytes are left for sets to evaluate on and for what coupled matrices say.
    pub(crate) reserve: usize,
    /// The rows of its leaf as sums read them, which passes do as well.
    pub(crate) lead_rows: Array<D, f32>,
    /// For each mode the entries of its rows; none where sums over tuples take their place.
    pub(crate) work: Vec<Option<RowWork<D>>>,
    pub(crate) tuples: Option<Tuples<D>>,
    pub(crate) sums: Array<D, f32>,
    pub(crate) squares: Array<D, f32>,
    pub(crate) errors: Array<D, f64>,
    /// Room for systems of rows that shared memory has none for.
    pub(crate) scratch: Array<D, f64>,
    /// Sums of blocks.
    pub(crate) parts: Array<D, f64>,
    /// The sum of squared errors of each task of a pass.
    pub(crate) pass_squares: Array<D, f64>,
    /// Room for the rows of a mode without padding.
    pub(crate) bare: Array<D, f32>,
    pub(crate) scales: Vec<Array<D, f32>>,
    pub(crate) all_scales: Array<D, f32>,
    pub(crate) counts: Vec<Array<D, u32>>,
    /// What changes when entries join that are held out, if there are any.
    pub(crate) held: Option<Held>,
    /// For each mode some rows that tell how much shares differ; empty if they are all 1.
    pub(crate) telling: Vec<Array<D, u32>>,
    pub(crate) logs: Array<D, f64>,
    pub(crate) means: Vec<Option<Array<D, f32>>>,
    /// For each mode what else its rows are drawn from.
    pub(crate) terms: Vec<Option<Terms<D>>>,
    pub(crate) graphs: Vec<Option<Graphs<D>>>,
}

impl<D: Device> Sampler<D> {
    /// Puts a problem and a model to start from on a device.
    ///
    /// # Errors
    /// If the problem has another form than the device can compute, or there is no room for it.
    pub fn new(device: D, setup: &Setup<'_>, start: &State) -> Result<Self, Error> {
        setup.check()?;
        let Setup { rows, ranks, entries, held, .. } = *setup;
        check_state(start, rows, ranks)?;
        let pads: Vec<usize> = ranks.iter().map(|&rank| pad(rank)).collect();
        let [draw, mean_model] = [Model::zeros(&device, rows, ranks)?, Model::zeros(&device, rows, ranks)?];
        let roots: Vec<Array<D, f32>> = rows
            .iter()
            .map(|rows| Array::new(&device, &vec![1.0; rows + BEHIND]))
            .collect::<Result<_, _>>()?;
        let frame = Frame { device: &device, rows, ranks, models: [&draw, &mean_model], roots: &roots };
        let (counts, held) = counted(&entries, held, rows);
        let telling = counts.iter().map(|counts| telling(counts, setup.row_noise));
        let telling = telling.map(|rows| Array::new(&device, &rows)).collect::<Result<_, _>>()?;
        let most = |of: &dyn Fn(usize) -> usize| (0..rows.len()).map(of).max().unwrap_or(0);
        // What has to be on the device is there first, so that entries have what room is left.
        let core = Core::new(&device, ranks, setup.zero, setup.relevant, setup.by_set)?;
        let scratch = Array::zeros(&device, most(&|mode| scratch(rows[mode], ranks[mode], pads[mode])))?;
        let errors = Array::zeros(&device, most(&|mode| rows[mode]))?;
        let bare = Array::zeros(&device, most(&|mode| rows[mode] * ranks[mode]))?;
        let counts = counts.iter().map(|counts| Array::new(&device, counts)).collect::<Result<_, _>>()?;
        let leaf = lead(rows);
        let lead_rows = Array::zeros(&device, (rows[leaf] + BEHIND) * stride(pads[leaf]))?;
        let parts = Array::zeros(&device, parts_len(&pads))?;
        let lists = Lists::new(&frame, setup)?;
        let mut sampler = Sampler {
            identity: Arc::new(()),
            whole: true,
            lost: false,
            row_noise: setup.row_noise,
            tensor: device.has_tensor_cores(),
            rows: rows.to_vec(),
            ranks: ranks.to_vec(),
            seed: setup.seed,
            mean: None,
            scalars: Array::zeros(&device, scalars::COUNT)?,
            scales: ranks.iter().map(|&rank| Array::zeros(&device, rank)).collect::<Result<_, _>>()?,
            all_scales: Array::zeros(&device, ranks.iter().sum())?,
            core,
            scratch,
            errors,
            parts,
            bare,
            counts,
            lead_rows,
            telling,
            held,
            logs: Array::zeros(&device, 22)?,
            means: (0..rows.len()).map(|_| None).collect(),
            terms: (0..rows.len()).map(|_| None).collect(),
            graphs: (0..rows.len()).map(|_| None).collect(),
            part: part(setup),
            reserve: setup.reserve,
            pads,
            draw,
            mean_model,
            roots,
            tables: lists.tables,
            lead: lists.entries.lead,
            sample: lists.entries.sample,
            work: lists.entries.work,
            tuples: lists.entries.tuples,
            sums: lists.sums,
            squares: lists.squares,
            pass_squares: lists.pass_squares,
            device,
        };
        sampler.restore(start)?;
        Ok(sampler)
    }

    /// In how many parts the entries stay on the host; none if they are on the device.
    pub fn parts(&self) -> Option<usize> {
        let lead = self.lead.first();
        let stretches = lead.leaves.stretches.iter().filter(|stretch| stretch.is_on_host()).count();
        if lead.part.is_some() {
            Some(self.lead.chains().len())
        } else {
            Some(stretches).filter(|&count| count > 0)
        }
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

    /// Whether there is a state, and such a mode.
    pub(crate) fn check_mode(&self, mode: usize) -> Result<(), Error> {
        if mode >= self.rows.len() {
            return Err(Error::Problem(format!("there is no mode {mode} of {}", self.rows.len())));
        }
        self.check()
    }

    /// Whether there is a state.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.check_ranks()?;
        if self.whole {
            return Ok(());
        }
        Err(Error::Problem(
            "the GPU failed in the midst of a draw: go on from a state that was saved".to_owned(),
        ))
    }

    /// Whether there are ranks of which there can be a state.
    pub(crate) fn check_ranks(&self) -> Result<(), Error> {
        if self.lost {
            return Err(Error::Problem("the GPU failed in the midst of other ranks: begin anew".to_owned()));
        }
        Ok(())
    }

    /// Changes the state: if that fails on the way, there is none until another is restored.
    pub(crate) fn change(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check()?;
        self.whole = false;
        change(self)?;
        self.whole = true;
        Ok(())
    }

    /// Gives rows of a mode means in their prior, or takes them away: a number for each row and concept. They follow
    /// [`Sampler::rescale`], as rows do, and are not part of [`Sampler::state`].
    ///
    /// # Errors
    /// If there is no such mode, or they are not as many, or the device fails.
    pub fn set_prior_means(&mut self, mode: usize, means: Option<&[f32]>) -> Result<(), Error> {
        self.check_mode(mode)?;
        let len = self.rows[mode] * self.ranks[mode];
        if let Some(means) = means.filter(|means| means.len() != len) {
            return Err(Error::Problem(format!("{} means and not {len} for mode {mode}", means.len())));
        }
        match (means, &mut self.means[mode]) {
            // Hosts do so in every epoch.
            (Some(means), Some(there)) => there.put(&self.device, means)?,
            (means, there) => *there = means.map(|means| Array::new(&self.device, means)).transpose()?,
        }
        Ok(())
    }

    /// Sets the precision of the prior of concepts that interact.
    ///
    /// # Errors
    /// If it is none, or the device fails.
    pub fn set_hurdle(&mut self, hurdle: f64) -> Result<(), Error> {
        self.check()?;
        if !is_precision(hurdle) {
            return Err(Error::Problem(format!("{hurdle} is no precision")));
        }
        self.set_scalar(scalars::HURDLE, hurdle)
    }

    fn set_scalar(&mut self, place: usize, value: f64) -> Result<(), Error> {
        let mut scalars = self.scalars.get(&self.device)?;
        scalars[place] = value;
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
        self.modes_with_last(|_| false)
    }

    /// The same with some modes behind the others, whose draws give the host time for what these wait for.
    #[must_use]
    pub fn modes_with_last(&self, is_last: impl Fn(usize) -> bool) -> Vec<usize> {
        // Sums over tuples are those of the lead's rows.
        let first = self.tuples.as_ref().map(|_| self.lead.leaf());
        let mut rest: Vec<usize> = (0..self.rows.len()).filter(|&mode| Some(mode) != first).collect();
        rest.sort_by_key(|&mode| is_last(mode));
        first.into_iter().chain(rest).collect()
    }

    /// Draws the rows of a mode. With a share, the mean of their distributions is moved by it.
    ///
    /// # Errors
    /// If there is no such mode, or the device fails.
    pub fn draw_rows(&mut self, mode: usize, epoch: u32, share: Option<f32>) -> Result<(), Error> {
        self.check_mode(mode)?;
        if share.is_some() && self.mean.is_none() {
            let mean = self.no_mean()?;
            self.mean_model.core.put(&self.device, &vec![0.0; self.draw.core.len()])?;
            self.set_scalar(scalars::VARIANCE, 0.0)?;
            self.mean = Some(mean);
        }
        self.sum_rows(mode, epoch)?;
        self.outdate(mode);
        self.pull_by_graphs(mode)?;
        self.change(|sampler| sampler.draw_summed_rows(mode, epoch, share, sampler.means[mode].as_ref()))
    }

    /// Forgets the mean: the next draw that counts is the first.
    pub fn forget_mean(&mut self) {
        self.mean = None;
    }

    /// Sums up the entries of a mode's rows, as [`Sampler::draw_rows`] does first.
    ///
    /// # Errors
    /// If there is no such mode, or the device fails.
    pub fn sum(&mut self, mode: usize, epoch: u32) -> Result<(), Error> {
        self.check_mode(mode)?;
        self.sum_rows(mode, epoch)
    }

    /// Says that the rows or the shares of a mode are about to change.
    pub(crate) fn outdate(&mut self, mode: usize) {
        if mode == self.lead.leaf() {
            self.tuples.iter_mut().for_each(Tuples::outdate);
        }
    }

    /// Room for a mean, and that of no draws.
    pub(crate) fn no_mean(&self) -> Result<Mean<D>, Error> {
        Mean::new(&self.device, &self.rows, &self.ranks)
    }

    /// Takes the rest of a draw into the mean: the core and the noise. Nothing if [`Sampler::draw_rows`] has begun no mean.
    ///
    /// # Errors
    /// If the device fails.
    pub fn average(&mut self, share: f32) -> Result<(), Error> {
        self.change(|sampler| sampler.average_rest(share))
    }

    fn average_rest(&self, share: f32) -> Result<(), Error> {
        let Some(mean) = &self.mean else { return Ok(()) };
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

/// How many sums the rows of a mode have at a time.
pub(crate) fn slots_of<D: Device>(
    mode: usize,
    work: &[Option<RowWork<D>>],
    tuples: Option<&Tuples<D>>,
) -> usize {
    work[mode].as_ref().map_or_else(|| tuples.map_or(0, |tuples| tuples.slots(mode)), RowWork::slots)
}

/// How many numbers the sums of a row are.
pub(crate) fn sums_len(pad: usize) -> usize {
    pad * (pad + 3) / 2
}

/// How many numbers blocks have at a time that sum over rows, or over anything else.
pub(crate) fn parts_len(pads: &[usize]) -> usize {
    BLOCKS * pads.iter().fold(8, |most, &pad| most.max(pad))
}

/// Whether a number can be a precision.
pub(crate) fn is_precision(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
