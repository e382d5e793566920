//! From the values that a file has to those that are wanted, whatever its format.

use std::path::Path;

use rayon::prelude::*;
use s3cmtf_kernels::zeros;

use crate::Error;
use crate::problem::first_place;
use crate::table::Labels;
use crate::table::{Column, Data, Kind, Table, Want, time};

/// A thread copies at least so many values: fewer are copied by the time that it has started.
const COPIED: usize = 1 << 17;

/// The values of a column as its file has them.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// Whole numbers.
    Signed(Vec<i64>),
    /// Whole numbers, of which some may be beyond the signed ones.
    Unsigned(Vec<u64>),
    /// Numbers, which may be infinite or none.
    Numbers(Vec<f64>),
    /// Texts by their codes.
    Texts {
        /// One per row.
        codes: Vec<u32>,
        /// The distinct texts.
        labels: Labels,
    },
    /// Seconds since 1970.
    Times(Vec<i64>),
}

/// A value that cannot be used.
#[derive(Debug, PartialEq)]
pub(in crate::files) struct Fault {
    /// Its row, counted from 0.
    pub(in crate::files) row: usize,
    /// What is wrong with it.
    pub(in crate::files) what: String,
}

impl Fault {
    pub(in crate::files) fn missing(row: usize) -> Self {
        Fault { row, what: "the value is missing".into() }
    }
}

impl Raw {
    /// Texts by their codes among labels, which may be any: a code without a label is a missing value. `None` if two labels
    /// are the same.
    pub fn of_texts(codes: Vec<u32>, labels: &[String]) -> Option<Self> {
        let known: Labels = labels.iter().collect();
        (known.len() == labels.len()).then_some(Raw::Texts { codes, labels: known })
    }

    /// Whole numbers that are someone else's.
    pub fn of_signed(values: &[i64]) -> Self {
        Raw::Signed(copied(values))
    }

    /// Seconds since 1970 that are someone else's.
    pub fn of_times(values: &[i64]) -> Self {
        Raw::Times(copied(values))
    }

    /// Numbers that are someone else's.
    pub fn of_numbers(values: &[f64]) -> Self {
        Raw::Numbers(copied(values))
    }

    pub(in crate::files) fn len(&self) -> usize {
        match self {
            Raw::Signed(values) | Raw::Times(values) => values.len(),
            Raw::Unsigned(values) => values.len(),
            Raw::Numbers(values) => values.len(),
            Raw::Texts { codes, .. } => codes.len(),
        }
    }

    /// The first values as texts, at most so many.
    pub(in crate::files) fn shown(&self, most: usize) -> Vec<String> {
        match self {
            Raw::Signed(values) => values.iter().take(most).map(i64::to_string).collect(),
            Raw::Unsigned(values) => values.iter().take(most).map(u64::to_string).collect(),
            Raw::Numbers(values) => values.iter().take(most).map(f64::to_string).collect(),
            Raw::Texts { codes, labels } => {
                codes.iter().take(most).map(|&code| labels.get(code).to_owned()).collect()
            }
            Raw::Times(values) => values.iter().take(most).map(|&time| time::iso::format(time)).collect(),
        }
    }

    /// Appends the rows that come next; says whether they were of the same kind.
    #[cfg(feature = "arrow")]
    pub(super) fn append(&mut self, next: Raw) -> bool {
        match (self, next) {
            (Raw::Signed(all), Raw::Signed(next)) | (Raw::Times(all), Raw::Times(next)) => all.extend(next),
            (Raw::Unsigned(all), Raw::Unsigned(next)) => all.extend(next),
            (Raw::Numbers(all), Raw::Numbers(next)) => all.extend(next),
            (Raw::Texts { codes, labels }, Raw::Texts { codes: next, labels: names }) => {
                let moved: Vec<u32> = names.iter().map(|name| labels.id(name)).collect();
                codes.extend(next.iter().map(|&code| moved[code as usize]));
            }
            _ => return false,
        }
        true
    }
}

/// A copy, which several threads make. They are not those of rayon: who waits for such may take up other work meanwhile, and
/// whose values these are may hold a lock that such work needs.
fn copied<T: Copy + Default + Send + Sync>(values: &[T]) -> Vec<T> {
    let mut own = zeros(values.len());
    let each = values.len().div_ceil(rayon::current_num_threads()).max(COPIED);
    std::thread::scope(|scope| {
        let mut parts = own.chunks_mut(each).zip(values.chunks(each));
        let first = parts.next();
        for (own, values) in parts {
            scope.spawn(|| own.copy_from_slice(values));
        }
        if let Some((own, values)) = first {
            own.copy_from_slice(values);
        }
    });
    own
}

