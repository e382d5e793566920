//! What results look like on a terminal: bars, sparklines, and what stands out.
//!
//! Texts have their colours whoever reads them; [`print::styled`](crate::print::styled) takes these away where they are not
//! wanted. Nothing is said by colour alone.

mod table;

pub(crate) use table::{Cell, list, table};

use std::io::{self, IsTerminal};

use anstyle::{AnsiColor, Style};
use terminal_size::{Width, terminal_size_of};

/// Headings and names that are looked for.
pub(crate) const HEADING: Style = Style::new().bold();
/// Bars and sparklines.
pub(crate) const BAR: Style = AnsiColor::Cyan.on_default();
/// Bars of negative numbers.
pub(crate) const MINUS: Style = AnsiColor::Magenta.on_default();
/// What explains something else.
pub(crate) const DIM: Style = Style::new().dimmed();
/// The first words of what is odd, and of what went wrong.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Bars of eighths of a character.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Bars of negative numbers, which look different without colours too.
const NEGATIVE: char = '▒';
/// The most bars of a line.
const WIDEST: usize = 48;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A terminal that does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// A text in a style.
pub(crate) fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

/// The characters of a line, if stdout is a terminal. Where it is not, nothing is cut: a script sees whole names.
pub(crate) fn width() -> Option<usize> {
    let known = || terminal_size_of(io::stdout()).map(|(Width(width), _)| usize::from(width));
    io::stdout().is_terminal().then(|| known().unwrap_or(USUAL_WIDTH))
}

/// A bar of at most `width` characters, as long as a share from -1 to 1 says.
pub(crate) fn bar(share: f64, width: usize) -> Cell {
    let share = if share.is_nan() { 0.0 } else { share.clamp(-1.0, 1.0) };
    if share < 0.0 {
        let length = (-share * width as f64).round() as usize;
        return Cell::new(MINUS, NEGATIVE.to_string().repeat(length));
    }
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let part = (eighths % 8).checked_sub(1).map(|place| EIGHTHS[place]);
    Cell::new(BAR, std::iter::repeat_n(EIGHTHS[7], eighths / 8).chain(part).collect::<String>())
}

/// Values as a line of small bars, the lowest and the highest being those of the values; of many, the means of neighbours.
pub(crate) fn spark(values: &[f64]) -> Cell {
    let together = values.len().div_ceil(WIDEST).max(1);
    let values: Vec<f64> =
        values.chunks(together).map(|some| some.iter().sum::<f64>() / some.len() as f64).collect();
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let level = |value: &f64| {
        let share = if high > low && value.is_finite() { (value - low) / (high - low) } else { 0.5 };
        LEVELS[((share * 7.0).round() as usize).min(7)]
    };
    Cell::new(BAR, values.iter().map(level).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(cell: Cell) -> String {
        anstream::adapter::strip_str(&cell.to_string()).to_string()
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(plain(bar(1.0, 3)), "███");
        assert_eq!(plain(bar(0.5, 3)), "█▌");
        assert_eq!(plain(bar(0.0, 3)), "");
        assert_eq!(plain(bar(9.0, 2)), "██");
        assert_eq!(plain(bar(f64::NAN, 2)), "");
    }

    #[test]
    fn a_negative_bar_differs_in_colour_and_without() {
        assert_eq!(plain(bar(-0.5, 4)), "▒▒");
        assert_ne!(bar(-1.0, 1).to_string().find("\u{1b}[35m"), None);
        assert_ne!(bar(1.0, 1).to_string().find("\u{1b}[36m"), None);
    }

    #[test]
    fn sparks_go_from_the_lowest_to_the_highest() {
        assert_eq!(plain(spark(&[0.0, 3.5, 7.0])), "▁▅█");
        assert_eq!(plain(spark(&[2.0, 2.0])), "▅▅");
        assert_eq!(plain(spark(&[])), "");
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(plain(spark(&many)).chars().count(), 34);
    }
}
