//! Entries as seen from the rows of one mode.

use std::ops::Range;

use s3cmtf_kernels::NormalEquations;

use super::budget::Scratch;
use super::distinct::Distinct;
use super::share::Share;
use crate::Error;

/// The most entries of a run.
pub(crate) const RUN: usize = 1 << 12;
/// So many runs of a row at most go through the kernels together: most are short, and a call for each would cost more than its
/// entries.
pub(crate) const TOGETHER: usize = 32;
/// The numbers of those runs.
const NUMBERS: [u32; TOGETHER] = {
    let mut numbers = [0; TOGETHER];
    let mut run = 0;
    while run < TOGETHER {
        numbers[run] = run as u32;
        run += 1;
    }
    numbers
};

/// Entries ordered by their row in one mode. Of the other modes, one is the *partner*, in which each entry names a row of
/// its own; consecutive entries that agree in all but the partner are a *run*, and share what the core becomes along those.
pub(crate) struct View {
    pub(crate) mode: usize,
    pub(crate) partner: usize,
    /// All other modes.
    pub(crate) rest: Vec<usize>,
    pub(crate) normal: NormalEquations,
    /// How many entries there are, on all nodes.
    pub(crate) entries: usize,
    /// How many runs there are here.
    pub(crate) runs: usize,
    /// The rows that are drawn here, and how many of the pieces are theirs: the first.
    pub(crate) own_rows: Range<usize>,
    pub(crate) own_pieces: usize,
    /// How many entries other nodes have before the first that is here.
    pub(crate) first: usize,
    /// Parts of the work: each a block of runs.
    pub(crate) pieces: Vec<Piece>,
    /// Longer parts of about equal numbers of entries, by the runs where they begin, and the end of the last.
    pub(crate) strips: Vec<usize>,
    pub(crate) store: Store,
}

/// A part of the work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// All runs of some rows.
    Rows { rows: Range<usize>, runs: Range<usize> },
    /// Some runs of a row that has too many entries for one piece.
    Part { row: usize, runs: Range<usize> },
}

impl Piece {
    pub(crate) fn runs(&self) -> Range<usize> {
        let (Piece::Rows { runs, .. } | Piece::Part { runs, .. }) = self;
        runs.clone()
    }
}

/// Where runs and their entries are.
pub(crate) enum Store {
    Memory(Arrays),
    /// Each piece's arrays one behind the other, and where they start.
    Scratch(Box<dyn Scratch>, Vec<u64>),
}

/// Runs and their entries.
pub(crate) struct Arrays {
    /// The row of each run.
    pub(crate) rows: Vec<u32>,
    /// The rows of each run in the modes of the rest.
    pub(crate) rest: Vec<u32>,
    /// Where each run's entries start, and the end of the last.
    pub(crate) starts: Vec<u32>,
    /// The partner's row of each entry.
    pub(crate) partners: Vec<u32>,
    pub(crate) values: Values,
}

/// The values of entries.
pub(crate) enum Values {
    Plain(Vec<f32>),
    /// The place of each among the distinct ones.
    Coded(Vec<u8>, Vec<f32>),
}

/// Consecutive runs of a view, counted from 0 here.
pub(crate) struct Block<'a> {
    pub(crate) rows: &'a [u32],
    rest: &'a [u32],
    starts: &'a [u32],
    partners: &'a [u32],
    /// None where they are left out.
    values: &'a [f32],
    /// How many modes the rest has.
    width: usize,
    /// Which entry of all nodes comes first in the view.
    first: usize,
}

/// A run and its entries.
#[derive(Clone, Copy)]
pub(crate) struct EntryRun<'a> {
    pub(crate) row: u32,
    pub(crate) rest: &'a [u32],
    /// Which entry of the view its first is.
    pub(crate) first: usize,
    /// Of its entries, and of those that come after them.
    pub(crate) partners: &'a [u32],
    pub(crate) values: &'a [f32],
}

