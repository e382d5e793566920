//! The methods that the paper compares with, as they were published and at their best (docs/opponents.md).
//!
//! Each is a [`Method`], which improves one list of numbers sweep by sweep; [`OpponentEngine`] is what they have in common for
//! the training loop. [`Data`] is what they are fitted to: entries less a [`Base`], in the order of each mode, and coupled
//! matrices.

mod base;
mod cmtf_als;
mod cmtf_opt;
mod cp;
mod data;
mod engine;
mod matrix;
mod method;
mod rows;
mod sals;
mod start;
#[cfg(test)]
mod tests;
mod tucker_als;

pub(super) use engine::OpponentEngine;
