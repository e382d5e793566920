//! The page: a template, a style sheet and a script in one file that needs nothing else.

use minijinja::value::Value;
use minijinja::{Environment, context};

use super::Report;
use crate::Error;

const TEMPLATE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// The report as one HTML page. Names from the data are text in it, whatever they are.
///
/// # Errors
/// Never, unless the template is broken.
pub fn render(report: &Report) -> Result<String, Error> {
    let broken = |error: &dyn std::fmt::Display| Error::Problem(format!("the report's template: {error}"));
    let mut environment = Environment::new();
    environment.set_keep_trailing_newline(true);
    environment.add_filter("short", |number: f64| short(number));
    environment.add_filter("plain", |number: f64| plain(number));
    environment.add_filter("grouped", |number: f64| grouped(number));
    environment.add_filter("percent", |share: f64| format!("{:.1} %", 100.0 * share));
    environment.add_filter("width", |score: f64, most: f64| {
        // A bar of a score that is no number is none.
        format!("{:.1}", (100.0 * score.abs() / most.abs()).clamp(0.0, 100.0).max(0.0))
    });
    // The ending makes the engine escape what is put in.
    environment.add_template("report.html", TEMPLATE).map_err(|error| broken(&error))?;
    let data = serde_json::to_string(report).map_err(|error| broken(&error))?;
    let template = environment.get_template("report.html").map_err(|error| broken(&error))?;
    template
        .render(context! {
            report => Value::from_serialize(report),
            data => Value::from_safe_string(in_script(&data)),
            style => Value::from_safe_string(STYLE.to_owned()),
            script => Value::from_safe_string(SCRIPT.to_owned()),
        })
        .map_err(|error| broken(&error))
}

/// JSON as it can stand in a script element: nothing in it can end the element, or a line of a script.
fn in_script(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", c as u32)),
            c => text.push(c),
        }
    }
    text
}

/// A number with four digits that matter.
fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return if number == 0.0 { "0".into() } else { "–".into() };
    }
    let magnitude = number.abs().log10().floor();
    let text = match magnitude {
        m if (-4.0..7.0).contains(&m) => format!("{number:.*}", (3.0 - m).max(0.0) as usize),
        _ => format!("{number:.3e}"),
    };
    text.replace('-', "−")
}

/// A number as short as it can be.
fn plain(number: f64) -> String {
    let text = short(number);
    if !text.contains('.') || text.contains('e') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number whose thousands stand apart.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, c) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_leave_its_element() {
        let json = serde_json::to_string("</script><!-- & \u{2028}\u{2029}").unwrap();
        let text = in_script(&json);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "</script><!-- & \u{2028}\u{2029}");
    }

    #[test]
    fn numbers_are_short_and_thousands_stand_apart() {
        assert_eq!([0.353_44, 12.3456, -1234.5, 0.0].map(short), ["0.3534", "12.35", "−1234", "0"]);
        assert_eq!([5.5, 5.0, 100.0, 0.1234].map(plain), ["5.5", "5", "100", "0.1234"]);
        assert_eq!(short(1e-7), "1.000e−7");
        assert_eq!(
            [7.0, 1234.0, 48_000.0, 1_234_567.0].map(grouped),
            ["7", "1234", "48\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
    }
}
