//! The state of a sampler, from the device and back.

use crate::Error;
use crate::chain::{BEHIND, Model, THREADS};
use crate::device::{Array, Device, Module, launch};
use crate::sampler::{Mean, Sampler, is_precision};
use crate::scalars::{COUNT, HURDLE, NU, TAU, VARIANCE};
use crate::state::{MeanState, State, natural_len};

impl<D: Device> Sampler<D> {
    /// All that the next draws depend on.
    ///
    /// # Errors
    /// If the device fails.
    pub fn state(&self) -> Result<State, Error> {
        self.check()?;
        let device = &self.device;
        let scalars = self.scalars.get(device)?;
        let each = |arrays: &[Array<D, f32>]| -> Result<Vec<Vec<f32>>, Error> {
            arrays.iter().map(|array| array.get(device)).collect()
        };
        let mut roots = each(&self.roots)?;
        roots.iter_mut().for_each(|roots| roots.truncate(roots.len() - BEHIND));
        let mean = self.mean.as_ref().map(|mean| {
            Ok(MeanState {
                natural_params: each(&mean.natural)?,
                core: self.mean_model.core.get(device)?,
                variance: scalars[VARIANCE],
                shares: each(&mean.shares)?,
            })
        });
        Ok(State {
            factors: self.factors(&self.draw)?,
            roots,
            nu: scalars[NU..NU + self.rows.len()].to_vec(),
            core: self.draw.core.get(device)?,
            sets: self.core.sets.get(device)?,
            concepts: self.core.concepts(device)?,
            tau: scalars[TAU],
            hurdle: scalars[HURDLE],
            mean: mean.transpose()?,
        })
    }

    /// The rows of a mode as they were drawn last.
    ///
    /// # Errors
    /// If there is no such mode, or the device fails.
    pub fn rows(&self, mode: usize) -> Result<Vec<f32>, Error> {
        self.check_mode(mode)?;
        self.unpadded(&self.draw.factors[mode], mode)
    }

    /// The same where they were before: hosts that ask for rows in every epoch need no new memory.
    ///
    /// # Errors
    /// If there is no such mode, or there is no room for as many numbers as it has, or the device fails.
    pub fn rows_into(&self, mode: usize, rows: &mut [f32]) -> Result<(), Error> {
        self.check_mode(mode)?;
        let len = self.rows[mode] * self.ranks[mode];
        if rows.len() != len {
            return Err(Error::Problem(format!("{} numbers and not {len} for mode {mode}", rows.len())));
        }
        self.unpad(&self.draw.factors[mode], mode, rows)
    }

    /// The core as it was drawn last.
    ///
    /// # Errors
    /// If the device fails.
    pub fn core(&self) -> Result<Vec<f32>, Error> {
        self.check()?;
        self.draw.core.get(&self.device)
    }

    /// The precision of entries, as it was drawn last.
    ///
    /// # Errors
    /// If the device fails.
    pub fn tau(&self) -> Result<f64, Error> {
        self.check()?;
        Ok(self.scalars.get(&self.device)?[TAU])
    }

    /// The mean of 1 / tau over the draws that counted; 0 before the first.
    ///
    /// # Errors
    /// If the device fails.
    pub fn mean_variance(&self) -> Result<f64, Error> {
        self.check()?;
        self.mean.as_ref().map_or(Ok(0.0), |_| Ok(self.scalars.get(&self.device)?[VARIANCE]))
    }

    /// The rows of all modes, without padding.
    pub(crate) fn factors(&self, model: &Model<D>) -> Result<Vec<Vec<f32>>, Error> {
        (0..self.rows.len()).map(|mode| self.unpadded(&model.factors[mode], mode)).collect()
    }

    fn unpadded(&self, factor: &Array<D, f32>, mode: usize) -> Result<Vec<f32>, Error> {
        let mut rows = vec![0.0; self.rows[mode] * self.ranks[mode]];
        self.unpad(factor, mode, &mut rows)?;
        Ok(rows)
    }

    fn unpad(&self, factor: &Array<D, f32>, mode: usize, out: &mut [f32]) -> Result<(), Error> {
        let (rows, rank, pad) = (self.rows[mode] as u32, self.ranks[mode] as u32, self.pads[mode] as u32);
        let (device, grid) = (&self.device, [out.len().div_ceil(THREADS), 1]);
        launch!(device, Module::Common, "unpad", grid, THREADS, 0, rows, rank, pad, factor, &self.bare)?;
        self.bare.get_first(device, out)
    }

