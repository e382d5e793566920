//! Chains on a device: the core folded along the rows of one mode after the other, and back.

use std::sync::Arc;

use crate::Error;
use crate::arrange::{Arranged, MOST_NUMBERS};
use crate::device::{Array, Device, MOST_BLOCKS, Module, PADS, launch, pad, stride};
use crate::stage::{Part, Room};
use crate::stretch::{ByTarget, EntryWork};
use crate::tables::Tables;
use crate::tasks::{Split, Tasks, longest};

/// So many tasks that share a target are many, whose sums the warps of a block add up: so many threads.
const MANY: u32 = 32;
const TURNS: usize = 512;
/// No more modes than this: kernels have room for so many.
pub(crate) const MOST_MODES: usize = 8;
/// How many tasks of leaves there are at least, if these have no fewer entries and no more; and of children that go back up.
const LEAVES: (usize, [u32; 2]) = (1 << 16, [64, 1024]);
const CHILDREN: (usize, [u32; 2]) = (1 << 14, [32, 512]);
/// The same for the children of the core itself, if they are few, and into how many tasks they are divided otherwise.
const FIRST: u32 = 8;
const FIRST_TASKS: usize = 512;
/// As in chain.cu: so many children at a time have their weights in shared memory, no more than these, and what they have
/// themselves if it is no more float4s.
const UNFOLDED: usize = 32;
const MOST_WEIGHTS: usize = 8192;
const STAGED_QUADS: usize = 16;
/// Threads of a block that folds the last level, and of one whose warps have a task each.
const FEW: usize = 128;
/// The most numbers of a core: so many cells of four, 256 in a block, are as many blocks as a launch may have in this direction.
pub(crate) const MOST_CORE: usize = MOST_BLOCKS[1] * 256 * 4;
/// Rows of a factor behind those of the mode: the mean of these, for ids that are not known, and one that is zero.
pub(crate) const BEHIND: usize = 2;
/// The one that is zero.
pub(crate) fn zero_row(rows: usize) -> u32 {
    (rows + 1) as u32
}

/// A place that comes from nowhere.
const NONE: u32 = u32::MAX;
/// Threads of a block where nothing else asks for another number.
pub(crate) const THREADS: usize = 256;

/// Tasks on a device.
pub(crate) struct Work<D: Device> {
    pub(crate) tasks: Array<D, u32>,
    pub(crate) count: usize,
    joins: Joins<D>,
    pub(crate) slots: usize,
}

impl<D: Device> Work<D> {
    pub(crate) fn new(room: &mut Room<'_, D>, starts: &[u32], most: u32) -> Result<Self, Error> {
        let Tasks { tasks, splits, slots } = Tasks::new(starts, most);
        let (count, tasks) = (tasks.len(), room.list(tasks.as_flattened())?);
        Ok(Work { tasks, count, joins: Joins::new(room, splits)?, slots })
    }

    /// Adds up the slots of targets that tasks share, `len` numbers each.
    pub(crate) fn join(&self, device: &D, len: usize, slots: &Array<D, f32>) -> Result<(), Error> {
        self.joins.join(device, len, slots)
    }
}

/// Targets that a few tasks share, and then those that many do: how many there are of each.
pub(crate) struct Joins<D: Device> {
    splits: Array<D, u32>,
    few: usize,
    many: usize,
}

impl<D: Device> Joins<D> {
    pub(crate) fn new(room: &mut Room<'_, D>, mut splits: Vec<Split>) -> Result<Self, Error> {
        splits.sort_by_key(|&[.., count]| count >= MANY);
        let few = splits.partition_point(|&[.., count]| count < MANY);
        Ok(Joins { many: splits.len() - few, few, splits: room.list(splits.as_flattened())? })
    }

    /// Adds up the slots of targets that tasks share, `len` numbers each.
    pub(crate) fn join(&self, device: &D, len: usize, slots: &Array<D, f32>) -> Result<(), Error> {
        let (few, grid) = (self.few as u32, [(self.few * len).div_ceil(THREADS), 1]);
        launch!(device, Module::Common, "join", grid, THREADS, 0, &self.splits, few, len as u32, slots)?;
        let grid = [self.many, len.div_ceil(32).min(MOST_BLOCKS[1])];
        let room = 8 * TURNS;
        launch!(device, Module::Common, "join_many", grid, TURNS, room, &self.splits, few, len as u32, slots)
    }
}

