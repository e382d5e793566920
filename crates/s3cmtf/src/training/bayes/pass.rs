//! Passes over the entries of a view: what a core predicts of each, and sums of what is made of that.

use std::ops::Range;

use bytemuck::Pod;
use s3cmtf_kernels::{Aligned, CHUNK};

use crate::Error;
use crate::layout::{Block, CoreOrder, EntryRun, PartnerRows, TOGETHER, View};
use crate::nodes::Nodes;
use crate::parallel;
use crate::problem::mix;

/// Runs that go through the kernels together have so many entries at most: their partners' rows are read twice, and are still in
/// the cache the second time.
const ENTRIES: usize = 512;

/// So many numbers of a gradient are summed up over strips by one thread.
const TOTALS: usize = 256;

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

/// Some entries of a run.
pub(super) struct Chunk<'a> {
    pub(super) run: EntryRun<'a>,
    /// Which entry of the view its first is.
    pub(super) first: usize,
    pub(super) partners: &'a [u32],
    pub(super) values: &'a [f32],
}

/// What a pass comes to: the sum of what was made of each entry, and a gradient, empty if none was asked for.
pub(super) type Passed = (f64, Vec<f32>);

/// What is made of the runs of a strip.
type OfStrip<'a> = dyn Fn(Strip<'_>, Range<usize>) -> Result<Passed, Error> + Sync + 'a;

