//! The device that tests run on: the emulator, or a GPU where `S3CMTF_CUDA_TESTS` says so.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::OnceLock;

use crate::{CudaDevice, CudaMemory, Device, Emulator, EmulatorMemory, Error, Launch};

static GPU: OnceLock<Option<CudaDevice>> = OnceLock::new();

fn gpu() -> Option<&'static CudaDevice> {
    let wanted = || std::env::var_os("S3CMTF_CUDA_TESTS").map(|_| CudaDevice::new(0).unwrap());
    GPU.get_or_init(wanted).as_ref()
}

/// Either of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TestDevice;

/// Memory of either.
pub(crate) enum TestMemory {
    Emulator(EmulatorMemory),
    Gpu(CudaMemory),
}

impl Device for TestDevice {
    type Memory = TestMemory;

    fn alloc(&self, bytes: usize) -> Result<TestMemory, Error> {
        match gpu() {
            Some(gpu) => gpu.alloc(bytes).map(TestMemory::Gpu),
            None => Emulator.alloc(bytes).map(TestMemory::Emulator),
        }
    }

    fn address(&self, memory: &TestMemory) -> u64 {
        match (gpu(), memory) {
            (Some(gpu), TestMemory::Gpu(memory)) => gpu.address(memory),
            (None, TestMemory::Emulator(memory)) => Emulator.address(memory),
            _ => unreachable!(),
        }
    }

    fn put(&self, memory: &mut TestMemory, bytes: &[u8]) -> Result<(), Error> {
        match (gpu(), memory) {
            (Some(gpu), TestMemory::Gpu(memory)) => gpu.put(memory, bytes),
            (None, TestMemory::Emulator(memory)) => Emulator.put(memory, bytes),
            _ => unreachable!(),
        }
    }

    fn get(&self, memory: &TestMemory, bytes: &mut [u8]) -> Result<(), Error> {
        match (gpu(), memory) {
            (Some(gpu), TestMemory::Gpu(memory)) => gpu.get(memory, bytes),
            (None, TestMemory::Emulator(memory)) => Emulator.get(memory, bytes),
            _ => unreachable!(),
        }
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        match gpu() {
            // SAFETY: the caller's.
            Some(gpu) => unsafe { gpu.launch(launch) },
            // SAFETY: the caller's.
            None => unsafe { Emulator.launch(launch) },
        }
    }

    fn synchronise(&self) -> Result<(), Error> {
        gpu().map_or(Ok(()), Device::synchronise)
    }
}

/// A device of which some call fails.
#[derive(Clone, Default)]
pub(crate) struct Failing(Rc<Cell<Option<Failure>>>);

/// After so many calls that allocate, copy to the device or launch; whether all fail from then on.
#[derive(Clone, Copy)]
pub(crate) struct Failure {
    pub(crate) after: usize,
    pub(crate) for_good: bool,
}

impl Failing {
    pub(crate) fn set(&self, failure: Option<Failure>) {
        self.0.set(failure);
    }

    /// Whether the call that was to fail has not come yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.0.get().is_some()
    }

    fn call(&self, error: Error) -> Result<(), Error> {
        match self.0.get() {
            Some(Failure { after: 0, for_good }) => {
                self.0.set(self.0.get().filter(|_| for_good));
                Err(error)
            }
            Some(failure) => {
                self.0.set(Some(Failure { after: failure.after - 1, ..failure }));
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Device for Failing {
    type Memory = TestMemory;

    fn alloc(&self, bytes: usize) -> Result<TestMemory, Error> {
        self.call(Error::OutOfMemory(bytes))?;
        TestDevice.alloc(bytes)
    }

    fn address(&self, memory: &TestMemory) -> u64 {
        TestDevice.address(memory)
    }

    fn put(&self, memory: &mut TestMemory, bytes: &[u8]) -> Result<(), Error> {
        self.call(Error::Driver("put", "it was to fail".to_owned()))?;
        TestDevice.put(memory, bytes)
    }

    fn get(&self, memory: &TestMemory, bytes: &mut [u8]) -> Result<(), Error> {
        TestDevice.get(memory, bytes)
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        self.call(Error::Driver("launch", "it was to fail".to_owned()))?;
        // SAFETY: the caller's.
        unsafe { TestDevice.launch(launch) }
    }

    fn synchronise(&self) -> Result<(), Error> {
        TestDevice.synchronise()
    }
}
