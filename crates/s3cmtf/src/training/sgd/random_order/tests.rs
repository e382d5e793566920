//! Algorithm 1 with plain loops in 64 bits, against the steps of training in the same order.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Visit;
use crate::model::Model;
use crate::params::{CheckedParams, Method, Params};
use crate::problem::{Absent, Coupled, Entries, Problem};
use crate::training::sgd::lock_free::SharedState;
use crate::training::sgd::start::start;
use crate::training::sgd::workspace::Workspace;

const SIZES: [u32; 3] = [9, 7, 4];
const LAMBDA_REG: f64 = 0.3;
const LAMBDA_M: f64 = 2.0;

/// A tensor, a matrix with unknown cells, and one with zeros; the last rows of the first two modes have no tensor entry.
fn problem() -> Problem {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut some = |sizes: &[u32], count: usize| {
        let mut cells: Vec<Vec<u32>> = Vec::new();
        while cells.len() < count {
            let cell: Vec<u32> = sizes.iter().map(|&size| generator.random_range(0..size)).collect();
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        let indices = (0..sizes.len()).map(|mode| cells.iter().map(|cell| cell[mode]).collect()).collect();
        let values = (0..count).map(|_| 1.0 + 2.0 * generator.random::<f32>()).collect();
        Entries::new(indices, values).unwrap()
    };
    let tensor = some(&[SIZES[0] - 1, SIZES[1] - 1, SIZES[2]], 80);
    let missing = Coupled::new(0, Absent::Missing, some(&[SIZES[0], 5], 20)).unwrap();
    let zeros = Coupled::new(1, Absent::Zeros, some(&[SIZES[1], 3], 9)).unwrap();
    Problem::builder(tensor).sizes(SIZES.to_vec()).couple(missing).couple(zeros).build().unwrap()
}

fn workspace(problem: &Problem, method: Method, threads: usize) -> (Workspace, Model) {
    let params = Params {
        ranks: vec![3, 2, 2],
        method,
        threads,
        lambda_reg: LAMBDA_REG as f32,
        lambda_couple: LAMBDA_M as f32,
        ..Params::paper()
    };
    let CheckedParams::Sgd(params) = params.checked(problem).unwrap() else { panic!("sgd") };
    let start = start(problem, &params, None);
    (Workspace::new(problem.clone(), &params, start.clone()), start)
}

/// What is visited, by the problem's rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Picked {
    Alpha(Vec<usize>),
    Beta { matrix: usize, row: usize, column: usize },
}

/// All that Algorithm 1 may pick, with its value.
fn all(problem: &Problem) -> HashMap<Picked, f64> {
    let entries = problem.entries();
    let alpha =
        |entry: usize| Picked::Alpha((0..3).map(|mode| entries.indices(mode)[entry] as usize).collect());
    let mut all: HashMap<Picked, f64> =
        (0..entries.len()).map(|entry| (alpha(entry), f64::from(entries.values()[entry]))).collect();
    for (matrix, coupled) in problem.coupled().iter().enumerate() {
        let beta = |row, column| Picked::Beta { matrix, row, column };
        if coupled.kind() == Absent::Zeros {
            let rows = problem.modes()[coupled.mode()].rows();
            let cells =
                (0..rows).flat_map(|row| (0..coupled.columns().rows()).map(move |column| (row, column)));
            all.extend(cells.map(|(row, column)| (beta(row, column), 0.0)));
        }
        let cells = coupled.entries();
        for cell in 0..cells.len() {
            let [row, column] = [0, 1].map(|side| cells.indices(side)[cell] as usize);
            all.insert(beta(row, column), f64::from(cells.values()[cell]));
        }
    }
    all
}

