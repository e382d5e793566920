//! Passes over the entries of a view: what a core predicts of each, and sums of what is made of that.

use std::ops::Range;

use bytemuck::Pod;
use s3cmtf_kernels::{Aligned, CHUNK};

use super::random::Streams;
use super::sample::{Sample, window};
use crate::Error;
use crate::layout::{Block, CoreOrder, PIECE, PartnerRows, TOGETHER, View};
use crate::nodes::Nodes;
use crate::parallel;
use crate::problem::mix;

/// Runs that go through the kernels together have so many entries at most: their partners' rows are read twice, and are still in
/// the cache the second time.
const ENTRIES: usize = 512;

/// So many numbers of a gradient are summed up over strips by one thread.
const TOTALS: usize = 256;

/// A strip is cut into so many parts for threads, at most, of so many pieces of the view at least, and of so many entries for each number
/// of the core: each part has a gradient.
const PARTS: usize = 4;
const PIECES: usize = 2;
const PER_NUMBER: usize = 16;

/// Predictions of the entries of a view.
pub(super) struct Pass<'a> {
    pub(super) view: &'a View,
    pub(super) ranks: &'a [usize],
    pub(super) factors: &'a [&'a [f32]],
    /// The square roots of the rows' shares of the precision, if predictions are to be multiplied with that of their partner.
    roots: Option<&'a [Vec<f32>]>,
    pub(super) partner: PartnerRows<'a>,
    pub(super) nodes: &'a Nodes,
}

/// Some runs of a row.
pub(super) struct Group<'a> {
    block: &'a Block<'a>,
    runs: Range<usize>,
    /// Which entry of the view its first is.
    pub(super) first: usize,
    pub(super) values: &'a [f32],
}

/// Some entries of a run: which entry of the view the first is, their values, and their predictions.
pub(super) type Chunk<'a> = (usize, &'a [f32], &'a mut [f32]);

impl Group<'_> {
    /// What is made of all of its chunks, each of one run: how it is cut does not depend on what runs go together.
    pub(super) fn each_chunk(&self, predictions: &mut [f32], mut of: impl FnMut(Chunk<'_>) -> f64) -> f64 {
        let (mut left, mut total) = (predictions, 0.0);
        for run in self.runs.clone() {
            let run = self.block.run(run);
            let predictions;
            (predictions, left) = left.split_at_mut(run.values.len());
            let chunks = predictions.chunks_mut(CHUNK).zip(run.values.chunks(CHUNK));
            for (first, (predictions, values)) in (run.first..).step_by(CHUNK).zip(chunks) {
                total += of((first, values, predictions));
            }
        }
        total
    }
}

/// What a pass comes to: the sum of what was made of each entry, and a gradient, empty if none was asked for.
pub(super) type Passed = (f64, Vec<f32>);

/// What is made of the runs of a strip.
type OfStrip<'a> = dyn Fn(Strip<'_>, Range<usize>) -> Result<Passed, Error> + Sync + 'a;

/// What is made of a group and its predictions.
type OfGroup<'a> = dyn Fn(&Group<'_>, &mut [f32]) -> f64 + Sync + 'a;

/// What is done with the entries of a strip.
enum Visit<'v> {
    /// Each group and its predictions are seen, with values if `values`, and a gradient is collected of what is left in place of the
    /// predictions, if that is wanted.
    Groups { visit: &'v mut dyn FnMut(&Group<'_>, &mut [f32]) -> f64, values: bool, gradient: bool },
    /// Perturbed errors are collected.
    Residuals { streams: Streams, scatter: f32 },
    /// Predictions times precisions are collected; the number of entries comes back.
    Product,
    /// Squares of predictions times precisions are added up.
    Squares,
}

impl Visit<'_> {
    fn has_gradient(&self) -> bool {
        !matches!(self, Visit::Groups { gradient: false, .. } | Visit::Squares)
    }

    fn has_values(&self) -> bool {
        matches!(self, Visit::Groups { values: true, .. } | Visit::Residuals { .. })
    }
}

