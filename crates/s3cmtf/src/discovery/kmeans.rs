//! k-means: centres such that points are near theirs.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::parallel;

/// Points are summed in pieces of this many, in a fixed order, so that sums do not depend on the threads.
const PIECE: usize = 2048;
const ROUNDS: usize = 100;
/// Points whose distances are summed at once. Each sum is one addition after another, in the order of a point's numbers; several
/// at once take no longer.
const LANES: usize = 16;

/// Points by the nearest of some centres.
pub(super) struct Means {
    pub(super) centres: Vec<f32>,
    pub(super) nearest: Vec<u32>,
    /// The sum of squared distances of the points from their centres.
    pub(super) scatter: f64,
}

/// How k-means is run.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// The starts, of which the best is kept; each is another draw of the seed.
    pub(super) starts: u64,
    /// It ends where a round lowers the scatter by less than this part of it.
    pub(super) close: f64,
    pub(super) seed: u64,
}

/// The best of several starts.
pub(super) fn means(points: &[f32], size: usize, k: usize, search: Search) -> Means {
    let blocks = Blocks::new(points, size);
    let Search { starts, close, seed } = search;
    let runs: Vec<Means> =
        (0..starts.max(1)).map(|start| one_start(points, &blocks, k, close, mix(seed, start))).collect();
    let best = runs.into_iter().min_by(|a, b| a.scatter.total_cmp(&b.scatter));
    best.unwrap_or(Means { centres: Vec::new(), nearest: Vec::new(), scatter: 0.0 })
}

