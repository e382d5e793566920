//! Draws the rows of a mode, given everything else.
//!
//! An entry's value is normal around `d . u`, so the row `u`, too, is normal: its precision is that of the prior, plus
//! `sum d d'` over its entries, plus what coupled matrices say. The first concept of every row is 1.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use s3cmtf_kernels::CHUNK;

use super::cholesky::{factorize, solve_lower, solve_upper};
use super::core::OFFSET;
use super::coupled::Matrix;
use super::layout::Layout;
use super::mean::NaturalParams;
use super::noise::Noise;
use super::random::{generator, normal};
use super::view::{Block, EntryRun, Piece, View};
use crate::{Error, params};

/// No more numbers than this are kept in a table of what the core becomes along the rest.
const TABLE: usize = 1 << 25;

/// All that the rows of a mode depend on.
pub(super) struct RowConditional<'a> {
    pub(super) view: &'a View,
    pub(super) ranks: &'a [usize],
    /// Every mode's rows.
    pub(super) factors: &'a [&'a [f32]],
    pub(super) core: &'a [f32],
    pub(super) noise: &'a Noise,
    pub(super) matrices: &'a [Matrix],
    /// What matrices predict of the mode's rows: the mean of their prior, empty if that is zero.
    pub(super) means: &'a [f32],
    pub(super) seed: u64,
    pub(super) epoch: u64,
    pub(super) without: &'a [params::Part],
    pub(super) interrupt: &'a AtomicBool,
}

/// What becomes of rows.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) rows: Vec<f32>,
    /// For each row the sum of squared errors, each entry's times the shares of its other rows.
    pub(super) squares: Vec<f64>,
}

/// The sums over a row's entries.
struct Sums {
    squares: Vec<f32>,
    products: Vec<f32>,
    values: f64,
}

/// What a piece gives: rows, or sums for a row that is shared with other pieces.
enum Part {
    Rows(Drawn),
    Sums(usize, Sums),
}

impl RowConditional<'_> {
    /// Draws all rows of the view's mode; nothing if it was interrupted on the way. `mean` is moved towards the
    /// distributions that rows are drawn from, by a share of the way.
    ///
    /// # Errors
    /// If entries cannot be read.
    pub(super) fn draw(&self, mean: Option<(&mut NaturalParams, f32)>) -> Result<Option<Drawn>, Error> {
        let view = self.view;
        let order: Vec<usize> = view.rest.iter().copied().chain([view.partner, view.mode]).collect();
        let core = Layout::new(self.ranks, &order, view.normal.pad()).pack(self.core);
        let folded = Folded::new(self, &core);
        let (natural_params, share) =
            mean.map_or((&mut [][..], 0.0), |(mean, share)| (mean.numbers(), share));
        let (natural_params, mut shared) = self.deal(natural_params);
        let parts: Result<Vec<Part>, Error> = (0..view.pieces.len())
            .into_par_iter()
            .zip(natural_params)
            .map_init(
                || (Solver::new(self, &folded, share), Vec::new()),
                |(solver, buffer), (piece, natural_params)| {
                    if self.interrupt.load(Ordering::Relaxed) {
                        return Ok(Part::Rows(Drawn::default()));
                    }
                    let block = view.block(piece, buffer)?;
                    Ok(match &view.pieces[piece] {
                        Piece::Part { row, runs } => {
                            solver.clear();
                            (0..runs.len()).for_each(|run| solver.add_run(block.run(run)));
                            Part::Sums(*row, solver.sums())
                        }
                        Piece::Rows { rows, .. } => {
                            Part::Rows(solver.draw_rows(rows.clone(), &block, natural_params))
                        }
                    })
                },
            )
            .collect();
        let parts = parts?;
        if self.interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }

        let mut drawn = Drawn::default();
        let mut solver = Solver::new(self, &folded, share);
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Rows(rows) => drawn.append(rows),
                Part::Sums(row, sums) => {
                    solver.clear();
                    solver.add_sums(&sums);
                    while let Some(Part::Sums(_, more)) =
                        parts.next_if(|part| matches!(part, Part::Sums(other, _) if *other == row))
                    {
                        solver.add_sums(&more);
                    }
                    let natural_params = shared.next().unwrap_or_default();
                    solver.draw_row(row, &mut drawn, natural_params);
                }
            }
        }
        Ok(Some(drawn))
    }

    /// Deals the rows' numbers out: to each piece those of its rows, and those of each row that pieces share apart.
    fn deal<'n>(&self, numbers: &'n mut [f32]) -> (Vec<&'n mut [f32]>, impl Iterator<Item = &'n mut [f32]>) {
        let len = if numbers.is_empty() { 0 } else { NaturalParams::len(self.ranks[self.view.mode]) };
        let (mut rest, mut pieces, mut shared) = (numbers, Vec::new(), Vec::new());
        let mut last = None;
        for piece in &self.view.pieces {
            let rows = match piece {
                Piece::Rows { rows, .. } => rows.len(),
                Piece::Part { row, .. } => usize::from(last.replace(*row) != Some(*row)),
            };
            let (own, after) = std::mem::take(&mut rest).split_at_mut(rows * len);
            rest = after;
            match piece {
                Piece::Rows { .. } => pieces.push(own),
                Piece::Part { .. } => {
                    pieces.push(&mut []);
                    if rows > 0 {
                        shared.push(own);
                    }
                }
            }
        }
        (pieces, shared.into_iter())
    }
}

