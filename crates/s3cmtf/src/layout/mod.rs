//! Entries and the core in the order in which kernels go through them.
//!
//! [`Chunks`] are for steps and predictions: entries that share rows stand together, and a [`Contraction`] says what becomes of
//! the core along them. A [`View`] is for sums over rows: all entries of a row stand together, in memory or elsewhere.

mod arrange;
mod arranged;
mod budget;
mod build;
mod chunks;
mod contraction;
mod core_order;
mod cut;
mod distinct;
mod grouping;
mod packed;
mod partner_rows;
mod predict;
mod share;
mod sorted;
mod view;

#[cfg(test)]
pub(crate) use arrange::tests as view_tests;
pub(crate) use arranged::{Arrangement, EntryStats, routed};
pub use budget::{MemoryBudget, Scratch};
pub(crate) use chunks::{Chunks, Position};
pub(crate) use contraction::{Contraction, Scratch as ContractionScratch, zeros_apart};
pub(crate) use core_order::{CoreOrder, concepts};
pub(crate) use grouping::{Order, deal};
pub(crate) use partner_rows::PartnerRows;
pub(crate) use share::{PIECE, Share};
pub(crate) use view::{Block, EntryRun, Piece, TOGETHER, View};