/// What a view is made for.
pub(crate) struct Plan<'a> {
    pub(crate) mode: usize,
    pub(crate) partner: usize,
    pub(crate) ranks: &'a [usize],
    pub(crate) level: s3cmtf_kernels::Level,
    /// How many entries each row of the mode has.
    pub(crate) counts: &'a [u32],
    /// The largest row of each mode, or a larger number.
    pub(crate) largest: &'a [u32],
    /// What values are centred by, and divided by.
    pub(crate) mean: f64,
    pub(crate) spread: f64,
    /// The distinct values, if they are known and few.
    pub(crate) distinct: Option<&'a Distinct>,
    /// Some entries, for the order of the others to be guessed from; needed where there is a room.
    pub(crate) sample: &'a [Vec<u32>],
    /// What is to be here.
    pub(crate) share: Share,
}

impl Plan<'_> {
    /// The modes by which entries are ordered, the first first.
    pub(crate) fn order(&self) -> Vec<usize> {
        [self.mode].into_iter().chain(self.rest()).chain([self.partner]).collect()
    }

    /// The modes that are neither the view's nor the partner.
    pub(crate) fn rest(&self) -> Vec<usize> {
        (0..self.ranks.len()).filter(|&other| other != self.mode && other != self.partner).collect()
    }

    /// A value as the view has it.
    pub(crate) fn centred(&self, value: f32) -> f32 {
        ((f64::from(value) - self.mean) / self.spread) as f32
    }
}

impl View {
    /// The view of a plan.
    pub(crate) fn from_parts(
        plan: &Plan<'_>,
        runs: usize,
        pieces: Vec<Piece>,
        strips: Vec<usize>,
        store: Store,
    ) -> Self {
        let Plan { mode, partner, ranks, level, .. } = *plan;
        let normal = NormalEquations::new(level, ranks[mode], ranks[partner]);
        let Share { rows: own_rows, first, total: entries, .. } = plan.share.clone();
        let begins = |piece: &Piece| match piece {
            Piece::Rows { rows, .. } => rows.start,
            Piece::Part { row, .. } => *row,
        };
        let own_pieces = pieces.partition_point(|piece| begins(piece) < own_rows.end);
        let rest = plan.rest();
        View {
            mode,
            partner,
            rest,
            normal,
            entries,
            runs,
            own_rows,
            own_pieces,
            first,
            pieces,
            strips,
            store,
        }
    }

