//! Sums over the entries of a row: all that a draw has to know of them, whoever has the entries.

use std::ops::Range;

use s3cmtf_kernels::{Aligned, CHUNK, NormalEquations};

use super::conditional::RowConditional;
use crate::layout::{Block, CoreOrder, EntryRun, PartnerRows, View};
use crate::parallel;

/// A run is long from so many entries on for each concept of its partner: folding what they come to takes as long as folding each.
const LONG: usize = 4;

/// Behind a chunk there is room for so many, see [`put`].
const ROOM: usize = 8;

/// No more numbers than this are kept in a table of what the core becomes along the rest.
const TABLE: usize = 1 << 25;

/// Tables are those of the partner's rows if it has so many concepts,
const WIDE: usize = 17;
/// and so many times those of the rest, at least; and tables have so many numbers for each entry at most.
const FEWER: usize = 2;
const PER_ENTRY: usize = 4;

/// The sums over some entries of a row, each times the precisions of its other rows: of the products of designs, of designs
/// times values, of squared values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowSums {
    pub(super) squares: Vec<f32>,
    pub(super) products: Vec<f32>,
    pub(super) values: f64,
}

/// Memory that is kept from mode to mode.
#[derive(Default)]
pub(super) struct Workspace {
    /// For the rows that entries name.
    pub(super) named: Aligned,
    tables: Aligned,
    /// For each mode that of rows that others have replaced.
    rows: Vec<Vec<f32>>,
    /// For the sums over parts of rows.
    pub(super) sums: Vec<f32>,
}

impl Workspace {
    /// Memory for so many numbers of a mode's rows, whatever they are.
    pub(super) fn rows(&mut self, mode: usize, count: usize) -> Vec<f32> {
        let mut rows = self.rows.get_mut(mode).map(std::mem::take).unwrap_or_default();
        rows.resize(count, 0.0);
        rows
    }

    /// Keeps the memory of rows that others have replaced.
    pub(super) fn keep(&mut self, mode: usize, rows: Vec<f32>) {
        self.rows.resize(self.rows.len().max(mode + 1), Vec::new());
        self.rows[mode] = rows;
    }
}

/// What all rows of a mode are summed up with.
pub(super) struct Others<'m> {
    /// The rows of the partner, each times the root of its share; those of the rest, if tables are the partner's.
    named: PartnerRows<'m>,
    /// The core, and what it becomes along the rest of a run: a row per concept of the partner, a number per concept of the mode.
    core: Vec<f32>,
    len: usize,
    /// That, for each row of the only mode of the rest, or of the partner; empty if there are too many.
    tables: &'m [f32],
    /// Whether the tables are those of the partner's rows.
    pub(super) by_partner: bool,
    /// The kernels of designs, which are products of a table and a row.
    kernels: NormalEquations,
}

impl<'m> Others<'m> {
    pub(super) fn new(given: &RowConditional<'_>, workspace: &'m mut Workspace) -> Self {
        let (view, ranks) = (given.view, given.ranks);
        let rows = |mode: usize| given.factors[mode].len() / ranks[mode];
        let by_partner = kernels_by_partner(given);
        let mut order: Vec<usize> = view.rest.iter().copied().chain([view.partner, view.mode]).collect();
        if by_partner.is_some() {
            order.swap(0, 1);
        }
        let named = order[order.len() - 2];
        let core = CoreOrder::new(ranks, &order, view.normal.pad()).pack(given.core);
        let len = ranks[named] * view.normal.pad();
        let count = match order[..] {
            [_, _] => 1,
            [along, _, _] => rows(along),
            _ => 0,
        };
        let worth = by_partner.is_some() || count <= view.runs && count * len <= TABLE;
        let count = if worth { count } else { 0 };
        let tables = workspace.tables.room(count * len);
        match order[..] {
            [along, _, _] => {
                let (factor, rank) = (given.factors[along], ranks[along]);
                parallel::chunks_mut(tables, len, |row, table| {
                    view.normal.fold(&core, &factor[row * rank..][..rank], table);
                });
            }
            _ => tables.copy_from_slice(&core[..tables.len()]),
        }
        let kernels = by_partner.unwrap_or(view.normal);
        let of_mode = (named, kernels.partner_pad());
        let roots = Some(&given.noise.roots[..]);
        let named = PartnerRows::of_mode(of_mode, (ranks, given.factors), roots, &mut workspace.named);
        Others { named, core, len, tables, by_partner: by_partner.is_some(), kernels }
    }
}

