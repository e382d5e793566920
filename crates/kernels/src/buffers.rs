//! The working memory of a thread.

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
    /// Zeros.
    pub fn new(len: usize) -> Self {
        Aligned { lines: vec![Line([0.0; 16]); len.div_ceil(16)], len }
    }

    /// Becomes a copy of other numbers.
    pub fn copy_from(&mut self, numbers: &[f32]) {
        self.lines.resize(numbers.len().div_ceil(16), Line([0.0; 16]));
        self.len = numbers.len();
        self.as_mut_slice().copy_from_slice(numbers);
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[f32] {
        // SAFETY: a `Line` is 16 numbers and nothing else (repr(C), 64 bytes), and `len` is at most all of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    /// The numbers.
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
    /// A `T` for each entry of a mixed chunk, with room as above behind the last.
    pub(crate) ts: Aligned,
    /// The products `e a b'` of a mixed chunk, as the `T`s.
    pub(crate) ps: Aligned,
    /// Each entry's first row, then times its error.
    pub(crate) a: Aligned,
    /// Each entry's second row.
    pub(crate) b: Aligned,
    /// `T b` and `T' a` of one entry.
    pub(crate) c0: Aligned,
    pub(crate) c1: Aligned,
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
            ps: Aligned::new(mixed),
            a: Aligned::new(CHUNK * shape.p_pad),
            b: Aligned::new(CHUNK * shape.q_pad),
            c0: Aligned::new(shape.p_pad),
            c1: Aligned::new(shape.q_pad),
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
