//! Where the entries of a sampler are: on the device, or on the host in parts.

use crate::Error;
use crate::arrange::{MOST_NUMBERS, Order, Shape, order};
use crate::chain::{Chain, Frame, Purpose, most_leaves};
use crate::device::{Array, Device, pad, stride};
use crate::parts::Parts;
use crate::rows::RowWork;
use crate::sampler::{Mean, slots_of, sums_len};
use crate::setup::{Form, Setup};
use crate::stage::Room;
use crate::stretch::EntryWork;
use crate::tables::Tables;
use crate::tuples::{Tuples, are_worth};

/// A sample has one in so many entries at least.
const MOST_EVERY: usize = 16;
/// How many numbers the tables of a level may have where entries are on the host, and the designs of a part.
pub(crate) const MOST_STREAMED: usize = 1 << 28;

/// How many entries a part has where designs of so many are not too large.
pub(crate) fn part(setup: &Setup<'_>) -> usize {
    let widest = setup.ranks.iter().map(|&rank| pad(rank)).max().unwrap_or(0);
    setup.part.min(MOST_STREAMED / stride(widest)).max(1)
}

/// The entries as passes go over them, and what is computed from them.
pub(crate) struct Lists<D: Device> {
    pub(crate) entries: Arrangement<D>,
    pub(crate) tables: Tables<D>,
    pub(crate) sums: Array<D, f32>,
    pub(crate) squares: Array<D, f32>,
    pub(crate) pass_squares: Array<D, f64>,
}

/// The entries as passes go over them.
pub(crate) struct Arrangement<D: Device> {
    pub(crate) lead: Parts<D>,
    pub(crate) sample: Option<Parts<D>>,
    pub(crate) work: Vec<Option<RowWork<D>>>,
    pub(crate) tuples: Option<Tuples<D>>,
}

impl<D: Device> Lists<D> {
    /// The entries of a setup: on the host, if the form says so, or if the device has no room for them and for what comes later.
    pub(crate) fn new(frame: &Frame<'_, D>, setup: &Setup<'_>) -> Result<Self, Error> {
        let mut found = Found::default();
        let mut lists = Lists::of(frame, setup, &mut found);
        // What needs less and less of the device, and takes longer.
        for (form, may_have_room) in [
            (Form::Entries, found.tuples_were_tried),
            (Form::StreamedTuples, found.tuples_are_worth),
            (Form::StreamedEntries, true),
        ] {
            let has_none = setup.form == Form::Auto && matches!(lists, Err(Error::OutOfMemory(_)));
            if has_none && may_have_room {
                lists = Lists::of(frame, &Setup { form, ..*setup }, &mut Found::default());
            }
        }
        lists
    }

    /// Those of a form.
    fn of(frame: &Frame<'_, D>, setup: &Setup<'_>, found: &mut Found) -> Result<Self, Error> {
        let device = frame.device;
        let plan = Plan::new(frame, setup);
        let mut tables = Tables::new(device)?;
        let entries = match setup.form {
            Form::Auto | Form::Entries | Form::Tuples => Arrangement::on_device(&plan, &mut tables, found),
            Form::StreamedEntries => Arrangement::entries_on_host(&plan, &mut tables),
            Form::StreamedTuples => Arrangement::tuples_on_host(&plan, &mut tables),
        };
        let entries = entries?;
        let modes = 0..frame.rows.len();
        let slots = |mode: usize| slots_of(mode, &entries.work, entries.tuples.as_ref());
        let most = |of: &dyn Fn(usize) -> usize| modes.clone().map(of).max().unwrap_or(0);
        let sums = Array::zeros(device, most(&|mode| slots(mode) * sums_len(plan.pads[mode])))?;
        let squares = Array::zeros(device, most(&slots))?;
        let pass_squares =
            Array::zeros(device, entries.lead.slots().max(entries.sample.as_ref().map_or(0, Parts::slots)))?;
        let lists = Lists { entries, tables, sums, squares, pass_squares };
        // What comes later finds room, too.
        let _mean = Mean::new(device, frame.rows, frame.ranks)?;
        let _reserve = Array::<D, u8>::zeros(device, setup.reserve + device.reserve())?;
        Ok(lists)
    }
}

/// What an attempt has found, whether there was room or not.
#[derive(Default)]
struct Found {
    /// Whether entries share their rows often enough for sums over tuples.
    tuples_are_worth: bool,
    /// Whether these had no room, or what came behind them.
    tuples_were_tried: bool,
}

/// The mode with the most rows, which has the fewest combinations of all others.
pub(crate) fn lead(rows: &[usize]) -> usize {
    (0..rows.len()).max_by_key(|&mode| (rows[mode], std::cmp::Reverse(mode))).unwrap_or(0)
}

/// What is to be arranged.
struct Plan<'a, 'b, D: Device> {
    frame: &'a Frame<'a, D>,
    setup: &'a Setup<'b>,
    pads: Vec<usize>,
    lead: usize,
    /// A sample has one in so many entries.
    every: usize,
}

impl<'a, 'b, D: Device> Plan<'a, 'b, D> {
    fn new(frame: &'a Frame<'a, D>, setup: &'a Setup<'b>) -> Self {
        let rows = frame.rows;
        Plan {
            pads: frame.ranks.iter().map(|&rank| pad(rank)).collect(),
            lead: lead(rows),
            every: (setup.entries.values.len() / setup.sample.max(1)).clamp(1, MOST_EVERY),
            frame,
            setup,
        }
    }

    /// Does something with the entries in the order that has a mode for its leaf.
    fn in_order<T>(&self, leaf: usize, most: usize, of: impl FnOnce(&dyn Order) -> T) -> T {
        let Frame { rows, ranks, .. } = *self.frame;
        let mut wide = ranks.to_vec();
        wide[leaf] = self.pads[leaf];
        let shape = Shape { rows, ranks: &wide, leaf, most };
        of(&*order((&self.setup.entries, self.setup.held), &shape))
    }
}

