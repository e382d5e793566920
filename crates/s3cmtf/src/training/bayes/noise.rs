//! How much entries scatter around their predictions.
//!
//! The precision of an entry is `tau` times a share of each of its rows: people differ in how predictable they are, and so
//! do the things that they rate. The shares of a mode have a gamma distribution of mean 1 around which they lie the closer,
//! the larger `nu` is; where all rows are alike, `nu` grows and the shares become 1. Shares are weights: what they must not
//! do is to follow the values that they weigh, see [`counted`] and [`level`].

use super::random::{Streams, gamma, pick_by};
use crate::likelihood::{self, ln_gamma};
use crate::parallel;

/// The values of `nu` that are told apart: 4, 5.7, 8 and so on. Below 4, variances of rows would have none themselves.
const LEAST: f64 = 4.0;
const STEPS: i32 = 22;
const STEP: f64 = std::f64::consts::SQRT_2;
/// A row's entries count as if so many more had to be waited for, see [`counted`].
const DISCOUNT: f64 = 30.0;
/// Rows with so many entries tell how much rows differ, if there are at least so many of them, and one of so many entries is
/// theirs; what a few busy rows say does not hold for all others.
const TELLING: u32 = 20;
const FEWEST: usize = 20;
const MOST_OF: u64 = 3;
/// About so many rows tell `nu` as well as all would,
const ROWS: usize = 2048;
/// and so many of them are a task, for all values of `nu`.
const TASK: usize = 32;
/// So many rows are a task where each takes little.
const PIECE: usize = 512;
/// Precisions beyond this are no longer told apart from an exact fit; the data have a spread of 1.
const MOST: f64 = 1e5;

/// The precisions of entries.
pub(super) struct Noise {
    pub(super) tau: f64,
    /// For each mode and row, the square root of its share.
    pub(super) roots: Vec<Vec<f32>>,
    pub(super) nu: Vec<f64>,
    /// The precision of the prior of concepts that interact, see [`Calibration`](super::calibration::Calibration).
    pub(super) hurdle: f64,
    /// For each mode and row, how many entries it has.
    pub(super) counts: Vec<Vec<u32>>,
    /// For each mode the rows that tell how much rows differ, none if those are too few.
    telling: Vec<Vec<u32>>,
}

impl Noise {
    /// All rows alike; `counts` are each row's entries.
    pub(super) fn new(counts: Vec<Vec<u32>>) -> Self {
        let roots = counts.iter().map(|counts| vec![1.0; counts.len()]).collect();
        let mut noise = Noise {
            tau: 1.0,
            roots,
            nu: vec![10.0; counts.len()],
            hurdle: 1.0,
            counts: Vec::new(),
            telling: Vec::new(),
        };
        noise.count(counts);
        noise
    }

    /// Takes up how many entries each row has.
    pub(super) fn count(&mut self, counts: Vec<Vec<u32>>) {
        self.telling = counts.iter().map(|counts| telling(counts)).collect();
        self.counts = counts;
    }

    /// Draws `tau`, given the sum of squared errors of all entries, each times its rows' shares.
    pub(super) fn draw_tau(&mut self, squares: f64, entries: f64, streams: Streams) {
        let mut generator = streams.tau();
        let (shape, rate) = likelihood::precision(entries, squares);
        self.tau = gamma(&mut generator, shape, rate).min(MOST);
    }

    /// Draws the shares of a mode's rows, given each row's sum of squared errors times the shares of the other modes, and its
    /// offset.
    pub(super) fn draw_shares(
        &mut self,
        mode: usize,
        squares: &[f64],
        level_of: &(dyn Fn(usize) -> f32 + Sync),
        streams: Streams,
    ) {
        let (counts, tau) = (&self.counts[mode], self.tau);
        let row = |row: usize| {
            let (count, part) = (f64::from(counts[row]), counted(counts[row]));
            (count * part, squares[row] * tau * part)
        };
        if self.telling[mode].is_empty() {
            return;
        }
        // The shares themselves are summed out here, so that `nu` is free to move.
        let likelihood = |nu: f64, seen: &[(f64, f64)]| -> f64 {
            let constant = 0.5 * nu * (0.5 * nu).ln() - ln_gamma(0.5 * nu);
            let one = |&(count, sum): &(f64, f64)| {
                let shape = 0.5 * (nu + count);
                constant + ln_gamma(shape) - shape * (0.5 * (nu + sum)).ln()
            };
            seen.iter().map(one).sum()
        };
        let values: Vec<f64> = (0..STEPS).map(|step| LEAST * STEP.powi(step)).collect();
        let parts: Vec<Vec<f64>> = parallel::map_of(self.telling[mode].chunks(TASK), |rows| {
            let seen: Vec<(f64, f64)> = rows.iter().map(|&telling| row(telling as usize)).collect();
            values.iter().map(|&nu| likelihood(nu, &seen)).collect()
        });
        let logs: Vec<f64> =
            (0..values.len()).map(|place| parts.iter().map(|part| part[place]).sum()).collect();
        let nu = pick_by(&mut streams.shares(mode), &values, &logs);
        // What one of them may be, so that all of them and `tau` are not beyond what can be told apart: where nearly all
        // entries are fitted exactly, every row would be more predictable than the others.
        let most = (MOST / tau).max(1.0).powf(1.0 / self.counts.len() as f64);
        let roots = &mut self.roots[mode];
        let levels = parallel::map_of(roots.chunks_mut(PIECE).enumerate(), |(piece, roots)| {
            for (place, root) in (piece * PIECE..).zip(roots.iter_mut()) {
                let (count, sum) = row(place);
                let mut generator = streams.share(mode, place);
                *root = gamma(&mut generator, 0.5 * (nu + count), 0.5 * (nu + sum)).min(most).sqrt() as f32;
            }
            Levels::new(roots, &counts[piece * PIECE..], |row| level_of(piece * PIECE + row))
        });
        level(roots, levels, level_of);
        self.nu[mode] = nu;
    }
}

