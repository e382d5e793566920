//! Rows below each other and lists, no wider than the terminal.

use std::fmt;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::{HEADING, styled, width};

/// Between columns.
const GAP: &str = "  ";
/// No column is made narrower than this for the sake of others.
const NARROWEST: usize = 8;
/// How headings of columns that are not cut start.
const WHOLE: [char; 2] = ['>', '='];

/// A text on a line, in a style.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A name may hold anything: what would move the cursor, or turn the line around, is not let through.
    pub(crate) fn new(style: Style, text: impl AsRef<str>) -> Self {
        let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let harmless = |c: char| if c.is_control() || turns(c) { '\u{fffd}' } else { c };
        Cell { text: text.as_ref().chars().map(harmless).collect(), style }
    }

    fn width(&self) -> usize {
        self.text.width()
    }

    /// The same in no more than `most` characters.
    fn within(&self, most: usize) -> Self {
        if self.width() <= most {
            return self.clone();
        }
        let ends = self.text.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = ends.take_while(|&end| self.text[..end].width() < most).last().unwrap_or(0);
        let mark = if most == 0 { "" } else { "…" };
        Cell { text: format!("{}{mark}", &self.text[..end]), style: self.style }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&styled(self.style, &self.text))
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::new(Style::new(), text)
    }
}

/// Rows below their headings, as lines. Headings that start with `>` are of columns that end at the right. These, columns
/// whose headings start with `=`, and those without one are shown whole if others can be cut.
pub(crate) fn table(headings: &[&str], rows: &[Vec<Cell>]) -> Vec<String> {
    table_within(headings, rows, width())
}

fn table_within(headings: &[&str], rows: &[Vec<Cell>], most: Option<usize>) -> Vec<String> {
    let names: Vec<Cell> =
        headings.iter().map(|name| Cell::new(HEADING, name.trim_start_matches(WHOLE))).collect();
    let all = || std::iter::once(&names).chain(rows.iter());
    let wide = |row: &Vec<Cell>, column: usize| row.get(column).map_or(0, Cell::width);
    let mut widths: Vec<usize> =
        (0..headings.len()).map(|column| all().map(|row| wide(row, column)).max().unwrap_or(0)).collect();
    if let Some(most) = most {
        narrow(&mut widths, headings, most);
    }
    all().map(|row| line(row, &widths, headings)).collect()
}

/// Takes from the widest of the columns that may be cut, then from the last of all, until a line fits.
fn narrow(widths: &mut [usize], headings: &[&str], most: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(most);
    let may_be_cut = |column: usize| !headings[column].is_empty() && !headings[column].starts_with(WHOLE);
    while over > 0 {
        let widest = (0..widths.len())
            .filter(|&column| may_be_cut(column) && widths[column] > NARROWEST)
            .max_by_key(|&column| widths[column]);
        let Some(widest) = widest.or_else(|| (0..widths.len()).rev().find(|&column| widths[column] > 0))
        else {
            return;
        };
        widths[widest] -= 1;
        over -= 1;
    }
}

fn line(row: &[Cell], widths: &[usize], headings: &[&str]) -> String {
    let mut line = String::new();
    // Blanks are due only before something that follows.
    let mut due = 0;
    for ((cell, &width), heading) in row.iter().zip(widths).zip(headings) {
        let cell = cell.within(width);
        let blank = width - cell.width();
        let (before, after) = if heading.starts_with('>') { (blank, 0) } else { (0, blank) };
        if !cell.text.is_empty() {
            line.extend(std::iter::repeat_n(' ', due + before));
            line += &cell.to_string();
            due = after + GAP.len();
        } else {
            due += width + GAP.len();
        }
    }
    line
}

/// Things behind a word, with commas between them; on a terminal as many lines as it takes, each below the first.
pub(crate) fn list(before: &[Cell], things: &[Vec<Cell>]) -> Vec<String> {
    list_within(before, things, width())
}