/// The order of the epoch that was last.
fn order(workspace: &Workspace) -> Vec<Picked> {
    let rows = |placement: &super::super::placement::Placement| -> Vec<usize> {
        let mut rows = vec![0; placement.rows()];
        placement.place.iter().enumerate().for_each(|(row, &place)| rows[place as usize] = row);
        rows
    };
    let modes: Vec<Vec<usize>> = workspace.modes.iter().map(rows).collect();
    let columns: Vec<Vec<usize>> = workspace.columns.iter().map(rows).collect();
    let order = workspace.random_order.as_ref().unwrap();
    let picked = |&number: &u32| match order.visit(number) {
        Visit::Entry { chunk, entry } => {
            let place = |mode| workspace.train.row(workspace.contraction.part(mode), chunk, entry) as usize;
            Picked::Alpha((0..3).map(|mode| modes[mode][place(mode)]).collect())
        }
        Visit::Cell { which, cell } => {
            let cells = &workspace.cells[which];
            let (row, column, _) = cells.cell(cell);
            let (row, column) = (modes[cells.mode][row as usize], columns[cells.matrix][column as usize]);
            Picked::Beta { matrix: cells.matrix, row, column }
        }
    };
    order.order.iter().map(picked).collect()
}

/// The paper's variables.
struct Oracle<'a> {
    problem: &'a Problem,
    all: HashMap<Picked, f64>,
    ranks: Vec<usize>,
    core: Vec<f64>,
    factors: Vec<Vec<Vec<f64>>>,
    columns: Vec<Vec<Vec<f64>>>,
}

fn rows(values: &[f32], rank: usize) -> Vec<Vec<f64>> {
    values.chunks(rank).map(|row| row.iter().map(|&value| f64::from(value)).collect()).collect()
}

impl<'a> Oracle<'a> {
    fn new(problem: &'a Problem, start: &Model) -> Self {
        let factor = |factor: &crate::model::Factor| rows(factor.values(), factor.rank());
        Oracle {
            problem,
            all: all(problem),
            ranks: start.factors().iter().map(|factor| factor.rank()).collect(),
            core: start.core().values().iter().map(|&value| f64::from(value)).collect(),
            factors: start.factors().iter().map(factor).collect(),
            columns: start.coupled().iter().map(|matrix| factor(&matrix.factor)).collect(),
        }
    }

    /// Lines 4 to 13 for one pick; the core steps by `core_rate`.
    fn pick(&mut self, picked: &Picked, rate: f64, core_rate: f64) {
        let value = self.all[picked];
        match picked {
            Picked::Alpha(alpha) => self.alpha(alpha, value, rate, core_rate),
            &Picked::Beta { matrix, row, column } => {
                let coupled = &self.problem.coupled()[matrix];
                let cells = match coupled.kind() {
                    Absent::Zeros => self.problem.modes()[coupled.mode()].rows(),
                    _ => {
                        coupled.entries().indices(1).iter().filter(|&&other| other as usize == column).count()
                    }
                };
                let (u, v) = (&mut self.factors[coupled.mode()][row], &mut self.columns[matrix][column]);
                let error = value - u.iter().zip(&*v).map(|(u, v)| u * v).sum::<f64>();
                for (u, v) in u.iter_mut().zip(v) {
                    let for_u = -LAMBDA_M * error * *v;
                    let for_v = -LAMBDA_M * error * *u + LAMBDA_M * LAMBDA_REG / cells as f64 * *v;
                    (*u, *v) = (*u - rate * for_u, *v - rate * for_v);
                }
            }
        }
    }

    /// Algorithm 2 and lines 6 and 7: gradients by going through the whole core, then the steps.
    fn alpha(&mut self, alpha: &[usize], value: f64, rate: f64, core_rate: f64) {
        let entries = self.problem.entries();
        let u: Vec<Vec<f64>> = (0..3).map(|mode| self.factors[mode][alpha[mode]].clone()).collect();
        let index = |place: usize| {
            [
                place / (self.ranks[1] * self.ranks[2]),
                place / self.ranks[2] % self.ranks[1],
                place % self.ranks[2],
            ]
        };
        let product = |place: usize, except: usize| -> f64 {
            let j = index(place);
            (0..3).filter(|&mode| mode != except).map(|mode| u[mode][j[mode]]).product()
        };
        let all = 0..self.core.len();
        let error = value - all.clone().map(|place| self.core[place] * product(place, 3)).sum::<f64>();
        for mode in 0..3 {
            let count = entries.indices(mode).iter().filter(|&&row| row as usize == alpha[mode]).count();
            for (k, old) in u[mode].iter().enumerate() {
                let contracted = all.clone().filter(|&place| index(place)[mode] == k);
                let contracted: f64 = contracted.map(|place| self.core[place] * product(place, mode)).sum();
                let gradient = -error * contracted + LAMBDA_REG / count as f64 * old;
                self.factors[mode][alpha[mode]][k] -= rate * gradient;
            }
        }
        let steps: Vec<f64> = all.clone().map(|place| -error * product(place, 3)).collect();
        for (g, gradient) in self.core.iter_mut().zip(steps) {
            *g -= core_rate * (gradient + LAMBDA_REG / entries.len() as f64 * *g);
        }
    }

