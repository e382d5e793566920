//! The rows of a view's partner, or of another mode, as kernels read them.

use s3cmtf_kernels::Aligned;

use super::view::View;
use crate::parallel;

/// Rows that are one task.
const PIECE: usize = 1024;

/// The rows of a view's partner, each a whole number of vectors: a row of up to 16 concepts is one line of the cache, and
/// not parts of two. Each may be multiplied with the square root of its share of the precision, so that entries need not look
/// that up; it is then what the first concept, a constant one, has become.
pub(crate) struct PartnerRows<'m> {
    numbers: &'m [f32],
}

impl<'m> PartnerRows<'m> {
    /// The rows of the partner's factor, each times its root if there are roots, in memory that may have been used before.
    pub(crate) fn new(
        view: &View,
        given: (&[usize], &[&[f32]]),
        roots: Option<&[Vec<f32>]>,
        memory: &'m mut Aligned,
    ) -> Self {
        PartnerRows::of_mode((view.partner, view.normal.partner_pad()), given, roots, memory)
    }

    /// The same for another mode, whose rows are so many numbers apart.
    pub(crate) fn of_mode(
        (mode, stride): (usize, usize),
        (ranks, factors): (&[usize], &[&[f32]]),
        roots: Option<&[Vec<f32>]>,
        memory: &'m mut Aligned,
    ) -> Self {
        let (factor, rank) = (factors[mode], ranks[mode]);
        let roots = roots.map_or(&[][..], |roots| &roots[mode]);
        let numbers = memory.room(factor.len() / rank * stride);
        let pieces = numbers.chunks_mut(PIECE * stride).zip(factor.chunks(PIECE * rank));
        parallel::each(pieces.enumerate(), |(piece, (to, from))| {
            let rows = to.chunks_exact_mut(stride).zip(from.chunks_exact(rank));
            for (row, (to, from)) in (piece * PIECE..).zip(rows) {
                let root = roots.get(row).copied().unwrap_or(1.0);
                let (own, rest) = to.split_at_mut(rank);
                own.iter_mut().zip(from).for_each(|(to, from)| *to = root * from);
                rest.fill(0.0);
            }
        });
        PartnerRows { numbers }
    }

    /// All of them.
    pub(crate) fn rows(&self) -> &'m [f32] {
        self.numbers
    }
}
