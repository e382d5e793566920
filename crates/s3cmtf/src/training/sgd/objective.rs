//! The paper's objective (Section 3.2) and its gradient, of a given model; `docs/method.md` has the equations.

use std::sync::atomic::AtomicBool;

use s3cmtf_kernels::{CHUNK, Level, Step};

use super::graph::Graph;
use super::method::{ModeRows, TensorStep};
use crate::layout::{Chunks, Contraction, Order, Position};
use crate::model::{ErrorSums, Model};
use crate::params::{Method, Params};
use crate::problem::{Absent, Coupled, Problem};
use crate::training::gram::gram;
use crate::training::sparse::Sparse;

/// The length of the steps that tell the gradients: 2^20.
const LONG: f32 = 1_048_576.0;

/// The gradient of the objective, in the form of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// With respect to the core's values.
    pub core: Vec<f64>,
    /// With respect to each mode's factor, row after row.
    pub factors: Vec<Vec<f64>>,
    /// With respect to each coupled matrix's factor, row after row; empty for a graph.
    pub coupled: Vec<Vec<f64>>,
}

/// The objective `f = f_t / 2 + sum_m lambda_m f_m / 2` of a model on the problem it was made for.
///
/// # Panics
/// If the model's modes or coupled matrices are not the problem's.
pub fn objective(problem: &Problem, model: &Model, params: &Params) -> f64 {
    assert_same(problem, model);
    let penalty = |values: &[f32]| -> f64 {
        let terms = values.iter().map(|&value| f64::from(value));
        // Twice the absolute values, so that half of f_t has lambda |u|, whose slope is lambda.
        if params.l1 {
            terms.map(|value| 2.0 * value.abs()).sum()
        } else {
            terms.map(|value| value * value).sum()
        }
    };
    let lambda_reg = f64::from(params.lambda_reg);
    let (contraction, chunks) = arrange(problem, model, CHUNK);
    let factors: Vec<&[f32]> = model.factors().iter().map(|factor| factor.values()).collect();
    let errors: ErrorSums = chunks.sum(
        &contraction,
        &contraction.pack(model.core().values()),
        &factors,
        |entries, predictions| ErrorSums::new(&chunks.values[entries], predictions, None),
    );
    let sizes = penalty(model.core().values()) + factors.iter().map(|values| penalty(values)).sum::<f64>();
    let mut total = 0.5 * (errors.squared + lambda_reg * sizes);
    for (number, matrix) in problem.coupled().iter().enumerate() {
        let coupled = &model.coupled()[number];
        let rows = model.factors()[matrix.mode()].values();
        let columns = coupled.factor.values();
        let rank = coupled.factor.rank();
        let squares = match matrix.kind() {
            Absent::Missing => {
                cell_errors(matrix, rows, columns, rank).map(|(error, _)| error * error).sum::<f64>()
            }
            Absent::Zeros => {
                // sum (y - u v')^2 = sum y^2 - 2 sum y u v' + <U'U, V'V>, over all cells, from the non-zeros.
                let nonzeros: f64 = cell_errors(matrix, rows, columns, rank)
                    .map(|(error, value)| value * value - 2.0 * value * (value - error))
                    .sum();
                let grams = gram(rows, rank).into_iter().zip(gram(columns, rank));
                nonzeros + grams.map(|(a, b)| a * b).sum::<f64>()
            }
            Absent::Graph => graph_squares(matrix, rows, rank),
        };
        total += 0.5 * f64::from(coupled.weight) * (squares + lambda_reg * penalty(columns));
    }
    total
}

/// The gradient of [`objective`], with the tensor's part from the kernels of `params.method`.
///
/// # Panics
/// If the model's modes or coupled matrices are not the problem's.
pub fn gradient(problem: &Problem, model: &Model, params: &Params) -> Gradient {
    assert_same(problem, model);
    let lambda_reg = f64::from(params.lambda_reg);
    let slope = |value: f32| {
        let value = f64::from(value);
        match params.l1 {
            true if value == 0.0 => 0.0,
            true => lambda_reg * value.signum(),
            false => lambda_reg * value,
        }
    };
    let slopes = |values: &[f32]| values.iter().map(|&value| slope(value)).collect::<Vec<f64>>();
    let mut gradient = Gradient {
        core: slopes(model.core().values()),
        factors: model.factors().iter().map(|factor| slopes(factor.values())).collect(),
        coupled: Vec::new(),
    };
    add_tensor(problem, model, params.method, &mut gradient);
    for (number, matrix) in problem.coupled().iter().enumerate() {
        let coupled = &model.coupled()[number];
        let weight = f64::from(coupled.weight);
        let mut columns: Vec<f64> =
            slopes(coupled.factor.values()).iter().map(|slope| weight * slope).collect();
        add_matrix(matrix, model, number, &mut gradient.factors[matrix.mode()], &mut columns);
        gradient.coupled.push(columns);
    }
    gradient
}

