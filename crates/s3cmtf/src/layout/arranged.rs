//! Entries on their way into views: what is known of them before they are ordered, and their order for each mode.

use super::budget::MemoryBudget;
use super::distinct::Distinct;
use super::share::Share;
use super::sorted::{Sample, best_partner};
use super::view::{Plan, View};
use crate::Error;
use crate::likelihood;
use crate::nodes::Nodes;
use crate::parallel;
use crate::problem::{Entries, EntrySource, ExactSum};

/// Values that one thread looks at.
const TOGETHER: usize = 1 << 18;

/// What is known of entries before they are ordered.
pub(crate) struct EntryStats {
    /// For each mode and row, how many entries it has.
    pub(crate) counts: Vec<Vec<u32>>,
    pub(crate) range: [f32; 2],
    pub(crate) mean: f64,
    pub(crate) spread: f64,
    /// The distinct values, if entries are in memory and those are few.
    pub(crate) distinct: Option<Distinct>,
    /// For each mode, all entries of some of its rows.
    pub(crate) by_row: Vec<Sample>,
    /// Any entries; none if they are in memory, where nothing has to be guessed.
    pub(crate) sample: Sample,
}

impl EntryStats {
    /// Of entries on modes of so many rows, those of all nodes. Nothing depends on the order in which they come.
    pub(crate) fn new(entries: &EntrySource, rows: &[usize], nodes: &Nodes) -> Result<Self, Error> {
        let order = rows.len();
        let len = nodes.add(entries.len() as u64)? as usize;
        let mut counts: Vec<Vec<u32>> = rows.iter().map(|&rows| vec![0; rows]).collect();
        let mut sample = Sample::new(order, len);
        let is_there = matches!(entries, EntrySource::Stored(_));
        let (mut low, mut high, mut sum, mut first) = (f32::MAX, f32::MIN, ExactSum::default(), 0);
        entries.each(&mut |lists, values| {
            let rows = || {
                parallel::each(counts.iter_mut().zip(lists), |(counts, list)| {
                    list.iter().for_each(|&row| counts[row as usize] += 1);
                });
            };
            let of_values = || {
                sum.add_all(values, |value| value);
                let range = |values: &[f32]| {
                    values
                        .iter()
                        .fold((f32::MAX, f32::MIN), |(low, high), &value| (low.min(value), high.max(value)))
                };
                for (least, most) in parallel::map_of(values.chunks(TOGETHER), range) {
                    (low, high) = (low.min(least), high.max(most));
                }
                if is_there {
                    let taken = |place: &usize| sample.takes((first + place) as u64);
                    let taken: Vec<usize> = (0..values.len()).filter(taken).collect();
                    taken.into_iter().for_each(|place| sample.take(lists, place));
                }
            };
            parallel::both(rows, of_values);
            first += values.len();
            Ok(())
        })?;
        let counts = counts.into_iter().map(|counts| nodes.add_counts(counts));
        let counts: Vec<Vec<u32>> = counts.collect::<Result<_, Error>>()?;
        for [other_low, other_high] in nodes.gather(vec![[low, high]])? {
            (low, high) = (low.min(other_low), high.max(other_high));
        }
        let mean = sum.value(nodes)? / len.max(1) as f64;
        let mut by_row: Vec<Sample> = rows.iter().map(|_| Sample::new(order, len)).collect();
        let taken: Vec<Vec<bool>> =
            counts.iter().zip(&by_row).map(|(counts, sample)| sample.rows(counts)).collect();
        let mut squares = ExactSum::default();
        entries.each(&mut |lists, values| {
            let of_values = || squares.add_all(values, |value| (value - mean).powi(2));
            let rows = || {
                parallel::each(by_row.iter_mut().zip(&taken).zip(lists), |((sample, taken), list)| {
                    let places = (0..list.len()).filter(|&place| taken[list[place] as usize]);
                    places.for_each(|place| sample.take(lists, place));
                });
            };
            parallel::both(rows, of_values);
            Ok(())
        })?;
        let by_row = by_row.into_iter().map(|sample| sample.gathered(nodes)).collect::<Result<_, Error>>()?;
        let spread = likelihood::unit(mean, squares.value(nodes)? / len.max(1) as f64);
        let distinct = match entries {
            EntrySource::Memory(entries) => Distinct::collect(entries.values()),
            EntrySource::Stored(_) => None,
        };
        Ok(EntryStats { counts, range: [low, high], mean, spread, distinct, by_row, sample })
    }
}

/// The last row of modes of so many rows.
pub(crate) fn last_rows(rows: &[usize]) -> Vec<u32> {
    rows.iter().map(|&rows| rows.saturating_sub(1) as u32).collect()
}

