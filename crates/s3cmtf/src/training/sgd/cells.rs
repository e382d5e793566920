//! Coupled matrices cell by cell: the paper's steps on observed cells, or on all where absent ones are zeros.

use std::ops::Range;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use s3cmtf_kernels::{Buffers, CHUNK, Kernels, Reg, Rows, SharedRows, Side, Step};

use super::method::{ModeRows, step_all};
use super::placement::Placement;
use crate::params::SgdParams;
use crate::problem::{Coupled, Entries};

/// The observed cells of a matrix, by tasks: task `shift * blocks + block` has the cells in row block `block` and
/// column block `block + shift`.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    pub(crate) matrix: usize,
    pub(crate) mode: usize,
    pub(crate) weight: f32,
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
    tasks: Vec<usize>,
    /// For each column, the regulariser's weight per cell: lambda_reg / |Omega_k|.
    reg: Vec<f32>,
    rank: usize,
    kernels: Kernels,
}

/// The two rows of a cell and their gradients.
#[derive(Default)]
pub(crate) struct CellRows {
    rows: [Vec<f32>; 2],
    gradients: [Vec<f32>; 2],
}

/// The working memory of one thread.
pub(crate) struct CellScratch {
    ones: Vec<f32>,
    sums: Vec<f32>,
    buffers: Buffers,
}

impl Cells {
    pub(crate) fn new(
        (matrix, coupled): (usize, &Coupled),
        entries: &Entries,
        weight: f32,
        params: &SgdParams,
        rank: usize,
        placements: [&Placement; 2],
        seed: u64,
    ) -> Self {
        let blocks = placements[0].bounds.len() - 1;
        let task = |place: u32| {
            let [row, column] = [0, 1]
                .map(|side| placements[side].block[entries.indices(side)[place as usize] as usize] as usize);
            (column + blocks - row) % blocks * blocks + row
        };
        let mut order: Vec<u32> = (0..entries.len() as u32).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        order.sort_by_key(|&place| task(place));
        let mut tasks = vec![0; blocks * blocks + 1];
        order.iter().for_each(|&place| tasks[task(place) + 1] += 1);
        for number in 0..blocks * blocks {
            tasks[number + 1] += tasks[number];
        }
        let places = |side: usize| {
            let rows = order.iter().map(|&place| entries.indices(side)[place as usize]);
            rows.map(|row| placements[side].place[row as usize]).collect::<Vec<u32>>()
        };
        let (rows, columns) = (places(0), places(1));
        let mut counts = vec![0u32; placements[1].rows()];
        columns.iter().for_each(|&column| counts[column as usize] += 1);
        let reg = counts.iter().map(|&count| params.lambda_reg / count.max(1) as f32).collect();
        let values = order.iter().map(|&place| entries.values()[place as usize]).collect();
        let kernels = Kernels::new(params.common.level, rank, rank);
        Cells { matrix, mode: coupled.mode(), weight, rows, columns, values, tasks, reg, rank, kernels }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn scratch(&self) -> CellScratch {
        let padded = self.kernels.diagonal_len();
        CellScratch { ones: vec![1.0; padded], sums: vec![0.0; padded], buffers: self.kernels.buffers() }
    }

    /// The sum of squared errors over all cells.
    pub(crate) fn squared_error(&self, rows: &[f32], columns: &[f32]) -> f64 {
        let cells = self.rows.iter().zip(&self.columns).zip(&self.values);
        let error = |((&row, &column), &value): ((&u32, &u32), &f32)| {
            let (u, v) = (&rows[row as usize * self.rank..], &columns[column as usize * self.rank..]);
            let product: f64 = (0..self.rank).map(|j| f64::from(u[j]) * f64::from(v[j])).sum();
            f64::from(value) - product
        };
        cells.map(error).map(|error| error * error).sum()
    }

    /// The places of a cell's row and column, and its value.
    pub(crate) fn cell(&self, cell: usize) -> (u32, u32, f32) {
        (self.rows[cell], self.columns[cell], self.values[cell])
    }

    /// Steps one cell: both rows from what they were before (Algorithm 1, lines 10 to 12).
    pub(crate) fn step(
        &self,
        cell: usize,
        rows: SharedRows<'_>,
        columns: SharedRows<'_>,
        step: Step,
        scratch: &mut CellRows,
    ) {
        let step = Step { rate: step.rate * self.weight, ..step };
        let CellRows { rows: [u, v], gradients: [for_u, for_v] } = scratch;
        for row in [&mut *u, &mut *v, &mut *for_u, &mut *for_v] {
            row.resize(self.rank, 0.0);
        }
        let (row, column, value) = self.cell(cell);
        let (mut rows, mut columns) = (ModeRows::Shared(rows), ModeRows::Shared(columns));
        rows.load(row, u);
        columns.load(column, v);
        let error = value - u.iter().zip(&*v).map(|(u, v)| u * v).sum::<f32>();
        for_u.iter_mut().zip(&*v).for_each(|(gradient, v)| *gradient = -error * v);
        for_v.iter_mut().zip(&*u).for_each(|(gradient, u)| *gradient = -error * u);
        step_all(u, for_u, 0.0, step);
        step_all(v, for_v, self.reg[column as usize], step);
        rows.store(row, u);
        columns.store(column, v);
    }

    fn task(&self, task: usize) -> Range<usize> {
        self.tasks[task]..self.tasks[task + 1]
    }

    /// Steps through a task's cells. `y = u v'` is the diagonal form with ones on the diagonal.
    pub(crate) fn run<R: Rows>(
        &self,
        task: usize,
        rows: (R, u32),
        columns: (R, u32),
        step: Step,
        scratch: &mut CellScratch,
    ) {
        let step = Step { rate: step.rate * self.weight, ..step };
        let Range { start, end } = self.task(task);
        let mut p = Side { rows: rows.0, rank: self.rank, indices: &[], base: rows.1, reg: Reg::None };
        let mut q = Side {
            rows: columns.0,
            rank: self.rank,
            indices: &[],
            base: columns.1,
            reg: Reg::Rows(&self.reg),
        };
        for from in (start..end).step_by(CHUNK) {
            let cells = from..(from + CHUNK).min(end);
            p.indices = &self.rows[cells.clone()];
            q.indices = &self.columns[cells.clone()];
            let CellScratch { ones, sums, buffers } = scratch;
            self.kernels.diagonal(&mut p, &mut q, &self.values[cells], step, ones, sums, buffers);
        }
    }
}
