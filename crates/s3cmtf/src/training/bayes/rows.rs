//! Draws the rows of a mode, given everything else: parts of the work, by whoever has their entries, and what they come to.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::clock::RowClock;
use super::conditional::RowConditional;
use super::draws::{Drawer, Drawn};
use super::mean::NaturalParams;
use super::sums::{Others, RowSums, Summer, Workspace};
use crate::Error;
use crate::layout::{Block, Piece};
use crate::parallel;

/// What a piece gives: rows, or sums for a row that is shared with other pieces.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowPart {
    Rows(Drawn),
    Sums(usize, RowSums),
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
        let others = Others::new(self, workspace);
        let (natural_params, share) =
            mean.map_or((&mut [][..], 0.0), |(mean, share)| (mean.numbers(), share));
        let (natural_params, shared) = self.deal(natural_params);
        let own = parallel::try_map_with(
            (0..self.view.own_pieces).zip(natural_params),
            || (Summer::new(self, &others), Drawer::new(self, share), Vec::new()),
            |(summer, drawer, buffer), (piece, natural_params)| {
                if self.interrupt.load(Ordering::Relaxed) {
                    return Ok(RowPart::Rows(Drawn::default()));
                }
                self.part(piece, summer, drawer, buffer, natural_params)
            },
        )?;
        if self.interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Drawn { rows, squares } = self.join(own, shared, share);
        let (rows, squares) = self.nodes.gather_both(rows, squares)?;
        Ok(Some(Drawn { rows, squares }))
    }

    /// What becomes of a piece.
    fn part(
        &self,
        piece: usize,
        summer: &mut Summer<'_>,
        drawer: &mut Drawer<'_>,
        buffer: &mut Vec<u32>,
        natural_params: &mut [f32],
    ) -> Result<RowPart, Error> {
        let block = self.view.block(piece, true, buffer)?;
        Ok(match &self.view.pieces[piece] {
            Piece::Part { row, runs } => {
                RowClock::time(self.clock, true, || summer.sum(&block, 0..runs.len()));
                RowPart::Sums(*row, summer.sums.clone())
            }
            Piece::Rows { rows, .. } => {
                RowPart::Rows(self.rows(rows.clone(), &block, summer, drawer, natural_params))
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
        natural_params: &mut [f32],
    ) -> Drawn {
        let mut drawn = Drawn::default();
        let mut run = 0;
        let rank = self.ranks[self.view.mode];
        let mut natural_params = natural_params.chunks_exact_mut(NaturalParams::len(rank));
        for row in rows {
            let first = run;
            while block.rows.get(run).is_some_and(|&other| other as usize == row) {
                run += 1;
            }
            RowClock::time(self.clock, true, || summer.sum(block, first..run));
            RowClock::time(self.clock, false, || {
                drawer.clear();
                drawer.add(&summer.sums);
                drawer.draw(row, &mut drawn, natural_params.next().unwrap_or_default());
            });
        }
        drawn
    }

    /// Puts parts together in their order, and draws rows that several of them share.
    fn join<'n>(
        &self,
        parts: Vec<RowPart>,
        mut shared: impl Iterator<Item = &'n mut [f32]>,
        share: f32,
    ) -> Drawn {
        let (mut all, mut apart) = (Vec::with_capacity(parts.len()), Vec::new());
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                RowPart::Rows(rows) => all.push(rows),
                RowPart::Sums(row, sums) => {
                    let mut sums = vec![sums];
                    while let Some(RowPart::Sums(_, more)) =
                        parts.next_if(|part| matches!(part, RowPart::Sums(other, _) if *other == row))
                    {
                        sums.push(more);
                    }
                    apart.push((all.len(), row, sums, shared.next().unwrap_or_default()));
                    all.push(Drawn::default());
                }
            }
        }
        let apart = parallel::map_with(
            apart,
            || Drawer::new(self, share),
            |drawer, (place, row, sums, natural_params)| {
                let mut drawn = Drawn::default();
                drawer.clear();
                sums.iter().for_each(|sums| drawer.add(sums));
                drawer.draw(row, &mut drawn, natural_params);
                (place, drawn)
            },
        );
        apart.into_iter().for_each(|(place, drawn)| all[place] = drawn);
        Drawn::concat(&all)
    }

    /// Deals the rows' numbers out: to each piece those of its rows, and those of each row that pieces share apart.
    fn deal<'n>(&self, numbers: &'n mut [f32]) -> (Vec<&'n mut [f32]>, impl Iterator<Item = &'n mut [f32]>) {
        let len = if numbers.is_empty() { 0 } else { NaturalParams::len(self.ranks[self.view.mode]) };
        let (mut rest, mut pieces, mut shared) = (numbers, Vec::new(), Vec::new());
        let mut last = None;
        for piece in &self.view.pieces[..self.view.own_pieces] {
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
