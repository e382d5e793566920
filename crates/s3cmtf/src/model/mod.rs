//! What comes out: a core, a factor for each mode and for each coupled matrix.

mod choice;
mod core;
mod normalize;
mod offsets;
mod orthogonal;
mod predict;
mod scores;
mod std_scale;
mod uncertainty;

pub use self::choice::Choice;
pub(crate) use self::choice::ChoiceWeights;
pub use self::core::Core;
pub use offsets::{Offsets, SimpleErrors};
pub(crate) use offsets::{no_better, short};
pub(crate) use predict::ErrorSums;
pub use predict::Errors;
pub use scores::Scores;
pub(crate) use std_scale::POINTS;
pub use std_scale::StdScale;
pub use uncertainty::Uncertainty;

use crate::Error;
use crate::likelihood::Likelihood;
use crate::parallel;
use crate::params::CoreKind;
use crate::problem::{Absent, Cells, Entries, Mode, UNKNOWN, count_unknown, grown_limit};

/// A dense matrix of factor values, one row per row of its mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    rank: usize,
    values: Vec<f32>,
}

impl Factor {
    /// A factor from its values, row after row.
    ///
    /// # Panics
    /// If `rank` is 0 or `values` are not whole rows.
    pub fn new(rank: usize, values: Vec<f32>) -> Self {
        assert!(rank > 0 && values.len().is_multiple_of(rank), "{} values in rows of {rank}", values.len());
        Factor { rank, values }
    }

    /// The number of columns.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.rank
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.rank..(row + 1) * self.rank]
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, row after row.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The mean of the rows: what is known of an entity of which nothing is known.
    pub fn average(&self) -> Vec<f32> {
        average_row(&self.values, self.rank)
    }
}

/// The mean of rows, summed in pieces of a fixed size, so that it does not depend on the threads.
pub(crate) fn average_row(values: &[f32], rank: usize) -> Vec<f32> {
    let pieces = parallel::map_of(values.chunks(4096 * rank), |piece| {
        let mut sum = vec![0.0f64; rank];
        for row in piece.chunks_exact(rank) {
            sum.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        sum
    });
    let rows = (values.len() / rank).max(1) as f64;
    let total = |j: usize| pieces.iter().map(|piece| piece[j]).sum::<f64>();
    (0..rank).map(|j| (total(j) / rows) as f32).collect()
}

/// The factor of a coupled matrix's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct CoupledFactor {
    /// The matrix's name.
    pub name: String,
    /// The mode that its rows are, counted from 0.
    pub mode: usize,
    /// What its absent cells mean.
    pub kind: Absent,
    /// Its weight lambda_m; 0 where it was not explained together with the tensor, but predicted rows.
    pub weight: f32,
    /// Its columns; none for a graph.
    pub columns: Mode,
    /// One row per column of the matrix; no rows for a graph.
    pub factor: Factor,
    /// How its cells predict rows, if they do.
    pub effects: Option<Effects>,
}

/// How the cells of a coupled matrix predict the row of an id, before any of its entries is known: the mean of the row is the base
/// and, for each cell, its value less the column's offset, times the column's effects, divided by the square root of the
/// number of the id's cells. An id without any cell has a mean of 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// What is known of an id whose cells are all zero.
    pub base: Vec<f32>,
    /// What is taken off the cells of each column.
    pub offsets: Vec<f32>,
    /// One row per column: what its cells add to the concepts of an id.
    pub factor: Factor,
    /// The share of what varies between rows that the cells explain, from 0 to 1.
    pub explained: f32,
}

