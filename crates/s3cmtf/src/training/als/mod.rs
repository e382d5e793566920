//! Alternating least squares: every number solved for in turn, given all others, from several random starts.
//!
//! Where the data are exactly of the ranks that are asked for, that is found to the last digit, and it is seen that it was:
//! errors vanish. Nothing is centred and no concept is a constant. docs/method.md has the equations.

mod engine;
mod least_squares;
mod pass;
mod search;
mod state;

pub(super) use engine::AlsEngine;
