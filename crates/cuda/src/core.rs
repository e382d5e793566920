//! Draws of the core, its prior and the precision of entries.

use crate::Error;
use crate::chain::{Chain, Joins, MOST_MODES, Model, THREADS, Which};
use crate::device::{Array, Device, Module, PADS, launch};
use crate::parts::{Parts, Visit, blocks};
use crate::sampler::Sampler;
use crate::stage::Room;
use crate::state::State;

/// Steps of conjugate gradients.
const STEPS: usize = 3;
/// They are with a sample if it has so many entries for each number of the core.
const PER_NUMBER: usize = 24;
/// Threads of the one block that takes a step.
const STEP_THREADS: usize = 1024;

/// Threads of a block that visits entries.
const LEAF_THREADS: usize = 128;

/// What draws of the core need beside it.
pub(crate) struct Core<D: Device> {
    pub(crate) shape: Array<D, u32>,
    zero: Array<D, u8>,
    /// The places of zeros.
    zeros: Vec<usize>,
    ranks: Vec<usize>,
    pub(crate) relevant: usize,
    pub(crate) by_set: bool,
    pub(crate) sets: Array<D, f64>,
    concepts: Array<D, f64>,
    /// The sum over the parts so far, and behind it what the next one has.
    pub(crate) both_gradients: Array<D, f32>,
    gradient: Array<D, f32>,
    next_gradient: Array<D, f32>,
    /// Adds both up.
    join: Joins<D>,
    narrow: Array<D, f32>,
    change: Array<D, f64>,
    precisions: Array<D, f64>,
    pull: Array<D, f64>,
    residual: Array<D, f64>,
    direction: Array<D, f64>,
}

impl<D: Device> Core<D> {
    /// Of these ranks and zeros; `relevant` and `by_set` as in [`Setup`](crate::Setup).
    pub(crate) fn new(
        device: &D,
        ranks: &[usize],
        zero: &[bool],
        relevant: usize,
        by_set: bool,
    ) -> Result<Self, Error> {
        let len: usize = ranks.iter().product();
        let mut shape = [0u32; 3 + 3 * MOST_MODES];
        (shape[0], shape[1]) = (ranks.len() as u32, len as u32);
        // Modes that are not there have one concept.
        shape[2..2 + 2 * MOST_MODES].fill(1);
        let mut first = 0;
        for (mode, &rank) in ranks.iter().enumerate() {
            shape[2 + mode] = rank as u32;
            shape[2 + MOST_MODES + mode] = ranks[mode + 1..].iter().product::<usize>() as u32;
            shape[2 + 2 * MOST_MODES + mode] = first;
            first += rank as u32;
        }
        shape[2 + 3 * MOST_MODES] = u32::from(by_set);
        let zeros = (0..).zip(zero).filter(|(_, zero)| **zero).map(|(place, _)| place).collect();
        let zero: Vec<u8> = zero.iter().map(|&zero| zero.into()).collect();
        let both_gradients = Array::zeros(device, 2 * len)?;
        Ok(Core {
            shape: Array::new(device, &shape)?,
            zero: Array::new(device, &zero)?,
            zeros,
            ranks: ranks.to_vec(),
            relevant,
            by_set,
            sets: Array::zeros(device, 1 << ranks.len())?,
            concepts: Array::zeros(device, first as usize)?,
            gradient: both_gradients.part(device, 0, len),
            next_gradient: both_gradients.part(device, len, len),
            both_gradients,
            join: Joins::new(&mut Room::Device(device), vec![[0, 0, 2]])?,
            narrow: Array::zeros(device, len)?,
            change: Array::zeros(device, len)?,
            precisions: Array::zeros(device, len)?,
            pull: Array::zeros(device, len)?,
            residual: Array::zeros(device, len)?,
            direction: Array::zeros(device, len)?,
        })
    }

    /// Where the concepts of a mode begin among those of all modes.
    pub(crate) fn first(&self, mode: usize) -> usize {
        self.ranks[..mode].iter().sum()
    }

    pub(crate) fn concepts(&self, device: &D) -> Result<Vec<Vec<f64>>, Error> {
        let all = self.concepts.get(device)?;
        let of = |(mode, &rank): (usize, &usize)| all[self.first(mode)..][..rank].to_vec();
        Ok(self.ranks.iter().enumerate().map(of).collect())
    }

    /// The numbers of a core, with zeros where it has them.
    pub(crate) fn masked(&self, core: &[f32]) -> Vec<f32> {
        let mut masked = core.to_vec();
        self.zeros.iter().for_each(|&place| masked[place] = 0.0);
        masked
    }

    pub(crate) fn restore(&mut self, device: &D, state: &State) -> Result<(), Error> {
        self.concepts.put(device, &state.concepts.concat())?;
        self.sets.put(device, &state.sets)
    }
}

