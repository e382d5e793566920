//! What a model knew about its rows, as the prior of what comes later.
//!
//! A model keeps the variance of each number of a row, and not how numbers depend on each other. But they do: entries say most about
//! a row along what the rows of other modes have in common, and a row is free to move only across that. Held by its variances
//! alone, it would leave what old entries said, and predictions of rows that have no new entries would get worse.

use nalgebra::{DMatrix, SymmetricEigen};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::sums::{Cores, Summer};
use super::system::Form;
use crate::model::{Factor, Model, Uncertainty};

/// How much of what numbers depend on each other in average entries is taken over: a row has entries of its own.
const OWN: f64 = 0.5;
/// Entries that are made up from the rows of a model, to see what entries say.
const DRAWN: usize = 4096;
const SEED: u64 = 1;
/// No number is known better than this.
const LEAST_VARIANCE: f64 = 1e-12;
/// Halvings of the range in which the number of a row's entries is looked for, in powers of two.
const STEPS: usize = 30;
const RANGE: [f64; 2] = [-40.0, 60.0];

/// What entries say about the rows of a mode on average: the free part of a precision, and its eigenvectors.
pub(super) struct Known {
    free: Vec<usize>,
    precision: DMatrix<f64>,
    values: Vec<f64>,
    /// For each number of a row, its squared part in each eigenvector.
    parts: Vec<Vec<f64>>,
}

impl Known {
    /// For a mode in which these concepts are constant.
    pub(super) fn new(
        model: &Model,
        uncertainty: &Uncertainty,
        cores: &Cores,
        mode: usize,
        constant: &[bool],
    ) -> Self {
        let sums = average(model, uncertainty, cores, mode);
        let free: Vec<usize> = (0..constant.len()).filter(|&k| !constant[k]).collect();
        let element = |k: usize, l: usize| sums.precision[k.max(l) * constant.len() + k.min(l)];
        let precision = DMatrix::from_fn(free.len(), free.len(), |a, b| element(free[a], free[b]));
        // In any unit of the data.
        let precision =
            &precision / (0..free.len()).map(|k| precision[(k, k)]).fold(f64::MIN_POSITIVE, f64::max);
        let eigen = SymmetricEigen::new(precision.clone());
        let values = eigen.eigenvalues.iter().map(|value| value.max(0.0)).collect();
        let parts = eigen.eigenvectors.row_iter().map(|row| row.iter().map(|x| x * x).collect()).collect();
        Known { free, precision, values, parts }
    }

    /// Adds the prior of a row: that of as many average entries as its variances ask for, `I + c P`, each number stretched so that its
    /// variance is the one that is known.
    pub(super) fn add(&self, row: &[f32], variances: &[f32], form: &mut Form) {
        let known: Vec<f64> =
            self.free.iter().map(|&k| f64::from(variances[k]).max(LEAST_VARIANCE)).collect();
        let of = |by: f64| -> Vec<f64> {
            let inverse: Vec<f64> = self.values.iter().map(|value| 1.0 / (1.0 + by * value)).collect();
            let sum = |parts: &Vec<f64>| parts.iter().zip(&inverse).map(|(part, value)| part * value).sum();
            self.parts.iter().map(sum).collect()
        };
        let wanted: f64 = known.iter().map(|variance| variance.ln()).sum();
        let [mut low, mut high] = RANGE;
        for _ in 0..STEPS {
            let middle = 0.5 * (low + high);
            let found: f64 = of(middle.exp2()).iter().map(|variance| variance.ln()).sum();
            *(if found > wanted { &mut low } else { &mut high }) = middle;
        }
        let by = low.exp2();
        let stretch: Vec<f64> =
            of(by).iter().zip(&known).map(|(found, known)| (found / known).sqrt()).collect();
        let rank = row.len();
        for (a, &k) in self.free.iter().enumerate() {
            for (b, &l) in self.free.iter().enumerate() {
                let part = if a == b {
                    1.0 + by * self.precision[(a, a)]
                } else {
                    OWN * by * self.precision[(a, b)]
                };
                let value = stretch[a] * stretch[b] * part;
                form.pull[k] += value * f64::from(row[l]);
                if l <= k {
                    form.precision[k * rank + l] += value;
                }
            }
        }
    }
}

/// What an average entry says about a row of a mode: one whose other rows are drawn, each the likelier the more is known about it.
fn average(model: &Model, uncertainty: &Uncertainty, cores: &Cores, mode: usize) -> Form {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let urns: Vec<Vec<f64>> = uncertainty.variances.iter().map(urn).collect();
    let mut summer = Summer::new(cores, mode);
    let (mut rows, mut variances) = (Vec::new(), Vec::new());
    for _ in 0..DRAWN {
        rows.clear();
        variances.clear();
        for ((factor, known), urn) in model.factors().iter().zip(&uncertainty.variances).zip(&urns) {
            let at = generator.random_range(0.0..1.0) * urn.last().copied().unwrap_or(0.0);
            let row = urn.partition_point(|&sum| sum <= at).min(factor.rows().saturating_sub(1));
            rows.push(factor.row(row));
            variances.push(known.row(row));
        }
        summer.add((&rows, &variances), |_| (1.0 / DRAWN as f64, 0.0));
    }
    summer.finish().form
}

/// Sums of what is known about each row, up to it: the precision that its entries gave it, beside the prior's 1.
fn urn(variances: &Factor) -> Vec<f64> {
    let rows = variances.values().chunks_exact(variances.rank());
    let known = |row: &[f32]| -> f64 {
        let free = row.iter().filter(|&&variance| variance > 0.0);
        free.map(|&variance| (1.0 / f64::from(variance) - 1.0).max(0.0)).sum()
    };
    let mut sum = 0.0;
    rows.map(|row| {
        // A row that nothing is known about can be drawn, too, where there is no other.
        sum += known(row) + f64::MIN_POSITIVE;
        sum
    })
    .collect()
}
