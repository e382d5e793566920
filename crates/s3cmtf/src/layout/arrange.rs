//! From entries, wherever they are, to a view of them.

use super::budget::MemoryBudget;
use super::build::Builder;
use super::packed::arrange;
use super::sorted::{each_sorted, order};
use super::view::{Plan, View};
use crate::Error;
use crate::problem::EntrySource;

impl View {
    /// Orders entries: in memory if they are there, or else in the room that there is for them.
    pub(crate) fn new(
        entries: &EntrySource,
        plan: &Plan<'_>,
        budget: Option<&MemoryBudget>,
    ) -> Result<Self, Error> {
        match entries {
            EntrySource::Memory(entries) => {
                let lists: Vec<&[u32]> = (0..entries.order()).map(|mode| entries.indices(mode)).collect();
                match arrange(&lists, entries.values(), plan) {
                    Some(view) => Ok(view),
                    None => View::one_by_one(&lists, entries.values(), plan),
                }
            }
            EntrySource::Stored(_) => {
                let budget = budget.ok_or_else(|| Error::Problem("no room for entries".into()))?;
                let mut builder = Builder::new(plan, entries.len(), Some(budget.scratch()?));
                each_sorted(entries, plan, budget, &mut |lists, values, order| {
                    builder.add(lists, values, order)
                })?;
                builder.finish()
            }
        }
    }

    /// A view in memory, whatever rows entries have.
    pub(crate) fn one_by_one(lists: &[&[u32]], values: &[f32], plan: &Plan<'_>) -> Result<Self, Error> {
        let mut builder = Builder::new(plan, values.len(), None);
        builder.add(lists, values, &order(lists, values.len(), &plan.order()))?;
        builder.finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use s3cmtf_kernels::Level;

    use super::super::distinct::Distinct;
    use super::super::share::Share;
    use super::*;
    use crate::problem::Entries;

    /// A view in memory of entries whose values stay as they are.
    pub(crate) fn view(
        indices: &[Vec<u32>],
        values: &[f32],
        (mode, partner): (usize, usize),
        counts: &[u32],
        ranks: &[usize],
    ) -> View {
        let distinct = Distinct::collect(values);
        let largest: Vec<u32> = indices.iter().map(|rows| rows.iter().max().copied().unwrap_or(0)).collect();
        let plan = Plan {
            mode,
            partner,
            ranks,
            level: Level::best(),
            counts,
            largest: &largest,
            mean: 0.0,
            spread: 1.0,
            distinct: distinct.as_ref(),
            sample: &[],
            share: Share::whole(counts.len(), values.len()),
        };
        let entries = Entries::from_rows(String::new(), indices.to_vec(), values.to_vec());
        View::new(&EntrySource::Memory(entries), &plan, None).unwrap()
    }

    /// How many entries each row has.
    pub(crate) fn counts(rows: &[u32], size: usize) -> Vec<u32> {
        let mut counts = vec![0; size];
        rows.iter().for_each(|&row| counts[row as usize] += 1);
        counts
    }

    #[test]
    fn weights_are_products_of_the_rest() {
        let indices = [vec![0], vec![1], vec![0], vec![1]];
        let ranks = [1, 2, 1, 3];
        let view = view(&indices, &[1.0], (0, 2), &[1], &ranks);
        let factors: [&[f32]; 4] = [&[1.0], &[0.0, 0.0, 2.0, 3.0], &[1.0], &[1.0, 1.0, 1.0, 5.0, 7.0, 11.0]];
        let mut buffer = Vec::new();
        let weights = view.weights(&factors, &ranks, &[1, 1], &mut buffer);
        assert_eq!(weights, [10.0, 14.0, 22.0, 15.0, 21.0, 33.0]);
    }
}
