//! The concepts of a model, turned so that they can be read, and the core that goes with them.
//!
//! A Tucker model predicts the same if the concepts of a mode are stretched and turned and the core is turned back. Of all
//! these bases the one is taken here in which entities lie nearest to the axes (varimax, in coordinates in which distance is
//! how far predictions lie apart), around the mean entity. A factor without negative numbers is left as it is: its
//! concepts are parts that add up, and are read best so.
//!
//! Where entities differ most in what all others agree on, as films do in how good they are, that would be mixed into
//! every concept. It is then a concept of its own, the level, and the others are turned around it: they are what is liked by
//! some and not by others, and mean nothing to the average entity of the other modes.

use super::matrix::{Moments, eigen, product};
use super::metric::{LEAST, LEVEL, Metric};
use super::rotation::varimax;
use super::space::is_nonnegative;
use crate::Model;
use crate::model::Core;
use crate::parallel;

/// Concepts that have a smaller part than this of what varies are noise.
pub(crate) const WEAK: f64 = 0.005;
/// A core with more numbers than this is not turned: it would take minutes, and nobody would read it.
const MOST_CORE: usize = 1 << 20;

/// The concepts of all modes.
pub(super) struct Basis {
    pub(super) modes: Vec<ModeBasis>,
    /// What a combination of concepts adds to predictions, where each entity has 1 of its concept; the mean entity comes
    /// before the first concept in modes that have one. None where it has too many numbers to be read.
    pub(super) core: Option<Core>,
}

/// The concepts of a mode.
pub(super) struct ModeBasis {
    /// Whether entities are the mean entity and some of each concept; if not, they are some of each concept.
    pub(super) around_mean: bool,
    /// How many concepts there are.
    pub(super) concepts: usize,
    /// How much of each concept each row has, row after row; the mean square of a concept is 1.
    pub(super) scores: Vec<f32>,
    /// What is common to the rows of each concept: it times its score, added up, is the row; concept after concept.
    pub(super) directions: Vec<f64>,
    /// The part of the squares of predictions that each concept has to do with.
    pub(super) strengths: Vec<f64>,
    /// The concept that is the level, if one is.
    pub(super) level: Option<usize>,
    pub(super) moments: Moments,
}

/// Whether the core, written out, has so few numbers that they can be turned and looked at.
pub(crate) fn is_readable(model: &Model) -> bool {
    let ranks = model.core().ranks(model.modes().len());
    ranks
        .iter()
        .try_fold(1usize, |product, &rank| product.checked_mul(rank))
        .is_some_and(|size| size <= MOST_CORE)
}

impl Basis {
    pub(super) fn new(model: &Model) -> Self {
        let order = model.modes().len();
        let moments: Vec<Moments> = model.factors().iter().map(Moments::new).collect();
        let metrics: Vec<Metric> = (0..order).map(|mode| Metric::new(model.core(), &moments, mode)).collect();
        let modes: Vec<ModeBasis> = moments
            .into_iter()
            .zip(metrics)
            .enumerate()
            .map(|(mode, (moments, metric))| ModeBasis::with_metric(model, mode, &metric, moments))
            .collect();
        let core = is_readable(model).then(|| {
            let mut core = model.core().to_full(order);
            for (mode, basis) in modes.iter().enumerate() {
                let mean = if basis.around_mean { &basis.moments.mean[..] } else { &[] };
                let rows: Vec<f64> = mean.iter().chain(&basis.directions).copied().collect();
                core.multiply(mode, rows.len() / basis.moments.mean.len(), &rows);
            }
            core
        });
        Basis { modes, core }
    }
}

impl ModeBasis {
    /// The concepts of one mode alone, which in a model of many users are those of its items in a fraction of the time.
    pub(super) fn new(model: &Model, mode: usize) -> Self {
        let mut moments: Vec<Moments> = model.factors().iter().map(Moments::new).collect();
        let metric = Metric::new(model.core(), &moments, mode);
        ModeBasis::with_metric(model, mode, &metric, moments.swap_remove(mode))
    }

    fn with_metric(model: &Model, mode: usize, metric: &Metric, moments: Moments) -> Self {
        if is_nonnegative(model, mode) {
            ModeBasis::as_it_is(model, mode, &metric.weights, moments)
        } else {
            ModeBasis::turned(model, mode, metric, moments)
        }
    }

