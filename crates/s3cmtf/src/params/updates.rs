//! In what order stochastic gradient descent visits the data, and who updates what: ours and the paper's.

use serde::{Deserialize, Serialize};

/// When the order of entries and cells is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Shuffle {
    /// Once per run; rounds of tasks are shuffled every epoch.
    #[default]
    Once,
    /// The paper's: every epoch is a new random order of all entries and cells, mixed.
    EveryEpoch,
}

impl Shuffle {
    /// Its name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            Shuffle::Once => "once",
            Shuffle::EveryEpoch => "every-epoch",
        }
    }
}

/// Who updates the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CoreUpdate {
    /// Every thread a copy of its own; copies are averaged.
    #[default]
    Averaged,
    /// The paper's: one thread, with the rate times the number of threads; the others read it.
    OneThread,
}

impl CoreUpdate {
    /// Its name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            CoreUpdate::Averaged => "averaged",
            CoreUpdate::OneThread => "one-thread",
        }
    }
}

/// How threads share the rows of modes that are small, which all of them update all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SmallModes {
    /// Every thread has a copy of its own; copies are averaged.
    #[default]
    Private,
    /// The paper's: as those of all other modes, without copies or locks.
    Shared,
}

impl SmallModes {
    /// Its name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            SmallModes::Private => "private",
            SmallModes::Shared => "shared",
        }
    }
}

/// How coupled matrices whose absent cells are zeros are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ZerosUpdate {
    /// One implicit step per epoch, which visits the non-zeros alone.
    #[default]
    Implicit,
    /// The paper's: a gradient step for every cell, zeros included.
    PerCell,
}

impl ZerosUpdate {
    /// Its name in the command and in files.
    pub fn name(self) -> &'static str {
        match self {
            ZerosUpdate::Implicit => "implicit",
            ZerosUpdate::PerCell => "per-cell",
        }
    }
}
