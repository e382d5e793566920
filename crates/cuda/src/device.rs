//! What runs kernels: a GPU, or in tests an emulator of one.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;

use crate::Error;

/// A set of kernels that were compiled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Module {
    /// Those whose ranks are parameters.
    Common,
    /// Those of a padded rank, one of [`PADS`].
    Pad(u32),
    /// Those of a padded rank, one of [`PADS`] from 16 on, for GPUs that have tensor cores for numbers of 11 bits.
    Tensor(u32),
}

/// The padded ranks that have a module of their own.
pub const PADS: [u32; 8] = [4, 8, 12, 16, 24, 32, 48, 64];

/// The least padded rank whose sums are worth tensor cores.
pub(crate) const LEAST_TENSOR: u32 = 16;

/// Where threads of a kernel are, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Where the kernel is.
    pub module: Module,
    /// Its name.
    pub kernel: &'static str,
    /// Blocks in both directions.
    pub grid: [u32; 2],
    /// Threads in a block.
    pub threads: u32,
    /// Bytes of shared memory in a block.
    pub shared: u32,
    /// The bits of each argument, in the lower bytes.
    pub arguments: &'a [u64],
}

/// Memory and kernels of a GPU. What is launched runs in the order of launches, and before what is got after it.
pub trait Device {
    /// Memory of the device, freed when it is dropped.
    type Memory;
    /// Bytes of the host, where the device copies them from fastest.
    type Kept;

    /// So many bytes, all zero.
    ///
    /// # Errors
    /// If there is no room.
    fn alloc(&self, bytes: usize) -> Result<Self::Memory, Error>;

    /// Where memory is, as kernels see it.
    fn address(&self, memory: &Self::Memory) -> u64;

    /// Copies bytes to the beginning of memory, which must be as long.
    ///
    /// # Errors
    /// If the device fails.
    fn put(&self, memory: &mut Self::Memory, bytes: &[u8]) -> Result<(), Error>;

    /// Copies the beginning of memory, which must be as long, to bytes.
    ///
    /// # Errors
    /// If the device fails, also in what was launched before.
    fn get(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<(), Error>;

    /// Keeps bytes on the host.
    ///
    /// # Errors
    /// If there is no room.
    fn keep(&self, bytes: &[u8]) -> Result<Self::Kept, Error>;

    /// Begins to copy what is kept to the beginning of memory, which must be as long: behind all that was launched before, and before
    /// what is launched after it.
    ///
    /// # Errors
    /// If the device fails.
    fn upload(&self, memory: &Self::Memory, from: &Self::Kept) -> Result<(), Error>;

    /// Begins a kernel.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Safety
    /// The arguments must be those that the kernel has, and what they point to must be as long as it expects.
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error>;

    /// How many bytes the device may need for itself once kernels are launched.
    fn reserve(&self) -> usize {
        0
    }

    /// Whether there are tensor cores for [`Module::Tensor`].
    fn has_tensor_cores(&self) -> bool;

    /// Waits for all that was launched.
    ///
    /// # Errors
    /// If the device fails.
    fn synchronise(&self) -> Result<(), Error>;
}

/// A list of numbers on a device.
pub(crate) struct Array<D: Device, T> {
    place: Place<D>,
    len: usize,
    numbers: PhantomData<T>,
}

/// Where a list is.
enum Place<D: Device> {
    Own(D::Memory),
    /// So many bytes behind an address in memory of something else, which outlives all launches that the list is given to.
    Within(Arc<AtomicU64>, u64),
}

impl<D: Device, T: Pod> Array<D, T> {
    pub(crate) fn zeros(device: &D, len: usize) -> Result<Self, Error> {
        // No device has memory of no length.
        let memory = device.alloc((len * size_of::<T>()).max(16))?;
        Ok(Array { place: Place::Own(memory), len, numbers: PhantomData })
    }

    /// A list that lies so many bytes behind an address, wherever that is when it is asked for.
    pub(crate) fn within(base: Arc<AtomicU64>, offset: usize, len: usize) -> Self {
        Array { place: Place::Within(base, offset as u64), len, numbers: PhantomData }
    }

    /// Some of its numbers, as a list that is of use for as long as this one is there.
    pub(crate) fn part(&self, device: &D, first: usize, len: usize) -> Self {
        assert!(first + len <= self.len, "numbers behind the last");
        Array::within(Arc::new(AtomicU64::new(self.address(device))), first * size_of::<T>(), len)
    }

    /// Its own memory.
    pub(crate) fn memory(&self) -> Result<&D::Memory, Error> {
        match &self.place {
            Place::Own(memory) => Ok(memory),
            Place::Within(..) => Err(Error::Problem("the list has no memory of its own".to_owned())),
        }
    }

    pub(crate) fn new(device: &D, values: &[T]) -> Result<Self, Error> {
        let mut array = Array::zeros(device, values.len())?;
        array.put(device, values)?;
        Ok(array)
    }