fn assert_same(problem: &Problem, model: &Model) {
    assert_eq!(problem.modes(), model.modes(), "the model is another problem's");
    assert_eq!(problem.coupled().len(), model.coupled().len(), "the model is another problem's");
}

fn arrange(problem: &Problem, model: &Model, chunk: usize) -> (Contraction, Chunks) {
    let rows: Vec<usize> = problem.modes().iter().map(|mode| mode.rows()).collect();
    let ranks: Vec<usize> = model.factors().iter().map(|factor| factor.rank()).collect();
    let contraction = Contraction::new(&ranks, &rows, model.core_kind(), Level::best());
    let entries = problem.entries();
    let indices = (0..problem.order()).map(|mode| entries.indices(mode).to_vec()).collect();
    let order = Order { chunk, tasks: None, seed: None, places: false };
    let chunks = Chunks::new(&contraction, indices, entries.values().to_vec(), order);
    (contraction, chunks)
}

/// Adds the tensor's part: the very steps of training, on copies of the rows, tell the gradients. The steps are long,
/// so that where a row was before does not drown its gradient; a power of two costs no digit.
fn add_tensor(problem: &Problem, model: &Model, method: Method, gradient: &mut Gradient) {
    // The reference methods step the core with every entry, so that they see one entry at a time here.
    let (contraction, set) = arrange(problem, model, if method == Method::Fast { CHUNK } else { 1 });
    let mut worker = method.worker(&contraction);
    let packed = method.pack(&contraction, model.core());
    let order = problem.order();
    let no_reg: Vec<Vec<f32>> = vec![vec![0.0; CHUNK]; order];
    let step = Step { rate: LONG, l1: false, nonnegative: false };
    let no_boost = vec![Vec::new(); order];
    let never = AtomicBool::new(false);
    let step = TensorStep {
        step,
        reg: &no_reg,
        codes: &vec![Vec::new(); order],
        by_code: &[0.0; 256],
        core_reg: 0.0,
        core_boost: 1.0,
        boost: &no_boost,
        damped: false,
        interrupt: &never,
    };
    for chunk in 0..set.chunks() {
        let entries = set.entries(chunk);
        // One copy of a row per entry, so that no step sees another; one for all where the chunk shares it.
        let own = |part: Position| matches!(part, Position::Inner(_)) || set.is_mixed(chunk);
        let index = |mode: usize, entry: usize| set.row(contraction.part(mode), chunk, entry) as usize;
        let old: Vec<Vec<f32>> = (0..order)
            .map(|mode| {
                let end = if own(contraction.part(mode)) { entries.end } else { entries.start + 1 };
                let rows = (entries.start..end).map(|entry| model.factors()[mode].row(index(mode, entry)));
                rows.flatten().copied().collect()
            })
            .collect();
        let (count, slots) = (entries.len() as u32, set.slots(chunk).len() as u32);
        let local = Chunks {
            inner: [(0..count).collect(), (0..count).collect()],
            values: set.values[entries.clone()].to_vec(),
            outer: vec![(0..slots).collect(); contraction.outer.len()],
            starts: vec![0, count],
            slots: vec![0, slots],
            ..Chunks::default()
        };
        let (mut new, mut core) = (old.clone(), packed.clone());
        let mut rows: Vec<ModeRows<'_>> =
            new.iter_mut().map(|rows| ModeRows::Owned { rows: rows.as_mut_slice(), base: 0 }).collect();
        worker.run(&mut core, &mut rows, &local, 0..1, &step);
        for mode in 0..order {
            let rank = contraction.ranks[mode];
            for (copy, (old, new)) in old[mode].chunks(rank).zip(new[mode].chunks(rank)).enumerate() {
                let index = index(mode, entries.start + copy);
                let sums = &mut gradient.factors[mode][index * rank..][..rank];
                sums.iter_mut().zip(old.iter().zip(new)).for_each(|(sum, (&old, &new))| {
                    *sum += (f64::from(old) - f64::from(new)) / f64::from(LONG);
                });
            }
        }
        let (old, new) = (model.core(), method.unpack(&contraction, &core, model.core()));
        for (sum, (&old, &new)) in gradient.core.iter_mut().zip(old.values().iter().zip(new.values())) {
            *sum += (f64::from(old) - f64::from(new)) / f64::from(LONG);
        }
    }
}

