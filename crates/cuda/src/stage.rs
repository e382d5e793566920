//! Lists of entries that stay on the host: in parts, of which one at a time is on the device.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;

use crate::Error;
use crate::device::{Array, Device};

/// Lists in a part begin at a multiple of so many bytes, so that kernels read whole lines.
const LINE: usize = 256;

/// Where lists go.
pub(crate) enum Room<'a, D: Device> {
    /// The device, where they stay.
    Device(&'a D),
    /// A part, which stays on the host.
    Host(Packing),
}

/// The lists of a part, one behind the other.
pub(crate) struct Packing {
    bytes: Vec<u8>,
    base: Arc<AtomicU64>,
}

impl<D: Device> Room<'_, D> {
    /// Puts a list there.
    pub(crate) fn list<T: Pod>(&mut self, values: &[T]) -> Result<Array<D, T>, Error> {
        match self {
            Room::Device(device) => Array::new(*device, values),
            Room::Host(Packing { bytes, base }) => {
                bytes.resize(bytes.len().next_multiple_of(LINE), 0);
                let offset = bytes.len();
                bytes.extend_from_slice(bytemuck::cast_slice(values));
                Ok(Array::within(base.clone(), offset, values.len()))
            }
        }
    }

    /// Closes a part, if this is one.
    pub(crate) fn close(self, device: &D) -> Result<Option<Part<D>>, Error> {
        match self {
            Room::Device(_) => Ok(None),
            Room::Host(Packing { bytes, .. }) => {
                Ok(Some(Part { kept: device.keep(&bytes)?, bytes: bytes.len() }))
            }
        }
    }
}

/// The lists of a part, on the host.
pub(crate) struct Part<D: Device> {
    kept: D::Kept,
    bytes: usize,
}

/// Room on the device for the lists of any one part at a time.
pub(crate) struct Stage<D: Device> {
    memory: Array<D, u8>,
    base: Arc<AtomicU64>,
}

impl<D: Device> Stage<D> {
    pub(crate) fn new(device: &D) -> Result<Self, Error> {
        let memory = Array::zeros(device, 0)?;
        let base = Arc::new(AtomicU64::new(memory.address(device)));
        Ok(Stage { memory, base })
    }

    /// A part to put lists in.
    pub(crate) fn room(&self) -> Room<'_, D> {
        Room::Host(Packing { bytes: Vec::new(), base: self.base.clone() })
    }

    /// Makes room for a part.
    pub(crate) fn fit(&mut self, device: &D, part: &Part<D>) -> Result<(), Error> {
        let grown = self.memory.grow(device, part.bytes);
        self.base.store(self.memory.address(device), Ordering::Relaxed);
        grown
    }

    /// Brings a part to the device, in place of another.
    pub(crate) fn load(&self, device: &D, part: &Part<D>) -> Result<(), Error> {
        if self.memory.len() < part.bytes {
            return Err(Error::Problem("the GPU has lost its room for entries".to_owned()));
        }
        device.upload(self.memory.memory()?, &part.kept)
    }

    /// Takes a part back that was changed on the device.
    pub(crate) fn store(&self, device: &D, part: &mut Part<D>) -> Result<(), Error> {
        let mut bytes = vec![0; part.bytes];
        self.memory.get_first(device, &mut bytes)?;
        part.kept = device.keep(&bytes)?;
        Ok(())
    }
}
