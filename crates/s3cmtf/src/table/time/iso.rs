//! Seconds since 1970 as ISO texts in UTC.

use super::{DAY, date_of};

/// Such as `2024-05-31T13:45:00Z`; years that do not have four digits are written with a sign.
pub(crate) fn format(seconds: i64) -> String {
    let mut text = String::with_capacity(20);
    push(&mut text, seconds);
    text
}

/// Appends what [`format()`] gives; digit by digit, since a table may have millions of times.
pub(crate) fn push(text: &mut String, seconds: i64) {
    let (day, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, date) = date_of(day);
    if (0..=9999).contains(&year) {
        push_two(text, year / 100);
        push_two(text, year % 100);
    } else {
        text.push_str(&format!("{year:+05}"));
    }
    for (mark, number) in
        [('-', month), ('-', date), ('T', second / 3600), (':', second / 60 % 60), (':', second % 60)]
    {
        text.push(mark);
        push_two(text, number);
    }
    text.push('Z');
}

/// Two digits of a number below 100.
fn push_two(text: &mut String, number: i64) {
    text.push(char::from(b'0' + (number / 10) as u8));
    text.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::time::parse;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2024-05-31T13:45:00Z", 1_717_163_100),
        ] {
            assert_eq!(format(seconds), text);
        }
        assert_eq!(format(253_402_300_800), "+10000-01-01T00:00:00Z");
        assert_eq!(format(-62_167_219_201), "-0001-12-31T23:59:59Z");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seconds in -62_000_000_000i64..250_000_000_000) {
            prop_assert_eq!(parse(format(seconds).as_bytes()), Some(seconds));
        }
    }
}
