//! The rows that are looked for, and the turns in which they are found.

use super::grow::ExtendedMode;
use super::known::Known;
use super::sums::{Cores, Summer, Sums};
use super::system::Form;
use super::zeros::FoldInZeros;
use crate::likelihood::Likelihood;
use crate::model::{Core, CoupledFactor, Effects, Factor, Model, Uncertainty};
use crate::parallel;
use crate::problem::{Absent, Coupled, Duplicates, merge_entries};
use crate::training::bayes::counted;
use crate::training::gram::gram;
use crate::training::sparse::Sparse;

/// Rows take at most so many turns.
const TURNS: usize = 20;
/// Rows that move by less have been found, and those that move by less of their standard deviation.
const CLOSE: f64 = 1e-4;
const NEAR: f64 = 0.01;
/// Variances that change by less than this part of them say the same.
const DIFFERENT: f64 = 0.1;
/// Entries whose sums are one task.
const PIECE: usize = 1024;
/// A row is not taken for less predictable than this.
const LEAST_SHARE: f64 = 1e-6;
/// Noise below this would make sums infinite.
const LEAST_NOISE: f64 = 1e-60;
/// Shares tell how much they scatter only within these bounds, as in training.
const NU: [f64; 2] = [2.0, 8192.0];

/// The prior over rows.
pub(super) enum RowPrior<'a> {
    /// Rows with constant concepts, normal in the others, and known that well.
    Drawn(&'a Uncertainty),
    /// Those that the regulariser of an objective prefers.
    Objective { lambda: f64, l1: bool, nonnegative: bool },
}

/// Rows of a coupled matrix that came later.
pub(super) struct Side<'a> {
    mode: usize,
    kind: Absent,
    weight: f64,
    columns: &'a [f32],
    effects: Option<&'a Effects>,
    by_row: Sparse,
    gram: Vec<f64>,
}