    /// Makes room for so many numbers, which are zero then, if there is none. If that fails, there is as much as before, or
    /// none at all.
    pub(crate) fn grow(&mut self, device: &D, len: usize) -> Result<(), Error> {
        if self.len >= len {
            return Ok(());
        }
        // There may be no room for both.
        let before = self.len;
        *self = Array::zeros(device, 0)?;
        let larger = Array::zeros(device, len);
        if larger.is_err() {
            Array::zeros(device, before).into_iter().for_each(|again| *self = again);
        }
        *self = larger?;
        Ok(())
    }

    pub(crate) fn put(&mut self, device: &D, values: &[T]) -> Result<(), Error> {
        assert_eq!(values.len(), self.len, "a list of another length");
        match &mut self.place {
            Place::Own(memory) => device.put(memory, bytemuck::cast_slice(values)),
            Place::Within(..) => self.memory().map(|_| ()),
        }
    }

    pub(crate) fn get(&self, device: &D) -> Result<Vec<T>, Error> {
        let mut values = vec![T::zeroed(); self.len];
        device.get(self.memory()?, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Copies the first numbers.
    pub(crate) fn get_first(&self, device: &D, values: &mut [T]) -> Result<(), Error> {
        assert!(values.len() <= self.len, "more numbers than there are");
        device.get(self.memory()?, bytemuck::cast_slice_mut(values))
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn address(&self, device: &D) -> u64 {
        match &self.place {
            Place::Own(memory) => device.address(memory),
            Place::Within(base, offset) => base.load(Ordering::Relaxed) + offset,
        }
    }
}

/// A number as an argument of a kernel.
pub(crate) trait Argument<D> {
    fn bits(&self, device: &D) -> u64;
}

impl<D: Device, T: Pod> Argument<D> for &Array<D, T> {
    fn bits(&self, device: &D) -> u64 {
        self.address(device)
    }
}

impl<D: Device, T: Pod> Argument<D> for Option<&Array<D, T>> {
    fn bits(&self, device: &D) -> u64 {
        self.map_or(0, |array| array.address(device))
    }
}

impl<D> Argument<D> for u32 {
    fn bits(&self, _: &D) -> u64 {
        u64::from(*self)
    }
}

impl<D> Argument<D> for u64 {
    fn bits(&self, _: &D) -> u64 {
        *self
    }
}

impl<D> Argument<D> for f32 {
    fn bits(&self, _: &D) -> u64 {
        u64::from(self.to_bits())
    }
}

impl<D> Argument<D> for f64 {
    fn bits(&self, _: &D) -> u64 {
        self.to_bits()
    }
}

/// The most blocks of a launch in both directions, its most threads, and the shared memory that each GPU has for a block, in
/// bytes.
pub(crate) const MOST_BLOCKS: [usize; 2] = [i32::MAX as usize, u16::MAX as usize];
pub(crate) const MOST_THREADS: usize = 1024;
pub(crate) const MOST_SHARED: usize = 64 << 10;

/// Checks that GPUs take a launch of such a size.
pub(crate) fn check_size(grid: [usize; 2], threads: usize, shared: usize) -> Result<(), Error> {
    if grid.iter().zip(MOST_BLOCKS).any(|(&blocks, most)| blocks > most)
        || threads > MOST_THREADS
        || shared > MOST_SHARED
    {
        return Err(Error::Problem(format!(
            "{grid:?} blocks of {threads} threads with {shared} bytes are more than a GPU takes at a time"
        )));
    }
    Ok(())
}

/// Launches a kernel: device, module, name, blocks, threads, bytes of shared memory, arguments. Nothing for no blocks.
macro_rules! launch {
    ($device:expr, $module:expr, $kernel:expr, $grid:expr, $threads:expr, $shared:expr, $($argument:expr),+ $(,)?) => {{
        let device = $device;
        let (grid, threads, shared): ([usize; 2], usize, usize) = ($grid, $threads, $shared);
        if let Err(error) = $crate::device::check_size(grid, threads, shared) {
            Err(error)
        } else if grid.contains(&0) {
            Ok(())
        } else {
            let arguments = [$($crate::device::Argument::bits(&$argument, device)),+];
            let launch = $crate::device::Launch {
                module: $module,
                kernel: $kernel,
                grid: grid.map(|blocks| blocks as u32),
                threads: threads as u32,
                shared: shared as u32,
                arguments: &arguments,
            };
            // SAFETY: each call names the kernel's parameters in their order, with arrays of the lengths that the sampler
            // allocated for the same shape; the tests run every kernel against an oracle.
            unsafe { $crate::device::Device::launch(device, &launch) }
        }
    }};
}
pub(crate) use launch;

/// The padded rank that a rank is computed with.
pub(crate) fn pad(rank: usize) -> usize {
    let fits = PADS.iter().map(|&pad| pad as usize).find(|&pad| pad >= rank);
    fits.unwrap_or_else(|| rank.next_multiple_of(8))
}

/// How far apart designs are where sums read them, see sums.cu.
pub(crate) fn stride(pad: usize) -> usize {
    if pad <= 12 { pad + 4 } else { pad + 8 }
}
