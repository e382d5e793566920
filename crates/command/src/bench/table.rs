//! A table for people, in Markdown.

/// Rows of texts under their headings.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(head: &[impl ToString]) -> Self {
        Table { head: head.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    /// Adds a row, a text per heading.
    pub(crate) fn row<const N: usize>(&mut self, texts: [String; N]) {
        self.texts(texts.to_vec());
    }

    /// Adds a row of as many texts as there are headings, where their number is not known beforehand.
    pub(crate) fn texts(&mut self, texts: Vec<String>) {
        self.rows.push(texts);
    }

    /// The headings.
    pub(crate) fn head(&self) -> &[String] {
        &self.head
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The table in Markdown, its columns below each other.
    pub(crate) fn markdown(&self) -> String {
        let all = || std::iter::once(&self.head).chain(&self.rows);
        let length =
            |row: &Vec<String>, column: usize| row.get(column).map_or(0, |text| text.chars().count());
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| all().map(|row| length(row, column)).max().unwrap_or(0))
            .collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(text, &width)| format!(" {text:width$} |"));
            format!("|{}\n", cells.collect::<String>())
        };
        let rule = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2)));
        let rule = format!("|{}\n", rule.collect::<String>());
        format!("{}{rule}{}", line(&self.head), self.rows.iter().map(line).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = Table::new(&["method", "time"]);
        table.row(["fast".into(), "3 µs".into()]);
        table.row(["opt, slow".into(), "1 s".into()]);
        let expected = "\
| method    | time |
|-----------|------|
| fast      | 3 µs |
| opt, slow | 1 s  |
";
        assert_eq!(table.markdown(), expected);
    }
}
