//! NVIDIA GPUs, by the driver that is found when it is asked for.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{DriverError, result, sys};

use crate::Error;
use crate::device::{Device, Launch, Module};

/// The oldest driver that takes the kernels as they were compiled.
const LEAST_DRIVER: i32 = 12_000;
/// The oldest GPU, by the major part of its compute capability.
const LEAST_DEVICE: i32 = 7;
/// The oldest with tensor cores for numbers of 11 bits.
const LEAST_TENSOR: i32 = 8;
/// For modules, which are loaded when they are first used, and for what kernels have no registers for.
const RESERVE: usize = 256 << 20;
/// A block has more shared memory than this only if it is asked for.
const PLAIN_SHARED: u32 = 48 << 10;

/// The kernels, see `ptx.py`.
fn text(module: Module) -> Option<&'static [u8]> {
    Some(match module {
        Module::Common => include_bytes!("../ptx/common.ptx.gz"),
        Module::Pad(4) => include_bytes!("../ptx/pad4.ptx.gz"),
        Module::Pad(8) => include_bytes!("../ptx/pad8.ptx.gz"),
        Module::Pad(12) => include_bytes!("../ptx/pad12.ptx.gz"),
        Module::Pad(16) => include_bytes!("../ptx/pad16.ptx.gz"),
        Module::Pad(24) => include_bytes!("../ptx/pad24.ptx.gz"),
        Module::Pad(32) => include_bytes!("../ptx/pad32.ptx.gz"),
        Module::Pad(48) => include_bytes!("../ptx/pad48.ptx.gz"),
        Module::Pad(64) => include_bytes!("../ptx/pad64.ptx.gz"),
        Module::Tensor(16) => include_bytes!("../ptx/tensor16.ptx.gz"),
        Module::Tensor(24) => include_bytes!("../ptx/tensor24.ptx.gz"),
        Module::Tensor(32) => include_bytes!("../ptx/tensor32.ptx.gz"),
        Module::Tensor(48) => include_bytes!("../ptx/tensor48.ptx.gz"),
        Module::Tensor(64) => include_bytes!("../ptx/tensor64.ptx.gz"),
        Module::Pad(_) | Module::Tensor(_) => return None,
    })
}

/// A GPU.
pub struct CudaDevice {
    context: Arc<Context>,
    modules: Mutex<Modules>,
    tensor: bool,
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // Others may hold the context for longer, and modules with it. What was launched is over first; there is nobody to tell of
        // a failure.
        if self.context.bind().is_ok() && result::ctx::synchronize().is_ok() {
            let modules = self.modules.get_mut().unwrap_or_else(PoisonError::into_inner);
            modules.functions.clear();
            for (_, module) in modules.modules.drain() {
                // SAFETY: it was loaded once, and its functions are forgotten.
                let _ = unsafe { result::module::unload(module) };
            }
        }
    }
}

