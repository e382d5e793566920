//! A diagonal core: a CP model, found by the same draws.
//!
//! What is drawn has the form of all models of bayes: in each mode a first concept of 1, one for its offset, and those that
//! interact; but of the core only the mean, the offsets and the interactions of like concepts are not zero. That is a sum of
//! products of one concept per mode, and so is what comes out: a column for the mean, which is 1 in every mode; a column for
//! the offset of each mode, which is 1 in all others; and a column for each concept that interacts.

use super::core::OFFSET;
use crate::model::{Core, CoupledFactor, Effects, Factor, Model, Uncertainty};

/// The columns of a model of so many modes whose modes have so many concepts in draws.
pub(super) fn columns(order: usize, concepts: usize) -> usize {
    concepts + order - 1
}

/// The concepts that each mode has in draws, where the model has so many columns: at least the constant and the offset.
pub(in crate::training) fn concepts(order: usize, columns: usize) -> usize {
    (columns + 1).saturating_sub(order).max(OFFSET + 1)
}

/// The column that a concept of a mode is.
fn column(order: usize, mode: usize, concept: usize) -> usize {
    match concept {
        0 => 0,
        OFFSET => 1 + mode,
        _ => order - 1 + concept,
    }
}

/// Rows of columns, from rows of concepts; what belongs to no concept of the mode is `rest`.
fn spread(values: &[f32], order: usize, mode: usize, concepts: usize, rest: f32) -> Vec<f32> {
    let rank = columns(order, concepts);
    let mut rows = vec![rest; values.len() / concepts * rank];
    for (row, values) in rows.chunks_exact_mut(rank).zip(values.chunks_exact(concepts)) {
        values.iter().enumerate().for_each(|(k, &value)| row[column(order, mode, k)] = value);
    }
    rows
}

/// The place in a full core of what a column stands for.
fn place(order: usize, concepts: usize, column: usize) -> usize {
    // Concepts of the last mode are next to each other, those of the others a power of their number apart.
    let step = |mode: usize| concepts.pow((order - 1 - mode) as u32);
    match column {
        0 => 0,
        _ if column <= order => OFFSET * step(column - 1),
        _ => (0..order).map(|mode| (column + 1 - order) * step(mode)).sum(),
    }
}

/// The same model with a diagonal core; what it has of a full core must be what draws with a diagonal one have.
pub(super) fn to_columns(model: Model) -> Model {
    let order = model.modes.len();
    let concepts = model.factors[0].rank();
    let rank = columns(order, concepts);
    let factor = |values: &[f32], mode: usize, rest: f32| {
        Factor::new(rank, spread(values, order, mode, concepts, rest))
    };
    let core = model.core.values();
    let core = (0..rank).map(|column| core[place(order, concepts, column)]).collect();
    let factors = model.factors.iter().enumerate().map(|(mode, known)| factor(known.values(), mode, 1.0));
    let coupled = model.coupled.iter().map(|matrix| CoupledFactor {
        factor: factor(matrix.factor.values(), matrix.mode, 0.0),
        effects: matrix.effects.as_ref().map(|effects| Effects {
            base: spread(&effects.base, order, matrix.mode, concepts, 0.0),
            factor: factor(effects.factor.values(), matrix.mode, 0.0),
            ..effects.clone()
        }),
        ..matrix.clone()
    });
    let uncertainty = model.uncertainty.as_ref().map(|known| {
        let variances = known.variances.iter().enumerate();
        let variances = variances.map(|(mode, known)| factor(known.values(), mode, 0.0)).collect();
        Uncertainty { variances, ..known.clone() }
    });
    Model {
        factors: factors.collect(),
        coupled: coupled.collect(),
        uncertainty,
        core: Core::Diagonal(core),
        ..model
    }
}