impl<'a> Pass<'a> {
    /// Passes over a view; `roots` if entries have precisions of their own. The partner's rows are put in memory that may have been used
    /// before.
    pub(super) fn new(
        view: &'a View,
        (ranks, factors): (&'a [usize], &'a [&'a [f32]]),
        roots: Option<&'a [Vec<f32>]>,
        nodes: &'a Nodes,
        memory: &'a mut Aligned,
    ) -> Self {
        let partner = PartnerRows::new(view, (ranks, factors), roots, memory);
        Pass { view, ranks, factors, roots, partner, nodes }
    }

    /// The root of the precision that the entries of a run have of all rows but their partner's: its row and the rest's.
    pub(super) fn root(&self, row: u32, rest: &[u32]) -> f32 {
        let Some(roots) = self.roots else { return 1.0 };
        let rest = rest.iter().zip(&self.view.rest);
        let rest = rest.map(|(&row, &rest)| roots[rest][row as usize]).product::<f32>();
        roots[self.view.mode][row as usize] * rest
    }

    pub(super) fn layout(&self) -> CoreOrder {
        let View { mode, partner, rest, normal, .. } = self.view;
        let order: Vec<usize> = [*mode].into_iter().chain(rest.iter().copied()).chain([*partner]).collect();
        CoreOrder::new(self.ranks, &order, normal.partner_pad())
    }

    /// The sum of squared errors of a core's predictions; `means` puts those of the values in place of what predictions add up to.
    pub(super) fn squared_error(
        &self,
        core: &[f32],
        means: &(dyn Fn(&mut [f32]) + Sync),
    ) -> Result<f64, Error> {
        let packed = self.layout().pack(core);
        let (sum, _) = self.go(&packed, false, &|group, predictions| {
            means(predictions);
            predictions.iter_mut().zip(group.values).for_each(|(prediction, value)| *prediction -= value);
            dot(predictions, predictions)
        })?;
        Ok(sum)
    }

    /// What is made of each entry, in the order of the view, given its value and a core's prediction.
    pub(super) fn each<T: Pod + Send>(
        &self,
        core: &[f32],
        of: impl Fn(f32, f32) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        self.some(core, 1, of)
    }

    /// The same of one in so many entries, always the same ones.
    pub(super) fn some<T: Pod + Send>(
        &self,
        core: &[f32],
        every: u64,
        of: impl Fn(f32, f32) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let packed = self.layout().pack(core);
        let strips = parallel::try_map_of(self.view.strips.windows(2), |strip| {
            let mut all = Vec::new();
            let mut visit = |group: &Group<'_>, predictions: &mut [f32]| {
                let both = group.values.iter().zip(predictions.iter());
                let taken = (group.first as u64..).zip(both);
                let taken = taken.filter(|(place, _)| every == 1 || mix(*place).is_multiple_of(every));
                all.extend(taken.map(|(_, (&value, &prediction))| of(value, prediction)));
                0.0
            };
            Strip::new(self, &packed).go(
                strip[0]..strip[1],
                Sample::ALL,
                &mut Visit::Groups { visit: &mut visit, values: true, gradient: false },
            )?;
            Ok::<_, Error>(all)
        })?;
        self.nodes.gather(strips.concat())
    }

    /// The sum of squared errors, and the errors times the predictions' derivatives by the core.
    #[cfg(test)]
    pub(super) fn errors_and_gradient(&self, core: &[f32]) -> (f64, Vec<f32>) {
        let layout = self.layout();
        let (sum, gradient) = self
            .go(&layout.pack(core), true, &|group, predictions| {
                let both = predictions.iter_mut().zip(group.values);
                let squares = both.map(|(slot, value)| {
                    *slot = *value - *slot;
                    f64::from(*slot).powi(2)
                });
                squares.sum()
            })
            .unwrap();
        (sum, layout.unpack(&gradient))
    }

    /// Predicts all entries. `visit` gets each group and its predictions; the sum of what it returns comes back, and if
    /// `gradient`, the sum over entries of what it has left in place of the predictions times their derivative by the core.
    pub(super) fn go(&self, core: &[f32], gradient: bool, visit: &OfGroup<'_>) -> Result<Passed, Error> {
        self.strips(core, gradient, &|strip, runs| {
            let visit = &mut |group: &Group<'_>, slots: &mut [f32]| visit(group, slots);
            strip.go(runs, Sample::ALL, &mut Visit::Groups { visit, values: true, gradient })
        })
    }

    /// The sum of squared errors of a core's predictions, each times its precision; and what is left in place of each prediction, `w (x - x~) + sqrt(w) z` with
    /// precisions `w` and `z` of a random sign, times the derivative by the core, summed up. Signs are as good as normal
    /// numbers here, where thousands of them are, and cost nothing.
    pub(super) fn residuals(&self, core: &[f32], scatter: f32, streams: Streams) -> Result<Passed, Error> {
        self.strips(core, true, &|strip, runs| {
            strip.go(runs, Sample::ALL, &mut Visit::Residuals { streams, scatter })
        })
    }

    /// The sum over entries of what a core predicts of each, times its precision, times the derivative by the core; of a sample, as many
    /// times as there are more of them. Entries are read once, and their values are not.
    pub(super) fn product(&self, core: &[f32], sample: Sample) -> Result<Vec<f32>, Error> {
        let product = self.strips(core, true, &|strip, runs| strip.go(runs, sample, &mut Visit::Product))?;
        Ok(self.scaled(product))
    }

    /// The same where precisions are not those of rows: `weigh` gets which entry of the view is the first of some, and multiplies their predictions.
    pub(super) fn weighed_product(
        &self,
        core: &[f32],
        sample: Sample,
        weigh: &(dyn Fn(usize, &mut [f32]) + Sync),
    ) -> Result<Vec<f32>, Error> {
        let product = self.strips(core, true, &|strip, runs| {
            let visit = &mut |group: &Group<'_>, predictions: &mut [f32]| {
                weigh(group.first, predictions);
                predictions.len() as f64
            };
            strip.go(runs, sample, &mut Visit::Groups { visit, values: false, gradient: true })
        })?;
        Ok(self.scaled(product))
    }

