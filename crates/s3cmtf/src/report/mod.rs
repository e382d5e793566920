//! A run and what its model says, as one page to read.
//!
//! [`Report::new`] gathers plain data, [`render`] makes a page of them. Numbers are those of the record, of the model and of
//! `discovery`; only what nobody else has is worked out here: how predictions err, and an example of recommendations.

mod core;
mod groups;
mod recommend;
mod render;
mod residuals;
mod run;
mod sampled;
mod summary;

pub use self::core::{CoreConcept, CoreMap, CoreMode, TopInteraction};
pub use groups::{Cards, Groups, MapPoint};
pub use recommend::{Person, Recommendations};
pub use render::render;
pub use residuals::{Level, Of, Residuals};
pub use run::{Course, Settings, Step};
pub use summary::{Bar, DataSummary, MatrixSummary, ModeSummary, Spread};

use serde::Serialize;

use crate::discovery::{concepts, is_readable};
use crate::table::Binning;
use crate::table::time::Bin;
use crate::{Entries, Error, Likelihood, Mode, Model, Problem, Record};

/// Concepts are not turned beyond so many of a mode: it would take minutes, and nobody would read them.
const MOST_RANK: usize = 256;
/// How many of the strongest of anything are listed.
const TOP: usize = 6;
/// Times beyond this many are shown together.
const MOST_TIMES: usize = 60;
/// No name is shown beyond so many characters.
const LONGEST: usize = 90;

/// What the page is called, and what else only the caller knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The heading.
    pub title: String,
    /// The command line that does the run again.
    pub command: String,
}

/// What is known besides the model. What is about single entries is left out where there are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// What the model was trained on, with the entries that were held out, if any were.
    pub data: Option<&'a Problem>,
    /// Entries that it was not trained on, by ids.
    pub test: Option<&'a Entries>,
}

/// Something that is shown, or one line that says why not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section<T> {
    /// What is shown.
    Shown(T),
    /// Why it is not.
    Absent(String),
}

impl<T> Section<T> {
    /// What is shown, if it is.
    pub fn shown(&self) -> Option<&T> {
        match self {
            Section::Shown(shown) => Some(shown),
            Section::Absent(_) => None,
        }
    }
}

/// All that the page shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The heading.
    pub title: String,
    /// What the values are called.
    pub value: String,
    /// What factors and core add up to: the value itself, or where the likelihood is not Gaussian, what its mean is of.
    pub linear: String,
    /// The data in numbers.
    pub glance: DataSummary,
    /// The errors over the epochs.
    pub course: Course,
    /// How predictions err.
    pub residuals: Section<Residuals>,
    /// Which concepts go together.
    pub core: Section<CoreMap>,
    /// What the concepts are.
    pub cards: Section<Cards>,
    /// The clusters of each mode.
    pub groups: Section<Vec<Groups>>,
    /// What would be recommended to some.
    pub recommendations: Section<Recommendations>,
    /// How the run can be done again.
    pub settings: Settings,
}

/// What the linear predictor of a likelihood is, given what values are called.
fn linear(likelihood: Likelihood, value: &str) -> String {
    match likelihood {
        Likelihood::Gaussian => value.to_owned(),
        Likelihood::Logistic => format!("log-odds of {value}"),
        Likelihood::Counts => format!("logarithm of the expected {value}"),
    }
}

impl Report {
    /// Gathers the report of a run.
    ///
    /// # Errors
    /// If the data or the test entries have other modes than the model.
    pub fn new(model: &Model, record: &Record, known: Known<'_>, options: &Options) -> Result<Self, Error> {
        let data = known.data;
        if let Some(data) = data
            && data.order() != model.modes().len()
        {
            let (own, other) = (model.modes().len(), data.order());
            return Err(Error::Problem(format!("the data have {other} modes, but the model has {own}")));
        }
        // What entities have is described by the rows of the data, which must be those of the model.
        let same = data.filter(|data| data.modes() == model.modes());
        let (core, cards, groups) = concepts_and_groups(model, same, record.params.seed)?;
        let residuals = match Residuals::new(model, record, known)? {
            Some(residuals) => Section::Shown(residuals),
            None => no_data("how single predictions err"),
        };
        let recommendations = match data {
            None => no_data("what is new to whom"),
            Some(data) => recommend::recommendations(model, data)?,
        };
        Ok(Report {
            title: cut(&options.title),
            value: cut(model.value().unwrap_or("value")),
            linear: linear(model.likelihood(), &cut(model.value().unwrap_or("value"))),
            glance: DataSummary::new(model, record, data),
            course: Course::new(record),
            residuals,
            core,
            cards,
            groups,
            recommendations,
            settings: Settings::new(record, options),
        })
    }
}

/// Which concepts go together, what they are, and clusters.
type OfEntities = (Section<CoreMap>, Section<Cards>, Section<Vec<Groups>>);

/// What the model says of entities alone.
fn concepts_and_groups(model: &Model, data: Option<&Problem>, seed: u64) -> Result<OfEntities, Error> {
    let ranks = model.core().ranks(model.modes().len());
    if let Some(rank) = ranks.iter().find(|&&rank| rank > MOST_RANK) {
        let why = format!("There are {rank} concepts, more than can be read: a lower rank tells more.");
        return Ok((Section::Absent(why.clone()), Section::Absent(why.clone()), Section::Absent(why)));
    }
    let found = concepts(model, data, TOP)?;
    let groups = groups::groups(model, data, seed)?;
    let core = match () {
        () if !is_readable(model) => {
            let size = ranks.iter().map(|&rank| rank as f64).product::<f64>();
            let why = format!("The core has {size} numbers, more than can be read: a lower rank tells more.");
            Section::Absent(why)
        }
        () if found.concepts.is_empty() => no_concepts(),
        () => Section::Shown(CoreMap::new(model, &found)),
    };
    let cards = match found.concepts.is_empty() {
        true => no_concepts(),
        false => Section::Shown(Cards::new(model, found.concepts)),
    };
    let groups = match groups.is_empty() {
        true => Section::Absent("No mode has enough entities to fall into clusters.".into()),
        false => Section::Shown(groups),
    };
    Ok((core, cards, groups))
}

fn no_concepts<T>() -> Section<T> {
    Section::Absent("The model treats all entities alike: there are no concepts in it.".into())
}

fn no_data<T>(what: &str) -> Section<T> {
    Section::Absent(format!("The training data are not saved with the model, so {what} is unknown."))
}

/// A name as it is shown.
fn cut(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// What the entity on a row is called.
fn label(mode: &Mode, row: usize) -> String {
    cut(&mode.label(mode.id(row)))
}

/// What the times of a mode are put together by, if it is one of times.
fn time_bin(mode: &Mode) -> Option<Bin> {
    match mode.naming()?.binning {
        Some(Binning::Time(bin)) => Some(bin),
        _ => None,
    }
}

/// How many rows of a mode of times are shown together, and what these are called.
fn times(mode: &Mode) -> (usize, Vec<String>) {
    let names: Vec<String> = (0..mode.rows()).map(|row| label(mode, row)).collect();
    let together = names.len().div_ceil(MOST_TIMES).max(1);
    (together, (0..names.len()).step_by(together).map(|first| span(&names, first, together)).collect())
}

/// What the place among `names` where some that are shown together begin is called.
fn span(names: &[String], first: usize, together: usize) -> String {
    match &names[first..(first + together).min(names.len())] {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

#[cfg(test)]
mod tests;