impl Drawn {
    fn append(&mut self, mut other: Drawn) {
        self.rows.append(&mut other.rows);
        self.squares.append(&mut other.squares);
    }
}

/// What the core becomes along the rest of a run: a row per concept of the partner, a number per concept of the mode.
struct Folded<'a> {
    core: &'a [f32],
    len: usize,
    /// For each row of the only mode of the rest; empty if there are too many.
    table: Vec<f32>,
}

impl<'a> Folded<'a> {
    fn new(given: &RowConditional<'_>, core: &'a [f32]) -> Self {
        let view = given.view;
        let len = given.ranks[view.partner] * view.normal.pad();
        let table = match view.rest.as_slice() {
            [] => core.to_vec(),
            &[rest] => {
                let rows = given.factors[rest].len() / given.ranks[rest];
                let mut table = Vec::new();
                if rows <= view.runs && rows * len <= TABLE {
                    table.resize(rows * len, 0.0);
                    let rows = given.factors[rest].par_chunks_exact(given.ranks[rest]);
                    table
                        .par_chunks_exact_mut(len)
                        .zip(rows)
                        .for_each(|(folded, row)| view.normal.fold(core, row, folded));
                }
                table
            }
            _ => Vec::new(),
        };
        Folded { core, len, table }
    }
}

/// The working memory of one thread.
struct Solver<'a> {
    given: &'a RowConditional<'a>,
    folded: &'a Folded<'a>,
    /// How far the mean is moved.
    share: f32,
    /// Whether that is the mean of rows, not of their distributions.
    plain: bool,
    weights: Vec<f32>,
    t: Vec<f32>,
    designs: Vec<f32>,
    squares: Vec<f32>,
    products: Vec<f32>,
    /// The sums so far, in f64: of a row with many entries, and of its coupled matrices.
    precision: Vec<f64>,
    pull: Vec<f64>,
    values: f64,
    /// The system without the first concept.
    system: Vec<f64>,
    row: Vec<f64>,
}

impl<'a> Solver<'a> {
    fn new(given: &'a RowConditional<'a>, folded: &'a Folded<'a>, share: f32) -> Self {
        let (rank, pad) = (given.ranks[given.view.mode], given.view.normal.pad());
        Solver {
            given,
            folded,
            share,
            plain: given.without.contains(&params::Part::Distributions)
                || given.without.contains(&params::Part::Average),
            weights: Vec::new(),
            t: vec![0.0; folded.len],
            designs: vec![0.0; CHUNK * pad],
            squares: vec![0.0; rank * pad],
            products: vec![0.0; pad],
            precision: vec![0.0; rank * rank],
            pull: vec![0.0; rank],
            values: 0.0,
            system: Vec::new(),
            row: vec![0.0; rank],
        }
    }

    fn clear(&mut self) {
        self.squares.fill(0.0);
        self.products.fill(0.0);
        self.precision.fill(0.0);
        self.pull.fill(0.0);
        self.values = 0.0;
    }

    fn sums(&self) -> Sums {
        Sums { squares: self.squares.clone(), products: self.products.clone(), values: self.values }
    }

    fn draw_rows(&mut self, rows: Range<usize>, block: &Block<'_>, natural_params: &mut [f32]) -> Drawn {
        let mut drawn = Drawn::default();
        let mut run = 0;
        let mut natural_params = natural_params.chunks_exact_mut(NaturalParams::len(self.pull.len()));
        for row in rows {
            self.clear();
            while block.rows.get(run).is_some_and(|&other| other as usize == row) {
                self.add_run(block.run(run));
                run += 1;
            }
            let (squares, products) = (std::mem::take(&mut self.squares), std::mem::take(&mut self.products));
            let sums = Sums { squares, products, values: std::mem::take(&mut self.values) };
            self.add_sums(&sums);
            (self.squares, self.products) = (sums.squares, sums.products);
            self.draw_row(row, &mut drawn, natural_params.next().unwrap_or_default());
        }
        drawn
    }

