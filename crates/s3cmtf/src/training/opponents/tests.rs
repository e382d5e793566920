//! The methods against loops over every cell, against each other where they must agree, and against planted truth.

use std::sync::atomic::AtomicBool;

use super::cmtf_als::CmtfAls;
use super::cmtf_opt::CmtfOpt;
use super::cp::Cp;
use super::data::Data;
use super::method::{Method, Sweep};
use super::sals::Sals;
use super::start::normals;
use super::tucker_als::TuckerAls;
use crate::params::{Algorithm, CheckedParams, OpponentParams, OptimizerKind, Params, Start};
use crate::problem::{Absent, Coupled, Entries, Problem};

const ALL: [Algorithm; 4] = [Algorithm::CmtfOpt, Algorithm::CmtfAls, Algorithm::Sals, Algorithm::TuckerAls];
static NEVER: AtomicBool = AtomicBool::new(false);

/// A planted CP tensor of the given sizes with matrices of both kinds on its first two modes; of its cells one in `every` is
/// known. Noise has the given standard deviation.
fn planted(rows: &[usize], rank: usize, every: usize, noise: f64) -> Problem {
    let factors: Vec<Vec<f64>> =
        rows.iter().enumerate().map(|(mode, rows)| normals(5, mode, rows * rank)).collect();
    let cells: usize = rows.iter().product();
    let errors = normals(6, 0, cells);
    let mut indices = vec![Vec::new(); rows.len()];
    let mut values = Vec::new();
    for cell in (0..cells).filter(|cell| ((cell * 2_654_435_761) >> 9) % every == 0) {
        let mut left = cell;
        let index: Vec<usize> = rows
            .iter()
            .rev()
            .map(|rows| {
                let own = left % rows;
                left /= rows;
                own
            })
            .collect();
        let index: Vec<usize> = index.into_iter().rev().collect();
        let product = |k: usize| {
            index.iter().zip(&factors).map(|(row, factor)| factor[row * rank + k]).product::<f64>()
        };
        values.push(((0..rank).map(product).sum::<f64>() + noise * errors[cell]) as f32);
        indices.iter_mut().zip(&index).for_each(|(list, &row)| list.push(row as u32));
    }
    let matrix = |mode: usize, kind: Absent, columns: usize| {
        let other = normals(7, mode, columns * rank);
        let mut lists = (vec![Vec::new(); 2], Vec::new());
        for (row, column) in (0..rows[mode]).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            if (row + 2 * column) % 3 == 0 {
                continue;
            }
            let own = &factors[mode][row * rank..][..rank];
            let value: f64 = own.iter().zip(&other[column * rank..][..rank]).map(|(a, b)| a * b).sum();
            lists.0[0].push(row as u32);
            lists.0[1].push(column as u32);
            lists.1.push(value as f32);
        }
        Coupled::new(mode, kind, Entries::new(lists.0, lists.1).expect("cells")).expect("a matrix")
    };
    let entries = Entries::new(indices, values).expect("entries");
    let builder = Problem::builder(entries);
    let builder = builder.couple(matrix(0, Absent::Missing, 5)).couple(matrix(1, Absent::Zeros, 4));
    builder.build().expect("a problem")
}

fn alone(problem: &Problem) -> Problem {
    Problem::builder(problem.entries().clone()).build().expect("a problem")
}

fn checked(params: &Params, problem: &Problem) -> OpponentParams {
    match params.checked(problem).expect("settings") {
        CheckedParams::Opponent(params) => params,
        other => panic!("{other:?}"),
    }
}

fn method(data: &Data, params: &OpponentParams) -> Box<dyn Method> {
    use crate::params::Opponent;
    match params.opponent {
        Opponent::CmtfOpt => Box::new(CmtfOpt::new(data, params)),
        Opponent::CmtfAls => Box::new(CmtfAls::new(data, params)),
        Opponent::Sals => Box::new(Sals::new(data, params)),
        Opponent::TuckerAls => Box::new(TuckerAls::new(data, params)),
    }
}

fn usual(algorithm: Algorithm, rank: usize) -> Params {
    let lambda_reg = if algorithm == Algorithm::TuckerAls { Params::default().lambda_reg } else { 0.1 };
    Params { ranks: vec![rank], start: Start::Random, lambda_reg, ..Params::usual(algorithm) }
}

/// What a method is fitted to, itself and its start.
fn begin(problem: &Problem, params: &Params) -> (Data, Box<dyn Method>, Vec<f64>) {
    let params = checked(params, problem);
    let data = Data::new(problem, problem.entries().clone(), &params, false).expect("data");
    let method = method(&data, &params);
    let state = method.start(&data, None);
    (data, method, state)
}

