//! What results look like on a terminal: tables, bars, and bold headings where there is a terminal to show them.

use std::io::{self, IsTerminal};

/// Bars of eighths of a character.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// The most bars of a line.
const WIDEST: usize = 48;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar of at most `width` characters, as long as a share from 0 to 1 says.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let part = (eighths % 8).checked_sub(1).map(|place| EIGHTHS[place]);
    std::iter::repeat_n(EIGHTHS[7], eighths / 8).chain(part).collect()
}

/// Values as a line of small bars, the lowest and the highest being those of the values; of many, the means of neighbours.
pub(crate) fn spark(values: &[f64]) -> String {
    let together = values.len().div_ceil(WIDEST).max(1);
    let values: Vec<f64> =
        values.chunks(together).map(|some| some.iter().sum::<f64>() / some.len() as f64).collect();
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let level = |value: &f64| {
        let share = if high > low && value.is_finite() { (value - low) / (high - low) } else { 0.5 };
        LEVELS[((share * 7.0).round() as usize).min(7)]
    };
    values.iter().map(level).collect()
}

/// A line that stands out on a terminal; anywhere else, and where NO_COLOR is set, it is as it is.
pub(crate) fn heading(text: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if plain || !io::stdout().is_terminal() { text.to_owned() } else { format!("\u{1b}[1m{text}\u{1b}[0m") }
}

/// Rows below their headings, as lines. Headings that start with `>` are of columns that end at the right.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let names: Vec<String> = headings.iter().map(|name| name.trim_start_matches('>').to_owned()).collect();
    let length = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |text| text.chars().count());
    let all = || std::iter::once(&names).chain(rows);
    let widths: Vec<usize> =
        (0..names.len()).map(|column| all().map(|row| length(row, column)).max().unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).zip(headings).map(|((text, &width), heading)| {
            if heading.starts_with('>') { format!("{text:>width$}") } else { format!("{text:width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(heading(&line(&names))).chain(rows.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.0, 3), "");
        assert_eq!(
            (bar(-1.0, 3), bar(9.0, 2), bar(f64::NAN, 2)),
            (String::new(), "██".into(), String::new())
        );
    }

    #[test]
    fn sparks_go_from_the_lowest_to_the_highest() {
        assert_eq!(spark(&[0.0, 3.5, 7.0]), "▁▅█");
        assert_eq!(spark(&[2.0, 2.0]), "▅▅");
        assert_eq!(spark(&[]), "");
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(spark(&many).chars().count(), 34);
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [vec!["a".into(), "1".into(), "é".into()], vec!["bbb".into(), "22".into(), String::new()]];
        assert_eq!(table(&["x", ">number", "y"], &rows), ["x    number  y", "a         1  é", "bbb      22"]);
    }
}
