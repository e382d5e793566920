//! Transcripts: the real command on real files, held against what it prints and the code it exits with.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod bench;
mod check;
mod data;
mod demo;
mod fit;
mod folds;
mod generate;
mod harness;
mod predict;
mod save;
mod tune;
mod usage;
