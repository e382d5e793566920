//! Draws against the distributions that they must come from, worked out in f64 with plain loops.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use s3cmtf_kernels::Aligned;

use super::Sampler;
use super::augmentation::Augmentation;
use super::conditional::RowConditional;
use super::core::CoreState;
use super::coupled::Matrix;
use super::mean::NaturalParams;
use super::noise::Noise;
use super::pass::Pass;
use super::random::{Streams, generator, normal};
use super::sample::Sample;
use super::sums::Workspace;
use super::zeros::Zeros;
use crate::layout::View;
use crate::layout::concepts;
use crate::layout::view_tests::{counts, view};
use crate::likelihood::Likelihood;
use crate::model::locate;
use crate::nodes::ALONE;
use crate::params::{CheckedParams, Params};
use crate::problem::{Absent, Coupled, Entries, EntrySource, Problem};
use crate::training::cholesky::{factorize, solve_lower, solve_upper};
use crate::world::{WorldParams, generate};

const RANKS: [usize; 4] = [3, 2, 4, 2];
pub(super) const SIZES: [usize; 4] = [5, 6, 4, 3];

/// Random rows, a core and entries of some modes.
pub(super) struct Small {
    order: usize,
    pub(super) indices: Vec<Vec<u32>>,
    pub(super) values: Vec<f32>,
    factors: Vec<Vec<f32>>,
    pub(super) core: Vec<f32>,
}

impl Small {
    pub(super) fn new(order: usize) -> Self {
        let mut generator = generator(3, [order as u64, 0, 0]);
        let mut list = |len: usize| -> Vec<f32> { (0..len).map(|_| normal(&mut generator) as f32).collect() };
        let factors = (0..order)
            .map(|mode| {
                let mut rows = list(SIZES[mode] * RANKS[mode]);
                rows.chunks_mut(RANKS[mode]).for_each(|row| row[0] = 1.0);
                rows
            })
            .collect();
        let core = list(RANKS[..order].iter().product());
        let values = list(60);
        let indices = (0..order).map(|mode| {
            let id = |entry: u64| crate::problem::mix(entry * 7 + mode as u64) % SIZES[mode] as u64;
            // The last row of each mode has no entry.
            (0..60).map(|entry| (id(entry) as u32).min(SIZES[mode] as u32 - 2)).collect()
        });
        Small { order, indices: indices.collect(), values, factors, core }
    }

    pub(super) fn ranks(&self) -> &[usize] {
        &RANKS[..self.order]
    }

    pub(super) fn views(&self) -> impl Iterator<Item = View> + '_ {
        let pairs = (0..self.order).flat_map(|mode| (0..self.order).map(move |partner| (mode, partner)));
        pairs.filter(|(mode, partner)| mode != partner).map(move |(mode, partner)| {
            let counts = counts(&self.indices[mode], SIZES[mode]);
            view(&self.indices, &self.values, (mode, partner), &counts, self.ranks())
        })
    }

    pub(super) fn slices(&self) -> Vec<&[f32]> {
        self.factors.iter().map(Vec::as_slice).collect()
    }

    /// What the rows of a view's mode depend on, without matrices.
    fn given<'a>(
        &'a self,
        view: &'a View,
        factors: &'a [&'a [f32]],
        noise: &'a Noise,
        augmentation: Option<&'a Augmentation>,
        epoch: u64,
        interrupt: &'a AtomicBool,
    ) -> RowConditional<'a> {
        RowConditional {
            view,
            ranks: self.ranks(),
            factors,
            core: &self.core,
            noise,
            augmentation,
            zeros: None,
            matrices: &[],
            means: &[],
            streams: Streams { seed: 1, epoch },
            without: &[],
            nodes: &ALONE,
            interrupt,
            clock: None,
        }
    }

    /// The product of an entry's values in all modes but one, and the core's number, for each number of the core.
    fn terms(&self, entry: usize, without: Option<usize>) -> Vec<f64> {
        let value = |mode: usize, j: usize| {
            f64::from(self.factors[mode][self.indices[mode][entry] as usize * RANKS[mode] + j])
        };
        let products = concepts(self.ranks()).map(|index| {
            let modes = (0..self.order).filter(|&mode| Some(mode) != without);
            modes.map(|mode| value(mode, index[mode])).product::<f64>()
        });
        products.collect()
    }

    /// The design of an entry along a mode.
    fn design(&self, entry: usize, mode: usize) -> Vec<f64> {
        let mut design = vec![0.0; RANKS[mode]];
        let terms = self.terms(entry, Some(mode)).into_iter().zip(&self.core);
        for (index, (term, &core)) in concepts(self.ranks()).zip(terms) {
            design[index[mode]] += term * f64::from(core);
        }
        design
    }
}