impl<D: Device> Arrangement<D> {
    fn on_device(plan: &Plan<'_, '_, D>, tables: &mut Tables<D>, found: &mut Found) -> Result<Self, Error> {
        let &Plan { frame, setup, ref pads, lead, every } = plan;
        let Frame { device, rows, .. } = *frame;
        let (arranged, sample) = plan.in_order(lead, MOST_NUMBERS, |ordered| {
            (ordered.all(), ordered.sample(every).map(|places| ordered.some(&places)))
        });
        let (possible, worth) = are_worth(&arranged, pads);
        found.tuples_are_worth = possible && worth;
        let mut room = Room::Device(device);
        let chain = Chain::new(frame, &mut room, &arranged, Purpose::Core, None)?;
        tables.fit(device, &chain)?;
        let sample = sample.map(|sample| Chain::new(frame, &mut room, &sample, Purpose::Core, None));
        let sample = sample.transpose()?;
        sample.iter().try_for_each(|sample| tables.fit(device, sample))?;
        let tuples = match setup.form {
            Form::Tuples if !possible => return Err(no_tuples()),
            Form::Tuples => true,
            Form::Auto => possible && worth,
            Form::Entries | Form::StreamedEntries | Form::StreamedTuples => false,
        };
        found.tuples_were_tried = tuples;
        let slots = chain.leaves.slots;
        let tuples = tuples.then(|| Tuples::new(frame, &arranged, rows, pads, slots)).transpose();
        let tuples = match tuples {
            // Sums over entries may need less.
            Err(Error::OutOfMemory(_)) if setup.form == Form::Auto => None,
            tuples => tuples?,
        };
        let mut work: Vec<Option<RowWork<D>>> = rows.iter().map(|_| None).collect();
        let (nodes, by_row) = (arranged.nodes(), arranged.by_row(rows[lead]));
        work[lead] = Some(RowWork::new(device, None, nodes, &by_row)?);
        drop(arranged);
        for mode in (0..rows.len()).filter(|&mode| mode != lead && tuples.is_none()) {
            let arranged = plan.in_order(mode, MOST_NUMBERS, |ordered| ordered.all());
            let chain = Chain::new(frame, &mut room, &arranged, Purpose::Rows, None)?;
            tables.fit(device, &chain)?;
            let (nodes, by_row) = (arranged.nodes(), arranged.by_row(rows[mode]));
            work[mode] = Some(RowWork::new(device, Some(chain), nodes, &by_row)?);
        }
        let lead = Parts::whole(device, chain)?;
        let sample = sample.map(|sample| Parts::whole(device, sample)).transpose()?;
        Ok(Arrangement { lead, sample, work, tuples })
    }

    /// The lead's nodes and tuples are on the device, its entries on the host.
    fn tuples_on_host(plan: &Plan<'_, '_, D>, tables: &mut Tables<D>) -> Result<Self, Error> {
        let &Plan { frame, setup, ref pads, lead, every } = plan;
        let &Frame { device, rows, .. } = frame;
        let part = part(setup);
        plan.in_order(lead, MOST_NUMBERS, |ordered| {
            let arranged = ordered.all();
            if !are_worth(&arranged, pads).0 {
                return Err(no_tuples());
            }
            let sample = ordered
                .sample(every)
                .map(|places| Parts::on_host(frame, tables, (ordered, Some(&places)), part, Purpose::Core));
            let mut chain = Chain::new(frame, &mut Room::Device(device), &arranged, Purpose::Tuples, None)?;
            let (leaves, most) = (arranged.leaves(rows[lead]), most_leaves(arranged.values.len()));
            chain.leaves = EntryWork::on_host(device, tables, &leaves, most, part)?;
            tables.fit(device, &chain)?;
            let tuples = Tuples::new(frame, &arranged, rows, pads, chain.leaves.slots)?;
            let (nodes, by_row) = (arranged.nodes(), arranged.by_row(rows[lead]));
            let mut work: Vec<Option<RowWork<D>>> = rows.iter().map(|_| None).collect();
            work[lead] = Some(RowWork::of_lead_on_host(device, tables, nodes, &by_row, part)?);
            let lead = Parts::whole(device, chain)?;
            Ok(Arrangement { lead, sample: sample.transpose()?, work, tuples: Some(tuples) })
        })
    }

    fn entries_on_host(plan: &Plan<'_, '_, D>, tables: &mut Tables<D>) -> Result<Self, Error> {
        let &Plan { frame, setup, lead, every, .. } = plan;
        let (rows, part) = (frame.rows, part(setup));
        let mut parts = None;
        let work = |mode: usize| {
            plan.in_order(mode, MOST_STREAMED, |ordered| {
                if mode == lead {
                    let all = Parts::on_host(frame, tables, (ordered, None), part, Purpose::Core)?;
                    let sample = ordered.sample(every).map(|places| {
                        Parts::on_host(frame, tables, (ordered, Some(&places)), part, Purpose::Core)
                    });
                    parts = Some((all, sample.transpose()?));
                }
                RowWork::on_host(frame, tables, (ordered, rows[mode]), part).map(Some)
            })
        };
        let work = (0..rows.len()).map(work).collect::<Result<_, _>>()?;
        let (lead, sample) =
            parts.ok_or_else(|| Error::Problem("there are no modes to draw rows of".to_owned()))?;
        Ok(Arrangement { lead, sample, work, tuples: None })
    }
}

fn no_tuples() -> Error {
    Error::Problem("there are too many tuples, or concepts, for sums over tuples".to_owned())
}