/// The kernels of designs by tables of the partner's rows, where that is far less work: with few concepts of the rest, an entry's
/// table has few rows, and there are not more numbers of tables than of entries.
fn kernels_by_partner(given: &RowConditional<'_>) -> Option<NormalEquations> {
    let RowConditional { view, ranks, factors, .. } = *given;
    let (few, many) = (inner_rank(view, ranks), ranks[view.partner]);
    if given.augmentation.is_some() || few == many {
        return None;
    }
    let rows = factors[view.partner].len() / many;
    let numbers = rows.saturating_mul(few * view.normal.pad());
    let kernels = NormalEquations::new(view.normal.level(), ranks[view.mode], few);
    // Of the entries of all nodes, which must come to the same sums.
    let fits = numbers <= TABLE.min(PER_ENTRY * view.entries);
    (fits && kernels.pad() == view.normal.pad()).then_some(kernels)
}

/// How many rows of its table an entry's design is of: the partner's rank, or that of the rest where it is far lower.
pub(super) fn inner_rank(view: &View, ranks: &[usize]) -> usize {
    let many = ranks[view.partner];
    match view.rest[..] {
        [rest] if many >= WIDE && FEWER * ranks[rest] <= many => ranks[rest],
        _ => many,
    }
}

/// Sums up the entries of one row after the other: the working memory of one thread.
pub(super) struct Summer<'a> {
    given: &'a RowConditional<'a>,
    others: &'a Others<'a>,
    weights: Vec<f32>,
    t: Aligned,
    /// For each entry of a chunk: which table it has, what its design is multiplied with, that design, and its value times the
    /// root of its precision. Products are summed up when a chunk is full, as runs are often short.
    places: [u32; CHUNK + ROOM],
    scales: [f32; CHUNK + ROOM],
    designs: Aligned,
    scaled: [f32; CHUNK],
    designed: usize,
    /// What the entries of a long run come to, by their partners' rows alone, memory to fold that in, and for each of its rows its
    /// number and the square of the run's root.
    pair: Aligned,
    folded: Aligned,
    numbers: Vec<u32>,
    squared_roots: Vec<f32>,
    pub(super) sums: RowSums,
}

impl<'a> Summer<'a> {
    pub(super) fn new(given: &'a RowConditional<'a>, others: &'a Others<'a>) -> Self {
        let (rank, pad) = (given.ranks[given.view.mode], given.view.normal.pad());
        let (partner, partner_pad) = (given.ranks[given.view.partner], given.view.normal.partner_pad());
        Summer {
            given,
            others,
            weights: Vec::new(),
            t: Aligned::new(others.len),
            places: [0; CHUNK + ROOM],
            scales: [0.0; CHUNK + ROOM],
            designs: Aligned::new(CHUNK * pad),
            scaled: [0.0; CHUNK],
            designed: 0,
            pair: Aligned::new((partner + 1) * partner_pad),
            folded: Aligned::new((partner + 1) * pad),
            numbers: (0..=partner as u32).collect(),
            squared_roots: vec![0.0; partner + 1],
            sums: RowSums { squares: vec![0.0; rank * pad], products: vec![0.0; pad], values: 0.0 },
        }
    }

    /// Sums up some runs of a row.
    pub(super) fn sum(&mut self, block: &Block<'_>, runs: Range<usize>) {
        self.sums.squares.fill(0.0);
        self.sums.products.fill(0.0);
        self.sums.values = 0.0;
        if self.others.tables.is_empty() || self.given.augmentation.is_some() {
            runs.for_each(|run| self.add_run(block.run(run)));
        } else if self.others.by_partner {
            self.add_by_partner(block, runs);
        } else {
            self.add_runs(block, runs);
        }
        self.flush();
    }