    fn hold(&self, model: &Model) {
        let near = |found: &[f32], expected: Vec<f64>, what: &str| {
            assert_eq!(found.len(), expected.len(), "{what}");
            for (place, (&found, expected)) in found.iter().zip(expected).enumerate() {
                let apart = (f64::from(found) - expected).abs();
                assert!(apart < 2e-5 * expected.abs().max(1.0), "{what} {place}: {found}, not {expected}");
            }
        };
        near(model.core().values(), self.core.clone(), "core");
        for (mode, factor) in model.factors().iter().enumerate() {
            near(factor.values(), self.factors[mode].concat(), "factor");
        }
        for (number, matrix) in model.coupled().iter().enumerate() {
            near(matrix.factor.values(), self.columns[number].concat(), "columns");
        }
    }
}

#[test]
fn epochs_on_one_thread_are_algorithm_1() {
    let problem = problem();
    for method in [Method::Opt, Method::Naive] {
        let (mut workspace, start) = workspace(&problem, method, 1);
        let mut oracle = Oracle::new(&problem, &start);
        for (epoch, rate) in [(1, 0.02), (2, 0.01)] {
            assert!(workspace.epoch(epoch, rate as f32, &AtomicBool::new(false)));
            for picked in order(&workspace) {
                oracle.pick(&picked, rate, rate);
            }
            oracle.hold(&workspace.model());
        }
        // It went somewhere.
        assert!(workspace.model().core() != start.core());
    }
}

#[test]
fn the_first_of_p_threads_steps_the_core_by_eta_p_and_no_other_steps_it() {
    let problem = problem();
    let (mut workspace, start) = workspace(&problem, Method::Opt, 3);
    workspace.random_order.as_mut().unwrap().shuffle(1, 1);
    let order = order(&workspace);
    let mut oracle = Oracle::new(&problem, &start);
    let mut state = std::mem::take(&mut workspace.state);
    let (rate, never) = (0.01, AtomicBool::new(false));
    // One after the other, since what they do at once depends on the time.
    for number in [2, 0, 1] {
        let shared = SharedState::new(&mut state);
        workspace.visit_part(&shared, number, 3, rate as f32, &never);
        let part = |number: usize| order.len() * number / 3;
        for picked in &order[part(number)..part(number + 1)] {
            oracle.pick(picked, rate, if number == 0 { 3.0 * rate } else { 0.0 });
        }
    }
    workspace.state = state;
    oracle.hold(&workspace.model());
}

#[test]
fn every_epoch_has_an_order_of_its_own_of_all_entries_and_cells() {
    let problem = problem();
    let (mut workspace, _) = workspace(&problem, Method::Opt, 2);
    let mut orders = Vec::new();
    for epoch in [1, 2, 1] {
        workspace.random_order.as_mut().unwrap().shuffle(7, epoch);
        orders.push(order(&workspace));
    }
    let mut expected: Vec<Picked> = all(&problem).into_keys().collect();
    expected.sort_unstable();
    // Tensor entries, observed cells, and every cell of the matrix of zeros.
    let zeros = problem.modes()[1].rows() * problem.coupled()[1].columns().rows();
    assert!(zeros > problem.coupled()[1].entries().len());
    assert_eq!(expected.len(), 80 + 20 + zeros);
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        // Mixed: neither kind comes first.
        let is_alpha = |picked: &&Picked| matches!(picked, Picked::Alpha(_));
        let early = order[..60].iter().filter(is_alpha).count();
        assert!((25..55).contains(&early), "{early} of the first 60 are entries");
    }
    assert!(orders[0] != orders[1] && orders[0] == orders[2]);
}
