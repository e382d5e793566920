//! What the concepts of a model mean, and which of them go together.

use serde::Serialize;

use super::basis::{Basis, ModeBasis, WEAK};
use super::matrix::{Along, quadratic, sensitivity};
use super::observed::{Observed, ObservedMatrix};
use super::{Scored, known, largest};
use crate::problem::Mode;
use crate::{Error, Model, Problem};

/// Concepts whose scores have this correlation are one and the same; columns of factors without negative numbers may.
const SAME: f64 = 0.95;
/// The most columns that say in a few words what something is about.
const WORDS: usize = 3;

/// All concepts of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Concepts {
    /// Mode by mode, the strongest first.
    pub concepts: Vec<Concept>,
    /// The combinations of concepts that matter most, the strongest first.
    pub interactions: Vec<Interaction>,
    /// For each mode, how often the mean entity (0 or 1) and concepts come in the core.
    #[serde(skip)]
    pub core_sizes: Vec<usize>,
    /// The core of these concepts, the last mode's changing fastest; the mean entity comes before the first concept in
    /// modes that have one; nothing where it would have too many numbers.
    #[serde(skip)]
    pub core: Vec<f32>,
    /// For each mode how much of each of its concepts each row has, row after row; the mean square is 1.
    #[serde(skip)]
    pub scores: Vec<Vec<f32>>,
}

/// A concept: what some entities of a mode have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Concept {
    /// The first letters of the mode, and a number: the strongest of a mode has 1.
    pub name: String,
    /// The mode.
    pub mode: String,
    /// The part of what varies between predictions of the mode's entities that this concept has.
    pub strength: f64,
    /// Whether it is the level: how high values are with all entities of the other modes. Only where entities differ in that
    /// most of all; their other concepts are then what some like and others do not.
    pub level: bool,
    /// Whether it says something: it has enough of what varies, and is not nearly the same as a stronger one.
    pub telling: bool,
    /// In a few words: the observed columns that go with it most, one of each matrix. Nothing where none clearly does, and
    /// without the data.
    pub about: String,
    /// The same for its opposite, if it has one.
    pub opposite: String,
    /// The entities that have most of it.
    pub strongest: Vec<Scored>,
    /// The entities that have most of its opposite; none where concepts have no opposite.
    pub weakest: Vec<Scored>,
    /// The observed columns that go with it, matrix by matrix, by the correlation over entities.
    pub columns: Vec<Columns>,
    /// How strong it is at each time, if there is a mode of times; for a concept of that mode, how much of it each time has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<Scored>>,
}

/// The columns of a matrix that go with a concept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Columns {
    /// The matrix.
    pub matrix: String,
    /// Its columns, those that go with the concept most first.
    pub columns: Vec<Scored>,
}

/// Concepts that go together, one of some modes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Interaction {
    /// Their names; a mode that is not there matters little: it is the mean entity of that mode.
    pub concepts: Vec<String>,
    /// What it adds to the value if each entity has 1 of its concept, which is usual.
    pub value: f64,
}

/// The concepts of a model, with `top` of everything. `data`, which the model was trained on, say what they have in common.
///
/// # Errors
/// If the data have other modes than the model.
pub fn concepts(model: &Model, data: Option<&Problem>, top: usize) -> Result<Concepts, Error> {
    if let Some(data) = data {
        known::check(model, data)?;
    }
    let basis = Basis::new(model);
    let letters = letters(model);
    let time = time_mode(model);
    let mut found = Vec::new();
    for (mode, of_mode) in basis.modes.iter().enumerate() {
        let observed = data.map(|data| Observed::new(model, data, mode));
        let mut of_mode = concepts_of(model, of_mode, mode, observed.as_ref(), &letters[mode], top);
        for (concept, described) in of_mode.iter_mut().enumerate() {
            described.times = time.map(|time| times(model, &basis, time, (mode, concept)));
        }
        found.append(&mut of_mode);
    }
    let sizes = |core: &crate::Core| core.ranks(basis.modes.len());
    Ok(Concepts {
        concepts: found,
        interactions: interactions(&basis, &letters, top),
        core_sizes: basis.core.as_ref().map_or_else(|| vec![0; basis.modes.len()], sizes),
        core: basis.core.map_or(Vec::new(), |core| core.values().to_vec()),
        scores: basis.modes.into_iter().map(|mode| mode.scores).collect(),
    })
}

