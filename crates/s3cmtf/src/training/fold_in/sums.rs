//! What entries say about a row that is looked for: sums over them, by the kernels of training.

use s3cmtf_kernels::{Aligned, Level, NormalEquations};

use super::system::Form;
use crate::model::Core;
use crate::training::designs::Designs;

/// What entries say about a row.
pub(super) struct Sums {
    pub(super) form: Form,
    /// The sum of their squared values.
    pub(super) squares: f64,
}

impl Sums {
    pub(super) fn new(rank: usize) -> Self {
        Sums { form: Form::new(rank), squares: 0.0 }
    }

    pub(super) fn add(&mut self, other: &Sums) {
        self.form.add_form(1.0, &other.form);
        self.squares += other.squares;
    }
}

/// A core, laid out for the sums of each mode.
pub(super) struct Cores {
    ranks: Vec<usize>,
    /// What its numbers are divided by, so that their squares are numbers of 32 bits in any unit of the data.
    unit: f64,
    layout: Layout,
}

enum Layout {
    Diagonal(Vec<f64>),
    /// For each mode, and each other one.
    Full(Vec<Vec<Slices>>),
}

/// A full core with its axes in another order: those of modes that are neither, the other mode's, and the mode's, padded.
struct Slices {
    other: usize,
    /// The modes that are neither.
    along: Vec<usize>,
    values: Vec<f32>,
}

impl Cores {
    pub(super) fn new(core: &Core, ranks: &[usize]) -> Self {
        let most = core.values().iter().fold(0.0f32, |most, value| most.max(value.abs()));
        // A power of two changes no number but its exponent.
        let unit = if most > 0.0 { f64::from(most).log2().floor().exp2() } else { 1.0 };
        let scaled: Vec<f64> = core.values().iter().map(|&value| f64::from(value) / unit).collect();
        let layout = match core {
            Core::Diagonal(_) => Layout::Diagonal(scaled),
            Core::Full { .. } => {
                let of = |mode: usize| {
                    let others = (0..ranks.len()).filter(|&other| other != mode);
                    others.map(|other| Slices::new(&scaled, ranks, mode, other)).collect()
                };
                Layout::Full((0..ranks.len()).map(of).collect())
            }
        };
        Cores { ranks: ranks.to_vec(), unit, layout }
    }
}

fn kernels(rank: usize) -> NormalEquations {
    NormalEquations::new(Level::best(), rank, 1)
}

impl Slices {
    fn new(core: &[f64], ranks: &[usize], mode: usize, other: usize) -> Self {
        let pad = kernels(ranks[mode]).pad();
        let along: Vec<usize> = (0..ranks.len()).filter(|&axis| axis != mode && axis != other).collect();
        let mut strides = vec![1; ranks.len()];
        (0..ranks.len() - 1).rev().for_each(|axis| strides[axis] = strides[axis + 1] * ranks[axis + 1]);
        let mut values = vec![0.0; core.len() / ranks[mode] * pad];
        for (row, values) in values.chunks_exact_mut(pad).enumerate() {
            let (mut left, mut place) = (row, 0);
            for &axis in [other].iter().chain(along.iter().rev()) {
                place += left % ranks[axis] * strides[axis];
                left /= ranks[axis];
            }
            let numbers = core[place..].iter().step_by(strides[mode]);
            values[..ranks[mode]].iter_mut().zip(numbers).for_each(|(value, &core)| *value = core as f32);
        }
        Slices { other, along, values }
    }

    /// How many numbers are left after the first of several rows.
    fn between(&self, ranks: &[usize]) -> usize {
        if let [first, _, ..] = self.along[..] { self.values.len() / ranks[first] } else { 0 }
    }

    /// The core along rows.
    fn contract(
        &self,
        kernels: &NormalEquations,
        rows: &[&[f32]],
        [from, to]: &mut [Aligned; 2],
        slopes: &mut Aligned,
    ) {
        let Some((&last, before)) = self.along.split_last() else {
            slopes.copy_from(&self.values);
            return;
        };
        let mut len = self.values.len();
        for (place, &mode) in before.iter().enumerate() {
            let source = if place == 0 { &self.values[..] } else { &from.as_slice()[..len] };
            len /= rows[mode].len();
            kernels.fold(source, rows[mode], &mut to.as_mut_slice()[..len]);
            std::mem::swap(from, to);
        }
        let source = if before.is_empty() { &self.values[..] } else { &from.as_slice()[..len] };
        kernels.fold(source, rows[last], slopes.as_mut_slice());
    }
}