    /// The runs of a piece, of which values may be left out where nobody needs them; `buffer` holds what is not in memory as it is needed.
    pub(crate) fn block<'a>(
        &'a self,
        piece: usize,
        with_values: bool,
        buffer: &'a mut Vec<u32>,
    ) -> Result<Block<'a>, Error> {
        let runs = self.pieces[piece].runs();
        let width = self.rest.len();
        match &self.store {
            Store::Memory(arrays) => {
                let starts = &arrays.starts[runs.start..=runs.end];
                let entries = starts[0] as usize..starts[starts.len() - 1] as usize;
                let values = match &arrays.values {
                    _ if !with_values => &[],
                    Values::Plain(values) => &values[entries.clone()],
                    Values::Coded(codes, values) => {
                        buffer.clear();
                        let value = |&code: &u8| values[code as usize].to_bits();
                        buffer.extend(codes[entries.clone()].iter().map(value));
                        bytemuck::cast_slice(buffer)
                    }
                };
                Ok(Block {
                    rows: &arrays.rows[runs.clone()],
                    rest: &arrays.rest[runs.start * width..runs.end * width],
                    starts,
                    partners: &arrays.partners[entries],
                    values,
                    width,
                    first: self.first,
                })
            }
            Store::Scratch(scratch, places) => {
                let bytes = places[piece + 1] - places[piece];
                buffer.resize(bytes as usize / 4, 0);
                scratch.read(bytemuck::cast_slice_mut(buffer), places[piece])?;
                let (rows, words) = buffer.split_at(runs.len());
                let (rest, words) = words.split_at(runs.len() * width);
                let (starts, words) = words.split_at(runs.len() + 1);
                let (partners, values) = words.split_at(words.len() / 2);
                let values = bytemuck::cast_slice(values);
                Ok(Block { rows, rest, starts, partners, values, width, first: self.first })
            }
        }
    }

    /// The product of the values of the rest's rows of a run, for each combination of their concepts.
    pub(crate) fn weights<'a>(
        &self,
        factors: &[&'a [f32]],
        ranks: &[usize],
        rows: &[u32],
        buffer: &'a mut Vec<f32>,
    ) -> &'a [f32] {
        if let [mode] = self.rest[..] {
            return &factors[mode][rows[0] as usize * ranks[mode]..][..ranks[mode]];
        }
        buffer.clear();
        self.append_weights(factors, ranks, rows, buffer);
        buffer
    }

    /// The same of some runs, up to [`TOGETHER`], of which `rows` has the rest's rows one behind the other: a table, and which of
    /// its rows is each run's.
    pub(crate) fn weights_of_runs<'a>(
        &self,
        factors: &[&'a [f32]],
        ranks: &[usize],
        (rows, runs): (&'a [u32], usize),
        buffer: &'a mut Vec<f32>,
    ) -> (&'a [f32], &'a [u32]) {
        match self.rest[..] {
            [] => (&[1.0], &[0; TOGETHER][..runs]),
            [mode] => (factors[mode], rows),
            _ => {
                buffer.clear();
                let rows = rows.chunks_exact(self.rest.len());
                rows.for_each(|rows| self.append_weights(factors, ranks, rows, buffer));
                (buffer, &NUMBERS[..runs])
            }
        }
    }

    fn append_weights(&self, factors: &[&[f32]], ranks: &[usize], rows: &[u32], buffer: &mut Vec<f32>) {
        let start = buffer.len();
        buffer.push(1.0);
        for (&mode, &row) in self.rest.iter().zip(rows) {
            let row = &factors[mode][row as usize * ranks[mode]..][..ranks[mode]];
            let before = buffer.len() - start;
            buffer.resize(start + before * row.len(), 0.0);
            let weights = &mut buffer[start..];
            // From the back, so that no weight is overwritten before it is used.
            for place in (0..before).rev() {
                let weight = weights[place];
                let products = weights[place * row.len()..(place + 1) * row.len()].iter_mut();
                products.zip(row).for_each(|(product, value)| *product = weight * value);
            }
        }
    }
}

impl<'a> Block<'a> {
    /// The rows of a run in the modes of the rest.
    pub(crate) fn rest(&self, run: usize) -> &'a [u32] {
        &self.rest[run * self.width..(run + 1) * self.width]
    }

    /// The same of some runs, one behind the other.
    pub(crate) fn rests(&self, runs: Range<usize>) -> &'a [u32] {
        &self.rest[runs.start * self.width..runs.end * self.width]
    }

    /// How many entries each of some runs has.
    pub(crate) fn lengths(&self, runs: Range<usize>) -> impl Iterator<Item = usize> {
        self.starts[runs.start..=runs.end].windows(2).map(|ends| (ends[1] - ends[0]) as usize)
    }

    /// The entries of runs, one behind the other: the partner's rows, with those of all entries that come after them, and values.
    pub(crate) fn entries(&self, runs: Range<usize>) -> (&'a [u32], &'a [f32]) {
        let place = |run: usize| (self.starts[run] - self.starts[0]) as usize;
        let values = self.values.get(place(runs.start)..place(runs.end)).unwrap_or_default();
        (&self.partners[place(runs.start)..], values)
    }

    /// Which entry of the view a run's first is.
    pub(crate) fn first(&self, run: usize) -> usize {
        self.first + self.starts[run] as usize
    }

    /// Which of some runs has this entry of the view, if it is not before them.
    pub(crate) fn run_of(&self, entry: usize, runs: Range<usize>) -> usize {
        let ends = &self.starts[runs.start + 1..=runs.end];
        runs.start + ends.partition_point(|&end| self.first + end as usize <= entry)
    }

    pub(crate) fn run(&self, run: usize) -> EntryRun<'a> {
        let (partners, values) = self.entries(run..run + 1);
        EntryRun { row: self.rows[run], rest: self.rest(run), first: self.first(run), partners, values }
    }
}
