//! The scheme of blocks: tasks that run at once share no rows, so that every number has one owner at any time.
//!
//! The core and the small modes, which all tasks need, are copied for each lane and averaged after each round, in an
//! order that does not depend on the threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::epoch::Turn;
use super::lanes::{Lane, average_core, average_rows};
use super::method::ModeRows;
use super::team::Team;
use super::workspace::{State, Workspace};

/// Numbers in blocks. Nobody ever waits for a lock: tasks that run at once have different blocks.
type Blocks<'a> = Vec<Mutex<&'a mut [f32]>>;

/// One epoch of the scheme.
struct BlockEpoch<'a> {
    workspace: &'a Workspace,
    /// The core in pieces of a length.
    core: Blocks<'a>,
    piece: usize,
    /// Each mode's rows, and each coupled matrix's columns.
    factors: Vec<Blocks<'a>>,
    columns: Vec<Blocks<'a>>,
    /// For each lane, how many tensor turns somebody has taken up for it.
    taken: Vec<AtomicUsize>,
    rate: f32,
    interrupt: &'a AtomicBool,
    stopped: AtomicBool,
}

impl Workspace {
    /// The turns of an epoch one after the other; `false` if it was interrupted on the way.
    pub(super) fn blocks(&mut self, turns: &[Turn], rate: f32, interrupt: &AtomicBool) -> bool {
        let mut state = std::mem::take(&mut self.state);
        let finished = BlockEpoch::new(self, &mut state, rate, interrupt).run(turns);
        self.state = state;
        finished
    }
}

