//! Why something is recommended: what the concepts of items are worth to an entity.
//!
//! The paper's process (its section on personalised recommendation) multiplies the core by a user's row: what is left says
//! how strong each concept of the other modes is for this user. Here that is done with the concepts that can be read (see
//! `basis.rs`), and the same numbers say which concept a recommendation is owed to.

use rayon::prelude::*;
use serde::Serialize;

use super::basis::ModeBasis;
use super::best::Best;
use super::concepts::{Concept, along, concepts_of, letters, spelled, time_mode};
use super::matrix::Moments;
use super::recommend::Recommender;
use super::{Scored, largest};
use crate::{Core, CoupledFactor, Error, MAX_CORE};

/// The concepts of the items, and what they are worth to each.
pub struct Reasons<'a> {
    recommender: &'a Recommender<'a>,
    basis: ModeBasis,
    concepts: Vec<Concept>,
    /// How much the average item has of each concept.
    means: Vec<f64>,
    /// What is said of items, matrix by matrix.
    sayings: Vec<Saying<'a>>,
}

/// The columns of a matrix that is coupled to the items.
struct Saying<'a> {
    matrix: &'a CoupledFactor,
    /// For each concept how columns go with it.
    correlations: Vec<Vec<f64>>,
    /// The mean and the standard deviation of each column's predicted cells.
    cells: Vec<(f64, f64)>,
}

/// What a concept is worth to an entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worth {
    /// How strong the concept is for it, which is not how strong it is in all: the root mean square of what 1 of the concept
    /// (which is usual) adds to predictions, over all rows of the modes that are left over, or with those that were asked for.
    pub own_strength: f64,
    /// What 1 of the concept adds to a prediction, with what stands for the other modes; below 0 the fewer the better.
    pub adds: f64,
    /// What it adds for the average entity.
    pub usual: f64,
    /// The concept; its times are what 1 of it adds to predictions of this entity then.
    #[serde(flatten)]
    pub concept: Concept,
}

/// Why an item is predicted a higher value than the average one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reason {
    /// The place of the concept among [`Reasons::concepts`]: the one that adds most, but for the level, which is what
    /// everybody likes, unless that is nearly all there is.
    pub concept: usize,
    /// Whether it is that the item has little of it, or its opposite.
    pub little: bool,
    /// How much it adds.
    pub adds: f64,
    /// How much the level adds; 0 where the items' concepts have none.
    pub overall: f64,
    /// The row of the item.
    pub item: u32,
}

/// A concept that adds less than this part of what the level adds is no reason.
const LEAST: f64 = 0.05;

impl<'a> Reasons<'a> {
    /// The reasons of a recommender, with `top` entities and columns of each concept.
    ///
    /// # Errors
    /// If the core is diagonal and too large to be written out.
    pub fn new(recommender: &'a Recommender<'a>, top: usize) -> Result<Self, Error> {
        let (model, items) = (recommender.model, recommender.items);
        if let Core::Diagonal(values) = model.core() {
            let order = model.modes().len() as u32;
            let size = values.len().checked_pow(order).filter(|&size| size <= MAX_CORE);
            size.ok_or_else(|| {
                let rank = values.len();
                Error::Problem(format!("a diagonal core of rank {rank} is too large to be read by concepts"))
            })?;
        }
        let basis = ModeBasis::of(model, items);
        let concepts = concepts_of(model, &basis, items, &letters(model)[items], top);
        let mut means = vec![0.0; basis.concepts];
        if basis.concepts > 0 {
            for scores in basis.scores.chunks_exact(basis.concepts) {
                means.iter_mut().zip(scores).for_each(|(sum, &score)| *sum += f64::from(score));
            }
        }
        let rows = model.factors()[items].rows().max(1) as f64;
        means.iter_mut().for_each(|mean| *mean /= rows);
        let coupled =
            model.coupled().iter().filter(|matrix| matrix.mode == items && matrix.factor.rows() > 0);
        let sayings = coupled.map(|matrix| Saying::of(matrix, &basis)).collect();
        Ok(Reasons { recommender, basis, concepts, means, sayings })
    }

    /// The concepts of the items, the strongest first.
    pub fn concepts(&self) -> &[Concept] {
        &self.concepts
    }