    /// Each column of the factor is a concept.
    fn as_it_is(model: &Model, mode: usize, weights: &[f64], moments: Moments) -> Self {
        let factor = &model.factors()[mode];
        let rank = factor.rank();
        let roots: Vec<f64> = (0..rank).map(|k| moments.second[k * rank + k].max(0.0).sqrt()).collect();
        let mut strengths: Vec<(f64, usize)> =
            (0..rank).map(|k| (weights[k * rank + k] * roots[k] * roots[k], k)).collect();
        strengths.sort_by(|a, b| b.0.total_cmp(&a.0));
        strengths.retain(|&(strength, k)| strength > 0.0 && roots[k] > 0.0);
        let kept: Vec<usize> = strengths.iter().map(|&(_, k)| k).collect();
        let mut directions = vec![0.0; kept.len() * rank];
        for (concept, &k) in kept.iter().enumerate() {
            directions[concept * rank + k] = roots[k];
        }
        let scores = parallel::gather(factor.rows(), 1, |rows, scores| {
            for row in rows.map(|row| factor.row(row)) {
                scores.extend(kept.iter().map(|&k| (f64::from(row[k]) / roots[k]) as f32));
            }
        });
        ModeBasis {
            around_mean: false,
            concepts: kept.len(),
            scores,
            directions,
            strengths: strengths.into_iter().map(|(strength, _)| strength).collect(),
            level: None,
            moments,
        }
    }

    /// Concepts are directions from the mean in which entities lie.
    fn turned(model: &Model, mode: usize, metric: &Metric, moments: Moments) -> Self {
        let factor = &model.factors()[mode];
        let rank = factor.rank();
        // Y = X W: rows around their mean, where distance is that of predictions; W and its inverse by eigenvectors.
        let pairs = eigen(rank, &metric.weights);
        let largest = pairs.first().map_or(0.0, |(value, _)| value.max(0.0));
        let power = |exponent: f64| -> Vec<f64> {
            let mut sum = vec![0.0; rank * rank];
            for (value, axis) in pairs.iter().filter(|(value, _)| *value > LEAST * largest) {
                for (place, sum) in sum.iter_mut().enumerate() {
                    *sum += value.powf(exponent) * axis[place / rank] * axis[place % rank];
                }
            }
            sum
        };
        let (root, inverse) = (power(0.5), power(-0.5));
        let covariance = product(rank, &product(rank, &root, &moments.covariance()), &root);
        let level = level_axis(&covariance, times(&inverse, &metric.common));
        let rest = level.as_ref().map_or_else(|| covariance.clone(), |axis| without(&covariance, axis));
        let varies: f64 = (0..rank).map(|k| covariance[k * rank + k]).sum();
        let axes = eigen(rank, &rest).into_iter();
        let axes: Vec<(f64, Vec<f64>)> =
            axes.filter(|(value, _)| *value > LEAST * varies && *value > 0.0).collect();
        // Rows in W-coordinates along an axis, and from there back to rows.
        let (along, back) = (|axis: &[f64]| times(&root, axis), |axis: &[f64]| times(&inverse, axis));
        let mean = &moments.mean;
        let project = |row: &[f32], directions: &[Vec<f64>]| -> Vec<f64> {
            let centred: Vec<f64> =
                row.iter().zip(mean).map(|(&value, mean)| f64::from(value) - mean).collect();
            directions.iter().map(|direction| dot(direction, &centred)).collect()
        };
        // Axes are turned where all have the same scatter: then the scores of two concepts are never the same, however much
        // more rows vary along one axis than along another. What hardly varies is left as it is: it is noise.
        let strong = axes.partition_point(|(value, _)| *value >= WEAK * varies);
        let scaled: Vec<Vec<f64>> = axes[..strong]
            .iter()
            .map(|(value, axis)| along(axis).into_iter().map(|part| part / value.sqrt()).collect())
            .collect();
        let points = parallel::map(factor.rows(), |row| project(factor.row(row), &scaled));
        let rotation = varimax(&points, strong);
        let turned = |concept: usize| -> Vec<f64> {
            let mut sum = vec![0.0; rank];
            for (by, (value, axis)) in rotation[concept * strong..].iter().zip(&axes[..strong]) {
                sum.iter_mut().zip(axis).for_each(|(sum, part)| *sum += by * value.sqrt() * part);
            }
            sum
        };
        let turned_along = |concept: usize| -> Vec<f64> {
            let mut sum = vec![0.0; rank];
            for (by, scaled) in rotation[concept * strong..].iter().zip(&scaled) {
                sum.iter_mut().zip(scaled).for_each(|(sum, part)| *sum += by * part);
            }
            sum
        };
        // Of each concept what scores are made with, what it adds to a row in W-coordinates, and whether it is the level.
        let level = level.map(|axis| (along(&axis), axis, true));
        let tastes = (0..strong).map(|concept| (turned_along(concept), turned(concept), false));
        let weak = axes[strong..].iter().map(|(_, axis)| (along(axis), axis.clone(), false));
        let found = level.into_iter().chain(tastes).chain(weak).map(|(along, axis, is_level)| {
            let (mut squares, mut cubes) = (0.0, 0.0);
            for row in factor.values().chunks_exact(rank) {
                let score = project(row, std::slice::from_ref(&along))[0];
                squares += score * score / factor.rows() as f64;
                cubes += score * score * score;
            }
            // Few entities have much of a concept: that is its positive end. Much of the level are high values.
            let sign = if cubes < 0.0 && !is_level { -1.0 } else { 1.0 };
            (squares * dot(&axis, &axis), sign * squares.sqrt(), along, back(&axis), is_level)
        });
        let mut found: Vec<_> = found.filter(|(strength, ..)| *strength > 0.0).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let unit: Vec<Vec<f64>> = found
            .iter()
            .map(|(_, root, along, ..)| along.iter().map(|value| value / root).collect())
            .collect();
        let scores = parallel::gather(factor.rows(), 1, |rows, scores| {
            for row in rows {
                scores.extend(project(factor.row(row), &unit).into_iter().map(|score| score as f32));
            }
        });
        ModeBasis {
            around_mean: true,
            concepts: found.len(),
            scores,
            directions: found
                .iter()
                .flat_map(|(_, root, _, back, _)| back.iter().map(move |value| value * root))
                .collect(),
            strengths: found.iter().map(|(strength, ..)| *strength).collect(),
            level: found.iter().position(|(.., is_level)| *is_level),
            moments,
        }
    }

