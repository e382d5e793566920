//! What can go wrong between the host and a GPU.

use std::fmt;

/// Why there is no GPU, or no result of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No driver of NVIDIA GPUs is installed.
    NoDriver,
    /// The driver is older than what the kernels were compiled for: its version and the least, as CUDA counts them.
    OldDriver(i32, i32),
    /// There is a driver, and no GPU of this number.
    NoDevice(usize),
    /// The GPU is older than what the kernels were compiled for: its compute capability.
    OldDevice(i32, i32),
    /// So many bytes could not be had on the GPU.
    OutOfMemory(usize),
    /// So many bytes could not be had on the host, where a GPU reads them.
    OutOfHostMemory(usize),
    /// A call of the driver failed: which, and what the driver says of it.
    Driver(&'static str, String),
    /// There is no kernel of this name.
    NoKernel(String),
    /// The problem has no form that can be computed: why.
    Problem(String),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = |version: &i32| format!("{}.{}", version / 1000, version % 1000 / 10);
        match self {
            Error::NoDriver => {
                write!(to, "no NVIDIA driver is installed: its library (libcuda) was not found")
            }
            Error::OldDriver(found, least) => write!(
                to,
                "the NVIDIA driver supports CUDA {}, but {} is needed: install a newer driver",
                version(found),
                version(least)
            ),
            Error::NoDevice(number) => write!(to, "there is no GPU number {number} that CUDA could use"),
            Error::OldDevice(major, minor) => {
                write!(to, "the GPU has compute capability {major}.{minor}, but 7.0 is needed")
            }
            Error::OutOfMemory(bytes) => {
                write!(to, "the GPU has no room for {bytes} more bytes: choose a smaller rank")
            }
            Error::OutOfHostMemory(bytes) => {
                write!(
                    to,
                    "this machine has no room for {bytes} more bytes of entries that are sent to the GPU"
                )
            }
            Error::Driver(call, why) => write!(to, "the NVIDIA driver failed in {call}: {why}"),
            Error::NoKernel(name) => write!(to, "there is no kernel named {name}"),
            Error::Problem(why) => write!(to, "{why}"),
        }
    }
}

impl std::error::Error for Error {}
