//! The state of a sampler, from the device and back.

use crate::Error;
use crate::chain::Model;
use crate::device::{Array, Device};
use crate::sampler::Sampler;
use crate::state::{MeanState, State, natural_len};

impl<D: Device> Sampler<D> {
    /// All that the next draws depend on.
    ///
    /// # Errors
    /// If the device fails.
    pub fn state(&self) -> Result<State, Error> {
        let device = &self.device;
        let scalars = self.scalars.get(device)?;
        let each = |arrays: &[Array<D, f32>]| -> Result<Vec<Vec<f32>>, Error> {
            arrays.iter().map(|array| array.get(device)).collect()
        };
        let mut roots = each(&self.roots)?;
        roots.iter_mut().for_each(|roots| roots.truncate(roots.len() - 1));
        let mean = self.mean.as_ref().map(|mean| {
            Ok(MeanState {
                natural_params: each(&mean.natural)?,
                core: self.mean_model.core.get(device)?,
                variance: scalars[5],
                shares: each(&mean.shares)?,
            })
        });
        Ok(State {
            factors: self.factors(&self.draw)?,
            roots,
            nu: scalars[6..6 + self.rows.len()].to_vec(),
            core: self.draw.core.get(device)?,
            sets: self.core.sets.get(device)?,
            concepts: self.core.concepts(device)?,
            tau: scalars[0],
            hurdle: scalars[1],
            mean: mean.transpose()?,
        })
    }

    /// The rows of a mode as they were drawn last.
    ///
    /// # Errors
    /// If the device fails.
    pub fn rows(&self, mode: usize) -> Result<Vec<f32>, Error> {
        self.unpadded(&self.draw.factors[mode], mode)
    }

    /// The core as it was drawn last.
    ///
    /// # Errors
    /// If the device fails.
    pub fn core(&self) -> Result<Vec<f32>, Error> {
        self.draw.core.get(&self.device)
    }

    /// The precision of entries, as it was drawn last.
    ///
    /// # Errors
    /// If the device fails.
    pub fn tau(&self) -> Result<f64, Error> {
        Ok(self.scalars.get(&self.device)?[0])
    }

    /// The mean of 1 / tau over the draws that counted.
    ///
    /// # Errors
    /// If the device fails.
    pub fn mean_variance(&self) -> Result<f64, Error> {
        Ok(self.scalars.get(&self.device)?[5])
    }

    /// The rows of all modes, without padding.
    pub(crate) fn factors(&self, model: &Model<D>) -> Result<Vec<Vec<f32>>, Error> {
        (0..self.rows.len()).map(|mode| self.unpadded(&model.factors[mode], mode)).collect()
    }

    fn unpadded(&self, factor: &Array<D, f32>, mode: usize) -> Result<Vec<f32>, Error> {
        let (rank, pad) = (self.ranks[mode], self.pads[mode]);
        let padded = factor.get(&self.device)?;
        let rows = padded.chunks_exact(pad).take(self.rows[mode]);
        Ok(rows.flat_map(|row| &row[..rank]).copied().collect())
    }

    /// Goes on from another state.
    ///
    /// # Errors
    /// If it has another form, or the device fails.
    pub fn restore(&mut self, state: &State) -> Result<(), Error> {
        let order = self.rows.len();
        let fits = |lists: &[Vec<f32>], of: &dyn Fn(usize) -> usize| {
            lists.len() == order && lists.iter().enumerate().all(|(mode, list)| list.len() == of(mode))
        };
        let rows = self.rows.clone();
        let ranks = self.ranks.clone();
        let mean_fits = state.mean.as_ref().is_none_or(|mean| {
            fits(&mean.natural_params, &|mode| rows[mode] * natural_len(ranks[mode]))
                && fits(&mean.shares, &|mode| rows[mode])
                && mean.core.len() == self.draw.core.len()
        });
        let is_like = fits(&state.factors, &|mode| rows[mode] * ranks[mode])
            && fits(&state.roots, &|mode| rows[mode])
            && state.core.len() == self.draw.core.len()
            && state.nu.len() == order
            && mean_fits;
        if !is_like {
            return Err(Error::Problem("the state is that of another problem".to_owned()));
        }
        self.outdate(self.lead.leaf);
        self.core.restore(&self.device, state)?;
        self.draw.core.put(&self.device, &state.core)?;
        for mode in 0..order {
            let mut padded = vec![0.0; (rows[mode] + 1) * self.pads[mode]];
            let to = padded.chunks_exact_mut(self.pads[mode]);
            for (to, from) in to.zip(state.factors[mode].chunks_exact(ranks[mode])) {
                to[..ranks[mode]].copy_from_slice(from);
            }
            self.draw.factors[mode].put(&self.device, &padded)?;
            let roots: Vec<f32> = state.roots[mode].iter().copied().chain([1.0]).collect();
            self.roots[mode].put(&self.device, &roots)?;
        }
        let variance = state.mean.as_ref().map_or(0.0, |mean| mean.variance);
        let mut scalars = vec![state.tau, state.hurdle, 0.0, 0.0, 0.0, variance];
        scalars.extend_from_slice(&state.nu);
        scalars.resize(self.scalars.len(), 0.0);
        self.scalars.put(&self.device, &scalars)?;
        self.mean = None;
        if let Some(from) = &state.mean {
            let mut mean = self.no_mean()?;
            for mode in 0..order {
                mean.natural[mode].put(&self.device, &from.natural_params[mode])?;
                mean.shares[mode].put(&self.device, &from.shares[mode])?;
            }
            self.mean_model.core.put(&self.device, &from.core)?;
            self.mean = Some(mean);
        }
        Ok(())
    }
}
