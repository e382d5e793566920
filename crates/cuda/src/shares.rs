//! The shares of rows in the precision of entries.

use crate::Error;
use crate::chain::THREADS;
use crate::device::{Device, Module, launch};
use crate::sampler::{BLOCKS, Sampler};

/// Rows with so many entries tell how much rows differ, if there are at least so many of them, and one of so many entries is
/// theirs; about so many of them do.
const TELLING: u32 = 20;
const FEWEST: usize = 20;
const MOST_OF: u64 = 3;
const ROWS: usize = 2048;
/// Threads of a block that weighs what the rows may be like.
const WEIGHING: usize = 512;

impl<D: Device> Sampler<D> {
    /// Draws the shares of a mode's rows in the precision of entries, given what [`Sampler::draw_rows`] has left of them.
    ///
    /// # Errors
    /// If there is no such mode, or the device fails.
    pub fn draw_shares(&mut self, mode: usize, epoch: u32) -> Result<(), Error> {
        self.check_mode(mode)?;
        self.outdate(mode);
        self.change(|sampler| sampler.draw_all_shares(mode, epoch))
    }

    fn draw_all_shares(&self, mode: usize, epoch: u32) -> Result<(), Error> {
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
            WEIGHING,
            8 * WEIGHING,
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
}

/// Some rows that tell how much rows differ; none if they are too few, or their entries are.
pub(crate) fn telling(counts: &[u32], row_noise: bool) -> Vec<u32> {
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