/// Rows of all modes, and the roots of their shares.
pub(crate) struct Model<D: Device> {
    /// Padded, with some rows more at the end, see [`BEHIND`].
    pub(crate) factors: Vec<Array<D, f32>>,
    pub(crate) core: Array<D, f32>,
}

impl<D: Device> Model<D> {
    /// All zero.
    pub(crate) fn zeros(device: &D, rows: &[usize], ranks: &[usize]) -> Result<Self, Error> {
        let factor = |(rows, &rank): (&usize, &usize)| Array::zeros(device, (rows + BEHIND) * pad(rank));
        let factors = rows.iter().zip(ranks).map(factor).collect::<Result<_, _>>()?;
        Ok(Model { factors, core: Array::zeros(device, ranks.iter().product())? })
    }
}

/// What makes a level of the one before.
struct Level<D: Device> {
    modes: Vec<usize>,
    nodes: usize,
    concepts: usize,
    /// How many numbers a node's table has.
    len: usize,
    rows: Array<D, u32>,
    parents: Array<D, u32>,
    /// The way back, whose targets are the nodes of the level before; none where there is nothing to bring back.
    children: Option<Work<D>>,
    /// How many nodes the level before has.
    parents_count: usize,
    /// For the draw and for the mean of draws.
    foldings: Arc<[Array<D, u64>; 2]>,
}

/// A chain over all modes but the leaf, and the entries of its last nodes.
pub(crate) struct Chain<D: Device> {
    pub(crate) leaf: usize,
    /// For each entry its row in the leaf mode and its value; none for [`Purpose::Rows`] and, to begin with, [`Purpose::Tuples`].
    pub(crate) leaves: EntryWork<D>,
    levels: Vec<Level<D>>,
    /// How many nodes the last level has, but for one more whose table is zero.
    nodes: usize,
    places: Arc<Places<D>>,
    /// Its lists, if they are on the host.
    pub(crate) part: Option<Part<D>>,
    /// Which of the parts that its entries are in it is.
    pub(crate) number: usize,
}

/// For each number of the core as chains with a leaf have it, its place in the core, and the other way round.
struct Places<D: Device> {
    pack: Array<D, u32>,
    unpack: Array<D, u32>,
    /// How many numbers the first are.
    len: usize,
}

/// The model that a chain is folded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Draw = 0,
    Mean = 1,
}

/// What a chain is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To draw the core: passes over entries, and the way back.
    Core,
    /// The same, with passes over tuples.
    Tuples,
    /// To know errors: passes over entries.
    Errors,
    /// To draw rows: designs alone.
    Rows,
}

/// What chains are made of.
pub(crate) struct Frame<'a, D: Device> {
    pub(crate) device: &'a D,
    pub(crate) rows: &'a [usize],
    pub(crate) ranks: &'a [usize],
    pub(crate) models: [&'a Model<D>; 2],
    pub(crate) roots: &'a [Array<D, f32>],
}

