//! Factor rows that a kernel reads and writes: owned by one thread, or shared by all.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::prefetch::prefetch_line;
use crate::vector::Vector;

/// Rows that a kernel may change. Sealed: the kernels rely on what the two implementations promise.
pub trait Rows: sealed::Sealed {
    /// Prefetches `count` numbers from `start` on; an out-of-range index is allowed.
    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        let from = self.address();
        prefetch_line(from.wrapping_add(start));
        prefetch_line(from.wrapping_add(start + count - 1));
    }
}

pub(crate) mod sealed {
    use super::Vector;

    #[allow(unreachable_pub, reason = "public in form only")]
    pub trait Sealed {
        /// How many numbers there are.
        fn len(&self) -> usize;

        /// Whether nobody else can touch them, so that a single number may be read where it stands.
        const OWNED: bool;

        /// Where the first one is.
        fn address(&self) -> *const f32;

        /// The `count <= LANES` numbers from `start` on, zeros after them.
        ///
        /// # Safety
        /// `start + count <= len`; the machine must have the vector's instructions.
        unsafe fn load_vector<V: Vector>(&self, start: usize, count: usize) -> V;

        /// Writes the first `count <= LANES` numbers from `start` on.
        ///
        /// # Safety
        /// As for `load_vector`.
        unsafe fn store_vector<V: Vector>(&mut self, start: usize, count: usize, vector: V);

        /// Copies `count` numbers from `start` on to `to`, and zeros up to the next whole vector.
        ///
        /// # Safety
        /// `start + count <= len`; `to` must have room for `count` rounded up to whole vectors; the machine must
        /// have the vector's instructions.
        unsafe fn load<V: Vector>(&self, start: usize, count: usize, to: *mut f32);

        /// Copies `count` numbers from `from` to `start` on.
        ///
        /// # Safety
        /// As for `load`, with `from` readable up to whole vectors.
        unsafe fn store<V: Vector>(&mut self, start: usize, count: usize, from: *const f32);
    }
}

impl Rows for &mut [f32] {}

impl sealed::Sealed for &mut [f32] {
    const OWNED: bool = true;

    #[inline(always)]
    fn len(&self) -> usize {
        <[f32]>::len(self)
    }

    #[inline(always)]
    fn address(&self) -> *const f32 {
        self.as_ptr()
    }

    #[inline(always)]
    unsafe fn load_vector<V: Vector>(&self, start: usize, count: usize) -> V {
        // SAFETY: the caller keeps `start + count` within the slice.
        unsafe {
            let from = self.as_ptr().add(start);
            if count == V::LANES { V::load(from) } else { V::load_part(from, count) }
        }
    }

    #[inline(always)]
    unsafe fn store_vector<V: Vector>(&mut self, start: usize, count: usize, vector: V) {
        // SAFETY: the caller keeps `start + count` within the slice, which is exclusively ours.
        unsafe {
            let to = self.as_mut_ptr().add(start);
            if count == V::LANES { vector.store(to) } else { vector.store_part(to, count) }
        }
    }

    #[inline(always)]
    unsafe fn load<V: Vector>(&self, start: usize, count: usize, to: *mut f32) {
        // SAFETY: the caller keeps `start + count` within the slice and gives room for whole vectors at `to`.
        unsafe { copy::<V>(self.as_ptr().add(start), count, to) }
    }

    #[inline(always)]
    unsafe fn store<V: Vector>(&mut self, start: usize, count: usize, from: *const f32) {
        // SAFETY: the caller keeps `start + count` within the slice, which is exclusively ours.
        unsafe {
            let to = self.as_mut_ptr().add(start);
            let mut at = 0;
            while at + V::LANES <= count {
                V::load(from.add(at)).store(to.add(at));
                at += V::LANES;
            }
            if at < count {
                V::load(from.add(at)).store_part(to.add(at), count - at);
            }
        }
    }
}

