//! What the concepts of a model mean, and which of them go together.

use serde::Serialize;

use super::basis::{Basis, ModeBasis};
use super::{Scored, largest};
use crate::problem::Mode;
use crate::{CoupledFactor, Model};

/// All concepts of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Concepts {
    /// Mode by mode, the strongest first.
    pub concepts: Vec<Concept>,
    /// The combinations of concepts that matter most, the strongest first.
    pub interactions: Vec<Interaction>,
    /// For each mode, how often the mean entity (0 or 1) and concepts come in the core.
    #[serde(skip)]
    pub core_sizes: Vec<usize>,
    /// The core of these concepts, the last mode's changing fastest; the mean entity comes before the first concept in
    /// modes that have one.
    #[serde(skip)]
    pub core: Vec<f32>,
    /// For each mode how much of each of its concepts each row has, row after row; the mean square is 1.
    #[serde(skip)]
    pub scores: Vec<Vec<f32>>,
}

/// A concept: what some entities of a mode have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// In a few words: the coupled columns that go with it most, one of each matrix.
    pub about: String,
    /// The same for its opposite, if it has one.
    pub opposite: String,
    /// The entities that have most of it.
    pub strongest: Vec<Scored>,
    /// The entities that have most of its opposite; none where concepts have no opposite.
    pub weakest: Vec<Scored>,
    /// The coupled columns that go with it, matrix by matrix, by the correlation over entities.
    pub columns: Vec<Columns>,
    /// How strong it is at each time, if there is a mode of times; for a concept of that mode, how much of it each time has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<Scored>>,
}

/// The columns of a matrix that go with a concept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Columns {
    /// The matrix.
    pub matrix: String,
    /// Its columns, those that go with the concept most first.
    pub columns: Vec<Scored>,
}

/// Concepts that go together, one of some modes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interaction {
    /// Their names; a mode that is not there matters little: it is the mean entity of that mode.
    pub concepts: Vec<String>,
    /// What it adds to the value if each entity has 1 of its concept, which is usual.
    pub value: f64,
}

/// The concepts of a model, with `top` of everything.
pub fn concepts(model: &Model, top: usize) -> Concepts {
    let basis = Basis::of(model);
    let letters = letters(model);
    let time = time_mode(model);
    let mut found = Vec::new();
    for (mode, of_mode) in basis.modes.iter().enumerate() {
        let mut of_mode = concepts_of(model, of_mode, mode, &letters[mode], top);
        for (concept, described) in of_mode.iter_mut().enumerate() {
            described.times = time.map(|time| times(model, &basis, time, (mode, concept)));
        }
        found.append(&mut of_mode);
    }
    Concepts {
        concepts: found,
        interactions: interactions(&basis, &letters, top),
        core_sizes: basis.core.ranks(basis.modes.len()),
        core: basis.core.values().to_vec(),
        scores: basis.modes.into_iter().map(|mode| mode.scores).collect(),
    }
}

/// The concepts of one mode, but for their times.
pub(super) fn concepts_of(
    model: &Model,
    of_mode: &ModeBasis,
    mode: usize,
    letters: &str,
    top: usize,
) -> Vec<Concept> {
    let all: f64 = of_mode.strengths.iter().sum();
    let describe = |concept: usize| {
        let name = format!("{letters}{}", concept + 1);
        let strength = of_mode.strengths[concept] / all.max(f64::MIN_POSITIVE);
        describe(model, of_mode, (mode, concept), (name, strength), top)
    };
    (0..of_mode.concepts).map(describe).collect()
}

fn describe(
    model: &Model,
    of_mode: &ModeBasis,
    (mode, concept): (usize, usize),
    (name, strength): (String, f64),
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
    let coupled = model.coupled().iter().filter(|matrix| matrix.mode == mode && matrix.factor.rows() > 0);
    let (mut columns, mut with, mut against) = (Vec::new(), Vec::new(), Vec::new());
    for matrix in coupled {
        let correlations = along(matrix, of_mode, concept);
        let some = |sign: f64, top: usize| -> Vec<Scored> {
            let scores = correlations.iter().map(|score| sign * score);
            let some = largest(scores, top).into_iter().filter(|(_, score)| *score > 0.0);
            let name = |row: usize| matrix.columns.label(matrix.columns.id(row)).into_owned();
            some.map(|(row, score)| Scored { name: name(row), score: sign * score }).collect()
        };
        with.extend(some(1.0, 1).pop().map(|column| spelled(matrix, column.name)));
        against.extend(some(-1.0, 1).pop().map(|column| spelled(matrix, column.name)));
        columns.push(Columns { matrix: matrix.name.clone(), columns: some(1.0, top) });
    }
    let level = of_mode.level == Some(concept);
    if level {
        let value = model.value().unwrap_or("value");
        (with, against) = (vec![format!("high {value} overall")], vec![format!("low {value} overall")]);
    }
    Concept {
        name,
        mode: known.name().to_owned(),
        strength,
        level,
        about: with.join(", "),
        opposite: if of_mode.around_mean { against.join(", ") } else { String::new() },
        strongest: named(1.0),
        weakest: if of_mode.around_mean { named(-1.0) } else { Vec::new() },
        columns,
        times: None,
    }
}