    /// Adds the entries of a run to the sums.
    fn add_run(&mut self, run: EntryRun<'_>) {
        let RowConditional { view, ranks, factors, noise, .. } = *self.given;
        let folded = self.folded;
        let t = if folded.table.is_empty() {
            view.weigh(factors, ranks, run.rest, &mut self.weights);
            view.normal.fold(folded.core, &self.weights, &mut self.t);
            &self.t[..]
        } else {
            let place = run.rest.first().map_or(0, |&row| row as usize);
            &folded.table[place * folded.len..][..folded.len]
        };
        let root: f32 =
            run.rest.iter().zip(&view.rest).map(|(&row, &rest)| noise.roots[rest][row as usize]).product();
        let partner_roots = &noise.roots[view.partner];
        let (mut scales, mut scaled) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
        for (partners, values) in run.partners.chunks(CHUNK).zip(run.values.chunks(CHUNK)) {
            let (scales, scaled) = (&mut scales[..values.len()], &mut scaled[..values.len()]);
            let mut sum = 0.0f64;
            for (((scale, scaled), &partner), &value) in
                scales.iter_mut().zip(scaled.iter_mut()).zip(partners).zip(values)
            {
                *scale = root * partner_roots[partner as usize];
                *scaled = *scale * value;
                sum += f64::from(*scaled) * f64::from(*scaled);
            }
            self.values += sum;
            let designs = &mut self.designs[..values.len() * view.normal.pad()];
            view.normal.design(t, factors[view.partner], partners, scales, designs);
            view.normal.gram(designs, scaled, &mut self.squares, &mut self.products);
        }
    }

    fn add_sums(&mut self, sums: &Sums) {
        let (rank, pad) = (self.pull.len(), self.given.view.normal.pad());
        for k in 0..rank {
            for l in 0..=k {
                self.precision[k * rank + l] += f64::from(sums.squares[k * pad + l]);
            }
            self.pull[k] += f64::from(sums.products[k]);
        }
        self.values += sums.values;
    }

    /// Draws a row from its sums.
    fn draw_row(&mut self, row: usize, drawn: &mut Drawn, natural_params: &mut [f32]) {
        let RowConditional { view, noise, matrices, means, factors, seed, epoch, .. } = *self.given;
        let rank = self.pull.len();
        let share = f64::from(noise.roots[view.mode][row]).powi(2);
        let weight = noise.tau * share;
        let free = rank - 1;

        // The precision and the pull of all that is known, first concept included.
        let mut precision: Vec<f64> = self.precision.iter().map(|sum| weight * sum).collect();
        let mut pull: Vec<f64> = self.pull.iter().map(|sum| weight * sum).collect();
        let prior = |k: usize| if k > OFFSET { noise.hurdle } else { 1.0 };
        (1..rank).for_each(|k| precision[k * rank + k] += prior(k));
        for matrix in matrices.iter().filter(|matrix| matrix.mode == view.mode) {
            matrix.pull_row(row, factors[view.mode], means, &mut precision, &mut pull);
        }
        if let Some(mean) = means.get(row * rank..(row + 1) * rank) {
            (1..rank).for_each(|k| pull[k] += prior(k) * f64::from(mean[k]));
        }
        // Given that the first concept is 1.
        self.system.clear();
        for k in 1..rank {
            self.system.extend_from_slice(&precision[k * rank + 1..(k + 1) * rank]);
            self.row[k] = pull[k] - precision[k * rank];
        }
        if !natural_params.is_empty() && !self.plain {
            let triangle = (0..free).flat_map(|k| &self.system[k * free..=k * free + k]);
            for (natural, &number) in natural_params.iter_mut().zip(triangle.chain(&self.row[1..])) {
                *natural += self.share * (number as f32 - *natural);
            }
        }
        factorize(&mut self.system, free);
        let values = &mut self.row[1..];
        solve_lower(&self.system, free, values);
        // The mean would be L'^-1 of this; a draw is L'^-1 of this and a normal number each.
        let mut generator = generator(seed, [epoch, view.mode as u64, row as u64]);
        values.iter_mut().for_each(|value| *value += normal(&mut generator));
        solve_upper(&self.system, free, values);
        self.row[0] = 1.0;
        if !natural_params.is_empty() && self.plain {
            // The distribution that lies at the row itself.
            let triangle = (0..free).flat_map(|k| (0..=k).map(move |l| f64::from(u8::from(k == l))));
            let numbers = triangle.chain(self.row[1..].iter().copied());
            let natural_params = natural_params.iter_mut().zip(numbers);
            natural_params.for_each(|(natural, number)| *natural += self.share * (number as f32 - *natural));
        }

        drawn.rows.extend(self.row.iter().map(|&value| value as f32));
        let mut squares = self.values;
        for k in 0..rank {
            let terms = self.precision[k * rank..=k * rank + k].iter().zip(&self.row);
            let (below, own) = (terms.clone().take(k), terms.skip(k));
            let product = 2.0 * below.map(|(a, b)| a * b).sum::<f64>() + own.map(|(a, b)| a * b).sum::<f64>();
            squares += self.row[k] * (product - 2.0 * self.pull[k]);
        }
        drawn.squares.push(squares.max(0.0));
    }
}
