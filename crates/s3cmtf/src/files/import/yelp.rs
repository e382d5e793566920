//! The Yelp open dataset: one JSON object per line, of which only a few fields are looked at.

use std::path::Path;

use serde::Deserialize;

use super::archive::visit;
use super::labels::{Thing, label};
use super::lines::{Lines, moment};
use super::{Coupling, Dataset, Imported, Once, table};
use crate::Error;
use crate::table::{Data, Labels};

/// Categories that have commas themselves, between which texts have commas too.
const WITH_COMMAS: [&str; 4] = [
    "Beer, Wine & Spirits",
    "Books, Mags, Music & Video",
    "Used, Vintage & Consignment",
    "Wills, Trusts, & Probates",
];

const FILES: [&str; 3] = ["review.json", "user.json", "business.json"];

#[derive(Deserialize)]
struct Review<'a> {
    #[serde(borrow)]
    user_id: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    business_id: std::borrow::Cow<'a, str>,
    stars: f64,
    #[serde(borrow)]
    date: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct User<'a> {
    #[serde(borrow)]
    user_id: std::borrow::Cow<'a, str>,
    friends: Option<List>,
}

#[derive(Deserialize)]
struct Business<'a> {
    #[serde(borrow)]
    business_id: std::borrow::Cow<'a, str>,
    name: Option<String>,
    city: Option<String>,
    categories: Option<List>,
}

/// Old releases have lists, new ones texts with commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum List {
    Many(Vec<String>),
    Text(String),
}

impl List {
    fn each(&self, mut work: impl FnMut(&str)) {
        let mut work = |text: &str| {
            if !text.is_empty() && text != "None" {
                work(text);
            }
        };
        match self {
            List::Many(texts) => texts.iter().for_each(|text| work(text.trim())),
            List::Text(text) => {
                let mut rest = text.trim_start();
                while !rest.is_empty() {
                    let whole = |name: &&&str| {
                        rest.strip_prefix(**name)
                            .is_some_and(|behind| behind.is_empty() || behind.starts_with(','))
                    };
                    let end = match WITH_COMMAS.iter().find(whole) {
                        Some(name) => name.len(),
                        None => rest.find(',').unwrap_or(rest.len()),
                    };
                    work(rest[..end].trim());
                    rest = rest[end..].trim_start_matches(',').trim_start();
                }
            }
        }
    }
}

/// Ids of users and businesses become numbers at once; what those stand for may come later, in any order of the files.
#[derive(Default)]
struct Read {
    users: Labels,
    /// Whether a user is in the file of users, and whether in that of reviews.
    listed: Vec<bool>,
    active: Vec<bool>,
    businesses: Labels,
    reviewers: Vec<u32>,
    reviewed: Vec<u32>,
    stars: Vec<f64>,
    dates: Vec<i64>,
    friendships: Vec<(u32, u32)>,
    /// A business by its number, its name, its city, its categories.
    described: Vec<(u32, String, String, Vec<u32>)>,
    categories: Labels,
}

