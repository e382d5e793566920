//! Sums over the entries of a row: all that a draw has to know of them, whoever has the entries.

use rayon::prelude::*;
use s3cmtf_kernels::CHUNK;

use super::conditional::RowConditional;
use crate::layout::CoreOrder;
use crate::layout::EntryRun;

/// No more numbers than this are kept in a table of what the core becomes along the rest.
const TABLE: usize = 1 << 25;

/// The sums over some entries of a row, each times the precisions of its other rows: of the products of designs, of designs
/// times values, of squared values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowSums {
    pub(super) squares: Vec<f32>,
    pub(super) products: Vec<f32>,
    pub(super) values: f64,
}

/// What the core becomes along the rest of a run: a row per concept of the partner, a number per concept of the mode.
pub(super) struct Folded {
    core: Vec<f32>,
    len: usize,
    /// For each row of the only mode of the rest; empty if there are too many.
    table: Vec<f32>,
}

impl Folded {
    pub(super) fn new(given: &RowConditional<'_>) -> Self {
        let view = given.view;
        let order: Vec<usize> = view.rest.iter().copied().chain([view.partner, view.mode]).collect();
        let core = CoreOrder::new(given.ranks, &order, view.normal.pad()).pack(given.core);
        let len = given.ranks[view.partner] * view.normal.pad();
        let table = match view.rest.as_slice() {
            [] => core.clone(),
            &[rest] => {
                let rows = given.factors[rest].len() / given.ranks[rest];
                let mut table = Vec::new();
                if rows <= view.runs && rows * len <= TABLE {
                    table.resize(rows * len, 0.0);
                    let rows = given.factors[rest].par_chunks_exact(given.ranks[rest]);
                    table
                        .par_chunks_exact_mut(len)
                        .zip(rows)
                        .for_each(|(folded, row)| view.normal.fold(&core, row, folded));
                }
                table
            }
            _ => Vec::new(),
        };
        Folded { core, len, table }
    }
}

/// Sums up the entries of one row after the other: the working memory of one thread.
pub(super) struct Summer<'a> {
    given: &'a RowConditional<'a>,
    folded: &'a Folded,
    weights: Vec<f32>,
    t: Vec<f32>,
    designs: Vec<f32>,
    pub(super) sums: RowSums,
}

impl<'a> Summer<'a> {
    pub(super) fn new(given: &'a RowConditional<'a>, folded: &'a Folded) -> Self {
        let (rank, pad) = (given.ranks[given.view.mode], given.view.normal.pad());
        Summer {
            given,
            folded,
            weights: Vec::new(),
            t: vec![0.0; folded.len],
            designs: vec![0.0; CHUNK * pad],
            sums: RowSums { squares: vec![0.0; rank * pad], products: vec![0.0; pad], values: 0.0 },
        }
    }

    /// Begins another row.
    pub(super) fn clear(&mut self) {
        self.sums.squares.fill(0.0);
        self.sums.products.fill(0.0);
        self.sums.values = 0.0;
    }

    /// Adds the entries of a run.
    pub(super) fn add_run(&mut self, run: EntryRun<'_>) {
        let RowConditional { view, ranks, factors, noise, augmentation, streams, .. } = *self.given;
        let folded = self.folded;
        let t = if folded.table.is_empty() {
            view.weigh(factors, ranks, run.rest, &mut self.weights);
            view.normal.fold(&folded.core, &self.weights, &mut self.t);
            &self.t[..]
        } else {
            let place = run.rest.first().map_or(0, |&row| row as usize);
            &folded.table[place * folded.len..][..folded.len]
        };
        let root: f32 =
            run.rest.iter().zip(&view.rest).map(|(&row, &rest)| noise.roots[rest][row as usize]).product();
        let partner_roots = &noise.roots[view.partner];
        let (mut scales, mut scaled) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
        let chunks = run.partners.chunks(CHUNK).zip(run.values.chunks(CHUNK));
        for (first, (partners, values)) in (0..).step_by(CHUNK).zip(chunks) {
            let (scales, scaled) = (&mut scales[..values.len()], &mut scaled[..values.len()]);
            let mut sum = 0.0f64;
            for (((scale, scaled), &partner), &value) in
                scales.iter_mut().zip(scaled.iter_mut()).zip(partners).zip(values)
            {
                *scale = root * partner_roots[partner as usize];
                *scaled = *scale * value;
                sum += f64::from(*scaled) * f64::from(*scaled);
            }
            self.sums.values += sum;
            let designs = &mut self.designs[..values.len() * view.normal.pad()];
            view.normal.design(t, factors[view.partner], partners, scales, designs);
            if let Some(augmentation) = augmentation {
                let rank = ranks[view.mode];
                let row = &factors[view.mode][run.row as usize * rank..][..rank];
                let mut generator = streams.entries(view.mode, false, run.first + first);
                for ((design, scaled), &value) in
                    designs.chunks_exact_mut(view.normal.pad()).zip(scaled.iter_mut()).zip(values)
                {
                    let linear = design.iter().zip(row).map(|(design, value)| design * value).sum();
                    let root;
                    (root, *scaled) = augmentation.draw(value, linear, &mut generator);
                    design.iter_mut().for_each(|design| *design *= root);
                }
            }
            view.normal.gram(designs, scaled, &mut self.sums.squares, &mut self.sums.products);
        }
    }
}