    /// How much of a concept a row has.
    pub(super) fn score(&self, row: usize, concept: usize) -> f32 {
        self.scores[row * self.concepts + concept]
    }

    /// What is common to the rows of a concept.
    pub(super) fn direction(&self, concept: usize) -> &[f64] {
        let rank = self.moments.mean.len();
        &self.directions[concept * rank..(concept + 1) * rank]
    }
}

/// The direction in which predictions with the mean entities of other modes vary, if it has much of what varies.
fn level_axis(covariance: &[f64], common: Vec<f64>) -> Option<Vec<f64>> {
    let size = common.len();
    let length = dot(&common, &common).sqrt();
    let all: f64 = (0..size).map(|k| covariance[k * size + k]).sum();
    if length <= 0.0 || all <= 0.0 {
        return None;
    }
    let axis: Vec<f64> = common.iter().map(|value| value / length).collect();
    (dot(&times(covariance, &axis), &axis) >= LEVEL * all).then_some(axis)
}

/// What varies besides an axis.
fn without(covariance: &[f64], axis: &[f64]) -> Vec<f64> {
    let size = axis.len();
    let rest = |place: usize| {
        let (i, j) = (place / size, place % size);
        f64::from(u8::from(i == j)) - axis[i] * axis[j]
    };
    let rest: Vec<f64> = (0..size * size).map(rest).collect();
    product(size, &product(size, &rest, covariance), &rest)
}