/// Sums over the entries of a row, while they are added up.
pub(super) struct Summer<'a> {
    cores: &'a Cores,
    mode: usize,
    /// For each other mode, the core along all rows but this one's and that mode's.
    slopes: Vec<Aligned>,
    buffers: [Aligned; 2],
    design: Aligned,
    kernels: NormalEquations,
    designs: Designs,
    /// Of designs: their products, and behind those designs times values.
    sums: Vec<f64>,
    squares: f64,
}

impl<'a> Summer<'a> {
    pub(super) fn new(cores: &'a Cores, mode: usize) -> Self {
        let rank = cores.ranks[mode];
        let kernels = kernels(rank);
        let pad = kernels.pad();
        let of = match &cores.layout {
            Layout::Diagonal(_) => &[][..],
            Layout::Full(of) => &of[mode],
        };
        let between = of.iter().map(|slices| slices.between(&cores.ranks)).max().unwrap_or(0);
        Summer {
            cores,
            mode,
            slopes: of.iter().map(|slices| Aligned::new(cores.ranks[slices.other] * pad)).collect(),
            buffers: [Aligned::new(between), Aligned::new(between)],
            design: Aligned::new(pad),
            kernels,
            designs: Designs::new(kernels, rank),
            sums: vec![0.0; rank * rank + rank],
            squares: 0.0,
        }
    }

    /// Adds an entry with its rows of all modes, and their variances where those are known: `of` says its weight and its value,
    /// given what the model says that it is.
    pub(super) fn add(
        &mut self,
        (rows, variances): (&[&[f32]], &[&[f32]]),
        of: impl FnOnce(&dyn Fn() -> f64) -> (f64, f64),
    ) {
        let unit = self.cores.unit;
        self.contract(rows);
        let linear = || {
            let terms = self.design.as_slice().iter().zip(rows[self.mode]);
            unit * terms.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>()
        };
        let (weight, value) = of(&linear);
        self.squares += weight * value * value;
        let root = weight.sqrt();
        let (scale, target) = (root as f32, (root * value / unit) as f32);
        self.designs.push(self.design.as_slice(), scale, target, &mut self.sums);
        // The other rows are known only so well, which makes their entries say less.
        match &self.cores.layout {
            _ if variances.is_empty() => {}
            Layout::Diagonal(core) => {
                let others = (0..rows.len()).filter(|&mode| mode != self.mode);
                for (k, &core) in core.iter().enumerate() {
                    for other in others.clone() {
                        let rest = others.clone().filter(|&mode| mode != other);
                        let slope = rest.fold(core, |slope, mode| slope * f64::from(rows[mode][k]));
                        let variance = f64::from(variances[other][k]);
                        self.sums[k * self.cores.ranks[self.mode] + k] += weight * variance * slope * slope;
                    }
                }
            }
            Layout::Full(of) => {
                for (slices, slopes) in of[self.mode].iter().zip(&self.slopes) {
                    let slopes = slopes.as_slice().chunks_exact(self.kernels.pad());
                    let known = slopes.zip(variances[slices.other]);
                    for (slope, &variance) in known.filter(|(_, variance)| **variance > 0.0) {
                        let scale = (weight * f64::from(variance)).sqrt() as f32;
                        self.designs.push(slope, scale, 0.0, &mut self.sums);
                    }
                }
            }
        }
    }

    /// Finds the slopes and the design of an entry.
    fn contract(&mut self, rows: &[&[f32]]) {
        let kernels = &self.kernels;
        match &self.cores.layout {
            Layout::Diagonal(core) => {
                for (k, (design, &core)) in self.design.as_mut_slice().iter_mut().zip(core).enumerate() {
                    let others = rows.iter().enumerate().filter(|&(mode, _)| mode != self.mode);
                    *design = others.fold(core, |product, (_, row)| product * f64::from(row[k])) as f32;
                }
            }
            Layout::Full(of) => {
                for (slices, slopes) in of[self.mode].iter().zip(&mut self.slopes) {
                    slices.contract(kernels, rows, &mut self.buffers, slopes);
                    kernels.fold(slopes.as_slice(), rows[slices.other], self.design.as_mut_slice());
                }
            }
        }
    }

