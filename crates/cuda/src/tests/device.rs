//! The device that tests run on: the emulator, or a GPU where `S3CMTF_CUDA_TESTS` says so.

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
