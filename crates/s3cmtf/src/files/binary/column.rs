//! From the values that a file has to those that are wanted, whatever its format.

use std::path::Path;

use s3cmtf_kernels::zeros;

use crate::Error;
use crate::parallel;
use crate::problem::first_place;
use crate::table::time::DateOrder;
use crate::table::{Column, ColumnType, Data, Empty, Labels, SKIP_EMPTY, Table, Want, is_empty_id, time};

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
    /// Values of which some are not there.
    Holes {
        /// All of them; what stands for those that are not there means nothing.
        values: Box<Raw>,
        /// The rows of those that are not there, ascending.
        rows: Vec<usize>,
    },
}

/// A value that cannot be used.
#[derive(Debug, PartialEq)]
pub(in crate::files) struct Fault {
    /// Its row, counted from 0.
    pub(in crate::files) row: usize,
    /// What is wrong with it.
    pub(in crate::files) what: String,
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
            Raw::Holes { values, .. } => values.len(),
        }
    }

    /// The same without values in these rows, ascending, beside those that have none already.
    pub(in crate::files) fn with_holes(self, rows: Vec<usize>) -> Self {
        if rows.is_empty() { self } else { Raw::Holes { values: Box::new(self), rows } }
    }

    fn without_holes(self) -> (Raw, Vec<usize>) {
        match self {
            Raw::Holes { values, rows } => (*values, rows),
            other => (other, Vec::new()),
        }
    }

    /// The rows without a value, ascending: holes, texts that are empty or not there, the smallest time, and NaN.
    pub(in crate::files) fn missing(&self) -> Vec<usize> {
        fn places<T>(values: &[T], is: impl Fn(&T) -> bool) -> Vec<usize> {
            values.iter().enumerate().filter(|(_, value)| is(value)).map(|(row, _)| row).collect()
        }
        match self {
            Raw::Signed(_) | Raw::Unsigned(_) => Vec::new(),
            Raw::Numbers(values) => places(values, |value| value.is_nan()),
            Raw::Texts { codes, labels } => {
                let is_empty: Vec<bool> = labels.iter().map(|label| is_empty_id(label.as_bytes())).collect();
                places(codes, |&code| is_empty.get(code as usize).copied().unwrap_or(true))
            }
            Raw::Times(values) => places(values, |&value| value == i64::MIN),
            Raw::Holes { values, rows } => {
                let mut all = values.missing();
                all.extend(rows);
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }

    /// The same without some rows, ascending.
    pub(in crate::files) fn without(self, rows: &[usize]) -> Self {
        fn kept<T>(values: Vec<T>, rows: &[usize]) -> Vec<T> {
            let mut left = rows.iter().copied().peekable();
            let is_kept = |(row, _): &(usize, T)| left.next_if_eq(row).is_none();
            values.into_iter().enumerate().filter(is_kept).map(|(_, value)| value).collect()
        }
        if rows.is_empty() {
            return self;
        }
        match self {
            Raw::Signed(values) => Raw::Signed(kept(values, rows)),
            Raw::Unsigned(values) => Raw::Unsigned(kept(values, rows)),
            Raw::Numbers(values) => Raw::Numbers(kept(values, rows)),
            Raw::Times(values) => Raw::Times(kept(values, rows)),
            Raw::Texts { codes, labels } => {
                // A label that only those rows have is none.
                let (codes, mut found) = (kept(codes, rows), Labels::new());
                let known = |&code: &u32| ((code as usize) < labels.len()).then(|| labels.get(code));
                let codes =
                    codes.iter().map(|code| known(code).map_or(u32::MAX, |name| found.id(name))).collect();
                Raw::Texts { codes, labels: found }
            }
            Raw::Holes { values, rows: holes } => {
                let before = |row: usize| rows.partition_point(|&other| other < row);
                let left = holes.iter().filter(|hole| rows.binary_search(hole).is_err());
                let moved = left.map(|&hole| hole - before(hole)).collect();
                values.without(rows).with_holes(moved)
            }
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
            Raw::Holes { values, .. } => values.shown(most),
        }
    }

    /// Appends the rows that come next; says whether they were of the same kind.
    #[cfg(feature = "arrow")]
    pub(super) fn append(&mut self, next: Raw) -> bool {
        let before = self.len();
        let (next, later) = next.without_holes();
        let (mut all, mut holes) = std::mem::replace(self, Raw::Signed(Vec::new())).without_holes();
        holes.extend(later.iter().map(|hole| before + hole));
        let fits = all.append_values(next);
        *self = all.with_holes(holes);
        fits
    }

    #[cfg(feature = "arrow")]
    fn append_values(&mut self, next: Raw) -> bool {
        match (self, next) {
            (Raw::Signed(all), Raw::Signed(next)) | (Raw::Times(all), Raw::Times(next)) => all.extend(next),
            (Raw::Unsigned(all), Raw::Unsigned(next)) => all.extend(next),
            (Raw::Numbers(all), Raw::Numbers(next)) => all.extend(next),
            (Raw::Texts { codes, labels }, Raw::Texts { codes: next, labels: names }) => {
                let moved: Vec<u32> = names.iter().map(|name| labels.id(name)).collect();
                codes.extend(next.iter().map(|&code| moved.get(code as usize).copied().unwrap_or(u32::MAX)));
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

/// The table of the wanted columns from the `raw` ones, of which `distinct` says the places, and the rows that were left out.
pub(super) fn table(
    path: &Path,
    names: &[String],
    (wants, empty): (&[Want], Empty),
    places: &[usize],
    distinct: &[usize],
    raw: Vec<Raw>,
) -> Result<(Table, Vec<usize>), Error> {
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
    let skipped = if empty == Empty::Skip { missing_in_any(&raw) } else { Vec::new() };
    let mut raw: Vec<Option<Raw>> = raw.into_iter().map(|values| Some(values.without(&skipped))).collect();
    let mut columns = Vec::with_capacity(wants.len());
    for (number, (want, place)) in wants.iter().zip(places).enumerate() {
        let slot = distinct.binary_search(place).ok().and_then(|slot| raw.get_mut(slot));
        let again = places[number + 1..].contains(place);
        let values = slot.and_then(|slot| if again { slot.clone() } else { slot.take() });
        let name = &names[*place];
        let values = values.ok_or_else(|| Error::file(path, format!("column {name:?} was not read")))?;
        let data = settle_with(values, want.kind, empty).map_err(|fault| at(path, name, fault))?;
        columns.push(Column { name: name.clone(), data });
    }
    Ok((Table { name: path.display().to_string(), columns }, skipped))
}

/// The rows in which any of the columns has no value.
pub(in crate::files) fn missing_in_any(columns: &[Raw]) -> Vec<usize> {
    let mut rows: Vec<usize> = columns.iter().flat_map(Raw::missing).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The error of a value that cannot be used.
pub(super) fn at(path: &Path, column: &str, fault: Fault) -> Error {
    Error::file(path, format!("column {column:?}, row {}: {}", fault.row + 1, fault.what))
}

/// Turns values into what they are read as; those that are not there are texts without a letter, or refused.
pub(in crate::files) fn settle_with(raw: Raw, kind: ColumnType, empty: Empty) -> Result<Data, Fault> {
    let missing = raw.missing();
    match missing.first() {
        None => settle(raw, kind),
        Some(_) if empty == Empty::Keep && kind == ColumnType::Id => Ok(with_empty_texts(raw, &missing)),
        Some(&row) => {
            let (count, of) = (missing.len(), raw.len());
            let what = format!("the value is missing, as in {count} of {of} rows ({SKIP_EMPTY})");
            Err(Fault { row, what })
        }
    }
}

/// Ids, of which those in some rows are the empty text.
fn with_empty_texts(raw: Raw, missing: &[usize]) -> Data {
    let rows = raw.len();
    let there = ids(raw.without(missing).without_holes().0).unwrap_or(Data::Integers(Vec::new()));
    let mut labels = Labels::new();
    let mut names = match &there {
        Data::Texts { codes, labels } => Box::new(codes.iter().map(|&code| labels.get(code).to_owned()))
            as Box<dyn Iterator<Item = String>>,
        Data::Integers(values) | Data::Times(values) => Box::new(values.iter().map(i64::to_string)),
        Data::Numbers(values) => Box::new(values.iter().map(f64::to_string)),
    };
    let mut holes = missing.iter().copied().peekable();
    let name = |row: usize| match holes.next_if_eq(&row) {
        Some(_) => labels.id(""),
        None => labels.id(&names.next().unwrap_or_default()),
    };
    let codes = (0..rows).map(name).collect();
    drop(names);
    Data::Texts { codes, labels }
}

/// Turns values that are all there into what they are read as.
pub(in crate::files) fn settle(raw: Raw, kind: ColumnType) -> Result<Data, Fault> {
    match kind {
        ColumnType::Id => ids(raw),
        ColumnType::Number => numbers(raw).map(Data::Numbers),
        ColumnType::Time => times(raw).map(Data::Times),
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
        Raw::Holes { values, .. } => ids(*values),
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
        Raw::Holes { values, .. } => numbers(*values),
    }
}

fn times(raw: Raw) -> Result<Vec<i64>, Fault> {
    match raw {
        Raw::Times(values) => Ok(values),
        // As in text: the size of a number says what it counts.
        Raw::Signed(mut values) => {
            parallel::change(&mut values, |_, value| *value = time::from_unix(*value));
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
        Raw::Texts { codes, labels } => {
            let order = DateOrder::infer(labels.iter());
            let parse = |text: &str| time::parse_in(text.as_bytes(), order);
            by_label(&codes, &labels, parse, "a time such as 2024-05-31 13:45:00")
        }
        Raw::Holes { values, .. } => times(*values),
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
        assert_eq!(
            settle(text(&["7", "-3", "0", "7"]), ColumnType::Id),
            Ok(Data::Integers(vec![7, -3, 0, 7]))
        );
        for odd in ["007", "+7", "-0", "", "-", "7.0", "9223372036854775808", "x"] {
            assert_eq!(shown(settle(text(&["7", odd]), ColumnType::Id).unwrap()), ["7", odd]);
        }
        assert_eq!(settle(Raw::Numbers(vec![3.0, -2.0]), ColumnType::Id), Ok(Data::Integers(vec![3, -2])));
        assert_eq!(shown(settle(Raw::Numbers(vec![3.0, 0.5]), ColumnType::Id).unwrap()), ["3", "0.5"]);
        let large = Raw::Unsigned(vec![1, u64::MAX]);
        assert_eq!(shown(settle(large, ColumnType::Id).unwrap()), ["1", "18446744073709551615"]);
        assert_eq!(
            shown(settle(Raw::Times(vec![86_400]), ColumnType::Id).unwrap()),
            ["1970-01-02T00:00:00Z"]
        );
    }

    #[test]
    fn what_is_no_number_is_named_with_its_row() {
        let fault = settle(Raw::Numbers(vec![1.0, f64::NAN]), ColumnType::Number).unwrap_err();
        assert_eq!(fault, Fault { row: 1, what: "NaN is not a finite number".into() });
        let fault = settle(text(&["1.5", "1e999"]), ColumnType::Number).unwrap_err();
        assert_eq!(fault.what, "\"1e999\" is not a finite number");
        assert_eq!(settle(text(&["1.5", "-2"]), ColumnType::Number), Ok(Data::Numbers(vec![1.5, -2.0])));
        assert_eq!(settle(text(&["1970-01-01 00:01:00"]), ColumnType::Time), Ok(Data::Times(vec![60])));
        assert_eq!(settle(text(&["soon"]), ColumnType::Time).unwrap_err().row, 0);
    }

    #[test]
    fn values_that_are_not_there_are_refused_or_empty_and_rows_can_be_left_out() {
        let holes = Raw::Signed(vec![7, 0, 9, 0]).with_holes(vec![1, 3]);
        let fault = settle_with(holes.clone(), ColumnType::Number, Empty::Refuse).unwrap_err();
        assert_eq!((fault.row, &fault.what[..32]), (1, "the value is missing, as in 2 of"));
        assert_eq!(
            shown(settle_with(holes.clone(), ColumnType::Id, Empty::Keep).unwrap()),
            ["7", "", "9", ""]
        );
        assert_eq!(holes.clone().without(&[1, 3]), Raw::Signed(vec![7, 9]));
        assert_eq!(holes.without(&[0]).missing(), [0, 2]);
        let names = text(&["ann", "NULL", "bob"]);
        assert_eq!(missing_in_any(&[names.clone(), Raw::Numbers(vec![1.0, 2.0, f64::NAN])]), [1, 2]);
        let Raw::Texts { codes, labels } = names.without(&[1, 2]) else { panic!() };
        assert_eq!((codes, labels.iter().collect::<Vec<_>>()), (vec![0], vec!["ann"]));
    }

    #[test]
    fn a_number_is_the_same_time_whatever_it_is_stored_as() {
        let (number, seconds) = (1_488_632_730_123, Ok(Data::Times(vec![1_488_632_730])));
        assert_eq!(settle(Raw::Signed(vec![number]), ColumnType::Time), seconds);
        assert_eq!(settle(Raw::Unsigned(vec![number.cast_unsigned()]), ColumnType::Time), seconds);
        assert_eq!(settle(Raw::Numbers(vec![number as f64]), ColumnType::Time), seconds);
        assert_eq!(settle(text(&["1488632730123"]), ColumnType::Time), seconds);
        assert_eq!(settle(Raw::Times(vec![number]), ColumnType::Time), Ok(Data::Times(vec![number])));
        let fault = settle(Raw::Unsigned(vec![u64::MAX]), ColumnType::Time).unwrap_err();
        assert_eq!(fault.what, "18446744073709551615 is too large for a unix time");
    }
}