/// Half of the squared errors of a CP state, its matrices and its ridge, cell by cell.
fn objective(data: &Data, problem: &Problem, cp: &Cp, state: &[f64], ridge: f64) -> f64 {
    let rank = cp.rank;
    let known: std::collections::HashMap<Vec<u32>, f64> = {
        let entries = problem.entries();
        let of = |place: usize| (0..entries.order()).map(|mode| entries.indices(mode)[place]).collect();
        (0..entries.len()).map(|place| (of(place), f64::from(entries.values()[place]))).collect()
    };
    let predict = |index: &[u32]| -> f64 {
        let product = |k: usize| -> f64 {
            index
                .iter()
                .enumerate()
                .map(|(mode, &row)| state[cp.range(mode)][row as usize * rank + k])
                .product()
        };
        (0..rank).map(product).sum()
    };
    let mut sum = 0.0;
    let cells: usize = data.rows.iter().product();
    for cell in 0..cells {
        let mut left = cell;
        let mut index = vec![0; data.rows.len()];
        for (place, rows) in data.rows.iter().enumerate().rev() {
            index[place] = (left % rows) as u32;
            left /= rows;
        }
        let value = known.get(&index).copied().or(data.zeros.then_some(0.0));
        sum += value.map_or(0.0, |value| (value - predict(&index)).powi(2));
    }
    for (number, matrix) in data.matrices.iter().enumerate() {
        let (rows, columns) = (&state[cp.range(matrix.mode)], &state[cp.columns(number)]);
        for (row, own) in rows.chunks(rank).enumerate() {
            for (column, other) in columns.chunks(rank).enumerate() {
                let value = matrix.by_row.row(row).find(|&(found, _)| found as usize == column);
                let value = value.map(|(_, value)| f64::from(value)).or(matrix.zeros.then_some(0.0));
                let prediction: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                sum += value.map_or(0.0, |value| matrix.weight * (value - prediction).powi(2));
            }
        }
    }
    sum += ridge * state.iter().map(|value| value * value).sum::<f64>();
    0.5 * sum
}

#[test]
fn the_objective_is_the_sum_over_all_cells_and_its_gradient_that_of_finite_differences() {
    for rows in [&[4, 5][..], &[4, 5, 3], &[3, 4, 2, 3]] {
        for absent in [Absent::Missing, Absent::Zeros] {
            let problem = planted(rows, 2, 2, 0.1);
            let params = Params { absent, ..usual(Algorithm::CmtfOpt, 3) };
            let params = checked(&params, &problem);
            let data = Data::new(&problem, problem.entries().clone(), &params, false).unwrap();
            let cp = Cp::new(&data, 3);
            let state = normals(9, 0, cp.len());
            let evaluate = |state: &[f64], gradient: &mut [f64]| {
                super::cmtf_opt::Objective { data: &data, cp: &cp, ridge: 0.1 }.evaluate(state, gradient)
            };
            let mut gradient = vec![0.0; state.len()];
            let value = evaluate(&state, &mut gradient);
            let expected = objective(&data, &problem, &cp, &state, 0.1);
            assert!((value - expected).abs() < 1e-9 * expected, "{rows:?} {absent:?}: {value} {expected}");
            for (place, &slope) in gradient.iter().enumerate() {
                let at = |step: f64| {
                    let mut moved = state.clone();
                    moved[place] += step;
                    evaluate(&moved, &mut vec![0.0; state.len()])
                };
                let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (slope - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                    "{rows:?} {absent:?} {place}: {slope} {expected}"
                );
            }
        }
    }
}

#[test]
fn no_sweep_makes_the_objective_larger() {
    let problem = planted(&[9, 7, 5], 2, 2, 0.1);
    for algorithm in [Algorithm::CmtfOpt, Algorithm::CmtfAls, Algorithm::Sals] {
        for absent in [Absent::Missing, Absent::Zeros] {
            if algorithm == Algorithm::Sals && absent == Absent::Zeros {
                continue;
            }
            for (block, optimizer) in
                [(1, OptimizerKind::Cg), (2, OptimizerKind::Lbfgs), (9, OptimizerKind::Lbfgs)]
            {
                let params = Params { absent, block, optimizer, ..usual(algorithm, 3) };
                let own = usual(algorithm, 3);
                let params =
                    if algorithm == Algorithm::Sals { params } else { Params { block: own.block, ..params } };
                let optimizer =
                    if algorithm == Algorithm::CmtfOpt { params.optimizer } else { own.optimizer };
                let (data, mut method, mut state) = begin(&problem, &Params { optimizer, ..params });
                let cp = Cp::new(&data, 3);
                let mut last = objective(&data, &problem, &cp, &state, 0.1);
                let first = last;
                for sweep in 0..20 {
                    if method.sweep(&data, &mut state, &NEVER) == Sweep::Last {
                        break;
                    }
                    let next = objective(&data, &problem, &cp, &state, 0.1);
                    assert!(
                        next <= last * (1.0 + 1e-6),
                        "{algorithm:?} {absent:?} {block} {sweep}: {next} after {last}"
                    );
                    last = next;
                }
                assert!(last < 0.7 * first, "{algorithm:?} {absent:?} {block}: {last} of {first}");
            }
        }
    }
}

