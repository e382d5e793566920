//! Where the factors and the core start.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::likelihood::Likelihood;
use crate::model::{Core, CoupledFactor, Factor, Model};
use crate::parallel;
use crate::params::{CoreKind, SgdParams, Start};
use crate::problem::{Absent, Problem};

/// The spread of the noise around the mean start.
const NOISE: f64 = 0.1;

/// The model that training starts from; rows and columns that `warm` knows are taken from it.
pub(crate) fn start(problem: &Problem, params: &SgdParams, warm: Option<&Model>) -> Model {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(params.common.seed);
    let ranks = warm.map_or_else(
        || params.common.ranks.clone(),
        |model| model.factors().iter().map(Factor::rank).collect(),
    );
    let kind = warm.map_or(params.common.core, Model::core_kind);
    let scale = Scale::new(problem);
    let (core, factors) = match params.start {
        // Settings that were checked have no offsets here.
        Start::Mean | Start::Offsets => {
            mean_start(problem, &ranks, kind, params.nonnegative, &scale, &mut generator)
        }
        Start::Random => random_start(problem, &ranks, kind, params.nonnegative, &scale, &mut generator),
    };
    let coupled = problem.coupled().iter().map(|matrix| {
        let rank = ranks[matrix.mode()];
        let columns = matrix.columns().rows();
        let spread = if params.start == Start::Random { (3.0 / rank as f64).sqrt() } else { NOISE };
        let random = params.start == Start::Random || params.nonnegative;
        let values = (0..columns * rank).map(|_| {
            let value = if random { generator.random::<f64>() } else { normal(&mut generator) };
            (value * spread) as f32
        });
        CoupledFactor {
            name: matrix.name().to_owned(),
            mode: matrix.mode(),
            kind: matrix.kind(),
            weight: matrix.weight().unwrap_or(params.lambda_couple),
            columns: matrix.columns().clone(),
            factor: Factor::new(rank, values.collect()),
            effects: None,
        }
    });
    let coupled = coupled.collect();
    let range = problem.entries().range();
    let mut model = Model {
        modes: problem.modes().to_vec(),
        core,
        factors,
        coupled,
        range,
        uncertainty: None,
        offsets: None,
        value: problem.value().map(str::to_owned),
        choice: None,
        choice_weights: None,
        absent_weight: None,
        likelihood: Likelihood::Gaussian,
    };
    if let Some(warm) = warm {
        take_over(&mut model, warm);
    }
    if params.nonnegative {
        let factors =
            model.factors.iter_mut().chain(model.coupled.iter_mut().map(|matrix| &mut matrix.factor));
        let lists = std::iter::once(model.core.values_mut()).chain(factors.map(Factor::values_mut));
        lists.flatten().for_each(|value| *value = value.max(0.0));
    }
    model
}

/// The size of the data's values.
struct Scale {
    mean: f64,
    /// The standard deviation, or where that is too small to start from, a part of the mean.
    spread: f64,
}

impl Scale {
    fn new(problem: &Problem) -> Self {
        let entries = problem.entries();
        let mean = entries.mean();
        let squares = entries.values().iter().map(|&value| (f64::from(value) - mean).powi(2));
        let spread = (squares.sum::<f64>() / entries.len() as f64).sqrt();
        let least = if mean == 0.0 { 1e-3 } else { 0.1 * mean.abs() };
        Scale { mean, spread: spread.max(least) }
    }
}

/// A number of the standard normal distribution.
fn normal(generator: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - generator.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * generator.random::<f64>()).cos()
}

/// A factor of random numbers; `number` gets the concept. Pieces of rows have generators of their own, so that large
/// factors are filled by all threads and come out the same.
fn random_factor(
    rows: usize,
    rank: usize,
    generator: &mut Xoshiro256PlusPlus,
    number: impl Fn(usize, &mut Xoshiro256PlusPlus) -> f32 + Sync,
) -> Factor {
    let seed: u64 = generator.random();
    let mut values = vec![0.0; rows * rank];
    parallel::chunks_mut(&mut values, 8192 * rank, |piece, values| {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(piece as u64));
        values
            .iter_mut()
            .enumerate()
            .for_each(|(place, value)| *value = number(place % rank, &mut generator));
    });
    Factor::new(rank, values)
}

