//! Draws the rows of a mode, given everything else: parts of the work, by whoever has their entries, and what they come to.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::clock::RowClock;
use super::conditional::RowConditional;
use super::draws::{Drawer, Drawn, Slot};
use super::mean::NaturalParams;
use super::sums::{Others, RowSums, Summer, Workspace};
use crate::Error;
use crate::layout::{Block, Piece};
use crate::parallel;

/// Where the rows of a piece are put, and all that comes with them.
struct Slots<'n> {
    rows: &'n mut [f32],
    squares: &'n mut [f64],
    natural_params: &'n mut [f32],
}

/// A row of which several pieces have a part: their numbers among all parts.
struct Shared<'n> {
    row: usize,
    parts: Range<usize>,
    slot: Slot<'n>,
}

impl<'n> Slots<'n> {
    /// Takes those of the next rows.
    fn take(&mut self, rows: usize, rank: usize) -> Slots<'n> {
        let len = if self.natural_params.is_empty() { 0 } else { NaturalParams::len(rank) };
        Slots {
            rows: self.rows.split_off_mut(..rows * rank).unwrap_or_default(),
            squares: self.squares.split_off_mut(..rows).unwrap_or_default(),
            natural_params: self.natural_params.split_off_mut(..rows * len).unwrap_or_default(),
        }
    }

    /// One for each row.
    fn each(self, rank: usize) -> impl Iterator<Item = Slot<'n>> {
        let mut natural_params = self.natural_params.chunks_exact_mut(NaturalParams::len(rank).max(1));
        let rows = self.rows.chunks_exact_mut(rank).zip(self.squares);
        rows.map(move |(row, squares)| Slot {
            row,
            squares,
            natural_params: natural_params.next().unwrap_or_default(),
        })
    }
}

