//! The scale of concepts.

use crate::Error;
use crate::chain::THREADS;
use crate::device::{Array, Device, Module, launch};
use crate::sampler::{BLOCKS, Sampler};
use crate::state::natural_len;

impl<D: Device> Sampler<D> {
    /// Brings each concept back to a prior of precision 1; the core takes up the difference, and so does the mean. Means of
    /// the prior follow; terms of rows do not, and have to be set anew.
    ///
    /// # Errors
    /// If the device fails.
    pub fn rescale(&mut self, epoch: u32) -> Result<(), Error> {
        self.outdate(self.lead.leaf());
        self.change(|sampler| sampler.rescale_all(epoch))
    }

    fn rescale_all(&self, epoch: u32) -> Result<(), Error> {
        let device = &self.device;
        for mode in 0..self.rows.len() {
            let (rows, rank, pad) = (self.rows[mode], self.ranks[mode], self.pads[mode]);
            let factor = &self.draw.factors[mode];
            let means = self.means[mode].as_ref();
            let blocks = self.column_parts(factor, mode, false, means)?;
            let (modes, own, scales) = (mode as u32, rows as u32, &self.scales[mode]);
            let grid = [rank.div_ceil(2), 1];
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
            let ranks = rank as u32;
            for (numbers, width) in [(Some(factor), pad), (means, rank)] {
                let Some(numbers) = numbers else { continue };
                let (grid, width) = ([(rows * width).div_ceil(THREADS), 1], width as u32);
                launch!(
                    device,
                    Module::Common,
                    "scale_rows",
                    grid,
                    THREADS,
                    0,
                    own,
                    ranks,
                    width,
                    scales,
                    numbers
                )?;
            }
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
    /// If there is no such mode, or the device fails.
    pub fn scales(&self, mode: usize) -> Result<Vec<f32>, Error> {
        self.check_mode(mode)?;
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
}
