//! What to recommend: the entities of a mode with the highest predictions for one of another.

use serde::Serialize;

use super::best::{Best, Open, Panels, Search, Second, best};
use super::known::{self, Seen};
use super::variance::PredictiveVariance;
use crate::model::{Choice, Core};
use crate::parallel;
use crate::table::did_you_mean;
use crate::{Absent, Error, Model, Problem};

/// Recommends entities of one mode (items) to those of another.
pub struct Recommender<'a> {
    pub(super) model: &'a Model,
    pub(super) by: usize,
    pub(super) items: usize,
    pub(super) others: Vec<Other>,
    /// What is left of the core: a row per concept of `by`.
    weights: Vec<f32>,
    panels: Panels,
    doubt: Option<PredictiveVariance<'a>>,
    choice: Option<(RankBy, &'a Choice, Panels)>,
    seen: Option<Seen>,
    allowed: Option<Vec<bool>>,
}

/// What items are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RankBy {
    /// Their predicted value.
    Rating,
    /// How likely they are chosen.
    Choice,
    /// Both: how likely they are chosen, times how far their predicted value is above the lowest there is.
    Both,
}

impl RankBy {
    /// All of them.
    pub const ALL: [RankBy; 3] = [RankBy::Rating, RankBy::Choice, RankBy::Both];

    /// Its name in the command.
    pub fn name(self) -> &'static str {
        match self {
            RankBy::Rating => "rating",
            RankBy::Choice => "choice",
            RankBy::Both => "both",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let names = RankBy::ALL.map(RankBy::name);
        RankBy::ALL.into_iter().find(|by| by.name() == name).ok_or_else(|| {
            let hint = did_you_mean(names, name);
            Error::param("by", names.join(", "), format!("{name}{hint}"))
        })
    }
}

/// What stands for a mode that is neither that of the items nor that of those they are recommended to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Other {
    /// The mode.
    pub mode: String,
    /// The entity; none is the average one.
    pub name: Option<String>,
    /// Whether it was asked for.
    #[serde(skip)]
    pub(super) given: bool,
    #[serde(skip)]
    pub(super) place: usize,
    #[serde(skip)]
    pub(super) row: Vec<f64>,
}

impl<'a> Recommender<'a> {
    /// Recommends entities of mode `items` to those of mode `by`. `at` says for other modes which entity stands for them, by
    /// its id. Where it does not, that is the average one.
    ///
    /// # Errors
    /// If there is no such mode, a mode is there twice, or the model has no row for an id.
    pub fn new(model: &'a Model, by: usize, items: usize, at: &[(usize, u32)]) -> Result<Self, Error> {
        known::check_mode(model, by)?;
        known::check_mode(model, items)?;
        if by == items {
            let name = model.modes()[by].name();
            return Err(Error::param("mode", format!("another one than {name}"), name));
        }
        let mut rows: Vec<Option<usize>> = vec![None; model.modes().len()];
        for &(mode, id) in at {
            known::check_mode(model, mode)?;
            let known = &model.modes()[mode];
            if mode == by || mode == items || rows[mode].is_some() {
                return Err(Error::param("at", "one entity of a mode that is left over", known.name()));
            }
            rows[mode] = Some(row_of(model, mode, id)?);
        }
        let others: Vec<Other> = (0..rows.len())
            .filter(|&mode| mode != by && mode != items)
            .map(|mode| {
                let (known, factor) = (&model.modes()[mode], &model.factors()[mode]);
                let row = rows[mode];
                let values = row.map_or_else(|| factor.average(), |row| factor.row(row).to_vec());
                Other {
                    mode: known.name().to_owned(),
                    name: row.map(|row| known.label(known.id(row)).into_owned()),
                    given: row.is_some(),
                    place: mode,
                    row: values.into_iter().map(f64::from).collect(),
                }
            })
            .collect();
        let factor = &model.factors()[items];
        Ok(Recommender {
            weights: weights(model, by, items, &others),
            panels: Panels::new(factor.rank(), factor.values()),
            model,
            by,
            items,
            others,
            doubt: None,
            choice: None,
            seen: None,
            allowed: None,
        })
    }

    /// Ranks items by their prediction less so many standard deviations of what the model does not know of it, so that an item
    /// of which it knows little does not come first for one lucky value. What scatters by itself is not taken off.
    ///
    /// # Errors
    /// If it is below 0 or no number, or the model does not know how well it knows its rows.
    pub fn cautious(mut self, caution: f32) -> Result<Self, Error> {
        if !(caution.is_finite() && caution >= 0.0) {
            return Err(Error::param("caution", "a number, 0 or more", caution));
        }
        if caution == 0.0 {
            self.doubt = None;
            return Ok(self);
        }
        let Some(uncertainty) = self.model.uncertainty() else {
            return Err(Error::Problem(
                "the model does not know how well it knows its rows, which caution needs; those that bayes fits and that \
                 are not made orthogonal do"
                    .into(),
            ));
        };
        let factor = &self.model.factors()[self.items];
        self.doubt =
            Some(PredictiveVariance::new(uncertainty, (self.by, self.items), factor, &self.weights, caution));
        Ok(self)
    }