#[test]
fn orthonormal_factors_never_fit_worse() {
    for absent in [Absent::Missing, Absent::Zeros] {
        let problem = alone(&planted(&[9, 7, 5], 2, 2, 0.1));
        let (data, mut method, mut state) =
            begin(&problem, &Params { absent, ..usual(Algorithm::TuckerAls, 3) });
        let mut last = f64::INFINITY;
        for _ in 0..20 {
            method.sweep(&data, &mut state, &NEVER);
            let model = method.model(&data, &state);
            for factor in model.factors() {
                for i in 0..3 {
                    for j in 0..3 {
                        let rows = 0..factor.rows();
                        let sum: f64 = rows
                            .map(|row| f64::from(factor.row(row)[i]) * f64::from(factor.row(row)[j]))
                            .sum();
                        assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-5, "{sum}");
                    }
                }
            }
            // With zeros the error over all cells falls: |X|^2 less the core's.
            let error = match absent {
                Absent::Zeros => {
                    let core: f64 = model.core().values().iter().map(|&value| f64::from(value).powi(2)).sum();
                    data.squares - core
                }
                _ => method.squared_errors(&data, &state),
            };
            assert!(error <= last * (1.0 + 1e-5), "{absent:?}: {error} after {last}");
            last = error;
        }
    }
}

#[test]
fn what_was_planted_is_found_to_its_noise() {
    let noise = 0.05;
    // Few cells are missing, since filling them by the model takes the longer the more there are.
    let mut problem = alone(&planted(&[13, 11, 9], 2, 1, noise));
    let entries = problem.take_entries();
    let (train, test): (Vec<u32>, Vec<u32>) = (0..entries.len() as u32).partition(|place| place % 7 != 0);
    let (train, test) = (entries.select(&train), entries.select(&test));
    let problem = problem.with_entries(train);
    for algorithm in ALL {
        let lambda_reg = if algorithm == Algorithm::TuckerAls { Params::default().lambda_reg } else { 1e-4 };
        for start in [Start::Random, Start::Mean, Start::Offsets] {
            // What was planted has no mean of its own.
            let rank = match (start, algorithm) {
                (Start::Random, _) => 2,
                (_, Algorithm::TuckerAls) => 3,
                _ => 5,
            };
            let params = Params { start, lambda_reg, ..usual(algorithm, rank) };
            let (data, mut method, mut state) = begin(&problem, &params);
            for _ in 0..150 {
                if method.sweep(&data, &mut state, &NEVER) == Sweep::Last {
                    break;
                }
            }
            let model = method.model(&data, &state);
            let rmse =
                crate::training::test_set::TestSet::new(&model, test.clone(), s3cmtf_kernels::Level::best())
                    .rmse(&model);
            let most = if start == Start::Random { 1.6 } else { 4.0 };
            assert!(rmse < most * noise, "{algorithm:?} from {start:?}: {rmse}");
        }
    }
}

#[test]
fn where_nothing_is_absent_missing_and_zeros_are_the_same() {
    let problem = alone(&planted(&[6, 5, 4], 2, 1, 0.1));
    for algorithm in [Algorithm::CmtfOpt, Algorithm::CmtfAls, Algorithm::TuckerAls] {
        let state = |absent: Absent| {
            let (data, mut method, mut state) = begin(&problem, &Params { absent, ..usual(algorithm, 2) });
            for _ in 0..5 {
                method.sweep(&data, &mut state, &NEVER);
            }
            method.squared_errors(&data, &state)
        };
        let (missing, zeros) = (state(Absent::Missing), state(Absent::Zeros));
        assert!((missing - zeros).abs() < 1e-6 * missing, "{algorithm:?}: {missing} and {zeros}");
    }
}

/// A row solved for as it would be on paper: all of its equations, those of its matrix, and the ridge.
fn solve_naive(equations: &[(Vec<f64>, f64, f64)], ridge: f64) -> Vec<f64> {
    let width = equations[0].0.len();
    let mut matrix = nalgebra::DMatrix::<f64>::identity(width, width) * ridge;
    let mut target = nalgebra::DVector::<f64>::zeros(width);
    for (design, value, weight) in equations {
        let design = nalgebra::DVector::from_column_slice(design);
        matrix += *weight * &design * design.transpose();
        target += *weight * *value * &design;
    }
    matrix.lu().solve(&target).expect("a solution").as_slice().to_vec()
}

