//! An example of recommendations: what some entities of the first mode have not met and would like best.

use std::collections::HashMap;

use serde::Serialize;

use super::{Section, cut, label, time_bin};
use crate::discovery::{Best, RankBy, Reason, Reasons, Recommender, counts, rows};
use crate::{Error, Model, Problem};

/// How many are in the page, and how many items each is shown.
const MOST_PEOPLE: usize = 300;
const SHOWN: usize = 10;
const KNOWN: usize = 10;

/// Recommendations for some.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendations {
    /// The mode of those who are recommended something.
    pub people: String,
    /// The mode of what is recommended.
    pub things: String,
    /// What stands for the other modes.
    pub at: String,
    /// What they are ranked by.
    pub by: RankBy,
    /// How many there are in all.
    pub of: usize,
    /// The names of all items that are shown.
    pub items: Vec<String>,
    /// All reasons that are given.
    pub reasons: Vec<String>,
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
    /// The best that was not: a place in [`Recommendations::items`], the prediction, and a place in
    /// [`Recommendations::reasons`].
    pub best: Vec<(usize, f32, Option<usize>)>,
}

/// Recommendations to those with most entries.
pub(super) fn recommendations(model: &Model, data: &Problem) -> Result<Section<Recommendations>, Error> {
    let plain: Vec<usize> =
        (0..model.modes().len()).filter(|&mode| time_bin(&model.modes()[mode]).is_none()).collect();
    let [people, things, ..] = plain[..] else {
        return Ok(Section::Absent("There are no two modes other than times.".into()));
    };
    let counts = counts(model, data, people)?;
    let mut chosen: Vec<u32> = (0..counts.len() as u32).collect();
    chosen.sort_by_key(|&row| std::cmp::Reverse(counts[row as usize]));
    chosen.truncate(MOST_PEOPLE);
    let [whom, what] = [people, things].map(|mode| &model.modes()[mode]);
    if chosen.is_empty() || what.rows() == 0 {
        return Ok(Section::Absent("There is nothing to recommend.".into()));
    }
    let recommender = Recommender::new(model, people, things, &[])?.ranked_by(None)?.without_seen(data)?;
    let best = recommender.best(&chosen, SHOWN);
    let reasons = Reasons::new(&recommender, Some(data), 2)?;
    let why = reasons.explain(&chosen, &best);
    let mut seen = seen(model, data, (people, things), &chosen);

    let (mut items, mut words) = (Once::default(), Once::default());
    let mut list = Vec::new();
    for (place, (&row, best)) in chosen.iter().zip(&best).enumerate() {
        let mut reason = |reason: &Reason| words.place(cut(&reasons.words(reason)));
        let reasons = why[place].iter().map(|why| why.as_ref().map(&mut reason));
        let mut item = |row: u32| items.place(label(what, row as usize));
        let mut observed = seen.remove(&row).unwrap_or_default();
        observed.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        observed.truncate(KNOWN);
        list.push(Person {
            name: label(whom, row as usize),
            entries: counts[row as usize],
            known: observed.into_iter().map(|(row, value)| (item(row), value)).collect(),
            best: best
                .iter()
                .zip(reasons)
                .map(|(&Best { row, value, .. }, why)| (item(row), model.shown(value, None), why))
                .collect(),
        });
    }
    Ok(Section::Shown(Recommendations {
        people: cut(whom.name()),
        things: cut(what.name()),
        at: at(&recommender),
        by: recommender.rank_by(),
        of: counts.len(),
        items: items.names,
        reasons: words.names,
        list,
    }))
}

/// What stands for the other modes, in words.
fn at(recommender: &Recommender<'_>) -> String {
    let words = recommender.others().iter().map(|other| format!("for the average {}", cut(&other.mode)));
    words.collect::<Vec<_>>().join(" and ")
}

/// For each of those chosen, by the model's rows, what was observed of each item: its row and the mean value.
fn seen(
    model: &Model,
    data: &Problem,
    (people, things): (usize, usize),
    chosen: &[u32],
) -> HashMap<u32, Vec<(u32, f32)>> {
    let [own, of_things] = [people, things].map(|mode| rows(model, data, mode));
    let mut seen: HashMap<u32, HashMap<u32, (f32, f32)>> =
        chosen.iter().map(|&person| (person, HashMap::new())).collect();
    let entries = data.entries();
    let cells = entries.indices(people).iter().zip(entries.indices(things)).zip(entries.values());
    for ((&person, &thing), value) in cells {
        let thing = of_things[thing as usize];
        if let Some(own) = seen.get_mut(&own[person as usize])
            && (thing as usize) < model.modes()[things].rows()
        {
            let sum = own.entry(thing).or_insert((0.0, 0.0));
            *sum = (sum.0 + value, sum.1 + 1.0);
        }
    }
    let means = |own: HashMap<u32, (f32, f32)>| -> Vec<(u32, f32)> {
        own.into_iter().map(|(item, (sum, count))| (item, sum / count)).collect()
    };
    seen.into_iter().map(|(person, own)| (person, means(own))).collect()
}

/// Texts, each once.
#[derive(Default)]
struct Once {
    places: HashMap<String, usize>,
    names: Vec<String>,
}

impl Once {
    fn place(&mut self, name: String) -> usize {
        *self.places.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() - 1
        })
    }
}
