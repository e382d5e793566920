//! Sums over the entries of rows, and draws of rows from them.

use rayon::prelude::*;

use crate::Error;
use crate::arrange::Order;
use crate::by_row::{ByRow, places_by_row};
use crate::chain::{Chain, Frame, Joins, Purpose, Which};
use crate::device::{Array, Device, LEAST_TENSOR, Module, PADS, launch};
use crate::parts;
use crate::sampler::{Sampler, sums_len};
use crate::stage::Room;
use crate::stretch::{ByTarget, EntryWork, Stretch};
use crate::tables::Tables;
use crate::tasks::{Tasks, longest};

/// How many tasks there are at least, if these have no fewer entries and no more.
const TASKS: (usize, [u32; 2]) = (1 << 15, [128, 2048]);
/// Threads of a block that sums.
const THREADS: usize = 128;
/// Blocks have this much shared memory without being asked.
const SHARED: usize = 48 << 10;
/// The most designs of large ranks that are there at a time.
const STAGED: usize = 16;
/// The most blocks whose systems are in the device's memory.
const BLOCKS: usize = 512;

/// The entries of a mode's rows.
pub(crate) struct RowWork<D: Device> {
    /// Those whose nodes have the designs: one for each stretch of the entries; none if it is the lead.
    chains: Vec<Chain<D>>,
    entries: EntryWork<D>,
}

impl<D: Device> RowWork<D> {
    /// Of entries on the device, whose ids are nodes of a chain, or of the lead; the one behind the last `nodes` is zero.
    pub(crate) fn new(
        device: &D,
        chain: Option<Chain<D>>,
        nodes: usize,
        by_row: &ByRow<f32>,
    ) -> Result<Self, Error> {
        let entries = ByTarget::rows(by_row, nodes);
        let entries = EntryWork::new(&mut Room::Device(device), &entries, most(by_row.ids.len()))?;
        Ok(RowWork { chains: chain.into_iter().collect(), entries })
    }

    /// Of entries on the host, about so many in each stretch, whose ids are nodes of the lead.
    pub(crate) fn of_lead_on_host(
        device: &D,
        tables: &mut Tables<D>,
        nodes: usize,
        by_row: &ByRow<f32>,
        len: usize,
    ) -> Result<Self, Error> {
        let entries = ByTarget::rows(by_row, nodes);
        let entries = EntryWork::on_host(device, tables, &entries, most(by_row.ids.len()), len)?;
        Ok(RowWork { chains: Vec::new(), entries })
    }

    /// Of entries on the host, about so many in each stretch, with a chain for each.
    pub(crate) fn on_host(
        frame: &Frame<'_, D>,
        tables: &mut Tables<D>,
        (ordered, rows): (&dyn Order, usize),
        len: usize,
    ) -> Result<Self, Error> {
        let device = frame.device;
        let (starts, places) = places_by_row(rows, &ordered.leaf_rows());
        let mut tasks = Tasks::new(&starts, most(places.len()));
        let joins = Joins::new(&mut Room::Device(device), std::mem::take(&mut tasks.splits))?;
        let (slots, mut stretches, mut chains) = (tasks.slots, Vec::new(), Vec::<Chain<D>>::new());
        for stretch in tasks.stretches(len) {
            // Entries of a row stay in their order.
            let mut places = places[stretch.elements].to_vec();
            places.par_sort_unstable();
            let arranged = ordered.some(&places);
            let mut room = tables.stage.room();
            let mut chain = Chain::new(frame, &mut room, &arranged, Purpose::Rows, chains.first())?;
            let (nodes, by_row) = (arranged.nodes(), arranged.by_row(rows));
            stretches.push(Stretch::new(&mut room, &ByTarget::rows(&by_row, nodes), &stretch.tasks)?);
            (chain.part, chain.number) = (room.close(device)?, chains.len());
            tables.fit(device, &chain)?;
            chains.push(chain);
        }
        Ok(RowWork { chains, entries: EntryWork { stretches, joins, slots } })
    }

    /// Has designs of other ranks from now on.
    pub(crate) fn resize(&mut self, frame: &Frame<'_, D>, tables: &mut Tables<D>) -> Result<(), Error> {
        parts::resize(self.chains.iter_mut(), frame, tables)
    }

    /// Lets entries take part that are held out.
    pub(crate) fn join(&mut self, device: &D, tables: &Tables<D>) -> Result<(), Error> {
        let RowWork { chains, entries } = self;
        for (number, stretch) in entries.stretches.iter_mut().enumerate() {
            match chains.get_mut(number).filter(|_| stretch.entries.held() > 0) {
                Some(chain) => chain.change(device, tables, |_| stretch.join_held(device, tables))?,
                None => stretch.join_held(device, tables)?,
            }
        }
        Ok(())
    }