#[test]
fn a_block_of_columns_is_what_loops_over_all_entries_make_of_it() {
    let problem = planted(&[6, 5, 4], 2, 2, 0.1);
    let rank = 3;
    for (block, weighted) in [(1, false), (2, true), (3, false)] {
        let params = Params { block, weighted, lambda_couple: 0.5, ..usual(Algorithm::Sals, rank) };
        let (data, mut method, mut state) = begin(&problem, &params);
        let cp = Cp::new(&data, rank);
        let mut expected = state.clone();
        let entries = problem.entries();
        let mut first = 0;
        while first < rank {
            let columns = first..(first + block).min(rank);
            let rest = |state: &[f64], rows: &[usize], value: f64| -> f64 {
                let others = (0..rank).filter(|k| !columns.contains(k));
                let product = |k: usize| {
                    rows.iter()
                        .enumerate()
                        .map(|(mode, row)| state[cp.range(mode)][row * rank + k])
                        .product::<f64>()
                };
                value - others.map(product).sum::<f64>()
            };
            for factor in 0..data.rows.len() + data.matrices.len() {
                let before = expected.clone();
                let count = cp.range(factor).len() / rank;
                for row in 0..count {
                    let mut equations = Vec::new();
                    let mut entries_of_row = 0;
                    if factor < data.rows.len() {
                        for place in 0..entries.len() {
                            let rows: Vec<usize> =
                                (0..3).map(|mode| entries.indices(mode)[place] as usize).collect();
                            if rows[factor] != row {
                                continue;
                            }
                            entries_of_row += 1;
                            let design = |k: usize| {
                                (0..3)
                                    .filter(|&mode| mode != factor)
                                    .map(|mode| before[cp.range(mode)][rows[mode] * rank + k])
                                    .product()
                            };
                            let value = rest(&before, &rows, f64::from(entries.values()[place]));
                            equations.push((columns.clone().map(design).collect(), value, 1.0));
                        }
                    }
                    for (number, matrix) in data.matrices.iter().enumerate() {
                        let (own, other, cells) = if factor == matrix.mode {
                            (cp.range(matrix.mode), cp.columns(number), &matrix.by_row)
                        } else if factor == data.rows.len() + number {
                            (cp.columns(number), cp.range(matrix.mode), &matrix.by_column)
                        } else {
                            continue;
                        };
                        let others = other.len() / rank;
                        for column in 0..others {
                            let found = cells.row(row).find(|&(found, _)| found as usize == column);
                            if factor >= data.rows.len() && found.is_some() {
                                entries_of_row += 1;
                            }
                            let Some(value) =
                                found.map(|(_, value)| f64::from(value)).or(matrix.zeros.then_some(0.0))
                            else {
                                continue;
                            };
                            let dots = (0..rank).filter(|k| !columns.contains(k)).map(|k| {
                                before[own.clone()][row * rank + k] * before[other.clone()][column * rank + k]
                            });
                            let value = value - dots.sum::<f64>();
                            let design =
                                columns.clone().map(|k| before[other.clone()][column * rank + k]).collect();
                            equations.push((design, value, matrix.weight));
                        }
                    }
                    if equations.is_empty() {
                        equations.push((vec![0.0; columns.len()], 0.0, 1.0));
                    }
                    let ridge = if weighted { 0.1 * entries_of_row as f64 } else { 0.1 };
                    let solution = solve_naive(&equations, ridge.max(1e-12));
                    let start = cp.range(factor).start + row * rank;
                    expected[start + columns.start..start + columns.end].copy_from_slice(&solution);
                }
            }
            first += block;
        }
        assert!(method.sweep(&data, &mut state, &NEVER) == Sweep::Done);
        for (place, (got, expected)) in state.iter().zip(&expected).enumerate() {
            assert!(
                (got - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                "{block} {place}: {got} {expected}"
            );
        }
    }
}

#[test]
fn a_model_predicts_what_its_state_and_base_say() {
    let problem = planted(&[6, 5, 4], 2, 2, 0.1);
    for algorithm in ALL {
        for start in [Start::Random, Start::Mean, Start::Offsets] {
            let (data, mut method, mut state) = begin(&problem, &Params { start, ..usual(algorithm, 2) });
            method.sweep(&data, &mut state, &NEVER);
            let model = method.model(&data, &state);
            let entries = problem.entries();
            let predictions = model.predict_located(entries.cells().clone(), false);
            let errors = predictions.iter().zip(entries.values()).map(|(a, b)| f64::from(a - b).powi(2));
            let (squares, expected) = (errors.sum::<f64>(), method.squared_errors(&data, &state));
            assert!(
                (squares - expected).abs() < 1e-3 * expected,
                "{algorithm:?} {start:?}: {squares} {expected}"
            );
        }
    }
}
