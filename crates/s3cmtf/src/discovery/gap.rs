//! How many clusters there are: the gap statistic of Tibshirani, Walther and Hastie (2001).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use super::kmeans::{Search, means};
use super::known;
use super::matrix::{Moments, eigen};
use crate::parallel;
use crate::{Error, Factor, Model};

/// Points beyond this many are not looked at; a few thousand tell as much.
const MOST: usize = 4000;
/// How many sets of points without clusters are drawn, and the starts of each clustering.
const SETS: u64 = 10;
const STARTS: u64 = 3;
/// Points without clusters go on moving for long, and logarithms of their scatter differ by a hundred times this from set to set.
const CLOSE: f64 = 1e-4;
/// See [`pick`].
const HARDLY: f64 = 0.2;

/// How much better points fall into `k` clusters than points without any would.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Gap {
    /// The number of clusters.
    pub k: usize,
    /// The mean logarithm of the scatter of points without clusters, less that of the points.
    pub gap: f64,
    /// The standard error of that, from the sets of points without clusters.
    pub error: f64,
}

/// The gap for each number of clusters, and the number that it picks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapCurve {
    /// From 1 cluster on.
    pub gaps: Vec<Gap>,
    /// The least number of clusters whose gap is not clearly below that of one more, or hardly for what each brought so far.
    pub k: usize,
}

/// The gap statistic of the rows of a mode's factor as they are, as the paper has it. [`clusters`](super::clusters) looks at their
/// directions: how long a row is says how many entries it has and how high they are, and little of what the entity is like.
///
/// # Errors
/// If there is no such mode.
pub fn gap_of_rows(model: &Model, mode: usize, most: usize, seed: u64) -> Result<GapCurve, Error> {
    known::check_mode(model, mode)?;
    let factor = &model.factors()[mode];
    Ok(gap_curve(factor.values(), factor.rank(), most, seed))
}

/// The gap statistic of points for up to `most` clusters.
pub(super) fn gap_curve(points: &[f32], size: usize, most: usize, seed: u64) -> GapCurve {
    let count = points.len() / size;
    let step = count.div_ceil(MOST).max(1);
    let points: Vec<f32> = points.chunks_exact(size).step_by(step).flatten().copied().collect();
    let count = points.len() / size;
    let most = most.clamp(1, count.max(1));
    let empty = Empty::around(&points, size);
    let sets: Vec<Vec<f64>> = parallel::map_of(0..=SETS, |set| {
        let drawn = if set == 0 { points.clone() } else { empty.draw(count, seed ^ (set << 32)) };
        let scatter = |k: usize| {
            let search = Search { starts: STARTS, close: CLOSE, seed: seed ^ (k as u64) };
            means(&drawn, size, k, search).scatter
        };
        (1..=most).map(|k| scatter(k).max(f64::MIN_POSITIVE).ln()).collect()
    });
    let of_k = |k: usize| {
        let logs: Vec<f64> = sets[1..].iter().map(|set| set[k - 1]).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
        let error = (variance * (1.0 + 1.0 / logs.len() as f64)).sqrt();
        Gap { k, gap: mean - sets[0][k - 1], error }
    };
    let gaps: Vec<Gap> = (1..=most).map(of_k).collect();
    let k = pick(&gaps);
    GapCurve { gaps, k }
}

/// The smallest number whose gap is not below the next one's less its error (Tibshirani, Walther, Hastie 2001). That is 1 also
/// where two clusters part what belongs together and more would not: if any number has clearly more than one cluster has,
/// the search begins at 2. Clusters have parts, which are clusters, too, and gaps go on growing by little: the search ends where
/// one more brings less than [`HARDLY`] of what each has brought so far.
fn pick(gaps: &[Gap]) -> usize {
    let is_enough = |pair: &&[Gap]| {
        let (gain, so_far) = (pair[1].gap - pair[0].gap, pair[0].gap - gaps[0].gap);
        gain <= pair[1].error || gain * (pair[0].k as f64 - 1.0) < HARDLY * so_far
    };
    let from = |first: usize| {
        let enough = gaps[first..].windows(2).find(is_enough);
        enough.map_or(gaps.len(), |pair| pair[0].k)
    };
    let above_one = |one: &Gap| gaps.iter().any(|gap| gap.gap - gap.error > one.gap + one.error);
    match (from(0), gaps.first()) {
        (1, Some(one)) if above_one(one) => from(1),
        (k, _) => k,
    }
}

