//! How well a model predicts entries.

use std::sync::Arc;

use crate::Error;
use crate::arrange::{Entries, MOST_NUMBERS, Shape};
use crate::chain::{Frame, Which};
use crate::device::{Array, Device, Module, launch};
use crate::parts::{Parts, Visit};
use crate::sampler::Sampler;
use crate::scalars;

/// Entries to evaluate on, of the sampler that made it.
pub struct Evaluation<D: Device> {
    /// They have addresses of the sampler's memory, which only that sampler's launches follow.
    pub(crate) parts: Parts<D>,
    identity: Arc<()>,
}

impl<D: Device> Sampler<D> {
    /// Puts entries on the device, or keeps them on the host if that has no room for them. The row behind the last of a mode stands for those that are not known, and is the mean of all.
    ///
    /// # Errors
    /// If they name other rows, or there is no room for them.
    pub fn evaluation(&mut self, entries: Entries<'_>) -> Result<Evaluation<D>, Error> {
        self.check()?;
        let rows: Vec<usize> = self.rows.iter().map(|rows| rows + 1).collect();
        entries.check(&rows)?;
        let leaf = self.lead.leaf();
        let mut wide = self.ranks.clone();
        wide[leaf] = self.pads[leaf];
        let shape = Shape { rows: &rows, ranks: &wide, leaf, most: MOST_NUMBERS };
        let models = [&self.draw, &self.mean_model];
        let frame =
            Frame { device: &self.device, rows: &self.rows, ranks: &self.ranks, models, roots: &self.roots };
        let parts = Parts::to_evaluate(&frame, &mut self.tables, &entries, &shape, self.part)?;
        if self.pass_squares.len() < parts.slots() {
            self.pass_squares = Array::zeros(&self.device, parts.slots())?;
        }
        Ok(Evaluation { parts, identity: self.identity.clone() })
    }

    /// The sum of squared errors over a set of entries, or over those of training: of the mean of draws, or of the draw itself.
    /// Predictions are cut off at a range.
    ///
    /// # Errors
    /// If the device fails, or there is no mean yet, or the entries are those of another sampler.
    pub fn squared_error(
        &mut self,
        of: Option<&Evaluation<D>>,
        mean: bool,
        range: [f32; 2],
    ) -> Result<f64, Error> {
        self.check()?;
        if of.is_some_and(|of| !Arc::ptr_eq(&of.identity, &self.identity)) {
            return Err(Error::Problem("the entries were put there for another sampler".to_owned()));
        }
        if mean && self.mean.is_none() {
            return Err(Error::Problem("no draw has counted yet".to_owned()));
        }
        let which = if mean { Which::Mean } else { Which::Draw };
        if mean {
            self.find_mean_rows()?;
        }
        let model = if mean { &self.mean_model } else { &self.draw };
        let device = &self.device;
        for (mode, factor) in model.factors.iter().enumerate() {
            let blocks = self.column_parts(factor, mode, true, None)? as u32;
            let (rows, rank, pad) = (self.rows[mode] as u32, self.ranks[mode], self.pads[mode] as u32);
            let (grid, parts) = ([rank.div_ceil(2), 1], &self.parts);
            launch!(
                device,
                Module::Common,
                "average_row",
                grid,
                64,
                0,
                rows,
                rank as u32,
                pad,
                blocks,
                parts,
                factor
            )?;
        }
        let parts = of.map_or(&self.lead, |of| &of.parts);
        for chain in parts.chains() {
            chain.descend(device, &self.tables, which, &model.core, false)?;
            self.clear_squares(chain)?;
            self.errors(chain, model, range)?;
            self.add_squares(chain, &parts.squares_of(device, chain, Visit::Residuals))?;
        }
        self.take_squares(parts, None)?;
        Ok(self.scalars.get(device)?[scalars::SQUARES])
    }

    /// The rows and the core of the mean of draws.
    ///
    /// # Errors
    /// If the device fails, or there is no mean yet.
    pub fn mean_model(&self) -> Result<(Vec<Vec<f32>>, Vec<f32>), Error> {
        self.check()?;
        if self.mean.is_none() {
            return Err(Error::Problem("no draw has counted yet".to_owned()));
        }
        self.find_mean_rows()?;
        Ok((self.factors(&self.mean_model)?, self.mean_model.core.get(&self.device)?))
    }
}
