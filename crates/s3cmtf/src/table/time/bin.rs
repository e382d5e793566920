//! The year, week, hour of the day .. that a point in time lies in.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{DAY, HOUR, date, date_of, days_of};

/// What points in time are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Bin {
    /// `2017`.
    Year,
    /// `2017-03`.
    Month,
    /// The week of ISO 8601, which starts on Monday: `2017-W09`.
    Week,
    /// `2017-03-04`.
    Day,
    /// `2017-03-04 13h`.
    Hour,
    /// `13h`, of any day.
    HourOfDay,
    /// `Monday`, of any week.
    DayOfWeek,
}

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// 1970-01-01 is a Thursday, three days behind the Monday of its week.
const THURSDAY: i64 = 3;

/// Labels are made for the seconds of an `i64`: no day beyond this one has any.
const LAST_DAY: i64 = i64::MAX / DAY;

impl Bin {
    /// All of them.
    pub const ALL: [Bin; 7] =
        [Bin::Year, Bin::Month, Bin::Week, Bin::Day, Bin::Hour, Bin::HourOfDay, Bin::DayOfWeek];

    /// The name it has everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Bin::Year => "year",
            Bin::Month => "month",
            Bin::Week => "week",
            Bin::Day => "day",
            Bin::Hour => "hour",
            Bin::HourOfDay => "hour-of-day",
            Bin::DayOfWeek => "day-of-week",
        }
    }

    /// Whether its bins come again: every day, or every week.
    pub fn recurs(self) -> bool {
        matches!(self, Bin::HourOfDay | Bin::DayOfWeek)
    }

    /// So many seconds, of a day or an hour that begins where days and hours do, lie in one bin.
    pub fn unit(self) -> i64 {
        match self {
            Bin::Hour | Bin::HourOfDay => HOUR,
            Bin::Year | Bin::Month | Bin::Week | Bin::Day | Bin::DayOfWeek => DAY,
        }
    }

    /// The number of the bin that a point in time lies in; the next bin has the next number.
    pub fn number(self, seconds: i64) -> i64 {
        let days = seconds.div_euclid(DAY);
        match self {
            Bin::Year => date_of(days).0,
            Bin::Month => {
                let (year, month, _) = date_of(days);
                year * 12 + month - 1
            }
            Bin::Week => (days + THURSDAY).div_euclid(7),
            Bin::Day => days,
            Bin::Hour => seconds.div_euclid(HOUR),
            Bin::HourOfDay => seconds.rem_euclid(DAY) / HOUR,
            Bin::DayOfWeek => (days + THURSDAY).rem_euclid(7),
        }
    }

    /// The bins that are made up of whole ones of this: a month lies in one year, but a week may lie in two.
    pub fn coarser(self) -> &'static [Bin] {
        match self {
            Bin::Hour => &[Bin::Day, Bin::Month, Bin::Year],
            Bin::Day => &[Bin::Week, Bin::Month, Bin::Year],
            Bin::Month => &[Bin::Year],
            Bin::Year | Bin::Week | Bin::HourOfDay | Bin::DayOfWeek => &[],
        }
    }

    /// The number of the coarser bin that the bin of a number lies in, see [`Bin::coarser`].
    pub fn number_in(self, number: i64, coarser: Bin) -> Option<i64> {
        if !self.coarser().contains(&coarser) {
            return None;
        }
        match self {
            Bin::Month => Some(number.div_euclid(12)),
            _ => Some(coarser.number(number.checked_mul(self.unit())?)),
        }
    }

    /// What people call the bin of a number. Numbers that no point in time has are called like one that has.
    pub fn label(self, number: i64) -> String {
        let day = |days: i64| {
            let (year, month, day) = date_of(days.clamp(-LAST_DAY, LAST_DAY));
            format!("{year:04}-{month:02}-{day:02}")
        };
        match self {
            Bin::Year => format!("{number:04}"),
            Bin::Month => format!("{:04}-{:02}", number.div_euclid(12), number.rem_euclid(12) + 1),
            Bin::Week => {
                // The Thursday of a week lies in the year that the week is counted in.
                let thursday = 7 * number.clamp(-LAST_DAY / 7, LAST_DAY / 7);
                let year = date_of(thursday).0;
                format!("{year:04}-W{:02}", (thursday - days_of(year, 1, 1)) / 7 + 1)
            }
            Bin::Day => day(number),
            Bin::Hour => format!("{} {:02}h", day(number.div_euclid(24)), number.rem_euclid(24)),
            Bin::HourOfDay => format!("{:02}h", number.rem_euclid(24)),
            Bin::DayOfWeek => DAYS[number.rem_euclid(7) as usize].to_owned(),
        }
    }

    /// The number of the bin that has a label.
    pub fn parse_label(self, label: &str) -> Option<i64> {
        match self {
            Bin::Year => year(label),
            Bin::Month => {
                let (head, month) = label.rsplit_once('-')?;
                let month = two_digits(month).filter(|month| (1..=12).contains(month))?;
                year(head)?.checked_mul(12)?.checked_add(month - 1)
            }
            Bin::Week => {
                let (head, week) = label.rsplit_once("-W")?;
                let days = days_of(bounded(year(head)?)?, 1, 4) + 7 * (two_digits(week)? - 1);
                let number = (days + THURSDAY).div_euclid(7);
                // Not every year has a week 53.
                (self.label(number) == label).then_some(number)
            }
            Bin::Day => {
                let (head, day) = label.rsplit_once('-')?;
                let (head, month) = head.rsplit_once('-')?;
                date(bounded(year(head)?)?, two_digits(month)?, two_digits(day)?)
            }
            Bin::Hour => {
                let (day, hour) = label.rsplit_once(' ')?;
                let hour = Bin::HourOfDay.parse_label(hour)?;
                Bin::Day.parse_label(day)?.checked_mul(24)?.checked_add(hour)
            }
            Bin::HourOfDay => two_digits(label.strip_suffix('h')?).filter(|&hour| hour < 24),
            Bin::DayOfWeek => DAYS.iter().position(|day| *day == label).map(|day| day as i64),
        }
    }
}

