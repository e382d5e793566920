//! Points in time: from text to seconds since 1970 (UTC).

mod bin;
pub(crate) mod iso;
mod slashed;
mod written;

pub use bin::Bin;
pub use slashed::DateOrder;
pub(crate) use slashed::{is_ambiguous, may_be_times, parse_in};
use written::written;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The seconds since 1970 (UTC) of a text, rounded down; `None` if it is no point in time.
///
/// That is a date (`2017-03-04`, `2017/03/04`, or a month `2017-03`; `4.3.2017`, where the day comes first; `March 4, 2017`,
/// `4 Mar 2017` and the like, by English months), with or without a time of day behind a `T` or a
/// blank (`13:05`, `13:05:30.25`), which may end with `Z` or an offset (`+01:00`, `+0100`, `+01`); or a plain number,
/// which is unix time, see [`from_unix`].
pub fn parse(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    match text {
        [_, _, _, _, b'-' | b'/', ..] => calendar(text),
        _ => unix(text).or_else(|| written(text)),
    }
}

/// The seconds of a unix time in whichever unit it must be in: numbers from 1e11 on (the year 5138) are milliseconds,
/// from 1e14 on microseconds, from 1e17 on nanoseconds.
pub fn from_unix(number: i64) -> i64 {
    match number.unsigned_abs() {
        0..100_000_000_000 => number,
        100_000_000_000..100_000_000_000_000 => number.div_euclid(1_000),
        100_000_000_000_000..100_000_000_000_000_000 => number.div_euclid(1_000_000),
        _ => number.div_euclid(1_000_000_000),
    }
}

/// A whole number with or without decimals.
fn unix(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
    let (whole, decimals) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
    if whole.is_empty() || !whole.iter().chain(decimals).all(u8::is_ascii_digit) {
        return None;
    }
    let number = whole
        .iter()
        .try_fold(0i64, |number, &byte| number.checked_mul(10)?.checked_add(i64::from(byte - b'0')))?;
    // Below a negative number with decimals lies the next whole one.
    let below = negative && decimals.iter().any(|&byte| byte != b'0');
    Some(from_unix(if negative { -number - i64::from(below) } else { number }))
}

/// A date with or without a time of day.
fn calendar(text: &[u8]) -> Option<i64> {
    let (year, rest) = number_of(text, 4)?;
    let (&dash, rest) = rest.split_first()?;
    let (month, rest) = number_of(rest, 2)?;
    if rest.is_empty() {
        return Some(date(year, month, 1)? * DAY);
    }
    let (day, rest) = number_of(after(rest, dash)?, 2)?;
    let days = date(year, month, day)?;
    let seconds = match rest {
        [] => 0,
        [b'T' | b't' | b' ', time @ ..] => time_of_day(time)?,
        _ => return None,
    };
    Some(days * DAY + seconds)
}

/// The seconds since midnight in UTC, which may lie on another day.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let (hour, rest) = number_of(text, 2)?;
    let (minute, mut rest) = number_of(after(rest, b':')?, 2)?;
    let mut second = 0;
    if let Some(seconds) = after(rest, b':') {
        (second, rest) = number_of(seconds, 2)?;
        if let [b'.' | b',', decimals @ ..] = rest {
            let end = decimals.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(decimals.len());
            rest = (end > 0).then(|| &decimals[end..])?;
        }
    }
    // The 60th second is a leap second, which unix time counts as the next one.
    let valid = hour < 24 && minute < 60 && second <= 60;
    valid.then_some(())?;
    Some(hour * HOUR + minute * MINUTE + second - offset(rest)?)
}

/// The seconds that a clock is ahead of UTC; none where nothing is said.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text.trim_ascii_start() {
        [] | b"Z" | b"z" | b"UTC" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = number_of(rest, 2)?;
    let (minutes, rest) = match rest {
        [] => (0, rest),
        [b':', rest @ ..] | rest => number_of(rest, 2)?,
    };
    (rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * HOUR + minutes * MINUTE))
}

/// A number of exactly so many digits, and what follows it.
fn number_of(text: &[u8], digits: usize) -> Option<(i64, &[u8])> {
    let (number, rest) = text.split_at_checked(digits)?;
    let whole = number.iter().all(u8::is_ascii_digit);
    whole.then(|| (number.iter().fold(0, |number, &byte| number * 10 + i64::from(byte - b'0')), rest))
}

fn after(text: &[u8], byte: u8) -> Option<&[u8]> {
    text.split_first().filter(|(first, _)| **first == byte).map(|(_, rest)| rest)
}

