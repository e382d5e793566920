//! The working memory of a thread.

use crate::memory::advise_huge_pages;
use crate::{CHUNK, Shape};

/// One cache line, so that vectors in a buffer do not straddle two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// Numbers that start at a cache line. A core that does not makes every vector of it straddle two lines, which costs
/// twice the time.
#[derive(Clone, Debug, Default)]
pub struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// Zeros, on huge pages where there are many and the system has them, see [`zeros`](crate::zeros).
    pub fn new(len: usize) -> Self {
        let mut lines = Vec::with_capacity(len.div_ceil(16));
        advise_huge_pages(lines.spare_capacity_mut());
        lines.resize(len.div_ceil(16), Line([0.0; 16]));
        Aligned { lines, len }
    }

    /// Makes room for as many numbers, which may lose those that are there.
    pub(crate) fn reserve(&mut self, len: usize) {
        if self.len < len {
            // There may be no room for both.
            *self = Aligned::default();
            *self = Aligned::new(len);
        }
    }

    /// Room for so many numbers, which are whatever was there before: all of them are to be written. The memory is kept for the next
    /// call, as new pages take longer to get than to fill, and are one thread's work.
    pub fn room(&mut self, len: usize) -> &mut [f32] {
        self.reserve(len);
        &mut self.as_mut_slice()[..len]
    }

    /// Becomes a copy of other numbers.
    pub fn copy_from(&mut self, numbers: &[f32]) {
        self.lines.resize(numbers.len().div_ceil(16), Line([0.0; 16]));
        self.len = numbers.len();
        self.as_mut_slice().copy_from_slice(numbers);
    }

    /// The numbers.
    #[inline]
    pub fn as_slice(&self) -> &[f32] {
        // SAFETY: a `Line` is 16 numbers and nothing else (repr(C), 64 bytes), and `len` is at most all of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    /// The numbers.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl From<Vec<f32>> for Aligned {
    fn from(numbers: Vec<f32>) -> Self {
        let mut aligned = Aligned::default();
        aligned.copy_from(&numbers);
        aligned
    }
}

/// What the kernels need between calls: `T`, its transpose, `M`, the rows of a chunk, and the same for mixed chunks.
#[derive(Clone, Debug)]
pub struct Buffers {
    shape: Shape,
    /// `T`: p x q, with room to read rows in fours and by whole vectors.
    pub(crate) t: Aligned,
    /// `T'`: q (in fours) x p (padded).
    pub(crate) tt: Aligned,
    /// `M`, as `T`.
    pub(crate) m: Aligned,
    /// A `T` for each entry of a mixed chunk, by lanes: for each group of as many entries as a vector has lanes, a vector
    /// per element. Then in their place the products `e a b'`, an entry after the other, with room as above behind the
    /// last.
    pub(crate) ts: Aligned,
    /// Each entry's first row, then times its error; in a mixed chunk not times its error.
    pub(crate) a: Aligned,
    /// Each entry's second row.
    pub(crate) b: Aligned,
    /// The same for a mixed chunk by lanes: for each group a vector per concept.
    pub(crate) a_lanes: Aligned,
    pub(crate) b_lanes: Aligned,
    /// The errors of a mixed chunk.
    pub(crate) errors: Aligned,
    /// The weights, and then `h`, of a mixed chunk by lanes.
    pub(crate) by_lanes: Aligned,
    /// `T b` and `T' a` of one entry, or of a group by lanes.
    pub(crate) c0: Aligned,
    pub(crate) c1: Aligned,
    /// Which number of its first and which of its second row make up each number of a product `e a b'`.
    pub(crate) picks: [Vec<i32>; 2],
}

impl Buffers {
    pub(crate) fn new(shape: &Shape) -> Self {
        let matrix = shape.p_pad4() * shape.q + shape.lanes;
        let mixed = shape.mixed() * shape.slice() + matrix;
        Buffers {
            shape: *shape,
            t: Aligned::new(matrix),
            tt: Aligned::new(shape.q_pad4() * shape.p_pad),
            m: Aligned::new(matrix),
            ts: Aligned::new(mixed),
            a: Aligned::new(CHUNK * shape.p_pad),
            b: Aligned::new(CHUNK * shape.q_pad),
            a_lanes: Aligned::new(shape.mixed() * shape.p_pad),
            b_lanes: Aligned::new(shape.mixed() * shape.q_pad),
            errors: Aligned::new(shape.mixed()),
            by_lanes: Aligned::default(),
            c0: Aligned::new(shape.lanes * shape.p_pad),
            c1: Aligned::new(shape.lanes * shape.q_pad),
            picks: [|place: usize, q: usize| place / q, |place: usize, q: usize| place % q]
                .map(|pick| (0..shape.slice()).map(|place| pick(place, shape.q) as i32).collect()),
        }
    }

    pub(crate) fn check(&self, shape: &Shape) {
        assert_eq!(&self.shape, shape, "buffers of another shape");
    }

    /// `M` after a chunk, in the layout of a core slice.
    pub fn m(&self) -> &[f32] {
        &self.m.as_slice()[..self.shape.slice()]
    }
}