    /// How many sums there are at a time.
    pub(crate) fn slots(&self) -> usize {
        self.entries.slots
    }
}

/// The most entries of a task, where there are so many in all.
fn most(entries: usize) -> u32 {
    longest(entries, TASKS.0, TASKS.1)
}

/// Where sums of a padded rank are, if it has a module: the tasks that a block has, and the shared memory. `lists` of products, see
/// sums.cu.
fn module(pad: usize, lists: usize, tensor: bool) -> Option<(Module, usize, usize)> {
    let there = *PADS.iter().find(|&&there| there as usize == pad)?;
    if pad <= 12 {
        return Some((Module::Pad(there), THREADS / 8, 0));
    }
    if tensor && there >= LEAST_TENSOR {
        // As in tensor.cu.
        let warps = THREADS / 32;
        return Some((Module::Tensor(there), warps, warps * (pad * (pad + 1) / 2 + lists * pad) * 4));
    }
    // As in sums.cu.
    let team = if pad <= 32 { 32 } else { 128 };
    let tiles = pad / 8 * (pad / 8 + 1) / 2;
    let groups = team / tiles;
    let room = (32 * (pad + 4) + 96).max(groups * tiles * 64 + 2 * groups * pad + team);
    Some((Module::Pad(there), THREADS / team, THREADS / team * room * 4))
}

impl<D: Device> Sampler<D> {
    /// Sums up the entries of a mode's rows.
    pub(crate) fn sum_rows(&mut self, mode: usize, epoch: u32) -> Result<(), Error> {
        if self.sum_tuples(mode, epoch)? {
            return Ok(());
        }
        let Some(RowWork { chains, entries }) = &self.work[mode] else { return Ok(()) };
        let (device, pad, sums) = (&self.device, self.pads[mode], [&self.sums, &self.squares]);
        for (number, stretch) in entries.stretches.iter().enumerate() {
            let chain = chains.get(number).unwrap_or(self.lead.first());
            // Designs of the lead are those of all stretches.
            if number < chains.len().max(1) {
                chain.descend(device, &self.tables, Which::Draw, &self.draw.core, true)?;
            }
            stretch.load(device, &self.tables)?;
            let (designs, _) = self.tables.last(chain);
            self.sum_stretch(pad, stretch, designs, None, sums)?;
        }
        entries.join(device, sums_len(pad), sums[0])?;
        entries.join(device, 1, sums[1])
    }

    /// Sums over tasks of products of designs; with those of random signs if there are a seed and an epoch for them. Targets that tasks
    /// share have theirs in several slots.
    pub(crate) fn sum_stretch(
        &self,
        pad: usize,
        stretch: &Stretch<D>,
        designs: &Array<D, f32>,
        signs: Option<(u64, u32)>,
        [sums, squares]: [&Array<D, f32>; 2],
    ) -> Result<(), Error> {
        let (device, count) = (&self.device, stretch.count);
        let (tasks, entries) = (&stretch.tasks, stretch.entries.words());
        let lists = if signs.is_some() { 2 } else { 1 };
        if let Some((module, tasks_of_block, shared)) = module(pad, lists, self.tensor) {
            let grid = [count.div_ceil(tasks_of_block), 1];
            let count = count as u32;
            match signs {
                None => {
                    launch!(
                        device, module, "sums", grid, THREADS, shared, tasks, count, entries, designs, sums,
                        squares
                    )?;
                }
                Some((seed, epoch)) => launch!(
                    device,
                    module,
                    "sums_signed",
                    grid,
                    THREADS,
                    shared,
                    tasks,
                    count,
                    entries,
                    designs,
                    seed,
                    epoch,
                    sums,
                    squares
                )?,
            }
            Ok(())
        } else {
            let staged = (SHARED / 4 / (pad + 1)).clamp(1, STAGED);
            let (grid, shared, pad) = ([count, 1], staged * (pad + 1) * 4, pad as u32);
            let (module, staged) = (Module::Common, staged as u32);
            launch!(
                device, module, "sums_any", grid, THREADS, shared, pad, staged, tasks, entries, designs,
                sums, squares
            )
        }
    }

