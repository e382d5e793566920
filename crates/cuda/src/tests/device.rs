//! The device that tests run on: the emulator, or a GPU where `S3CMTF_CUDA_TESTS` says so.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::OnceLock;

use crate::device::Array;
use crate::{CudaDevice, CudaKept, CudaMemory, Device, Emulator, EmulatorMemory, Error, Launch, Module};

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

/// What either keeps on the host.
pub(crate) enum TestKept {
    Emulator(Vec<u8>),
    Gpu(CudaKept),
}

impl Device for TestDevice {
    type Memory = TestMemory;
    type Kept = TestKept;

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

    fn keep(&self, bytes: &[u8]) -> Result<TestKept, Error> {
        match gpu() {
            Some(gpu) => gpu.keep(bytes).map(TestKept::Gpu),
            None => Emulator.keep(bytes).map(TestKept::Emulator),
        }
    }

    fn upload(&self, memory: &TestMemory, from: &TestKept) -> Result<(), Error> {
        match (gpu(), memory, from) {
            (Some(gpu), TestMemory::Gpu(memory), TestKept::Gpu(from)) => gpu.upload(memory, from),
            (None, TestMemory::Emulator(memory), TestKept::Emulator(from)) => Emulator.upload(memory, from),
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

    fn has_tensor_cores(&self) -> bool {
        gpu().map_or_else(|| Emulator.has_tensor_cores(), Device::has_tensor_cores)
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
    type Kept = TestKept;

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

    fn keep(&self, bytes: &[u8]) -> Result<TestKept, Error> {
        self.call(Error::Driver("keep", "it was to fail".to_owned()))?;
        TestDevice.keep(bytes)
    }

    fn upload(&self, memory: &TestMemory, from: &TestKept) -> Result<(), Error> {
        self.call(Error::Driver("upload", "it was to fail".to_owned()))?;
        TestDevice.upload(memory, from)
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        self.call(Error::Driver("launch", "it was to fail".to_owned()))?;
        // SAFETY: the caller's.
        unsafe { TestDevice.launch(launch) }
    }

    fn has_tensor_cores(&self) -> bool {
        TestDevice.has_tensor_cores()
    }

    fn synchronise(&self) -> Result<(), Error> {
        TestDevice.synchronise()
    }
}

/// Runs a kernel of the emulator.
fn emulate(
    kernel: &'static str,
    grid: [u32; 2],
    threads: u32,
    shared: u32,
    arguments: &[u64],
) -> Result<(), Error> {
    let launch = Launch { module: Module::Common, kernel, grid, threads, shared, arguments };
    // SAFETY: the tests below name the kernel's arguments.
    unsafe { Emulator.launch(&launch) }
}

fn array<T: bytemuck::Pod>(values: &[T]) -> Array<Emulator, T> {
    Array::new(&Emulator, values).unwrap()
}

#[test]
fn the_emulator_has_the_limits_of_a_gpu() {
    let (values, parts) = (array(&[1.0f64; 64]), array(&[0.0f64; 1]));
    let arguments = [values.address(&Emulator), 64, parts.address(&Emulator)];
    let run = |y: u32, threads: u32, shared: u32| emulate("add_parts", [1, y], threads, shared, &arguments);
    run(1, 64, 512).unwrap();
    assert_eq!(parts.get(&Emulator).unwrap(), [64.0]);
    for (y, threads, shared) in [(65536, 64, 512), (1, 1056, 8448), (1, 64, 1 << 17), (1, 64, 504)] {
        assert!(matches!(run(y, threads, shared), Err(Error::Driver(..))), "{y} {threads} {shared}");
    }
    assert!(matches!(emulate("nothing", [1, 1], 32, 0, &[]), Err(Error::NoKernel(_))));
}

#[test]
fn random_numbers_are_those_of_philox() {
    // Known answers of Random123, whose authors have made it up.
    let known: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];
    for (counter, key, expected) in known {
        let (counter, key, block) = (array(&counter), array(&key), array(&[0u32; 4]));
        let arguments = [counter.address(&Emulator), key.address(&Emulator), block.address(&Emulator)];
        emulate("random_block", [1, 1], 1, 0, &arguments).unwrap();
        assert_eq!(block.get(&Emulator).unwrap(), expected);
    }
}

#[test]
fn random_numbers_have_the_moments_of_their_distributions() {
    for (shape, rate) in [(1.0f64, 1.0), (1.0, 0.01), (1.5, 2.0), (20.0, 3.0), (5e7, 2e7)] {
        let count = 1 << 16;
        let (parameters, numbers) = (array(&[shape, rate]), [(); 2].map(|()| array(&vec![0.0f64; count])));
        let [gammas, normals] = &numbers;
        let arguments =
            [5, parameters.address(&Emulator), gammas.address(&Emulator), normals.address(&Emulator)];
        emulate("random_numbers", [count as u32 / 256, 1], 256, 0, &arguments).unwrap();
        let moments = |numbers: &[f64]| {
            let moment = |of: &dyn Fn(f64) -> f64| numbers.iter().map(|&x| of(x)).sum::<f64>() / count as f64;
            let mean = moment(&|x| x);
            let variance = moment(&|x| (x - mean).powi(2));
            (mean, variance, moment(&|x| (x - mean).powi(3)) / variance.powf(1.5))
        };
        let (mean, variance, skew) = moments(&gammas.get(&Emulator).unwrap());
        let root = (count as f64).sqrt();
        let (expected, deviation) = (shape / rate, shape.sqrt() / rate);
        assert!((mean - expected).abs() < 5.0 * deviation / root, "{shape} {rate}: {mean}");
        // The variance of squares is the larger the smaller the shape.
        let scatter = 5.0 * (2.0 + 6.0 / shape).sqrt() / root;
        assert!((variance / deviation.powi(2) - 1.0).abs() < scatter, "{shape} {rate}: {variance}");
        assert!((skew - 2.0 / shape.sqrt()).abs() < 0.15, "{shape} {rate}: {skew}");
        let (mean, variance, skew) = moments(&normals.get(&Emulator).unwrap());
        assert!(mean.abs() < 5.0 / root && (variance - 1.0).abs() < 8.0 / root && skew.abs() < 0.05);
    }
}
