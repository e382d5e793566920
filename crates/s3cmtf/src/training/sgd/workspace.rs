//! The state of a run, arranged for speed: rows stand by blocks, entries by tasks and chunks.

use std::sync::{Mutex, RwLock};

use s3cmtf_kernels::{Aligned, CHUNK, Step};

use super::cells::Cells;
use super::graph::Graph;
use super::lanes::{Counts, Lane};
use super::method::Worker;
use super::placement::{Grid, Placement};
use super::visits::RandomOrder;
use super::zeros::Zeros;
use crate::Error;
use crate::layout::{Chunks, Contraction, Order, Position, zeros_apart};
use crate::model::{ErrorSums, Factor, Model, average_row};
use crate::parallel;
use crate::params::{SgdParams, Shuffle, SmallModes, ZerosUpdate};
use crate::problem::{Absent, Entries, Problem, UNKNOWN};
use crate::training::checkpoint::StateArrays;
use crate::training::sparse::Sparse;

/// Rows up to this number are near anyway.
const NEAR_ROWS: usize = 1 << 16;

/// All numbers that training changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The core, as the method's workers want it.
    pub(super) core: Vec<f32>,
    /// Each mode's rows by place, and one more row: their average, for unknown ids.
    pub(super) factors: Vec<Vec<f32>>,
    /// Each coupled matrix's columns by place.
    pub(super) columns: Vec<Vec<f32>>,
}

impl State {
    /// Whether every number is finite.
    pub(crate) fn is_finite(&self) -> bool {
        // A sum of zeros and NaNs: one pass that the compiler vectorises.
        let finite = |values: &[f32]| values.iter().map(|value| value * 0.0).sum::<f32>() == 0.0;
        finite(&self.core) && self.factors.iter().chain(&self.columns).all(|values| finite(values))
    }
}

/// A problem and its state.
pub(crate) struct Workspace {
    pub(super) params: SgdParams,
    pub(super) contraction: Contraction,
    pub(super) grid: Grid,
    pub(super) modes: Vec<Placement>,
    /// For each coupled matrix but graphs, where its columns stand.
    pub(super) columns: Vec<Placement>,
    /// The rank of those columns.
    pub(super) column_ranks: Vec<usize>,
    /// For each mode and place, lambda_reg / |Omega_i|.
    pub(super) reg: Vec<Vec<f32>>,
    /// For each mode whose rows are too many to be near, each training entry's number of entries of its row; see
    /// [`TensorStep::codes`](super::method::TensorStep).
    pub(super) codes: Vec<Vec<u8>>,
    pub(super) by_code: [f32; 256],
    pub(super) core_reg: f32,
    /// For each mode, the places of rows that no tensor entry touches.
    pub(super) idle: Vec<Vec<u32>>,
    pub(super) train: Chunks,
    pub(super) cells: Vec<Cells>,
    pub(super) zeros: Vec<Zeros>,
    pub(super) graphs: Vec<Graph>,
    /// Where every epoch has an order of its own, that.
    pub(super) random_order: Option<RandomOrder>,
    /// The modes of which each lane has a copy: those that are not blocked, unless all rows are shared.
    pub(super) private: Vec<usize>,
    pub(super) lanes: Vec<RwLock<Lane>>,
    /// One for each lane.
    pub(super) workers: Vec<Mutex<Box<dyn Worker>>>,
    /// For each round, how its entries fall on the lanes.
    pub(super) counts: Vec<Counts>,
    pub(super) state: State,
    /// The model without its numbers.
    frame: Model,
}

