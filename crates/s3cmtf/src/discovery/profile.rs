//! Why something is recommended: what the concepts of items are worth to an entity.
//!
//! The paper's process (its section on personalised recommendation) multiplies the core by a user's row: what is left says
//! how strong each concept of the other modes is for this user. Here that is done with the concepts that can be read (see
//! `basis.rs`), and the same numbers say which concept a recommendation is owed to.

use serde::Serialize;

use super::basis::ModeBasis;
use super::best::Best;
use super::concepts::{Concept, concepts_of, few_words, letters, time_mode};
use super::matrix::{Along, Moments, quadratic, sensitivity, weights};
use super::observed::{Observed, ObservedMatrix};
use super::recommend::Recommender;
use super::{Scored, known};
use crate::model::Core;
use crate::parallel;
use crate::{Error, Model, Problem};

/// The concepts of the items, and what they are worth to each.
pub struct Reasons<'a> {
    recommender: &'a Recommender<'a>,
    basis: ModeBasis,
    concepts: Vec<Concept>,
    /// How much the average item has of each concept.
    means: Vec<f64>,
    /// What items were observed to have, if the data are known.
    observed: Option<Observed>,
    /// For each concept and matrix how what items have goes with it.
    correlations: Vec<Vec<Vec<f64>>>,
}