/// A lock whose last owner panicked is as good as any: the panic goes on elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> BlockEpoch<'a> {
    fn new(workspace: &'a Workspace, state: &'a mut State, rate: f32, interrupt: &'a AtomicBool) -> Self {
        let piece = state.core.len().div_ceil(workspace.grid.lanes);
        let ranks = &workspace.contraction.ranks;
        let factors = state.factors.iter_mut().zip(&workspace.modes).zip(ranks);
        let columns = state.columns.iter_mut().zip(&workspace.columns).zip(&workspace.column_ranks);
        BlockEpoch {
            workspace,
            core: state.core.chunks_mut(piece).map(Mutex::new).collect(),
            piece,
            factors: factors.map(|((rows, placement), &rank)| placement.split(rows, rank)).collect(),
            columns: columns.map(|((rows, placement), &rank)| placement.split(rows, rank)).collect(),
            taken: (0..workspace.grid.lanes).map(|_| AtomicUsize::new(0)).collect(),
            rate,
            interrupt,
            stopped: AtomicBool::new(false),
        }
    }

    fn run(&self, turns: &[Turn]) -> bool {
        Team::run(self.workspace.grid.lanes, |team, thread| {
            let mut rounds = 0;
            for &turn in turns {
                match turn {
                    Turn::Tensor { round } => {
                        self.tensor_round(team, thread, rounds, round);
                        rounds += 1;
                    }
                    Turn::Cells { which, shift } => self.cells_round(team, thread, which, shift),
                }
                // One of them decides for all, or they would wait for each other for ever.
                team.wait_then(|| {
                    self.stopped.store(self.interrupt.load(Ordering::Relaxed), Ordering::Relaxed)
                });
                if self.stopped.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        !self.stopped.load(Ordering::Relaxed)
    }

    /// The tasks of a round at once, each lane with a core and small modes of its own, averaged afterwards.
    fn tensor_round(&self, team: &Team, thread: usize, rounds: usize, round: usize) {
        let lanes = self.workspace.grid.lanes;
        // Its own lanes first, whose rows are near; then those that others have not come to yet.
        for lane in (0..lanes).map(|lane| (lane + thread * lanes / team.threads()) % lanes) {
            let mine =
                self.taken[lane].compare_exchange(rounds, rounds + 1, Ordering::Relaxed, Ordering::Relaxed);
            if mine.is_ok() {
                self.run_lane(lane, round);
            }
        }
        team.wait();
        let lanes: Vec<_> = self
            .workspace
            .lanes
            .iter()
            .map(|lane| lane.read().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let lanes: Vec<&Lane> = lanes.iter().map(|lane| &**lane).collect();
        let counts = &self.workspace.counts[round];
        for number in (thread..self.core.len()).step_by(team.threads()) {
            let piece = &mut lock(&self.core[number]);
            let start = number * self.piece;
            average_core(&lanes, counts, start..start + piece.len(), piece);
        }
        for &mode in &self.workspace.private {
            let bounds = &self.workspace.modes[mode].bounds;
            let rank = self.workspace.contraction.ranks[mode];
            for block in (thread..self.workspace.grid.blocks).step_by(team.threads()) {
                let rows = &mut lock(&self.factors[mode][block]);
                average_rows(&lanes, counts, mode, bounds[block] as usize, rows, rank);
            }
        }
    }

    /// The tasks of a lane, on copies of what all lanes share.
    fn run_lane(&self, number: usize, round: usize) {
        let Workspace { grid, modes, train, lanes, workers, private, .. } = self.workspace;
        let lane = &mut *lanes[number].write().unwrap_or_else(PoisonError::into_inner);
        let mut start = 0;
        for piece in &self.core {
            let piece = lock(piece);
            lane.core.as_mut_slice()[start..start + piece.len()].copy_from_slice(&piece);
            start += piece.len();
        }
        for &mode in private {
            let mut start = 0;
            for block in &self.factors[mode] {
                let block = lock(block);
                lane.copies[mode][start..start + block.len()].copy_from_slice(&block);
                start += block.len();
            }
        }
        let counts = &self.workspace.counts[round];
        let step = self.workspace.tensor_step(self.rate, counts.core_boost, &counts.boosts, self.interrupt);
        let mut worker = lock(&workers[number]);
        for task in (number..grid.blocks).step_by(grid.lanes) {
            let block = |mode: usize| {
                let which = grid.blocked.iter().position(|&blocked| blocked == mode)?;
                Some(grid.block(round, task, which))
            };
            let blocks: Vec<Option<usize>> = (0..modes.len()).map(block).collect();
            let mut owned: Vec<_> = blocks
                .iter()
                .zip(&self.factors)
                .map(|(block, factor)| block.map(|block| lock(&factor[block])))
                .collect();
            let mut rows: Vec<ModeRows<'_>> = Vec::with_capacity(modes.len());
            for (mode, (owned, copy)) in owned.iter_mut().zip(&mut lane.copies).enumerate() {
                rows.push(match (owned, blocks[mode]) {
                    (Some(rows), Some(block)) => ModeRows::Owned { rows, base: modes[mode].bounds[block] },
                    _ => ModeRows::Owned { rows: copy, base: 0 },
                });
            }
            let chunks = train.task(round * grid.blocks + task);
            worker.run(lane.core.as_mut_slice(), &mut rows, train, chunks, &step);
        }
    }

    /// The tasks of one turn of a matrix of observed cells, at once.
    fn cells_round(&self, team: &Team, thread: usize, which: usize, shift: usize) {
        let cells = &self.workspace.cells[which];
        let (rows, columns) = (&self.workspace.modes[cells.mode], &self.workspace.columns[cells.matrix]);
        let blocks = self.workspace.grid.blocks;
        let mut scratch = cells.scratch();
        for block in (thread..blocks).step_by(team.threads()) {
            let other = (block + shift) % blocks;
            let mut mine = lock(&self.factors[cells.mode][block]);
            let mut its = lock(&self.columns[cells.matrix][other]);
            let (mine, its) = ((&mut **mine, rows.bounds[block]), (&mut **its, columns.bounds[other]));
            cells.run(shift * blocks + block, mine, its, self.workspace.step(self.rate), &mut scratch);
        }
    }
}
