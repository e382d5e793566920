//! Cuts runs into pieces, for threads to take, and into strips.

use super::share::{PIECE, Share, strip_count};
use super::view::Piece;

/// Runs that come one behind the other, and what they were cut into.
pub(crate) struct Cut<'a> {
    /// How many entries each row has.
    counts: &'a [u32],
    share: &'a Share,
    /// How many entries come before the next run, on all nodes, and how many runs there are here.
    entries: usize,
    runs: usize,
    pieces: Vec<Piece>,
    strips: Vec<usize>,
    /// The first row and run that are in no piece yet, and how many entries those runs have.
    row: usize,
    first_run: usize,
    pending: usize,
    /// The row of the last run, and whether it has too many entries for one piece.
    last_row: Option<usize>,
    is_long: bool,
}

impl<'a> Cut<'a> {
    pub(crate) fn new(counts: &'a [u32], share: &'a Share) -> Self {
        Cut {
            counts,
            share,
            entries: share.first,
            runs: 0,
            pieces: Vec::new(),
            strips: Vec::new(),
            row: share.rows.start,
            first_run: 0,
            pending: 0,
            last_row: None,
            is_long: false,
        }
    }

    /// Adds the next run: its row, and how many entries it has.
    pub(crate) fn add(&mut self, row: u32, entries: usize) {
        let (row, run, total) = (row as usize, self.runs, self.share.total);
        let strips = strip_count(total);
        while self.strips.len() <= self.share.strips.len()
            && self.entries >= total * (self.share.strips.start + self.strips.len()) / strips
        {
            self.strips.push(run);
        }
        if self.last_row != Some(row) {
            self.end_long_row();
            let size = self.counts[row] as usize;
            self.is_long = size > PIECE;
            if self.is_long || self.first_run < run && self.pending + size > PIECE {
                if self.row < row {
                    self.end_piece(Piece::Rows { rows: self.row..row, runs: self.first_run..run });
                }
                self.row = row;
            }
            self.last_row = Some(row);
        }
        if self.is_long && self.first_run < run && self.pending + entries > PIECE {
            self.end_piece(Piece::Part { row, runs: self.first_run..run });
        }
        self.pending += entries;
        self.entries += entries;
        self.runs += 1;
    }

    /// Ends the last piece of a row that has several.
    fn end_long_row(&mut self) {
        if let (true, Some(row)) = (self.is_long, self.last_row) {
            self.end_piece(Piece::Part { row, runs: self.first_run..self.runs });
            self.row = row + 1;
        }
    }

    /// Adds a piece, which begins where the one before ended.
    fn end_piece(&mut self, piece: Piece) {
        (self.first_run, self.pending) = (piece.runs().end, 0);
        self.pieces.push(piece);
    }

    /// How many runs there are.
    pub(crate) fn runs(&self) -> usize {
        self.runs
    }

    /// The pieces so far: all runs before the last that can no longer change them.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// There are no more runs: what is left becomes pieces as well. The strips are given by the runs where they begin, and
    /// the end of the last.
    pub(crate) fn finish(mut self) -> (Vec<Piece>, Vec<usize>) {
        self.end_long_row();
        let rows = self.share.end;
        if self.row < rows {
            self.end_piece(Piece::Rows { rows: self.row..rows, runs: self.first_run..self.runs });
        }
        self.strips.resize(self.share.strips.len() + 1, self.runs);
        (self.pieces, self.strips)
    }
}