/// What a concept is worth to an entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConceptEffect {
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
#[non_exhaustive]
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
    /// The reasons of a recommender, with `top` entities and columns of each concept. `data`, which the model was trained on,
    /// say what items have; without them reasons are other items.
    ///
    /// # Errors
    /// If the data have other modes than the model.
    pub fn new(recommender: &'a Recommender<'a>, data: Option<&Problem>, top: usize) -> Result<Self, Error> {
        let (model, items) = (recommender.model, recommender.items);
        if let Some(data) = data {
            known::check(model, data)?;
        }
        let basis = ModeBasis::new(model, items);
        let observed = data.map(|data| Observed::new(model, data, items));
        let concepts = concepts_of(model, &basis, items, observed.as_ref(), &letters(model)[items], top);
        let mut means = vec![0.0; basis.concepts];
        if basis.concepts > 0 {
            for scores in basis.scores.chunks_exact(basis.concepts) {
                means.iter_mut().zip(scores).for_each(|(sum, &score)| *sum += f64::from(score));
            }
        }
        let rows = model.factors()[items].rows().max(1) as f64;
        means.iter_mut().for_each(|mean| *mean /= rows);
        let of_concept = |concept: usize| {
            let matrices = observed.iter().flat_map(|observed| &observed.matrices);
            let score = |row: usize| f64::from(basis.score(row, concept));
            matrices.map(|matrix| matrix.correlations(score)).collect()
        };
        let correlations = (0..basis.concepts).map(of_concept).collect();
        Ok(Reasons { recommender, basis, concepts, means, observed, correlations })
    }

    /// The concepts of the items, the strongest first.
    pub fn concepts(&self) -> &[Concept] {
        &self.concepts
    }

    /// What each concept of the items is worth to a row, the strongest for it first.
    pub fn profile(&self, row: u32) -> Vec<ConceptEffect> {
        let Recommender { model, by, items, others, .. } = self.recommender;
        let own: Vec<f64> =
            model.factors()[*by].row(row as usize).iter().map(|&value| f64::from(value)).collect();
        let moments: Vec<Moments> =
            others.iter().map(|other| Moments::new(&model.factors()[other.place])).collect();
        let along = |mode: usize| {
            let other = others.iter().zip(&moments).find(|(other, _)| other.place == mode);
            other.map_or(Along::Row(&own), |(other, moments)| match other.given {
                true => Along::Row(&other.row),
                false => Along::All(&moments.second),
            })
        };
        let squares = sensitivity(model.core(), model.modes().len(), *items, along);
        let adds = self.adds(model.factors()[*by].row(row as usize));
        let usual = self.adds(&model.factors()[*by].average());
        let worth = |(place, concept): (usize, &Concept)| {
            let square = quadratic(&squares, self.basis.direction(place));
            let concept = Concept { times: self.times(row, place), ..concept.clone() };
            ConceptEffect {
                own_strength: square.max(0.0).sqrt(),
                adds: adds[place],
                usual: usual[place],
                concept,
            }
        };
        let mut all: Vec<ConceptEffect> = self.concepts.iter().enumerate().map(worth).collect();
        all.sort_by(|a, b| b.own_strength.total_cmp(&a.own_strength));
        all
    }

    /// What 1 of a concept adds to a row's predictions at each time, if there is a mode of times and none was asked for.
    fn times(&self, row: u32, concept: usize) -> Option<Vec<Scored>> {
        let Recommender { model, by, items, others, .. } = self.recommender;
        let time = time_mode(model)?;
        others.iter().find(|other| other.place == time && !other.given)?;
        let own: Vec<f64> =
            model.factors()[*by].row(row as usize).iter().map(|&value| f64::from(value)).collect();
        let row_of = |mode: usize| match others.iter().find(|rest| rest.place == mode) {
            Some(rest) => &rest.row[..],
            None if mode == *items => self.basis.direction(concept),
            None => &own,
        };
        let weights = weights(model.core(), model.modes().len(), time, row_of);
        let (known, factor) = (&model.modes()[time], &model.factors()[time]);
        let at = |row: usize| {
            let score = factor.row(row).iter().zip(&weights).map(|(&a, b)| f64::from(a) * b).sum();
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
    pub fn explain(&self, rows: &[u32], best: &[Vec<Best>]) -> Vec<Vec<Option<Reason>>> {
        let of_row = |(&row, best): (&u32, &Vec<Best>)| {
            let Recommender { model, by, .. } = self.recommender;
            let adds = self.adds(model.factors()[*by].row(row as usize));
            best.iter().map(|best| self.reason(&adds, best.row as usize)).collect()
        };
        parallel::map_of(rows.iter().zip(best), of_row)
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
        // What says little by itself is a reason only where nothing else is.
        let is_taste = |concept: &usize| self.basis.level != Some(*concept);
        let most = |is_telling: bool| {
            let same = |concept: &usize| self.concepts[*concept].telling == is_telling;
            let tastes = (0..adds.len()).filter(is_taste).filter(same).map(reason);
            let most = tastes.max_by(|a, b| a.adds.total_cmp(&b.adds).then(b.concept.cmp(&a.concept)));
            most.filter(|most| most.adds > (LEAST * overall).max(0.0))
        };
        let level = || self.basis.level.filter(|_| overall > 0.0).map(reason);
        most(true).or_else(level).or_else(|| most(false))
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
        parallel::gather(reasons.len(), 1, |rows, found| {
            found.extend(reasons[rows].iter().flatten().map(words));
        })
    }

    /// What the item has and that end of the concept goes with: of each matrix the column that goes with it most. Where the item
    /// has none of these, other items of that end: what the end is about would not be true of the item.
    pub fn about(&self, reason: &Reason) -> String {
        let concept = &self.concepts[reason.concept];
        if concept.level {
            return if reason.little { concept.opposite.clone() } else { concept.about.clone() };
        }
        let sign = if reason.little { -1.0 } else { 1.0 };
        // Without an opposite, having little of something is not having anything else.
        let has_end = !reason.little || !concept.weakest.is_empty();
        let matrices = self.observed.iter().flat_map(|observed| &observed.matrices);
        let own = |(matrix, correlations): (&ObservedMatrix, &Vec<f64>)| {
            let has = matrix.of_row(reason.item as usize).iter();
            let has = has.map(|&which| (sign * correlations[which as usize], which as usize));
            let most = has.filter(|(score, _)| *score > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
            most.map(|(score, which)| (score, matrix.spelled(which)))
        };
        let words = few_words(matrices.zip(&self.correlations[reason.concept]).filter_map(own).collect());
        match (has_end, words.is_empty()) {
            (true, false) => words,
            (false, _) => about(concept),
            (true, true) if reason.little => such_as(&concept.weakest),
            (true, true) => such_as(&concept.strongest),
        }
    }
}

/// The paper's own profile of an entity: for each column of the factor of mode `items` the norm of its row in R = G x_by u, with u
/// the entity's row. A norm has the scale that its column happens to have, and no sign: the columns of a factor can be stretched and
/// turned as one likes if the core is with them, which [`Reasons::profile`] does not depend on. So these are to be read only where
/// columns mean something by themselves, as those of a non-negative model do.
///
/// # Errors
/// If there is no such mode, or both are the same.
///
/// # Panics
/// If the model has no such row.
pub fn interaction_norms(model: &Model, by: usize, row: u32, items: usize) -> Result<Vec<f64>, Error> {
    known::check_mode(model, by)?;
    known::check_mode(model, items)?;
    if by == items {
        let name = model.modes()[by].name();
        return Err(Error::param("mode", format!("another one than {name}"), name));
    }
    let own: Vec<f64> = model.factors()[by].row(row as usize).iter().map(|&value| f64::from(value)).collect();
    if let Core::Diagonal(diagonal) = model.core() {
        return Ok(diagonal.iter().zip(&own).map(|(&core, own)| (f64::from(core) * own).abs()).collect());
    }
    let mut left = model.core().clone();
    left.multiply(by, 1, &own);
    let ranks = left.ranks(model.modes().len());
    let inner: usize = ranks[items + 1..].iter().product();
    let mut squares = vec![0.0; ranks[items]];
    for (place, &value) in left.values().iter().enumerate() {
        squares[place / inner % ranks[items]] += f64::from(value).powi(2);
    }
    Ok(squares.into_iter().map(f64::sqrt).collect())
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
    if columns.is_empty() { such_as(entities) } else { columns.to_owned() }
}

fn such_as(entities: &[Scored]) -> String {
    let names: Vec<&str> = entities.iter().take(2).map(|one| one.name.as_str()).collect();
    format!("such as {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Factor, Mode};

    fn number(seed: usize) -> f32 {
        ((seed * 7919 + 13) % 101) as f32 / 50.0 - 1.0
    }

    fn model(core: Core, ranks: &[usize]) -> Model {
        let factor = |(mode, &rank): (usize, &usize)| {
            Factor::new(rank, (0..4 * rank).map(|place| number(place + 31 * mode)).collect())
        };
        let modes = (0..ranks.len()).map(|mode| Mode::new(format!("mode{}", mode + 1), 4)).collect();
        let factors = ranks.iter().enumerate().map(factor).collect();
        Model::new(modes, core, factors, Vec::new(), [0.0, 1.0]).unwrap()
    }

    #[test]
    fn norms_are_those_of_the_rows_of_the_core_times_a_row() {
        let ranks = [2, 3, 2];
        let full = Core::full(ranks.to_vec(), (0..12).map(number).collect());
        let made = model(full.clone(), &ranks);
        let norms = interaction_norms(&made, 0, 1, 1).unwrap();
        let u = made.factors()[0].row(1);
        for (j, norm) in norms.iter().enumerate() {
            let mut square = 0.0;
            for k in 0..2 {
                let r: f64 =
                    (0..2).map(|i| f64::from(full.values()[(i * 3 + j) * 2 + k]) * f64::from(u[i])).sum();
                square += r * r;
            }
            assert!((norm - square.sqrt()).abs() < 1e-6, "{norm} {square}");
        }
        assert!(interaction_norms(&made, 1, 0, 1).is_err() && interaction_norms(&made, 0, 0, 3).is_err());
    }

    #[test]
    fn norms_of_a_diagonal_core_are_those_of_it_written_out() {
        let diagonal = Core::Diagonal(vec![2.0, -1.0, 0.5]);
        let [thin, full] = [diagonal.clone(), diagonal.to_full(3)]
            .map(|core| interaction_norms(&model(core, &[3, 3, 3]), 2, 3, 0).unwrap());
        assert!(thin.iter().zip(&full).all(|(a, b)| (a - b).abs() < 1e-6), "{thin:?} {full:?}");
    }
}