fn list_within(before: &[Cell], things: &[Vec<Cell>], most: Option<usize>) -> Vec<String> {
    let indent: usize = before.iter().map(Cell::width).sum();
    let most = most.unwrap_or(usize::MAX);
    let room = most.saturating_sub(indent + 1).max(NARROWEST);
    let mut line: String = before.iter().map(Cell::to_string).collect();
    let (mut lines, mut used) = (Vec::new(), 0);
    for (place, thing) in things.iter().enumerate() {
        let numbers: usize = thing.iter().skip(1).map(|cell| cell.width() + 1).sum();
        // The name is cut, and what is said of it is not.
        let words = thing.iter().enumerate().map(|(at, cell)| match at {
            0 => cell.within(room.saturating_sub(numbers)),
            _ => cell.clone(),
        });
        let words: Vec<Cell> = words.collect();
        let long = words.iter().map(|cell| cell.width() + 1).sum::<usize>().saturating_sub(1);
        if used > 0 && used + 2 + long > room {
            lines.push(format!("{line},"));
            line = " ".repeat(indent);
            used = 0;
        } else if place > 0 {
            line += ", ";
            used += 2;
        }
        line += &words.iter().map(Cell::to_string).collect::<Vec<_>>().join(" ");
        used += long;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::super::{DIM, bar};
    use super::*;

    fn cells(texts: &[&str]) -> Vec<Cell> {
        texts.iter().map(Cell::from).collect()
    }

    fn plain(lines: Vec<String>) -> Vec<String> {
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [cells(&["a", "1", "é"]), cells(&["bbb", "22", ""])];
        assert_eq!(
            plain(table_within(&["x", ">number", "y"], &rows, None)),
            ["x    number  y", "a         1  é", "bbb      22"]
        );
    }

    #[test]
    fn wide_letters_count_twice() {
        let rows = [cells(&["寿司", "1"]), cells(&["sushi", "2"]), cells(&["e\u{301}", "3"])];
        assert_eq!(
            plain(table_within(&["x", "y"], &rows, None)),
            ["x      y", "寿司   1", "sushi  2", "e\u{301}      3"]
        );
    }

    #[test]
    fn names_are_cut_where_a_line_would_not_fit_and_numbers_are_not() {
        let long = "The Lucky Turtle Pizzeria and Grill";
        let rows = [
            vec![Cell::from("1"), long.into(), bar(1.0, 4), "because of cakes".into()],
            vec![Cell::from("10"), "幸運な亀のピザ屋と焼き肉屋さんです".into(), bar(0.5, 4), "".into()],
        ];
        let headings = [">rank", "place", "", "because of"];
        let whole = plain(table_within(&headings, &rows, None));
        assert!(whole[1].contains(long), "{whole:?}");
        for most in [70, 50, 40, 33, 30, 20, 8, 1] {
            let lines = plain(table_within(&headings, &rows, Some(most)));
            assert!(lines.iter().all(|line| line.width() <= most), "{most}: {lines:#?}");
        }
        let lines = plain(table_within(&headings, &rows, Some(40)));
        assert_eq!(lines[1], "   1  The Lucky Tu…  ████  because of c…");
        assert_eq!(lines[2], "  10  幸運な亀のピ…  ██");
    }

    #[test]
    fn what_would_move_the_cursor_is_not_let_through() {
        let rows = [cells(&["a\u{1b}[2Jb\nc\u{202e}", "1"])];
        assert_eq!(table_within(&["x", "y"], &rows, None)[1], "a\u{fffd}[2Jb\u{fffd}c\u{fffd}  1");
    }

    #[test]
    fn lists_go_on_below_their_first_thing() {
        let thing = |name: &str, number: &str| vec![Cell::from(name), Cell::new(DIM, number)];
        let things = [thing("one", "1.0"), thing("twenty-two", "2.0"), thing("three", "3.0")];
        let before = cells(&["  + "]);
        assert_eq!(plain(list_within(&before, &things, None)), ["  + one 1.0, twenty-two 2.0, three 3.0"]);
        assert_eq!(
            plain(list_within(&before, &things, Some(30))),
            ["  + one 1.0, twenty-two 2.0,", "    three 3.0"]
        );
        assert_eq!(
            plain(list_within(&before, &things, Some(16))),
            ["  + one 1.0,", "    twenty… 2.0,", "    three 3.0"]
        );
    }
}