impl<D: Device> Sampler<D> {
    /// Draws the precision of entries and, if `all`, the core and its prior.
    ///
    /// # Errors
    /// If the device fails.
    pub fn draw_core(&mut self, epoch: u32, all: bool) -> Result<(), Error> {
        self.check()?;
        self.prepare(epoch)?;
        self.change(|sampler| sampler.draw_whole_core(epoch, all))
    }

    fn draw_whole_core(&self, epoch: u32, all: bool) -> Result<(), Error> {
        let (device, core, seed) = (&self.device, &self.core, self.seed);
        let (scalars, draw) = (&self.scalars, &self.draw.core);
        self.sweep(&self.lead, Visit::Residuals, draw, epoch, all)?;
        if all {
            let used = draw.len() - core.zeros.len();
            let sample = self.sample.as_ref().filter(|sample| sample.taking_part() >= PER_NUMBER * used);
            let of = sample.unwrap_or(&self.lead);
            let scale = self.lead.taking_part() as f64 / of.taking_part().max(1) as f64;
            let len = draw.len();
            let grid = [len.div_ceil(THREADS), 1];
            let Core { shape, zero, sets, concepts, gradient, narrow, change, .. } = core;
            let Core { precisions, pull, residual, direction, .. } = core;
            launch!(
                device,
                Module::Common,
                "begin_core",
                grid,
                THREADS,
                0,
                shape,
                gradient,
                draw,
                zero,
                sets,
                concepts,
                scalars,
                seed,
                epoch,
                change,
                precisions,
                pull,
                residual,
                direction,
                narrow,
            )?;
            for step in 0..STEPS {
                self.sweep(of, Visit::Weighed, narrow, epoch, true)?;
                launch!(
                    device,
                    Module::Common,
                    "step_core",
                    [1, 1],
                    STEP_THREADS,
                    8 * STEP_THREADS,
                    len as u32,
                    u32::from(step == 0),
                    u32::from(step + 1 == STEPS),
                    scale,
                    gradient,
                    zero,
                    precisions,
                    scalars,
                    change,
                    residual,
                    direction,
                    narrow,
                )?;
            }
            // As on a CPU: all entries say how far to go on a way that a sample has found.
            if sample.is_some() {
                self.sweep(&self.lead, Visit::Squares, narrow, epoch, false)?;
            }
            let blocks = if sample.is_some() { self.lead.blocks() as u32 } else { 0 };
            launch!(
                device,
                Module::Common,
                "end_core",
                [1, 1],
                STEP_THREADS,
                8 * STEP_THREADS,
                len as u32,
                self.lead.squares(Visit::Squares),
                blocks,
                precisions,
                pull,
                change,
                scalars,
                draw,
            )?;
            for mode in 0..core.relevant.min(self.ranks.len()) {
                let grid = [self.ranks[mode].saturating_sub(2), 1];
                let room = 8 * THREADS;
                let number = mode as u32;
                launch!(
                    device,
                    Module::Common,
                    "draw_concepts",
                    grid,
                    THREADS,
                    room,
                    number,
                    shape,
                    draw,
                    zero,
                    sets,
                    seed,
                    epoch,
                    concepts
                )?;
            }
            let grid = [sets.len(), 1];
            let room = 8 * THREADS;
            launch!(
                device,
                Module::Common,
                "draw_sets",
                grid,
                THREADS,
                room,
                shape,
                draw,
                zero,
                concepts,
                seed,
                epoch,
                sets
            )?;
        }
        self.take_squares(&self.lead, Some(epoch))
    }

    /// Predicts the entries of the lead, or of its sample, by a core: adds up what comes of it to the core's gradient, and squares.
    pub(crate) fn sweep(
        &self,
        parts: &Parts<D>,
        visit: Visit,
        core: &Array<D, f32>,
        epoch: u32,
        with_gradient: bool,
    ) -> Result<(), Error> {
        let (device, len) = (&self.device, self.draw.core.len());
        let Core { both_gradients, gradient, next_gradient, join, .. } = &self.core;
        for chain in parts.chains() {
            if visit != Visit::Weighed {
                self.clear_squares(chain)?;
            }
            self.pass(parts, chain, visit, core, epoch)?;
            if visit != Visit::Weighed {
                self.add_squares(chain, &parts.squares_of(device, chain, visit))?;
            }
            if with_gradient && chain.number == 0 {
                chain.ascend(device, &self.tables, gradient)?;
            } else if with_gradient {
                chain.ascend(device, &self.tables, next_gradient)?;
                join.join(device, len, both_gradients)?;
            }
        }
        Ok(())
    }

    /// Predicts the entries of a part, and leaves in the last nodes what comes of it; or squares alone.
    fn pass(
        &self,
        parts: &Parts<D>,
        chain: &Chain<D>,
        visit: Visit,
        core: &Array<D, f32>,
        epoch: u32,
    ) -> Result<(), Error> {
        chain.descend(&self.device, &self.tables, Which::Draw, core, false)?;
        // Tuples are those of the lead.
        if std::ptr::eq(parts, &raw const self.lead) && self.pass_tuples(visit)? {
            return Ok(());
        }
        self.visit(chain, visit, epoch)?;
        if visit == Visit::Squares {
            return Ok(());
        }
        let (nodes, _) = self.tables.last(chain);
        chain.leaves.join(&self.device, self.pads[chain.leaf], nodes)
    }