impl<'a> Side<'a> {
    pub(super) fn new(
        matrix: &Coupled,
        known: &'a CoupledFactor,
        grown: &ExtendedMode,
        notes: &mut Vec<String>,
    ) -> Self {
        let entries = matrix.entries();
        let mut rows = entries.indices(0).to_vec();
        grown.mode.locate(&mut rows);
        let columns: Vec<Option<u32>> = if matrix.kind() == Absent::Graph {
            let mut columns = entries.indices(1).to_vec();
            grown.mode.locate(&mut columns);
            columns.into_iter().map(Some).collect()
        } else {
            let known: Vec<Option<u32>> = (0..matrix.columns().rows())
                .map(|row| matrix.columns().row_in(&known.columns, row))
                .collect();
            entries.indices(1).iter().map(|&row| known[row as usize]).collect()
        };
        let lost = columns.iter().filter(|column| column.is_none()).count();
        if lost > 0 {
            notes.push(format!(
                "{}: {lost} of {} cells are in columns that the model does not have; they do not count",
                matrix.name(),
                columns.len()
            ));
        }
        let graph = matrix.kind() == Absent::Graph;
        let (mut indices, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
        for ((&row, &column), &value) in rows.iter().zip(&columns).zip(entries.values()) {
            let Some(column) = column.filter(|&column| !graph || column != row) else { continue };
            // An edge has no direction.
            let (first, second) = if graph { (row.min(column), row.max(column)) } else { (row, column) };
            indices[0].push(first);
            indices[1].push(second);
            values.push(value);
        }
        // As in training; the mean is never an error.
        let _ = merge_entries(matrix.name(), &mut indices, &mut values, Duplicates::Mean);
        let cells = (0..values.len()).map(|cell| (indices[0][cell], indices[1][cell], values[cell]));
        let count = grown.before.len();
        let by_row = if graph {
            Sparse::new(count, cells.flat_map(|(a, b, weight)| [(a, b, weight), (b, a, weight)]))
        } else {
            Sparse::new(count, cells)
        };
        let gram = if matrix.kind() == Absent::Zeros {
            gram(known.factor.values(), known.factor.rank())
        } else {
            Vec::new()
        };
        Side {
            mode: matrix.mode(),
            kind: matrix.kind(),
            weight: f64::from(known.weight),
            columns: known.factor.values(),
            effects: known.effects.as_ref(),
            by_row,
            gram,
        }
    }

    /// Adds what the matrix says about a row; `rows` are those of its mode. What it says of constant concepts is not looked at.
    fn add(&self, row: usize, rows: &[f32], noise: f64, form: &mut Form) {
        let rank = form.pull.len();
        if let Some(effects) = self.effects {
            // The mean of a prior whose precision is 1.
            let mean = effects.mean(self.by_row.row(row));
            form.pull.iter_mut().zip(mean).for_each(|(pull, mean)| *pull += mean);
            return;
        }
        let weight = self.weight / noise;
        let mut any = false;
        for (other, value) in self.by_row.row(row) {
            any = true;
            let place = other as usize * rank;
            match self.kind {
                Absent::Graph => {
                    for k in 0..rank {
                        form.add_prior(k, weight * f64::from(value), f64::from(rows[place + k]));
                    }
                }
                Absent::Zeros => {
                    let column = &self.columns[place..place + rank];
                    let pulls = form.pull.iter_mut().zip(column);
                    pulls.for_each(|(sum, &v)| *sum += weight * f64::from(value) * f64::from(v));
                }
                Absent::Missing => {
                    let column: Vec<f64> =
                        self.columns[place..place + rank].iter().map(|&v| f64::from(v)).collect();
                    form.add(weight, f64::from(value), &column);
                }
            }
        }
        // A row that is not in the file at all is not one of zeros: nothing is known about it.
        if any && self.kind == Absent::Zeros {
            form.precision.iter_mut().zip(&self.gram).for_each(|(sum, gram)| *sum += weight * gram);
        }
    }
}

/// All rows, of which some are looked for.
pub(super) struct Rows<'a> {
    cores: Cores,
    pub(super) ranks: Vec<usize>,
    ground: RowPrior<'a>,
    grown: &'a [ExtendedMode],
    indices: &'a [Vec<u32>],
    values: &'a [f32],
    sides: Vec<Side<'a>>,
    pub(super) factors: Vec<Vec<f32>>,
    /// These two are empty where they are not known.
    pub(super) shares: Vec<Vec<f32>>,
    pub(super) variances: Vec<Vec<f32>>,
    /// For each mode, how close shares lie around 1.
    nu: Vec<f64>,
    /// For each mode, which concepts are 1 in all rows.
    constant: Vec<Vec<bool>>,
    /// What the model knew of the rows of each mode; empty where those may not move.
    known: Vec<Known>,
    /// What absent cells say of new rows, if they are zeros.
    zeros: Option<FoldInZeros>,
    likelihood: Likelihood,
    old: &'a Model,
}

/// A row that is looked for, and its entries.
struct Wanted {
    row: u32,
    entries: Vec<u32>,
}

