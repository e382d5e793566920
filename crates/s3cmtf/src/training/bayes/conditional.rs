//! The distribution of a mode's rows, given everything else.

use std::sync::atomic::AtomicBool;

use super::augmentation::Augmentation;
use super::clock::RowClock;
use super::coupled::Matrix;
use super::noise::Noise;
use super::random::Streams;
use super::zeros::RowZeros;
use crate::layout::View;
use crate::nodes::Nodes;
use crate::params;

/// All that the rows of a mode depend on.
pub(super) struct RowConditional<'a> {
    pub(super) view: &'a View,
    pub(super) ranks: &'a [usize],
    /// Every mode's rows.
    pub(super) factors: &'a [&'a [f32]],
    pub(super) core: &'a [f32],
    pub(super) noise: &'a Noise,
    /// The likelihood, if it is not Gaussian.
    pub(super) augmentation: Option<&'a Augmentation>,
    /// What absent cells say, if they are zeros.
    pub(super) zeros: Option<&'a RowZeros>,
    pub(super) matrices: &'a [Matrix],
    /// What matrices predict of the mode's rows: the mean of their prior, empty if that is zero.
    pub(super) means: &'a [f32],
    pub(super) streams: Streams,
    pub(super) without: &'a [params::Component],
    pub(super) nodes: &'a Nodes,
    pub(super) interrupt: &'a AtomicBool,
    /// If time is measured.
    pub(super) clock: Option<&'a RowClock>,
}