    /// The sum over entries of the squares of what a core predicts of each, times its precision: that of the core and its
    /// [`Pass::product`], without what it takes to add that up.
    pub(super) fn curvature(&self, core: &[f32]) -> Result<f64, Error> {
        let (sum, _) =
            self.strips(core, false, &|strip, runs| strip.go(runs, Sample::ALL, &mut Visit::Squares))?;
        Ok(sum)
    }

    /// The same for [`Pass::weighed_product`].
    pub(super) fn weighed_curvature(
        &self,
        core: &[f32],
        weigh: &(dyn Fn(usize, &mut [f32]) + Sync),
    ) -> Result<f64, Error> {
        let (sum, _) = self.strips(core, false, &|strip, runs| {
            let visit = &mut |group: &Group<'_>, predictions: &mut [f32]| {
                let plain = predictions.to_vec();
                weigh(group.first, predictions);
                dot(&plain, predictions)
            };
            strip.go(runs, Sample::ALL, &mut Visit::Groups { visit, values: false, gradient: false })
        })?;
        Ok(sum)
    }

    /// What sums over so many entries would be over all.
    fn scaled(&self, (count, mut sums): Passed) -> Vec<f32> {
        let scale = if count > 0.0 { (self.view.entries as f64 / count) as f32 } else { 0.0 };
        if scale != 1.0 {
            sums.iter_mut().for_each(|sum| *sum *= scale);
        }
        sums
    }

    /// What all strips come to, in their order.
    fn strips(&self, core: &[f32], gradient: bool, of: &OfStrip<'_>) -> Result<Passed, Error> {
        let least = PIECES.max(PER_NUMBER * core.len() / PIECE);
        let strips = self.view.strips.windows(2);
        let parts: Vec<Vec<Range<usize>>> = strips.map(|strip| self.parts(strip, least)).collect();
        let own =
            parallel::try_map_of(parts.iter().flatten(), |runs| of(Strip::new(self, core), runs.clone()))?;
        let mut left = &own[..];
        let own: Vec<&[Passed]> = parts.iter().filter_map(|parts| left.split_off(..parts.len())).collect();
        let sums = own.iter().map(|strip| strip.iter().map(|(sum, _)| *sum).sum()).collect();
        let len = if gradient { core.len() } else { 0 };
        let own = own.into_iter().map(|strip| strip.iter().map(|(_, part)| &part[..len]).collect());
        let own: Vec<Vec<&[f32]>> = own.collect();
        if !self.nodes.is_shared() {
            return Ok((sum(sums), in_order(&own, len)));
        }
        let of_strips = own.chunks(1).flat_map(|strip| in_order(strip, len)).collect();
        let (sums, of_strips) = self.nodes.gather_both(sums, of_strips)?;
        let strips: Vec<Vec<&[f32]>> = of_strips.chunks_exact(len.max(1)).map(|strip| vec![strip]).collect();
        Ok((sum(sums), in_order(&strips, len)))
    }

    /// The runs of the parts of a strip, of so many pieces at least. They begin where pieces do, which is the same on any node that has
    /// the strip; where the last of its pieces ends is not.
    pub(super) fn parts(&self, strip: &[usize], least: usize) -> Vec<Range<usize>> {
        let (start, end) = (strip[0], strip[1]);
        let before = |run: usize| self.view.pieces.partition_point(|piece| piece.runs().start < run);
        let inside = &self.view.pieces[before(start + 1).min(before(end))..before(end)];
        let count = ((inside.len() + 1) / least).clamp(1, PARTS);
        let cut = |part: usize| match part {
            0 => start,
            _ if part == count => end,
            _ => inside[inside.len() * part / count].runs().start,
        };
        (0..count).map(|part| cut(part)..cut(part + 1)).collect()
    }
}

