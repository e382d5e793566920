//! Rows for ids that came after training, and more about ids that were there: against a fixed core, without the old data.
//!
//! A row is the one that its entries and its coupled cells ask for, given all others (docs/method.md, eq. F1 to F3). Where
//! several rows are looked for at once, they take turns until they agree.

mod choices;
mod grow;
mod known;
mod rows;
mod sums;
mod system;
mod zeros;

use grow::ExtendedMode;
use rows::{RowPrior, Rows, Side};

use super::offsets;
use crate::Error;
use crate::model::{CoupledFactor, Factor, Model, Offsets, Uncertainty};
use crate::params::{Algorithm, Params};
use crate::problem::{Absent, Coupled, Duplicates, Entries, Naming, merge_entries};
use crate::table::did_you_mean;

/// The ridge for rows of a model of alternating least squares.
const LEAST_RIDGE: f64 = 1e-6;

/// Data that came after a model, and what is to become of them.
///
/// Ids are the model's, and new ones are those beyond or between them that it has no row for.
pub struct FoldIn<'a> {
    model: &'a Model,
    params: &'a Params,
    entries: Option<Entries>,
    coupled: Vec<Coupled>,
    namings: Vec<Option<Naming>>,
    duplicates: Duplicates,
}

/// A model that has taken up data which came later.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Folded {
    /// The model with all rows.
    pub model: Model,
    /// For each mode, how many rows are new.
    pub added: Vec<usize>,
    /// For each mode, how many rows were there and have changed.
    pub updated: Vec<usize>,
    /// How many entries counted.
    pub entries: usize,
    /// What did not count, and why.
    pub notes: Vec<String>,
}

impl<'a> FoldIn<'a> {
    /// Nothing new yet; `params` are those that the model was trained with.
    pub fn new(model: &'a Model, params: &'a Params) -> Self {
        let namings = vec![None; model.modes().len()];
        FoldIn {
            model,
            params,
            entries: None,
            coupled: Vec::new(),
            namings,
            duplicates: Duplicates::default(),
        }
    }

    /// New entries of the tensor, by ids.
    #[must_use]
    pub fn entries(mut self, entries: Entries) -> Self {
        self.entries = Some(entries);
        self
    }

    /// New rows of a matrix that the model knows, see [`Model::coupled_like`]; what it says about ids that the model has
    /// does not count, since training may have seen it.
    #[must_use]
    pub fn couple(mut self, coupled: Coupled) -> Self {
        self.coupled.push(coupled);
        self
    }

    /// What the ids of each mode are called, where they have names: those of the model, and behind them those that are new.
    #[must_use]
    pub fn namings(mut self, namings: Vec<Option<Naming>>) -> Self {
        self.namings = namings;
        self
    }

    /// Says what becomes of entries that are given more than once; without it their mean is taken.
    #[must_use]
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Finds rows for new ids. All that the model has stays as it is, bit for bit.
    ///
    /// # Errors
    /// If the data do not fit the model, if there is no new id, or if the model was drawn without its distributions or made
    /// orthogonal, so that it does not know what rows are likely.
    pub fn fold_in(self) -> Result<Folded, Error> {
        self.run(false)
    }

    /// Finds rows for new ids, and moves the rows of ids that have new entries, each starting from what the model knew about
    /// it. The core and the columns of coupled matrices stay.
    ///
    /// # Errors
    /// As [`FoldIn::fold_in`], but there need not be a new id; and if the model does not know how sure it is of its rows,
    /// which models of `sgd` do not.
    pub fn update(self) -> Result<Folded, Error> {
        self.run(true)
    }

