//! The oracle: the objective and its gradient by plain loops in f64, zeros visited one by one.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

pub mod odd;
pub mod planted;

use s3cmtf::internal::Gradient;
use s3cmtf::{Absent, Core, CoupledFactor, Entries, Factor, Model, Params, Problem};

/// A model in f64, as flat lists.
#[derive(Clone, Debug)]
pub struct Wide {
    pub core: Vec<f64>,
    pub factors: Vec<Vec<f64>>,
    pub coupled: Vec<Vec<f64>>,
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

impl Wide {
    pub fn new(model: &Model) -> Self {
        Wide {
            core: wide(model.core().values()),
            factors: model.factors().iter().map(|factor| wide(factor.values())).collect(),
            coupled: model.coupled().iter().map(|matrix| wide(matrix.factor.values())).collect(),
        }
    }
}

/// Which concepts each element of a core connects.
pub fn elements(core: &Core, order: usize) -> Vec<Vec<usize>> {
    match core {
        Core::Diagonal(values) => (0..values.len()).map(|j| vec![j; order]).collect(),
        Core::Full { ranks, values } => (0..values.len())
            .map(|mut place| {
                let mut index = vec![0; order];
                for mode in (0..order).rev() {
                    index[mode] = place % ranks[mode];
                    place /= ranks[mode];
                }
                index
            })
            .collect(),
    }
}

pub fn prediction(wide: &Wide, elements: &[Vec<usize>], ranks: &[usize], rows: &[usize]) -> f64 {
    let term = |place: usize| {
        let factors =
            elements[place].iter().enumerate().map(|(n, &j)| wide.factors[n][rows[n] * ranks[n] + j]);
        wide.core[place] * factors.product::<f64>()
    };
    (0..elements.len()).map(term).sum()
}

fn rows_of(entries: &Entries, entry: usize) -> Vec<usize> {
    (0..entries.order()).map(|mode| entries.indices(mode)[entry] as usize).collect()
}

/// Every cell of a coupled matrix that counts, with its value.
fn cells(problem: &Problem, number: usize) -> Vec<(usize, usize, f64)> {
    let matrix = &problem.coupled()[number];
    let entries = matrix.entries();
    let observed = (0..entries.len()).map(|cell| {
        let rows = rows_of(entries, cell);
        (rows[0], rows[1], f64::from(entries.values()[cell]))
    });
    if matrix.kind() != Absent::Zeros {
        return observed.collect();
    }
    let (rows, columns) = (problem.modes()[matrix.mode()].rows(), matrix.columns().rows());
    let mut dense = vec![0.0; rows * columns];
    observed.for_each(|(row, column, value)| dense[row * columns + column] = value);
    dense.iter().enumerate().map(|(place, &value)| (place / columns, place % columns, value)).collect()
}

/// The paper's objective, Section 3.2.
pub fn objective(problem: &Problem, model: &Model, at: &Wide, params: &Params) -> f64 {
    let elements = elements(model.core(), problem.order());
    let ranks: Vec<usize> = model.factors().iter().map(|factor| factor.rank()).collect();
    let penalty = |values: &[f64]| -> f64 {
        values.iter().map(|value| if params.l1 { 2.0 * value.abs() } else { value * value }).sum()
    };
    let entries = problem.entries();
    let mut tensor = 0.0;
    for entry in 0..entries.len() {
        let error =
            f64::from(entries.values()[entry]) - prediction(at, &elements, &ranks, &rows_of(entries, entry));
        tensor += error * error;
    }
    let lambda_reg = f64::from(params.lambda_reg);
    tensor += lambda_reg * (penalty(&at.core) + at.factors.iter().map(|factor| penalty(factor)).sum::<f64>());
    let mut total = 0.5 * tensor;
    for (number, matrix) in problem.coupled().iter().enumerate() {
        let (rank, rows) = (ranks[matrix.mode()], &at.factors[matrix.mode()]);
        let columns = &at.coupled[number];
        let mut sum = lambda_reg * penalty(columns);
        for (row, column, value) in cells(problem, number) {
            sum += if matrix.kind() == Absent::Graph {
                value
                    * (0..rank).map(|j| (rows[row * rank + j] - rows[column * rank + j]).powi(2)).sum::<f64>()
            } else {
                let dot: f64 = (0..rank).map(|j| rows[row * rank + j] * columns[column * rank + j]).sum();
                (value - dot).powi(2)
            };
        }
        total += 0.5 * f64::from(model.coupled()[number].weight) * sum;
    }
    total
}

/// The gradient of [`objective`], by its formulas (Equation 8).
pub fn gradient(problem: &Problem, model: &Model, at: &Wide, params: &Params) -> Gradient {
    let elements = elements(model.core(), problem.order());
    let ranks: Vec<usize> = model.factors().iter().map(|factor| factor.rank()).collect();
    let lambda_reg = f64::from(params.lambda_reg);
    let slopes = |values: &[f64]| -> Vec<f64> {
        let slope = |value: f64| {
            if !params.l1 {
                value
            } else if value == 0.0 {
                0.0
            } else {
                value.signum()
            }
        };
        values.iter().map(|&value| lambda_reg * slope(value)).collect()
    };
    let mut core = slopes(&at.core);
    let mut factors: Vec<Vec<f64>> = at.factors.iter().map(|factor| slopes(factor)).collect();
    let entries = problem.entries();
    for entry in 0..entries.len() {
        let rows = rows_of(entries, entry);
        let error = f64::from(entries.values()[entry]) - prediction(at, &elements, &ranks, &rows);
        for (place, index) in elements.iter().enumerate() {
            let value = |n: usize| at.factors[n][rows[n] * ranks[n] + index[n]];
            core[place] -= error * (0..rows.len()).map(value).product::<f64>();
            for mode in 0..rows.len() {
                let others = (0..rows.len()).filter(|&other| other != mode).map(value).product::<f64>();
                factors[mode][rows[mode] * ranks[mode] + index[mode]] -= error * at.core[place] * others;
            }
        }
    }
    let mut coupled = Vec::new();
    for (number, matrix) in problem.coupled().iter().enumerate() {
        let weight = f64::from(model.coupled()[number].weight);
        let rank = ranks[matrix.mode()];
        let rows = &at.factors[matrix.mode()];
        let columns = &at.coupled[number];
        let mut sums: Vec<f64> = slopes(columns).iter().map(|slope| weight * slope).collect();
        let row_sums = &mut factors[matrix.mode()];
        for (row, column, value) in cells(problem, number) {
            let (a, b) = (row * rank, column * rank);
            if matrix.kind() == Absent::Graph {
                for j in 0..rank {
                    let difference = weight * value * (rows[a + j] - rows[b + j]);
                    row_sums[a + j] += difference;
                    row_sums[b + j] -= difference;
                }
            } else {
                let error = value - (0..rank).map(|j| rows[a + j] * columns[b + j]).sum::<f64>();
                for j in 0..rank {
                    row_sums[a + j] -= weight * error * columns[b + j];
                    sums[b + j] -= weight * error * rows[a + j];
                }
            }
        }
        coupled.push(sums);
    }
    Gradient { core, factors, coupled }
}

/// A small generator of numbers, some of them exactly zero.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        if (self.0 >> 20).is_multiple_of(9) { 0.0 } else { value }
    }

    /// Uniform in [-1, 1), without the exact zeros.
    pub fn uniform(&mut self) -> f32 {
        self.next();
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.next();
        (self.0 >> 33) as usize % limit
    }

    pub fn list(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.next()).collect()
    }
}