    /// Adds the entries of all runs in whole chunks: each entry has a table, whatever its run.
    fn add_runs(&mut self, block: &Block<'_>, runs: Range<usize>) {
        let RowConditional { view, noise, .. } = self.given;
        // One table for all where there is no rest, and one for each of its rows otherwise.
        let (rests, roots) =
            (block.rests(runs.clone()), view.rest.first().map(|&rest| &noise.roots[rest][..]));
        let of_run = |run: usize| match roots {
            Some(roots) => (rests[run], roots[rests[run] as usize]),
            None => (0, 1.0),
        };
        let (mut partners, mut values) = block.entries(runs.clone());
        let mut known = 0;
        let long = LONG * self.numbers.len();
        for (run, length) in block.lengths(runs).enumerate() {
            let (place, root) = of_run(run);
            if length >= long {
                self.design(self.others.tables, partners, &values[..known]);
                self.flush();
                (partners, values) = (&partners[known..], &values[known..]);
                self.add_long_run(place, root, partners, &values[..length]);
                (known, partners, values) = (0, &partners[length..], &values[length..]);
                continue;
            }
            let mut left = length;
            while left > 0 {
                let more = left.min(CHUNK - known);
                put(&mut self.places, known..known + more, place);
                put(&mut self.scales, known..known + more, root);
                (known, left) = (known + more, left - more);
                if known == CHUNK {
                    self.design(self.others.tables, partners, &values[..CHUNK]);
                    self.flush();
                    (known, partners, values) = (0, &partners[CHUNK..], &values[CHUNK..]);
                }
            }
        }
        self.design(self.others.tables, partners, values);
    }

    /// The same where tables are those of the partner's rows, and entries are multiplied with rows of the rest.
    fn add_by_partner(&mut self, block: &Block<'_>, runs: Range<usize>) {
        let rests = block.rests(runs.clone()).iter().zip(block.lengths(runs.clone()));
        let (mut partners, mut values) = block.entries(runs);
        let (mut named, mut known) = ([0; CHUNK + ROOM], 0);
        for (&rest, mut left) in rests {
            while left > 0 {
                let more = left.min(CHUNK - known);
                put(&mut named, known..known + more, rest);
                (known, left) = (known + more, left - more);
                if known == CHUNK {
                    self.add_chunk_by_partner(&named[..CHUNK], partners, &values[..CHUNK]);
                    (known, partners, values) = (0, &partners[CHUNK..], &values[CHUNK..]);
                }
            }
        }
        self.add_chunk_by_partner(&named[..known], partners, values);
    }

    /// Adds as many entries as there are values, a chunk at most, which name rows of the rest.
    fn add_chunk_by_partner(&mut self, named: &[u32], partners: &[u32], values: &[f32]) {
        let RowConditional { view, noise, .. } = self.given;
        let (roots, partners) = (&noise.roots[view.partner], &partners[..values.len()]);
        self.places[..values.len()].copy_from_slice(partners);
        let scales = self.scales.iter_mut().zip(partners);
        scales.for_each(|(scale, &partner)| *scale = roots[partner as usize]);
        self.design(self.others.tables, named, values);
        self.flush();
    }

    /// Adds the entries of a run which are so many that their sums are taken over the partner's rows, and folded along the table
    /// once.
    fn add_long_run(&mut self, place: u32, root: f32, partners: &[u32], values: &[f32]) {
        let normal = &self.given.view.normal;
        let rows = self.others.named.rows();
        let pair = self.pair.as_mut_slice();
        pair.fill(0.0);
        let mut sum = 0.0;
        for (first, values) in (0..).step_by(CHUNK).zip(values.chunks(CHUNK)) {
            let targets = &mut self.scaled[..values.len()];
            targets.copy_from_slice(values);
            normal.pair(rows, &partners[first..], targets, pair);
            sum += squared(targets);
        }
        self.squared_roots.fill(root * root);
        self.sums.values += f64::from(root * root) * sum;
        let table = &self.others.tables[place as usize * self.others.len..][..self.others.len];
        let memory = (&self.numbers[..], self.folded.as_mut_slice());
        normal.fold_pair(
            table,
            (pair, &self.squared_roots),
            memory,
            &mut self.sums.squares,
            &mut self.sums.products,
        );
    }

