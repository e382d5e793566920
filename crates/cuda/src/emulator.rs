//! A device that is none: the kernels compiled as plain C++, with threads that take turns.

use std::cell::UnsafeCell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;

use crate::Error;
use crate::device::{Device, Launch, Module, PADS};

type Run =
    unsafe extern "C" fn(*const c_char, *const c_char, *const c_uint, c_uint, *mut *mut c_void) -> c_int;

/// The library, in which each thread has a device of its own.
static LIBRARY: OnceLock<Library> = OnceLock::new();

/// Memory of the host, of which kernels have the address.
pub(crate) struct Memory(Box<[UnsafeCell<u128>]>);

// SAFETY: it is only used by one thread at a time: kernels run while their caller waits.
unsafe impl Send for Memory {}

/// The emulator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Emulator;

/// Compiles the kernels.
fn compile() -> Library {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let start = |command: &mut Command| {
        command.spawn().unwrap_or_else(|error| {
            panic!(
                "a C++ compiler is needed for these tests, and {} cannot be run: {error}",
                compiler.display()
            )
        })
    };
    let objects: Vec<_> = [None]
        .into_iter()
        .chain(PADS.map(Some))
        .map(|pad| (pad, folder.path().join(format!("{pad:?}.o"))))
        .collect();
    // Two at a time are enough for the smallest machines.
    for some in objects.chunks(2) {
        let compilers: Vec<_> = some
            .iter()
            .map(|(pad, object)| {
                let mut command = Command::new(&compiler);
                command.args(["-std=c++17", "-O1", "-fPIC", "-w", "-c", "-o"]).arg(object);
                if let Some(pad) = pad {
                    command.arg(format!("-DPAD={pad}"));
                }
                start(command.arg(source.join("emulator.cpp")))
            })
            .collect();
        for mut compiler in compilers {
            assert!(compiler.wait().unwrap().success(), "the C++ compiler failed");
        }
    }
    let path = folder.path().join("kernels.so");
    let mut command = Command::new(&compiler);
    command.args(["-shared", "-o"]).arg(&path).args(objects.iter().map(|(_, object)| object));
    assert!(start(&mut command).wait().unwrap().success(), "the C++ linker failed");
    // SAFETY: the library was built just now, and its start only fills a list.
    unsafe { Library::new(&path) }.unwrap()
}

impl Device for Emulator {
    type Memory = Memory;

    fn alloc(&self, bytes: usize) -> Result<Memory, Error> {
        Ok(Memory((0..bytes.div_ceil(16)).map(|_| UnsafeCell::new(0)).collect()))
    }

    fn address(&self, memory: &Memory) -> u64 {
        memory.0.as_ptr() as u64
    }

    fn put(&self, memory: &mut Memory, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= 16 * memory.0.len());
        // SAFETY: there is room for the bytes, and no kernel is running.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.0.as_ptr() as *mut u8, bytes.len()) };
        Ok(())
    }

    fn get(&self, memory: &Memory, bytes: &mut [u8]) -> Result<(), Error> {
        assert!(bytes.len() <= 16 * memory.0.len());
        // SAFETY: there are so many bytes, and no kernel is running.
        unsafe { std::ptr::copy_nonoverlapping(memory.0.as_ptr().cast(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), Error> {
        let library = LIBRARY.get_or_init(compile);
        // SAFETY: the library has this function of this type.
        let run = unsafe { library.get::<Run>(b"emulator_launch\0") }.unwrap();
        let module = match launch.module {
            Module::Common => "common".to_owned(),
            Module::Pad(pad) => format!("pad{pad}"),
        };
        let (module, kernel) = (CString::new(module).unwrap(), CString::new(launch.kernel).unwrap());
        let bits = launch.arguments.iter();
        let mut arguments: Vec<*mut c_void> =
            bits.map(|bits| std::ptr::from_ref(bits).cast_mut().cast()).collect();
        // SAFETY: the caller says that these are the kernel's arguments.
        let found = unsafe {
            run(
                module.as_ptr(),
                kernel.as_ptr(),
                launch.grid.as_ptr(),
                launch.threads,
                arguments.as_mut_ptr(),
            )
        };
        if found == 1 { Ok(()) } else { Err(Error::NoKernel(launch.kernel.to_owned())) }
    }

    fn synchronise(&self) -> Result<(), Error> {
        Ok(())
    }
}