/// Random entries of a tensor of the given sizes; the last id of every mode occurs.
pub fn entries(numbers: &mut Numbers, sizes: &[u32], count: usize) -> Entries {
    let indices = sizes
        .iter()
        .map(|&size| {
            (0..count)
                .map(|entry| if entry == 0 { size - 1 } else { numbers.below(size as usize) as u32 })
                .collect()
        })
        .collect();
    Entries::new(indices, numbers.list(count)).unwrap()
}

/// A random model, with exact zeros, for a problem.
pub fn model(
    numbers: &mut Numbers,
    problem: &Problem,
    ranks: &[usize],
    diagonal: bool,
    weight: f32,
) -> Model {
    let core = if diagonal {
        Core::Diagonal(numbers.list(ranks[0]))
    } else {
        Core::full(ranks.to_vec(), numbers.list(ranks.iter().product()))
    };
    let factors = problem.modes().iter().zip(ranks);
    let factors = factors.map(|(mode, &rank)| Factor::new(rank, numbers.list(mode.rows() * rank))).collect();
    let coupled = problem.coupled().iter().map(|matrix| {
        let rank = ranks[matrix.mode()];
        CoupledFactor {
            name: matrix.name().to_owned(),
            mode: matrix.mode(),
            kind: matrix.kind(),
            weight: matrix.weight().unwrap_or(weight),
            columns: matrix.columns().clone(),
            factor: Factor::new(rank, numbers.list(matrix.columns().rows() * rank)),
            effects: None,
        }
    });
    Model::new(problem.modes().to_vec(), core, factors, coupled.collect(), problem.entries().range()).unwrap()
}