/// The core and the factors that draws have of a model with a diagonal core; nothing if it is no such model.
pub(super) fn from_columns(model: &Model) -> Option<(Vec<f32>, Vec<Factor>)> {
    let order = model.modes.len();
    let Core::Diagonal(diagonal) = &model.core else { return None };
    let concepts = (diagonal.len() > order).then(|| concepts(order, diagonal.len()))?;
    let mut core = vec![0.0; concepts.checked_pow(order as u32)?];
    for (column, &value) in diagonal.iter().enumerate() {
        core[place(order, concepts, column)] = value;
    }
    let factors = model.factors.iter().enumerate().map(|(mode, known)| {
        let is_one = |row: &[f32]| (0..=order).all(|column| column == 1 + mode || row[column] == 1.0);
        let rows = (0..known.rows()).map(|row| known.row(row));
        let values =
            |row: &'_ [f32]| -> Vec<f32> { (0..concepts).map(|k| row[column(order, mode, k)]).collect() };
        rows.clone().all(is_one).then(|| Factor::new(concepts, rows.flat_map(values).collect()))
    });
    Some((core, factors.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use crate::problem::{Absent, Entries};

    /// A model as it is drawn, with numbers that are all different.
    fn drawn(order: usize, concepts: usize) -> Model {
        let number = |seed: usize| ((seed * 7919 + 13) % 101) as f32 / 50.0 - 1.0;
        let rows = |count: usize, seed: usize, first: f32| {
            let value = |place: usize| {
                if place.is_multiple_of(concepts) { first } else { number(place * place + seed) }
            };
            Factor::new(concepts, (0..count * concepts).map(value).collect())
        };
        let sizes: Vec<usize> = (0..order).map(|mode| 3 + mode).collect();
        let mut core = vec![0.0; concepts.pow(order as u32)];
        let rank = columns(order, concepts);
        (0..rank).for_each(|column| core[place(order, concepts, column)] = number(column + 40));
        let modes = sizes.iter().map(|&size| Mode::new("mode", size as u32)).collect();
        let factors = sizes.iter().enumerate().map(|(mode, &size)| rows(size, mode, 1.0)).collect();
        let coupled = CoupledFactor {
            name: "side".into(),
            mode: 1,
            kind: Absent::Zeros,
            weight: 0.0,
            columns: Mode::new("", 2),
            factor: rows(2, 9, 0.5),
            effects: Some(Effects {
                base: rows(1, 5, 0.0).values().to_vec(),
                offsets: vec![0.5; 2],
                factor: rows(2, 11, 0.0),
                explained: 0.5,
            }),
        };
        let core = Core::full(vec![concepts; order], core);
        let model = Model::new(modes, core, factors, vec![coupled], [-1.0, 1.0]).unwrap();
        let variances = sizes.iter().enumerate().map(|(mode, &size)| {
            let squares = rows(size, mode + 60, 0.0);
            Factor::new(concepts, squares.values().iter().map(|value| value * value).collect())
        });
        let shares = sizes.iter().map(|&size| vec![1.5; size]).collect();
        model
            .with_uncertainty(Uncertainty { noise: 0.3, shares, variances: variances.collect(), scale: None })
            .unwrap()
    }

    #[test]
    fn columns_say_what_concepts_do_and_can_be_taken_back() {
        for (order, concepts) in [(2, 3), (3, 5), (4, 4)] {
            let before = drawn(order, concepts);
            let after = to_columns(before.clone());
            let rank = columns(order, concepts);
            assert_eq!(after.core().ranks(order), vec![rank; order]);
            assert_eq!(super::concepts(order, rank), concepts);
            let sizes: Vec<u32> = (0..order).map(|mode| 3 + mode as u32).collect();
            let count: u32 = sizes.iter().product();
            let ids = |mode: usize| {
                let inner: u32 = sizes[mode + 1..].iter().product();
                (0..count).map(|cell| cell / inner % sizes[mode]).collect()
            };
            let cells = Entries::new((0..order).map(ids).collect(), vec![0.0; count as usize]).unwrap();
            let pairs = |a: Vec<f32>, b: Vec<f32>| a.into_iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(pairs(before.predict(&cells, false).unwrap(), after.predict(&cells, false).unwrap()));
            assert!(pairs(before.std(&cells).unwrap(), after.std(&cells).unwrap()));
            // What a matrix says of rows is the same, too, and no column that is constant is touched by it.
            let (old, new) = (&before.coupled()[0], &after.coupled()[0]);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            for (row, column) in (0..4).flat_map(|row| [(row, 0), (row, 1)]) {
                let known = dot(before.factors()[1].row(row), old.factor.row(column));
                assert!((known - dot(after.factors()[1].row(row), new.factor.row(column))).abs() < 1e-5);
            }
            let mean = |effects: &Effects| effects.mean([(0, 1.0), (1, 2.0)].into_iter());
            let (old, new) = (mean(old.effects.as_ref().unwrap()), mean(new.effects.as_ref().unwrap()));
            for (k, mean) in old.into_iter().enumerate() {
                assert_eq!(new[column(order, 1, k)], mean);
            }
            assert!(new.iter().take(order + 1).enumerate().all(|(column, &mean)| column == 2 || mean == 0.0));

            let (core, factors) = from_columns(&after).unwrap();
            assert_eq!((&core[..], &factors), (before.core().values(), &before.factors));
            assert_eq!(from_columns(&before), None);
            let mut other = after;
            other.factors[0].values_mut()[2] = 0.5;
            assert_eq!(from_columns(&other), None);
        }
    }
}