/// The concepts of one mode, but for their times.
pub(super) fn concepts_of(
    model: &Model,
    of_mode: &ModeBasis,
    mode: usize,
    observed: Option<&Observed>,
    letters: &str,
    top: usize,
) -> Vec<Concept> {
    let all: f64 = of_mode.strengths.iter().sum();
    let describe = |concept: usize| {
        let strength = of_mode.strengths[concept] / all.max(f64::MIN_POSITIVE);
        Concept {
            name: format!("{letters}{}", concept + 1),
            strength,
            telling: (strength >= WEAK || concept == 0) && !is_again(of_mode, concept),
            ..described(model, of_mode, (mode, concept), observed, top)
        }
    };
    (0..of_mode.concepts).map(describe).collect()
}

/// Whether a concept is nearly the same as a stronger one, or its opposite.
fn is_again(of_mode: &ModeBasis, concept: usize) -> bool {
    let rows = of_mode.scores.len() / of_mode.concepts.max(1);
    let alike = |other: usize| {
        let (mut sums, mut squares, mut products) = ([0.0; 2], [0.0; 2], 0.0);
        for row in 0..rows {
            let pair = [concept, other].map(|concept| f64::from(of_mode.score(row, concept)));
            for (end, score) in pair.into_iter().enumerate() {
                sums[end] += score;
                squares[end] += score * score;
            }
            products += pair[0] * pair[1];
        }
        let count = rows.max(1) as f64;
        let variance = |end: usize| squares[end] - sums[end] * sums[end] / count;
        (products - sums[0] * sums[1] / count).abs() > SAME * (variance(0) * variance(1)).max(0.0).sqrt()
    };
    (0..concept).any(alike)
}

fn described(
    model: &Model,
    of_mode: &ModeBasis,
    (mode, concept): (usize, usize),
    observed: Option<&Observed>,
    top: usize,
) -> Concept {
    let known = &model.modes()[mode];
    let rows = model.factors()[mode].rows();
    let named = |sign: f64| -> Vec<Scored> {
        let scores = (0..rows).map(|row| sign * f64::from(of_mode.score(row, concept)));
        let some = largest(scores, top).into_iter().filter(|(_, score)| *score > 0.0);
        some.map(|(row, score)| Scored { name: known.label(known.id(row)).into_owned(), score: sign * score })
            .collect()
    };
    let (mut columns, mut with, mut against) = (Vec::new(), Vec::new(), Vec::new());
    for matrix in observed.map_or(&[][..], |observed| &observed.matrices) {
        let correlations = matrix.correlations(|row| f64::from(of_mode.score(row, concept)));
        let some =
            |sign: f64, top: usize| ObservedMatrix::best(correlations.iter().map(|score| sign * score), top);
        let spelled = |(which, score): (usize, f64)| (score, matrix.spelled(which));
        with.extend(some(1.0, 1).pop().map(spelled));
        against.extend(some(-1.0, 1).pop().map(spelled));
        let scored = |(which, score): (usize, f64)| Scored { name: matrix.name(which).to_owned(), score };
        let some = some(1.0, top).into_iter().map(scored).collect();
        columns.push(Columns { matrix: matrix.name.clone(), columns: some });
    }
    let level = of_mode.level == Some(concept);
    let value = model.value().unwrap_or("value");
    Concept {
        name: String::new(),
        mode: known.name().to_owned(),
        strength: 0.0,
        telling: true,
        level,
        about: if level { format!("high {value} overall") } else { few_words(with) },
        opposite: match (level, of_mode.around_mean) {
            (true, _) => format!("low {value} overall"),
            (false, true) => few_words(against),
            (false, false) => String::new(),
        },
        strongest: named(1.0),
        weakest: if of_mode.around_mean { named(-1.0) } else { Vec::new() },
        columns,
        times: None,
    }
}

