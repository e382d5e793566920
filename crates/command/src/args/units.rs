//! Times with their units.

use std::time::Duration;

use super::decimal;

/// Seconds, or a time such as `30s`, `5m` or `2h`, in seconds.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.ends_with(|c: char| c.is_ascii_alphabetic()) {
        true => duration(text).map(|time| time.as_secs_f64()),
        false => decimal(text),
    }
}

/// A time such as `30s`, `5m` or `2h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = number.parse::<f64>().unwrap_or(f64::NAN) * seconds;
    Duration::try_from_secs_f64(seconds).map_err(|_| "should be a time such as 30s, 5m or 2h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for text in ["", "5", "m", "-5m", "5d", "5 m", "1e99h", "nans"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
