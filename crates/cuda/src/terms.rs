//! What else rows of a mode are drawn from, beside their entries and their prior.

use rayon::prelude::*;

use crate::Error;
use crate::device::{Array, Device};
use crate::sampler::Sampler;

/// How many numbers a thread checks at a time.
const PIECE: usize = 1 << 16;

/// More of what rows of a mode are drawn from, beside their entries and their prior: what coupled matrices say about them. A row
/// with a precision of `P` and a pull of `b` so far is drawn as if they were `P + shared + diagonal[row] I` and
/// `b + pull[row]`, given that its first concept is 1.
#[derive(Clone, Copy, Debug)]
pub struct RowTerms<'a> {
    /// For each row and concept, what is added to its pull. That of the first concept is not looked at.
    pub pull: &'a [f32],
    /// For each row, what is added to the precision of all its concepts but the first. Not below zero.
    pub diagonal: Option<&'a [f32]>,
    /// What is added to the precision of every row: a number for each two concepts, the first included, one row of the matrix
    /// behind the other. What is above its diagonal is not looked at. It must have no eigenvalue below zero, which is not
    /// checked.
    pub shared: Option<&'a [f32]>,
}

impl RowTerms<'_> {
    fn check(&self, mode: usize, rows: usize, rank: usize) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::Problem(why));
        let lens = [
            (Some(self.pull), rows * rank, "pulls"),
            (self.diagonal, rows, "diagonals"),
            (self.shared, rank * rank, "shared numbers"),
        ];
        for (numbers, len, what) in lens {
            if let Some(numbers) = numbers.filter(|numbers| numbers.len() != len) {
                return wrong(format!("{} {what} and not {len} for mode {mode}", numbers.len()));
            }
        }
        let is_finite = |numbers: &[f32]| {
            numbers.par_chunks(PIECE).all(|some| some.iter().all(|number| number.is_finite()))
        };
        if !is_finite(self.pull) || self.shared.is_some_and(|shared| !is_finite(&lower(shared, rank, rank))) {
            return wrong(format!("a term of the rows of mode {mode} is not finite"));
        }
        let is_precision = |number: &f32| number.is_finite() && *number >= 0.0;
        if self.diagonal.is_some_and(|diagonal| !diagonal.iter().all(is_precision)) {
            return wrong(format!("a diagonal of the rows of mode {mode} is below zero, or not finite"));
        }
        Ok(())
    }
}

/// The lower triangle of a matrix, with zeros up to a padded rank: the order of a row's sums.
fn lower(matrix: &[f32], rank: usize, pad: usize) -> Vec<f32> {
    let mut triangle: Vec<f32> =
        matrix.chunks_exact(rank).enumerate().flat_map(|(k, line)| &line[..=k]).copied().collect();
    triangle.resize(pad * (pad + 1) / 2, 0.0);
    triangle
}

/// The terms of a mode on the device.
pub(crate) struct Terms<D: Device> {
    pub(crate) pull: Array<D, f32>,
    pub(crate) diagonal: Option<Array<D, f32>>,
    pub(crate) shared: Option<Array<D, f32>>,
}

impl<D: Device> Sampler<D> {
    /// Gives rows of a mode more to be drawn from, or takes it away. It is part neither of [`Sampler::state`] nor of what is left
    /// of rows for [`Sampler::draw_shares`], and [`Sampler::resize`] forgets it. Unlike means of the prior, it does not follow
    /// [`Sampler::rescale`]: set it after that, for rows of the scale that they have then.
    ///
    /// # Errors
    /// If there is no such mode, or numbers are not as many, or not finite, or diagonals below zero: then all is as it was. If the
    /// device fails, the mode has no terms.
    pub fn set_row_terms(&mut self, mode: usize, terms: Option<RowTerms<'_>>) -> Result<(), Error> {
        self.check_mode(mode)?;
        if let Some(terms) = &terms {
            terms.check(mode, self.rows[mode], self.ranks[mode])?;
        }
        // What was copied in part must not be drawn from.
        let there = self.terms[mode].take();
        let Some(RowTerms { pull, diagonal, shared }) = terms else { return Ok(()) };
        let (pulls, diagonals, triangle) =
            there.map_or((None, None, None), |there| (Some(there.pull), there.diagonal, there.shared));
        let device = &self.device;
        let shared = shared.map(|shared| lower(shared, self.ranks[mode], self.pads[mode]));
        self.terms[mode] = Some(Terms {
            pull: put(device, pulls, pull)?,
            diagonal: diagonal.map(|diagonal| put(device, diagonals, diagonal)).transpose()?,
            shared: shared.map(|shared| put(device, triangle, &shared)).transpose()?,
        });
        Ok(())
    }
}

/// Puts numbers on the device: in the place of others, if there are some, since hosts do so in every epoch.
fn put<D: Device>(device: &D, there: Option<Array<D, f32>>, numbers: &[f32]) -> Result<Array<D, f32>, Error> {
    let Some(mut there) = there else { return Array::new(device, numbers) };
    there.put(device, numbers)?;
    Ok(there)
}