impl<D: Device> Frame<'_, D> {
    /// What a kernel has to know to fold these modes, see `Folding` in chain.cu.
    pub(crate) fn folding(&self, modes: &[usize], which: Which) -> Result<Array<D, u64>, Error> {
        let mut head = [0u32; 2 + 2 * MOST_MODES];
        let mut addresses = [0u64; 2 * MOST_MODES];
        head[0] = modes.len() as u32;
        head[1] = modes.iter().map(|&mode| self.ranks[mode] as u32).product();
        for (place, &mode) in modes.iter().enumerate() {
            head[2 + place] = self.ranks[mode] as u32;
            head[2 + MOST_MODES + place] = pad(self.ranks[mode]) as u32;
            addresses[place] = self.models[which as usize].factors[mode].address(self.device);
            addresses[MOST_MODES + place] = self.roots[mode].address(self.device);
        }
        let head = head.chunks_exact(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32);
        let words: Vec<u64> = head.chain(addresses).collect();
        Array::new(self.device, &words)
    }

    /// The places of a chain's numbers, which are those of the first part, if there is one.
    fn places_of(
        &self,
        modes: impl Iterator<Item = usize>,
        leaf: usize,
        first: Option<&Chain<D>>,
    ) -> Result<Arc<Places<D>>, Error> {
        if let Some(first) = first {
            return Ok(first.places.clone());
        }
        let (pack, unpack) = self.places(&modes.chain([leaf]).collect::<Vec<usize>>());
        let len = pack.len();
        let (pack, unpack) = (Array::new(self.device, &pack)?, Array::new(self.device, &unpack)?);
        Ok(Arc::new(Places { pack, unpack, len }))
    }

    /// What kernels have to know of a level, which the first part may have as well.
    fn foldings(&self, modes: &[usize], first: Option<&Chain<D>>) -> Result<Arc<[Array<D, u64>; 2]>, Error> {
        let same = first.and_then(|first| first.levels.iter().find(|level| level.modes == modes));
        if let Some(same) = same {
            return Ok(same.foldings.clone());
        }
        Ok(Arc::new([self.folding(modes, Which::Draw)?, self.folding(modes, Which::Mean)?]))
    }

    /// The places in the core of numbers in another order of modes, the last of them padded, and the other way round.
    pub(crate) fn places(&self, modes: &[usize]) -> (Vec<u32>, Vec<u32>) {
        let ranks = self.ranks;
        let inner = |mode: usize| ranks[mode + 1..].iter().product::<usize>();
        let last = modes[modes.len() - 1];
        let wide: Vec<usize> =
            modes.iter().map(|&mode| if mode == last { pad(ranks[mode]) } else { ranks[mode] }).collect();
        let mut pack = vec![NONE; wide.iter().product()];
        let mut unpack = vec![0; ranks.iter().product()];
        for (packed, place) in pack.iter_mut().enumerate() {
            let (mut rest, mut there) = (packed, 0);
            let mut is_padding = false;
            for (&mode, &width) in modes.iter().zip(&wide).rev() {
                let concept = rest % width;
                rest /= width;
                is_padding |= concept >= ranks[mode];
                there += concept * inner(mode);
            }
            if !is_padding {
                *place = there as u32;
                unpack[there] = packed as u32;
            }
        }
        (pack, unpack)
    }
}

impl<D: Device> Chain<D> {
    /// A chain whose lists go to a room; the first part, if there is one before it.
    pub(crate) fn new(
        frame: &Frame<'_, D>,
        room: &mut Room<'_, D>,
        arranged: &Arranged,
        purpose: Purpose,
        first: Option<&Self>,
    ) -> Result<Self, Error> {
        let Frame { rows: all_rows, ranks, .. } = *frame;
        let leaf = arranged.leaf;
        let modes = arranged.levels.iter().flat_map(|level| level.modes.iter().copied());
        let places = frame.places_of(modes, leaf, first)?;
        let mut len = places.len;
        let mut levels = Vec::new();
        for level in &arranged.levels {
            let nodes = level.starts.last().map_or(0, |&end| end as usize);
            let most = if levels.is_empty() {
                first_children(nodes, len)
            } else {
                longest(nodes, CHILDREN.0, CHILDREN.1)
            };
            let comes_back = matches!(purpose, Purpose::Core | Purpose::Tuples);
            let children = comes_back.then(|| Work::new(room, &level.starts, most));
            let concepts: usize = level.modes.iter().map(|&mode| ranks[mode]).product();
            len /= concepts;
            levels.push(Level {
                modes: level.modes.clone(),
                nodes: level.parents.len(),
                concepts,
                len,
                rows: room.list(&level.rows)?,
                parents: room.list(&level.parents)?,
                children: children.transpose()?,
                parents_count: level.starts.len() - 1,
                foldings: frame.foldings(&level.modes, first)?,
            });
        }
        let entries = match purpose {
            Purpose::Core | Purpose::Errors => arranged.leaves(all_rows[leaf]),
            Purpose::Rows | Purpose::Tuples => ByTarget::none(),
        };
        Ok(Chain {
            leaf,
            leaves: EntryWork::new(room, &entries, most_leaves(entries.values.len()))?,
            levels,
            nodes: arranged.nodes(),
            places,
            part: None,
            number: 0,
        })
    }

    /// Brings its lists to the device, if they are on the host.
    fn load(&self, device: &D, tables: &Tables<D>) -> Result<(), Error> {
        self.part.as_ref().map_or(Ok(()), |part| tables.stage.load(device, part))
    }

