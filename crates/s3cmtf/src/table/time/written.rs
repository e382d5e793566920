//! Dates as people write them, where there is no doubt which number is the day.

use super::{DAY, date, number_of, time_of_day};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The seconds of a date with the day before the month and dots between them, or with the month by its English name; a time of
/// day may follow. Numbers between slashes are for `slashed.rs`: some countries have the month first, others the day.
pub(super) fn written(text: &[u8]) -> Option<i64> {
    let (days, rest) = dotted(text).or_else(|| named(text))?;
    let seconds = match rest.trim_ascii_start() {
        [] => 0,
        [b'T' | b't', time @ ..] if rest.len() > time.len() => time_of_day(time)?,
        time if time.len() < rest.len() => time_of_day(time)?,
        _ => return None,
    };
    Some(days * DAY + seconds)
}

/// `4.3.2017`: its day since 1970, and what follows.
fn dotted(text: &[u8]) -> Option<(i64, &[u8])> {
    let (day, rest) = short(text)?;
    let (month, rest) = short(rest.strip_prefix(b".")?)?;
    let (year, rest) = number_of(rest.strip_prefix(b".")?, 4)?;
    Some((date(year, month, day)?, rest))
}

/// `March 4, 2017` or `4 March 2017`.
fn named(text: &[u8]) -> Option<(i64, &[u8])> {
    let between = |text: &'_ [u8]| -> usize {
        text.iter().take_while(|byte| matches!(byte, b' ' | b',' | b'.' | b'-')).count()
    };
    let part = |text| -> Option<&[u8]> {
        let skipped = between(text);
        (skipped > 0).then(|| &text[skipped..])
    };
    let (day, month, rest) = match month(text) {
        Some((month, rest)) => {
            let (day, rest) = short(part(rest)?)?;
            (day, month, rest)
        }
        None => {
            let (day, rest) = short(text)?;
            let (month, rest) = month(part(rest)?)?;
            (day, month, rest)
        }
    };
    let (year, rest) = number_of(part(rest)?, 4)?;
    Some((date(year, month, day)?, rest))
}

/// The month that a text starts with the name of, whole or its first three letters.
fn month(text: &[u8]) -> Option<(i64, &[u8])> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(letters);
    let word = std::str::from_utf8(word).ok()?.to_ascii_lowercase();
    let word = if word == "sept" { "sep" } else { &word };
    let is = |name: &&str| *name == word || (word.len() == 3 && name.starts_with(word));
    let place = MONTHS.iter().position(is)?;
    Some((place as i64 + 1, rest))
}

/// A number of one or two digits, and what follows it.
pub(super) fn short(text: &[u8]) -> Option<(i64, &[u8])> {
    let two = text.get(1).is_some_and(u8::is_ascii_digit);
    number_of(text, if two { 2 } else { 1 })
}
