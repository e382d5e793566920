//! Sums over the entries of tuples, where entries of three modes share their rows in two of them: computed once per epoch, they
//! take the entries' place in the draws of these two modes' rows and of the core.

use crate::Error;
use crate::arrange::Arranged;
use crate::by_row::ByRow;
use crate::chain::{BEHIND, Frame, THREADS, Which, Work, fold, gather};
use crate::device::{Array, Device, Module, launch, pad, stride};
use crate::parts::Visit;
use crate::sampler::Sampler;
use crate::stage::Room;

/// From so many entries per tuple on, sums over tuples are faster than those over entries.
const WORTH: usize = 15;
/// The largest padded rank that kernels have tiles for.
pub(crate) const WIDEST: usize = 64;
/// The most tuples of a task.
const LONGEST: u32 = 64;
/// Batches of tuples are as large as this many floats of shared memory allow, and no larger than this.
const ROOM: usize = 8 << 10;
const BATCH: usize = 16;
/// From this padded rank on, sums over tuples are on tensor cores, by so many threads of a block.
const TENSOR_FROM: usize = 32;
const TENSOR_THREADS: usize = 128;

/// The sums of tuples, and what the rows of each mode have of them.
pub(crate) struct Tuples<D: Device> {
    sums: Array<D, f32>,
    squares: Array<D, f32>,
    /// For each mode but the lead.
    sides: Vec<Option<Side<D>>>,
    /// The epoch of the sums.
    ready: Option<u32>,
}

/// The tuples of the rows of a mode.
struct Side<D: Device> {
    tuples: Array<D, u32>,
    /// Each tuple's row in the other mode.
    others: Array<D, u32>,
    work: Work<D>,
    other: usize,
    all: Array<D, u32>,
    root: Array<D, u32>,
    table_roots: Array<D, f32>,
    folded: Folded<D>,
}

/// The core folded along each row of the other mode.
struct Folded<D: Device> {
    pack: Array<D, u32>,
    packed: Array<D, f32>,
    folding: Array<D, u64>,
    tables: Array<D, f32>,
}

impl<D: Device> Folded<D> {
    fn new(frame: &Frame<'_, D>, [other, mode, leaf]: [usize; 3], rows: usize) -> Result<Self, Error> {
        let (device, (pack, _)) = (frame.device, frame.places(&[other, mode, leaf]));
        Ok(Folded {
            packed: Array::zeros(device, pack.len())?,
            pack: Array::new(device, &pack)?,
            folding: frame.folding(&[other], Which::Draw)?,
            tables: Array::zeros(device, rows * frame.ranks[mode] * pad(frame.ranks[leaf]))?,
        })
    }
}

/// How many numbers the sums of a tuple are.
fn sums_len(pad: usize) -> usize {
    pad * (pad + 1) / 2 + 2 * pad
}

/// Whether tuples are possible, and worth their while.
pub(crate) fn are_worth(arranged: &Arranged, pads: &[usize]) -> (bool, bool) {
    let possible = pads.len() == 3 && arranged.levels.len() == 2 && pads.iter().all(|&pad| pad <= WIDEST);
    (possible, arranged.values.len() >= WORTH * arranged.nodes().max(1))
}