    /// Ranks items by what is asked for; where nothing is, by both, if the model knows what people choose, these are the modes of
    /// which it does and there is no caution, else by the predicted value. Where all values are the same, as those of choices
    /// are, they tell no item from another: what is left of both is the choice.
    ///
    /// # Errors
    /// If the model does not know it, or there is caution, which is about predicted values alone.
    pub fn ranked_by(mut self, by: Option<RankBy>) -> Result<Self, Error> {
        let known = self.model.choice().filter(|_| [self.by, self.items] == Choice::MODES);
        let usual = if known.is_some() && self.doubt.is_none() { RankBy::Both } else { RankBy::Rating };
        let [lowest, highest] = self.model.range();
        let by = match by.unwrap_or(usual) {
            RankBy::Both if known.is_some() && lowest == highest => RankBy::Choice,
            by => by,
        };
        self.choice = None;
        if by == RankBy::Rating {
            return Ok(self);
        }
        if self.doubt.is_some() {
            return Err(Error::param("by", "rating when there is caution", by.name()));
        }
        let Some(choice) = known else {
            return Err(Error::Problem(format!(
                "the model does not know what is chosen, which ranking by {} needs: models of bayes do, for the first mode and the \
                 second, unless nearly all cells have a value",
                by.name()
            )));
        };
        let items = &choice.factors()[1];
        self.choice = Some((by, choice, Panels::new(items.rank(), items.values())));
        Ok(self)
    }

    /// What items are ranked by.
    pub fn rank_by(&self) -> RankBy {
        self.choice.as_ref().map_or(RankBy::Rating, |(by, ..)| *by)
    }

    /// Leaves out what the data, which the model was trained on, have observed already.
    ///
    /// # Errors
    /// If the data have other modes.
    pub fn without_seen(mut self, data: &Problem) -> Result<Self, Error> {
        self.seen = Some(Seen::new(self.model, data, self.by, self.items)?);
        Ok(self)
    }

    /// Leaves out items that do not have a column in a matrix that is coupled to them. `matrix` is its name, the part of it
    /// behind the mode's, or the heading of its columns.
    ///
    /// # Errors
    /// If the data have other modes, or there is no such matrix or column.
    pub fn having(self, data: &Problem, matrix: &str, column: &str) -> Result<Self, Error> {
        self.having_any(data, matrix, &[column])
    }

    /// The same with several columns, of which an item has one or more.
    ///
    /// # Errors
    /// As [`Recommender::having`].
    pub fn having_any(mut self, data: &Problem, matrix: &str, columns: &[&str]) -> Result<Self, Error> {
        known::check(self.model, data)?;
        let coupled = || {
            data.coupled()
                .iter()
                .filter(|coupled| coupled.mode() == self.items && coupled.kind() != Absent::Graph)
        };
        let short = |name: &'_ str| name.split_once('/').map_or(name, |(_, short)| short).to_owned();
        let goes_by = |coupled: &&crate::Coupled| {
            let heading = coupled.columns().naming().map(|naming| naming.column.as_str());
            coupled.name() == matrix || short(coupled.name()) == matrix || heading == Some(matrix)
        };
        let found: Vec<_> = coupled().filter(goes_by).collect();
        if found.is_empty() {
            let names: Vec<String> = coupled().map(|coupled| short(coupled.name())).collect();
            let mode = self.model.modes()[self.items].name();
            if names.is_empty() {
                let what = format!("no matrix is coupled to {mode}, so that there is none to choose by");
                return Err(Error::Problem(what));
            }
            let hint = did_you_mean(names.iter().map(String::as_str), matrix);
            let expected =
                format!("a matrix that is coupled to {mode} ({}) and its column", names.join(", "));
            return Err(Error::param("where", expected, format!("{matrix}{hint}")));
        }
        let rows = known::rows(self.model, data, self.items);
        let mut has = vec![false; self.model.modes()[self.items].rows()];
        for column in columns {
            let row_of = |coupled: &crate::Coupled| coupled.columns().row(coupled.columns().find(column)?);
            let place = found.iter().find_map(|coupled| row_of(coupled).map(|row| (coupled.entries(), row)));
            let Some((entries, wanted)) = place else {
                let names = found.iter().filter_map(|coupled| coupled.columns().naming());
                let hint = did_you_mean(names.flat_map(|naming| naming.labels.iter()), column);
                return Err(Error::param(
                    "where",
                    format!("a column of {matrix}"),
                    format!("{column}{hint}"),
                ));
            };
            for (place, &value) in entries.values().iter().enumerate() {
                if entries.indices(1)[place] == wanted && value > 0.0 {
                    let row = rows.get(entries.indices(0)[place] as usize);
                    if let Some(has) = row.and_then(|&row| has.get_mut(row as usize)) {
                        *has = true;
                    }
                }
            }
        }
        if let Some(before) = &self.allowed {
            has.iter_mut().zip(before).for_each(|(has, before)| *has &= before);
        }
        self.allowed = Some(has);
        Ok(self)
    }

