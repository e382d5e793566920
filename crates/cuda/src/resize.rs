//! Other ranks for the same entries.

use std::sync::Arc;

use crate::Error;
use crate::chain::{BEHIND, Frame, Model};
use crate::core::Core;
use crate::device::{Array, Device, pad, stride};
use crate::rows::scratch;
use crate::sampler::{Sampler, parts_len, slots_of, sums_len};
use crate::setup::check_core;
use crate::state::State;
use crate::transfer::check_state;
use crate::tuples::WIDEST;

impl<D: Device> Sampler<D> {
    /// Goes on with other ranks, and from a state of these. The entries stay where they are, which is most of what
    /// [`Sampler::new`] takes time for. Means of the prior and terms of rows are forgotten, graphs are not, and evaluations have to be made
    /// anew.
    ///
    /// # Errors
    /// If there can be no such core, or the state is none of it, or there is no room for it. If the device fails on the way,
    /// nothing is left but the device.
    pub fn resize(&mut self, ranks: &[usize], zero: &[bool], start: &State) -> Result<(), Error> {
        self.check_ranks()?;
        if ranks.len() != self.rows.len() {
            return Err(Error::Problem(format!("{} ranks for {} modes", ranks.len(), self.rows.len())));
        }
        check_core(ranks, zero)?;
        check_state(start, &self.rows, ranks)?;
        if self.tuples.is_some() && ranks.iter().any(|&rank| pad(rank) > WIDEST) {
            return Err(Error::Problem(format!("sums over tuples are for ranks up to {WIDEST}")));
        }
        let (device, rows) = (&self.device, &self.rows);
        let [draw, mean_model] = [Model::zeros(device, rows, ranks)?, Model::zeros(device, rows, ranks)?];
        let core = Core::new(device, ranks, zero, self.core.relevant, self.core.by_set)?;
        let scales = ranks.iter().map(|&rank| Array::zeros(device, rank)).collect::<Result<Vec<_>, _>>()?;
        let all_scales = Array::zeros(device, ranks.iter().sum())?;
        // From here on, what there is is neither of the old ranks nor of the new ones.
        (self.lost, self.whole) = (true, false);
        self.identity = Arc::new(());
        (self.ranks, self.pads) = (ranks.to_vec(), ranks.iter().map(|&rank| pad(rank)).collect());
        (self.draw, self.mean_model, self.core, self.mean) = (draw, mean_model, core, None);
        (self.scales, self.all_scales) = (scales, all_scales);
        self.means.iter_mut().for_each(|means| *means = None);
        self.terms.iter_mut().for_each(|terms| *terms = None);
        self.fold_anew()?;
        self.lost = false;
        self.restore(start)
    }

    /// Makes chains, tuples and all room those of the ranks.
    fn fold_anew(&mut self) -> Result<(), Error> {
        let (device, rows, ranks, pads) = (&self.device, &self.rows, &self.ranks, &self.pads);
        let frame = Frame { device, rows, ranks, models: [&self.draw, &self.mean_model], roots: &self.roots };
        let leaf = self.lead.leaf();
        self.lead.resize(&frame, &mut self.tables)?;
        self.lead_rows.grow(device, (rows[leaf] + BEHIND) * stride(pads[leaf]))?;
        self.sample.iter_mut().try_for_each(|sample| sample.resize(&frame, &mut self.tables))?;
        self.work.iter_mut().flatten().try_for_each(|work| work.resize(&frame, &mut self.tables))?;
        if let Some(tuples) = &mut self.tuples {
            tuples.resize(&frame, leaf)?;
        }
        let most = |of: &dyn Fn(usize) -> usize| (0..rows.len()).map(of).max().unwrap_or(0);
        let slots = |mode: usize| slots_of(mode, &self.work, self.tuples.as_ref());
        self.sums.grow(device, most(&|mode| slots(mode) * sums_len(pads[mode])))?;
        self.scratch.grow(device, most(&|mode| scratch(rows[mode], ranks[mode], pads[mode])))?;
        self.bare.grow(device, most(&|mode| rows[mode] * ranks[mode]))?;
        self.parts.grow(device, parts_len(pads))
    }
}
