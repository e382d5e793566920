//! Numbers for people: three digits that matter, and a unit.

/// A count, such as `33.1 M`.
pub(crate) fn count(number: f64) -> String {
    scaled(number, &[(1e9, " G"), (1e6, " M"), (1e3, " K"), (1.0, "")])
}

/// A time, such as `45.6 ms`.
pub(crate) fn seconds(number: f64) -> String {
    scaled(number, &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")])
}

/// An amount of memory, such as `1.20 GB`; unknown where the machine does not tell.
pub(crate) fn bytes(number: Option<f64>) -> String {
    let units = [(1e9, " GB"), (1e6, " MB"), (1e3, " KB"), (1.0, " B")];
    number.map_or("unknown".into(), |number| scaled(number, &units))
}

/// A ratio, such as `231 times`.
pub(crate) fn times(ratio: f64) -> String {
    format!("{} times", digits(ratio))
}

/// A number with three digits that matter.
pub(crate) fn digits(number: f64) -> String {
    let number = rounded(number);
    if number == 0.0 {
        return "0".into();
    }
    let magnitude = number.abs().log10().floor();
    format!("{number:.*}", (2.0 - magnitude).clamp(0.0, 12.0) as usize)
}

/// A number in the largest of the units, given from large to small, that leaves something before the point.
fn scaled(number: f64, units: &[(f64, &str)]) -> String {
    // Rounded first: 999,999 is a million and not a thousand thousands.
    let number = rounded(number);
    if number == 0.0 {
        return "0".into();
    }
    let fits = |(size, _): &&(f64, &str)| number.abs() >= *size;
    let (size, unit) = units.iter().find(fits).or(units.last()).copied().unwrap_or((1.0, ""));
    let text = digits(number / size);
    // A round number is a setting, not a measurement: 10 M.
    format!("{}{unit}", text.strip_suffix(".00").or(text.strip_suffix(".0")).unwrap_or(&text))
}

fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(count(33_153_598.0), "33.2 M");
        assert_eq!(count(10_000_000.0), "10 M");
        assert_eq!(count(999_999.0), "1 M");
        assert_eq!(count(7.0), "7");
        assert_eq!(seconds(0.0), "0");
        assert_eq!(seconds(0.0456), "45.6 ms");
        assert_eq!(seconds(123.4), "123 s");
        assert_eq!(seconds(3.2e-8), "32 ns");
        assert_eq!(bytes(Some(1_203_000_000.0)), "1.20 GB");
        assert_eq!(bytes(None), "unknown");
        assert_eq!(times(231.2), "231 times");
        assert_eq!(times(0.5), "0.500 times");
        assert_eq!(digits(0.0), "0");
    }
}