    /// Goes on from another state. Where the core has zeros, those of the state are not looked at.
    ///
    /// # Errors
    /// If it has another form, or precisions that are none, or the device fails.
    pub fn restore(&mut self, state: &State) -> Result<(), Error> {
        self.check_ranks()?;
        check_state(state, &self.rows, &self.ranks)?;
        // Whatever needs room comes first: if there is none, all is as it was.
        let mean = state.mean.as_ref().map(|_| self.no_mean()).transpose()?;
        self.outdate(self.lead.leaf());
        self.whole = true;
        self.change(|sampler| sampler.put_state(state, mean))
    }

    fn put_state(&mut self, state: &State, mean: Option<Mean<D>>) -> Result<(), Error> {
        let device = &self.device;
        self.core.restore(device, state)?;
        self.draw.core.put(device, &self.core.masked(&state.core))?;
        for mode in 0..self.rows.len() {
            let (rank, pad) = (self.ranks[mode], self.pads[mode]);
            let mut padded = vec![0.0; (self.rows[mode] + BEHIND) * pad];
            for (to, from) in padded.chunks_exact_mut(pad).zip(state.factors[mode].chunks_exact(rank)) {
                to[..rank].copy_from_slice(from);
            }
            self.draw.factors[mode].put(device, &padded)?;
            let roots: Vec<f32> = state.roots[mode].iter().copied().chain([1.0; BEHIND]).collect();
            self.roots[mode].put(device, &roots)?;
        }
        let mut scalars = [0.0; COUNT];
        (scalars[TAU], scalars[HURDLE]) = (state.tau, state.hurdle);
        scalars[VARIANCE] = state.mean.as_ref().map_or(0.0, |mean| mean.variance);
        scalars[NU..NU + state.nu.len()].copy_from_slice(&state.nu);
        self.scalars.put(device, &scalars)?;
        self.mean = mean;
        if let Some((mean, from)) = self.mean.as_mut().zip(state.mean.as_ref()) {
            for (mode, (natural, shares)) in from.natural_params.iter().zip(&from.shares).enumerate() {
                mean.natural[mode].put(device, natural)?;
                mean.shares[mode].put(device, shares)?;
            }
            self.mean_model.core.put(device, &self.core.masked(&from.core))?;
        }
        Ok(())
    }
}

/// Checks that a state is one of a model of so many rows and of these ranks.
pub(crate) fn check_state(state: &State, rows: &[usize], ranks: &[usize]) -> Result<(), Error> {
    let lens = |of: &dyn Fn(usize, usize) -> usize| -> Vec<usize> {
        rows.iter().zip(ranks).map(|(&rows, &rank)| of(rows, rank)).collect()
    };
    let has = |lists: &[Vec<f32>], lens: &[usize]| lists.iter().map(Vec::len).eq(lens.iter().copied());
    let len: usize = ranks.iter().product();
    let mean_fits = state.mean.as_ref().is_none_or(|mean| {
        has(&mean.natural_params, &lens(&|rows, rank| rows * natural_len(rank)))
            && has(&mean.shares, rows)
            && mean.core.len() == len
    });
    let is_like = has(&state.factors, &lens(&|rows, rank| rows * rank))
        && has(&state.roots, rows)
        && state.core.len() == len
        && state.nu.len() == rows.len()
        && state.sets.len() == 1 << rows.len()
        && state.concepts.iter().map(Vec::len).eq(ranks.iter().copied())
        && mean_fits;
    if !is_like {
        return Err(Error::Problem("the state is that of another problem".to_owned()));
    }
    let precisions = [state.tau, state.hurdle].into_iter().chain(state.nu.iter().copied());
    let precisions = precisions.chain(state.sets.iter().chain(state.concepts.iter().flatten()).copied());
    let mut precisions = precisions.chain(state.roots.iter().flatten().map(|&root| root.into()));
    let variance = state.mean.as_ref().map_or(0.0, |mean| mean.variance);
    if !precisions.all(is_precision) || !variance.is_finite() {
        return Err(Error::Problem("a precision of the state is not positive, or not finite".to_owned()));
    }
    Ok(())
}