/// What is done with the entries of a strip.
enum Visit<'v> {
    /// Each chunk and its predictions are seen, and a gradient is collected of what is left in place of the predictions, if that
    /// is wanted.
    Chunks { visit: &'v mut dyn FnMut(&Chunk<'_>, &mut [f32]) -> f64, gradient: bool },
    /// Predictions times precisions are collected.
    Product,
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

    /// The sum of squared errors of a core's predictions; `mean` is that of the values, given what it adds up to.
    pub(super) fn squared_error(
        &self,
        core: &[f32],
        mean: &(dyn Fn(f32) -> f32 + Sync),
    ) -> Result<f64, Error> {
        let packed = self.layout().pack(core);
        let (sum, _) = self.go(&packed, false, &|chunk, predictions| {
            let both = predictions.iter().zip(chunk.values);
            let errors = both.map(|(&prediction, value)| mean(prediction) - value);
            errors.map(|error| f64::from(error) * f64::from(error)).sum()
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
            let mut visit = |chunk: &Chunk<'_>, predictions: &mut [f32]| {
                let both = chunk.values.iter().zip(predictions.iter());
                let taken = (chunk.first as u64..).zip(both);
                let taken = taken.filter(|(place, _)| every == 1 || mix(*place).is_multiple_of(every));
                all.extend(taken.map(|(_, (&value, &prediction))| of(value, prediction)));
                0.0
            };
            Strip::new(self, &packed)
                .go(strip[0]..strip[1], &mut Visit::Chunks { visit: &mut visit, gradient: false })?;
            Ok::<_, Error>(all)
        })?;
        self.nodes.gather(strips.concat())
    }

    /// The sum of squared errors, and the errors times the predictions' derivatives by the core.
    #[cfg(test)]
    pub(super) fn errors_and_gradient(&self, core: &[f32]) -> (f64, Vec<f32>) {
        let layout = self.layout();
        let (sum, gradient) = self
            .go(&layout.pack(core), true, &|chunk, predictions| {
                let both = predictions.iter_mut().zip(chunk.values);
                let squares = both.map(|(slot, value)| {
                    *slot = *value - *slot;
                    f64::from(*slot).powi(2)
                });
                squares.sum()
            })
            .unwrap();
        (sum, layout.unpack(&gradient))
    }

    /// Predicts all entries. `visit` gets each chunk and its predictions; the sum of what it returns comes back, and if
    /// `gradient`, the sum over entries of what it has left in place of the predictions times their derivative by the core.
    pub(super) fn go(
        &self,
        core: &[f32],
        gradient: bool,
        visit: &(dyn Fn(&Chunk<'_>, &mut [f32]) -> f64 + Sync),
    ) -> Result<Passed, Error> {
        self.strips(core, gradient, &|strip, runs| {
            strip.go(runs, &mut Visit::Chunks { visit: &mut |chunk, slots| visit(chunk, slots), gradient })
        })
    }

    /// The sum over entries of what a core predicts of each, times its precision, times the derivative by the core. Entries are
    /// read once, and their values are not.
    pub(super) fn product(&self, core: &[f32]) -> Result<Vec<f32>, Error> {
        let (_, product) = self.strips(core, true, &|strip, runs| strip.go(runs, &mut Visit::Product))?;
        Ok(product)
    }

    /// What all strips come to, in their order.
    fn strips(&self, core: &[f32], gradient: bool, of: &OfStrip<'_>) -> Result<Passed, Error> {
        let strips = self.view.strips.windows(2);
        let own = parallel::try_map_of(strips, |strip| of(Strip::new(self, core), strip[0]..strip[1]))?;
        let sums = own.iter().map(|(sum, _)| *sum).collect();
        let gradients = if gradient { parallel::concat(&own, |(_, own)| own) } else { Vec::new() };
        let (sums, gradients) = self.nodes.gather_both(sums, gradients)?;
        let mut gradients = gradients.chunks_exact(core.len().max(1));
        let mut total = gradients.next().map_or(Vec::new(), <[f32]>::to_vec);
        parallel::chunks_mut(&mut total, TOTALS, |number, totals| {
            for strip in gradients.clone() {
                let values = &strip[number * TOTALS..];
                totals.iter_mut().zip(values).for_each(|(total, value)| *total += value);
            }
        });
        let mut sums = sums.into_iter();
        let first = sums.next().unwrap_or_default();
        Ok((sums.fold(first, |total, sum| total + sum), total))
    }
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
        }
    }

    fn go(mut self, runs: Range<usize>, visit: &mut Visit<'_>) -> Result<Passed, Error> {
        let view = self.pass.view;
        let (mut total, mut last) = (0.0, None);
        let mut buffer = Vec::new();
        let gradient = !matches!(visit, Visit::Chunks { gradient: false, .. });
        let first = view.pieces.partition_point(|piece| piece.runs().end <= runs.start);
        let pieces =
            (first..view.pieces.len()).take_while(|&piece| view.pieces[piece].runs().start < runs.end);
        for piece in pieces {
            let own = view.pieces[piece].runs();
            let block = view.block(piece, &mut buffer)?;
            let mut left = runs.start.max(own.start) - own.start..runs.end.min(own.end) - own.start;
            while !left.is_empty() {
                let rows = &block.rows[left.clone()];
                let row = rows[0];
                let mut entries = 0;
                let lengths = block.lengths(left.clone()).take_while(|length| {
                    entries += length;
                    entries <= ENTRIES
                });
                let same = rows.iter().zip(lengths).take(TOGETHER);
                let same = same.take_while(|(other, _)| **other == row).count().max(1);
                if last != Some(row) {
                    self.end_row(last.filter(|_| gradient));
                    view.normal.fold(self.core, self.row(row), self.along_row.as_mut_slice());
                    last = Some(row);
                }
                total += self.go_runs(&block, left.start..left.start + same, visit);
                left.start += same;
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

    /// Some runs of the row.
    fn go_runs(&mut self, block: &Block<'_>, runs: Range<usize>, visit: &mut Visit<'_>) -> f64 {
        let Pass { view, ranks, factors, ref partner, .. } = *self.pass;
        let (normal, count) = (&view.normal, runs.len());
        let rests = (block.rests(runs.clone()), count);
        let weights = view.weights_of_runs(factors, ranks, rests, &mut self.weights);
        let (slices, gradients) = (self.along_row.as_slice(), self.row_gradient.as_mut_slice());
        let buffer = &mut self.along_runs.as_mut_slice()[..2 * count * normal.partner_pad()];
        let (partners, values) = block.entries(runs.clone());
        let (mut ends, mut end) = ([0; TOGETHER], 0);
        for (slot, length) in ends.iter_mut().zip(block.lengths(runs.clone())) {
            end += length as u32;
            *slot = end;
        }
        let entries = (partners, &ends[..count]);
        let (visit, gradient) = match visit {
            Visit::Chunks { visit, gradient } => (visit, *gradient),
            Visit::Product => {
                let mut precisions = [0.0; TOGETHER];
                for (precision, run) in precisions.iter_mut().zip(runs) {
                    *precision = self.pass.root(block.rows[run], block.rest(run)).powi(2);
                }
                let weights = (weights, &precisions[..count]);
                normal.product(slices, weights, partner.rows(), entries, buffer, gradients);
                return 0.0;
            }
        };
        let (along_runs, sums) = buffer.split_at_mut(count * normal.partner_pad());
        normal.fold_runs(slices, weights, &[1.0; TOGETHER][..count], along_runs);
        self.predictions.resize(values.len(), 0.0);
        normal.project(along_runs, partner.rows(), entries, &mut self.predictions);
        let mut total = 0.0;
        let mut left = self.predictions.as_mut_slice();
        for run in runs {
            let run = block.run(run);
            let predictions;
            (predictions, left) = left.split_at_mut(run.values.len());
            let chunks = predictions.chunks_mut(CHUNK).zip(run.values.chunks(CHUNK));
            for (first, (predictions, values)) in (0..).step_by(CHUNK).zip(chunks) {
                let partners = &run.partners[first..];
                total += visit(&Chunk { run, first: run.first + first, partners, values }, predictions);
            }
        }
        if gradient {
            normal.collect(partner.rows(), entries, &self.predictions, sums);
            normal.unfold_runs(sums, weights, gradients);
        }
        total
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
