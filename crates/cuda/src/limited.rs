//! A device of which only a part is to be used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;
use crate::device::{Device, Launch};

/// A device that gives no more than so many bytes of its memory: where others need the rest of it.
pub struct Limited<D> {
    device: D,
    most: usize,
    used: Arc<AtomicUsize>,
}

impl<D> Limited<D> {
    /// A device and how many bytes of it there are.
    pub fn new(device: D, most: usize) -> Self {
        Limited { device, most, used: Arc::default() }
    }
}

/// Memory that counts.
pub struct LimitedMemory<M> {
    memory: M,
    _share: Share,
}

/// Bytes that are in use.
struct Share {
    bytes: usize,
    used: Arc<AtomicUsize>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl<D: Device> Device for Limited<D> {
    type Memory = LimitedMemory<D::Memory>;
    type Kept = D::Kept;

    fn alloc(&self, bytes: usize) -> Result<Self::Memory, Error> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let share = Share { bytes, used: self.used.clone() };
        if before.saturating_add(bytes) > self.most {
            return Err(Error::OutOfMemory(bytes));
        }
        Ok(LimitedMemory { memory: self.device.alloc(bytes)?, _share: share })
    }

    fn address(&self, memory: &Self::Memory) -> u64 {
        self.device.address(&memory.memory)
    }

    fn put(&self, memory: &mut Self::Memory, bytes: &[u8]) -> Result<(), Error> {
        self.device.put(&mut memory.memory, bytes)
    }

    fn get(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<(), Error> {
        self.device.get(&memory.memory, bytes)
    }

    fn keep(&self, bytes: &[u8]) -> Result<D::Kept, Error> {
        self.device.keep(bytes)
    }

    fn upload(&self, memory: &Self::Memory, from: &D::Kept) -> Result<(), Error> {
        self.device.upload(&memory.memory, from)
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { self.device.launch(launch) }
    }

    fn reserve(&self) -> usize {
        self.device.reserve()
    }

    fn has_tensor_cores(&self) -> bool {
        self.device.has_tensor_cores()
    }

    fn synchronise(&self) -> Result<(), Error> {
        self.device.synchronise()
    }
}
