//! What a column probably holds, so that flags can be suggested.

use super::number::{is_infinite, parse_integer, parse_number};
use crate::table::{ColumnType, time};

/// Headings, or parts of them, of columns that are points in time, and of columns that are numbers.
const TIMES: [&str; 6] = ["time", "date", "stamp", "when", "year", "month"];
const NUMBERS: [&str; 13] = [
    "rating", "score", "stars", "value", "count", "weight", "price", "amount", "quantity", "plays", "visits",
    "grade", "label",
];

/// Unix times between 1985 and 2096 in seconds, which few ids are.
pub(super) const RECENT: std::ops::Range<i64> = 473_385_600..4_000_000_000;

/// What a column probably holds; `heading` is none where the file has none.
///
/// Dates are times, numbers with decimals are numbers; whole numbers are what the heading says, otherwise ids. Without
/// headings, those in the range of recent unix times are times, and numbers those that vary between 0 and 10.
///
/// A number that is infinite says nothing, so that who reads the column refuses it and names its line.
pub(super) fn guess(heading: Option<&str>, values: &[&str]) -> ColumnType {
    let finite: Vec<&str> = values.iter().copied().filter(|value| !is_infinite(value.as_bytes())).collect();
    let values = if finite.is_empty() { values } else { &finite };
    let heading = heading.map(str::to_lowercase);
    let named = |words: &[&str]| {
        heading.as_ref().is_some_and(|heading| words.iter().any(|word| heading.contains(word)))
    };
    let all = |holds: &dyn Fn(&str) -> bool| !values.is_empty() && values.iter().all(|value| holds(value));
    let is_number = all(&|value| parse_number(value.as_bytes()).is_some());
    if !is_number {
        // Which number of dates with slashes is the month is for who reads them to say.
        let is_time = !values.is_empty() && time::may_be_times(values.iter().copied());
        return if is_time { ColumnType::Time } else { ColumnType::Id };
    }
    let whole = |value: &str| parse_integer(value.as_bytes());
    // Ids may be longer than a whole number can be.
    let is_whole = all(&|value| {
        let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let recent = all(&|value| time::parse(value.as_bytes()).is_some_and(|seconds| RECENT.contains(&seconds)));
    if recent && (heading.is_none() || named(&TIMES) || !is_whole) {
        return ColumnType::Time;
    }
    let few = all(&|value| whole(value).is_some_and(|value| (0..=10).contains(&value)));
    let varies = values.iter().any(|value| *value != values[0]);
    if !is_whole || named(&NUMBERS) || (heading.is_none() && few && varies) {
        ColumnType::Number
    } else {
        ColumnType::Id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_columns() {
        for (heading, values, kind) in [
            (Some("userId"), &["1", "2"][..], ColumnType::Id),
            (Some("rating"), &["4", "5"], ColumnType::Number),
            (Some("x"), &["4.5", "5"], ColumnType::Number),
            (Some("x"), &["9223372036854775811", "9223372036854775809"], ColumnType::Id),
            (Some("timestamp"), &["978300760", "978302109"], ColumnType::Time),
            (Some("phone"), &["978300760", "978302109"], ColumnType::Id),
            (Some("day"), &["2017-03-04", "2017-03-05"], ColumnType::Time),
            (Some("city"), &["Rome", "7"], ColumnType::Id),
            (None, &["978300760", "978302109"], ColumnType::Time),
            (None, &["5", "3", "4"], ColumnType::Number),
            (None, &["1", "1", "1"], ColumnType::Id),
            (None, &["1193", "661"], ColumnType::Id),
            (Some("rating"), &["4", "inf", "-Infinity"], ColumnType::Number),
            (Some("x"), &["1e999", "4.5"], ColumnType::Number),
            (Some("name"), &["inf", "Infinity"], ColumnType::Id),
            (Some("name"), &["inf", "ann"], ColumnType::Id),
            (Some("empty"), &[], ColumnType::Id),
        ] {
            assert_eq!(guess(heading, values), kind, "{heading:?} {values:?}");
        }
    }
}
