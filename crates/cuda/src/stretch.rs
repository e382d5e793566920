//! Entries in the order of their targets, rows or nodes, and the tasks on them: at once, or stretch by stretch.

use rayon::prelude::*;

use crate::Error;
use crate::by_row::ByRow;
use crate::chain::Joins;
use crate::device::{Array, Device};
use crate::entry_list::EntryList;
use crate::stage::{Part, Room};
use crate::tables::Tables;
use crate::tasks::{Task, Tasks};

/// Entries in the order of their targets.
#[derive(Clone, Copy)]
pub(crate) struct ByTarget<'a> {
    /// Where those of each target start, and the end of the last.
    pub(crate) starts: &'a [u32],
    pub(crate) ids: &'a [u32],
    pub(crate) values: &'a [f32],
    /// The places of those that are held out.
    pub(crate) held: &'a [u32],
    /// The id of what is zero.
    pub(crate) nothing: u32,
}

impl<'a> ByTarget<'a> {
    /// Those of rows, whose ids are nodes; the one behind the last of these is zero.
    pub(crate) fn rows(by_row: &'a ByRow<f32>, nodes: usize) -> Self {
        let ByRow { starts, ids, values, held } = by_row;
        ByTarget { starts, ids, values, held, nothing: nodes as u32 }
    }

    /// None at all.
    pub(crate) fn none() -> Self {
        ByTarget { starts: &[], ids: &[], values: &[], held: &[], nothing: 0 }
    }
}

/// Entries on a device, or sent there stretch by stretch, and the tasks on them, of which some share a target.
pub(crate) struct EntryWork<D: Device> {
    pub(crate) stretches: Vec<Stretch<D>>,
    pub(crate) joins: Joins<D>,
    /// How many sums all tasks have between them.
    pub(crate) slots: usize,
}

/// Some tasks and their entries.
pub(crate) struct Stretch<D: Device> {
    pub(crate) entries: EntryList<D>,
    pub(crate) tasks: Array<D, u32>,
    pub(crate) count: usize,
    /// Its lists, if they are on the host, and in no chain's part.
    part: Option<Part<D>>,
}

impl<D: Device> EntryWork<D> {
    /// All in a stretch, whose lists go to a room; no task has more than `most` entries.
    pub(crate) fn new(room: &mut Room<'_, D>, entries: &ByTarget<'_>, most: u32) -> Result<Self, Error> {
        let Tasks { tasks, splits, slots } = Tasks::new(entries.starts, most);
        let joins = Joins::new(room, splits)?;
        Ok(EntryWork { stretches: vec![Stretch::new(room, entries, &tasks)?], joins, slots })
    }

    /// Stretches of about `len` entries, whose lists stay on the host.
    pub(crate) fn on_host(
        device: &D,
        tables: &mut Tables<D>,
        entries: &ByTarget<'_>,
        most: u32,
        len: usize,
    ) -> Result<Self, Error> {
        let mut tasks = Tasks::new(entries.starts, most);
        let joins = Joins::new(&mut Room::Device(device), std::mem::take(&mut tasks.splits))?;
        let (slots, mut stretches) = (tasks.slots, Vec::new());
        let mut all_held = entries.held.to_vec();
        all_held.par_sort_unstable();
        for stretch in tasks.stretches(len) {
            let places = stretch.elements;
            let held = |place: usize| all_held.partition_point(|&held| (held as usize) < place);
            let held = &all_held[held(places.start)..held(places.end)];
            let held: Vec<u32> = held.iter().map(|held| held - places.start as u32).collect();
            let (ids, values) = (&entries.ids[places.clone()], &entries.values[places]);
            let mut room = tables.stage.room();
            let own = ByTarget { starts: &[], ids, values, held: &held, nothing: entries.nothing };
            let mut own = Stretch::new(&mut room, &own, &stretch.tasks)?;
            own.part = room.close(device)?;
            own.part.as_ref().map_or(Ok(()), |part| tables.stage.fit(device, part))?;
            stretches.push(own);
        }
        Ok(EntryWork { stretches, joins, slots })
    }

    /// How many entries there are, with those that are held out.
    pub(crate) fn len(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.entries.len()).sum()
    }

    /// How many are held out.
    pub(crate) fn held(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.entries.held()).sum()
    }

    /// Adds up the slots of targets that tasks share, `len` numbers each.
    pub(crate) fn join(&self, device: &D, len: usize, slots: &Array<D, f32>) -> Result<(), Error> {
        self.joins.join(device, len, slots)
    }

    /// Lets entries take part that are held out.
    pub(crate) fn join_held(&mut self, device: &D, tables: &Tables<D>) -> Result<(), Error> {
        self.stretches.iter_mut().try_for_each(|stretch| stretch.join_held(device, tables))
    }
}

impl<D: Device> Stretch<D> {
    /// Tasks on some entries, whose lists go to a room.
    pub(crate) fn new(room: &mut Room<'_, D>, entries: &ByTarget<'_>, tasks: &[Task]) -> Result<Self, Error> {
        let ByTarget { ids, values, held, nothing, .. } = *entries;
        let entries = EntryList::new(room, (ids, values), held, nothing)?;
        Ok(Stretch { entries, tasks: room.list(tasks.as_flattened())?, count: tasks.len(), part: None })
    }

    /// Whether its lists are on the host, and in no chain's part.
    pub(crate) fn is_on_host(&self) -> bool {
        self.part.is_some()
    }

    /// Brings its lists to the device, if they are not in the part of a chain, which has done so.
    pub(crate) fn load(&self, device: &D, tables: &Tables<D>) -> Result<(), Error> {
        self.part.as_ref().map_or(Ok(()), |part| tables.stage.load(device, part))
    }

    /// Lets entries take part that are held out.
    pub(crate) fn join_held(&mut self, device: &D, tables: &Tables<D>) -> Result<(), Error> {
        if self.entries.held() == 0 {
            return Ok(());
        }
        self.load(device, tables)?;
        self.entries.join(device)?;
        self.part.as_mut().map_or(Ok(()), |part| tables.stage.store(device, part))
    }
}
