//! One thin shell of the generic kernels per instruction set, and the choice between them.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use crate::buffers::Buffers;
use crate::generic::{GROUP, Named, Perturbed, Tables, Weights};
use crate::rows::Rows;
use crate::vector::Plain;
use crate::{Level, Shape, Side, Step, Sums, generic};

/// For each kernel a function that runs it on a level. The caller has checked the level and all lengths
/// (`Kernels::new` and the public methods of `Kernels`).
macro_rules! dispatch {
    ($(fn $kernel:ident$(<$rows:ident>)?($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
            pub(crate) fn $kernel$(<$rows: Rows>)?(level: Level, $($argument: $type),*) $(-> $result)? {
                match level {
                    // SAFETY: plain Rust runs anywhere; the caller has checked lengths and ranks.
                    Level::Portable => unsafe { generic::$kernel::<Plain $(, $rows)?>($($argument),*) },
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => {
                        #[target_feature(enable = "avx2,fma")]
                        #[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
                        fn shell$(<$rows: Rows>)?($($argument: $type),*) $(-> $result)? {
                            // SAFETY: this function has the instructions; the caller has checked lengths and ranks.
                            unsafe { generic::$kernel::<x86_64::Ymm $(, $rows)?>($($argument),*) }
                        }
                        // SAFETY: `Kernels::new` has seen that the machine has AVX2 and FMA.
                        unsafe { shell($($argument),*) }
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => {
                        #[target_feature(enable = "avx512f")]
                        #[allow(clippy::too_many_arguments, reason = "a kernel's arguments")]
                        fn shell$(<$rows: Rows>)?($($argument: $type),*) $(-> $result)? {
                            // SAFETY: this function has the instructions; the caller has checked lengths and ranks.
                            unsafe { generic::$kernel::<x86_64::Zmm $(, $rows)?>($($argument),*) }
                        }
                        // SAFETY: `Kernels::new` has seen that the machine has AVX-512.
                        unsafe { shell($($argument),*) }
                    }
                    #[cfg(target_arch = "aarch64")]
                    // SAFETY: every aarch64 machine has NEON; the caller has checked lengths and ranks.
                    Level::Neon => unsafe { generic::$kernel::<neon::Quad $(, $rows)?>($($argument),*) },
                    #[allow(unreachable_patterns, reason = "levels of other machines")]
                    _ => unreachable!("Kernels::new refuses levels that this machine does not have"),
                }
            }
        )*
    };
}

dispatch! {
    fn chains(links: usize, factor: f32) -> f32;
    fn combine(shape: &Shape, core: &[f32], weights: &[f32], buffers: &mut Buffers);
    fn bilinear<R>(shape: &Shape, p: &mut Side<'_, R>, q: &mut Side<'_, R>, values: &[f32], step: Step, buffers: &mut Buffers) -> Sums;
    fn core_step(shape: &Shape, core: &mut [f32], weights: &[f32], reg: f32, step: Step, buffers: &Buffers, h: &mut [f32]);
    fn diagonal<R>(shape: &Shape, p: &mut Side<'_, R>, q: &mut Side<'_, R>, values: &[f32], step: Step, d: &[f32], m: &mut [f32], buffers: &mut Buffers) -> Sums;
    fn predict(shape: &Shape, p: &Side<'_, &[f32]>, q: &Side<'_, &[f32]>, buffers: &mut Buffers, predictions: &mut [f32]);
    fn load_rows<R>(side: &Side<'_, R>, to: &mut [f32]);
    fn step_rows<R>(side: &mut Side<'_, R>, gradients: &[f32], rates: &[f32], times: f32, step: Step);
    fn combine_mixed(shape: &Shape, core: &[f32], weights: &[f32], buffers: &mut Buffers);
    fn bilinear_mixed<R>(shape: &Shape, p: &mut Side<'_, R>, q: &mut Side<'_, R>, values: &[f32], step: Step, buffers: &mut Buffers, predictions: &mut [f32], squares: &mut [f32]) -> Sums;
    fn spread_mixed(shape: &Shape, core: &mut [f32], weights: &[f32], reg: f32, step: Step, buffers: &mut Buffers, h: &mut [f32]);
    fn predict_mixed(shape: &Shape, p: &Side<'_, &[f32]>, q: &Side<'_, &[f32]>, buffers: &mut Buffers, predictions: &mut [f32]);
    fn fold(slices: &[f32], weights: &[f32], out: &mut [f32]);
    fn unfold(slice: &[f32], weights: &[f32], slices: &mut [f32]);
    fn design(tables: Tables<'_>, named: Named<'_>, scales: &[f32], d: &mut [f32], targets: &mut [f32]);
    fn gram(d: &[f32], pad: usize, rank: usize, values: &[f32], squares: &mut [f32], products: &mut [f32]);
    fn pair(named: Named<'_>, targets: &mut [f32], squares: &mut [f32], products: &mut [f32]);
    fn widen(totals: &mut [[f64; GROUP]], sums: &[f32], pad: usize, fresh: bool);
    fn weigh(totals: &[[f64; GROUP]], weight: f64, matrix: &mut [[f64; GROUP]]);
    fn approach(matrix: &[[f64; GROUP]], stride: usize, share: f32, numbers: &mut [f32]);
    fn square(totals: &[[f64; GROUP]], rank: usize, x: &[[f64; GROUP]]) -> f64;
    fn factorize(matrix: &mut [[f64; GROUP]], diagonal: &[f64], reciprocals: &mut [f64]);
    fn solve(matrix: &[[f64; GROUP]], reciprocals: &[f64], numbers: &[f64], x: &mut [[f64; GROUP]]);
    fn project(w: &[f32], named: Named<'_>, ends: &[u32], out: &mut [f32]);
    fn collect(named: Named<'_>, ends: &[u32], weights: &[f32], sums: &mut [f32]);
    fn fold_runs(slices: &[f32], weights: Weights<'_>, scales: &[f32], pad: usize, out: &mut [f32]);
    fn unfold_runs(sums: &[f32], weights: Weights<'_>, pad: usize, slices: &mut [f32]);
    fn product(slices: &[f32], weights: (Weights<'_>, &[f32]), entries: (Named<'_>, &[u32]), buffer: &mut [f32], products: &mut [f32]);
    fn residuals(slices: &[f32], weights: (Weights<'_>, &[f32]), entries: (Named<'_>, &[u32]), perturbed: Perturbed<'_>, buffer: &mut [f32], gradients: &mut [f32]) -> f64;
}