#[derive(Default)]
struct Modules {
    modules: HashMap<Module, sys::CUmodule>,
    functions: HashMap<(Module, &'static str), (sys::CUfunction, u32)>,
}

// SAFETY: handles of the driver may be used by any thread; the context is made current before each use.
unsafe impl Send for Modules {}

struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: as above.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    fn bind(&self) -> Result<(), Error> {
        // SAFETY: the context lives as long as this.
        unsafe { result::ctx::set_current(self.context) }.map_err(|error| failed("cuCtxSetCurrent", error))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once, and nothing of it is left. There is nobody to tell of a failure.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

fn failed(call: &'static str, error: DriverError) -> Error {
    let text = error.error_string().ok().and_then(|text| text.to_str().ok());
    Error::Driver(call, text.map_or_else(|| format!("{:?}", error.0), str::to_owned))
}

impl CudaDevice {
    /// The GPU of this number.
    ///
    /// # Errors
    /// If there is no driver, or no such GPU, or one of them is too old.
    pub fn new(number: usize) -> Result<Self, Error> {
        // SAFETY: it only loads the library, whose initialisation is the driver's own.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoDriver);
        }
        let mut version = 0;
        // SAFETY: the version goes to a place of our own; this function is older than any driver that is in use.
        let known = unsafe { sys::cuDriverGetVersion(&raw mut version) };
        if known != sys::CUresult::CUDA_SUCCESS || version < LEAST_DRIVER {
            return Err(Error::OldDriver(version, LEAST_DRIVER));
        }
        // Without a GPU, the driver does not start; for other reasons neither.
        result::init().map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_NO_DEVICE => Error::NoDevice(number),
            _ => failed("cuInit", error),
        })?;
        let count = result::device::get_count().map_err(|error| failed("cuDeviceGetCount", error))?;
        let ordinal = i32::try_from(number).ok().filter(|&ordinal| ordinal < count);
        let ordinal = ordinal.ok_or(Error::NoDevice(number))?;
        let device = result::device::get(ordinal).map_err(|error| failed("cuDeviceGet", error))?;
        let attribute = |attribute| {
            // SAFETY: the device is one that the driver gave.
            unsafe { result::device::get_attribute(device, attribute) }
                .map_err(|error| failed("cuDeviceGetAttribute", error))
        };
        let major = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        if major < LEAST_DEVICE {
            return Err(Error::OldDevice(major, minor));
        }
        // SAFETY: the device is one that the driver gave; the context is released when it is dropped.
        let context = unsafe { result::primary_ctx::retain(device) }
            .map_err(|error| failed("cuDevicePrimaryCtxRetain", error))?;
        let context = Arc::new(Context { device, context });
        Ok(CudaDevice { context, modules: Mutex::default(), tensor: major >= LEAST_TENSOR })
    }

    /// What the maker calls it.
    ///
    /// # Errors
    /// If the driver does not know.
    pub fn name(&self) -> Result<String, Error> {
        result::device::get_name(self.context.device).map_err(|error| failed("cuDeviceGetName", error))
    }

    fn function(&self, launch: &Launch<'_>) -> Result<sys::CUfunction, Error> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (launch.module, launch.kernel);
        if !modules.functions.contains_key(&key) {
            let module = match modules.modules.get(&launch.module) {
                Some(&module) => module,
                None => load(launch.module)?,
            };
            modules.modules.insert(launch.module, module);
            let missing = || Error::NoKernel(format!("{:?} {}", launch.module, launch.kernel));
            let name = CString::new(launch.kernel).map_err(|_| missing())?;
            // SAFETY: the module was loaded, and is unloaded with the device.
            let function = unsafe { result::module::get_function(module, name) };
            let function = function.map_err(|error| match error.0 {
                sys::CUresult::CUDA_ERROR_NOT_FOUND => missing(),
                _ => failed("cuModuleGetFunction", error),
            })?;
            modules.functions.insert(key, (function, PLAIN_SHARED));
        }
        let Some((function, shared)) = modules.functions.get_mut(&key) else {
            return Err(Error::NoKernel(launch.kernel.to_owned()));
        };
        if launch.shared > *shared {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is one that the driver gave.
            unsafe { result::function::set_function_attribute(*function, most, launch.shared as i32) }
                .map_err(|error| failed("cuFuncSetAttribute", error))?;
            *shared = launch.shared;
        }
        Ok(*function)
    }
}

/// Hands a module to the driver, which compiles it for the GPU and remembers the result.
fn load(module: Module) -> Result<sys::CUmodule, Error> {
    let packed = text(module).ok_or_else(|| Error::NoKernel(format!("{module:?}")))?;
    let mut text = Vec::new();
    let unpacked = flate2::read::GzDecoder::new(packed).read_to_end(&mut text);
    unpacked.map_err(|error| Error::NoKernel(format!("{module:?}: {error}")))?;
    // As C has it.
    text.push(0);
    // SAFETY: the text ends with a zero.
    let module = unsafe { result::module::load_data(text.as_ptr().cast()) };
    module.map_err(|error| failed("cuModuleLoadData", error))
}

/// Memory of a GPU.
pub struct CudaMemory {
    context: Arc<Context>,
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: it was allocated once, and the driver waits for kernels that use it. There is nobody to tell of a failure.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Pages of the host that stay where they are, so that a GPU copies them without a detour.
pub struct CudaKept {
    context: Arc<Context>,
    address: *mut c_void,
    bytes: usize,
}

// SAFETY: nobody else has the address, and the bytes are only read once they are there.
unsafe impl Send for CudaKept {}
// SAFETY: as above.
unsafe impl Sync for CudaKept {}

impl Drop for CudaKept {
    fn drop(&mut self) {
        // Copies that have begun are over first; there is nobody to tell of a failure.
        if self.context.bind().is_ok() && result::ctx::synchronize().is_ok() {
            // SAFETY: it was allocated once, and nothing reads it any more.
            let _ = unsafe { result::free_host(self.address) };
        }
    }
}

impl Device for CudaDevice {
    type Memory = CudaMemory;
    type Kept = CudaKept;