    /// What each concept of the items is worth to a row, the strongest for it first.
    pub fn profile(&self, row: u32) -> Vec<Worth> {
        let Recommender { model, by, items, others, .. } = self.recommender;
        let to_f64 = |row: &[f32]| row.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
        let mut core = model.core().to_full(model.modes().len());
        core.multiply(*by, 1, &to_f64(model.factors()[*by].row(row as usize)));
        others.iter().filter(|other| other.given).for_each(|other| core.multiply(other.place, 1, &other.row));
        let mut weighted = core.clone();
        for other in others.iter().filter(|other| !other.given) {
            let factor = &model.factors()[other.place];
            weighted.multiply(other.place, factor.rank(), &Moments::of(factor).second);
        }
        let adds = self.adds(model.factors()[*by].row(row as usize));
        let usual = self.adds(&model.factors()[*by].average());
        let worth = |(place, concept): (usize, &Concept)| {
            let [mut a, mut b] = [core.clone(), weighted.clone()];
            a.multiply(*items, 1, self.basis.direction(place));
            b.multiply(*items, 1, self.basis.direction(place));
            let square: f64 =
                a.values().iter().zip(b.values()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let concept = Concept { times: self.times(row, place), ..concept.clone() };
            Worth { own_strength: square.max(0.0).sqrt(), adds: adds[place], usual: usual[place], concept }
        };
        let mut all: Vec<Worth> = self.concepts.iter().enumerate().map(worth).collect();
        all.sort_by(|a, b| b.own_strength.total_cmp(&a.own_strength));
        all
    }

    /// What 1 of a concept adds to a row's predictions at each time, if there is a mode of times and none was asked for.
    fn times(&self, row: u32, concept: usize) -> Option<Vec<Scored>> {
        let Recommender { model, by, items, others, .. } = self.recommender;
        let time = time_mode(model)?;
        let other = others.iter().find(|other| other.place == time && !other.given)?;
        let mut core = model.core().to_full(model.modes().len());
        let own: Vec<f64> =
            model.factors()[*by].row(row as usize).iter().map(|&value| f64::from(value)).collect();
        core.multiply(*by, 1, &own);
        core.multiply(*items, 1, self.basis.direction(concept));
        let rest = others.iter().filter(|rest| rest.place != other.place);
        rest.for_each(|rest| core.multiply(rest.place, 1, &rest.row));
        let (known, factor) = (&model.modes()[time], &model.factors()[time]);
        let at = |row: usize| {
            let products = factor.row(row).iter().zip(core.values());
            let score = products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            Scored { name: known.label(known.id(row)).into_owned(), score }
        };
        Some((0..factor.rows()).map(at).collect())
    }

    /// What 1 of each concept adds to predictions with such a row.
    fn adds(&self, row: &[f32]) -> Vec<f64> {
        let mut query = vec![0.0; self.recommender.model.factors()[self.recommender.items].rank()];
        self.recommender.query_of(row, &mut query);
        let dot = |direction: &[f64]| direction.iter().zip(&query).map(|(a, &b)| a * f64::from(b)).sum();
        (0..self.basis.concepts).map(|concept| dot(self.basis.direction(concept))).collect()
    }

    /// For each of the best items of each row the concept that adds most to its prediction over the average item's; none
    /// where no concept adds anything.
    pub fn of(&self, rows: &[u32], best: &[Vec<Best>]) -> Vec<Vec<Option<Reason>>> {
        let of_row = |(&row, best): (&u32, &Vec<Best>)| {
            let Recommender { model, by, .. } = self.recommender;
            let adds = self.adds(model.factors()[*by].row(row as usize));
            best.iter().map(|best| self.reason(&adds, best.row as usize)).collect()
        };
        rows.par_iter().zip(best).map(of_row).collect()
    }

    fn reason(&self, adds: &[f64], item: usize) -> Option<Reason> {
        let part = |concept: usize| {
            let over = f64::from(self.basis.score(item, concept)) - self.means[concept];
            (over, over * adds[concept])
        };
        let overall = self.basis.level.map_or(0.0, |level| part(level).1);
        let reason = |concept: usize| {
            let (over, adds) = part(concept);
            Reason { concept, little: over < 0.0, adds, overall, item: item as u32 }
        };
        let tastes = (0..adds.len()).filter(|&concept| self.basis.level != Some(concept)).map(reason);
        let most = tastes.max_by(|a, b| a.adds.total_cmp(&b.adds).then(b.concept.cmp(&a.concept)));
        let most = most.filter(|most| most.adds > (LEAST * overall).max(0.0));
        most.or_else(|| self.basis.level.filter(|_| overall > 0.0).map(reason))
    }

    /// A reason in a few words: `B4: spa & health, Arizona`, or `-B4: pizza, Ohio` for its opposite.
    pub fn words(&self, reason: &Reason) -> String {
        let concept = &self.concepts[reason.concept];
        let sign = match (reason.little, concept.weakest.is_empty()) {
            (false, _) => "",
            (true, false) => "-",
            (true, true) => "little of ",
        };
        format!("{sign}{}: {}", concept.name, self.about(reason))
    }

    /// The words of many reasons, one after the other; none where there is no reason.
    pub fn words_of(&self, reasons: &[Vec<Option<Reason>>]) -> Vec<String> {
        let words =
            |reason: &Option<Reason>| reason.as_ref().map_or(String::new(), |reason| self.words(reason));
        reasons.par_iter().flat_map_iter(|reasons| reasons.iter().map(words)).collect()
    }

    /// What the item and that end of the concept have in common: of each matrix the column that goes with both; where there
    /// is none, what the end is about.
    pub fn about(&self, reason: &Reason) -> String {
        let concept = &self.concepts[reason.concept];
        // Without an opposite, having little of something is not having anything else.
        let has_end = !reason.little || !concept.weakest.is_empty();
        let own = |saying: &Saying<'_>| saying.common(self.recommender, reason);
        let words: Vec<String> = match concept.level || !has_end {
            true => Vec::new(),
            false => self.sayings.iter().filter_map(own).collect(),
        };
        match (words.is_empty(), reason.little && has_end) {
            (false, _) => words.join(", "),
            (true, true) => opposite(concept),
            (true, false) => about(concept),
        }
    }
}

impl<'a> Saying<'a> {
    fn of(matrix: &'a CoupledFactor, basis: &ModeBasis) -> Self {
        let covariance = basis.moments.covariance();
        let rank = matrix.factor.rank();
        let cell = |column: &[f32]| {
            let column: Vec<f64> = column.iter().map(|&value| f64::from(value)).collect();
            let mean = column.iter().zip(&basis.moments.mean).map(|(a, b)| a * b).sum();
            let product = |place: usize| covariance[place] * column[place / rank] * column[place % rank];
            (mean, (0..rank * rank).map(product).sum::<f64>().max(0.0).sqrt())
        };
        Saying {
            matrix,
            correlations: (0..basis.concepts).map(|concept| along(matrix, basis, concept)).collect(),
            cells: matrix.factor.values().chunks_exact(rank).map(cell).collect(),
        }
    }