/// The mean and the covariance of many draws of a row, without its first concept.
pub(super) fn moments(draws: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let (count, n) = (draws.len() as f64, draws[0].len());
    let mean: Vec<f64> = (0..n).map(|k| draws.iter().map(|draw| draw[k]).sum::<f64>() / count).collect();
    let covariance = (0..n * n).map(|place| {
        let (k, l) = (place / n, place % n);
        draws.iter().map(|draw| (draw[k] - mean[k]) * (draw[l] - mean[l])).sum::<f64>() / count
    });
    (mean.clone(), covariance.collect())
}

#[test]
fn rows_come_from_their_normal_distribution() {
    const DRAWS: u64 = 4000;
    for order in 2..=4 {
        let small = Small::new(order);
        let mut noise = Noise::new(SIZES[..order].iter().map(|&size| vec![1; size]).collect());
        noise.tau = 1.7;
        for (mode, roots) in noise.roots.iter_mut().enumerate() {
            roots.iter_mut().enumerate().for_each(|(row, root)| *root = 0.6 + 0.1 * (row + mode) as f32);
        }
        let share = |entry: usize| -> f64 {
            let roots = (0..order).map(|mode| noise.roots[mode][small.indices[mode][entry] as usize]);
            roots.map(|root| f64::from(root).powi(2)).product()
        };
        let interrupt = AtomicBool::new(false);
        for view in small.views() {
            let mode = view.mode;
            let free = RANKS[mode] - 1;
            let mut draws = vec![Vec::new(); SIZES[mode]];
            for epoch in 0..DRAWS {
                let factors = small.slices();
                let given = small.given(&view, &factors, &noise, None, epoch, &interrupt);
                let drawn = given.draw(&mut Workspace::default(), None).unwrap().unwrap();
                for (row, values) in drawn.rows.chunks(RANKS[mode]).enumerate() {
                    assert_eq!(values[0], 1.0);
                    draws[row].push(values[1..].iter().map(|&value| f64::from(value)).collect::<Vec<f64>>());
                }
            }
            for (row, draws) in draws.iter().enumerate() {
                let mut precision = vec![0.0; free * free];
                (0..free).for_each(|k| precision[k * free + k] = 1.0);
                let mut pull = vec![0.0; free];
                for entry in (0..60).filter(|&entry| small.indices[mode][entry] as usize == row) {
                    let (d, weight) = (small.design(entry, mode), noise.tau * share(entry));
                    for k in 0..free {
                        for l in 0..free {
                            precision[k * free + l] += weight * d[k + 1] * d[l + 1];
                        }
                        pull[k] += weight * d[k + 1] * (f64::from(small.values[entry]) - d[0]);
                    }
                }
                factorize(&mut precision, free);
                solve_lower(&precision, free, &mut pull);
                solve_upper(&precision, free, &mut pull);
                let (mean, covariance) = moments(draws);
                for k in 0..free {
                    let mut column = vec![0.0; free];
                    column[k] = 1.0;
                    solve_lower(&precision, free, &mut column);
                    solve_upper(&precision, free, &mut column);
                    // Five standard errors.
                    let tolerance = 5.0 * (column[k] / DRAWS as f64).sqrt();
                    assert!((mean[k] - pull[k]).abs() < tolerance, "order {order}, mode {mode}, row {row}");
                    let (got, expected) = (covariance[k * free + k], column[k]);
                    assert!((got / expected - 1.0).abs() < 0.15, "variance {got} and not {expected}");
                }
            }
        }
    }
}