    fn alloc(&self, bytes: usize) -> Result<CudaMemory, Error> {
        self.context.bind()?;
        // SAFETY: it is freed when it is dropped.
        let address = unsafe { result::malloc_sync(bytes) }.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory(bytes),
            _ => failed("cuMemAlloc", error),
        })?;
        let memory = CudaMemory { context: self.context.clone(), address, bytes };
        // SAFETY: the memory has so many bytes.
        unsafe { result::memset_d8_sync(address, 0, bytes) }.map_err(|error| failed("cuMemsetD8", error))?;
        Ok(memory)
    }

    fn address(&self, memory: &CudaMemory) -> u64 {
        memory.address
    }

    fn put(&self, memory: &mut CudaMemory, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= memory.bytes, "more bytes than there is room for");
        self.context.bind()?;
        // SAFETY: there is room for the bytes.
        unsafe { result::memcpy_htod_sync(memory.address, bytes) }
            .map_err(|error| failed("cuMemcpyHtoD", error))
    }

    fn get(&self, memory: &CudaMemory, bytes: &mut [u8]) -> Result<(), Error> {
        assert!(bytes.len() <= memory.bytes, "more bytes than there are");
        self.context.bind()?;
        // SAFETY: there are so many bytes, and the driver waits for kernels before it copies them.
        unsafe { result::memcpy_dtoh_sync(bytes, memory.address) }
            .map_err(|error| failed("cuMemcpyDtoH", error))
    }

    fn keep(&self, bytes: &[u8]) -> Result<CudaKept, Error> {
        self.context.bind()?;
        // SAFETY: it is freed when it is dropped; no length is none that the driver would refuse.
        let address = unsafe { result::malloc_host(bytes.len().max(16), 0) };
        let address = address.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfHostMemory(bytes.len()),
            _ => failed("cuMemHostAlloc", error),
        })?;
        // SAFETY: there is room for the bytes, of which nobody else knows.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address.cast(), bytes.len()) };
        Ok(CudaKept { context: self.context.clone(), address, bytes: bytes.len() })
    }

    fn upload(&self, memory: &CudaMemory, from: &CudaKept) -> Result<(), Error> {
        assert!(from.bytes <= memory.bytes, "more bytes than there is room for");
        self.context.bind()?;
        // SAFETY: so many bytes were put there, and nobody changes them.
        let bytes = unsafe { std::slice::from_raw_parts(from.address.cast::<u8>(), from.bytes) };
        // SAFETY: there is room for the bytes, which stay until copies are over; kernels are launched on the same stream.
        unsafe { result::memcpy_htod_async(memory.address, bytes, std::ptr::null_mut()) }
            .map_err(|error| failed("cuMemcpyHtoDAsync", error))
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        self.context.bind()?;
        let function = self.function(launch)?;
        let bits = launch.arguments.iter();
        let mut arguments: Vec<*mut c_void> =
            bits.map(|bits| std::ptr::from_ref(bits).cast_mut().cast()).collect();
        let ([x, y], stream) = (launch.grid, std::ptr::null_mut());
        // SAFETY: the caller says that these are the kernel's arguments; the driver copies them before it returns.
        unsafe {
            result::launch_kernel(
                function,
                (x, y, 1),
                (launch.threads, 1, 1),
                launch.shared,
                stream,
                &mut arguments,
            )
        }
        .map_err(|error| failed(launch.kernel, error))
    }

    fn reserve(&self) -> usize {
        RESERVE
    }

    fn has_tensor_cores(&self) -> bool {
        self.tensor
    }

    fn synchronise(&self) -> Result<(), Error> {
        self.context.bind()?;
        result::ctx::synchronize().map_err(|error| failed("cuCtxSynchronize", error))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// As in ptx.py: the kernels that are compiled, in the order of their names.
    #[test]
    fn modules_were_made_of_the_kernels_as_they_are() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let names = std::fs::read_dir(&folder).unwrap();
        let mut names: Vec<String> =
            names.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| (name.ends_with(".cu") || name.ends_with(".h")) && !name.starts_with("emulator"));
        names.sort_unstable();
        let mut crc = flate2::Crc::new();
        for name in names {
            crc.update(name.as_bytes());
            crc.update(&std::fs::read(folder.join(name)).unwrap());
        }
        let expected = include_str!("../ptx/sources.crc").trim();
        assert_eq!(format!("{:08x}", crc.sum()), expected, "run ptx.py: the kernels have changed");
    }
}