/// Adds a matrix's part, the regulariser's excepted.
fn add_matrix(matrix: &Coupled, model: &Model, number: usize, rows_sum: &mut [f64], columns_sum: &mut [f64]) {
    let coupled = &model.coupled()[number];
    let (weight, rank) = (f64::from(coupled.weight), coupled.factor.rank());
    let (rows, columns) = (model.factors()[matrix.mode()].values(), coupled.factor.values());
    let entries = matrix.entries();
    let cells = (0..entries.len())
        .map(|cell| (entries.indices(0)[cell], entries.indices(1)[cell], entries.values()[cell]));
    let count = rows.len() / rank;
    match matrix.kind() {
        Absent::Missing => {
            for ((row, column, _), (error, _)) in cells.zip(cell_errors(matrix, rows, columns, rank)) {
                let (row, column) = (row as usize * rank, column as usize * rank);
                for j in 0..rank {
                    rows_sum[row + j] -= weight * error * f64::from(columns[column + j]);
                    columns_sum[column + j] -= weight * error * f64::from(rows[row + j]);
                }
            }
        }
        Absent::Zeros => {
            add_zeros(&Sparse::new(count, cells.clone()), rows, columns, rank, weight, rows_sum);
            let transposed = cells.map(|(row, column, value)| (column, row, value));
            let by_column = Sparse::new(columns.len() / rank, transposed);
            add_zeros(&by_column, columns, rows, rank, weight, columns_sum);
        }
        Absent::Graph => {
            let graph = Graph::new(matrix.mode(), coupled.weight, count, cells);
            let mut sum = vec![0.0; rank];
            for row in 0..count {
                let degree = graph.neighbours.pull(row, rows, rank, &mut sum);
                for (j, sum) in sum.iter().enumerate() {
                    rows_sum[row * rank + j] += weight * (degree * f64::from(rows[row * rank + j]) - sum);
                }
            }
        }
    }
}

/// Adds `weight * (u S - sum y v)` for every row `u`, with `S` the Gram matrix of the other factor.
fn add_zeros(nonzeros: &Sparse, rows: &[f32], other: &[f32], rank: usize, weight: f64, sums: &mut [f64]) {
    let gram = gram(other, rank);
    let mut pull = vec![0.0; rank];
    for (row, values) in rows.chunks_exact(rank).enumerate() {
        nonzeros.pull(row, other, rank, &mut pull);
        for j in 0..rank {
            let push: f64 = values.iter().zip(&gram[j * rank..]).map(|(&u, s)| f64::from(u) * s).sum();
            sums[row * rank + j] += weight * (push - pull[j]);
        }
    }
}

/// Each observed cell's error and value.
fn cell_errors<'a>(
    matrix: &'a Coupled,
    rows: &'a [f32],
    columns: &'a [f32],
    rank: usize,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let entries = matrix.entries();
    (0..entries.len()).map(move |cell| {
        let u = &rows[entries.indices(0)[cell] as usize * rank..][..rank];
        let v = &columns[entries.indices(1)[cell] as usize * rank..][..rank];
        let value = f64::from(entries.values()[cell]);
        (value - u.iter().zip(v).map(|(&u, &v)| f64::from(u) * f64::from(v)).sum::<f64>(), value)
    })
}

/// The sum over edges of `w |u_i - u_j|^2`.
fn graph_squares(matrix: &Coupled, rows: &[f32], rank: usize) -> f64 {
    let entries = matrix.entries();
    let row = |index: u32| &rows[index as usize * rank..][..rank];
    let edge = |edge: usize| {
        let (a, b) = (row(entries.indices(0)[edge]), row(entries.indices(1)[edge]));
        let squares = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
        f64::from(entries.values()[edge]) * squares.sum::<f64>()
    };
    (0..entries.len()).map(edge).sum()
}