impl Workspace {
    /// Arranges a problem, whose entries are used up for it, and the model to start from.
    pub(crate) fn new(mut problem: Problem, params: &SgdParams, start: Model) -> Self {
        let ranks: Vec<usize> = start.factors().iter().map(Factor::rank).collect();
        let sizes: Vec<usize> = problem.modes().iter().map(|mode| mode.rows()).collect();
        let contraction = Contraction::new(&ranks, &sizes, start.core_kind(), params.common.level);
        let grid = Grid::new(&problem, params, &contraction);
        let counts: Vec<Vec<u32>> = (0..problem.order()).map(|mode| problem.counts(mode)).collect();
        let seed =
            |purpose: u64| params.common.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose << 32);
        let mut modes: Vec<Placement> = counts
            .iter()
            .enumerate()
            .map(|(mode, counts)| Placement::new(counts, grid.blocks, seed(mode as u64 + 1)))
            .collect();
        let columns: Vec<Placement> = problem
            .coupled()
            .iter()
            .map(|matrix| {
                let mut counts = vec![0; matrix.columns().rows()];
                if matrix.kind() != Absent::Graph {
                    matrix.entries().indices(1).iter().for_each(|&column| counts[column as usize] += 1);
                }
                Placement::new(&counts, grid.blocks, seed(100))
            })
            .collect();
        let entries = problem.take_entries();
        let core_reg = params.lambda_reg / entries.len() as f32;
        let mut train = arrange(&contraction, &grid, &modes, entries.into_parts(), Some(seed(200)));
        for (mode, placement) in modes.iter_mut().enumerate() {
            place_by_first_use(&mut train, contraction.part(mode), &counts[mode], placement);
        }
        let reg = counts
            .iter()
            .zip(&modes)
            .map(|(counts, placement)| {
                let mut reg = vec![0.0; counts.len()];
                for (&count, &place) in counts.iter().zip(&placement.place) {
                    reg[place as usize] = params.lambda_reg / count.max(1) as f32;
                }
                reg
            })
            .collect();
        let idle = counts
            .iter()
            .zip(&modes)
            .map(|(counts, placement)| {
                let idle = counts.iter().zip(&placement.place).filter(|(count, _)| **count == 0);
                idle.map(|(_, &place)| place).collect()
            })
            .collect();
        let codes = (0..modes.len())
            .map(|mode| row_codes(&train, contraction.part(mode), &counts[mode], &modes[mode]))
            .collect();
        let state = State {
            core: params.method.pack(&contraction, start.core()),
            factors: start
                .factors()
                .iter()
                .zip(&modes)
                .map(|(factor, placement)| {
                    // One more row, for the average, brought up to date before every evaluation.
                    placement.arrange(factor.values(), factor.rank(), factor.rank())
                })
                .collect(),
            columns: start
                .coupled()
                .iter()
                .zip(&columns)
                .map(|(matrix, placement)| placement.arrange(matrix.factor.values(), matrix.factor.rank(), 0))
                .collect(),
        };
        let is_private =
            |mode: &usize| params.small_modes == SmallModes::Private && !grid.blocked.contains(mode);
        let private: Vec<usize> = (0..problem.order()).filter(is_private).collect();
        let counts = (0..grid.rounds())
            .map(|round| Counts::new(&train, &contraction, &grid, round, &private, &modes))
            .collect();
        let lane = || {
            let rows = |mode: usize| if private.contains(&mode) { modes[mode].rows() } else { 0 };
            let copies = (0..modes.len()).map(|mode| zeros_apart(rows(mode) * ranks[mode])).collect();
            RwLock::new(Lane { core: Aligned::new(state.core.len()), copies })
        };
        let n_lanes = match params.shuffle {
            Shuffle::Once => grid.lanes,
            // No task is too small where there are none.
            Shuffle::EveryEpoch => params.common.threads,
        };
        let lanes = (0..n_lanes).map(|_| lane()).collect();
        let workers = (0..grid.lanes).map(|_| Mutex::new(params.method.worker(&contraction))).collect();
        let mut workspace = Workspace {
            params: params.clone(),
            core_reg,
            contraction,
            grid,
            modes,
            columns,
            column_ranks: start.coupled().iter().map(|matrix| matrix.factor.rank()).collect(),
            reg,
            codes,
            by_code: std::array::from_fn(|count| params.lambda_reg / count.max(1) as f32),
            idle,
            train,
            cells: Vec::new(),
            zeros: Vec::new(),
            graphs: Vec::new(),
            random_order: None,
            private,
            lanes,
            workers,
            counts,
            state,
            frame: without_numbers(start),
        };
        workspace.arrange_coupled(&problem, seed(300));
        let Workspace { train, cells, contraction, .. } = &workspace;
        workspace.random_order =
            RandomOrder::new(params.shuffle, params.method, n_lanes, train, cells, contraction);
        workspace.update_averages();
        workspace
    }

    fn arrange_coupled(&mut self, problem: &Problem, seed: u64) {
        for (number, matrix) in problem.coupled().iter().enumerate() {
            let weight = matrix.weight().unwrap_or(self.params.lambda_couple);
            let (mode, entries) = (matrix.mode(), matrix.entries());
            let rows = &self.modes[mode];
            let others = if matrix.kind() == Absent::Graph { rows } else { &self.columns[number] };
            let nonzeros = (0..entries.len()).map(|cell| {
                let row = rows.place[entries.indices(0)[cell] as usize];
                let other = others.place[entries.indices(1)[cell] as usize];
                (row, other, entries.values()[cell])
            });
            let params = &self.params;
            let cells = |entries: &Entries| {
                let rank = self.contraction.ranks[mode];
                Cells::new((number, matrix), entries, weight, params, rank, [rows, others], seed)
            };
            match (matrix.kind(), params.zeros_update) {
                (Absent::Missing, _) => self.cells.push(cells(entries)),
                (Absent::Zeros, ZerosUpdate::PerCell) => {
                    self.cells.push(cells(&all_cells(entries, rows.rows(), others.rows())));
                }
                (Absent::Zeros, ZerosUpdate::Implicit) => self.zeros.push(Zeros {
                    matrix: number,
                    mode,
                    weight,
                    by_row: Sparse::new(rows.rows(), nonzeros.clone()),
                    by_column: Sparse::new(
                        others.rows(),
                        nonzeros.map(|(row, column, value)| (column, row, value)),
                    ),
                }),
                (Absent::Graph, _) => self.graphs.push(Graph::new(mode, weight, rows.rows(), nonzeros)),
            }
        }
    }

    /// The numbers that training changes.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Puts other numbers in place.
    pub(crate) fn set_state(&mut self, state: State) {
        self.state = state;
    }

    /// Puts a state among numbers, rows in their own order, which does not depend on the threads.
    pub(super) fn put(&self, prefix: &str, state: &State, numbers: &mut StateArrays) {
        let core = self.params.method.unpack(&self.contraction, &state.core, self.frame.core());
        numbers.put(format!("{prefix}core"), core.values());
        for (mode, values) in state.factors.iter().enumerate() {
            let rank = self.contraction.ranks[mode];
            let rows = self.modes[mode].restore(&values[..values.len() - rank], rank);
            numbers.put(format!("{prefix}factor.{mode}"), &rows);
        }
        for (number, values) in state.columns.iter().enumerate() {
            let columns = self.columns[number].restore(values, self.column_ranks[number]);
            numbers.put(format!("{prefix}columns.{number}"), &columns);
        }
    }

    /// Takes it back.
    ///
    /// # Errors
    /// If the numbers are those of another run.
    pub(super) fn get(&self, prefix: &str, numbers: &mut StateArrays) -> Result<State, Error> {
        let mut core = self.params.method.unpack(&self.contraction, &self.state.core, self.frame.core());
        numbers.get(&format!("{prefix}core"), core.values_mut())?;
        let mut state = State {
            core: self.params.method.pack(&self.contraction, &core),
            factors: Vec::new(),
            columns: Vec::new(),
        };
        for (mode, values) in self.state.factors.iter().enumerate() {
            let rank = self.contraction.ranks[mode];
            let mut rows = vec![0.0; values.len() - rank];
            numbers.get(&format!("{prefix}factor.{mode}"), &mut rows)?;
            let average = average_row(&self.modes[mode].arrange(&rows, rank, 0), rank);
            let mut placed = self.modes[mode].arrange(&rows, rank, rank);
            let end = placed.len() - rank;
            placed[end..].copy_from_slice(&average);
            state.factors.push(placed);
        }
        for (number, values) in self.state.columns.iter().enumerate() {
            let mut columns = vec![0.0; values.len()];
            numbers.get(&format!("{prefix}columns.{number}"), &mut columns)?;
            state.columns.push(self.columns[number].arrange(&columns, self.column_ranks[number], 0));
        }
        Ok(state)
    }

    /// How many tensor entries and observed matrix entries an epoch steps through.
    pub(crate) fn entries(&self) -> usize {
        self.train.len() + self.cells.iter().map(Cells::len).sum::<usize>()
    }

    pub(super) fn step(&self, rate: f32) -> Step {
        Step { rate, l1: self.params.l1, nonnegative: self.params.nonnegative }
    }

    /// Arranges entries, given by the problem's rows, for [`Workspace::rmse`].
    pub(crate) fn arrange(&self, entries: Entries) -> Chunks {
        arrange(&self.contraction, &self.grid, &self.modes, entries.into_parts(), None)
    }

    /// The RMSE over the training entries.
    pub(crate) fn train_rmse(&self) -> f64 {
        self.rmse(&self.train)
    }

    /// The RMSE over arranged entries.
    pub(crate) fn rmse(&self, set: &Chunks) -> f64 {
        let core = self.params.method.unpack(&self.contraction, &self.state.core, self.frame.core());
        let core = Aligned::from(self.contraction.pack(core.values()));
        let factors: Vec<&[f32]> = self.state.factors.iter().map(Vec::as_slice).collect();
        let sums: ErrorSums =
            set.sum(&self.contraction, core.as_slice(), &factors, |entries, predictions| {
                ErrorSums::new(&set.values[entries], predictions, None)
            });
        (sums.squared / set.len() as f64).sqrt()
    }

    /// Brings the average rows up to date, which predictions of unknown ids need.
    pub(super) fn update_averages(&mut self) {
        for (values, &rank) in self.state.factors.iter_mut().zip(&self.contraction.ranks) {
            let end = values.len() - rank;
            let (rows, last) = values.split_at_mut(end);
            last.copy_from_slice(&average_row(rows, rank));
        }
    }

    /// The model as it is now.
    pub(crate) fn model(&self) -> Model {
        let mut model = self.frame.clone();
        model.core = self.params.method.unpack(&self.contraction, &self.state.core, self.frame.core());
        for (mode, factor) in model.factors.iter_mut().enumerate() {
            let (values, rank) = (&self.state.factors[mode], factor.rank());
            *factor = Factor::new(rank, self.modes[mode].restore(&values[..values.len() - rank], rank));
        }
        for (number, matrix) in model.coupled.iter_mut().enumerate() {
            let rank = matrix.factor.rank();
            matrix.factor =
                Factor::new(rank, self.columns[number].restore(&self.state.columns[number], rank));
        }
        model
    }
}

