//! The paper's algorithm: stochastic gradient descent, with an engine that is arranged for speed.

mod blocks;
mod cells;
mod copies;
mod divergence;
mod engine;
mod epoch;
mod graph;
mod lanes;
mod lock_free;
mod method;
mod objective;
mod placement;
mod random_order;
mod rate;
mod relative_objective;
mod start;
mod team;
mod visits;
mod workspace;

mod zeros;

pub(super) use engine::SgdEngine;
pub use objective::{Gradient, gradient, objective};
