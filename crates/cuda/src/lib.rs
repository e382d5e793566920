//! The Gibbs sampler of s3cmtf on a GPU: slices in, slices out.
//!
//! All that an epoch touches is on the device: entries, rows, core, precisions, and the mean of draws. The host says what is
//! drawn next, and waits for nothing but what it asks for: [`Sampler::state`] and [`Sampler::squared_error`].
//!
//! A prediction is the core folded along one row of each mode. For the rows of a mode, a *chain* folds the core along the rows
//! of all other modes, once for each combination of them that occurs (`kernels/chain.cu`): what is left is an entry's *design*,
//! whose product with the row is the prediction. Sums over designs are all that a row's draw has to know (`kernels/sums.cu`,
//! `kernels/rows.cu`), and the way back through a chain gives the core's gradient. Where many entries share their rows in
//! all modes but one, sums over these take the entries' place ([`Form::Tuples`], `kernels/tuples.cu`).
//!
//! What the device has no room for stays on the host: lists of entries come to it in parts, in every pass ([`Form::StreamedEntries`]).
//!
//! Kernels are CUDA C++, compiled ahead of time and embedded; the driver is looked for when it is asked for
//! ([`CudaDevice::new`]), and its absence is an error. Sums have a fixed order and random numbers depend on what they are for,
//! so the same GPU gives the same bits.

mod arrange;
mod by_row;
mod chain;
mod core;
mod cuda;
mod device;
#[cfg(any(test, feature = "emulator"))]
mod emulator;
mod entry_list;
mod error;
mod evaluation;
mod graph;
mod held;
mod limited;
mod lists;
mod parts;
mod resize;
mod rows;
mod sampler;
mod scalars;
mod scales;
mod setup;
mod shares;
mod sort;
mod stage;
mod state;
mod stretch;
mod tables;
mod tasks;
mod terms;
#[cfg(test)]
mod tests;
mod transfer;
mod tuples;

pub use arrange::Entries;
pub use cuda::{CudaDevice, CudaKept, CudaMemory};
pub use device::{Device, Launch, Module, PADS};
#[cfg(any(test, feature = "emulator"))]
pub use emulator::{Emulator, EmulatorMemory};
pub use error::Error;
pub use evaluation::Evaluation;
pub use graph::Graph;
pub use limited::{Limited, LimitedMemory};
pub use sampler::Sampler;
pub use setup::{Form, PART, Setup};
pub use state::{Generator, MeanState, State, natural_len, zeros};
pub use terms::RowTerms;