/// The days since 1970 of a date that there is.
fn date(year: i64, month: i64, day: i64) -> Option<i64> {
    let days = (1..=12).contains(&month).then(|| days_of(year, month, day))?;
    (date_of(days) == (year, month, day)).then_some(days)
}

/// The days from 1970-01-01 to a date. The months of a year that starts in March have lengths that a line through
/// them gives, and the leap day comes last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day - 719_468
}

/// The year, month and day that so many days after 1970-01-01 is.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_points_in_time() {
        for (text, seconds) in [
            ("0", 0),
            ("978300760", 978_300_760),
            (" 2017 ", 2017),
            ("-1", -1),
            ("1488585600.75", 1_488_585_600),
            ("-0.5", -1),
            ("-2.0", -2),
            ("99999999999", 99_999_999_999),
            ("1488585600123", 1_488_585_600),
            ("-1488585600123", -1_488_585_601),
            ("1488585600123456", 1_488_585_600),
            ("1488585600123456789", 1_488_585_600),
            ("1970-01-01", 0),
            ("2017-03-04", 1_488_585_600),
            ("2017/03/04", 1_488_585_600),
            ("2017-03", 1_488_326_400),
            ("2000-02-29", 951_782_400),
            ("1900-03-01", -2_203_891_200),
            ("1969-12-31T23:59:59Z", -1),
            ("2017-03-04T13:05:30Z", 1_488_632_730),
            ("2017-03-04 13:05:30.999", 1_488_632_730),
            ("2017-03-04 13:05", 1_488_632_700),
            ("2017-03-04T13:05:30+01:00", 1_488_629_130),
            ("2017-03-04T13:05:30.5-0530", 1_488_652_530),
            ("2017-03-04T00:05+01", 1_488_582_300),
            ("2017-03-04 13:05:30 UTC", 1_488_632_730),
            ("2016-12-31T23:59:60Z", 1_483_228_800),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("04.03.2017", 1_488_585_600),
            ("4.3.2017", 1_488_585_600),
            ("04.03.2017 13:05", 1_488_632_700),
            ("March 4, 2017", 1_488_585_600),
            ("Mar 4 2017", 1_488_585_600),
            ("mar. 04, 2017", 1_488_585_600),
            ("4 March 2017", 1_488_585_600),
            ("04-Mar-2017", 1_488_585_600),
            ("4 March, 2017 13:05:30", 1_488_632_730),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_point_in_time_is_none() {
        for text in [
            "",
            "-",
            ".5",
            "x",
            "12x",
            "1e9",
            "2017-13-01",
            "2017-00-01",
            "2017-02-29",
            "2017-04-31",
            "2017-03-00",
            "2017-3-4",
            "2017-03/04",
            "2017-03-04T",
            "2017-03-04T24:00",
            "2017-03-04T12:60",
            "2017-03-04T12:00:61",
            "2017-03-04 12",
            "2017-03-04T12:00:00.",
            "2017-03-04T12:00+25:00",
            "2017-",
            "2017-03-04x",
            "2017-03-04T12:00 +01:00x",
            "1000000000000000000000",
            "31.2.2017",
            "4.3.17",
            "4.13.2017",
            "March 2017",
            "Marsh 4, 2017",
            "March 4 2017 soon",
            "04/03/2017",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn dates_and_days_are_inverse(days in -100_000_000i64..100_000_000) {
            let (year, month, day) = date_of(days);
            prop_assert_eq!(days_of(year, month, day), days);
            // The next day is the next of the month, or the first of the next one.
            let next = date_of(days + 1);
            let first = if month == 12 { (year + 1, 1, 1) } else { (year, month + 1, 1) };
            prop_assert!(next == (year, month, day + 1) || (next == first && day >= 28));
        }

        #[test]
        fn what_is_written_is_read(seconds in -62_167_219_200i64..253_402_300_800, ahead in -14 * 60i64..14 * 60) {
            let (year, month, day) = date_of(seconds.div_euclid(DAY));
            let second = seconds.rem_euclid(DAY);
            let (h, m, s) = (second / HOUR, second / MINUTE % 60, second % 60);
            let text = format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}");
            prop_assert_eq!(parse(text.as_bytes()), Some(seconds));
            let sign = if ahead < 0 { '-' } else { '+' };
            let text = format!("{text}{sign}{:02}:{:02}", ahead.abs() / 60, ahead.abs() % 60);
            prop_assert_eq!(parse(text.as_bytes()), Some(seconds - ahead * MINUTE));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..30), number: i64) {
            let _ = (parse(&bytes), from_unix(number));
        }
    }
}