    /// Adds the entries of a run.
    fn add_run(&mut self, run: EntryRun<'_>) {
        let RowConditional { view, ranks, factors, augmentation, streams, .. } = *self.given;
        let mut t = std::mem::take(&mut self.t);
        let (tables, place) = if self.others.tables.is_empty() {
            let weights = view.weights(factors, ranks, run.rest, &mut self.weights);
            view.normal.fold(&self.others.core, weights, t.as_mut_slice());
            (t.as_slice(), 0)
        } else {
            (self.others.tables, run.rest.first().copied().unwrap_or(0))
        };
        let root = self.root(run.rest);
        let mut done = 0;
        while done < run.values.len() {
            if self.designed == CHUNK {
                self.flush();
            }
            let chunk = self.designed..(self.designed + run.values.len() - done).min(CHUNK);
            let entries = done..done + chunk.len();
            self.places[chunk.clone()].fill(place);
            self.scales[chunk.clone()].fill(root);
            self.design(tables, &run.partners[done..], &run.values[entries.clone()]);
            if let Some(augmentation) = augmentation {
                let (rank, pad) = (ranks[view.mode], view.normal.pad());
                let row = &factors[view.mode][run.row as usize * rank..][..rank];
                let mut generator = streams.entries(view.mode, false, run.first + done);
                let designs = self.designs.as_mut_slice()[chunk.start * pad..].chunks_exact_mut(pad);
                let values = &run.values[entries.clone()];
                for ((design, scaled), &value) in designs.zip(&mut self.scaled[chunk]).zip(values) {
                    let linear = design.iter().zip(row).map(|(design, value)| design * value).sum();
                    let root;
                    (root, *scaled) = augmentation.draw(value, linear, &mut generator);
                    design.iter_mut().for_each(|design| *design *= root);
                }
            }
            done = entries.end;
        }
        self.t = t;
    }

    /// The root of the precision that a run's entries have of its rest.
    fn root(&self, rest: &[u32]) -> f32 {
        let RowConditional { view, noise, .. } = self.given;
        rest.iter().zip(&view.rest).map(|(&row, &rest)| noise.roots[rest][row as usize]).product()
    }

    /// Finds the designs of the next entries of the chunk, whose places and scales are there: as many as there are values.
    fn design(&mut self, tables: &[f32], partners: &[u32], values: &[f32]) {
        let normal = &self.others.kernels;
        let chunk = self.designed..self.designed + values.len();
        let scales = &self.scales[chunk.clone()];
        let designs = &mut self.designs.as_mut_slice()[chunk.start * normal.pad()..chunk.end * normal.pad()];
        let targets = &mut self.scaled[chunk.clone()];
        targets.copy_from_slice(values);
        let (places, rows) = (&self.places[chunk], self.others.named.rows());
        normal.design((tables, places), rows, partners, scales, (designs, targets));
        self.sums.values += squared(targets);
        self.designed += values.len();
    }

    /// Adds the products of the chunk's designs.
    fn flush(&mut self) {
        let normal = &self.given.view.normal;
        let designs = &self.designs.as_slice()[..self.designed * normal.pad()];
        let scaled = &self.scaled[..self.designed];
        normal.gram(designs, scaled, &mut self.sums.squares, &mut self.sums.products);
        self.designed = 0;
    }
}

/// Puts a value in some slots of a chunk, and in some behind them, which do not count: how many they are costs no branch where it is the
/// length of a short run, which nothing foretells.
fn put<T: Copy>(slots: &mut [T; CHUNK + ROOM], range: Range<usize>, value: T) {
    for start in range.step_by(ROOM) {
        slots[start..start + ROOM].fill(value);
    }
}

/// The sum of squares, in several chains.
fn squared(numbers: &[f32]) -> f64 {
    let (fours, rest) = numbers.as_chunks::<4>();
    let mut sums = [0.0f64; 4];
    for four in fours {
        sums.iter_mut().zip(four).for_each(|(sum, &number)| *sum += f64::from(number) * f64::from(number));
    }
    let rest: f64 = rest.iter().map(|&number| f64::from(number) * f64::from(number)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