/// A row that was found.
struct Found {
    row: Vec<f64>,
    variances: Vec<f64>,
    share: f64,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        model: &'a Model,
        grown: &'a [ExtendedMode],
        ground: RowPrior<'a>,
        indices: &'a [Vec<u32>],
        values: &'a [f32],
        sides: Vec<Side<'a>>,
    ) -> Self {
        let ranks: Vec<usize> = model.factors().iter().map(|factor| factor.rank()).collect();
        let (mut factors, mut shares, mut variances, mut nu) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut constant = Vec::new();
        for (mode, grown) in grown.iter().enumerate() {
            let (rank, known) = (ranks[mode], &model.factors()[mode]);
            match &ground {
                RowPrior::Drawn(uncertainty) => {
                    let ones = constants(model.core(), known, &uncertainty.variances[mode]);
                    let fresh = |one: f32, rest: f32| -> Vec<f32> {
                        ones.iter().map(|&is_one| if is_one { one } else { rest }).collect()
                    };
                    factors.push(grown.spread(known.values(), rank, &fresh(1.0, 0.0)));
                    let known = uncertainty.variances[mode].values();
                    variances.push(grown.spread(known, rank, &fresh(0.0, 1.0)));
                    constant.push(ones);
                    shares.push(grown.spread(&uncertainty.shares[mode], 1, &[1.0]));
                    nu.push(scatter(&uncertainty.shares[mode]));
                }
                RowPrior::Objective { .. } => {
                    factors.push(grown.spread(known.values(), rank, &known.average()))
                }
            }
        }
        let zeros = match &ground {
            RowPrior::Drawn(uncertainty) => FoldInZeros::new(model, uncertainty),
            RowPrior::Objective { .. } => None,
        };
        Rows {
            cores: Cores::new(model.core(), &ranks),
            ranks,
            ground,
            grown,
            indices,
            values,
            sides,
            factors,
            shares,
            variances,
            nu,
            constant,
            known: Vec::new(),
            zeros,
            likelihood: model.likelihood(),
            old: model,
        }
    }

    /// Finds the rows that are new, and if so asked those that have entries; returns how many of these each mode has.
    pub(super) fn find(&mut self, update: bool) -> Vec<usize> {
        let order = self.ranks.len();
        let wanted: Vec<Vec<Wanted>> = (0..order).map(|mode| self.wanted(mode, update)).collect();
        if let (true, RowPrior::Drawn(uncertainty)) = (update, &self.ground) {
            let known =
                |mode: usize| Known::new(self.old, uncertainty, &self.cores, mode, &self.constant[mode]);
            self.known = parallel::map(order, known);
        }
        // A row is looked for again when a row that it depends on has moved.
        let mut due: Vec<Vec<bool>> = self.grown.iter().map(|grown| vec![true; grown.before.len()]).collect();
        // Where entries have pseudo-values, those change with the rows.
        let turns = if self.likelihood == Likelihood::Gaussian { TURNS } else { 5 * TURNS };
        for _ in 0..turns {
            let mut any = false;
            for (mode, wanted) in wanted.iter().enumerate() {
                let now: Vec<&Wanted> =
                    wanted.iter().filter(|wanted| due[mode][wanted.row as usize]).collect();
                let found = parallel::map_of(&now, |wanted| self.row(mode, wanted));
                now.iter().for_each(|wanted| due[mode][wanted.row as usize] = false);
                for (wanted, found) in now.iter().zip(found) {
                    if self.settle(mode, wanted.row as usize, &found) {
                        any = true;
                        self.notify(mode, wanted, &mut due);
                    }
                }
            }
            if !any {
                break;
            }
        }
        let old = |mode: usize, wanted: &Wanted| self.grown[mode].before[wanted.row as usize].is_some();
        let count =
            |(mode, wanted): (usize, &Vec<Wanted>)| wanted.iter().filter(|row| old(mode, row)).count();
        wanted.iter().enumerate().map(count).collect()
    }

    /// Makes all rows due that depend on one.
    fn notify(&self, mode: usize, wanted: &Wanted, due: &mut [Vec<bool>]) {
        for other in (0..self.ranks.len()).filter(|&other| other != mode) {
            let rows = wanted.entries.iter().map(|&entry| self.indices[other][entry as usize]);
            rows.for_each(|row| due[other][row as usize] = true);
        }
        for side in self.sides.iter().filter(|side| side.mode == mode && side.kind == Absent::Graph) {
            let neighbours = side.by_row.row(wanted.row as usize);
            neighbours.for_each(|(other, _)| due[mode][other as usize] = true);
        }
        if self.likelihood != Likelihood::Gaussian {
            due[mode][wanted.row as usize] = true;
        }
    }

    fn wanted(&self, mode: usize, update: bool) -> Vec<Wanted> {
        let before = &self.grown[mode].before;
        let mut entries = vec![Vec::new(); before.len()];
        for (&row, place) in self.indices[mode].iter().zip(0..) {
            if update || before[row as usize].is_none() {
                entries[row as usize].push(place);
            }
        }
        let rows = entries.into_iter().zip(before).zip(0..);
        rows.filter(|((entries, before), _)| before.is_none() || !entries.is_empty())
            .map(|((entries, _), row)| Wanted { row, entries })
            .collect()
    }

    /// Takes a row over; returns whether others have to know.
    fn settle(&mut self, mode: usize, row: usize, found: &Found) -> bool {
        let rank = self.ranks[mode];
        let moved = self.is_moved(mode, row, found);
        self.factors[mode][row * rank..]
            .iter_mut()
            .zip(&found.row)
            .for_each(|(value, &new)| *value = new as f32);
        if let Some(variances) = self.variances.get_mut(mode) {
            let variances = variances[row * rank..].iter_mut().zip(&found.variances);
            variances.for_each(|(value, &new)| *value = new as f32);
            self.shares[mode][row] = found.share as f32;
        }
        moved
    }

    /// Whether a row, or how well it is known, is far from what it was.
    fn is_moved(&self, mode: usize, row: usize, found: &Found) -> bool {
        let rank = self.ranks[mode];
        let deviation = |k: usize| found.variances.get(k).map_or(0.0, |variance| variance.sqrt());
        let far = |(k, (&old, new)): (usize, (&f32, &f64))| {
            (f64::from(old) - new).abs() > CLOSE.max(NEAR * deviation(k))
        };
        let differs = |(&old, &new): (&f32, &f64)| (f64::from(old) - new).abs() > DIFFERENT * new;
        let known = self.variances.get(mode).map_or(&[][..], |variances| &variances[row * rank..]);
        let shares = self.shares.get(mode).map(|shares| f64::from(shares[row]));
        self.factors[mode][row * rank..].iter().zip(&found.row).enumerate().any(far)
            || known.iter().zip(&found.variances).any(differs)
            || shares.is_some_and(|share| (share - found.share).abs() > NEAR * share)
    }

    /// The row that all it is known by asks for, given all others.
    fn row(&self, mode: usize, wanted: &Wanted) -> Found {
        let (rank, row) = (self.ranks[mode], wanted.row as usize);
        let noise = match &self.ground {
            RowPrior::Drawn(uncertainty) if self.likelihood == Likelihood::Gaussian => {
                f64::from(uncertainty.noise).max(LEAST_NOISE)
            }
            RowPrior::Drawn(_) | RowPrior::Objective { .. } => 1.0,
        };
        let mut ground = Form::new(rank);
        let before = self.grown[mode].before[row];
        match &self.ground {
            RowPrior::Drawn(uncertainty) => match (before, self.known.get(mode)) {
                (Some(before), Some(known)) => {
                    let place = before as usize;
                    let variances = uncertainty.variances[mode].row(place);
                    known.add(self.old.factors()[mode].row(place), variances, &mut ground);
                }
                _ => {
                    let free = (0..rank).filter(|&k| !self.constant[mode][k]);
                    free.for_each(|k| ground.add_prior(k, 1.0, 0.0));
                }
            },
            RowPrior::Objective { lambda, l1: false, .. } => {
                (0..rank).for_each(|k| ground.add_prior(k, *lambda, 0.0));
            }
            RowPrior::Objective { .. } => {}
        }
        // What the old data said about an id is in its row already, its coupled cells included.
        for side in self.sides.iter().filter(|side| side.mode == mode && before.is_none()) {
            side.add(row, &self.factors[mode], noise, &mut ground);
        }
        let mut sums = self.sum(mode, &wanted.entries);
        if let Some(zeros) = &self.zeros {
            zeros.take_off(&mut sums.form);
            if before.is_none() {
                zeros.add(mode, noise, &mut ground);
            }
        }
        let solve = |share: f64| {
            let mut form = ground.clone();
            form.add_form(share / noise, &sums.form);
            match self.ground {
                RowPrior::Drawn(_) => form.solve_with_constants(&self.constant[mode]),
                RowPrior::Objective { l1: false, nonnegative: false, .. } => (form.solve(), Vec::new()),
                RowPrior::Objective { lambda, l1, nonnegative } => {
                    (form.solve_bounded(if l1 { lambda } else { 0.0 }, nonnegative), Vec::new())
                }
            }
        };
        let mut share = self.shares.get(mode).map_or(1.0, |shares| f64::from(shares[row]));
        let (mut found, mut variances) = solve(share);
        let is_free = before.is_none() && !wanted.entries.is_empty() && !self.shares.is_empty();
        if is_free && self.likelihood == Likelihood::Gaussian && self.zeros.is_none() {
            // Its errors say how large its share is, and that how large they are.
            for _ in 0..TURNS {
                let next = self.share(mode, &sums, (&found, &variances), wanted.entries.len(), noise);
                if (next - share).abs() <= CLOSE * share {
                    break;
                }
                share = next;
                (found, variances) = solve(share);
            }
        }
        Found { row: found, variances, share }
    }

    /// How large a part of their precision entries owe to a new row: what its errors say.
    fn share(
        &self,
        mode: usize,
        sums: &Sums,
        (row, variances): (&[f64], &[f64]),
        entries: usize,
        noise: f64,
    ) -> f64 {
        let squares = (sums.squares + sums.form.twice(row, variances)).max(0.0);
        let (nu, part) = (self.nu[mode], counted(entries as u32));
        // As 32 bits hold it, so that it is what the row is found with.
        f64::from(((nu + part * entries as f64) / (nu + part * squares / noise)).max(LEAST_SHARE) as f32)
    }

    /// What the model knows of how counts scatter.
    fn dispersion(&self) -> f64 {
        match &self.ground {
            RowPrior::Drawn(uncertainty) => f64::from(uncertainty.noise),
            RowPrior::Objective { .. } => 0.0,
        }
    }

    /// The sums over some entries of a row, each times the shares of its other rows.
    fn sum(&self, mode: usize, entries: &[u32]) -> Sums {
        let pieces = parallel::map_of(entries.chunks(PIECE), |piece| self.sum_piece(mode, piece));
        let mut total = Sums::new(self.ranks[mode]);
        pieces.iter().for_each(|piece| total.add(piece));
        total
    }

    fn sum_piece(&self, mode: usize, entries: &[u32]) -> Sums {
        let order = self.ranks.len();
        let mut summer = Summer::new(&self.cores, mode);
        let (mut rows, mut variances) = (Vec::with_capacity(order), Vec::with_capacity(order));
        for &entry in entries {
            let place = |other: usize| self.indices[other][entry as usize] as usize;
            let row = |other: usize| place(other) * self.ranks[other]..(place(other) + 1) * self.ranks[other];
            rows.clear();
            rows.extend(self.factors.iter().enumerate().map(|(other, values)| &values[row(other)]));
            variances.clear();
            variances.extend(self.variances.iter().enumerate().map(|(other, values)| &values[row(other)]));
            let value = f64::from(self.values[entry as usize]);
            let others = (0..self.shares.len()).filter(|&other| other != mode);
            summer.add((&rows, &variances), |linear| match self.likelihood {
                Likelihood::Gaussian => {
                    (others.map(|other| f64::from(self.shares[other][place(other)])).product(), value)
                }
                _ => self.likelihood.pseudo(value, linear(), self.dispersion()),
            });
        }
        summer.finish()
    }
}

/// Which concepts of a mode are 1 in all rows: the first, and in a diagonal core those that stand for other modes, too.
fn constants(core: &Core, factor: &Factor, variances: &Factor) -> Vec<bool> {
    let rank = factor.rank();
    match core {
        Core::Full { .. } => (0..rank).map(|k| k == 0).collect(),
        Core::Diagonal(_) => {
            let all = |factor: &Factor, k: usize, number: f32| {
                factor.values().iter().skip(k).step_by(rank).all(|&value| value == number)
            };
            (0..rank).map(|k| all(factor, k, 1.0) && all(variances, k, 0.0)).collect()
        }
    }
}

/// How close shares lie around 1: two over their variance.
fn scatter(shares: &[f32]) -> f64 {
    let count = shares.len().max(1) as f64;
    let mean = shares.iter().map(|&share| f64::from(share)).sum::<f64>() / count;
    let variance = shares.iter().map(|&share| (f64::from(share) - mean).powi(2)).sum::<f64>() / count;
    (2.0 / variance.max(1e-9)).clamp(NU[0], NU[1])
}