impl<D: Device> Tuples<D> {
    pub(crate) fn new(
        frame: &Frame<'_, D>,
        arranged: &Arranged,
        rows: &[usize],
        pads: &[usize],
        slots: usize,
    ) -> Result<Self, Error> {
        let device = frame.device;
        let [first, second] = &arranged.levels[..] else {
            return Err(Error::Problem("tuples have two modes".to_owned()));
        };
        let (parents, seconds) = (&second.parents[..arranged.nodes()], &second.rows[..arranged.nodes()]);
        let firsts: Vec<u32> = parents.iter().map(|&parent| first.rows[parent as usize]).collect();
        let pad = pads[arranged.leaf];
        let mut tuples = Tuples {
            sums: Array::zeros(device, slots * sums_len(pad))?,
            squares: Array::zeros(device, slots)?,
            sides: (0..rows.len()).map(|_| None).collect(),
            ready: None,
        };
        for (mode, other, own, theirs) in [
            (first.modes[0], second.modes[0], &firsts[..], seconds),
            (second.modes[0], first.modes[0], seconds, &firsts),
        ] {
            let by_row = ByRow::new(rows[mode], own, &[], |place| (place as u32, theirs[place]));
            let all: Vec<u32> = (0..rows[other] as u32).collect();
            tuples.sides[mode] = Some(Side {
                tuples: Array::new(device, &by_row.ids)?,
                others: Array::new(device, &by_row.values)?,
                work: Work::new(&mut Room::Device(device), &by_row.starts, LONGEST)?,
                other,
                all: Array::new(device, &all)?,
                root: Array::zeros(device, all.len())?,
                table_roots: Array::zeros(device, all.len())?,
                folded: Folded::new(frame, [other, mode, arranged.leaf], all.len())?,
            });
        }
        Ok(tuples)
    }

    /// Sums for other ranks from now on.
    pub(crate) fn resize(&mut self, frame: &Frame<'_, D>, leaf: usize) -> Result<(), Error> {
        let (device, pad) = (frame.device, pad(frame.ranks[leaf]));
        self.outdate();
        self.sums.grow(device, self.squares.len() * sums_len(pad))?;
        for (mode, side) in self.sides.iter_mut().enumerate() {
            let Some(side) = side else { continue };
            side.folded = Folded::new(frame, [side.other, mode, leaf], side.all.len())?;
        }
        Ok(())
    }

    /// How many sums there are at a time for the rows of a mode.
    pub(crate) fn slots(&self, mode: usize) -> usize {
        self.sides[mode].as_ref().map_or(0, |side| side.work.slots)
    }

    /// Says that rows or shares of the lead have changed.
    pub(crate) fn outdate(&mut self) {
        self.ready = None;
    }
}

impl<D: Device> Sampler<D> {
    /// Brings what passes over the lead's entries need up to date: its rows as sums read them, and the sums of tuples, if there are
    /// any.
    pub(crate) fn prepare(&mut self, epoch: u32) -> Result<(), Error> {
        let leaf = self.lead.leaf();
        if self.tuples.as_ref().is_some_and(|tuples| tuples.ready == Some(epoch)) {
            return Ok(());
        }
        // Until they are: a launch may fail.
        self.tuples.iter_mut().for_each(Tuples::outdate);
        let (rows, pad) = (self.rows[leaf] + BEHIND, self.pads[leaf]);
        let (factor, roots, wide) = (&self.draw.factors[leaf], &self.roots[leaf], &self.lead_rows);
        let (device, wide_pad) = (&self.device, stride(pad));
        let grid = [(rows * wide_pad).div_ceil(THREADS), 1];
        let (count, pads, wide_pad) = (rows as u32, pad as u32, wide_pad as u32);
        launch!(
            device,
            Module::Common,
            "widen",
            grid,
            THREADS,
            0,
            count,
            pads,
            wide_pad,
            factor,
            roots,
            wide
        )?;
        let Some(tuples) = &self.tuples else { return Ok(()) };
        let sums = [&tuples.sums, &tuples.squares];
        let leaves = &self.lead.first().leaves;
        for (number, stretch) in leaves.stretches.iter().enumerate() {
            stretch.load(device, &self.tables)?;
            let signs = Some((self.seed_of(number), epoch));
            self.sum_stretch(pad, stretch, wide, signs, sums)?;
        }
        leaves.join(device, sums_len(pad), sums[0])?;
        leaves.join(device, 1, sums[1])?;
        self.tuples.iter_mut().for_each(|tuples| tuples.ready = Some(epoch));
        Ok(())
    }

