//! How well a model predicts entries.

use std::sync::Arc;

use crate::Error;
use crate::arrange::{Entries, MOST_NUMBERS, Shape, order};
use crate::chain::{Chain, Frame, Purpose, Which};
use crate::device::{Array, Device, Module, launch};
use crate::lists::MOST_STREAMED;
use crate::parts::{Parts, Visit};
use crate::sampler::{Mean, Sampler};
use crate::scalars;
use crate::stage::Room;

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
        let shape = |most: usize| Shape { rows: &rows, ranks: &wide, leaf, most };
        let models = [&self.draw, &self.mean_model];
        let frame =
            Frame { device: &self.device, rows: &self.rows, ranks: &self.ranks, models, roots: &self.roots };
        let before = self.tables.sizes();
        let (device, tables, squares) = (&self.device, &mut self.tables, &mut self.pass_squares);
        let mut whole = || {
            // There is room for sets of a part; larger ones are not to take that of others, or of what comes later.
            let is_large = entries.values.len() > self.part;
            let reserve = if is_large { self.reserve + device.reserve() } else { 0 };
            let _reserve = Array::<D, u8>::zeros(device, reserve)?;
            let comes = is_large && self.mean.is_none();
            let _mean = comes.then(|| Mean::new(device, &self.rows, &self.ranks)).transpose()?;
            let arranged = order((&entries, &[]), &shape(MOST_NUMBERS)).all();
            let chain = Chain::new(&frame, &mut Room::Device(device), &arranged, Purpose::Errors, None)?;
            tables.fit(device, &chain)?;
            let parts = Parts::whole(device, chain)?;
            make_room(device, squares, parts.slots())?;
            Ok(parts)
        };
        let parts = match whole() {
            Err(Error::OutOfMemory(_)) => {
                self.tables.cut(device, &before)?;
                let ordered = order((&entries, &[]), &shape(MOST_STREAMED));
                let given = (&*ordered, None);
                let parts = Parts::on_host(&frame, &mut self.tables, given, self.part, Purpose::Errors)?;
                make_room(device, &mut self.pass_squares, parts.slots())?;
                parts
            }
            parts => parts?,
        };
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

/// Makes room for so many squares; if there is none, what was there before stays.
fn make_room<D: Device>(device: &D, squares: &mut Array<D, f64>, len: usize) -> Result<(), Error> {
    if squares.len() < len {
        *squares = Array::zeros(device, len)?;
    }
    Ok(())
}