    fn run(mut self, update: bool) -> Result<Folded, Error> {
        if self.params.algorithm == Algorithm::Ials {
            return self.new_users(update);
        }
        let model = self.model;
        let order = model.modes().len();
        let ground = self.row_prior(update)?;
        let matrices = self.matrices()?;
        let mut notes = Vec::new();

        let grown = self.grown()?;
        let added: Vec<usize> = grown.iter().map(|grown| grown.added().count()).collect();
        let (mut indices, mut values) = self.located(&grown)?;
        if !update {
            let all = values.len();
            let is_new = |mode: usize, row: u32| grown[mode].before[row as usize].is_none();
            keep(&mut indices, &mut values, |cell| (0..order).any(|mode| is_new(mode, cell(mode))));
            if values.len() < all {
                notes.push(format!(
                    "{} of {all} entries have no new id: they change nothing here, update takes them in",
                    all - values.len()
                ));
            }
        }
        let range =
            values.iter().fold(model.range(), |[low, high], &value| [low.min(value), high.max(value)]);
        model.likelihood().check("the new entries", &values)?;
        if added.iter().sum::<usize>() == 0 && (!update || values.is_empty()) {
            let what = if update {
                "the model has all of these ids, and there is nothing new in them"
            } else {
                "the model has all of these ids: there is no row to be found; update takes in more about old ones"
            };
            return Err(Error::Problem(what.into()));
        }

        let sides = self.coupled.iter().zip(&matrices);
        let sides: Vec<Side> = sides
            .map(|(matrix, known)| Side::new(matrix, known, &grown[matrix.mode()], &mut notes))
            .collect();
        let mut rows = Rows::new(model, &grown, ground, &indices, &values, sides);
        let updated = rows.find(update);
        let entries = values.len();
        let model = self.finish(rows, &grown, range, &indices)?;
        let model = match self.model.offsets() {
            Some(offsets) => model.with_offsets(grown_offsets(offsets, &grown, indices, values)?)?,
            None => model,
        };
        Ok(Folded { model, added, updated, entries, notes })
    }

    /// The modes with all ids that are new in them.
    fn grown(&mut self) -> Result<Vec<ExtendedMode>, Error> {
        self.namings.resize(self.model.modes().len(), None);
        let one = |(number, mode)| {
            let mut lists: Vec<&[u32]> = self.entries.iter().map(|entries| entries.indices(number)).collect();
            for matrix in self.coupled.iter().filter(|matrix| matrix.mode() == number) {
                lists.push(matrix.entries().indices(0));
                if matrix.kind() == Absent::Graph {
                    lists.push(matrix.entries().indices(1));
                }
            }
            ExtendedMode::new(mode, self.namings[number].as_ref(), &lists)
        };
        self.model.modes().iter().enumerate().map(one).collect()
    }

    /// The new entries by rows, each cell once.
    fn located(&mut self, grown: &[ExtendedMode]) -> Result<(Vec<Vec<u32>>, Vec<f32>), Error> {
        let (mut indices, mut values) = self.entries.take().unwrap_or_default().into_parts();
        indices.resize(grown.len(), Vec::new());
        for (array, grown) in indices.iter_mut().zip(grown) {
            grown.mode.locate(array);
        }
        merge_entries("the new entries", &mut indices, &mut values, self.duplicates)?;
        Ok((indices, values))
    }

