//! Transcripts: the real command on real files, held against what it prints and the code it exits with.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[cfg(not(feature = "arrow"))]
compile_error!("transcripts write and read Parquet throughout: run them with --features arrow");

mod ablate;
mod bad;
mod bench;
mod check;
mod convert;
mod data;
mod demo;
mod discover;
mod errors;
mod export;
mod exports;
mod fit;
mod folds;
mod generate;
mod harness;
mod import;
mod later;
mod limits;
mod memory;
mod own;
mod predict;
mod recommend;
mod report;
mod reproduce;
mod resume;
mod save;
mod similar;
mod split;
mod tables;
#[cfg(unix)]
mod terminal;
mod tune;
mod usage;
