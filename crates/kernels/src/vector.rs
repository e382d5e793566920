//! The operations that the kernels need of a vector of `f32`.

use std::sync::atomic::{AtomicU32, Ordering};

/// No vector has more.
pub(crate) const MOST_LANES: usize = 16;

/// A vector of [`Vector::LANES`] numbers.
///
/// # Safety
/// Implementations must do what each method says; the kernels rely on `load_part` and `store_part` touching no
/// memory beyond the first `n` numbers.
#[allow(unreachable_pub, reason = "part of a sealed trait: public in form, nobody outside can name it")]
pub unsafe trait Vector: Copy {
    /// How many numbers it holds.
    const LANES: usize;

    /// The same number in every lane.
    ///
    /// # Safety
    /// The machine must have the vector's instructions; the same goes for every method here.
    unsafe fn splat(value: f32) -> Self;

    /// The `LANES` numbers at `from`.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load(from: *const f32) -> Self;

    /// Writes `LANES` numbers to `to`.
    ///
    /// # Safety
    /// They must be writable.
    unsafe fn store(self, to: *mut f32);

    /// The `n < LANES` numbers at `from`, zeros after them.
    ///
    /// # Safety
    /// Those `n` must be readable.
    unsafe fn load_part(from: *const f32, n: usize) -> Self;

    /// Writes the first `n < LANES` numbers to `to`.
    ///
    /// # Safety
    /// Those `n` must be writable.
    unsafe fn store_part(self, to: *mut f32, n: usize);

    /// The `n <= LANES` numbers, which other threads may write meanwhile, and zeros after them. Each number is read
    /// at once and with relaxed ordering; the whole is not.
    ///
    /// # Safety
    /// There must be at most `LANES` numbers.
    #[inline(always)]
    unsafe fn load_shared(numbers: &[AtomicU32]) -> Self {
        let mut lanes = [0.0f32; MOST_LANES];
        let read = |number: &AtomicU32| f32::from_bits(number.load(Ordering::Relaxed));
        lanes.iter_mut().zip(numbers).for_each(|(lane, number)| *lane = read(number));
        // SAFETY: no vector has more lanes than the array.
        unsafe { Self::load(lanes.as_ptr()) }
    }

    /// Writes the first `n <= LANES` numbers, which other threads may read and write meanwhile, each at once and with
    /// relaxed ordering.
    ///
    /// # Safety
    /// There must be at most `LANES` numbers.
    #[inline(always)]
    unsafe fn store_shared(self, numbers: &[AtomicU32]) {
        let mut lanes = [0.0f32; MOST_LANES];
        // SAFETY: no vector has more lanes than the array.
        unsafe { self.store(lanes.as_mut_ptr()) };
        let write = |(lane, number): (&f32, &AtomicU32)| number.store(lane.to_bits(), Ordering::Relaxed);
        lanes.iter().zip(numbers).for_each(write);
    }

    /// `self * factor + addend`.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// `self * other`.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    unsafe fn mul(self, other: Self) -> Self;

    /// `self + other`.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    unsafe fn add(self, other: Self) -> Self;

    /// `self - other`.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    unsafe fn sub(self, other: Self) -> Self;

    /// The larger of both, lane by lane; `other` where that is not a number, so that none is lost.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    unsafe fn max(self, other: Self) -> Self;

    /// The sum of all lanes.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    unsafe fn sum(self) -> f32;

    /// Writes the first four lanes.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    #[inline(always)]
    unsafe fn store_four(self, to: &mut [f32; 4]) {
        // SAFETY: there is room for four numbers, and a vector has at least as many.
        unsafe {
            if Self::LANES == 4 { self.store(to.as_mut_ptr()) } else { self.store_part(to.as_mut_ptr(), 4) }
        }
    }

    /// Whether [`Vector::pick`] is one instruction.
    const PICKS: bool = false;

    /// In each lane the number of the lane that `places` says.
    ///
    /// # Safety
    /// `LANES` places below `LANES` must be readable; for the rest see [`Vector::splat`].
    #[inline(always)]
    unsafe fn pick(self, places: *const i32) -> Self {
        let (mut lanes, mut picked) = ([0.0f32; MOST_LANES], [0.0f32; MOST_LANES]);
        // SAFETY: no vector has more lanes than the arrays; the places are there.
        unsafe {
            self.store(lanes.as_mut_ptr());
            for (lane, picked) in picked.iter_mut().enumerate().take(Self::LANES) {
                *picked = lanes[*places.add(lane) as usize];
            }
            Self::load(picked.as_ptr())
        }
    }

    /// Lane `c` of vector `r` and lane `r` of vector `c` change places, for the first `LANES` vectors.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    #[inline(always)]
    unsafe fn transpose(vectors: &mut [Self; MOST_LANES]) {
        let mut rows = [[0.0f32; MOST_LANES]; MOST_LANES];
        let mut columns = rows;
        // SAFETY: no vector has more lanes than the arrays.
        unsafe {
            rows.iter_mut().zip(&*vectors).for_each(|(row, vector)| vector.store(row.as_mut_ptr()));
            for (place, column) in columns.iter_mut().enumerate().take(Self::LANES) {
                column.iter_mut().zip(&rows).for_each(|(number, row)| *number = row[place]);
            }
            vectors
                .iter_mut()
                .zip(&columns)
                .for_each(|(vector, column)| *vector = Self::load(column.as_ptr()));
        }
    }

    /// The sums of all lanes of each of `N` vectors, zeros after them; `N` is 4, 8, 12 or 16 and at most `LANES`.
    ///
    /// # Safety
    /// See [`Vector::splat`].
    #[inline(always)]
    unsafe fn sums<const N: usize>(vectors: &[Self; N]) -> Self {
        let mut lanes = [0.0f32; MOST_LANES];
        // SAFETY: no vector has more lanes than the array.
        unsafe {
            lanes.iter_mut().zip(vectors).for_each(|(lane, vector)| *lane = vector.sum());
            Self::load(lanes.as_ptr())
        }
    }
}

/// Four numbers in plain Rust: what the compiler makes of them runs anywhere.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; 4]);

impl Plain {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Plain(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }
}

// SAFETY: every method does what the trait says, `load_part` and `store_part` with slices of exactly `n` numbers.
unsafe impl Vector for Plain {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Plain([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for `LANES` numbers at `from`; an array of f32 has no alignment beyond theirs.
        Plain(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller vouches for `LANES` numbers at `to`.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        let mut lanes = [0.0; 4];
        // SAFETY: the caller vouches for `n` numbers at `from`.
        lanes[..n].copy_from_slice(unsafe { std::slice::from_raw_parts(from, n) });
        Plain(lanes)
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        // SAFETY: the caller vouches for `n` numbers at `to`.
        unsafe { std::slice::from_raw_parts_mut(to, n) }.copy_from_slice(&self.0[..n]);
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        // Not f32::mul_add: without FMA instructions that is a library call per number.
        Plain(std::array::from_fn(|lane| self.0[lane] * factor.0[lane] + addend.0[lane]))
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
    }
}