/// Entries, by the problem's rows, in tasks and chunks.
fn arrange(
    contraction: &Contraction,
    grid: &Grid,
    modes: &[Placement],
    (mut indices, values): (Vec<Vec<u32>>, Vec<f32>),
    seed: Option<u64>,
) -> Chunks {
    let tasks = parallel::numbers(values.len(), |entry| {
        let block = |&mode: &usize| modes[mode].block.get(indices[mode][entry] as usize);
        grid.task(grid.blocked.iter().map(|mode| block(mode).map_or(0, |&block| block.into()))) as u16
    });
    for (array, placement) in indices.iter_mut().zip(modes) {
        let average = placement.rows() as u32;
        parallel::change(array, |_, row| {
            *row = if *row == UNKNOWN { average } else { placement.place[*row as usize] };
        });
    }
    let order = Order { chunk: CHUNK, tasks: Some((tasks, grid.tasks())), seed, places: false };
    Chunks::new(contraction, indices, values, order)
}

/// All cells of a matrix, those that are zeros included.
fn all_cells(nonzeros: &Entries, rows: usize, columns: usize) -> Entries {
    let mut values = vec![0.0; rows * columns];
    for cell in 0..nonzeros.len() {
        let [row, column] = [0, 1].map(|side| nonzeros.indices(side)[cell] as usize);
        values[row * columns + column] = nonzeros.values()[cell];
    }
    let by_row = (0..rows as u32).flat_map(|row| std::iter::repeat_n(row, columns)).collect();
    let by_column = (0..rows).flat_map(|_| 0..columns as u32).collect();
    Entries::from_rows(nonzeros.name().to_owned(), vec![by_row, by_column], values)
}