/// A box along the main axes of points, in which points without clusters are drawn.
struct Empty {
    axes: Vec<Vec<f64>>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Empty {
    fn around(points: &[f32], size: usize) -> Self {
        let moments = Moments::new(&Factor::new(size, points.to_vec()));
        let axes: Vec<Vec<f64>> =
            eigen(size, &moments.covariance()).into_iter().map(|(_, axis)| axis).collect();
        let (mut low, mut high) = (vec![f64::INFINITY; size], vec![f64::NEG_INFINITY; size]);
        for point in points.chunks_exact(size) {
            for (place, axis) in axes.iter().enumerate() {
                let along: f64 = point.iter().zip(axis).map(|(&value, axis)| f64::from(value) * axis).sum();
                low[place] = low[place].min(along);
                high[place] = high[place].max(along);
            }
        }
        Empty { axes, low, high }
    }

    fn draw(&self, count: usize, seed: u64) -> Vec<f32> {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let size = self.axes.len();
        let mut points = Vec::with_capacity(count * size);
        for _ in 0..count {
            let along: Vec<f64> = self
                .low
                .iter()
                .zip(&self.high)
                .map(|(low, high)| low + (high - low) * generator.random_range(0.0..1.0))
                .collect();
            let coordinate =
                |k: usize| along.iter().zip(&self.axes).map(|(along, axis)| along * axis[k]).sum::<f64>();
            points.extend((0..size).map(|k| coordinate(k) as f32));
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: usize) -> f32 {
        ((seed * 7919 + 101) % 10_007) as f32 / 10_007.0 - 0.5
    }

    #[test]
    fn planted_clusters_are_counted_and_an_even_box_is_one() {
        let centres = [[0.0, 0.0], [6.0, 1.0], [-4.0, 5.0]];
        let cluster = |place: usize| {
            let [x, y]: [f32; 2] = centres[place % 3];
            [x + noise(place), y + noise(place + 5000)]
        };
        let points: Vec<f32> = (0..300).flat_map(cluster).collect();
        let curve = gap_curve(&points, 2, 8, 1);
        assert_eq!((curve.k, curve.gaps.len()), (3, 8));
        assert!(curve.gaps.iter().all(|gap| gap.error > 0.0 && gap.error < 0.2));
        let even: Vec<f32> = (0..400).flat_map(|place| [(place % 20) as f32, (place / 20) as f32]).collect();
        assert_eq!(gap_curve(&even, 2, 6, 1).k, 1);
    }

    #[test]
    fn the_gap_of_one_cluster_is_how_much_wider_the_box_is_than_the_points() {
        // Of points along one axis, most of them near the middle: what is uniform in their box has range^2 / 12.
        let points: Vec<f32> = (0..2000)
            .map(|place| if place % 100 == 0 { 10.0 * noise(place) } else { noise(place) })
            .collect();
        let (least, most) = points.iter().fold((f32::MAX, f32::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        let mean = points.iter().map(|&x| f64::from(x)).sum::<f64>() / 2000.0;
        let variance = points.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / 2000.0;
        let expected = (f64::from(most - least).powi(2) / 12.0 / variance).ln();
        let found = gap_curve(&points, 1, 1, 1).gaps[0].gap;
        assert!(expected > 2.0 && (found - expected).abs() < 0.03, "{found} and {expected}");
    }

    #[test]
    fn one_cluster_is_picked_only_where_no_number_is_clearly_better() {
        let curve = |gaps: &[f64]| -> Vec<Gap> {
            gaps.iter().zip(1..).map(|(&gap, k)| Gap { k, gap, error: 0.01 }).collect()
        };
        assert_eq!(pick(&curve(&[0.5, 0.4, 0.6, 0.8, 0.7])), 4);
        assert_eq!(pick(&curve(&[0.5, 0.4, 0.45, 0.51, 0.4])), 1);
        assert_eq!(pick(&curve(&[0.1, 0.2, 0.3, 0.29])), 3);
        assert_eq!((pick(&curve(&[0.1])), pick(&[])), (1, 0));
    }
}