#[test]
fn rows_of_answers_and_counts_come_from_their_posterior() {
    const DRAWS: u64 = 30_000;
    const MODE: usize = 1;
    // One number of each row is free, so that its posterior can be summed up on a grid.
    assert_eq!(RANKS[MODE], 2);
    for likelihood in [Likelihood::Logistic, Likelihood::Counts] {
        let mut small = Small::new(3);
        let mut augmentation = Augmentation::new(likelihood, &[0.0, 1.0]).unwrap();
        augmentation.spread = 0.4;
        augmentation.set_dispersion(2.0);
        // Values as they come from the model: counts are small and large, which are drawn otherwise.
        let value = |entry: usize| {
            let row = &small.factors[MODE][2 * small.indices[MODE][entry] as usize..][..2];
            let terms = small.design(entry, MODE).into_iter().zip(row);
            let sampled = terms.map(|(d, &value)| d * f64::from(value)).sum::<f64>() as f32;
            match likelihood {
                Likelihood::Counts => {
                    (5.0 * augmentation.mean(sampled, false, 1e6) * [0.2, 0.6, 1.0, 1.9][entry % 4]).round()
                }
                _ => f32::from(u8::from(small.values[entry] > 0.0)),
            }
        };
        small.values = (0..60).map(value).collect();
        augmentation.mean += if likelihood == Likelihood::Counts { 5f64.ln() } else { 0.0 };
        let noise = Noise::new(SIZES[..3].iter().map(|&size| vec![1; size]).collect());
        let interrupt = AtomicBool::new(false);
        let view = small.views().find(|view| view.mode == MODE).unwrap();
        let mut sums = vec![[0.0; 2]; SIZES[MODE]];
        for epoch in 0..DRAWS {
            let factors = small.slices();
            let given = small.given(&view, &factors, &noise, Some(&augmentation), epoch, &interrupt);
            let drawn = given.draw(&mut Workspace::default(), None).unwrap().unwrap();
            small.factors[MODE] = drawn.rows;
            for (sums, row) in sums.iter_mut().zip(small.factors[MODE].chunks(2)) {
                let value = f64::from(row[1]);
                *sums = [sums[0] + value, sums[1] + value * value];
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            let log_posterior = |value: f64| {
                let entries = (0..60).filter(|&entry| small.indices[MODE][entry] as usize == row);
                let one = |entry: usize| {
                    let (d, y) = (small.design(entry, MODE), f64::from(small.values[entry]));
                    let linear = augmentation.mean + augmentation.spread * (d[0] + value * d[1]);
                    match likelihood {
                        Likelihood::Counts => y * linear - (y + 2.0) * (2.0 + linear.exp()).ln(),
                        _ => y * linear - linear.exp().ln_1p(),
                    }
                };
                entries.map(one).sum::<f64>() - 0.5 * value * value
            };
            let grid: Vec<f64> = (-400..=400).map(|step| f64::from(step) / 80.0).collect();
            let most = grid.iter().map(|&value| log_posterior(value)).fold(f64::MIN, f64::max);
            let moment = |power: i32| -> f64 {
                grid.iter().map(|&value| value.powi(power) * (log_posterior(value) - most).exp()).sum()
            };
            let mean = moment(1) / moment(0);
            let variance = moment(2) / moment(0) - mean * mean;
            let found = sums[0] / DRAWS as f64;
            let spread = sums[1] / DRAWS as f64 - found * found;
            // Draws of a chain depend on each other.
            let tolerance = 15.0 * (variance / DRAWS as f64).sqrt();
            assert!((found - mean).abs() < tolerance, "{likelihood:?}, row {row}: {found} and not {mean}");
            assert!((spread / variance - 1.0).abs() < 0.1, "{likelihood:?}, row {row}: {spread}, {variance}");
        }
    }
}

#[test]
fn predictions_and_the_gradient_of_the_core_are_those_of_plain_loops() {
    for order in 2..=4 {
        let small = Small::new(order);
        let errors: Vec<f64> = (0..60)
            .map(|entry| {
                let terms = small.terms(entry, None).into_iter().zip(&small.core);
                f64::from(small.values[entry])
                    - terms.map(|(term, &core)| term * f64::from(core)).sum::<f64>()
            })
            .collect();
        let mut gradient = vec![0.0; small.core.len()];
        for (entry, error) in errors.iter().enumerate() {
            gradient.iter_mut().zip(small.terms(entry, None)).for_each(|(sum, term)| *sum += error * term);
        }
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        let root = |mode: usize, row: usize| 0.6 + 0.1 * (row + mode) as f32;
        let roots: Vec<Vec<f32>> =
            (0..order).map(|mode| (0..SIZES[mode]).map(|row| root(mode, row)).collect()).collect();
        let mut product = vec![0.0; small.core.len()];
        for entry in 0..60 {
            let terms = small.terms(entry, None);
            let prediction: f64 =
                terms.iter().zip(&small.core).map(|(term, &core)| term * f64::from(core)).sum();
            let own = (0..order).map(|mode| roots[mode][small.indices[mode][entry] as usize]);
            let weighted = prediction * own.map(|root| f64::from(root).powi(2)).product::<f64>();
            product.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weighted * term);
        }
        for view in small.views() {
            let factors = small.slices();
            let mut memory = Aligned::default();
            let pass = Pass::new(&view, (small.ranks(), &factors), None, &ALONE, &mut memory);
            assert!((pass.squared_error(&small.core, &|_| ()).unwrap() / squares - 1.0).abs() < 1e-5);
            let (_, got) = pass.errors_and_gradient(&small.core);
            let close = |got: &[f32], expected: &[f64], unit: f64| {
                for (got, expected) in got.iter().zip(expected) {
                    assert!((f64::from(*got) - expected).abs() < unit, "{got} and not {expected}");
                }
            };
            close(&got, &gradient, 1e-3 * squares.sqrt());
            let mut memory = Aligned::default();
            let pass = Pass::new(&view, (small.ranks(), &factors), Some(&roots), &ALONE, &mut memory);
            let layout = pass.layout();
            let got = layout.unpack(&pass.product(&layout.pack(&small.core), Sample::ALL).unwrap());
            close(&got, &product, 1e-5 * product.iter().map(|number| number.abs()).fold(1.0, f64::max));
        }
    }
}