impl RowConditional<'_> {
    /// Draws all rows of the view's mode; nothing if it was interrupted on the way. `mean` is moved towards the
    /// distributions that rows are drawn from, by a share of the way.
    ///
    /// # Errors
    /// If entries cannot be read.
    pub(super) fn draw(
        &self,
        workspace: &mut Workspace,
        mean: Option<(&mut NaturalParams, f32)>,
    ) -> Result<Option<Drawn>, Error> {
        let (rows, rank) = (self.view.own_rows.len(), self.ranks[self.view.mode]);
        let mut drawn = Drawn { rows: workspace.rows(self.view.mode, rows * rank), squares: vec![0.0; rows] };
        let mut sums = std::mem::take(&mut workspace.sums);
        let pieces = &self.view.pieces[..self.view.own_pieces];
        let parts = pieces.iter().filter(|piece| matches!(piece, Piece::Part { .. })).count();
        sums.resize(parts * self.sums_len(), 0.0);
        let others = Others::new(self, workspace);
        let (natural_params, share) =
            mean.map_or((&mut [][..], 0.0), |(mean, share)| (mean.numbers(), share));
        let (rows, squares) = (&mut drawn.rows[..], &mut drawn.squares[..]);
        let (slots, shared) = self.deal(Slots { rows, squares, natural_params }, &mut sums);
        let values = parallel::try_map_with(
            (0..self.view.own_pieces).zip(slots),
            || (Summer::new(self, &others), Drawer::new(self, share), Vec::new()),
            |(summer, drawer, buffer), (piece, (slots, sums))| {
                if self.interrupt.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                self.part(piece, (summer, drawer, buffer), slots, sums)
            },
        )?;
        if self.interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let values: Vec<f64> = values.into_iter().flatten().collect();
        self.draw_shared(shared, (&sums, &values), share);
        drop(others);
        workspace.sums = sums;
        let (rows, squares) = self.nodes.gather_both(drawn.rows, drawn.squares)?;
        Ok(Some(Drawn { rows, squares }))
    }

    /// How many numbers the sums over a part of a row are.
    fn sums_len(&self) -> usize {
        (self.ranks[self.view.mode] + 1) * self.view.normal.pad()
    }

    /// Draws the rows of a piece; if it is a part of a row, only sums it up, and returns the sum of squared values: `sums` becomes that of
    /// the products of designs, and behind it of those with values.
    fn part(
        &self,
        piece: usize,
        (summer, drawer, buffer): (&mut Summer<'_>, &mut Drawer<'_>, &mut Vec<u32>),
        slots: Slots<'_>,
        sums: &mut [f32],
    ) -> Result<Option<f64>, Error> {
        let block = self.view.block(piece, true, buffer)?;
        Ok(match &self.view.pieces[piece] {
            Piece::Part { runs, .. } => {
                RowClock::time(self.clock, true, || summer.sum(&block, 0..runs.len()));
                let RowSums { squares, products, values } = &summer.sums;
                let (of_squares, of_products) = sums.split_at_mut(squares.len());
                of_squares.copy_from_slice(squares);
                of_products.copy_from_slice(products);
                Some(*values)
            }
            Piece::Rows { rows, .. } => {
                self.rows(rows.clone(), &block, summer, drawer, slots);
                None
            }
        })
    }

    /// Draws rows whose entries are all here.
    fn rows(
        &self,
        rows: Range<usize>,
        block: &Block<'_>,
        summer: &mut Summer<'_>,
        drawer: &mut Drawer<'_>,
        slots: Slots<'_>,
    ) {
        let mut run = 0;
        for (row, slot) in rows.zip(slots.each(self.ranks[self.view.mode])) {
            let first = run;
            while block.rows.get(run).is_some_and(|&other| other as usize == row) {
                run += 1;
            }
            RowClock::time(self.clock, true, || summer.sum(block, first..run));
            RowClock::time(self.clock, false, || {
                drawer.clear();
                let RowSums { squares, products, values } = &summer.sums;
                drawer.add(squares, products, *values);
                drawer.draw(row, slot);
            });
        }
    }

    /// Draws rows of which several pieces have a part, given the sums over all parts.
    fn draw_shared(&self, shared: Vec<Shared<'_>>, (sums, values): (&[f32], &[f64]), share: f32) {
        let len = self.sums_len();
        parallel::map_with(
            shared,
            || Drawer::new(self, share),
            |drawer, Shared { row, parts, slot }| {
                drawer.clear();
                for part in parts {
                    let (squares, products) =
                        sums[part * len..][..len].split_at(len - self.view.normal.pad());
                    drawer.add(squares, products, values[part]);
                }
                drawer.draw(row, slot);
            },
        );
    }

    /// Deals slots out: to each piece those of its rows or for its sums, and those of each row that pieces share apart.
    fn deal<'n, 's>(
        &self,
        mut slots: Slots<'n>,
        sums: &'s mut [f32],
    ) -> (Vec<(Slots<'n>, &'s mut [f32])>, Vec<Shared<'n>>) {
        let rank = self.ranks[self.view.mode];
        let mut sums = sums.chunks_exact_mut(self.sums_len());
        let (mut pieces, mut shared, mut parts): (_, Vec<Shared<'n>>, _) = (Vec::new(), Vec::new(), 0);
        for piece in &self.view.pieces[..self.view.own_pieces] {
            match piece {
                Piece::Rows { rows, .. } => {
                    pieces.push((slots.take(rows.len(), rank), Default::default()));
                }
                Piece::Part { row, .. } => {
                    parts += 1;
                    match shared.last_mut() {
                        Some(last) if last.row == *row => last.parts.end = parts,
                        _ => shared.extend(slots.take(1, rank).each(rank).map(|slot| {
                            let parts = parts - 1..parts;
                            Shared { row: *row, parts, slot }
                        })),
                    }
                    pieces.push((slots.take(0, rank), sums.next().unwrap_or_default()));
                }
            }
        }
        (pieces, shared)
    }
}
