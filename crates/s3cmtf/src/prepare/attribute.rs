//! What a column of a table of attributes is: one value of many for each entity, a list of such, a number, a date, or nothing
//! that could be learnt from.

use hashbrown::HashSet;

use super::matrix::select;
use crate::table::time::{self, Bin, DateOrder};
use crate::table::{Bins, Column, ColumnType, Data, Labels, Table};

/// Whole numbers of more different values than this are amounts and not codes, unless their heading says so.
const CODES: usize = 20;
/// So few of them are codes, even if most rows have their own.
const FEW: usize = 5;
/// What separates the items of a list, in the order in which it is tried.
const SEPARATORS: [&str; 3] = ["|", ";", ","];
/// Words in headings of whole numbers that are names.
const NAMES: [&str; 5] = ["id", "code", "zip", "postal", "postcode"];

/// What a column says about entities.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    /// Each has one of its values.
    Category,
    /// Each has several, between which this stands.
    List(&'static str),
    /// Each has a number.
    Number,
    /// Each has a point in time, which are put together by this.
    Time(Bin),
    /// Each has it or not: 1 or 0.
    Indicator,
    /// Nothing is learnt from it, for a reason.
    Nothing(&'static str),
}

/// The distinct values of a column that are not empty, each with how many rows have it.
struct Values<'a> {
    texts: Vec<(&'a str, usize)>,
    rows: usize,
}

impl Attribute {
    /// What a column is, whose values were read as ids; `guess` is what its first rows look like.
    pub(crate) fn new(column: &Column, guess: ColumnType) -> Attribute {
        let texts = as_texts(&column.data);
        let Data::Texts { codes, labels } = &texts else { return Attribute::Nothing("has no values") };
        let mut counts = vec![0; labels.len()];
        codes.iter().for_each(|&code| counts[code as usize] += 1);
        let there = labels.iter().zip(counts).filter(|(label, count)| !label.is_empty() && *count > 0);
        let texts: Vec<(&str, usize)> = there.collect();
        let rows = texts.iter().map(|(_, count)| count).sum();
        Values { texts, rows }.attribute(&column.name, guess)
    }
}

impl Values<'_> {
    fn attribute(&self, heading: &str, guess: ColumnType) -> Attribute {
        let all = |holds: &dyn Fn(&str) -> bool| self.texts.iter().all(|(text, _)| holds(text));
        match self.texts.len() {
            0 => return Attribute::Nothing("is empty"),
            1 => return Attribute::Nothing("has the same value in each row"),
            _ => {}
        }
        if all(&|text| indicator(text).is_some()) {
            return Attribute::Indicator;
        }
        if all(&|text| number(text, guess == ColumnType::Number).is_some()) {
            let whole = all(&|text| text.parse::<i64>().is_ok());
            let is_name = whole && named(heading, &NAMES);
            return match guess {
                ColumnType::Time => Attribute::Time(Bin::Year),
                _ if is_name && self.is_of_its_own() => Attribute::Nothing("nearly every row has its own"),
                _ if is_name => Attribute::Category,
                _ if !whole || guess == ColumnType::Number || self.texts.len() > CODES => Attribute::Number,
                // Codes come again.
                _ if self.texts.len() > FEW && self.is_of_its_own() => Attribute::Number,
                _ => Attribute::Category,
            };
        }
        let order = DateOrder::infer(self.texts.iter().map(|(text, _)| *text));
        if all(&|text| time::parse_in(text.as_bytes(), order).is_some()) {
            return Attribute::Time(Bin::Year);
        }
        if let Some(separator) = SEPARATORS.into_iter().find(|separator| self.are_lists(separator)) {
            return Attribute::List(separator);
        }
        if self.is_of_its_own() {
            return Attribute::Nothing("nearly every row has its own");
        }
        Attribute::Category
    }

    /// Whether most rows have a value that no other has.
    fn is_of_its_own(&self) -> bool {
        self.texts.len() * 2 > self.rows
    }

    /// Whether values are lists: their parts come again in others. A comma is in many texts, so that its parts have to come
    /// again more often.
    fn are_lists(&self, separator: &str) -> bool {
        let lists = self.texts.iter().filter(|(text, _)| text.contains(separator));
        if lists.count() == 0 {
            return false;
        }
        let parts = self.texts.iter().flat_map(|(text, _)| parts(text, separator));
        let (mut distinct, mut count) = (HashSet::new(), 0);
        parts.for_each(|part| {
            distinct.insert(part);
            count += 1;
        });
        if separator == "," { distinct.len() * 2 < self.texts.len() } else { distinct.len() < count }
    }
}