#[test]
fn zeros_say_of_rows_and_errors_what_visiting_them_says() {
    for order in 2..=4 {
        let mut small = Small::new(order);
        // A cell is there once.
        let mut seen = HashSet::new();
        let cell = |entry: usize| small.indices.iter().map(|list| list[entry]).collect::<Vec<u32>>();
        let kept: Vec<usize> = (0..60).filter(|&entry| seen.insert(cell(entry))).collect();
        small.indices =
            small.indices.iter().map(|list| kept.iter().map(|&entry| list[entry]).collect()).collect();
        small.values = kept.iter().map(|&entry| small.values[entry]).collect();
        // The same with all others as entries of value 0.
        let mut whole = Small::new(order);
        whole.indices = vec![Vec::new(); order];
        whole.values = Vec::new();
        for index in concepts(&SIZES[..order]) {
            let at =
                |entry: &usize| (0..order).all(|mode| small.indices[mode][*entry] as usize == index[mode]);
            whole.values.push((0..kept.len()).find(at).map_or(0.0, |entry| small.values[entry]));
            index.iter().zip(&mut whole.indices).for_each(|(&row, list)| list.push(row as u32));
        }
        let mut noise = Noise::new(SIZES[..order].iter().map(|&size| vec![1; size]).collect());
        noise.tau = 1.7;
        let interrupt = AtomicBool::new(false);
        for (weight, view) in
            [1.0, 0.3].into_iter().flat_map(|weight| small.views().map(move |view| (weight, view)))
        {
            let (mode, rank) = (view.mode, RANKS[view.mode]);
            let given = Zeros::new(weight, &SIZES[..order]).given(small.ranks(), &small.factors);
            let zeros = given.of_rows(&small.core, mode);
            let factors = small.slices();
            let mut conditional = small.given(&view, &factors, &noise, None, 1, &interrupt);
            conditional.zeros = Some(&zeros);
            let mut params = NaturalParams::new(rank, vec![0.0; SIZES[mode] * NaturalParams::len(rank)]);
            let mean = Some((&mut params, 1.0));
            let drawn = conditional.draw(&mut Workspace::default(), mean).unwrap().unwrap();
            let mut squares = 0.0;
            for row in 0..SIZES[mode] {
                let (mut precision, mut pull) = (vec![0.0; rank * rank], vec![0.0; rank]);
                let own = &small.factors[mode][row * rank..][..rank];
                let new = &drawn.rows[row * rank..][..rank];
                let mut errors = 0.0;
                let cells = (0..whole.values.len()).filter(|&cell| whole.indices[mode][cell] as usize == row);
                for cell in cells {
                    let (design, value) = (whole.design(cell, mode), f64::from(whole.values[cell]));
                    let weight = if value == 0.0 { weight } else { 1.0 };
                    for place in 0..rank * rank {
                        precision[place] += noise.tau * weight * design[place / rank] * design[place % rank];
                    }
                    pull.iter_mut()
                        .zip(&design)
                        .for_each(|(pull, d)| *pull += noise.tau * weight * value * d);
                    let error = |row: &[f32]| {
                        value - design.iter().zip(row).map(|(d, &value)| d * f64::from(value)).sum::<f64>()
                    };
                    squares += weight * error(own).powi(2);
                    errors += weight * error(new).powi(2);
                }
                let free = 1..rank;
                let triangle = free.clone().flat_map(|k| (1..=k).map(move |l| (k, l)));
                let systems = triangle.map(|(k, l)| precision[k * rank + l] + f64::from(u8::from(k == l)));
                let expected: Vec<f64> = systems.chain(free.map(|k| pull[k] - precision[k * rank])).collect();
                let found = &params.numbers()[row * expected.len()..][..expected.len()];
                let close =
                    |found: f64, expected: f64| (found - expected).abs() < 1e-4 * (1.0 + expected.abs());
                for (&found, &expected) in found.iter().zip(&expected) {
                    assert!(close(found.into(), expected), "order {order}: {found} and not {expected}");
                }
                assert!(close(drawn.squares[row], errors), "{} and not {errors}", drawn.squares[row]);
            }
            let mut memory = Aligned::default();
            let pass = Pass::new(&view, (small.ranks(), &factors), None, &ALONE, &mut memory);
            let mut core = CoreState::new(small.ranks(), small.core.clone(), false, &[]);
            core.values.clone_from(&small.core);
            let streams = Streams { seed: 1, epoch: 1 };
            let found = core.draw_with_zeros(&pass, &given, noise.tau, false, streams).unwrap();
            assert!((found / squares - 1.0).abs() < 1e-5, "order {order}: {found} and not {squares}");
        }
    }
}