/// A year as labels have it: at least four characters.
fn year(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let valid = text.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| valid)
}

/// A year whose days can be counted in an `i64`.
fn bounded(year: i64) -> Option<i64> {
    (year.abs() < LAST_DAY / 365).then_some(year)
}

fn two_digits(text: &str) -> Option<i64> {
    let valid = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| valid)
}

impl FromStr for Bin {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = || Bin::ALL.map(Bin::name).join(", ");
        let bin = Bin::ALL.into_iter().find(|bin| bin.name() == name);
        bin.ok_or_else(|| format!("\"{name}\" is not one of {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_labels() {
        for (text, bin, label) in [
            ("2017-03-04T13:05:30Z", Bin::Year, "2017"),
            ("2017-03-04T13:05:30Z", Bin::Month, "2017-03"),
            ("2017-03-04T13:05:30Z", Bin::Week, "2017-W09"),
            ("2017-03-04T13:05:30Z", Bin::Day, "2017-03-04"),
            ("2017-03-04T13:05:30Z", Bin::Hour, "2017-03-04 13h"),
            ("2017-03-04T13:05:30Z", Bin::HourOfDay, "13h"),
            ("2017-03-04T13:05:30Z", Bin::DayOfWeek, "Saturday"),
            ("1970-01-01", Bin::DayOfWeek, "Thursday"),
            ("1969-12-31T23:59:59Z", Bin::Hour, "1969-12-31 23h"),
            ("1969-12-31T23:59:59Z", Bin::DayOfWeek, "Wednesday"),
            // From the table of ISO 8601 years.
            ("2005-01-01", Bin::Week, "2004-W53"),
            ("2005-12-31", Bin::Week, "2005-W52"),
            ("2007-01-01", Bin::Week, "2007-W01"),
            ("2008-12-29", Bin::Week, "2009-W01"),
            ("2010-01-03", Bin::Week, "2009-W53"),
        ] {
            let number = bin.number(parse(text.as_bytes()).unwrap());
            assert_eq!(bin.label(number), label);
            assert_eq!(bin.parse_label(label), Some(number));
        }
        assert_eq!(Bin::DayOfWeek.label(0), "Monday");
    }

    #[test]
    fn names_are_read_and_written_the_same_everywhere() {
        for bin in Bin::ALL {
            assert_eq!(bin.name().parse(), Ok(bin));
            assert_eq!(serde_json::to_string(&bin).unwrap(), format!("\"{}\"", bin.name()));
        }
        assert!("months".parse::<Bin>().unwrap_err().contains("\"months\" is not one of year, month"));
    }

    #[test]
    fn what_is_no_label_is_none() {
        for (bin, label) in [
            (Bin::Year, "17"),
            (Bin::Year, "+2017"),
            (Bin::Month, "2017-13"),
            (Bin::Month, "2017-3"),
            (Bin::Week, "2017-W53"),
            (Bin::Week, "2017-W00"),
            (Bin::Day, "2017-02-29"),
            (Bin::Hour, "2017-03-04 24h"),
            (Bin::HourOfDay, "7h"),
            (Bin::DayOfWeek, "monday"),
            (Bin::Week, "9223372036854775807-W01"),
            (Bin::Day, "9223372036854775807-01-01"),
        ] {
            assert_eq!(bin.parse_label(label), None, "{label}");
        }
    }

    proptest! {
        #[test]
        fn labels_and_numbers_are_inverse_and_in_the_order_of_time(seconds in -99_999_999_999i64..999_999_999_999) {
            for bin in Bin::ALL {
                let number = bin.number(seconds);
                prop_assert_eq!(bin.parse_label(&bin.label(number)), Some(number));
                let next = bin.number(seconds + HOUR) - number;
                prop_assert!(next == 0 || next == 1 || bin == Bin::HourOfDay || bin == Bin::DayOfWeek);
            }
        }

        #[test]
        fn any_number_and_any_text_is_taken(seconds: i64, text in ".{0,20}") {
            for bin in Bin::ALL {
                bin.label(bin.number(seconds));
                bin.label(seconds);
                bin.parse_label(&text);
            }
        }
    }
}
