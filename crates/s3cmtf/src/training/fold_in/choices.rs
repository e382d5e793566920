//! New users of models that know what people choose.

use super::grow::ExtendedMode;
use super::{FoldIn, Folded, keep};
use crate::Error;
use crate::model::{Choice, ChoiceWeights, Factor, Model};
use crate::problem::Entries;
use crate::training::ials::rows_of_new_users;

impl FoldIn<'_> {
    /// Finds rows for the new users of a model of choices. Rows of users alone can be found without the old choices: the items are
    /// those that they were chosen from.
    pub(super) fn new_users(mut self, update: bool) -> Result<Folded, Error> {
        let fail = |what: String| Err(Error::Problem(what));
        let model = self.model;
        let [users, items] = Choice::MODES;
        let Some(weights) = model.choice_weights else {
            return fail(
                "the model does not say what its rows were found by, as older ones of ials: fit it anew"
                    .into(),
            );
        };
        if update {
            return fail(
                "a model of ials does not keep the choices that its rows come from: fit it anew".into(),
            );
        }
        if !self.coupled.is_empty() {
            return fail("a model of ials takes up new entries, but no new rows of coupled matrices".into());
        }
        self.matrices()?;
        let grown = self.grown()?;
        let added: Vec<usize> = grown.iter().map(|grown| grown.added().count()).collect();
        let name = |mode: usize| model.modes()[mode].name();
        if added[items] > 0 {
            let label = grown[items].added().next().map(|row| {
                let mode = &grown[items].mode;
                mode.label(mode.id(row as usize)).into_owned()
            });
            return fail(format!(
                "mode {}: {} is not in the model: a model of ials takes up new ids of {}, not of what they choose from; leave such entries \
                 out, or fit it anew",
                name(items),
                label.unwrap_or_default(),
                name(users)
            ));
        }
        let (mut indices, mut values) = self.located(&grown)?;
        let all = values.len();
        keep(&mut indices, &mut values, |cell| grown[users].before[cell(users) as usize].is_none());
        let mut notes = Vec::new();
        if values.len() < all {
            notes.push(format!(
                "{} of {all} entries have no new id of {}: they change nothing",
                all - values.len(),
                name(users)
            ));
        }
        if values.is_empty() {
            return fail(format!(
                "the model has all of these ids of {}: there is no row to be found",
                name(users)
            ));
        }
        let entries = values.len();
        let all = model.factors().iter().zip(&grown);
        let mut factors: Vec<Factor> = all.map(|(factor, grown)| spread(factor, grown)).collect();
        fill(&mut factors, weights, indices, values);
        let modes = grown.iter().map(|grown| grown.mode.clone()).collect();
        let folded =
            Model::new(modes, model.core().clone(), factors, model.coupled().to_vec(), model.range())?;
        let mut folded = folded.with_value(model.value().map(str::to_owned));
        folded.choice_weights = model.choice_weights;
        Ok(Folded { model: folded, updated: vec![0; added.len()], added, entries, notes })
    }
}

/// What people choose, with the rows of new ones; new things to be chosen are as all others.
pub(super) fn grown_choice(
    model: &Model,
    choice: &Choice,
    grown: &[ExtendedMode],
    indices: &[Vec<u32>],
) -> Choice {
    let [users, items] = Choice::MODES;
    let mut factors = Choice::MODES.map(|mode| spread(&choice.factors()[mode], &grown[mode]));
    if let Some(weights) = model.choice_weights {
        let mut pairs: Vec<[u32; 2]> =
            indices[users].iter().zip(&indices[items]).map(|(&user, &item)| [user, item]).collect();
        pairs.retain(|&[user, item]| {
            grown[users].before[user as usize].is_none() && grown[items].before[item as usize].is_some()
        });
        pairs.sort_unstable();
        pairs.dedup();
        let lists = Choice::MODES.map(|side| pairs.iter().map(|pair| pair[side]).collect());
        fill(&mut factors, weights, lists.into(), vec![1.0; pairs.len()]);
    }
    Choice::new(factors)
}

/// Rows that were there, and the average for those that are new.
fn spread(known: &Factor, grown: &ExtendedMode) -> Factor {
    Factor::new(known.rank(), grown.spread(known.values(), known.rank(), &known.average()))
}

/// Finds the rows of those who have chosen something, all of them new.
fn fill(factors: &mut [Factor], weights: ChoiceWeights, mut indices: Vec<Vec<u32>>, values: Vec<f32>) {
    let [users, _] = Choice::MODES;
    let rank = factors[users].rank();
    let mut who = indices[users].clone();
    who.sort_unstable();
    who.dedup();
    for row in &mut indices[users] {
        *row = who.partition_point(|other| other < row) as u32;
    }
    let others = factors.iter().enumerate().filter(|(mode, _)| *mode != users);
    let others = others.map(|(_, factor)| factor.values().to_vec()).collect();
    let entries = Entries::from_rows("the new entries".into(), indices, values);
    let found = rows_of_new_users(weights, &entries, who.len(), others, rank);
    for (&row, found) in who.iter().zip(found.chunks_exact(rank)) {
        factors[users].values_mut()[row as usize * rank..][..rank].copy_from_slice(found);
    }
}