#[test]
fn the_core_with_zeros_is_drawn_as_if_each_was_visited() {
    const DRAWS: u64 = 50_000;
    let mut small = Small::new(2);
    let mut whole = Small::new(2);
    small.indices = vec![vec![0, 1, 2, 3, 4], vec![5, 4, 3, 2, 0]];
    small.values = vec![1.5, -0.5, 2.0, 1.0, -1.0];
    let cells = concepts(&SIZES[..2]);
    whole.indices = vec![Vec::new(); 2];
    whole.values.clear();
    for index in cells {
        let at = |entry: &usize| (0..2).all(|mode| small.indices[mode][*entry] as usize == index[mode]);
        whole.values.push((0..5).find(at).map_or(0.0, |entry| small.values[entry]));
        index.iter().zip(&mut whole.indices).for_each(|(&row, list)| list.push(row as u32));
    }
    // The mean and the variance of each number of the core in a chain of draws.
    let moments = |from: &Small, zeros: Option<f64>| {
        let view = from.views().next().unwrap();
        let factors = from.slices();
        let mut memory = Aligned::default();
        let pass = Pass::new(&view, (from.ranks(), &factors), None, &ALONE, &mut memory);
        let given = zeros.map(|weight| Zeros::new(weight, &SIZES[..2]).given(from.ranks(), &from.factors));
        let mut core = CoreState::new(from.ranks(), from.core.clone(), false, &[]);
        let draws = (0..DRAWS).map(|epoch| {
            let streams = Streams { seed: 5, epoch };
            match &given {
                Some(given) => core.draw_with_zeros(&pass, given, 3.0, true, streams).unwrap(),
                None => core.draw(&pass, 3.0, true, streams).unwrap(),
            };
            core.values.iter().map(|&value| f64::from(value)).collect()
        });
        self::moments(&draws.collect::<Vec<Vec<f64>>>())
    };
    let (mean, covariance) = moments(&whole, None);
    let (found, spread) = moments(&small, Some(1.0));
    // Its precisions are drawn, too, and what is hardly told by so few cells moves slowly.
    let n = mean.len();
    for k in 0..n {
        let deviation = covariance[k * n + k].sqrt();
        assert!((found[k] - mean[k]).abs() < 0.1 * deviation + 1e-6, "{k}: {} and not {}", found[k], mean[k]);
        let (found, expected) = (spread[k * n + k], covariance[k * n + k]);
        assert!(
            (found - expected).abs() < 0.15 * expected + 1e-9,
            "{k}: variance {found} and not {expected}"
        );
    }
}