/// The distinct places, ascending: a column that is wanted twice is read once.
pub(super) fn distinct(places: &[usize]) -> Vec<usize> {
    let mut distinct = places.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// The table of the wanted columns from the `raw` ones, of which `distinct` says the places.
pub(super) fn table(
    path: &Path,
    names: &[String],
    wants: &[Want],
    places: &[usize],
    distinct: &[usize],
    raw: Vec<Raw>,
) -> Result<Table, Error> {
    if let Some(other) = raw.iter().position(|column| column.len() != raw[0].len()) {
        return Err(Error::file(
            path,
            format!(
                "column {:?} has {} values, but column {:?} has {}",
                names[distinct[0]],
                raw[0].len(),
                names[distinct[other]],
                raw[other].len()
            ),
        ));
    }
    let mut raw: Vec<Option<Raw>> = raw.into_iter().map(Some).collect();
    let mut columns = Vec::with_capacity(wants.len());
    for (number, (want, place)) in wants.iter().zip(places).enumerate() {
        let slot = distinct.binary_search(place).ok().and_then(|slot| raw.get_mut(slot));
        let again = places[number + 1..].contains(place);
        let values = slot.and_then(|slot| if again { slot.clone() } else { slot.take() });
        let name = &names[*place];
        let values = values.ok_or_else(|| Error::file(path, format!("column {name:?} was not read")))?;
        let data = settle(values, want.kind).map_err(|fault| at(path, name, fault))?;
        columns.push(Column { name: name.clone(), data });
    }
    Ok(Table { name: path.display().to_string(), columns })
}

/// The error of a value that cannot be used.
pub(super) fn at(path: &Path, column: &str, fault: Fault) -> Error {
    Error::file(path, format!("column {column:?}, row {}: {}", fault.row + 1, fault.what))
}

/// Turns values into what they are read as.
pub(in crate::files) fn settle(raw: Raw, kind: Kind) -> Result<Data, Fault> {
    match kind {
        Kind::Id => ids(raw),
        Kind::Number => numbers(raw).map(Data::Numbers),
        Kind::Time => times(raw).map(Data::Times),
    }
}

fn ids(raw: Raw) -> Result<Data, Fault> {
    match raw {
        Raw::Signed(values) => Ok(Data::Integers(values)),
        Raw::Unsigned(values) => {
            let signed: Option<Vec<i64>> = values.iter().map(|&value| i64::try_from(value).ok()).collect();
            Ok(signed.map_or_else(|| texts(values.iter().map(u64::to_string)), Data::Integers))
        }
        Raw::Numbers(values) => {
            finite(&values)?;
            // Beyond 2^53 neighbours fall together: such ids are already damaged, but equal ones are still equal.
            let whole = |&value: &f64| (value.fract() == 0.0 && value.abs() < 9.0e18).then_some(value as i64);
            let integers: Option<Vec<i64>> = values.iter().map(whole).collect();
            Ok(integers.map_or_else(|| texts(values.iter().map(f64::to_string)), Data::Integers))
        }
        Raw::Texts { codes, labels } => {
            let integers: Option<Vec<i64>> = labels.iter().map(canonical_integer).collect();
            Ok(match integers {
                Some(integers) => Data::Integers(codes.iter().map(|&code| integers[code as usize]).collect()),
                None => Data::Texts { codes, labels },
            })
        }
        Raw::Times(values) => Ok(texts(values.iter().map(|&seconds| time::iso::format(seconds)))),
    }
}

/// A whole number that is written as such numbers are.
fn canonical_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if plain { text.parse().ok() } else { None }
}

fn texts(values: impl Iterator<Item = String>) -> Data {
    let mut labels = Labels::new();
    let codes = values.map(|text| labels.id(&text)).collect();
    Data::Texts { codes, labels }
}

fn finite(values: &[f64]) -> Result<(), Fault> {
    match first_place(values, |value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Fault { row, what: format!("{} is not a finite number", values[row]) }),
    }
}

fn numbers(raw: Raw) -> Result<Vec<f64>, Fault> {
    match raw {
        Raw::Signed(values) | Raw::Times(values) => {
            Ok(values.into_iter().map(|value| value as f64).collect())
        }
        Raw::Unsigned(values) => Ok(values.into_iter().map(|value| value as f64).collect()),
        Raw::Numbers(values) => finite(&values).map(|()| values),
        Raw::Texts { codes, labels } => {
            let number = |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
            by_label(&codes, &labels, number, "a finite number")
        }
    }
}

