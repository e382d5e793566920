//! An example of recommendations: what some entities of the first mode have not met and would like best.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use super::residuals::ids;
use super::{Section, cut, label, time_bin};
use crate::problem::UNKNOWN;
use crate::table::time::Bin;
use crate::{Entries, Error, Model, Problem};

/// How many are in the page, and how many items each is shown.
const MOST_PEOPLE: usize = 300;
const SHOWN: usize = 10;
const KNOWN: usize = 10;
/// Items beyond this many, the ones with fewest entries, are not looked at.
const MOST_ITEMS: usize = 100_000;
/// How many predictions are made in all, and at once.
const MOST_CELLS: usize = 30_000_000;
const BLOCK: usize = 1_000_000;

/// Recommendations for some.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendations {
    /// The mode of those who are recommended something.
    pub people: String,
    /// The mode of what is recommended.
    pub things: String,
    /// At which time, or for which mean of other modes.
    pub at: String,
    /// How many there are in all.
    pub of: usize,
    /// How many items were looked at, out of how many.
    pub looked_at: [usize; 2],
    /// The names of all items that are shown.
    pub items: Vec<String>,
    /// Those with most entries first.
    pub list: Vec<Person>,
}

/// What is recommended to one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Person {
    /// The name.
    pub name: String,
    /// How many entries there are.
    pub entries: u32,
    /// The best that was observed: a place in [`Recommendations::items`], and the mean value.
    pub known: Vec<(usize, f32)>,
    /// The best that was not: a place in [`Recommendations::items`], and the prediction.
    pub best: Vec<(usize, f32)>,
}

pub(super) fn of(model: &Model, data: &Problem) -> Result<Section<Recommendations>, Error> {
    let plain: Vec<usize> =
        (0..data.order()).filter(|&mode| time_bin(&data.modes()[mode]).is_none()).collect();
    let [people, things, ..] = plain[..] else {
        return Ok(Section::Absent("There are no two modes other than times.".into()));
    };
    let [counts, popular] = [people, things].map(|mode| data.counts(mode));
    let items = most(&popular, MOST_ITEMS);
    if items.is_empty() || counts.is_empty() {
        return Ok(Section::Absent("There is nothing to recommend.".into()));
    }
    let room = (MOST_CELLS / items.len().max(1)).clamp(10, MOST_PEOPLE);
    let chosen = most(&counts, room);

    let (cell, at) = others(model, &plain);
    let [own, of_things] = [people, things].map(|mode| ids(&data.modes()[mode], &model.modes()[mode]));
    let seen = seen(data, (people, things), &chosen);
    let mut names = Names { places: HashMap::new(), names: Vec::new(), mode: &data.modes()[things] };
    let mut list = Vec::new();
    for block in chosen.chunks((BLOCK / items.len().max(1)).max(1)) {
        let column = |mode: usize| -> Vec<u32> {
            let of_person = |&person: &usize| -> Vec<u32> {
                match mode {
                    _ if mode == people => vec![own[person]; items.len()],
                    _ if mode == things => items.iter().map(|&item| of_things[item]).collect(),
                    _ => vec![cell[mode]; items.len()],
                }
            };
            block.iter().flat_map(of_person).collect()
        };
        let indices: Vec<Vec<u32>> = (0..data.order()).map(column).collect();
        let cells = Entries::from_rows("cells".into(), indices, vec![0.0; block.len() * items.len()]);
        let predicted = model.predict(&cells, false)?;
        for (&person, predicted) in block.iter().zip(predicted.chunks_exact(items.len())) {
            let known = seen.get(&(person as u32));
            let is_new = |item: usize| !known.is_some_and(|known| known.contains_key(&(item as u32)));
            let new = items.iter().copied().zip(predicted.iter().copied()).filter(|(item, _)| is_new(*item));
            let old = known.into_iter().flatten().map(|(&item, &(sum, count))| (item as usize, sum / count));
            list.push(Person {
                name: label(&data.modes()[people], person),
                entries: counts[person],
                known: names.best(old.collect(), KNOWN),
                best: names.best(new.collect(), SHOWN),
            });
        }
    }
    Ok(Section::Shown(Recommendations {
        people: cut(data.modes()[people].name()),
        things: cut(data.modes()[things].name()),
        at,
        of: counts.len(),
        looked_at: [items.len(), popular.len()],
        items: names.names,
        list,
    }))
}

/// For each mode the id at which is predicted, and that in words: the latest time, the mean of all others.
fn others(model: &Model, plain: &[usize]) -> (Vec<u32>, String) {
    let mut cell = vec![UNKNOWN; model.modes().len()];
    let mut words = Vec::new();
    for (number, mode) in model.modes().iter().enumerate().filter(|(number, _)| !plain[..2].contains(number))
    {
        // An hour of the day comes again: none of them is the latest.
        let goes_on = time_bin(mode).is_some_and(|bin| !matches!(bin, Bin::HourOfDay | Bin::DayOfWeek));
        if goes_on && mode.rows() > 0 {
            cell[number] = mode.id(mode.rows() - 1);
            words.push(format!("in {}, the latest {}", label(mode, mode.rows() - 1), cut(mode.name())));
        } else {
            words.push(format!("for the mean {}", cut(mode.name())));
        }
    }
    (cell, words.join(" and "))
}

/// The places of the largest counts, the largest first.
fn most(counts: &[u32], top: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&place| Reverse(counts[place]));
    order.truncate(top);
    order
}

/// For each of those chosen, what was observed of each item: the sum and how often.
fn seen(
    data: &Problem,
    (people, things): (usize, usize),
    chosen: &[usize],
) -> HashMap<u32, HashMap<u32, (f32, f32)>> {
    let mut seen: HashMap<u32, HashMap<u32, (f32, f32)>> =
        chosen.iter().map(|&person| (person as u32, HashMap::new())).collect();
    let entries = data.entries();
    let rows = entries.indices(people).iter().zip(entries.indices(things)).zip(entries.values());
    for ((person, &thing), value) in rows {
        if let Some(own) = seen.get_mut(person) {
            let sum = own.entry(thing).or_insert((0.0, 0.0));
            *sum = (sum.0 + value, sum.1 + 1.0);
        }
    }
    seen
}

/// Names of items, each once.
struct Names<'a> {
    places: HashMap<usize, usize>,
    names: Vec<String>,
    mode: &'a crate::Mode,
}

impl Names<'_> {
    /// The items with the largest values, by the places of their names.
    fn best(&mut self, mut items: Vec<(usize, f32)>, top: usize) -> Vec<(usize, f32)> {
        items.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        items.truncate(top);
        items.into_iter().map(|(item, value)| (self.place(item), value)).collect()
    }

    fn place(&mut self, item: usize) -> usize {
        *self.places.entry(item).or_insert_with(|| {
            self.names.push(label(self.mode, item));
            self.names.len() - 1
        })
    }
}