/// A column as it is named where nothing else says of which matrix it is: `age=56`, since 56 says nothing alone.
pub(super) fn spelled(matrix: &CoupledFactor, column: String) -> String {
    let speaks = column.chars().any(char::is_alphabetic);
    let name = matrix.name.split_once('/').map_or(matrix.name.as_str(), |(_, name)| name);
    if speaks { column } else { format!("{name}={column}") }
}

/// How the predicted cells of each column go up and down with a concept: their correlation over the rows.
pub(super) fn along(matrix: &CoupledFactor, mode: &ModeBasis, concept: usize) -> Vec<f64> {
    let rank = mode.moments.mean.len();
    let covariance = mode.moments.covariance();
    // Of each number of a row with the concept.
    let rows = mode.scores.len() / mode.concepts.max(1);
    let mean = (0..rows).map(|row| f64::from(mode.score(row, concept))).sum::<f64>() / rows.max(1) as f64;
    let variance = (1.0 - mean * mean).max(0.0);
    let mut with = vec![0.0; rank];
    for other in 0..mode.concepts {
        let products =
            (0..rows).map(|row| f64::from(mode.score(row, concept)) * f64::from(mode.score(row, other)));
        let of_other =
            (0..rows).map(|row| f64::from(mode.score(row, other))).sum::<f64>() / rows.max(1) as f64;
        let common = products.sum::<f64>() / rows.max(1) as f64 - mean * of_other;
        with.iter_mut().zip(mode.direction(other)).for_each(|(sum, direction)| *sum += common * direction);
    }
    let correlation = |column: &[f32]| {
        let column: Vec<f64> = column.iter().map(|&value| f64::from(value)).collect();
        let product: f64 = with.iter().zip(&column).map(|(a, b)| a * b).sum();
        let own: f64 = (0..rank * rank)
            .map(|place| covariance[place] * column[place / rank] * column[place % rank])
            .sum();
        product / (own * variance).sqrt()
    };
    matrix.factor.values().chunks_exact(rank).map(correlation).collect()
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
    let order = model.modes().len();
    let mut core = model.core().to_full(order);
    core.multiply(mode, 1, basis.modes[mode].direction(concept));
    let ranks = core.ranks(order);
    let mut weighted = core.clone();
    for other in (0..order).filter(|&other| other != mode && other != time) {
        weighted.multiply(other, ranks[other], &basis.modes[other].moments.second);
    }
    let square = |row: usize| {
        let row: Vec<f64> = model.factors()[time].row(row).iter().map(|&value| f64::from(value)).collect();
        let [mut a, mut b] = [core.clone(), weighted.clone()];
        a.multiply(time, 1, &row);
        b.multiply(time, 1, &row);
        a.values().iter().zip(b.values()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>()
    };
    (0..rows).map(|row| Scored { name: label(row), score: square(row).max(0.0).sqrt() }).collect()
}

/// The largest numbers of the core but that of mean entities alone.
fn interactions(basis: &Basis, letters: &[String], top: usize) -> Vec<Interaction> {
    let ranks = basis.core.ranks(basis.modes.len());
    let around: Vec<usize> = basis.modes.iter().map(|mode| usize::from(mode.around_mean)).collect();
    let names = |place: usize| -> Vec<String> {
        let mut inner = basis.core.values().len();
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
    let sizes = basis.core.values().iter().map(|&value| f64::from(value).abs());
    largest(sizes, top.saturating_add(1))
        .into_iter()
        .map(|(place, _)| Interaction {
            concepts: names(place),
            value: f64::from(basis.core.values()[place]),
        })
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