/// The items of a list.
fn parts<'a>(list: &'a str, separator: &'a str) -> impl Iterator<Item = &'a str> {
    list.split(separator).map(str::trim).filter(|part| !part.is_empty())
}

/// The separator of lists of which some item is known.
pub(crate) fn known_separator(column: &Column, known: impl Fn(&str) -> bool) -> Option<&'static str> {
    let texts = as_texts(&column.data);
    let Data::Texts { labels, .. } = &texts else { return None };
    let is_known = |separator: &&'static str| {
        let mut lists = labels.iter().filter(|label| label.contains(*separator) && !known(label));
        lists.any(|list| parts(list, separator).any(&known))
    };
    SEPARATORS.into_iter().find(is_known)
}

fn named(heading: &str, words: &[&str]) -> bool {
    let heading = heading.to_lowercase();
    words.iter().any(|word| heading.ends_with(word))
}

/// Whether an entity has something, if that is what a value says.
fn indicator(text: &str) -> Option<bool> {
    match text {
        "0" | "false" | "False" | "FALSE" => Some(false),
        "1" | "true" | "True" | "TRUE" => Some(true),
        _ => None,
    }
}

/// A finite number; decimals may follow a comma if `comma` says so.
fn number(text: &str, comma: bool) -> Option<f64> {
    let parse = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
    parse(text).or_else(|| if comma { parse(&text.replacen(',', ".", 1)) } else { None })
}

fn as_texts(data: &Data) -> Data {
    let mut data = data.clone();
    data.make_texts();
    data
}

/// The bins that times are put together by.
pub(crate) fn bins(attribute: &Attribute) -> Option<Bins> {
    match attribute {
        Attribute::Time(bin) => Some(Bins::Time(*bin)),
        _ => None,
    }
}

/// The rows of a table in which neither of two columns is empty, the second one as what it is.
pub(crate) fn filled(table: &str, row: &Column, column: &Column, attribute: &Attribute) -> Table {
    let texts = as_texts(&column.data);
    let ids = row.data.clone();
    let mut places = Vec::new();
    let mut data = Data::Integers(Vec::new());
    if let Data::Texts { codes, labels } = texts {
        let rows_there = there(&row.data);
        let values: Vec<Option<f64>> = match attribute {
            Attribute::Number => labels.iter().map(|label| number(label, true)).collect(),
            Attribute::Time(_) => {
                let order = DateOrder::infer(labels.iter());
                let time = |label: &str| time::parse_in(label.as_bytes(), order);
                labels.iter().map(|label| time(label).map(|time| time as f64)).collect()
            }
            Attribute::Indicator => {
                labels.iter().map(|label| indicator(label).filter(|&has| has).map(|_| 1.0)).collect()
            }
            _ => labels.iter().map(|label| (!label.is_empty()).then_some(1.0)).collect(),
        };
        let is_there = |place: usize| rows_there[place] && values[codes[place] as usize].is_some();
        places = (0..codes.len()).filter(|&place| is_there(place)).map(|place| place as u32).collect();
        let taken: Vec<u32> = places.iter().map(|&place| codes[place as usize]).collect();
        let value = |&code: &u32| values[code as usize].unwrap_or_default();
        data = match attribute {
            Attribute::Number => Data::Numbers(taken.iter().map(value).collect()),
            Attribute::Time(_) => Data::Times(taken.iter().map(|code| value(code) as i64).collect()),
            Attribute::Indicator => {
                Data::Texts { codes: vec![0; taken.len()], labels: [column.name.as_str()].iter().collect() }
            }
            _ => {
                // The empty text is no label.
                let mut own = Labels::new();
                let codes = taken.iter().map(|&code| own.id(labels.get(code))).collect();
                Data::Texts { codes, labels: own }
            }
        };
    }
    let ids = picked(&ids, &places);
    Table {
        name: table.to_owned(),
        columns: vec![
            Column { name: row.name.clone(), data: ids },
            Column { name: column.name.clone(), data },
        ],
    }
}

/// For each row whether its id is not empty.
fn there(data: &Data) -> Vec<bool> {
    match data {
        Data::Texts { codes, labels } => codes.iter().map(|&code| !labels.get(code).is_empty()).collect(),
        other => vec![true; other.len()],
    }
}