    /// Draws rows from their sums.
    pub(crate) fn draw_summed_rows(
        &self,
        mode: usize,
        epoch: u32,
        share: Option<f32>,
        means: Option<&Array<D, f32>>,
    ) -> Result<(), Error> {
        let (rows, rank, pad) = (self.rows[mode] as u32, self.ranks[mode] as u32, self.pads[mode] as u32);
        let systems = Systems::new(self.rows[mode], self.ranks[mode], self.pads[mode]);
        let (device, number) = (&self.device, mode as u32);
        let (sums, squares, roots) = (&self.sums, &self.squares, &self.roots[mode]);
        let (scalars, seed) = (&self.scalars, self.seed);
        let (terms, graphs) = (self.terms[mode].as_ref(), self.graphs[mode].as_ref());
        // What graphs have computed has the other terms in it.
        let pulls = graphs.map(|graphs| &graphs.pull).or(terms.map(|terms| &terms.pull));
        let diagonals = terms.and_then(|terms| terms.diagonal.as_ref());
        let diagonals = graphs.map(|graphs| &graphs.diagonal).or(diagonals);
        let shared_terms = terms.and_then(|terms| terms.shared.as_ref());
        if let Some((mean, share)) = self.mean.as_ref().zip(share) {
            let (natural, common) = (&mean.natural[mode], Module::Common);
            let grid = [natural.len().div_ceil(256), 1];
            launch!(
                device,
                common,
                "average_natural",
                grid,
                256,
                0,
                rows,
                rank,
                pad,
                sums,
                means,
                pulls,
                diagonals,
                shared_terms,
                roots,
                scalars,
                share,
                natural
            )?;
        }
        let (factor, errors) = (&self.draw.factors[mode], &self.errors);
        let Systems { lanes, threads, grid, shared, module, .. } = systems;
        let kernel = match module {
            Module::Common => "draw_rows_any",
            // Systems in registers have no room for terms that are not there.
            Module::Pad(_) if lanes == 1 && pulls.is_some() => "draw_rows_terms",
            Module::Pad(_) | Module::Tensor(_) => "draw_rows",
        };
        launch!(
            device,
            module,
            kernel,
            grid,
            threads,
            shared,
            number,
            rows,
            rank,
            pad,
            lanes as u32,
            sums,
            squares,
            means,
            pulls,
            diagonals,
            shared_terms,
            roots,
            scalars,
            seed,
            epoch,
            factor,
            errors,
            systems.scratch(&self.scratch)
        )
    }

    /// Computes the rows that the mean of draws asks for.
    pub(crate) fn find_mean_rows(&self) -> Result<(), Error> {
        let Some(mean) = &self.mean else { return Ok(()) };
        for (mode, natural) in mean.natural.iter().enumerate() {
            let (rows, rank, pad) = (self.rows[mode] as u32, self.ranks[mode] as u32, self.pads[mode] as u32);
            let systems = Systems::new(self.rows[mode], self.ranks[mode], self.pads[mode]);
            let (device, factor) = (&self.device, &self.mean_model.factors[mode]);
            let Systems { lanes, threads, grid, shared, module, .. } = systems;
            let kernel = if module == Module::Common { "mean_rows_any" } else { "mean_rows" };
            let (lanes, scratch) = (lanes as u32, systems.scratch(&self.scratch));
            launch!(
                device, module, kernel, grid, threads, shared, rows, rank, pad, lanes, natural, factor,
                scratch
            )?;
        }
        Ok(())
    }
}

/// How systems of rows are given to threads.
struct Systems {
    module: Module,
    lanes: usize,
    threads: usize,
    grid: [usize; 2],
    shared: usize,
    /// Numbers in the device's memory, if shared memory has no room.
    scratch: usize,
}

impl Systems {
    fn new(rows: usize, rank: usize, pad: usize) -> Self {
        let there = PADS.iter().find(|&&there| there as usize == pad);
        let module = there.map_or(Module::Common, |&pad| Module::Pad(pad));
        // As in solves.cu, and for other ranks in rows.cu: a thread for each row, or a warp.
        let (lanes, room) = match module {
            Module::Pad(_) if pad <= 12 => (1, 0),
            Module::Pad(_) => (32, (pad - 1) * pad / 2 + pad),
            Module::Common | Module::Tensor(_) => (32, (rank - 1) * rank / 2 + 3 * rank),
        };
        let threads = [128, 64, 32].into_iter().find(|threads| threads / lanes * room * 8 <= SHARED);
        let blocks = |threads: usize| rows.div_ceil(threads / lanes);
        match threads {
            Some(threads) => {
                let shared = threads / lanes * room * 8;
                Systems { module, lanes, threads, grid: [blocks(threads), 1], shared, scratch: 0 }
            }
            None => {
                let (threads, blocks) = (64, blocks(64).min(BLOCKS));
                let scratch = blocks * threads / lanes * room;
                Systems { module, lanes, threads, grid: [blocks, 1], shared: 0, scratch }
            }
        }
    }

    /// The room for systems, if shared memory has none.
    fn scratch<'a, D: Device>(&self, room: &'a Array<D, f64>) -> Option<&'a Array<D, f64>> {
        (self.scratch > 0).then_some(room)
    }
}

/// How many numbers the systems of a mode's rows have in the device's memory.
pub(crate) fn scratch(rows: usize, rank: usize, pad: usize) -> usize {
    Systems::new(rows, rank, pad).scratch
}