/// Moves the rows of a mode to where the entries first ask for them, if rows are many and have few entries each.
fn place_by_first_use(train: &mut Chunks, part: Position, counts: &[u32], placement: &mut Placement) {
    const FEW: usize = 16;
    if counts.len() <= NEAR_ROWS || train.len() > FEW * counts.len() {
        return;
    }
    let rows = match part {
        Position::Inner(which) => &mut train.inner[which],
        Position::Outer(which) => &mut train.outer[which],
    };
    let moved = placement.by_first_use(counts, rows.iter().copied());
    parallel::change(rows, |_, row| *row = moved[*row as usize]);
}

/// For each entry (or slot) its row's number of entries, 0 if it takes more than a byte; nothing if the rows are so few
/// that asking the row itself is as fast.
fn row_codes(train: &Chunks, part: Position, counts: &[u32], placement: &Placement) -> Vec<u8> {
    if counts.len() <= NEAR_ROWS {
        return Vec::new();
    }
    let mut by_place = vec![0u8; counts.len()];
    for (&count, &place) in counts.iter().zip(&placement.place) {
        by_place[place as usize] = u8::try_from(count).unwrap_or(0);
    }
    let rows = match part {
        Position::Inner(which) => &train.inner[which],
        Position::Outer(which) => &train.outer[which],
    };
    parallel::numbers_of(rows, |&place| by_place[place as usize])
}

/// A model of the same form with empty factors; the core stays, for its form.
fn without_numbers(mut model: Model) -> Model {
    for factor in &mut model.factors {
        *factor = Factor::new(factor.rank(), Vec::new());
    }
    for matrix in &mut model.coupled {
        matrix.factor = Factor::new(matrix.factor.rank(), Vec::new());
    }
    model
}
