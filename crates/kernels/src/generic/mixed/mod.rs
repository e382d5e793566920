//! Entries of any outer rows: each has a `T` of its own, and what they share is the way through the core.
//!
//! With `W` the weights (an entry a row), `G` the core (a slice a row) and `P` the products `e a b'` (an entry a row):
//! `T = W G`, `h = P G'` and `G += rate W' P`. These are three products of matrices, and done as such: a tile of the
//! result stays in registers, so that a number is loaded once for several uses.
//!
//! All but the last have an entry in each *lane* of a vector: number `j` of all rows of a *group* of entries is one
//! vector. So no rank leaves lanes empty, and nothing is ever summed across a vector. The last one is a sum over
//! entries, and has the numbers of a slice in its lanes.

mod bilinear;
mod combine;
mod core_step;
mod lanes;
mod predict;

pub(crate) use bilinear::bilinear_mixed;
pub(crate) use combine::combine_mixed;
pub(crate) use core_step::spread_mixed;
pub(crate) use predict::predict_mixed;

/// Calls `$tile` with the size of the next tile as a constant: at most `$most`, itself at most 8, and so that all that
/// is `$left` falls into tiles of about one size. Evaluates to that size.
macro_rules! tiles {
    ($left:expr, $most:expr, $tile:ident::<$vector:ty $(, $constant:tt)*>($($argument:expr),*)) => {{
        let left: usize = $left;
        let size = left.div_ceil(left.div_ceil($most));
        match size {
            1 => $tile::<$vector $(, $constant)*, 1>($($argument),*),
            2 => $tile::<$vector $(, $constant)*, 2>($($argument),*),
            3 => $tile::<$vector $(, $constant)*, 3>($($argument),*),
            4 => $tile::<$vector $(, $constant)*, 4>($($argument),*),
            5 => $tile::<$vector $(, $constant)*, 5>($($argument),*),
            6 => $tile::<$vector $(, $constant)*, 6>($($argument),*),
            7 => $tile::<$vector $(, $constant)*, 7>($($argument),*),
            _ => $tile::<$vector $(, $constant)*, 8>($($argument),*),
        }
        size
    }};
}
use tiles;

/// The same for tiles of at most 5 by 4, whose two sizes are both constants.
macro_rules! small_tiles {
    ($left:expr, $most:expr, $tile:ident::<$vector:ty $(, $constant:tt)*>($($argument:expr),*)) => {{
        let left: usize = $left;
        let size = left.div_ceil(left.div_ceil($most));
        match size {
            1 => $tile::<$vector $(, $constant)*, 1>($($argument),*),
            2 => $tile::<$vector $(, $constant)*, 2>($($argument),*),
            3 => $tile::<$vector $(, $constant)*, 3>($($argument),*),
            4 => $tile::<$vector $(, $constant)*, 4>($($argument),*),
            _ => $tile::<$vector $(, $constant)*, 5>($($argument),*),
        }
        size
    }};
}
use small_tiles;

/// The larger of two sizes of a tile where there are 32 registers: with vectors of sixteen.
const fn by_registers<V: crate::vector::Vector>(many: usize, few: usize) -> usize {
    if V::LANES == 16 { many } else { few }
}