impl Effects {
    /// The mean of a row with these cells: columns and values.
    pub(crate) fn mean(&self, cells: impl Iterator<Item = (u32, f32)>) -> Vec<f64> {
        let (mut sums, mut count) = (vec![0.0; self.base.len()], 0.0f64);
        for (column, value) in cells {
            let value = f64::from(value - self.offsets[column as usize]);
            let effects = self.factor.row(column as usize);
            sums.iter_mut().zip(effects).for_each(|(sum, &effect)| *sum += value * f64::from(effect));
            count += 1.0;
        }
        if count > 0.0 {
            let sums = sums.iter_mut().zip(&self.base);
            sums.for_each(|(sum, &base)| *sum = f64::from(base) + *sum / count.sqrt());
        }
        sums
    }

    /// Whether there is a number for each column and concept of a factor, and each is finite.
    fn fits(&self, factor: &Factor) -> bool {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        self.base.len() == factor.rank()
            && (self.factor.rows(), self.factor.rank()) == (factor.rows(), factor.rank())
            && self.offsets.len() == factor.rows()
            && finite(&self.base)
            && finite(&self.offsets)
            && finite(self.factor.values())
            && (0.0..=1.0).contains(&self.explained)
    }
}

/// A factorization: `x = core x_1 u_1 x_2 u_2 ...`, and `y = u v'` for each coupled matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) modes: Vec<Mode>,
    pub(crate) core: Core,
    pub(crate) factors: Vec<Factor>,
    pub(crate) coupled: Vec<CoupledFactor>,
    pub(crate) range: [f32; 2],
    pub(crate) uncertainty: Option<Uncertainty>,
    pub(crate) offsets: Option<Offsets>,
    pub(crate) value: Option<String>,
    pub(crate) choice: Option<Choice>,
    pub(crate) choice_weights: Option<ChoiceWeights>,
    /// What an absent cell counted against an entry, if those were zeros of values.
    pub(crate) absent_weight: Option<f32>,
    pub(crate) likelihood: Likelihood,
}

impl Model {
    /// A model from its parts.
    ///
    /// # Errors
    /// If the parts do not fit together, or a number is not finite.
    pub fn new(
        modes: Vec<Mode>,
        core: Core,
        factors: Vec<Factor>,
        coupled: Vec<CoupledFactor>,
        range: [f32; 2],
    ) -> Result<Self, Error> {
        let fail = |what: String| Err(Error::Problem(what));
        let ranks = core.ranks(modes.len());
        if modes.len() < 2 || factors.len() != modes.len() || ranks.len() != modes.len() {
            return fail(format!(
                "{} modes, {} factors and a core of order {}",
                modes.len(),
                factors.len(),
                ranks.len()
            ));
        }
        for ((mode, factor), &rank) in modes.iter().zip(&factors).zip(&ranks) {
            if factor.rank() != rank || factor.rows() != mode.rows() {
                return fail(format!(
                    "the factor of mode {} is {} x {}, but the mode has {} rows and the core rank {rank}",
                    mode.name(),
                    factor.rows(),
                    factor.rank(),
                    mode.rows()
                ));
            }
        }
        for matrix in &coupled {
            let rows = if matrix.kind == Absent::Graph { 0 } else { matrix.columns.rows() };
            let fits = matrix.mode < modes.len()
                && matrix.factor.rank() == ranks[matrix.mode]
                && matrix.factor.rows() == rows
                && matrix.effects.as_ref().is_none_or(|effects| effects.fits(&matrix.factor))
                && matrix.weight.is_finite();
            if !fits {
                return fail(format!(
                    "the factor of coupled matrix {} does not fit its mode or columns",
                    matrix.name
                ));
            }
        }
        let model = Model {
            modes,
            core,
            factors,
            coupled,
            range,
            uncertainty: None,
            offsets: None,
            value: None,
            choice: None,
            choice_weights: None,
            absent_weight: None,
            likelihood: Likelihood::Gaussian,
        };
        if !(model.is_finite() && range[0].is_finite() && range[1].is_finite() && range[0] <= range[1]) {
            return fail("the model has numbers that are not finite".into());
        }
        Ok(model)
    }

    /// The modes of the tensor.
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// The core.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The factor of each mode.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// The factor of each coupled matrix.
    pub fn coupled(&self) -> &[CoupledFactor] {
        &self.coupled
    }