    /// The sums of what was added.
    pub(super) fn finish(mut self) -> Sums {
        self.designs.flush(&mut self.sums);
        let rank = self.cores.ranks[self.mode];
        let (precision, pull) = self.sums.split_at(rank * rank);
        let mut own = Form::new(rank);
        own.precision.copy_from_slice(precision);
        own.pull.copy_from_slice(pull);
        let mut sums = Sums { squares: self.squares, ..Sums::new(rank) };
        sums.form.add_form(self.cores.unit * self.cores.unit, &own);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The core along the rows of all modes but those to keep, cell by cell.
    fn along(core: &Core, rows: &[&[f32]], keep: [usize; 2]) -> Vec<Vec<f64>> {
        let [a, b] = keep;
        let mut slopes = vec![vec![0.0; rows[b].len()]; rows[a].len()];
        let ranks: Vec<usize> = rows.iter().map(|row| row.len()).collect();
        for (place, &value) in core.values().iter().enumerate() {
            let mut left = place;
            let mut concepts = vec![0; ranks.len()];
            for mode in (0..ranks.len()).rev() {
                concepts[mode] = if let Core::Diagonal(_) = core { place } else { left % ranks[mode] };
                left /= ranks[mode];
            }
            let others = (0..ranks.len()).filter(|mode| !keep.contains(mode));
            slopes[concepts[a]][concepts[b]] += others
                .fold(f64::from(value), |product, mode| product * f64::from(rows[mode][concepts[mode]]));
        }
        slopes
    }

    #[test]
    fn sums_are_those_of_plain_loops_in_any_unit() {
        let number = |seed: usize| ((seed * 7919 + 13) % 1009) as f32 / 1009.0 - 0.4;
        let full: &[&[usize]] = &[&[3, 2], &[2, 5, 3], &[17, 4, 2, 3], &[2, 3, 2, 3, 2]];
        let kinds = full.iter().map(|&ranks| (ranks, false)).chain([(&[4, 4, 4][..], true), (&[3, 3], true)]);
        for ((ranks, diagonal), unit) in kinds.zip([1.0, 1e25, 1e-20, 3.0, 1e20, 1.0]) {
            let cells = if diagonal { ranks[0] } else { ranks.iter().product() };
            let values: Vec<f32> = (0..cells).map(|cell| unit * number(cell + 5)).collect();
            let core = if diagonal { Core::Diagonal(values) } else { Core::full(ranks.to_vec(), values) };
            let cores = Cores::new(&core, ranks);
            let row = |entry: usize, mode: usize, part: usize| -> Vec<f32> {
                (0..ranks[mode]).map(|k| number(31 * entry + 7 * mode + 3 * k + part)).collect()
            };
            for mode in 0..ranks.len() {
                let mut summer = Summer::new(&cores, mode);
                let mut expected = Sums::new(ranks[mode]);
                for entry in 0..100 {
                    let rows: Vec<Vec<f32>> = (0..ranks.len()).map(|mode| row(entry, mode, 0)).collect();
                    let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
                    let variances: Vec<Vec<f32>> = (0..ranks.len())
                        .map(|mode| row(entry, mode, 1).iter().map(|x| x * x).collect())
                        .collect();
                    let variances: Vec<&[f32]> = variances.iter().map(|row| &row[..]).collect();
                    let (weight, value) =
                        (0.5 + f64::from(number(entry)), f64::from(unit * number(entry + 9)));
                    let others = (0..ranks.len()).filter(|&other| other != mode);
                    let mut design = Vec::new();
                    for other in others {
                        let slopes = along(&core, &rows, [other, mode]);
                        design = vec![0.0; ranks[mode]];
                        for (j, slope) in slopes.iter().enumerate() {
                            let by = f64::from(rows[other][j]);
                            design.iter_mut().zip(slope).for_each(|(sum, slope)| *sum += by * slope);
                            expected.form.add_square(weight * f64::from(variances[other][j]), slope);
                        }
                    }
                    expected.form.add(weight, value, &design);
                    expected.squares += weight * value * value;
                    let said: f64 = design.iter().zip(rows[mode]).map(|(a, &b)| a * f64::from(b)).sum();
                    summer.add((&rows, &variances), |linear| {
                        assert!((linear() - said).abs() <= 1e-5 * f64::from(unit), "{} {said}", linear());
                        (weight, value)
                    });
                }
                let found = summer.finish();
                assert!((found.squares - expected.squares).abs() <= 1e-12 * expected.squares);
                let numbers = |form: &Form| -> Vec<f64> {
                    let lower = (0..ranks[mode]).flat_map(|k| (0..=k).map(move |l| k * ranks[mode] + l));
                    lower.map(|place| form.precision[place]).chain(form.pull.clone()).collect()
                };
                let (found, expected) = (numbers(&found.form), numbers(&expected.form));
                let most = expected.iter().fold(0.0, |most: f64, number| most.max(number.abs()));
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() <= 1e-5 * most, "{ranks:?} {mode}: {found} {expected}");
                }
            }
        }
    }
}
