//! Dates with slashes, 04/20/2016: some countries have the month first, others the day. One of them says nothing if both numbers
//! could be months; a column of them mostly does.

use super::written::short;
use super::{DAY, date, number_of, parse, time_of_day};

/// Which number of a date with slashes comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// 20/04/2016.
    DayFirst,
    /// 04/20/2016.
    MonthFirst,
}

impl DateOrder {
    /// The order that values of a column have, as far as they say: none where no number of theirs is too large for a month, or where
    /// they contradict each other.
    pub fn infer<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<DateOrder> {
        match evidence(values) {
            [true, false] => Some(DateOrder::DayFirst),
            [false, true] => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }
}

/// Whether some value must have the day first, and whether some must have the month first.
fn evidence<'a>(values: impl IntoIterator<Item = &'a str>) -> [bool; 2] {
    let mut found = [false; 2];
    for (first, second, ..) in values.into_iter().filter_map(|value| numbers(value.trim().as_bytes())) {
        found[0] |= first > 12;
        found[1] |= second > 12;
    }
    found
}

/// Whether all values are dates with slashes, or other points in time, and no two of them contradict each other.
pub(crate) fn may_be_times<'a>(values: impl IntoIterator<Item = &'a str> + Clone) -> bool {
    let is_time =
        |value: &str| parse(value.as_bytes()).is_some() || seconds(value.as_bytes(), None, true).is_some();
    values.clone().into_iter().all(is_time) && evidence(values) != [true, true]
}

/// As [`parse`], also for dates with slashes if it is known which number comes first, or the date says so itself.
pub(crate) fn parse_in(text: &[u8], order: Option<DateOrder>) -> Option<i64> {
    parse(text).or_else(|| seconds(text, order, false))
}

/// Whether a text is a date with slashes of which nobody can say which number is the month.
pub(crate) fn is_ambiguous(text: &[u8]) -> bool {
    seconds(text, None, false).is_none() && seconds(text, None, true).is_some()
}

/// The seconds of a date with slashes; `any` takes the month first where nothing else says which it is.
fn seconds(text: &[u8], order: Option<DateOrder>, any: bool) -> Option<i64> {
    let text = text.trim_ascii();
    let (first, second, year, rest) = numbers(text)?;
    let order = match order {
        Some(order) => order,
        None if first > 12 => DateOrder::DayFirst,
        None if second > 12 || first == second || any => DateOrder::MonthFirst,
        None => return None,
    };
    let (day, month) = match order {
        DateOrder::DayFirst => (first, second),
        DateOrder::MonthFirst => (second, first),
    };
    let time = match rest {
        [] => 0,
        [b'T' | b't' | b' ', time @ ..] => time_of_day(time.trim_ascii_start())?,
        _ => return None,
    };
    Some(date(year, month, day)? * DAY + time)
}

/// The numbers between the slashes, and what follows.
fn numbers(text: &[u8]) -> Option<(i64, i64, i64, &[u8])> {
    let (first, rest) = short(text)?;
    let (second, rest) = short(rest.strip_prefix(b"/")?)?;
    let (year, rest) = number_of(rest.strip_prefix(b"/")?, 4)?;
    Some((first, second, year, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_says_which_number_is_the_month() {
        let american = ["04/08/2016", "4/20/2016", "12/01/2016 13:05"];
        let british = ["04/08/2016", "20/04/2016"];
        assert_eq!(DateOrder::infer(american), Some(DateOrder::MonthFirst));
        assert_eq!(DateOrder::infer(british), Some(DateOrder::DayFirst));
        assert_eq!(DateOrder::infer(["04/08/2016", "2016-04-20", "x"]), None);
        assert_eq!(DateOrder::infer(["13/04/2016", "04/13/2016"]), None);
        assert!(may_be_times(american) && may_be_times(british) && may_be_times(["04/08/2016"]));
        assert!(!may_be_times(["13/04/2016", "04/13/2016"]) && !may_be_times(["04/08/2016", "x"]));
        assert!(!may_be_times(["13/13/2016"]) && !may_be_times(["1/2"]));
    }

    #[test]
    fn dates_are_those_of_their_order() {
        let day = |text: &str, order| parse_in(text.as_bytes(), order);
        let iso = |text: &str| parse(text.as_bytes());
        let (first, last) = (Some(DateOrder::MonthFirst), Some(DateOrder::DayFirst));
        assert_eq!(day("04/08/2016", first), iso("2016-04-08"));
        assert_eq!(day("04/08/2016", last), iso("2016-08-04"));
        assert_eq!(day("4/20/2016 13:05", first), iso("2016-04-20T13:05"));
        // It says so itself, or both are the same.
        assert_eq!((day("20/4/2016", None), day("5/5/2016", None)), (iso("2016-04-20"), iso("2016-05-05")));
        assert_eq!(
            (day("04/08/2016", None), day("20/4/2016", first), day("2/30/2016", first)),
            (None, None, None)
        );
        assert!(is_ambiguous(b"04/08/2016") && !is_ambiguous(b"20/4/2016") && !is_ambiguous(b"2016-04-08"));
        assert_eq!(day("2016-04-08", last), iso("2016-04-08"));
    }
}