    /// Changes its lists, wherever they are.
    pub(crate) fn change(
        &mut self,
        device: &D,
        tables: &Tables<D>,
        change: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.load(device, tables)?;
        change(self)?;
        self.part.as_mut().map_or(Ok(()), |part| tables.stage.store(device, part))
    }

    /// Folds models of other ranks from now on; the first part, if there is one before it, does already.
    pub(crate) fn resize(&mut self, frame: &Frame<'_, D>, first: Option<&Self>) -> Result<(), Error> {
        let modes = self.levels.iter().flat_map(|level| level.modes.iter().copied());
        self.places = frame.places_of(modes, self.leaf, first)?;
        let mut len = self.places.len;
        for level in &mut self.levels {
            level.concepts = level.modes.iter().map(|&mode| frame.ranks[mode]).product();
            len /= level.concepts;
            level.len = len;
            level.foldings = frame.foldings(&level.modes, first)?;
        }
        Ok(())
    }

    /// How many levels it has.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many of its entries are not held out.
    pub(crate) fn taking_part(&self) -> usize {
        self.leaves.len() - self.leaves.held()
    }

    /// How many numbers each table needs: the core, and the nodes of each level, with the slots of tasks that share a node on
    /// the way back; and how many roots.
    pub(crate) fn room(&self) -> (Vec<usize>, Vec<usize>) {
        let slots_of =
            |level: &Level<D>| level.children.as_ref().map_or(level.parents_count, |work| work.slots);
        let mut slots: Vec<usize> = self.levels.iter().map(slots_of).collect();
        let comes_back = self.levels.iter().all(|level| level.children.is_some());
        let nodes = self.levels.last().map_or(0, |level| level.nodes);
        slots.push(if comes_back { self.leaves.slots.max(nodes) } else { nodes });
        let lens = [self.places.len].into_iter().chain(self.levels.iter().map(|level| level.len));
        let mut tables: Vec<usize> = slots.iter().zip(lens).map(|(slots, len)| slots * len).collect();
        // Sums read longer ones.
        tables.iter_mut().last().into_iter().for_each(|last| *last += 8 * nodes);
        // The core has one root.
        slots[0] = 1;
        (tables, slots)
    }

    /// Folds a core along the rows of all nodes. If `wide`, the last ones' tables are as sums read them, see chain.cu.
    pub(crate) fn descend(
        &self,
        device: &D,
        tables: &Tables<D>,
        which: Which,
        core: &Array<D, f32>,
        wide: bool,
    ) -> Result<(), Error> {
        if !tables.have_room(self) {
            return Err(Error::Problem("the GPU has lost its room for tables".to_owned()));
        }
        self.load(device, tables)?;
        gather(device, &self.places.pack, core, &tables.numbers[0])?;
        for (number, level) in self.levels.iter().enumerate() {
            let more = (stride(level.len) - level.len) as u32 / 4;
            let more = if wide && number + 1 == self.levels.len() { more } else { 0 };
            let foldings = &level.foldings[which as usize];
            let (numbers, roots) = (&tables.numbers[number], &tables.roots[number]);
            let out = [&tables.numbers[number + 1], &tables.roots[number + 1]];
            let pad = PADS.iter().find(|&&pad| pad as usize == level.len);
            match pad {
                Some(&pad) if number + 1 == self.levels.len() && level.modes.len() == 1 => launch!(
                    device,
                    Module::Pad(pad),
                    "fold_last",
                    [level.nodes.div_ceil(FEW), 1],
                    FEW,
                    FEW * (stride(level.len) + 4) * 4,
                    pad,
                    more,
                    foldings,
                    &level.rows,
                    &level.parents,
                    level.nodes as u32,
                    numbers,
                    roots,
                    out[0],
                    out[1],
                )?,
                _ => fold(
                    device,
                    (level.nodes, level.len, more),
                    (foldings, [&level.rows, &level.parents]),
                    [numbers, roots],
                    out,
                )?,
            }
        }
        Ok(())
    }