/// A symmetric matrix times a vector.
fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(vector.len()).map(|row| dot(row, vector)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cells, Factor, Mode};

    /// A model of three modes, of which `signed` have numbers below 0.
    fn model(signed: [bool; 3]) -> Model {
        let (sizes, ranks) = ([7usize, 6, 5], vec![3usize, 2, 4]);
        let number = |seed: usize| (seed * 7919 + 13) % 1009;
        let factors = (0..3).map(|mode| {
            let value = |place: usize| {
                let value = number(place + 100 * mode) as f32 / 500.0;
                if signed[mode] { value - 1.0 } else { value }
            };
            Factor::new(ranks[mode], (0..sizes[mode] * ranks[mode]).map(value).collect())
        });
        let core = Core::full(
            ranks.clone(),
            (0..24).map(|place| number(place + 999) as f32 / 300.0 - 1.5).collect(),
        );
        let modes =
            ["user", "item", "time"].iter().zip(sizes).map(|(name, size)| Mode::new(*name, size as u32));
        Model::new(modes.collect(), core, factors.collect(), Vec::new(), [0.0, 5.0]).unwrap()
    }

    #[test]
    fn the_turned_model_predicts_the_same() {
        for signed in [[true, true, true], [false, false, false], [true, false, true]] {
            let model = model(signed);
            let basis = Basis::new(&model);
            let core = basis.core.as_ref().unwrap();
            let ranks = core.ranks(3);
            let cells: Vec<Vec<u32>> = vec![vec![0, 3, 6, 2], vec![5, 0, 2, 2], vec![4, 4, 0, 1]];
            let expected = model.predict(Cells::new(cells.clone()).unwrap(), false).unwrap();
            for (entry, expected) in expected.into_iter().enumerate() {
                let part = |mode: usize, k: usize| {
                    let basis = &basis.modes[mode];
                    let row = cells[mode][entry] as usize;
                    match (basis.around_mean, k) {
                        (true, 0) => 1.0,
                        (mean, k) => basis.score(row, k - usize::from(mean)),
                    }
                };
                let mut sum = 0.0;
                for (place, &value) in core.values().iter().enumerate() {
                    let at = [place / (ranks[1] * ranks[2]), place / ranks[2] % ranks[1], place % ranks[2]];
                    sum += value * (0..3).map(|mode| part(mode, at[mode])).product::<f32>();
                }
                assert!((sum - expected).abs() < 2e-4, "{signed:?}: {sum} {expected}");
            }
        }
    }

    #[test]
    fn every_concept_has_a_mean_square_of_one_and_the_strongest_come_first() {
        let basis = Basis::new(&model([true, false, true]));
        for mode in &basis.modes {
            for concept in 0..mode.concepts {
                let rows = mode.scores.len() / mode.concepts;
                let squares: f32 = (0..rows).map(|row| mode.score(row, concept).powi(2)).sum();
                assert!((squares / rows as f32 - 1.0).abs() < 1e-4);
            }
            assert!(mode.strengths.windows(2).all(|pair| pair[0] >= pair[1]));
        }
    }

    #[test]
    fn scores_of_two_concepts_are_never_the_same_however_little_one_of_them_is() {
        // Items differ ten times as much in one kind as in the other; nearly all have some of both.
        let (users, items) = (40usize, 300usize);
        let noise = |seed: usize| ((seed * 7919 + 101) % 10_007) as f32 / 10_007.0 - 0.5;
        let factors = vec![
            Factor::new(2, (0..2 * users).map(|place| noise(place * place)).collect()),
            Factor::new(2, (0..items).flat_map(|item| [noise(item), 0.1 * noise(item + 7777)]).collect()),
        ];
        let core = Core::full(vec![2, 2], vec![1.0, 0.0, 0.0, 1.0]);
        let modes = vec![Mode::new("user", users as u32), Mode::new("item", items as u32)];
        let model = Model::new(modes, core, factors, Vec::new(), [0.0, 5.0]).unwrap();
        let of_items = ModeBasis::new(&model, 1);
        assert_eq!((of_items.concepts, of_items.level), (2, None));
        let products = (0..items).map(|item| of_items.score(item, 0) * of_items.score(item, 1));
        let correlation = products.sum::<f32>() / items as f32;
        assert!(correlation.abs() < 1e-3, "{correlation}");
    }

    #[test]
    fn what_all_agree_on_is_a_concept_of_its_own_where_it_is_most_of_what_varies() {
        // A prediction is how good an item is, and more or less of its kind for users who like it or do not.
        let (users, items) = (40usize, 30usize);
        let taste = |user: usize| if user.is_multiple_of(2) { 0.5 } else { -0.5 };
        let good = |item: usize| (item * 7 % 11) as f32 / 5.0;
        let kind = |item: usize| if item.is_multiple_of(5) { 2.0 } else { -0.1 };
        for (weight, expected) in [(1.0, Some(0)), (0.1, None)] {
            let factors = vec![
                Factor::new(2, (0..users).flat_map(|user| [1.0, taste(user)]).collect()),
                Factor::new(2, (0..items).flat_map(|item| [weight * good(item), kind(item)]).collect()),
            ];
            let core = Core::full(vec![2, 2], vec![1.0, 0.0, 0.0, 1.0]);
            let modes = vec![Mode::new("user", users as u32), Mode::new("item", items as u32)];
            let model = Model::new(modes, core, factors, Vec::new(), [0.0, 5.0]).unwrap();
            let basis = Basis::new(&model);
            let of_items = &basis.modes[1];
            assert_eq!((of_items.level, of_items.concepts), (expected, 2), "{weight}");
            let moments: Vec<Moments> = model.factors().iter().map(Moments::new).collect();
            let metric = Metric::new(model.core(), &moments, 1);
            assert_eq!(metric.has_level(&moments[1].covariance()), expected.is_some());
            if expected.is_some() {
                // The core: of the mean user and one concept, with the mean item and two.
                let core = basis.core.as_ref().unwrap();
                assert_eq!(core.ranks(2), [2, 3]);
                let values = core.values();
                assert!(values[1] > 0.1 && values[2].abs() < 1e-5, "{values:?}");
                let best = (0..items).max_by(|&a, &b| good(a).total_cmp(&good(b))).unwrap();
                let most = (0..items)
                    .max_by(|&a, &b| of_items.score(a, 0).total_cmp(&of_items.score(b, 0)))
                    .unwrap();
                assert_eq!(good(most), good(best));
            }
        }
    }
}