/// Reads a release of any year.
pub(super) fn read(path: &Path) -> Result<Imported, Error> {
    let mut read = Read::default();
    let mut seen: [Once; 3] = Default::default();
    let role = |name: &str| FILES.iter().position(|file| name.ends_with(file));
    let is_archive = |name: &str| {
        name.contains("yelp") && [".tar", ".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
    };
    let wanted = |name: &str| (role(name).is_some() && !name.starts_with("._")) || is_archive(name);
    visit(path, &wanted, &mut |name, path, reader| {
        let Some(role) = role(name) else { return Ok(()) };
        seen[role].see(path)?;
        let lines = Lines::new(path, reader);
        match role {
            0 => lines.each(|_, line| read.review(line)),
            1 => lines.each(|_, line| read.user(line)),
            _ => lines.each(|_, line| read.business(line)),
        }
    })?;
    if let Some((file, _)) = FILES.iter().zip(&seen).find(|(_, seen)| !seen.is_there()) {
        return Err(Dataset::Yelp.lacks(path, &format!("file whose name ends with {file}")));
    }
    Ok(read.finish())
}

fn parse<'a, T: Deserialize<'a>>(line: &'a [u8], what: &str) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| format!("is not the JSON of a {what}: {error}"))
}

fn set(flags: &mut Vec<bool>, place: u32) {
    let place = place as usize;
    if flags.len() <= place {
        flags.resize(place + 1, false);
    }
    flags[place] = true;
}

fn has(flags: &[bool], place: u32) -> bool {
    flags.get(place as usize).copied().unwrap_or(false)
}

impl Read {
    fn review(&mut self, line: &[u8]) -> Result<(), String> {
        let review: Review = parse(line, "review")?;
        let date = moment(review.date.as_bytes(), "date")?;
        let user = self.users.id(&review.user_id);
        set(&mut self.active, user);
        self.reviewers.push(user);
        self.reviewed.push(self.businesses.id(&review.business_id));
        self.stars.push(review.stars);
        self.dates.push(date);
        Ok(())
    }

    fn user(&mut self, line: &[u8]) -> Result<(), String> {
        let User { user_id, friends } = parse(line, "user")?;
        let user = self.users.id(&user_id);
        set(&mut self.listed, user);
        if let Some(friends) = friends {
            friends.each(|friend| self.friendships.push((user, self.users.id(friend))));
        }
        Ok(())
    }

    fn business(&mut self, line: &[u8]) -> Result<(), String> {
        let business: Business = parse(line, "business")?;
        let mut categories = Vec::new();
        if let Some(list) = &business.categories {
            list.each(|category| categories.push(self.categories.id(category)));
        }
        let trimmed = |text: Option<String>| text.map_or_else(String::new, |text| text.trim().to_owned());
        let number = self.businesses.id(&business.business_id);
        self.described.push((number, trimmed(business.name), trimmed(business.city), categories));
        Ok(())
    }

    fn finish(mut self) -> Imported {
        let mut notes = Vec::new();
        let mut note = |count: usize, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        let count =
            |holds: &dyn Fn(u32) -> bool| (0..self.users.len() as u32).filter(|&id| holds(id)).count();
        let (listed, active) = (&self.listed, &self.active);
        note(
            count(&|id| has(listed, id) && !has(active, id)),
            "users have no review; those with friends are in friends",
        );
        note(
            count(&|id| has(active, id) && !has(listed, id)),
            "users of reviews are not in the file of users; their reviews are kept",
        );
        let before = self.friendships.len();
        self.friendships.retain(|&(_, friend)| has(listed, friend) || has(active, friend));
        note(before - self.friendships.len(), "friendships with someone who is no user were left out");

        let mut things: Vec<Thing> = (self.businesses.iter())
            .map(|id| Thing { id: id.to_owned(), name: String::new(), hint: String::new() })
            .collect();
        let mut known = Vec::new();
        for (number, name, city, _) in &self.described {
            set(&mut known, *number);
            things[*number as usize].name.clone_from(name);
            things[*number as usize].hint.clone_from(city);
        }
        note(
            (0..things.len() as u32).filter(|&number| !has(&known, number)).count(),
            "businesses of reviews are not in the file of businesses: they go by their id",
        );
        let businesses: Labels = label(&things).into_iter().collect();
        drop(things);

        let (mut of_category, mut category, mut of_city, mut city, mut cities) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Labels::new());
        for (number, _, place, categories) in &self.described {
            of_category.extend(categories.iter().map(|_| *number));
            category.extend_from_slice(categories);
            if !place.is_empty() {
                of_city.push(*number);
                city.push(cities.id(place));
            }
        }
        let texts = |codes: Vec<u32>, labels: &Labels| Data::Texts { codes, labels: labels.clone() };
        let (user, friend) = self.friendships.into_iter().unzip();
        let tables = vec![
            table(
                "ratings",
                [
                    ("user", texts(self.reviewers, &self.users)),
                    ("business", texts(self.reviewed, &businesses)),
                    ("stars", Data::Numbers(self.stars)),
                    ("date", Data::Times(self.dates)),
                ],
            ),
            table("friends", [("user", texts(user, &self.users)), ("friend", texts(friend, &self.users))]),
            table(
                "categories",
                [
                    ("business", texts(of_category, &businesses)),
                    ("category", texts(category, &self.categories)),
                ],
            ),
            table("cities", [("business", texts(of_city, &businesses)), ("city", texts(city, &cities))]),
        ];
        let coupling = |mode, table, words| Coupling { mode, table, words };
        Imported {
            tables,
            modes: "user,business,date:month",
            value: "stars",
            couplings: vec![
                coupling("user", "friends", ":user,friend,graph"),
                coupling("business", "categories", ":business,category,zeros"),
                coupling("business", "cities", ":business,city,zeros"),
            ],
            notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_a_category_do_not_split_it() {
        let each = |text: &str| {
            let mut found = Vec::new();
            List::Text(text.into()).each(|text| found.push(text.to_owned()));
            found
        };
        assert_eq!(
            each("Food, Beer, Wine & Spirits, Books, Mags, Music & Video,Bars"),
            ["Food", "Beer, Wine & Spirits", "Books, Mags, Music & Video", "Bars"]
        );
        assert_eq!(each("Beer, Wine"), ["Beer", "Wine"]);
        assert_eq!(each("Beer, Wine & Spirits of old"), ["Beer", "Wine & Spirits of old"]);
        for none in ["", " ", "None", ", ,"] {
            assert!(each(none).is_empty(), "{none:?}");
        }
    }
}