    /// Sums up the tuples of a mode's rows; `false` if rows of this mode have entries instead.
    pub(crate) fn sum_tuples(&mut self, mode: usize, epoch: u32) -> Result<bool, Error> {
        let leaf = self.lead.leaf();
        if self.tuples.is_none() || mode == leaf {
            return Ok(false);
        }
        self.prepare(epoch)?;
        let Some(tuples) = &self.tuples else { return Ok(false) };
        let Some(side) = &tuples.sides[mode] else { return Ok(false) };
        let device = &self.device;
        let folded = &side.folded;
        gather(device, &folded.pack, &self.draw.core, &folded.packed)?;
        let (rank, pad, inner) = (self.ranks[mode], self.pads[mode], self.pads[leaf]);
        let (nodes, len) = (self.rows[side.other], rank * inner);
        fold(
            device,
            (nodes, len, 0),
            (&folded.folding, [&side.all, &side.root]),
            [&folded.packed, &self.tables.roots[0]],
            [&folded.tables, &side.table_roots],
        )?;
        if self.tensor && pad.min(inner) >= TENSOR_FROM {
            // As in tensor_tuples.cu.
            let full = (inner + 2 * pad.next_multiple_of(16)) * (inner + 8);
            let shared = 4 * (full + inner * (inner + 1) / 2 + 2 * inner);
            launch!(
                device,
                Module::Tensor(inner as u32),
                "sum_tuples",
                [side.work.count, 1],
                TENSOR_THREADS,
                shared,
                &side.work.tasks,
                rank as u32,
                pad as u32,
                &side.tuples,
                &side.others,
                &tuples.sums,
                &tuples.squares,
                &folded.tables,
                &self.roots[side.other],
                &self.sums,
                &self.squares,
            )?;
        } else {
            self.sum_tuples_plainly(side, (rank, pad, inner), tuples)?;
        }
        side.work.join(device, pad * (pad + 3) / 2, &self.sums)?;
        side.work.join(device, 1, &self.squares)?;
        Ok(true)
    }

    /// The same without tensor cores.
    fn sum_tuples_plainly(
        &self,
        side: &Side<D>,
        (rank, pad, inner): (usize, usize, usize),
        tuples: &Tuples<D>,
    ) -> Result<(), Error> {
        let (device, folded) = (&self.device, &side.folded);
        let tiles = pad / 4 * (pad / 4 + 1) / 2;
        let threads = if tiles > 128 { 256 } else { 128 };
        // As in tuples.cu.
        let wide = if inner / 4 % 2 == 1 { inner } else { inner + 4 };
        let each = (inner + 2 * pad) * wide + inner + 3;
        let batch = (ROOM / each).clamp(1, BATCH);
        let shared = 4 * (batch * each).max(16 * threads);
        launch!(
            device,
            Module::Pad(inner as u32),
            "sum_tuples",
            [side.work.count, 1],
            threads,
            shared,
            &side.work.tasks,
            batch as u32,
            rank as u32,
            pad as u32,
            &side.tuples,
            &side.others,
            &tuples.sums,
            &tuples.squares,
            &folded.tables,
            &self.roots[side.other],
            &self.sums,
            &self.squares,
        )
    }

    /// A pass over tuples, whose designs are in the last nodes of the lead; `false` if there are none.
    pub(crate) fn pass_tuples(&self, visit: Visit) -> Result<bool, Error> {
        let Some(tuples) = &self.tuples else { return Ok(false) };
        let (lead, pad) = (self.lead.first(), self.pads[self.lead.leaf()]);
        let (nodes, roots) = self.tables.last(lead);
        let (count, batch, threads) = (lead.nodes(), (128 / pad).max(1), 128);
        let shared = 8 * threads + 4 * batch * (pad * (pad + 1) / 2 + 3 * pad);
        launch!(
            &self.device,
            Module::Common,
            "pass_tuples",
            [count.div_ceil(batch), 1],
            threads,
            shared,
            visit as u32,
            count as u32,
            batch as u32,
            pad as u32,
            &tuples.sums,
            &tuples.squares,
            roots,
            &self.scalars,
            nodes,
            &self.pass_squares,
        )?;
        Ok(true)
    }
}