/// A matrix coupled to six rows, with a weight that fixes its precision.
fn matrix(kind: Absent, rank: usize) -> Matrix {
    let entries = Entries::new(vec![vec![0, 0, 2, 5], vec![0, 1, 1, 2]], vec![1.0, -2.0, 0.5, 1.5]).unwrap();
    let coupled = Coupled::new(0, kind, entries).unwrap().weighted(2.0);
    let tensor = Entries::new(vec![(0..6).collect(), (0..6).collect()], vec![1.0; 6]).unwrap();
    let problem = Problem::builder(tensor).couple(coupled).build().unwrap();
    Matrix::new(&problem.coupled()[0], 0, 6, rank, 1.0)
}

#[test]
fn a_matrix_says_of_a_row_what_its_cells_say() {
    let rows: Vec<f32> =
        (0..18).map(|place| if place % 3 == 0 { 1.0 } else { (place as f32).sin() }).collect();
    for kind in [Absent::Zeros, Absent::Missing] {
        let mut matrix = matrix(kind, 3);
        matrix.draw(&rows, &[], 1.5, Streams { seed: 1, epoch: 1 });
        let cells = matrix.cells().unwrap();
        // A weight of 2 and a tensor's precision of 1.5, in units of the scaled values.
        let tau = 3.0 * cells.scale * cells.scale;
        for row in 0..6 {
            let mut dense = [None; 3];
            for (r, c, value) in [(0, 0, 1.0), (0, 1, -2.0), (2, 1, 0.5), (5, 2, 1.5)] {
                if r == row {
                    dense[c] = Some(value / cells.scale);
                }
            }
            let (mut precision, mut pull) = ([0.0; 9], [0.0; 3]);
            matrix.pull_row(row, &rows, &[], &mut precision, &mut pull);
            let (mut expected, mut expected_pull) = ([0.0; 9], [0.0; 3]);
            for (column, value) in dense.iter().enumerate() {
                let Some(value) = value.or((kind == Absent::Zeros).then_some(0.0)) else { continue };
                let v: Vec<f64> =
                    cells.columns[3 * column..3 * column + 3].iter().map(|&value| f64::from(value)).collect();
                for k in 0..3 {
                    (0..=k).for_each(|l| expected[3 * k + l] += tau * v[k] * v[l]);
                    expected_pull[k] += tau * value * v[k];
                }
            }
            for k in 0..3 {
                for l in 0..=k {
                    let (got, expected) = (precision[3 * k + l], expected[3 * k + l]);
                    assert!(
                        (got - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                        "{got} and not {expected}"
                    );
                }
                assert!((pull[k] - expected_pull[k]).abs() < 1e-4 * (1.0 + expected_pull[k].abs()));
            }
        }
    }
}

#[test]
fn the_mean_model_predicts_like_all_draws_together() {
    let world = WorldParams { users: 500, businesses: 300, ratings: 12_000, ..WorldParams::default() };
    let world = generate(&world);
    let mut problem = Problem::builder(world.ratings.clone()).sizes(vec![500, 300, 24]).build().unwrap();
    let params = Params { ranks: vec![8], threads: 1, ..Params::default() };
    let entries = EntrySource::Memory(problem.take_entries());
    let CheckedParams::Bayes(checked) = params.checked(&problem).unwrap() else { panic!("{params:?}") };
    let mut sampler = Sampler::new(&problem, entries, &checked, None, None, &ALONE).unwrap();
    let test = locate(problem.modes(), &world.test).unwrap();
    let rmse = |predictions: &[f32]| {
        let errors = predictions.iter().zip(test.values()).map(|(a, b)| f64::from(a - b).powi(2));
        (errors.sum::<f64>() / test.len() as f64).sqrt()
    };
    let (mut sums, mut count, mut alone) = (vec![0.0f32; test.len()], 0.0, 0.0);
    for _ in 0..params.epochs {
        sampler.epoch(&AtomicBool::new(false)).unwrap();
        sampler.join(None).unwrap();
        if sampler.is_typical() {
            let draw = sampler.model_so_far(false).unwrap().predict_located(test.clone(), true);
            sums.iter_mut().zip(&draw).for_each(|(sum, value)| *sum += value);
            alone += rmse(&draw);
            count += 1.0;
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= count);
    let mean = rmse(&sampler.model().unwrap().predict_located(test.clone(), true));
    let (together, alone) = (rmse(&sums), alone / f64::from(count));
    assert!(mean < 1.002 * together && mean < 0.95 * alone, "{mean}, {together} together, {alone} alone");
}