/// Entries as seen from each mode.
pub(crate) struct Arranged {
    pub(crate) views: Vec<View>,
    /// The view with the longest runs.
    pub(crate) lead: usize,
    /// For each mode and row, how many entries it has.
    pub(crate) counts: Vec<Vec<u32>>,
}

/// What a view is dealt out to nodes by.
#[derive(Clone, Copy)]
enum By<'a> {
    Rows,
    /// So that passes over all entries take all nodes as long, given how many runs each strip has, if that is known.
    Strips(Option<&'a [i64]>),
}

/// What entries are arranged for.
pub(crate) struct Arrangement<'a> {
    /// How many rows each mode has.
    pub(crate) rows: &'a [usize],
    pub(crate) ranks: &'a [usize],
    pub(crate) level: s3cmtf_kernels::Level,
    /// What values are centred by and divided by.
    pub(crate) scale: (f64, f64),
    pub(crate) budget: Option<&'a MemoryBudget>,
    pub(crate) nodes: &'a Nodes,
}

impl Arrangement<'_> {
    /// Arranges entries as seen from each mode.
    pub(crate) fn all(&self, entries: &EntrySource) -> Result<Arranged, Error> {
        let stats = EntryStats::new(entries, self.rows, self.nodes)?;
        let partner = |mode: usize| best_partner(stats.by_row[mode].lists(), mode);
        let view = |mode: usize, by| self.view(entries, &stats, (mode, partner(mode)), by);
        // One after the other, each by all threads: the memory that it takes to sort is needed once.
        let mut views: Vec<View> =
            (0..self.rows.len()).map(|mode| view(mode, By::Rows)).collect::<Result<_, Error>>()?;
        let runs: Vec<u64> =
            views.iter().map(|view| self.nodes.add(view.runs as u64)).collect::<Result<_, Error>>()?;
        let lead = (0..self.rows.len()).min_by_key(|&mode| runs[mode]).unwrap_or(0);
        if self.nodes.is_shared() {
            let strips = views[lead].strips.windows(2).map(|strip| (strip[1] - strip[0]) as i64);
            let runs = self.nodes.add_numbers(strips.collect())?;
            views[lead] = view(lead, By::Strips(Some(&runs)))?;
        }
        Ok(Arranged { views, lead, counts: stats.counts })
    }

    /// Arranges entries as seen from one mode, whose partner is given, for passes over all of them.
    pub(crate) fn one(&self, entries: &EntrySource, modes: (usize, usize)) -> Result<View, Error> {
        let stats = EntryStats::new(entries, self.rows, self.nodes)?;
        self.view(entries, &stats, modes, By::Strips(None))
    }

    fn view(
        &self,
        entries: &EntrySource,
        stats: &EntryStats,
        (mode, partner): (usize, usize),
        by: By<'_>,
    ) -> Result<View, Error> {
        let largest = last_rows(self.rows);
        let counts = &stats.counts[mode];
        let mut plan = Plan {
            mode,
            partner,
            ranks: self.ranks,
            level: self.level,
            counts,
            largest: &largest,
            mean: self.scale.0,
            spread: self.scale.1,
            distinct: stats.distinct.as_ref(),
            sample: stats.sample.lists(),
            share: Share::whole(counts.len(), entries.len()),
        };
        if !self.nodes.is_shared() {
            return View::new(entries, &plan, self.budget);
        }
        let (nodes, rank) = (self.nodes.count(), self.ranks[mode]);
        let shares = match by {
            By::Rows => Share::of_rows(counts, nodes, rank),
            By::Strips(runs) => Share::of_strips(counts, nodes, rank, runs),
        };
        let own = routed(entries, mode, &shares, self.nodes)?;
        let distinct = Distinct::collect(own.values());
        plan.distinct = distinct.as_ref();
        plan.share = shares[self.nodes.own()].clone();
        View::new(&EntrySource::Memory(own), &plan, self.budget)
    }
}

/// The entries of a node's share of a view, wherever they were.
pub(crate) fn routed(
    entries: &EntrySource,
    mode: usize,
    shares: &[Share],
    nodes: &Nodes,
) -> Result<Entries, Error> {
    let EntrySource::Memory(entries) = entries else {
        return Err(Error::Problem("nodes that share entries have them in memory".into()));
    };
    entries.dealt(nodes, &|place| {
        let row = entries.indices(mode)[place] as usize;
        // The owner of the row, and those before it whose strips end there.
        shares.partition_point(|share| share.end <= row)
            ..shares.partition_point(|share| share.rows.start <= row)
    })
}