/// The sum of what strips come to, in their order.
fn sum(sums: Vec<f64>) -> f64 {
    let mut sums = sums.into_iter();
    let first = sums.next().unwrap_or_default();
    sums.fold(first, |total, sum| total + sum)
}

/// The sum of so many numbers of the parts of strips, in their order: those of a strip first, as another node may have them.
fn in_order(strips: &[Vec<&[f32]>], len: usize) -> Vec<f32> {
    let mut total = vec![0.0; len];
    parallel::chunks_mut(&mut total, TOTALS, |number, totals| {
        let mut of_strip = [0.0; TOTALS];
        for (place, parts) in strips.iter().enumerate() {
            let of_strip = &mut of_strip[..totals.len()];
            for (part, numbers) in parts.iter().enumerate() {
                let numbers = &numbers[number * TOTALS..][..of_strip.len()];
                match part {
                    0 => of_strip.copy_from_slice(numbers),
                    _ => of_strip.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number),
                }
            }
            match place {
                0 => totals.copy_from_slice(of_strip),
                _ => totals.iter_mut().zip(&*of_strip).for_each(|(total, sum)| *total += sum),
            }
        }
    });
    total
}

/// The sum of products, in so many chains of additions as fill vectors.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    const CHAINS: usize = 8;
    let (mut sums, whole) = ([0.0; CHAINS], a.len() / CHAINS * CHAINS);
    for (a, b) in a.chunks_exact(CHAINS).zip(b.chunks_exact(CHAINS)) {
        for k in 0..CHAINS {
            sums[k] += f64::from(a[k]) * f64::from(b[k]);
        }
    }
    let rest = a[whole..].iter().zip(&b[whole..]).map(|(&a, &b)| f64::from(a) * f64::from(b));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// The working memory of one strip.
struct Strip<'a> {
    pass: &'a Pass<'a>,
    core: &'a [f32],
    gradient: Vec<f32>,
    /// The core along a row: a row of the partner's concepts for each combination of the rest's; and its gradient.
    along_row: Aligned,
    row_gradient: Aligned,
    /// The same along some runs: one row each.
    along_runs: Aligned,
    weights: Vec<f32>,
    predictions: Vec<f32>,
    signs: Vec<u64>,
}

impl<'a> Strip<'a> {
    fn new(pass: &'a Pass<'a>, core: &'a [f32]) -> Self {
        let row = core.len() / pass.ranks[pass.view.mode];
        let run = pass.view.normal.partner_pad();
        Strip {
            pass,
            core,
            gradient: vec![0.0; core.len()],
            along_row: Aligned::new(row),
            row_gradient: Aligned::new(row),
            along_runs: Aligned::new(2 * TOGETHER * run),
            weights: Vec::new(),
            predictions: Vec::new(),
            signs: Vec::new(),
        }
    }

    fn go(mut self, runs: Range<usize>, sample: Sample, visit: &mut Visit<'_>) -> Result<Passed, Error> {
        let view = self.pass.view;
        let (mut total, mut last) = (0.0, None);
        let mut buffer = Vec::new();
        let gradient = visit.has_gradient();
        let first = view.pieces.partition_point(|piece| piece.runs().end <= runs.start);
        let pieces =
            (first..view.pieces.len()).take_while(|&piece| view.pieces[piece].runs().start < runs.end);
        for piece in pieces {
            let own = view.pieces[piece].runs();
            let block = view.block(piece, visit.has_values(), &mut buffer)?;
            let mut left = runs.start.max(own.start) - own.start..runs.end.min(own.end) - own.start;
            while !left.is_empty() {
                if !sample.is_all() {
                    let Some(next) = sample.next(block.first(left.start)..block.first(left.end)) else {
                        break;
                    };
                    left.start = block.run_of(next, left.clone());
                }
                let rows = &block.rows[left.clone()];
                let row = rows[0];
                let mut entries = 0;
                let lengths = block.lengths(left.clone()).take_while(|length| {
                    entries += length;
                    entries <= ENTRIES
                });
                let same = rows.iter().zip(lengths).take(TOGETHER);
                let mut same = same.take_while(|(other, _)| **other == row).count().max(1);
                if !sample.is_all() {
                    let window = window(block.first(left.start));
                    let inside = (left.start + 1..left.start + same)
                        .take_while(|&run| window.contains(&(block.first(run + 1) - 1)));
                    same = 1 + inside.count();
                }
                let runs = left.start..left.start + same;
                left.start = runs.end;
                for entries in sample.parts(block.first(runs.start)..block.first(runs.end)) {
                    if last != Some(row) {
                        self.end_row(last.filter(|_| gradient));
                        view.normal.fold(self.core, self.row(row), self.along_row.as_mut_slice());
                        last = Some(row);
                    }
                    total += self.go_runs(&block, runs.clone(), entries, visit);
                }
            }
        }
        self.end_row(last.filter(|_| gradient));
        Ok((total, self.gradient))
    }