    /// The coupled matrix of this name; otherwise the only one that is coupled to the mode, if it is.
    pub fn coupled_like(&self, name: &str, mode: usize) -> Option<&CoupledFactor> {
        let mut of_mode = self.coupled().iter().filter(|matrix| matrix.mode == mode);
        let named = of_mode.clone().find(|matrix| matrix.name == name);
        named.or_else(|| of_mode.next().filter(|_| of_mode.next().is_none()))
    }

    /// The smallest and largest value that was observed in training.
    pub fn range(&self) -> [f32; 2] {
        self.range
    }

    /// What the values are called, if they have a name.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// The same model whose values have a name.
    #[must_use]
    pub fn with_value(mut self, value: Option<String>) -> Self {
        self.value = value;
        self
    }

    /// How values lie around the linear predictor that factors and core add up to.
    pub fn likelihood(&self) -> Likelihood {
        self.likelihood
    }

    /// The same model of another likelihood.
    #[must_use]
    pub fn with_likelihood(mut self, likelihood: Likelihood) -> Self {
        self.likelihood = likelihood;
        self
    }

    /// Whether the core is full or diagonal.
    pub fn core_kind(&self) -> CoreKind {
        match self.core {
            Core::Full { .. } => CoreKind::Full,
            Core::Diagonal(_) => CoreKind::Diagonal,
        }
    }

    /// Whether every number is finite.
    pub(crate) fn is_finite(&self) -> bool {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        finite(self.core.values())
            && self.factors.iter().all(|factor| finite(factor.values()))
            && self.coupled.iter().all(|matrix| {
                finite(matrix.factor.values())
                    && matrix.effects.as_ref().is_none_or(|effects| effects.fits(&matrix.factor))
            })
    }

    /// Puts entries given by ids on the model's rows. An id without a row becomes `UNKNOWN`, which predictions
    /// treat as the average entity.
    ///
    /// # Errors
    /// If the entries have another number of modes, or an id lies far beyond its mode.
    pub(crate) fn locate(&self, entries: &Entries) -> Result<Entries, Error> {
        locate(&self.modes, entries)
    }

    /// How many of the given cells name an id that the model has no row for.
    pub fn unknown(&self, cells: impl AsRef<Cells>) -> usize {
        count_unknown(&self.modes, cells.as_ref())
    }
}

/// Puts entries given by ids on the rows of `modes`, see [`Model::locate`].
pub(crate) fn locate(modes: &[Mode], entries: &Entries) -> Result<Entries, Error> {
    let cells = locate_cells(modes, entries.cells())?;
    let name = cells.name().to_owned();
    Ok(Entries::from_rows(name, cells.into_indices(), entries.values().to_vec()))
}

/// The same of cells.
fn locate_cells(modes: &[Mode], cells: &Cells) -> Result<Cells, Error> {
    if cells.order() != modes.len() {
        return Err(Error::Problem(format!(
            "{}: {} indices per entry, but the model has {} modes",
            cells.name(),
            cells.order(),
            modes.len()
        )));
    }
    for (number, mode) in modes.iter().enumerate() {
        let ids = cells.indices(number);
        let limit = grown_limit(mode.size());
        if let Some(entry) = ids.iter().position(|&id| id >= limit && id != UNKNOWN) {
            let what = format!(
                "index {} of mode {} ({}) is beyond its size {}",
                u64::from(ids[entry]) + 1,
                number + 1,
                mode.name(),
                mode.size()
            );
            return Err(Error::Entry { table: cells.name().to_owned(), entry, what });
        }
    }
    let mut indices: Vec<Vec<u32>> = (0..modes.len()).map(|mode| cells.indices(mode).to_vec()).collect();
    for (mode, ids) in modes.iter().zip(&mut indices) {
        mode.locate(ids);
    }
    Ok(Cells::from_rows(cells.name().to_owned(), indices))
}