/// Copies `count` numbers, and zeros up to the next whole vector.
///
/// # Safety
/// `count` numbers must be readable at `from`, and as many as whole vectors need writable at `to`.
#[inline(always)]
pub(crate) unsafe fn copy<V: Vector>(from: *const f32, count: usize, to: *mut f32) {
    // SAFETY: whole vectors are read only while they fit in `count`; the rest is read in part.
    unsafe {
        let mut at = 0;
        while at + V::LANES <= count {
            V::load(from.add(at)).store(to.add(at));
            at += V::LANES;
        }
        if at < count {
            V::load_part(from.add(at), count - at).store(to.add(at));
        }
    }
}

/// Rows that several threads read and write at once, without waiting for each other.
///
/// This is the one data race of the project, and it is not one in the language's sense: every number is an atomic,
/// read and written with relaxed ordering. A thread may see a row of which another has written only a part, or
/// lose an update to a number; that is what HOGWILD! allows, and each number is always one that was written.
///
/// One atomic at a time is slow, so on x86-64 a row moves by vector instructions in `asm!` (`arch/x86_64.rs`). The
/// compiler cannot look into those, so what they do must be something that Rust code could have done in their place,
/// and it is: the loop of relaxed loads or stores that stands in `Vector::load_shared` and `store_shared`. The
/// processors do not promise that a vector move is atomic as a whole, but none splits an aligned 32-bit element.
#[derive(Clone, Copy, Debug)]
pub struct SharedRows<'a> {
    numbers: &'a [AtomicU32],
}

impl<'a> SharedRows<'a> {
    /// Shares rows that nobody else can touch meanwhile.
    pub fn new(rows: &'a mut [f32]) -> Self {
        const {
            assert!(size_of::<AtomicU32>() == size_of::<f32>());
            assert!(align_of::<AtomicU32>() == align_of::<f32>());
        }
        let len = rows.len();
        // SAFETY: same size and alignment (checked above) and every bit pattern is valid for both types. The
        // exclusive borrow is given up for `'a`, so that until it ends all access goes through these atomics.
        let numbers = unsafe { std::slice::from_raw_parts(rows.as_mut_ptr().cast::<AtomicU32>(), len) };
        SharedRows { numbers }
    }

    /// The number at a place.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, place: usize) -> f32 {
        f32::from_bits(self.numbers[place].load(Ordering::Relaxed))
    }

    /// Writes the number at a place.
    ///
    /// # Panics
    /// If there is none.
    pub fn set(&self, place: usize, value: f32) {
        self.numbers[place].store(value.to_bits(), Ordering::Relaxed);
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

impl Rows for SharedRows<'_> {}

impl sealed::Sealed for SharedRows<'_> {
    const OWNED: bool = false;

    #[inline(always)]
    fn len(&self) -> usize {
        self.numbers.len()
    }

    #[inline(always)]
    fn address(&self) -> *const f32 {
        self.numbers.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn load_vector<V: Vector>(&self, start: usize, count: usize) -> V {
        // SAFETY: the caller keeps `count` within the lanes.
        unsafe { V::load_shared(&self.numbers[start..start + count]) }
    }

    #[inline(always)]
    unsafe fn store_vector<V: Vector>(&mut self, start: usize, count: usize, vector: V) {
        // SAFETY: the caller keeps `count` within the lanes.
        unsafe { vector.store_shared(&self.numbers[start..start + count]) }
    }

    #[inline(always)]
    unsafe fn load<V: Vector>(&self, start: usize, count: usize, to: *mut f32) {
        for (part, numbers) in self.numbers[start..start + count].chunks(V::LANES).enumerate() {
            // SAFETY: a chunk has at most as many numbers as lanes; the caller gives room for whole vectors at `to`.
            unsafe { V::load_shared(numbers).store(to.add(part * V::LANES)) }
        }
    }

    #[inline(always)]
    unsafe fn store<V: Vector>(&mut self, start: usize, count: usize, from: *const f32) {
        for (part, numbers) in self.numbers[start..start + count].chunks(V::LANES).enumerate() {
            // SAFETY: a chunk has at most as many numbers as lanes; the caller vouches for whole vectors at `from`.
            unsafe { V::load(from.add(part * V::LANES)).store_shared(numbers) }
        }
    }
}