    /// The factor's row.
    fn row(&self, row: u32) -> &'a [f32] {
        let Pass { view, ranks, factors, .. } = *self.pass;
        &factors[view.mode][row as usize * ranks[view.mode]..][..ranks[view.mode]]
    }

    /// Some runs of the row, or of a single one some entries of the view.
    fn go_runs(
        &mut self,
        block: &Block<'_>,
        runs: Range<usize>,
        entries: Range<usize>,
        visit: &mut Visit<'_>,
    ) -> f64 {
        let Pass { view, ranks, factors, ref partner, .. } = *self.pass;
        let (normal, count) = (&view.normal, runs.len());
        let rests = (block.rests(runs.clone()), count);
        let weights = view.weights_of_runs(factors, ranks, rests, &mut self.weights);
        let (slices, gradients) = (self.along_row.as_slice(), self.row_gradient.as_mut_slice());
        let buffer = &mut self.along_runs.as_mut_slice()[..2 * count * normal.partner_pad()];
        let first = entries.start;
        let here = first - block.first(runs.start)..entries.end - block.first(runs.start);
        let (partners, values) = block.entries(runs.clone());
        let (partners, values) = (&partners[here.start..], values.get(here).unwrap_or_default());
        let mut ends = [0; TOGETHER];
        for (slot, run) in ends.iter_mut().zip(runs.clone()) {
            *slot = (block.first(run + 1).min(entries.end) - first) as u32;
        }
        let (end, entries) = (entries.len(), (partners, &ends[..count]));
        let mut roots = [1.0; TOGETHER];
        if !matches!(visit, Visit::Groups { .. }) {
            for (root, run) in roots.iter_mut().zip(runs.clone()) {
                *root = self.pass.root(block.rows[run], block.rest(run));
            }
        }
        match visit {
            Visit::Product => {
                let precisions = roots.map(|root| root * root);
                let weights = (weights, &precisions[..count]);
                normal.product(slices, weights, partner.rows(), entries, buffer, gradients);
                end as f64
            }
            Visit::Residuals { streams, scatter } => {
                let weights = (weights, &roots[..count]);
                let first_sign = streams.put_signs(first..first + values.len(), &mut self.signs);
                let values = (values, (&self.signs[..], first_sign), *scatter);
                normal.residuals(slices, weights, (partner.rows(), entries), values, buffer, gradients)
            }
            Visit::Squares | Visit::Groups { .. } => {
                let (along_runs, sums) = buffer.split_at_mut(count * normal.partner_pad());
                normal.fold_runs(slices, weights, &roots[..count], along_runs);
                self.predictions.resize(end, 0.0);
                normal.project(along_runs, partner.rows(), entries, &mut self.predictions);
                let Visit::Groups { visit, gradient, .. } = visit else {
                    return dot(&self.predictions, &self.predictions);
                };
                let total = visit(&Group { block, runs, first, values }, &mut self.predictions);
                if *gradient {
                    normal.collect(partner.rows(), entries, &self.predictions, sums);
                    normal.unfold_runs(sums, weights, gradients);
                }
                total
            }
        }
    }

    /// Adds the gradient along a row, if there was one, to that of the core.
    fn end_row(&mut self, row: Option<u32>) {
        if let Some(row) = row {
            let row = self.row(row);
            self.pass.view.normal.unfold(self.row_gradient.as_slice(), row, &mut self.gradient);
            self.row_gradient.as_mut_slice().fill(0.0);
        }
    }
}
