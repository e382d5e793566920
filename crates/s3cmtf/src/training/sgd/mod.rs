//! The paper's algorithm: stochastic gradient descent, with an engine that is arranged for speed.

mod blocks;
mod cells;
mod engine;
mod epoch;
mod fit;
mod graph;
mod lanes;
mod lock_free;
mod merit;
mod method;
mod objective;
mod placement;
mod rate;
mod start;
mod team;
mod watch;
mod zeros;

pub(super) use fit::fit;
pub use objective::{Gradient, gradient, objective};