/// The first concept of every mode is a constant, and together they predict the mean. The others start small: the
/// second carries an offset of each entity, the rest interact in pairs of modes. All of it is only a start.
fn mean_start(
    problem: &Problem,
    ranks: &[usize],
    kind: CoreKind,
    nonnegative: bool,
    scale: &Scale,
    generator: &mut Xoshiro256PlusPlus,
) -> (Core, Vec<Factor>) {
    let order = ranks.len();
    // The mean is shared out evenly between the factors and the core, for balanced steps.
    let base = (scale.mean.abs() / scale.spread).powf(1.0 / order as f64).max(1.0);
    let noise = |generator: &mut Xoshiro256PlusPlus| {
        let value = NOISE * normal(generator);
        if nonnegative { value.abs() } else { value }
    };
    let core = match kind {
        CoreKind::Diagonal => {
            let unit = scale.spread / base.powi(order as i32 - 1);
            let first = scale.mean / base.powi(order as i32);
            Core::Diagonal((0..ranks[0]).map(|j| if j == 0 { first as f32 } else { unit as f32 }).collect())
        }
        CoreKind::Full => {
            let mut index = vec![0usize; order];
            let values = (0..ranks.iter().product::<usize>()).map(|_| {
                let active: Vec<usize> = index.iter().copied().filter(|&j| j > 0).collect();
                let unit = scale.spread / base.powi((order - active.len()) as i32);
                let value = match active.as_slice() {
                    [] => scale.mean / base.powi(order as i32),
                    [1] => unit,
                    [a, b] if a == b => unit,
                    _ => unit * NOISE * noise(generator),
                };
                for mode in (0..order).rev() {
                    index[mode] += 1;
                    if index[mode] < ranks[mode] {
                        break;
                    }
                    index[mode] = 0;
                }
                value as f32
            });
            Core::full(ranks.to_vec(), values.collect())
        }
    };
    let factors = ranks.iter().enumerate().map(|(mode, &rank)| {
        random_factor(problem.modes()[mode].rows(), rank, generator, |j, generator| match (j, kind) {
            (0, _) => base as f32,
            (_, CoreKind::Full) => noise(generator) as f32,
            // A concept of a diagonal core starts as an offset of one mode: constant in all others.
            (j, CoreKind::Diagonal) if (j - 1) % order == mode => noise(generator) as f32,
            (_, CoreKind::Diagonal) => (base + noise(generator)) as f32,
        })
    });
    (core, factors.collect())
}

/// The paper's start: everything uniform and positive, rows of about unit length, predictions around the mean.
fn random_start(
    problem: &Problem,
    ranks: &[usize],
    kind: CoreKind,
    nonnegative: bool,
    scale: &Scale,
    generator: &mut Xoshiro256PlusPlus,
) -> (Core, Vec<Factor>) {
    let target = if scale.mean.abs() > 1e-6 * scale.spread { scale.mean } else { scale.spread };
    let target = if nonnegative { target.abs() } else { target };
    let unit = |rank: usize| (3.0 / rank as f64).sqrt();
    // The expected prediction of a core of ones.
    let expected: f64 = match kind {
        CoreKind::Full => ranks.iter().map(|&rank| 0.5 * rank as f64 * unit(rank)).product(),
        CoreKind::Diagonal => ranks[0] as f64 * ranks.iter().map(|&rank| 0.5 * unit(rank)).product::<f64>(),
    };
    let factors = ranks.iter().enumerate().map(|(mode, &rank)| {
        random_factor(problem.modes()[mode].rows(), rank, generator, |_, generator| {
            (generator.random::<f64>() * unit(rank)) as f32
        })
    });
    let factors: Vec<Factor> = factors.collect();
    let mut uniform = |scale: f64| (generator.random::<f64>() * scale) as f32;
    let g = 2.0 * target / expected;
    let core = match kind {
        CoreKind::Full => {
            Core::full(ranks.to_vec(), (0..ranks.iter().product()).map(|_| uniform(g)).collect())
        }
        CoreKind::Diagonal => Core::Diagonal((0..ranks[0]).map(|_| uniform(g)).collect()),
    };
    (core, factors)
}

/// Copies what `warm` knows: the core, the rows of ids that it has (others start as its average), and its coupled
/// columns by name and id.
fn take_over(model: &mut Model, warm: &Model) {
    model.core = warm.core.clone();
    for mode in 0..model.modes.len() {
        copy_rows(&model.modes[mode], &mut model.factors[mode], &warm.modes[mode], &warm.factors[mode]);
    }
    for matrix in &mut model.coupled {
        let same = |other: &&CoupledFactor| other.name == matrix.name && other.mode == matrix.mode;
        if let Some(known) = warm.coupled.iter().find(same)
            && matrix.kind != Absent::Graph
            && known.kind != Absent::Graph
        {
            copy_rows(&matrix.columns, &mut matrix.factor, &known.columns, &known.factor);
        }
    }
}

fn copy_rows(to_mode: &crate::Mode, to: &mut Factor, from_mode: &crate::Mode, from: &Factor) {
    let (rank, average) = (to.rank(), from.average());
    for (row, values) in to.values_mut().chunks_exact_mut(rank).enumerate() {
        let known = to_mode.row_in(from_mode, row);
        values.copy_from_slice(known.map_or(&average, |known| from.row(known as usize)));
    }
}