/// The rows at some places; ids that only others have are none.
fn picked(data: &Data, places: &[u32]) -> Data {
    match select(data, places) {
        Data::Texts { codes, labels } => {
            let mut own = Labels::new();
            let codes: Vec<u32> = codes.iter().map(|&code| own.id(labels.get(code))).collect();
            // Numbers that were texts only because of a row without one.
            let whole = |label: &str| label.parse().ok().filter(|number: &i64| number.to_string() == label);
            match own.iter().map(whole).collect::<Option<Vec<i64>>>() {
                Some(numbers) => Data::Integers(codes.iter().map(|&code| numbers[code as usize]).collect()),
                None => Data::Texts { codes, labels: own },
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, values: &[&str]) -> Column {
        let mut labels = Labels::new();
        let codes = values.iter().map(|value| labels.id(value)).collect();
        Column { name: name.into(), data: Data::Texts { codes, labels } }
    }

    #[test]
    fn columns_are_taken_for_what_they_are() {
        let ages: Vec<String> = (18..60).map(|age| age.to_string()).collect();
        let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
        let titles = ["Up", "Alien, The", "Heat", "It", ""];
        let places = ["Dallas, TX", "Austin, TX", "Dallas, TX", "Austin, TX", "Reno, NV", "Reno, NV"];
        let pairs = ["a, b", "b, c", "a, c", "c, a", "b, a", "c, b", "a"];
        for (name, values, guess, what) in [
            ("gender", &["f", "m", "", "m", "f"][..], ColumnType::Id, Attribute::Category),
            ("job", &["3", "7", "3", "7", "9"], ColumnType::Id, Attribute::Category),
            ("age", &ages, ColumnType::Id, Attribute::Number),
            (
                "height",
                &["1.7", "", "1.7"],
                ColumnType::Number,
                Attribute::Nothing("has the same value in each row"),
            ),
            ("height", &["1,70", "", "1,82"], ColumnType::Number, Attribute::Number),
            ("zip_code", &["10115", "10117", "10115", "10117"], ColumnType::Id, Attribute::Category),
            ("genres", &["Drama|Crime", "Crime", "Drama"], ColumnType::Id, Attribute::List("|")),
            ("tags", &pairs, ColumnType::Id, Attribute::List(",")),
            ("place", &places, ColumnType::Id, Attribute::Category),
            ("title", &titles, ColumnType::Id, Attribute::Nothing("nearly every row has its own")),
            ("joined", &["2016-04-01", "2017-05-02"], ColumnType::Time, Attribute::Time(Bin::Year)),
            ("Western", &["0", "1", "0"], ColumnType::Id, Attribute::Indicator),
            ("none", &["", ""], ColumnType::Id, Attribute::Nothing("is empty")),
        ] {
            assert_eq!(Attribute::new(&column(name, values), guess), what, "{name}");
        }
        let of = |name: &str, values: Vec<i64>| {
            Attribute::new(&Column { name: name.into(), data: Data::Integers(values) }, ColumnType::Id)
        };
        assert_eq!(of("job", vec![3, 7, 3]), Attribute::Category);
        assert_eq!(of("age", (18..38).collect()), Attribute::Number);
    }

    #[test]
    fn rows_without_an_id_or_a_value_are_left_out() {
        let rows = column("user", &["ann", "bob", "", "eve"]);
        let filled = |column: &Column, attribute| filled("users", &rows, column, &attribute);
        let ages = filled(&column("age", &["20", "", "30", "1,5"]), Attribute::Number);
        assert_eq!(ages.columns[1].data, Data::Numbers(vec![20.0, 1.5]));
        let Data::Texts { codes, labels } = &ages.columns[0].data else { panic!() };
        assert_eq!((codes.as_slice(), labels.iter().collect::<Vec<_>>()), (&[0, 1][..], vec!["ann", "eve"]));
        let has = filled(&column("Western", &["0", "1", "1", "1"]), Attribute::Indicator);
        assert_eq!(has.columns[1].data.len(), 2);
        let known = |text: &str| text == "Crime";
        assert_eq!(known_separator(&column("genres", &["Noir|Crime"]), known), Some("|"));
        assert_eq!(known_separator(&column("genres", &["Crime"]), known), None);
    }
}
