//! The words of the flags that tell our gradient descent from the paper's.

use clap::ValueEnum;
use s3cmtf::{CoreUpdate, Shuffle, SmallModes, ZerosUpdate};

/// The words of `--shuffle`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ShuffleChoice {
    /// Once per run; blocks of entries are shuffled every epoch
    Once,
    /// As in the paper: every epoch is a new random order of all entries and cells; with --scheme lock-free and --method opt or naive
    EveryEpoch,
}

impl From<ShuffleChoice> for Shuffle {
    fn from(choice: ShuffleChoice) -> Self {
        match choice {
            ShuffleChoice::Once => Shuffle::Once,
            ShuffleChoice::EveryEpoch => Shuffle::EveryEpoch,
        }
    }
}

/// The words of `--core-update`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CoreUpdateChoice {
    /// Every thread updates a copy; copies are averaged
    Averaged,
    /// As in the paper: one thread, with the rate times the number of threads; with --scheme lock-free
    OneThread,
}

impl From<CoreUpdateChoice> for CoreUpdate {
    fn from(choice: CoreUpdateChoice) -> Self {
        match choice {
            CoreUpdateChoice::Averaged => CoreUpdate::Averaged,
            CoreUpdateChoice::OneThread => CoreUpdate::OneThread,
        }
    }
}

/// The words of `--small-modes`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SmallModesChoice {
    /// Every thread updates a copy; copies are averaged
    Private,
    /// As in the paper: as those of all other modes; with --scheme lock-free
    Shared,
}

impl From<SmallModesChoice> for SmallModes {
    fn from(choice: SmallModesChoice) -> Self {
        match choice {
            SmallModesChoice::Private => SmallModes::Private,
            SmallModesChoice::Shared => SmallModes::Shared,
        }
    }
}

/// The words of `--zeros-update`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ZerosUpdateChoice {
    /// One implicit step per epoch, which visits the non-zeros alone
    Implicit,
    /// As in the paper: a gradient step for every cell, zeros included
    PerCell,
}

impl From<ZerosUpdateChoice> for ZerosUpdate {
    fn from(choice: ZerosUpdateChoice) -> Self {
        match choice {
            ZerosUpdateChoice::Implicit => ZerosUpdate::Implicit,
            ZerosUpdateChoice::PerCell => ZerosUpdate::PerCell,
        }
    }
}