    /// The column that goes with the end of the concept and with the item, if any does.
    fn common(&self, recommender: &Recommender<'_>, reason: &Reason) -> Option<String> {
        let item = recommender.model.factors()[recommender.items].row(reason.item as usize);
        let sign = if reason.little { -1.0 } else { 1.0 };
        let score = |column: usize| {
            let row = self.matrix.factor.row(column);
            let predicted: f64 = row.iter().zip(item).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let (mean, scatter) = self.cells[column];
            let over = (predicted - mean) / scatter.max(f64::MIN_POSITIVE);
            (sign * self.correlations[reason.concept][column]).max(0.0) * over.max(0.0)
        };
        let best = largest((0..self.cells.len()).map(score), 1).pop().filter(|(_, score)| *score > 0.0);
        let label = |column| self.matrix.columns.label(self.matrix.columns.id(column)).into_owned();
        best.map(|(column, _)| spelled(self.matrix, label(column)))
    }
}

/// A concept in a few words.
pub fn about(concept: &Concept) -> String {
    in_words(&concept.about, &concept.strongest)
}

/// The opposite of a concept in a few words; none if it has no opposite.
pub fn opposite(concept: &Concept) -> String {
    if concept.weakest.is_empty() { String::new() } else { in_words(&concept.opposite, &concept.weakest) }
}

fn in_words(columns: &str, entities: &[Scored]) -> String {
    if !columns.is_empty() {
        return columns.to_owned();
    }
    let names: Vec<&str> = entities.iter().take(2).map(|one| one.name.as_str()).collect();
    format!("as {}", names.join(", "))
}
