//! Places of a model's scalars in their list on the device, see `Scalars` in device.h.

use crate::chain::MOST_MODES;

pub(crate) const TAU: usize = 0;
pub(crate) const HURDLE: usize = 1;
/// The sum of squared errors of the last pass.
pub(crate) const SQUARES: usize = 2;
/// The mean of 1 / tau; two that conjugate gradients need are before it.
pub(crate) const VARIANCE: usize = 5;
/// The first of a number for each mode.
pub(crate) const NU: usize = 6;
/// How many there are.
pub(crate) const COUNT: usize = NU + MOST_MODES;