fn mix(seed: u64, number: u64) -> u64 {
    (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Points in blocks of as many as there are lanes: one number of each, then the next. The last block may have lanes too many.
struct Blocks {
    values: Vec<[f32; LANES]>,
    size: usize,
    count: usize,
}

impl Blocks {
    fn new(points: &[f32], size: usize) -> Self {
        let count = points.len() / size;
        let mut values = vec![[0.0; LANES]; count.div_ceil(LANES) * size];
        for (place, point) in points.chunks_exact(size).enumerate() {
            let block = &mut values[place / LANES * size..][..size];
            block.iter_mut().zip(point).for_each(|(lanes, &value)| lanes[place % LANES] = value);
        }
        Self { values, size, count }
    }
}

/// The squared distances of a block's points from a centre.
#[inline]
fn squared(block: &[[f32; LANES]], centre: &[f32]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    for (lanes, centre) in block.iter().zip(centre) {
        for (sum, value) in sums.iter_mut().zip(lanes) {
            let difference = value - centre;
            *sum += difference * difference;
        }
    }
    sums
}

fn one_start(points: &[f32], blocks: &Blocks, k: usize, close: f64, seed: u64) -> Means {
    let size = blocks.size;
    let mut centres = spread_out(points, blocks, k, seed);
    let mut found = assign(blocks, &centres);
    for _ in 0..ROUNDS {
        let moved = average(points, size, &found, &centres);
        let next = assign(blocks, &moved);
        let done = next.1 >= found.1 * (1.0 - close);
        (centres, found) = (moved, next);
        if done {
            break;
        }
    }
    let nearest = found.0.into_iter().map(|(centre, _)| centre).collect();
    Means { centres, nearest, scatter: found.1 }
}

/// Starting centres far from each other: each a point, the likelier the farther it is from those before it (k-means++).
fn spread_out(points: &[f32], blocks: &Blocks, k: usize, seed: u64) -> Vec<f32> {
    let &Blocks { size, count, .. } = blocks;
    let point = |place: usize| &points[place * size..(place + 1) * size];
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut centres: Vec<f32> = point(generator.random_range(0..count)).to_vec();
    let mut distances = vec![f64::INFINITY; count];
    while centres.len() < k * size {
        let last = &centres[centres.len() - size..];
        parallel::chunks_mut(&mut distances, PIECE, |piece, distances| {
            let blocks = blocks.values[piece * PIECE / LANES * size..].chunks_exact(size);
            for (distances, block) in distances.chunks_mut(LANES).zip(blocks) {
                for (distance, to_last) in distances.iter_mut().zip(squared(block, last)) {
                    *distance = distance.min(f64::from(to_last));
                }
            }
        });
        let total: f64 = distances.iter().sum();
        let mut left = generator.random_range(0.0..1.0) * total;
        let chosen = distances.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        // Fewer different points than centres: the rest are the same.
        centres.extend_from_slice(point(chosen.unwrap_or(count - 1)));
    }
    centres
}

/// The nearest centre of each point and its squared distance, and the sum of those.
fn assign(blocks: &Blocks, centres: &[f32]) -> (Vec<(u32, f64)>, f64) {
    let &Blocks { size, count, .. } = blocks;
    let mut found = vec![(0u32, 0.0f64); count];
    let look = |block: &[[f32; LANES]], found: &mut [(u32, f64)]| {
        let (mut nearest, mut least) = ([0u32; LANES], [f32::INFINITY; LANES]);
        for (centre, place) in centres.chunks_exact(size).zip(0u32..) {
            let distances = squared(block, centre);
            for ((nearest, least), distance) in nearest.iter_mut().zip(&mut least).zip(distances) {
                // The first of those that are as near.
                let is_nearer = distance < *least;
                *nearest = if is_nearer { place } else { *nearest };
                *least = if is_nearer { distance } else { *least };
            }
        }
        let both = nearest.into_iter().zip(least);
        found.iter_mut().zip(both).for_each(|(found, (centre, least))| *found = (centre, f64::from(least)));
    };
    parallel::chunks_mut(&mut found, PIECE / 8, |piece, found| {
        let blocks = blocks.values[piece * (PIECE / 8) / LANES * size..].chunks_exact(size);
        found.chunks_mut(LANES).zip(blocks).for_each(|(found, block)| look(block, found));
    });
    let sums: Vec<f64> =
        parallel::map_of(found.chunks(PIECE), |piece| piece.iter().map(|(_, distance)| distance).sum());
    let total = sums.into_iter().sum();
    (found, total)
}

/// The mean of each centre's points; a centre without any takes the point that is farthest from its own.
fn average(points: &[f32], size: usize, found: &(Vec<(u32, f64)>, f64), centres: &[f32]) -> Vec<f32> {
    let k = centres.len() / size;
    let mut sums = vec![0.0f64; k * size];
    let mut counts = vec![0usize; k];
    for (point, &(centre, _)) in points.chunks_exact(size).zip(&found.0) {
        let centre = centre as usize;
        counts[centre] += 1;
        let sums = &mut sums[centre * size..(centre + 1) * size];
        sums.iter_mut().zip(point).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    let mut far: Vec<usize> = Vec::new();
    if counts.contains(&0) {
        far = (0..found.0.len()).collect();
        far.sort_by(|&a, &b| found.0[a].1.total_cmp(&found.0[b].1));
    }
    let mut moved = Vec::with_capacity(k * size);
    for (sums, count) in sums.chunks_exact(size).zip(counts) {
        match (count, far.pop()) {
            (0, Some(place)) => moved.extend_from_slice(&points[place * size..(place + 1) * size]),
            (count, unused) => {
                far.extend(unused);
                moved.extend(sums.iter().map(|sum| (sum / count.max(1) as f64) as f32));
            }
        }
    }
    moved
}

/// How well two ways to group the same things agree: 1 if they are the same, 0 if no better than by chance (the adjusted
/// Rand index of Hubert and Arabie).
pub fn agreement(a: &[u32], b: &[u32]) -> f64 {
    let mut cells = std::collections::HashMap::new();
    let (mut rows, mut columns) = (cells.clone(), cells.clone());
    for (&a, &b) in a.iter().zip(b) {
        *cells.entry((a, b)).or_insert(0u64) += 1;
        *rows.entry((a, 0)).or_insert(0) += 1;
        *columns.entry((0, b)).or_insert(0) += 1;
    }
    let pairs = |counts: &std::collections::HashMap<(u32, u32), u64>| -> f64 {
        counts.values().map(|&count| (count * (count - 1) / 2) as f64).sum()
    };
    let (both, rows, columns) = (pairs(&cells), pairs(&rows), pairs(&columns));
    let n = a.len().min(b.len()) as f64;
    let expected = rows * columns / (n * (n - 1.0) / 2.0).max(1.0);
    let most = 0.5 * (rows + columns);
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &[f32], b: &[f32]) -> f64 {
        f64::from(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>())
    }

    #[test]
    fn points_around_centres_find_them() {
        let centres = [[0.0f32, 0.0], [5.0, 1.0], [-3.0, 4.0], [2.0, -6.0]];
        let planted: Vec<u32> = (0..400).map(|place| place % 4).collect();
        let noise = |seed: u32| ((seed * 7919 % 1009) as f32 / 1009.0 - 0.5) * 1.2;
        let points: Vec<f32> = planted
            .iter()
            .zip(0u32..)
            .flat_map(|(&group, place)| {
                let [x, y] = centres[group as usize];
                [x + noise(place), y + noise(place + 7777)]
            })
            .collect();
        let search = Search { starts: 5, close: 1e-7, seed: 1 };
        let found = means(&points, 2, 4, search);
        assert_eq!(agreement(&planted, &found.nearest), 1.0);
        let sum: f64 = points
            .chunks(2)
            .zip(&found.nearest)
            .map(|(point, &centre)| distance(point, &found.centres[centre as usize * 2..][..2]))
            .sum();
        assert!((sum - found.scatter).abs() < 1e-9 * sum);
        assert_eq!(found.nearest, means(&points, 2, 4, search).nearest);
        // More centres than different points.
        assert_eq!(means(&[1.0, 1.0, 1.0], 1, 3, search).scatter, 0.0);
    }

    /// To the bit: lanes are no other sums.
    #[test]
    fn the_nearest_centre_is_that_of_distances_one_by_one() {
        let number = |seed: usize| (seed * 7919 % 1009) as f32 / 1009.0 - 0.5;
        for (count, size, k) in [(1, 1, 1), (15, 3, 7), (16, 10, 8), (200, 12, 9), (5000, 5, 30)] {
            let points: Vec<f32> = (0..count * size).map(number).collect();
            // The last is the first again, which is taken.
            let mut centres: Vec<f32> = (0..k * size).map(|place| number(place * 31 + 5)).collect();
            centres.extend_from_within(..size);
            let (found, total) = assign(&Blocks::new(&points, size), &centres);
            let nearest = |point: &[f32]| {
                let distances = centres.chunks(size).map(|centre| distance(point, centre));
                let best = distances.zip(0u32..).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                (best.1, best.0)
            };
            assert_eq!(found, points.chunks(size).map(nearest).collect::<Vec<_>>());
            assert!(found.iter().all(|&(centre, _)| centre < k as u32));
            let sum: f64 = found.iter().map(|(_, distance)| distance).sum();
            assert!((sum - total).abs() <= 1e-12 * sum);
        }
    }

    #[test]
    fn agreement_is_that_of_known_tables() {
        assert_eq!(agreement(&[0, 0, 1, 1], &[5, 5, 2, 2]), 1.0);
        // Worked out by hand: pairs 1 in both, 2 and 2 in each, 6 in all.
        let expected = (0.0 - 2.0 * 2.0 / 6.0) / (2.0 - 2.0 * 2.0 / 6.0);
        assert!((agreement(&[0, 0, 1, 1], &[0, 1, 0, 1]) - expected).abs() < 1e-12);
        assert_eq!(agreement(&[0, 0], &[1, 1]), 1.0);
    }
}