    /// Multiplies what the last nodes have with their rows, and adds it up to a core.
    pub(crate) fn ascend(&self, device: &D, tables: &Tables<D>, core: &Array<D, f32>) -> Result<(), Error> {
        for (number, level) in self.levels.iter().enumerate().rev() {
            let Some(children) = &level.children else {
                return Err(Error::Problem("this chain has no way back".to_owned()));
            };
            let quads = level.len / 4;
            let cells = level.concepts.div_ceil(4) * quads;
            let foldings = &level.foldings[Which::Draw as usize];
            if level.modes.len() == 1 && cells <= 32 {
                launch!(
                    device,
                    Module::Common,
                    "unfold_few",
                    [children.count.div_ceil(FEW / 32), 1],
                    FEW,
                    0,
                    foldings,
                    &level.rows,
                    &children.tasks,
                    children.count as u32,
                    level.len as u32,
                    &tables.numbers[number + 1],
                    &tables.numbers[number],
                )?;
                children.join(device, level.concepts * level.len, &tables.numbers[number])?;
                continue;
            }
            let threads: usize = if cells > 128 { 256 } else { 128 };
            // As in chain.cu: of some children what they have, if that is not too much, and the weights for the concepts of a
            // block; or the sums of each thread.
            let concepts = level.concepts.min(4 * (threads.div_ceil(quads) + 1)).next_power_of_two().max(4);
            let staged = if quads <= STAGED_QUADS { quads } else { 0 };
            let shared =
                ((UNFOLDED * concepts).min(MOST_WEIGHTS) * 4 + UNFOLDED * staged * 16).max(threads * 64);
            let grid = [children.count, cells.div_ceil(threads)];
            launch!(
                device,
                Module::Common,
                "unfold",
                grid,
                threads,
                shared,
                foldings,
                &level.rows,
                &children.tasks,
                level.len as u32,
                &tables.numbers[number + 1],
                &tables.numbers[number],
            )?;
            children.join(device, level.concepts * level.len, &tables.numbers[number])?;
        }
        gather(device, &self.places.unpack, &tables.numbers[0], core)
    }
}

/// Folds so many nodes' tables of so many numbers, and so many float4s more, with their roots, from those of their parents: how, and
/// their rows and parents, see chain.cu.
pub(crate) fn fold<D: Device>(
    device: &D,
    (nodes, len, more): (usize, usize, u32),
    (foldings, [rows, parents]): (&Array<D, u64>, [&Array<D, u32>; 2]),
    [numbers, roots_above]: [&Array<D, f32>; 2],
    [tables, roots]: [&Array<D, f32>; 2],
) -> Result<(), Error> {
    let grid = [(nodes * len / 4).div_ceil(THREADS), 1];
    let (nodes, len) = (nodes as u32, len as u32);
    launch!(
        device,
        Module::Common,
        "fold",
        grid,
        THREADS,
        0,
        more,
        foldings,
        rows,
        parents,
        nodes,
        len,
        numbers,
        roots_above,
        tables,
        roots,
    )
}

/// The most entries of a task, where there are so many in all.
pub(crate) fn most_leaves(entries: usize) -> u32 {
    longest(entries, LEAVES.0, LEAVES.1)
}

/// The most children of a task that goes back to a core of so many numbers: the sums of all tasks have to have room.
fn first_children(children: usize, len: usize) -> u32 {
    let tasks = (MOST_NUMBERS / len.max(1)).clamp(1, FIRST_TASKS);
    FIRST.max(children.div_ceil(tasks) as u32)
}

/// Puts the numbers at so many places one behind the other.
pub(crate) fn gather<D: Device>(
    device: &D,
    places: &Array<D, u32>,
    from: &Array<D, f32>,
    to: &Array<D, f32>,
) -> Result<(), Error> {
    let (count, grid) = (places.len(), [places.len().div_ceil(THREADS), 1]);
    launch!(device, Module::Common, "gather", grid, THREADS, 0, places, count as u32, from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_core_have_a_bounded_number_of_tasks() {
        let tasks = |children: usize, len: usize| children.div_ceil(first_children(children, len) as usize);
        assert_eq!(tasks(80, 1000), 10);
        assert_eq!(tasks(4096, 1000), 512);
        assert!((500..=512).contains(&tasks(1_000_000, 1000)));
        // So many tasks that their sums have room.
        assert!(tasks(1_000_000, MOST_CORE) * MOST_CORE <= MOST_NUMBERS);
    }
}