/// The part of a row's entries that counts where the row's share is drawn. A share that a few entries decide is large where they
/// happen to agree, and what agrees is mostly what is most frequent: predictions would be drawn towards that, and
/// away from the mean.
pub(in crate::training) fn counted(entries: u32) -> f64 {
    f64::from(entries) / (f64::from(entries) + DISCOUNT)
}

/// The rows that tell how much rows differ, given how many entries each has; none if they are too few.
fn telling(counts: &[u32]) -> Vec<u32> {
    let tells = |row: &u32| counts[*row as usize] >= TELLING;
    let telling: Vec<u32> = (0..counts.len() as u32).filter(tells).collect();
    let told: u64 = telling.iter().map(|&row| u64::from(counts[row as usize])).sum();
    let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if telling.len() < FEWEST || MOST_OF * told < all {
        return Vec::new();
    }
    let step = telling.len().div_ceil(ROWS);
    telling.into_iter().step_by(step).collect()
}

/// Sums over entries of their rows' level and of the logarithm of their rows' root, of squares and products.
#[derive(Default)]
struct Levels {
    entries: f64,
    levels: f64,
    logs: f64,
    squares: f64,
    products: f64,
}

impl Levels {
    fn new(roots: &[f32], counts: &[u32], level_of: impl Fn(usize) -> f32) -> Self {
        let mut sums = Levels::default();
        for (row, (&root, &count)) in roots.iter().zip(counts).enumerate() {
            let (count, level, log) = (f64::from(count), f64::from(level_of(row)), f64::from(root).ln());
            sums.entries += count;
            sums.levels += count * level;
            sums.logs += count * log;
            sums.squares += count * level * level;
            sums.products += count * level * log;
        }
        sums
    }

    fn add(self, other: Self) -> Self {
        Levels {
            entries: self.entries + other.entries,
            levels: self.levels + other.levels,
            logs: self.logs + other.logs,
            squares: self.squares + other.squares,
            products: self.products + other.products,
        }
    }
}

/// Takes out of shares what follows the offset of their rows, given the sums over parts of them. Values near the end of a scale scatter
/// less; rows that have many of them would count more than others, and all predictions would move towards that end.
fn level(roots: &mut [f32], parts: Vec<Levels>, level_of: &(dyn Fn(usize) -> f32 + Sync)) {
    let sums = parts.into_iter().fold(Levels::default(), Levels::add);
    let spread = sums.squares - sums.levels * sums.levels / sums.entries;
    if !(sums.entries > 0.0 && spread > 1e-9 * sums.entries) {
        return;
    }
    let slope = (sums.products - sums.levels * sums.logs / sums.entries) / spread;
    let mean = sums.levels / sums.entries;
    parallel::change(roots, |row, root| {
        *root *= (-slope * (f64::from(level_of(row)) - mean)).exp() as f32;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_rows_errors_and_are_one_where_rows_are_alike() {
        let counts = vec![vec![400; 50]];
        let mut noise = Noise::new(counts);
        // Every other row scatters three times as much.
        let squares: Vec<f64> = (0..50).map(|row| if row % 2 == 0 { 400.0 } else { 3600.0 }).collect();
        noise.draw_shares(0, &squares, &|_| 0.0, Streams { seed: 1, epoch: 1 });
        let share = |row: usize| f64::from(noise.roots[0][row]).powi(2);
        let average = |first: usize| (first..50).step_by(2).map(share).sum::<f64>() / 25.0;
        assert!((average(0) / average(1) - 9.0).abs() < 2.0, "{} {}", average(0), average(1));
        noise.draw_shares(0, &[400.0; 50], &|_| 0.0, Streams { seed: 1, epoch: 2 });
        assert!(noise.nu[0] > 100.0 && noise.roots[0].iter().all(|root| (root - 1.0).abs() < 0.2));
    }

    #[test]
    fn rows_of_a_few_entries_have_no_share_of_their_own() {
        let mut noise = Noise::new(vec![vec![2; 500]]);
        // Every other row fits exactly.
        let squares: Vec<f64> = (0..500).map(|row| if row % 2 == 0 { 0.0 } else { 4.0 }).collect();
        noise.draw_shares(0, &squares, &|_| 0.0, Streams { seed: 1, epoch: 1 });
        assert!(noise.roots[0].iter().all(|&root| root == 1.0));
    }

    #[test]
    fn shares_do_not_follow_offsets() {
        let levels: Vec<f32> = (0..200).map(|row| (row % 20) as f32 / 10.0 - 1.0).collect();
        let counts = vec![40; 200];
        let mut roots: Vec<f32> =
            levels.iter().enumerate().map(|(row, level)| (0.3 * level).exp() * [0.9, 1.1][row % 2]).collect();
        let level_of = |row: usize| levels[row];
        let sums = Levels::new(&roots, &counts, level_of);
        level(&mut roots, vec![sums], &level_of);
        let at = |wanted: f32| {
            let rows = || roots.iter().zip(&levels).filter(|(_, level)| **level * wanted > 0.0);
            rows().map(|(root, _)| root.ln()).sum::<f32>() / rows().count() as f32
        };
        assert!((at(1.0) - at(-1.0)).abs() < 0.12, "{} {}", at(1.0), at(-1.0));
        // What has nothing to do with them stays.
        assert!((roots[1] / roots[0] - 1.1 / 0.9 * (0.1f32 * 0.3).exp()).abs() < 0.2);
    }
}