fn times(raw: Raw) -> Result<Vec<i64>, Fault> {
    match raw {
        Raw::Times(values) => Ok(values),
        // As in text: the size of a number says what it counts.
        Raw::Signed(mut values) => {
            values.par_iter_mut().for_each(|value| *value = time::from_unix(*value));
            Ok(values)
        }
        Raw::Unsigned(values) => {
            let seconds = |(row, value): (usize, u64)| {
                i64::try_from(value)
                    .map(time::from_unix)
                    .map_err(|_| Fault { row, what: format!("{value} is too large for a unix time") })
            };
            values.into_iter().enumerate().map(seconds).collect()
        }
        Raw::Numbers(values) => {
            finite(&values)?;
            Ok(values.into_iter().map(|value| time::from_unix(value.floor() as i64)).collect())
        }
        Raw::Texts { codes, labels } => by_label(
            &codes,
            &labels,
            |text| time::parse(text.as_bytes()),
            "a time such as 2024-05-31 13:45:00",
        ),
    }
}

/// Reads each distinct text once.
fn by_label<T: Copy>(
    codes: &[u32],
    labels: &Labels,
    read: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<Vec<T>, Fault> {
    let read: Vec<Option<T>> = labels.iter().map(read).collect();
    let value = |(row, &code): (usize, &u32)| {
        read[code as usize].ok_or_else(|| {
            let shown: String = labels.get(code).chars().take(40).collect();
            Fault { row, what: format!("{shown:?} is not {expected}") }
        })
    };
    codes.iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(texts: &[&str]) -> Raw {
        let mut labels = Labels::new();
        Raw::Texts { codes: texts.iter().map(|text| labels.id(text)).collect(), labels }
    }

    fn shown(data: Data) -> Vec<String> {
        match data {
            Data::Texts { codes, labels } => codes.iter().map(|&code| labels.get(code).to_owned()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ids_are_integers_only_where_no_text_is_lost() {
        assert_eq!(settle(text(&["7", "-3", "0", "7"]), Kind::Id), Ok(Data::Integers(vec![7, -3, 0, 7])));
        for odd in ["007", "+7", "-0", "", "-", "7.0", "9223372036854775808", "x"] {
            assert_eq!(shown(settle(text(&["7", odd]), Kind::Id).unwrap()), ["7", odd]);
        }
        assert_eq!(settle(Raw::Numbers(vec![3.0, -2.0]), Kind::Id), Ok(Data::Integers(vec![3, -2])));
        assert_eq!(shown(settle(Raw::Numbers(vec![3.0, 0.5]), Kind::Id).unwrap()), ["3", "0.5"]);
        let large = Raw::Unsigned(vec![1, u64::MAX]);
        assert_eq!(shown(settle(large, Kind::Id).unwrap()), ["1", "18446744073709551615"]);
        assert_eq!(shown(settle(Raw::Times(vec![86_400]), Kind::Id).unwrap()), ["1970-01-02T00:00:00Z"]);
    }

    #[test]
    fn what_is_no_number_is_named_with_its_row() {
        let fault = settle(Raw::Numbers(vec![1.0, f64::NAN]), Kind::Number).unwrap_err();
        assert_eq!(fault, Fault { row: 1, what: "NaN is not a finite number".into() });
        let fault = settle(text(&["1.5", "1e999"]), Kind::Number).unwrap_err();
        assert_eq!(fault.what, "\"1e999\" is not a finite number");
        assert_eq!(settle(text(&["1.5", "-2"]), Kind::Number), Ok(Data::Numbers(vec![1.5, -2.0])));
        assert_eq!(settle(text(&["1970-01-01 00:01:00"]), Kind::Time), Ok(Data::Times(vec![60])));
        assert_eq!(settle(text(&["soon"]), Kind::Time).unwrap_err().row, 0);
    }

    #[test]
    fn a_number_is_the_same_time_whatever_it_is_stored_as() {
        let (number, seconds) = (1_488_632_730_123, Ok(Data::Times(vec![1_488_632_730])));
        assert_eq!(settle(Raw::Signed(vec![number]), Kind::Time), seconds);
        assert_eq!(settle(Raw::Unsigned(vec![number.cast_unsigned()]), Kind::Time), seconds);
        assert_eq!(settle(Raw::Numbers(vec![number as f64]), Kind::Time), seconds);
        assert_eq!(settle(text(&["1488632730123"]), Kind::Time), seconds);
        assert_eq!(settle(Raw::Times(vec![number]), Kind::Time), Ok(Data::Times(vec![number])));
        let fault = settle(Raw::Unsigned(vec![u64::MAX]), Kind::Time).unwrap_err();
        assert_eq!(fault.what, "18446744073709551615 is too large for a unix time");
    }
}
