//! A device that is none: the kernels compiled as plain C++, with threads that take turns.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;

use crate::Error;
use crate::device::{Device, Launch, Module};

type Run = unsafe extern "C" fn(*const c_char, *const c_uint, c_uint, c_uint, *mut *mut c_void) -> c_int;

/// A library for each module that was needed so far, in which each thread has a device of its own.
static LIBRARIES: Mutex<BTreeMap<Module, &'static OnceLock<Library>>> = Mutex::new(BTreeMap::new());

/// Memory of the host, of which kernels have the address.
pub struct EmulatorMemory(Box<[UnsafeCell<u128>]>);

// SAFETY: it is only used by one thread at a time: kernels run while their caller waits.
unsafe impl Send for EmulatorMemory {}

/// A device that is none: the kernels as plain C++, for tests. The first use of a module compiles it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Emulator;

/// Compiles a module.
fn compile(module: Module) -> Library {
    let folder = tempfile::tempdir().expect("a folder for the kernels");
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let path = folder.path().join("kernels.so");
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-w", "-shared", "-o"]).arg(&path);
    // Fibers jump from stack to stack, which some systems' compilers take for an attack unless told otherwise.
    command.args(["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0"]);
    match module {
        Module::Common => {}
        Module::Pad(pad) => _ = command.arg(format!("-DPAD={pad}")),
        Module::Tensor(pad) => _ = command.args([format!("-DPAD={pad}"), "-DTENSOR".to_owned()]),
    }
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join("emulator.cpp"));
    let status = command.status().unwrap_or_else(|error| {
        panic!("a C++ compiler is needed for these tests, and {} cannot be run: {error}", compiler.display())
    });
    assert!(status.success(), "the C++ compiler failed");
    // SAFETY: the library was built just now, and its start only fills a list.
    unsafe { Library::new(&path) }.expect("a library that was built just now")
}

/// The library of a module; who needs one that is being compiled waits for it, and others go on.
fn library(module: Module) -> &'static Library {
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let library = *libraries.entry(module).or_insert_with(|| Box::leak(Box::default()));
    drop(libraries);
    library.get_or_init(|| compile(module))
}

impl Device for Emulator {
    type Memory = EmulatorMemory;
    type Kept = Vec<u8>;

    fn alloc(&self, bytes: usize) -> Result<EmulatorMemory, Error> {
        Ok(EmulatorMemory((0..bytes.div_ceil(16)).map(|_| UnsafeCell::new(0)).collect()))
    }

    fn address(&self, memory: &EmulatorMemory) -> u64 {
        memory.0.as_ptr() as u64
    }

    fn put(&self, memory: &mut EmulatorMemory, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= 16 * memory.0.len());
        // SAFETY: there is room for the bytes, and no kernel is running.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.0.as_ptr() as *mut u8, bytes.len()) };
        Ok(())
    }

    fn get(&self, memory: &EmulatorMemory, bytes: &mut [u8]) -> Result<(), Error> {
        assert!(bytes.len() <= 16 * memory.0.len());
        // SAFETY: there are so many bytes, and no kernel is running.
        unsafe { std::ptr::copy_nonoverlapping(memory.0.as_ptr().cast(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn keep(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(bytes.to_vec())
    }

    fn upload(&self, memory: &EmulatorMemory, from: &Vec<u8>) -> Result<(), Error> {
        assert!(from.len() <= 16 * memory.0.len());
        // SAFETY: there is room for the bytes, and no kernel is running.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), memory.0.as_ptr() as *mut u8, from.len()) };
        Ok(())
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        let missing = || Error::NoKernel(launch.kernel.to_owned());
        // SAFETY: the library has this function of this type.
        let run =
            unsafe { library(launch.module).get::<Run>(b"emulator_launch\0") }.map_err(|_| missing())?;
        let kernel = CString::new(launch.kernel).map_err(|_| missing())?;
        let bits = launch.arguments.iter();
        let mut arguments: Vec<*mut c_void> =
            bits.map(|bits| std::ptr::from_ref(bits).cast_mut().cast()).collect();
        // SAFETY: the caller says that these are the kernel's arguments.
        let outcome = unsafe {
            run(kernel.as_ptr(), launch.grid.as_ptr(), launch.threads, launch.shared, arguments.as_mut_ptr())
        };
        // As in emulator.h.
        let failed = |why: &str| Err(Error::Driver(launch.kernel, why.to_owned()));
        match outcome {
            1 => Ok(()),
            2 => failed("the launch is too large for a GPU"),
            3 => failed("it has written behind its shared memory"),
            _ => Err(missing()),
        }
    }

    fn has_tensor_cores(&self) -> bool {
        true
    }

    fn synchronise(&self) -> Result<(), Error> {
        Ok(())
    }
}