/// The words that count most.
pub(super) fn few_words(mut words: Vec<(f64, String)>) -> String {
    words.sort_by(|a, b| b.0.total_cmp(&a.0));
    words.truncate(WORDS);
    words.into_iter().map(|(_, word)| word).collect::<Vec<_>>().join(", ")
}

/// The mode whose ids are times, if there is one.
pub(super) fn time_mode(model: &Model) -> Option<usize> {
    model.modes().iter().position(Mode::is_time)
}

/// How strong a concept is at each time: the root mean square of what it adds to predictions of all rows of other modes.
fn times(model: &Model, basis: &Basis, time: usize, (mode, concept): (usize, usize)) -> Vec<Scored> {
    let (known, of_time) = (&model.modes()[time], &basis.modes[time]);
    let label = |row: usize| known.label(known.id(row)).into_owned();
    let rows = model.factors()[time].rows();
    if mode == time {
        let score = |row: usize| f64::from(of_time.score(row, concept));
        return (0..rows).map(|row| Scored { name: label(row), score: score(row) }).collect();
    }
    let along = |other: usize| match other == mode {
        true => Along::Row(basis.modes[mode].direction(concept)),
        false => Along::All(&basis.modes[other].moments.second),
    };
    let squares = sensitivity(model.core(), model.modes().len(), time, along);
    let strength = |row: usize| {
        let row: Vec<f64> = model.factors()[time].row(row).iter().map(|&value| f64::from(value)).collect();
        quadratic(&squares, &row).max(0.0).sqrt()
    };
    (0..rows).map(|row| Scored { name: label(row), score: strength(row) }).collect()
}

/// The largest numbers of the core but that of mean entities alone.
fn interactions(basis: &Basis, letters: &[String], top: usize) -> Vec<Interaction> {
    let Some(core) = &basis.core else { return Vec::new() };
    let ranks = core.ranks(basis.modes.len());
    let around: Vec<usize> = basis.modes.iter().map(|mode| usize::from(mode.around_mean)).collect();
    let names = |place: usize| -> Vec<String> {
        let mut inner = core.values().len();
        let mut names = Vec::new();
        for (mode, &rank) in ranks.iter().enumerate() {
            inner /= rank;
            let k = place / inner % rank;
            if k >= around[mode] {
                names.push(format!("{}{}", letters[mode], k - around[mode] + 1));
            }
        }
        names
    };
    let sizes = core.values().iter().map(|&value| f64::from(value).abs());
    largest(sizes, top.saturating_add(1))
        .into_iter()
        .map(|(place, _)| Interaction { concepts: names(place), value: f64::from(core.values()[place]) })
        .filter(|interaction| !interaction.concepts.is_empty() && interaction.value != 0.0)
        .take(top)
        .collect()
}

/// For each mode the first letters of its name, as many as tell it from the others.
pub(super) fn letters(model: &Model) -> Vec<String> {
    let names: Vec<Vec<char>> =
        model.modes().iter().map(|mode| mode.name().to_uppercase().chars().collect()).collect();
    let unique = |mode: usize, length: usize| {
        let own: Vec<char> = names[mode].iter().take(length).copied().collect();
        let like = names.iter().filter(|other| other.iter().take(length).eq(own.iter())).count();
        (like == 1 && own.last().is_some_and(|last| !last.is_ascii_digit()))
            .then(|| own.into_iter().collect())
    };
    let of_mode = |mode: usize| (1..=3).find_map(|length| unique(mode, length));
    (0..names.len()).map(|mode| of_mode(mode).unwrap_or_else(|| format!("M{}.", mode + 1))).collect()
}