    /// What stands for the modes that are left over.
    pub fn others(&self) -> &[Other] {
        &self.others
    }

    /// How many distinct items are left out for a row because they were seen.
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn seen(&self, row: u32) -> usize {
        let seen = self.seen.as_ref().map_or(&[][..], |seen| seen.with(row as usize));
        seen.chunk_by(|a, b| a == b).count()
    }

    /// What was seen, if that is left out.
    pub(super) fn all_seen(&self) -> Option<&Seen> {
        self.seen.as_ref()
    }

    /// Whether an item was seen by a row; never where what was seen is not left out.
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn has_seen(&self, row: u32, item: u32) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.with(row as usize).binary_search(&item).is_ok())
    }

    /// The `top` best items for each of the given rows, the best first, equal ones in their order. Predictions are as they
    /// are: they may lie beyond the observed range.
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn best(&self, rows: &[u32], top: usize) -> Vec<Vec<Best>> {
        let count = self.model.modes()[self.by].rows();
        assert!(rows.iter().all(|&row| (row as usize) < count), "a row of {count}");
        let open = Open { seen: self.seen.as_ref(), allowed: self.allowed.as_deref() };
        let values = Search { panels: &self.panels, query: |row, query: &mut [f32]| self.query(row, query) };
        let rank = self.model.factors()[self.items].rank();
        let variances = self.doubt.as_ref().map(|doubt| {
            let query = move |row: u32, to: &mut [f32]| {
                let mut query = vec![0.0; rank];
                self.query(row, &mut query);
                doubt.query(row, &query, to);
            };
            (doubt.caution, Search { panels: &doubt.panels, query })
        });
        if let Some((by, choice, panels)) = &self.choice {
            let how = if *by == RankBy::Choice {
                Second::Score
            } else {
                Second::Times(self.model.likelihood(), self.model.range()[0])
            };
            let query = |row: u32, to: &mut [f32]| to.copy_from_slice(choice.factors()[0].row(row as usize));
            return best(rows, top, open, &values, Some((how, &Search { panels, query })));
        }
        let variances = variances.as_ref().map(|(caution, search)| (Second::Variance(*caution), search));
        best(rows, top, open, &values, variances)
    }

    /// What an item's row is multiplied with for a prediction.
    fn query(&self, row: u32, query: &mut [f32]) {
        self.query_of(self.model.factors()[self.by].row(row as usize), query);
    }

    /// The same for any row.
    pub(super) fn query_of(&self, row: &[f32], query: &mut [f32]) {
        query.fill(0.0);
        for (&number, weights) in row.iter().zip(self.weights.chunks_exact(query.len())) {
            query.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += number * weight);
        }
    }

    /// The predicted value of every item for a row, seen or not.
    pub fn predictions(&self, row: u32) -> Vec<f32> {
        let factor = &self.model.factors()[self.items];
        let mut query = vec![0.0; factor.rank()];
        self.query(row, &mut query);
        let dot = |item: &[f32]| item.iter().zip(&query).map(|(a, b)| a * b).sum();
        parallel::numbers(factor.rows(), |item| dot(factor.row(item)))
    }
}

/// The row of an id.
pub(super) fn row_of(model: &Model, mode: usize, id: u32) -> Result<usize, Error> {
    let known = &model.modes()[mode];
    let row = known.row(id).filter(|_| id < known.size());
    row.map(|row| row as usize).ok_or_else(|| {
        let label = if id < known.size() { known.label(id) } else { (u64::from(id) + 1).to_string().into() };
        Error::Problem(format!("the model has no row for {} {label}", known.name()))
    })
}

/// The core along the rows of all other modes: a row per concept of `by`, a column per concept of `items`.
fn weights(model: &Model, by: usize, items: usize, others: &[Other]) -> Vec<f32> {
    let ranks = [by, items].map(|mode| model.factors()[mode].rank());
    let mut core = match model.core() {
        Core::Full { .. } => model.core().clone(),
        // Written out it could be larger than memory, and all but its diagonal would be for nothing.
        Core::Diagonal(values) => {
            let mut weights = vec![0.0; ranks[0] * ranks[1]];
            for (j, &value) in values.iter().enumerate() {
                let product: f64 = others.iter().map(|other| other.row[j]).product();
                weights[j * ranks[1] + j] = (f64::from(value) * product) as f32;
            }
            return weights;
        }
    };
    others.iter().for_each(|other| core.multiply(other.place, 1, &other.row));
    let values = core.values();
    let place = |i: usize, j: usize| if by < items { i * ranks[1] + j } else { j * ranks[0] + i };
    (0..ranks[0] * ranks[1]).map(|cell| values[place(cell / ranks[1], cell % ranks[1])]).collect()
}
