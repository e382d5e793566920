//! A table that is printed row by row, while its rows come about.

use crate::{print, show};

/// The widths of columns whose rows are not all known yet.
pub(crate) struct Columns(Vec<usize>);

impl Columns {
    /// Columns as wide as their headings, and at least as wide as given.
    pub(crate) fn new(headings: &[(&str, usize)]) -> Self {
        Columns(headings.iter().map(|(heading, width)| heading.len().max(*width)).collect())
    }

    /// Prints the headings to stdout.
    pub(crate) fn print_headings(&self, headings: &[String]) -> anyhow::Result<()> {
        print::lines(&[show::styled(show::HEADING, &self.line(headings))])
    }

    /// Prints a row to stdout.
    pub(crate) fn print(&self, texts: &[String]) -> anyhow::Result<()> {
        let line = self.line(texts);
        print::out(|out| writeln!(out, "{line}"))
    }

    fn line(&self, texts: &[String]) -> String {
        let cells: Vec<String> =
            texts.iter().zip(&self.0).map(|(text, &width)| format!("{text:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Columns;

    #[test]
    fn texts_stand_below_each_other() {
        let columns = Columns::new(&[("fold", 0), ("RMSE", 7), ("", 0)]);
        assert_eq!(columns.line(&["1".into(), "0.25".into(), "x".into()]), "1     0.25     x");
        assert_eq!(columns.line(&["mean".into(), "0.12345".into(), String::new()]), "mean  0.12345");
    }
}