    /// The prior over rows.
    fn row_prior(&self, update: bool) -> Result<RowPrior<'a>, Error> {
        let fail = |what: &str| Err(Error::Problem(what.into()));
        match (self.model.uncertainty(), self.params.algorithm) {
            (Some(uncertainty), _) => Ok(RowPrior::Drawn(uncertainty)),
            _ if update => {
                fail("the model does not know how sure it is of its rows, as those of bayes do: fit it anew")
            }
            _ if self.params.orthogonal => fail(
                "the model was made orthogonal, and no longer says which rows are likely: fit it without orthogonal",
            ),
            (None, Algorithm::Bayes) => {
                fail("the model was drawn without distributions, and does not say which rows are likely")
            }
            (None, Algorithm::Sgd) => Ok(RowPrior::Objective {
                // Non-negative factors have columns of length one: lambda_reg was for lengths that are in the core now.
                lambda: if self.params.nonnegative { 0.0 } else { f64::from(self.params.lambda_reg) },
                l1: self.params.l1,
                nonnegative: self.params.nonnegative,
            }),
            // As small as where data are exact: how far they are from that is not known here.
            (None, Algorithm::Als) => {
                Ok(RowPrior::Objective { lambda: LEAST_RIDGE, l1: false, nonnegative: false })
            }
            // Rows of ials are found in a way of their own, see `new_users`.
            (None, algorithm) => fail(&format!(
                "rows cannot be added to a model of {}: fit it with bayes, sgd or als",
                algorithm.name()
            )),
        }
    }

    /// The model's matrix for each of the new ones.
    fn matrices(&self) -> Result<Vec<&'a CoupledFactor>, Error> {
        let order = self.model.modes().len();
        if let Some(entries) = &self.entries
            && entries.order() != order
        {
            return Err(Error::Problem(format!(
                "{}: {} indices per entry, but the model has {order} modes",
                entries.name(),
                entries.order()
            )));
        }
        let find = |matrix: &Coupled| {
            let known = self.model.coupled_like(matrix.name(), matrix.mode()).ok_or_else(|| {
                let names: Vec<&str> = self.model.coupled().iter().map(|known| &known.name[..]).collect();
                let hint = did_you_mean(names.iter().copied(), matrix.name());
                let names = if names.is_empty() { "none".into() } else { names.join(", ") };
                Error::Problem(format!(
                    "{}: not coupled in the model{hint} (its matrices: {names})",
                    matrix.name()
                ))
            })?;
            if known.kind == matrix.kind() {
                return Ok(known);
            }
            Err(Error::Problem(format!(
                "{}: its kind is {}, but that of the model's {} is {}",
                matrix.name(),
                matrix.kind().name(),
                known.name,
                known.kind.name()
            )))
        };
        self.coupled.iter().map(find).collect()
    }

    fn finish(
        &self,
        rows: Rows<'_>,
        grown: &[ExtendedMode],
        range: [f32; 2],
        indices: &[Vec<u32>],
    ) -> Result<Model, Error> {
        let factors =
            rows.factors.into_iter().zip(&rows.ranks).map(|(values, &rank)| Factor::new(rank, values));
        let modes = grown.iter().map(|grown| grown.mode.clone()).collect();
        let (core, coupled) = (self.model.core().clone(), self.model.coupled().to_vec());
        let model = Model::new(modes, core, factors.collect(), coupled, range)?;
        let model = model.with_likelihood(self.model.likelihood());
        let mut model = model.with_value(self.model.value().map(str::to_owned));
        model.absent_weight = self.model.absent_weight;
        if let Some(choice) = self.model.choice() {
            model = model.with_choice(choices::grown_choice(self.model, choice, grown, indices))?;
            model.choice_weights = self.model.choice_weights;
        }
        let Some(uncertainty) = self.model.uncertainty() else { return Ok(model) };
        let variances = rows.variances.into_iter().zip(&rows.ranks);
        model.with_uncertainty(Uncertainty {
            noise: uncertainty.noise,
            shares: rows.shares,
            variances: variances.map(|(values, &rank)| Factor::new(rank, values)).collect(),
            scale: uncertainty.scale.clone(),
        })
    }
}

/// Keeps the entries of which `counts` says so, given the row of a mode.
fn keep(indices: &mut [Vec<u32>], values: &mut Vec<f32>, counts: impl Fn(&dyn Fn(usize) -> u32) -> bool) {
    let places: Vec<usize> =
        (0..values.len()).filter(|&place| counts(&|mode: usize| indices[mode][place])).collect();
    for array in indices.iter_mut() {
        *array = places.iter().map(|&place| array[place]).collect();
    }
    *values = places.iter().map(|&place| values[place]).collect();
}

/// Offsets for rows that are new; those of before stay, since how many entries they come from is not known.
fn grown_offsets(
    offsets: &Offsets,
    grown: &[ExtendedMode],
    indices: Vec<Vec<u32>>,
    values: Vec<f32>,
) -> Result<Offsets, Error> {
    let modes = grown.iter().zip(&offsets.rows);
    let rows = modes.map(|(grown, rows)| grown.spread(rows, 1, &[0.0])).collect();
    let is_new = |grown: &ExtendedMode| grown.before.iter().map(Option::is_none).collect();
    let entries = Entries::from_rows("the new entries".into(), indices, values);
    offsets::grow(offsets, rows, grown.iter().map(is_new).collect(), entries)
}