    /// Visits the entries of a chain whose nodes have designs and whose leaf is the lead's.
    pub(crate) fn visit(&self, chain: &Chain<D>, visit: Visit, epoch: u32) -> Result<(), Error> {
        let (device, scalars, squares) = (&self.device, &self.scalars, &self.pass_squares);
        let (pad, factor) = (self.pads[chain.leaf], &self.lead_rows);
        let (nodes, node_roots) = self.tables.last(chain);
        for (number, stretch) in chain.leaves.stretches.iter().enumerate() {
            stretch.load(device, &self.tables)?;
            let (tasks, count) = (&stretch.tasks, stretch.count);
            let (module, kernel, grid) = leaf_kernel(pad, count, ["leaves", "leaves_any"]);
            let shared = if module == Module::Common { LEAF_THREADS * 8 + 2 * pad * 4 } else { 0 };
            launch!(
                device,
                module,
                kernel,
                [grid, 1],
                LEAF_THREADS,
                shared,
                pad as u32,
                visit as u32,
                tasks,
                count as u32,
                stretch.entries.words(),
                nodes,
                node_roots,
                factor,
                scalars,
                self.seed_of(chain.number + number),
                epoch,
                nodes,
                squares
            )?;
        }
        Ok(())
    }

    /// The seed of random signs of a part's entries, or of a stretch's: those of others are others.
    pub(crate) fn seed_of(&self, number: usize) -> u64 {
        self.seed ^ (number as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    /// The squared errors of a chain's tasks, whose nodes have designs of a model.
    pub(crate) fn errors(
        &self,
        chain: &Chain<D>,
        model: &Model<D>,
        [lowest, highest]: [f32; 2],
    ) -> Result<(), Error> {
        let pad = self.pads[chain.leaf];
        let (nodes, factor) = (self.tables.last(chain).0, &model.factors[chain.leaf]);
        for stretch in &chain.leaves.stretches {
            stretch.load(&self.device, &self.tables)?;
            let (tasks, count) = (&stretch.tasks, stretch.count);
            let (module, kernel, grid) = leaf_kernel(pad, count, ["errors", "errors_any"]);
            let shared = if module == Module::Common { LEAF_THREADS * 8 } else { 0 };
            launch!(
                &self.device,
                module,
                kernel,
                [grid, 1],
                LEAF_THREADS,
                shared,
                pad as u32,
                tasks,
                count as u32,
                stretch.entries.words(),
                nodes,
                factor,
                lowest,
                highest,
                &self.pass_squares
            )?;
        }
        Ok(())
    }

    /// Makes the squared errors zero: targets that tasks share have none of their own.
    pub(crate) fn clear_squares(&self, chain: &Chain<D>) -> Result<(), Error> {
        let count = chain.leaves.slots;
        let grid = [count.div_ceil(THREADS), 1];
        launch!(&self.device, Module::Common, "clear", grid, THREADS, 0, count as u64, &self.pass_squares)
    }

    /// Adds up the squares of a pass, in parts.
    pub(crate) fn add_squares(&self, chain: &Chain<D>, parts: &Array<D, f64>) -> Result<(), Error> {
        let (count, room) = (chain.leaves.slots, 8 * THREADS);
        let (squares, grid) = (&self.pass_squares, [blocks(chain), 1]);
        launch!(&self.device, Module::Common, "add_parts", grid, THREADS, room, squares, count as u64, parts)
    }

    /// Adds up the squared errors of all parts and, if there is an epoch, draws the precision of entries.
    pub(crate) fn take_squares(&self, parts: &Parts<D>, epoch: Option<u32>) -> Result<(), Error> {
        let (draws, epoch) = (u32::from(epoch.is_some()), epoch.unwrap_or(0));
        let (count, entries, seed) = (parts.blocks() as u32, parts.taking_part() as u64, self.seed);
        let (parts, scalars) = (parts.squares(Visit::Residuals), &self.scalars);
        launch!(
            &self.device,
            Module::Common,
            "draw_tau",
            [1, 1],
            32,
            0,
            parts,
            count,
            entries,
            draws,
            seed,
            epoch,
            scalars
        )
    }
}

/// Where entries of a padded rank are visited: the module, the kernel for that or for any rank, and the blocks for so many tasks. Some threads
/// share a task, see leaves.cu, or all of a block.
fn leaf_kernel(pad: usize, tasks: usize, [own, any]: [&'static str; 2]) -> (Module, &'static str, usize) {
    match PADS.iter().find(|&&there| there as usize == pad) {
        Some(&there) => {
            let lanes = (pad / 4).next_power_of_two();
            (Module::Pad(there), own, (lanes * tasks).div_ceil(LEAF_THREADS))
        }
        None => (Module::Common, any, tasks),
    }
}
